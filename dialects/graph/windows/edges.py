"""Which positions of a window along an axis see the same taps: those inside alike, each one at an end for itself."""

from __future__ import annotations

from dataclasses import dataclass

from aotc.dialects.builder import Builder, Scalar
from aotc.dialects.graph.shapes import ceil_div
from aotc.dialects.graph.windows.sliding import SlidingWindow


@dataclass(frozen=True)
class Edges:
    """`positions`, of which those before `begin` and from `end` on miss taps; numbers of their cases, in order.

    begin + 1 + positions - end cases where some positions see all taps, else one for each position.
    """

    positions: int
    begin: int
    end: int

    @staticmethod
    def of(window: SlidingWindow) -> Edges:
        """The cases of a window."""
        begin = max(ceil_div(window.before, window.stride), 0)
        end = (window.extent + window.before - window.span) // window.stride + 1
        if begin >= min(end, window.positions):
            return Edges(window.positions, window.positions, window.positions)
        return Edges(window.positions, begin, min(end, window.positions))

    @property
    def count(self) -> int:
        """How many cases there are."""
        return self.begin + (self.begin < self.end) + self.positions - self.end

    def case_of(self, position: int) -> int:
        """The case of a position that is known."""
        return min(position, self.begin) + max(position - self.end + 1, 0)

    def case(self, b: Builder, position: Scalar) -> Scalar:
        """The case of a position."""
        if position.constant is not None:
            return b.index(self.case_of(int(position.constant)))
        if self.count == 1:
            return b.index(0)
        at = b.min(position, self.begin)
        return at if self.end == self.positions else at + b.max(position - (self.end - 1), 0)

    def position(self, b: Builder, case: Scalar) -> Scalar:
        """A position of a case."""
        skipped = self.end - 1 - self.begin
        return case if skipped <= 0 else b.select(b.compare("gt", case, self.begin), case + skipped, case)

    def position_of(self, case: int) -> int:
        """A position of a case that is known."""
        return case + max(self.end - 1 - self.begin, 0) * (case > self.begin)
