"""Convolutions with the channels last in the registers of a core without vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from aotc.dialects.aot import LANES, WORD
from aotc.dialects.builder import Scalar
from aotc.dialects.graph.packed.integers.channels_last import ChannelsLastConvOp
from aotc.dialects.graph.windows.sliding import SlidingWindow
from aotc.passes.kernel.builders.tiles import Tile
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


@dataclass(frozen=True)
class PatchSums(ChannelsLastNest):
    """Convolution by patches: what a position sees is copied to one strip [kernel.., C], from which all outputs are
    computed.

    For short rows of a window, as those of a first layer with few channels: the patch fills vector registers, whatever
    the rows are, and has the number in it that what lies outside counts as.
    """

    def emit(self) -> None:
        self.b.parallel_for([self.shape[0], *self.shape[2:-1]], self._position)

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
        return [batch, *outer, last * self.channels]

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
                low * self.channels,
                high * self.channels,
                1,
                lambda e: self.writes[1]([target + e], self.x.read([*outer, first + e])),
            )
            return nothing

        b.reduce(spans[:rows], [], row)
