"""Depthwise convolution in the registers of a core without vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import cast

from aotc.dialects.aot import QUAD
from aotc.dialects.builder import Scalar
from aotc.dialects.graph.packed.integers.channels_last import ChannelsLastDepthwiseConvOp
from aotc.dialects.graph.windows.sliding import SlidingWindow
from aotc.passes.kernel.builders.tiles import Tile
from aotc.passes.kernel.builders.word_builder import QuadBuilder, WordBuilder
from aotc.passes.kernel.nests.sums.position_axes import MOST_UNROLLED, Axis, Span, is_whole, over_outside, over_taps
from aotc.passes.kernel.nests.sums.sums_nest import Operand, SumsNest, sum_of, write_rolled


@dataclass(frozen=True)
class DepthwiseSums(SumsNest[ChannelsLastDepthwiseConvOp]):
    """Convolution of each channel with a kernel of its own: x [N, 1, spatial.., C], weight [kernel.., C]."""

    @cached_property
    def windows(self) -> Sequence[SlidingWindow]:
        """Along each axis."""
        return self.op.windows()

    def emit(self) -> None:
        specialized = self.schedule.specialized
        *outer, last = self.windows

        def rows(index: list[Scalar]) -> None:
            bounds = [window.taps(self.b, at) for window, at in zip(outer[:-1], index[1:], strict=True)]
            if not outer:
                self._columns(index, [], Axis.of(last, specialized=specialized, each_cut=True))
                return

            def row(at: Scalar, _: int, taps: Span) -> None:
                whole = taps[0].constant is not None or self.schedule.lanes == 1
                axis = Axis.of(last, specialized=specialized and whole, each_cut=True)
                self._columns([*index, at], [*bounds, taps], axis)

            # without vectors, the loops over the taps of other axes may as well have bounds that are computed
            rows = specialized and self.schedule.lanes == QUAD
            Axis.of(outer[-1], specialized=rows, each_cut=False).over(self.b, 1, row)

        self.b.parallel_for([self.shape[0], *self.shape[2:-3]], rows)

    def _columns(self, index: list[Scalar], bounds: list[Span], axis: Axis) -> None:
        b, channels, width = self.b, self.shape[-1], self.schedule.columns
        if self.schedule.lanes == QUAD and not isinstance(b, QuadBuilder):
            width = 1
        full = channels // width * width

        def across(first: Scalar, count: int, taps: Span) -> None:
            spans = [*bounds, taps]
            b.parallel_range(0, full, width, lambda c: self._tile(index, first, count, spans, c, width))
            b.parallel_range(full, channels, 1, lambda c: self._tile(index, first, count, spans, c, 1))

        axis.over(b, self.schedule.positions, across)

    def _tile(
        self, index: Sequence[Scalar], first: Scalar, count: int, spans: Sequence[Span], channel: Scalar, width: int
    ) -> None:
        b, last = self.b, self.windows[-1]
        batch, *position = index
        zero, words = b.index(0), self.schedule.word > 1 and width == self.schedule.word
        is_quad = self.schedule.lanes == QUAD == width
        if is_quad:  # channels in lanes, as one
            channel, width = Tile((QUAD,)).index(b, channel, {-1: 1}), 1

        # a few windows whose taps are computed: less code and fewer values than loops over what is outside
        is_rest = self.schedule.specialized and any(bound.constant is None for span in spans for bound in span)
        x = replace(self.x, zero_point=self.x.zero_point + self.op.beyond) if is_rest else self.x

        def step(at: list[Scalar], now: list[Scalar]) -> list[Scalar]:
            *outer, tap = at
            sources = [window.source(p, k) for window, p, k in zip(self.windows, position, outer, strict=False)]
            places = [
                [
                    batch,
                    zero,
                    *sources,
                    sum_of(first * last.stride, tap * last.dilation, number * last.stride - last.before),
                ]
                for number in range(count)
            ]
            add = self._words if words else self._singles
            return add(x, now, places, [*outer, tap], channel, width)

        def outside(at: list[Scalar], now: list[Scalar]) -> list[Scalar]:
            return [total + self.weight.element(b, [*at, channel + c], self.summed) for c, total in enumerate(now)]

        zeros = [b.const(0, self.summed)] * width
        if is_quad:
            zeros = [b.splat(0, Tile((QUAD,)), self.summed)]
        start = zeros if self.bias is None else [self.bias([channel + c]) for c in range(width)]
        extents = [window.size for window in self.windows]
        # taps that are written one by one share elements, which a core has too few vector registers for
        most = 1 if self.schedule.lanes == QUAD else MOST_UNROLLED
        if self.op.beyond and not is_whole(spans, extents):
            if is_rest:  # as if all elements were outside, and those inside are that much less
                whole = [(b.index(0), b.index(extent)) for extent in extents]
                added = over_taps(b, whole, zeros, outside, most)
            else:
                added = over_outside(b, spans, extents, zeros, outside)
            start = [total + each * self.op.beyond for total, each in zip(start, added, strict=True)]
        sums = over_taps(b, spans, start * count, step, most)
        if self.schedule.rolled and len(sums) > 1:
            write_rolled(b, sums, width, lambda n, c: [batch, zero, *position, first + n, channel + c], self.write)
            return
        for slot, (number, column) in enumerate(product(range(count), range(width))):
            self.write([batch, zero, *position, first + number, channel + column], sums[slot])

    def _singles(
        self, x: Operand, now: list[Scalar], places: list[list[Scalar]], taps: list[Scalar], channel: Scalar, width: int
    ) -> list[Scalar]:
        b, sums = self.b, list(now)
        for column in range(width):
            weight = self.weight.element(b, [*taps, channel + column], self.summed)
            for number, place in enumerate(places):
                slot = number * width + column
                sums[slot] = b.fma(x.element(b, [*place, channel + column], self.summed), weight, sums[slot])
        return sums

    def _words(
        self, x: Operand, now: list[Scalar], places: list[list[Scalar]], taps: list[Scalar], channel: Scalar, width: int
    ) -> list[Scalar]:
        b, sums = cast(WordBuilder, self.b), list(now)
        weights = self.weight.halves(b, [*taps, channel])
        for number, place in enumerate(places):
            factors = x.halves(b, [*place, channel])
            for which, part in product((0, 1), (0, 1)):
                slot = number * width + 2 * part + which
                name = ("smlabb", "smlatt")[part]  # of the low halves, or of the high ones
                sums[slot] = b.instruction(name, factors[which], weights[which], sums[slot])
        return sums
