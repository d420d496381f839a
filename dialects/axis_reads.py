"""Which positions of an operand positions of a result read, along an axis of each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class AxisReads:
    """Position p of the result reads none before (p * stride + low) // per of the operand's, and none behind
    (p * stride + high) // per."""

    axis: int
    """Of the operand."""
    stride: int = 1
    per: int = 1
    low: int = 0
    high: int = 0
    unit: int = 1
    """How many neighbours along the axis are a position."""

    @staticmethod
    def shifted(axis: int, by: int) -> AxisReads:
        """Each position reads the one that is `by` behind its own."""
        return AxisReads(axis, low=by, high=by)

    @staticmethod
    def covering(axis: int, extent: int, reads: Sequence[tuple[int, int]]) -> AxisReads:
        """The closest that is known where position p reads from the first to the second of `reads[p]`, of `extent`
        positions."""
        ratios = [(extent, len(reads)), (1, 1), (max(extent - 1, 1), max(len(reads) - 1, 1))]
        found: list[AxisReads] = []
        for stride, per in ratios:
            stride, per = stride // math.gcd(stride, per), per // math.gcd(stride, per)
            low = min((first + 1) * per - 1 - place * stride for place, (first, _) in enumerate(reads))
            high = max(last * per - place * stride for place, (_, last) in enumerate(reads))
            found.append(AxisReads(axis, stride, per, low, high))
        return min(found, key=lambda each: (each.high - each.low) / each.per)

    @property
    def lead(self) -> int:
        """So that the first n positions need the first (n * stride + lead) // per of the operand."""
        return self.high - self.stride + self.per

    def through(self, other: AxisReads) -> AxisReads:
        """The reads of an operand of the operand, of which that reads `other`."""
        less = (self.per - 1) * (other.stride > 1)
        return replace(
            other,
            stride=self.stride * other.stride,
            per=self.per * other.per,
            low=(self.low - less) * other.stride + other.low * self.per,
            high=self.high * other.stride + other.high * self.per,
            unit=self.unit * other.unit,
        )
