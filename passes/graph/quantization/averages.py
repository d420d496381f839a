"""Average pooling in integers: what decides a mean, and where floats have the middle between two integers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aotc.dialects.graph.interfaces import Array
from aotc.dialects.graph.quantized.averages import MANTISSA

_MOST_MIDDLES = 1536
"""Of a pool, 4 bytes each: what sums of floats take beside that is not more."""
_LIMIT = 2**31
_SCALES = (2.0**-100, 2.0**100)
"""Scaling that keeps products and sums of floats from the ends of their range."""


@dataclass(frozen=True)
class Averages:
    """The parameters of `graph.fixed_average_pool`."""

    factors: Array
    """i32 [counts]."""
    middles: Array
    """i32 [counts, high - low]."""
    mantissa: int
    fraction: int
    guard: int


@dataclass(frozen=True)
class Means:
    """Means of integers of at most `greatest`, in absolute value, that stand for so many times `scale`, to be quantised
    by `target` and a zero point, and clamped to low..high, which are integers of the result."""

    scale: np.float32
    greatest: int
    target: np.float32
    zero_point: int
    low: int
    high: int
    point_is_float: bool
    """Whether the zero point is added before the rounding, as an f32: so onnxruntime's average pooling of integers,
    which it has for ui8 always, for i8 where nothing else becomes of the model's three nodes."""

    def result(self, sums: Array, count: int) -> Array:
        """The integers, not clamped, for sums of f32; as f32."""
        quotient = sums / np.float32(count) / self.target
        point = np.float32(self.zero_point)
        return np.rint(quotient + point) if self.point_is_float else np.rint(quotient) + point

    def least(self, count: int) -> Array:
        """The least sum, an f32, for each integer from low + 1 to high, with which the result is at least that."""
        levels = np.arange(self.low + 1, self.high + 1)
        below, above = (np.full(levels.shape, each, np.int64) for each in (-_LIMIT + 2**24, _LIMIT - 2**24))
        while bool((above - below > 1).any()):
            middle = (below + above) // 2
            with np.errstate(all="ignore"):
                enough = self.result(_number(middle), count) >= levels
            below, above = np.where(enough, below, middle), np.where(enough, middle, above)
        return _number(above)

    def averages(self, counts: Sequence[int]) -> Averages | None:
        """For windows of so many elements; None where integers of 32 bits cannot decide enough of them."""
        if not all(_SCALES[0] < each < _SCALES[1] for each in (self.scale, self.target)):
            return None
        ratio = float(self.scale) / float(self.target)
        reach = self.greatest * ratio + abs(self.zero_point) + 2
        fraction = min(30 - max(math.frexp(reach)[1], 0), 24)
        if self.low >= self.high or fraction < 2:
            return None
        factors = np.rint(np.ldexp(ratio / np.array(counts, np.float64), fraction))
        # of a sum of n floats at most n 2^-24 of what their absolute values add up to, of what follows 2^-24 each
        most = max(counts)
        errors = 2.0**-MANTISSA * ((most + 4) * self.greatest * ratio + abs(self.zero_point) + reach)
        guard = math.ceil(np.ldexp(errors, fraction) + 0.5 * most * self.greatest + 1)
        if 8 * guard > 1 << fraction:
            return None
        mantissa = int(math.frexp(self.scale)[0] * 2**MANTISSA)
        # a result's unit in halves of the scale's last bit, of which a near sum is a part away from the middle
        unit = most / ratio * 2.0 ** (MANTISSA + 1)
        if unit * 2 * guard / 2.0**fraction >= _LIMIT / 2 or len(counts) * (self.high - self.low) > _MOST_MIDDLES:
            return None
        half = 1 + MANTISSA - math.frexp(self.scale)[1]
        middles = [[math.ceil(math.ldexp(float(each), half)) for each in self.least(count)] for count in counts]
        wrapped = [[(each + _LIMIT) % (2 * _LIMIT) - _LIMIT for each in row] for row in middles]
        return Averages(factors.astype(np.int32), np.array(wrapped, np.int32), mantissa, fraction, guard)


def _number(place: Array) -> Array:
    """The f32 with a place in their order: 0 is 0, 1 the least above it, -1 the greatest below it."""
    bits = np.where(place < 0, -place | _LIMIT, place)
    return bits.astype(np.uint32).view(np.float32)
