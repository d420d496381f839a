"""Convolutions with the channels last in the registers of a core without vectors, depthwise ones, too."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import cast

from aotc.dialects.aot import LANES, QUAD, WORD
from aotc.dialects.builder import Scalar
from aotc.dialects.graph.packed.integers.channels_last import ChannelsLastConvOp, ChannelsLastDepthwiseConvOp
from aotc.dialects.graph.windows.sliding import SlidingWindow
from aotc.passes.kernel.builders.tiles import Tile
from aotc.passes.kernel.builders.word_builder import QuadBuilder, WordBuilder
from aotc.passes.kernel.nests.sums.position_axes import (
    MOST_UNROLLED,
    Axis,
    Span,
    is_whole,
    last_axis,
    over_outside,
    over_taps,
)
from aotc.passes.kernel.nests.sums.sums_nest import InterleavedNest, Operand, Place, SumsNest, sum_of, write_rolled


@dataclass(frozen=True)
class ChannelsLastNest(InterleavedNest[ChannelsLastConvOp]):
    """Convolution with the channels last: x [N, spatial.., W * C], result [N, 1, spatial.., M]."""

    @property
    def aligned(self) -> bool:
        return self.op.channels % WORD == 0

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
            self.windows[-1], specialized=schedule.specialized and differ, word=schedule.word, channels=self.op.channels
        )

    def emit(self) -> None:
        b = self.b

        def outer(index: list[Scalar]) -> None:
            def across(first: Scalar, count: int, taps: Span) -> None:
                self.blocks(lambda output, width: self._tile(index, first, count, taps, output, width))

            if (row := self.rows_along(len(self.shape) - 2)) is not None:
                self.axis.within(b, row, across)
            else:
                self.axis.over(b, self.schedule.positions, across)

        self.over([0, *range(2, len(self.shape) - 2)], outer)

    def _tile(self, index: Sequence[Scalar], first: Scalar, count: int, taps: Span, output: Scalar, width: int) -> None:
        b, last = self.b, self.windows[-1]
        batch, *position = index
        strips, inputs, groups = self.op.strips, self.op.inputs, self.op.groups
        step, shift = last.stride * self.op.channels, last.before * self.op.channels
        base = first * step + (output / (self.op.outputs // groups) * inputs if groups > 1 else 0)

        def step_at(at: list[Scalar], now: list[Scalar]) -> list[Scalar]:
            sources = [window.source(p, tap) for window, p, tap in zip(self.windows, position, at, strict=False)]
            row, span = b.index(0), (taps[0] * self.op.channels, taps[1] * self.op.channels)
            for tap, extent in zip(at, self.op.kernel(), strict=False):
                row = row * extent + tap
            moved = base
            if not strips:
                moved, span = base + at[-1] * (last.dilation * self.op.channels), (b.index(0), b.index(inputs))
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
            low, high = taps[0] * self.op.channels, taps[1] * self.op.channels
            added = b.reduce(
                rows, added, lambda row, now: add(row, add(row, now, zero, b.min(low, strip)), b.max(low, high), strip)
            )
        return [total + added[slot % width] * self.op.beyond for slot, total in enumerate(sums)]


@dataclass(frozen=True)
class PatchSums(ChannelsLastNest):
    """Convolution by patches: what a position sees is copied to one strip [kernel.., C], from which all outputs are
    computed.

    For short rows of a window, as those of a first layer with few channels: the patch fills vector registers, whatever
    the rows are, and has the number in it that what lies outside counts as.
    """

    def emit(self) -> None:
        self.over([0, *range(2, len(self.shape) - 1)], self._position)

    def _position(self, index: list[Scalar]) -> None:
        b, (batch, *position) = self.b, index
        spans = [window.taps(b, at) for window, at in zip(self.windows, position, strict=True)]
        inside = whole = b.index(0)
        for (low, high), window in zip(spans, self.windows, strict=True):
            inside, whole = inside + (high - low), whole + window.size
        if inside.constant == whole.constant:
            self._copy(batch, position)
        else:

            def copied() -> list[Scalar]:
                self._copy(batch, position)
                return []

            def cut() -> list[Scalar]:
                self._fill()
                self._copy_cut(batch, position, spans)
                return []

            b.when(b.compare("eq", inside, whole), copied, cut)
        depth = b.index(self.depth)
        patched = replace(self, reads=(self.reads[-1], *self.reads[1:]))

        def at(_: Scalar, output: Scalar) -> list[Scalar]:
            return [batch, b.index(0), *position, output]

        def tile(output: Scalar, width: int) -> None:
            sums = self.start(output, width, 1)
            sums = patched.add(sums, [lambda e: [e]], self.begin(output, None, width), (b.index(0), depth))
            self.finish(sums, at, output, width)

        self.blocks(tile)

    @property
    def _rows(self) -> list[int]:
        """The extents of the window whose taps are not neighbours in memory."""
        last = self.windows[-1]
        return [window.size for window in self.windows[: -1 if last.dilation == 1 else None]]

    def _source(self, batch: Scalar, position: Sequence[Scalar], taps: Sequence[Scalar]) -> list[Scalar]:
        """The first element of x that some taps see, those of the others being 0."""
        b = self.b
        all_taps = [*taps, *[b.index(0)] * (len(self.windows) - len(taps))]
        *outer, last = (w.source(p, k) for w, p, k in zip(self.windows, position, all_taps, strict=True))
        return [batch, *outer, last * self.op.channels]

    def _target(self, taps: Sequence[Scalar]) -> Scalar:
        """Where a row is in the patch."""
        row = self.b.index(0)
        for tap, extent in zip(taps, self._rows, strict=True):
            row = row * extent + tap
        return row * (self.depth // math.prod(self._rows))

    def _copy(self, batch: Scalar, position: Sequence[Scalar]) -> None:
        """All rows of a window that lies in x, a register at a time."""
        b, length = self.b, self.depth // math.prod(self._rows)

        def row(taps: list[Scalar]) -> None:
            *outer, first = self._source(batch, position, taps)
            target = self._target(taps)
            for at in range(0, length, LANES):
                tile = Tile((LANES,), length - at if length - at < LANES else None)
                value = self.x.read([*outer, tile.index(b, first + at, {-1: 1})])
                self.writes[1]([tile.index(b, target + at, {-1: 1})], value)

        b.sequential_for(self._rows, row)

    def _fill(self) -> None:
        """The patch with what lies outside of x."""
        b, depth, kind = self.b, self.depth, self.x.dtype
        for at in range(0, depth, LANES):
            tile = Tile((LANES,), depth - at if depth - at < LANES else None)
            self.writes[1]([tile.index(b, at, {-1: 1})], b.const(self.op.beyond, kind))

    def _copy_cut(self, batch: Scalar, position: Sequence[Scalar], spans: Sequence[Span]) -> None:
        """The elements of a window that lie in x."""
        b, rows = self.b, len(self._rows)
        low, high = spans[-1] if rows < len(spans) else (b.index(0), b.index(1))

        def row(taps: list[Scalar], nothing: list[Scalar]) -> list[Scalar]:
            *outer, first = self._source(batch, position, taps)
            target = self._target(taps)
            b.sequential_range(
                low * self.op.channels,
                high * self.op.channels,
                1,
                lambda e: self.writes[1]([target + e], self.x.read([*outer, first + e])),
            )
            return nothing

        b.reduce(spans[:rows], [], row)


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

            if (place := self.place(1 + len(outer))) is not None:
                row(place, 1, outer[-1].taps(self.b, place))
                return
            # without vectors, the loops over the taps of other axes may as well have bounds that are computed
            rows = specialized and self.schedule.lanes == QUAD
            Axis.of(outer[-1], specialized=rows, each_cut=False).over(self.b, 1, row)

        self.over([0, *range(2, len(self.shape) - 3)], rows)

    def _columns(self, index: list[Scalar], bounds: list[Span], axis: Axis) -> None:
        b, channels, width = self.b, self.shape[-1], self.schedule.columns
        if self.schedule.lanes == QUAD and not isinstance(b, QuadBuilder):
            width = 1
        full = channels // width * width

        def across(first: Scalar, count: int, taps: Span) -> None:
            spans = [*bounds, taps]
            b.parallel_range(0, full, width, lambda c: self._tile(index, first, count, spans, c, width))
            b.parallel_range(full, channels, 1, lambda c: self._tile(index, first, count, spans, c, 1))

        if (row := self.rows_along(len(self.shape) - 2)) is not None:
            axis.within(b, row, across)
        else:
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
