"""Convolutions with the channels last in the registers of a core without vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from aotc.dialects.aot import WORD
from aotc.dialects.builder import Scalar
from aotc.dialects.graph.packed.integers.channels_last import ChannelsLastConvOp
from aotc.dialects.graph.windows.sliding import SlidingWindow
from aotc.passes.kernel.nests.sums.position_axes import Axis, Span, is_whole, last_axis, over_outside
from aotc.passes.kernel.nests.sums.sums_nest import InterleavedNest, Place, sum_of


@dataclass(frozen=True)
class ChannelsLastNest(InterleavedNest[ChannelsLastConvOp]):
    """Convolution with the channels last: x [N, spatial.., W * C], result [N, 1, spatial.., M]."""

    @cached_property
    def channels(self) -> int:
        """Of x."""
        return self.op.channels

    @property
    def aligned(self) -> bool:
        return self.channels % WORD == 0

    @cached_property
    def windows(self) -> Sequence[SlidingWindow]:
        """Along each axis."""
        return self.op.windows()


@dataclass(frozen=True)
class ConvSums(ChannelsLastNest):
    """Convolution of strips of x as they lie in memory."""

    @cached_property
    def axis(self) -> Axis:
        """The last one."""
        schedule = self.schedule
        # code of their own makes no difference to a tile of one position whose steps are not unrolled
        differ = schedule.positions > 1 or schedule.word > 1
        return last_axis(
            self.windows[-1],
            specialized=schedule.specialized and differ,
            word=schedule.word,
            channels=self.channels,
        )

    def emit(self) -> None:
        """Emit the nest."""
        b = self.b

        def outer(index: list[Scalar]) -> None:
            def across(first: Scalar, count: int, taps: Span) -> None:
                self.blocks(lambda output, width: self._tile(index, first, count, taps, output, width))

            self.axis.over(b, self.schedule.positions, across)

        b.parallel_for([self.shape[0], *self.shape[2:-2]], outer)

    def _tile(self, index: Sequence[Scalar], first: Scalar, count: int, taps: Span, output: Scalar, width: int) -> None:
        b, last = self.b, self.windows[-1]
        batch, *position = index
        strips, inputs, groups = self.op.strips, self.op.inputs, self.op.groups
        step, shift = last.stride * self.channels, last.before * self.channels
        base = first * step + (output / (self.outputs // groups) * inputs if groups > 1 else 0)

        def step_at(at: list[Scalar], now: list[Scalar]) -> list[Scalar]:
            sources = [window.source(p, tap) for window, p, tap in zip(self.windows, position, at, strict=False)]
            row, span = b.index(0), (taps[0] * self.channels, taps[1] * self.channels)
            for tap, extent in zip(at, self.op.kernel(), strict=False):
                row = row * extent + tap
            moved = base
            if not strips:
                moved, span = base + at[-1] * (last.dilation * self.channels), (b.index(0), b.index(inputs))
            begin = self.begin(output, row, width)

            def place(number: int) -> Place:
                return lambda e: [batch, *sources, sum_of(moved, e, number * step - shift)]

            return self.add(now, [place(number) for number in range(count)], begin, span)

        bounds = [w.taps(b, p) for w, p in zip(self.windows[:-1], position, strict=True)]
        sums = self.start(output, width, count)
        sums = b.reduce([*bounds, *([] if strips else [taps])], sums, step_at)
        if self.op.beyond and not is_whole([*bounds, taps], self.op.kernel()):
            sums = self._with_outside(sums, bounds, taps, strips, output, width)
        self.finish(sums, lambda n, o: [batch, b.index(0), *position, first + n, o], output, width)

    def _with_outside(
        self, sums: list[Scalar], bounds: list[Span], taps: Span, strips: bool, output: Scalar, width: int
    ) -> list[Scalar]:
        """The sums with what lies outside of x: all of its elements are one number, which weights are added up for."""
        b, kernel = self.b, self.op.kernel()

        def add(row: list[Scalar], now: list[Scalar], first: Scalar, last: Scalar) -> list[Scalar]:
            number = b.index(0)
            for place, extent in zip(row, kernel, strict=False):
                number = number * extent + place
            return self.add_weights(now, self.begin(output, number, width), (first, last))

        zero, strip = b.index(0), b.index(self.row)
        rows = bounds if strips else [*bounds, taps]
        added = [b.const(0, self.summed)] * width
        added = over_outside(b, rows, kernel[: len(rows)], added, lambda row, now: add(row, now, zero, strip))
        if strips and (taps[0].constant, taps[1].constant) != (0, kernel[-1]):
            low, high = taps[0] * self.channels, taps[1] * self.channels
            added = b.reduce(
                rows, added, lambda row, now: add(row, add(row, now, zero, b.min(low, strip)), b.max(low, high), strip)
            )
        return [total + added[slot % width] * self.op.beyond for slot, total in enumerate(sums)]
