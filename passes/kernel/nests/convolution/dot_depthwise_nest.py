"""Depthwise convolution of 8-bit integers: dot products of four neighbouring taps of a channel, or of two in a column.

The elements that four neighbouring taps see at a position, for a block of channels, follow each other in memory. They
are one load and one shuffle, after which each channel has its four in a lane.

Two rows of elements, interleaved and widened to 16 bits, have in each lane what two taps in a column of the kernel see:
at one position those of its first column, at the position before those of its second, and so on. So they are
interleaved once for all columns.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from xdsl.dialects import vector
from xdsl.dialects.builtin import i16, i32

from aotc.dialects.aot.tiles import tile_shape, tile_type
from aotc.dialects.builder import Scalar
from aotc.dialects.graph.interfaces import shape_of
from aotc.dialects.graph.packed.integers.dot_products import (
    GROUP,
    BlockedDotDepthwiseConvOp,
    BlockedPairDepthwiseConvOp,
)
from aotc.dialects.graph.schedules import WindowSchedule
from aotc.dialects.graph.shapes import ceil_div
from aotc.dialects.graph.windows.sliding import Edges, SlidingWindow
from aotc.passes.kernel.builders.tiles import NotVectorizable, Tile
from aotc.passes.kernel.nest import Nest
from aotc.passes.kernel.nests.convolution.row_tiles import (
    RowTiles,
    Strip,
    TapRange,
    row_tiles,
    starting_tile,
    tap_places,
)

Op = TypeVar("Op", BlockedDotDepthwiseConvOp, BlockedPairDepthwiseConvOp)


@dataclass(frozen=True)
class _Nest(Nest[Op, WindowSchedule]):
    """A nest over images, blocks and positions."""

    def start(self, block: Scalar, outer: Sequence[Scalar], first: int, tile: Tile) -> Scalar:
        """The first addends of a tile of positions from `first` on."""

        def channels(some: Tile) -> Scalar:
            return some.index(self.b, block * self.lanes, {-1: 1})

        return starting_tile(self.b, self.reads[2], self.op.edges(), outer, first, tile, channels)

    def outermost(self) -> tuple[int, ...]:
        """How many images and blocks there are; raises NotVectorizable where a block is no vector."""
        shape = shape_of(self.op.x)
        if shape[-1] != self.lanes:
            raise NotVectorizable(f"blocks of {shape[-1]} channels for vectors of {self.lanes}")
        return shape[:2]


class DotDepthwiseNest(_Nest[BlockedDotDepthwiseConvOp]):
    """The nest by dot products of four neighbouring taps."""

    def emit(self) -> None:
        outermost = self.outermost()
        *outer, across = self.op.windows()
        tiles = row_tiles(self._grouped(across), self.schedule.positions)

        def row(index: list[Scalar]) -> None:
            for part in tiles:
                if self._is_inside(part):
                    self.b.sequential_range(
                        part.start, part.positions.stop, part.size, lambda at, part=part: self._tile(index, part, at)
                    )
                else:
                    for start in part.positions:
                        self._tile(index, RowTiles(start, 1, part.size, part.taps), self.b.index(start))

        self.b.parallel_for([*outermost, *(window.positions for window in outer)], row)

    def _grouped(self, across: SlidingWindow) -> SlidingWindow:
        """The window of whole groups of taps, at the same positions."""
        size = ceil_div(across.size, GROUP) * GROUP
        reached = (across.positions - 1) * across.stride + size
        return SlidingWindow(
            across.extent, size, across.stride, 1, across.before, reached - across.extent - across.before
        )

    def _is_inside(self, part: RowTiles) -> bool:
        """Whether all groups of taps see elements only, at all positions."""
        size = self._grouped(self.op.windows()[-1]).size
        return part.taps == (TapRange(0, size, 0, part.size),)

    def _tile(self, index: list[Scalar], part: RowTiles, at: Scalar) -> None:
        """The positions from `at` on, along the last axis."""
        b, (batch, block, *outer), windows = self.b, index, self.op.windows()
        tile = Tile((part.size, self.lanes))
        start = self.start(block, outer, part.start, tile)
        bounds = [window.taps(b, position) for window, position in zip(windows, outer, strict=False)]
        wide = Tile((part.size, self.lanes * GROUP))
        lane = wide.index(b, 0, {1: 1})

        def rows(taps: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
            places = [w.source(p, tap) for w, p, tap in zip(windows, outer, taps, strict=False)]
            total = carried[0]
            for group in range(shape_of(self.op.weight)[-2]):
                x = self._elements([batch, block, *places], part, at, group, wide)
                if x is not None:
                    weight = b.splat(self.reads[1]([block, *taps, b.index(group), lane]), wide)
                    total = b.dot(x, weight, total, narrow_pairs=self.op.narrow)
            return [total]

        (total,) = b.reduce(bounds, [start], rows)
        position = tile.index(b, at, {0: 1})
        self.write([batch, block, *outer, position, tile.index(b, 0, {1: 1})], total)

    def _elements(self, place: list[Scalar], part: RowTiles, at: Scalar, group: int, wide: Tile) -> Scalar | None:
        """The elements that a group of taps sees at a tile, each channel's in its lane; None: only padding."""
        b, window, lanes = self.b, self.op.windows()[-1], self.lanes
        ahead = group * GROUP - window.before
        if self._is_inside(part):
            column = wide.index(b, at * window.stride + ahead, {0: window.stride})
            read = b.splat(self.reads[0]([*place, column, wide.index(b, 0, {1: 1})]), wide)
            return b.shuffle(read, read, [tap * lanes + lane for lane in range(lanes) for tap in range(GROUP)])
        found: Scalar | None = None
        count = min(GROUP, window.extent)
        for number in range(part.size):
            first = (part.start + number) * window.stride + ahead
            begin = min(max(first, 0), window.extent - count)
            columns = [
                column if column in range(count) else None for column in range(first - begin, first - begin + GROUP)
            ]
            if columns == [None] * GROUP:
                continue
            one = Tile((1, lanes * GROUP), count * lanes if count % GROUP else None)
            read = b.splat(self.reads[0]([*place, b.index(begin), one.index(b, 0, {1: 1})]), one)
            zero = b.splat(0, one, read.dtype)
            chosen = [
                (GROUP if column is None else column) * lanes + lane for lane in range(lanes) for column in columns
            ]
            whole = b.splat(0, wide, read.dtype) if found is None else found
            found = b.replace(b.shuffle(read, zero, chosen), whole, [number])
        return found


class PairDepthwiseNest(_Nest[BlockedPairDepthwiseConvOp]):
    """The nest by products of two taps in neighbouring rows.

    Rows of the result that see all rows of the kernel have code of their own, in which these are written one by one.
    """

    def emit(self) -> None:
        outermost = self.outermost()
        *outer, across = self.op.windows()
        tiles = row_tiles(across, self.schedule.positions)

        def one_row(index: list[Scalar], *, whole: bool) -> None:
            for part in tiles:
                self.b.sequential_range(
                    part.start,
                    part.positions.stop,
                    part.size,
                    lambda at, part=part: _PairTile.of(self, index=index, part=part, at=at, whole=whole).emit(),
                )

        if not outer:
            self.b.parallel_for(outermost, lambda index: one_row(index, whole=True))
            return
        *others, rows = outer
        edges = Edges.of(rows)
        parts = [(0, edges.begin), (edges.begin, edges.end), (edges.end, edges.positions)]

        def all_rows(index: list[Scalar]) -> None:
            for number, (start, stop) in enumerate(parts):
                self.b.parallel_range(start, stop, 1, lambda at, whole=number == 1: one_row([*index, at], whole=whole))

        self.b.parallel_for([*outermost, *(window.positions for window in others)], all_rows)


@dataclass(frozen=True)
class _PairTile(_Nest[BlockedPairDepthwiseConvOp]):
    """The positions from `at` on along the last axis, at `index`: batch, block, positions along the other axes."""

    index: list[Scalar]
    part: RowTiles
    at: Scalar
    whole: bool
    """Whether all rows of the kernel see something; else that is found out when the code runs."""

    def emit(self) -> None:
        b, (batch, block, *position) = self.b, self.index
        tile = Tile((self.part.size, self.lanes))
        start = self.start(block, position, self.part.start, tile)
        *outer, _ = self.op.windows()
        bounds = [window.taps(b, place) for window, place in zip(outer[:-1], position, strict=False)]
        (total,) = b.reduce(bounds, [start], self._rows)
        place = tile.index(b, self.at, {0: 1})
        self.write([batch, block, *position, place, tile.index(b, 0, {1: 1})], total)

    def _rows(self, taps: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
        """All rows of the kernel, in pairs and perhaps one alone; `taps` are those along the axes before."""
        b = self.b
        *outer, _ = self.op.windows()
        if not outer:
            return self._row([], carried, paired=False)

        def row(number: Scalar, sums: list[Scalar], *, paired: bool) -> list[Scalar]:
            return self._row([*taps, number], sums, paired=paired)

        if self.whole:
            for number in range(0, outer[-1].size, 2):
                carried = row(b.index(number), carried, paired=number + 1 < outer[-1].size)
            return carried
        first, last = outer[-1].taps(b, self.index[-1])
        pairs = b.max(last - first, 0) / 2
        middle = first + pairs * 2
        carried = b.loop(first, middle, 2, carried, lambda number, sums: row(number, sums, paired=True))
        return b.loop(middle, last, 1, carried, lambda number, sums: row(number, sums, paired=False))

    def _row(self, taps: list[Scalar], carried: list[Scalar], *, paired: bool) -> list[Scalar]:
        """The products of one row of the kernel, or of two: those at `taps` and in the next row."""
        b, (total,) = self.b, carried
        elements: dict[Strip, Scalar] = {}
        for place in tap_places(self.op.windows()[-1], self.part.taps):
            if place.strip not in elements:
                elements[place.strip] = self._elements(taps, place.strip, paired=paired)
            size = place.last - place.first
            x = b.slice(elements[place.strip], [place.offset], [size])
            weight = self._weight(taps, place.tap, size, paired=paired)
            total = b.replace(b.dot(x, weight, b.slice(total, [place.first], [size])), total, [place.first])
        return [total]

    def _elements(self, taps: list[Scalar], strip: Strip, *, paired: bool) -> Scalar:
        """The elements that the taps of a column see along a strip, each channel's two in its lane."""
        batch, block, *position = self.index
        *outer, across = self.op.windows()
        tile = Tile((strip.count, self.lanes))
        first = self.at * across.stride + (strip.element - across.before)
        column, lane = tile.index(self.b, first, {0: across.stride}), tile.index(self.b, 0, {1: 1})

        def read(taps: list[Scalar]) -> Scalar:
            places = [w.source(at, tap) for w, at, tap in zip(outer, position, taps, strict=True)]
            return self.b.splat(self.reads[0]([batch, block, *places, column, lane]), tile)

        return self._interleaved(read(taps), read(_next(taps)) if paired else None)

    def _weight(self, taps: list[Scalar], tap: int, size: int, *, paired: bool) -> Scalar:
        """The weights of one column for `size` positions, as `_elements`; those of a row alone with zeros."""
        tile = Tile((1, self.lanes))

        def read(taps: list[Scalar]) -> Scalar:
            lane = tile.index(self.b, 0, {1: 1})
            index = self.op.weight_index(self.index[1], [*taps, self.b.index(tap)], lane, self.b.index(0))
            return self.b.splat(self.reads[1](index), tile)

        one = self._interleaved(read(taps), read(_next(taps)) if paired else None, zeros=True)
        return Scalar(self.b, i16, self.b.emit(vector.BroadcastOp(one.ssa, tile_type((size, 2 * self.lanes), i16))))

    def _interleaved(self, first: Scalar, second: Scalar | None, *, zeros: bool = False) -> Scalar:
        """Bytes of two rows side by side in 16 bits; those of one with their signs or, with `zeros`, with zeros."""
        b, shape = self.b, tile_shape(first.ssa)
        lanes = [row * self.lanes + lane for lane in range(self.lanes) for row in range(2)]
        if second is not None:
            return b.cast(b.shuffle(first, second, lanes), i16)
        if zeros:
            return b.cast(b.shuffle(first, b.splat(0, Tile(shape), first.dtype), lanes), i16)
        wide = b.cast(first, i32).ssa
        return Scalar(b, i16, b.emit(vector.BitcastOp(wide, tile_type((*shape[:-1], 2 * self.lanes), i16))))


def _next(taps: Sequence[Scalar]) -> list[Scalar]:
    """The taps in the next row of the kernel."""
    return [*taps[:-1], taps[-1] + 1]
