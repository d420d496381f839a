"""Depthwise convolution of 8-bit integers: dot products of four neighbouring taps of a channel.

The elements that four neighbouring taps see at a position, for a block of channels, follow each other in memory. They
are one load and one shuffle, after which each channel has its four in a lane.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aotc.dialects.builder import Reader, Scalar, Writer
from aotc.dialects.graph.interfaces import shape_of
from aotc.dialects.graph.packed.dots import GROUP, BlockedDotDepthwiseConvOp
from aotc.dialects.graph.schedules import WindowSchedule
from aotc.dialects.graph.shapes import ceil_div
from aotc.dialects.graph.windows.sliding import SlidingWindow
from aotc.passes.kernel.builders.tile_builder import NotVectorizable, Tile, TileBuilder
from aotc.passes.kernel.nests.edges import RowTiles, row_tiles
from aotc.passes.kernel.nests.starts import starting_tile


@dataclass(frozen=True)
class DotDepthwiseNest:
    """The nest over images, blocks and positions."""

    op: BlockedDotDepthwiseConvOp
    b: TileBuilder
    reads: Sequence[Reader]
    writes: Sequence[Writer]
    schedule: WindowSchedule

    def run(self) -> None:
        """Emit the nest; every position is written once."""
        shape = shape_of(self.op.x)
        if shape[-1] != self.schedule.lanes:
            raise NotVectorizable(f"blocks of {shape[-1]} channels for vectors of {self.schedule.lanes}")
        *outer, across = self.op.windows()
        tiles = row_tiles(self._seen(across), self.schedule.positions)

        def row(index: list[Scalar]) -> None:
            for part in tiles:
                if self._is_inside(part):
                    self.b.sequential_range(
                        part.start, part.positions.stop, part.size, lambda at, part=part: self._tile(index, part, at)
                    )
                else:
                    for start in part.positions:
                        self._tile(index, RowTiles(start, 1, part.size, part.taps), self.b.index(start))

        self.b.parallel_for([*shape[:2], *(window.positions for window in outer)], row)

    @property
    def lanes(self) -> int:
        """Of a block."""
        return self.schedule.lanes

    def _seen(self, across: SlidingWindow) -> SlidingWindow:
        """The window of whole groups of taps, at the same positions."""
        size = ceil_div(across.size, GROUP) * GROUP
        reached = (across.positions - 1) * across.stride + size
        return SlidingWindow(
            across.extent, size, across.stride, 1, across.before, reached - across.extent - across.before
        )

    def _is_inside(self, part: RowTiles) -> bool:
        """Whether all groups of taps see elements only, at all positions."""
        (first, *more), size = part.taps or (None,), self._seen(self.op.windows()[-1]).size
        return (
            first is not None
            and not more
            and (first.low, first.high, first.first, first.last) == (0, size, 0, part.size)
        )

    def _tile(self, index: list[Scalar], part: RowTiles, at: Scalar) -> None:
        """The positions from `at` on, along the last axis."""
        b, (batch, block, *outer), windows = self.b, index, self.op.windows()
        tile = Tile((part.size, self.lanes))

        def channels(some: Tile) -> Scalar:
            return some.index(b, block * self.lanes, {-1: 1})

        start = starting_tile(b, self.reads[2], self.op.edges(), outer, part.start, tile, channels)
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
                    total = b.dot(x, weight, total, narrow_pairs=self.op.flag("narrow"))
            return [total]

        (total,) = b.reduce(bounds, [start], rows)
        position = tile.index(b, at, {0: 1})
        self.writes[0]([batch, block, *outer, position, tile.index(b, 0, {1: 1})], total)

    def _elements(self, place: list[Scalar], part: RowTiles, at: Scalar, group: int, wide: Tile) -> Scalar | None:
        """What a group of taps sees at the positions of a tile, each channel's in its lane; None: only padding."""
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
                column if 0 <= column < count else None for column in range(first - begin, first - begin + GROUP)
            ]
            if columns == [None] * GROUP:
                continue
            one = Tile((1, lanes * GROUP), count * lanes if count < GROUP else None)
            read = b.splat(self.reads[0]([*place, b.index(begin), one.index(b, 0, {1: 1})]), one)
            zero = b.splat(0, one, read.dtype)
            chosen = [
                (GROUP if column is None else column) * lanes + lane for lane in range(lanes) for column in columns
            ]
            whole = b.splat(0, wide, read.dtype) if found is None else found
            found = b.replace(b.shuffle(read, zero, chosen), whole, [number])
        return found
