"""Windows over the NCHWc layout: the loop nest of pooling, and of convolution within blocks or to few channels.

A tile is some neighbouring positions of the result times the lanes: one register for each position. Every tap of the
window is one operation on the whole tile; tiles at the ends of a row leave out the registers for which a tap lies in
the padding (`edges`). Along the other axes the bounds of the loops over taps do.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

from aotc.dialects import aot
from aotc.dialects.aot.tiles import tile_shape
from aotc.dialects.builder import Reader, Scalar
from aotc.dialects.graph.convolution import ConvOp
from aotc.dialects.graph.interfaces import element_type_of, shape_of
from aotc.dialects.graph.packed.convolution.within_lanes import NarrowConvolutionOp
from aotc.dialects.graph.schedules import InnerProductSchedule, PositionsSchedule, WindowSchedule
from aotc.dialects.graph.shapes import Segment, segments
from aotc.dialects.graph.windows.sliding import Residues, SlidingWindow
from aotc.passes.kernel.builders.tile_builder import TileBuilder
from aotc.passes.kernel.builders.tiles import NotVectorizable, Tile, TileIndex
from aotc.passes.kernel.nest import Nest
from aotc.passes.kernel.nests.convolution.row_tiles import RowTiles, Strip, TapRange, row_tiles, tap_places
from aotc.passes.kernel.nests.products.matmul_nest import chains_of, reduction, sum_of
from aotc.passes.kernel.nests.row_nest import tree_reduce

MOST_UNROLLED = 9
"""The most taps along a row that are unrolled; what several of them read is then loaded once."""
MOST_EDGES = 16
"""If more tiles than this meet the ends of a row, the positions there are computed one at a time."""


@dataclass(frozen=True)
class Part:
    """Some or all of the positions of a tile: what one step computes."""

    tile: Tile
    index: list[Scalar]
    """Of the result: batch, block, positions, lane."""
    across: int
    """The spatial axis along which the positions are neighbours."""
    example: int | None = None
    """A first position whose taps along `across` read alike; None where the position is not known."""


class WindowReduction(ABC):
    """The function of a window: the reduction over its taps."""

    def passes(self) -> Sequence[WindowReduction]:
        """The reductions that traverse the taps along a row one after the other, each on its own `view`."""
        return [self]

    def view(self, value: Scalar) -> Scalar:
        """A transformation of a tile of x, applied before the taps."""
        return value

    @abstractmethod
    def initial(self, part: Part) -> list[Scalar]:
        """The tiles that the reduction starts with."""

    @abstractmethod
    def step(self, part: Part, taps: list[Scalar], value: Scalar, carried: list[Scalar]) -> list[Scalar]:
        """The tiles after one more tap, which reads `value` from x; `taps` has its position along each axis."""

    @abstractmethod
    def finish(self, part: Part, carried: list[Scalar]) -> None:
        """Write the result of the reduction."""


@dataclass(frozen=True)
class WindowNest:
    """The nest over `outer` (batch and blocks) and the positions of `windows`, along each spatial axis."""

    b: TileBuilder
    schedule: WindowSchedule | InnerProductSchedule
    outer: Sequence[int]
    windows: Sequence[SlidingWindow]
    lanes: int
    read: Reader
    """Of x [batch, block, spatial.., lane]."""
    reduction: WindowReduction
    most_unrolled: int = MOST_UNROLLED
    """More taps along a row become a loop, in which they share no registers."""

    def emit(self) -> None:
        """Emit the nest; every position is written once."""
        if self.lanes == 1 or self.lanes != self.schedule.lanes:
            raise NotVectorizable(f"blocks of {self.lanes} channels for vectors of {self.schedule.lanes}")
        rows = [1 if axis == self.across else window.positions for axis, window in enumerate(self.windows)]
        tiles = row_tiles(self.windows[self.across], self.schedule.positions)
        few = sum(each.count == 1 for each in tiles) <= MOST_EDGES

        def row(index: list[Scalar]) -> None:
            for each in tiles:
                if few or each.count > 1:
                    self._sweep(index, each.positions, lambda at, each=each: self._tile(at, each))
                else:
                    self._sweep(index, range(each.start, each.start + each.size), self._position)

        self.b.parallel_for([*self.outer, *rows], row)

    @cached_property
    def across(self) -> int:
        """The axis along which tiles lie: the last one or, where that is short, an earlier one that keeps the order of
        taps."""
        count, most = len(self.windows), self.schedule.positions
        axes = [axis for axis in range(count) if all(window.size == 1 for window in self.windows[axis + 1 :])]
        return max(axes, key=lambda axis: (min(self.windows[axis].positions, most), axis))

    @property
    def _place(self) -> int:
        """The entry of an index that is the position along `across`."""
        return len(self.outer) + self.across

    def _sweep(self, index: list[Scalar], positions: range, body: Callable[[list[Scalar]], None]) -> None:
        """`body` at each of `positions` along `across`."""

        def at(position: Scalar) -> None:
            body([*index[: self._place], position, *index[self._place + 1 :]])

        self.b.sequential_range(positions.start, positions.stop, positions.step, at)

    def _part(self, index: list[Scalar], first: int, last: int) -> Part:
        """The positions first..last of the tile that begins at `index`."""
        tile = Tile((last - first, self.lanes))
        position = tile.index(self.b, index[self._place] + first, {0: 1})
        lane = tile.index(self.b, 0, {-1: 1})
        return Part(tile, [*index[: self._place], position, *index[self._place + 1 :], lane], self.across)

    def _source(self, index: list[Scalar], taps: list[Scalar]) -> list[Scalar]:
        """The index of x that `taps` read at `index` of the result."""
        count = len(self.outer)
        positions = index[count:-1]
        sources = (w.source(p, tap) for w, p, tap in zip(self.windows, positions, taps, strict=True))
        return [*index[:count], *sources, index[-1]]

    def _position(self, index: list[Scalar]) -> None:
        """One position, where loop bounds tell which taps read an element."""
        part = self._part(index, 0, 1)

        def step(taps: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
            return self._step(part, taps, carried)

        self._reduce(part, index, range(len(self.windows)), step)

    def _tile(self, index: list[Scalar], tiles: RowTiles) -> None:
        """A tile; `tiles` tells what the taps along `across` read."""

        def row(taps: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
            taps.insert(self.across, self.b.index(0))
            return self._row(index, taps, tiles, carried)

        others = [axis for axis in range(len(self.windows)) if axis != self.across]
        self._reduce(replace(self._part(index, 0, tiles.size), example=tiles.start), index, others, row)

    def _reduce(
        self,
        part: Part,
        index: list[Scalar],
        axes: Sequence[int],
        step: Callable[[list[Scalar], list[Scalar]], list[Scalar]],
    ) -> None:
        """Loops over the taps along `axes` that see something, from the start of the reduction to its end."""
        bounds = [self.windows[axis].taps(self.b, index[len(self.outer) + axis]) for axis in axes]
        self.reduction.finish(part, self.b.reduce(bounds, self.reduction.initial(part), lambda at, c: step([*at], c)))

    def _step(self, part: Part, taps: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
        source = self._source(part.index, taps)
        value = self.b.splat(self.read(source), part.tile)
        for each in self.reduction.passes():
            carried = each.step(part, taps, each.view(value), carried)
        return carried

    def _row(self, index: list[Scalar], taps: list[Scalar], tiles: RowTiles, carried: list[Scalar]) -> list[Scalar]:
        """All taps along `across`, in order; `taps` are those along the other axes."""
        if self.windows[self.across].size <= self.most_unrolled:
            return self._unrolled(index, taps, tiles.taps, carried)
        for some in tiles.taps:
            part = self._part(index, some.first, some.last)

            def step(tap: Scalar, before: list[Scalar], part: Part = part) -> list[Scalar]:
                return self._step(part, self._with_tap(taps, tap), before)

            after = self.b.loop(some.low, some.high, 1, self._slices(carried, some.first, some.last), step)
            carried = self._replaced(carried, after, some.first)
        return carried

    def _unrolled(
        self, index: list[Scalar], taps: list[Scalar], ranges: Sequence[TapRange], carried: list[Scalar]
    ) -> list[Scalar]:
        """As `_row`, unrolled: what several taps read is loaded once."""
        places = [*tap_places(self.windows[self.across], ranges)]
        read: dict[Strip, Scalar] = {}
        for each in self.reduction.passes():
            views: dict[Strip, Scalar] = {}
            for place in places:
                if place.strip not in read:
                    read[place.strip] = self._read(index, taps, place.strip)
                if place.strip not in views:
                    views[place.strip] = each.view(read[place.strip])
                elements = self.b.slice(views[place.strip], [place.offset], [place.last - place.first])
                part = self._part(index, place.first, place.last)
                before = self._slices(carried, place.first, place.last)
                after = each.step(part, self._with_tap(taps, self.b.index(place.tap)), elements, before)
                carried = self._replaced(carried, after, place.first)
        return carried

    def _read(self, index: list[Scalar], taps: list[Scalar], strip: Strip) -> Scalar:
        """The elements that the positions of a strip read."""
        tile = Tile((strip.count, self.lanes))
        source = self._source([*index, tile.index(self.b, 0, {-1: 1})], taps)
        start = source[self._place] + strip.element
        source[self._place] = tile.index(self.b, start, {0: self.windows[self.across].stride})
        return self.b.splat(self.read(source), tile)

    def _with_tap(self, taps: list[Scalar], tap: Scalar) -> list[Scalar]:
        return [*taps[: self.across], tap, *taps[self.across + 1 :]]

    def _slices(self, tiles: list[Scalar], first: int, last: int) -> list[Scalar]:
        return [self.b.slice(tile, [first], [last - first]) for tile in tiles]

    def _replaced(self, tiles: list[Scalar], parts: list[Scalar], first: int) -> list[Scalar]:
        return [self.b.replace(part, tile, [first]) for part, tile in zip(parts, tiles, strict=True)]


def narrow_nest(nest: Nest[NarrowConvolutionOp, InnerProductSchedule]) -> None:
    """The blocks are one more window axis, which covers all of them; the nest runs once for each output channel."""
    op, b = nest.op, nest.b
    images, count, *_, lanes = shape_of(op.x)
    outer = (images, shape_of(op.weight)[0])

    def read(index: Sequence[Scalar]) -> Scalar:
        batch, _, *rest = index
        return nest.reads[0]([batch, *rest])

    for residues in product(*op.residues()):
        windows = [SlidingWindow(count, count, 1, 1, 0, 0), *(each.window for each in residues)]

        def each(j: list[Scalar], those: Sequence[Residues] = residues, windows: list[SlidingWindow] = windows) -> None:
            sums = _InnerProducts(nest, those, j)
            WindowNest(b, nest.schedule, outer, windows, lanes, read, sums, most_unrolled=1).emit()

        b.parallel_for([each.count for each in residues], each)


@dataclass(frozen=True)
class _InnerProducts(WindowReduction):
    """The inner products at residues `j` of `residues`."""

    nest: Nest[NarrowConvolutionOp, InnerProductSchedule]
    residues: Sequence[Residues]
    j: Sequence[Scalar]

    def initial(self, part: Part) -> list[Scalar]:
        return [self.nest.b.splat(0, part.tile, element_type_of(self.nest.op.result))]

    def step(self, part: Part, taps: list[Scalar], value: Scalar, carried: list[Scalar]) -> list[Scalar]:
        block, *steps = taps
        along = [
            k * residues.tap_stride + (j + residues.first_tap)
            for k, residues, j in zip(steps, self.residues, self.j, strict=True)
        ]
        weight = self.nest.reads[1]([part.index[1], block, *along, part.index[-1]])
        return [self.nest.b.fma(value, weight, carried[0])]

    def finish(self, part: Part, carried: list[Scalar]) -> None:
        b, (count, lanes) = self.nest.b, part.tile.shape
        batch, output, _, *positions, _ = part.index
        tile = Tile((1, lanes), count if count % lanes else None)
        index: list[Scalar] = []
        for axis, (position, residues, j) in enumerate(zip(positions, self.residues, self.j, strict=True)):
            first = position.base if isinstance(position, TileIndex) else position
            start = first * residues.stride + (j + residues.start)
            steps = {-1: residues.stride} if axis + 1 == part.across else {}
            index.append(tile.index(b, start, steps))
        total = _reduced_across_lanes(b, carried[0]) + self.nest.op.initial(b, self.nest.reads, [output])
        self.nest.write([batch, output, *index], total)


def _reduced_across_lanes(b: TileBuilder, a: Scalar) -> Scalar:
    """The sum across the lanes of register i, in lane i of one register; for as many registers as lanes, or fewer."""
    lanes = tile_shape(a.ssa)[-1]
    square = b.replace(a, b.splat(0, Tile((lanes, lanes)), a.dtype), [0])
    turned = Scalar(b, a.dtype, b.insert(aot.TileTransposeOp(square.ssa)))
    return tree_reduce(b, turned, 0, b.add)


def positions_nest(nest: Nest[ConvOp, PositionsSchedule]) -> None:
    """Register tiles of output channels x neighbouring positions, of a convolution without groups and padding whose
    windows are one element apart along the last axis: for each tap the lanes are neighbours in x."""
    b, schedule, lanes = nest.b, nest.schedule, nest.lanes
    images, outputs, *outer, row = nest.shape
    for r in segments(outputs, schedule.mr):
        for c in segments(row, schedule.nr * lanes):

            def at(index: list[Scalar], r: Segment = r, c: Segment = c) -> None:
                batch, *places, rows, columns = index
                tile = Tile.of(r.size, c.size, lanes)
                output = tile.index(b, rows * r.size + r.start, {0: 1})
                places.append(tile.index(b, columns * c.size + c.start, {1: lanes, 2: 1}))
                nest.write([batch, output, *places], _sums_along_positions(nest, tile, batch, output, places))

            b.parallel_for([images, *outer, r.count, c.count], at)


def _sums_along_positions(
    nest: Nest[ConvOp, PositionsSchedule], tile: Tile, batch: Scalar, output: Scalar, places: Sequence[Scalar]
) -> Scalar:
    """The sums of a tile of results at `places`, for the channels `output`."""
    op, b, reads = nest.op, nest.b, nest.reads
    windows = op.windows()
    taps = windows[-1].size

    def step(at: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
        def factors(tap: Scalar) -> tuple[Scalar, Scalar]:
            every = zip(places, [*at[1:], tap], windows, strict=True)
            sources = [place * window.stride + k * window.dilation for place, k, window in every]
            return reads[1]([output, *at, tap]), reads[0]([batch, at[0], *sources])

        return reduction(b, nest.schedule.unroll, taps, carried, factors)

    start = b.splat(op.initial(b, reads, [output]), tile)
    sums = [start, *[b.splat(0, tile, element_type_of(op.result))] * (chains_of(tile, taps) - 1)]
    bounds = [(0, extent) for extent in shape_of(op.weight)[1:-1]]
    return sum_of(b, b.reduce(bounds, sums, step))
