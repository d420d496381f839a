"""Convolution to few output channels: inner products with input channels in the lanes, reduced across them at the end,
or sums with positions in the lanes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from aotc.dialects import aot
from aotc.dialects.aot.tiles import tile_shape
from aotc.dialects.builder import Scalar
from aotc.dialects.graph.convolution import ConvOp
from aotc.dialects.graph.interfaces import element_type_of, shape_of
from aotc.dialects.graph.packed.convolution.within_lanes import NarrowConvolutionOp
from aotc.dialects.graph.schedules import InnerProductSchedule, PositionsSchedule
from aotc.dialects.graph.shapes import Segment, segments
from aotc.dialects.graph.windows.sliding import Residues, SlidingWindow
from aotc.passes.kernel.builders.tile_builder import TileBuilder
from aotc.passes.kernel.builders.tiles import Tile, TileIndex
from aotc.passes.kernel.nest import Nest
from aotc.passes.kernel.nests.convolution.window_nest import Part, WindowNest, WindowReduction
from aotc.passes.kernel.nests.products.matmul_nest import chains_of, reduction, sum_of
from aotc.passes.kernel.nests.row_nest import tree_reduce


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
        tile = Tile((1, lanes), count if count < lanes else None)
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

    sums = [b.splat(0, tile, element_type_of(op.result))] * chains_of(tile, taps)
    if op.bias is not None:
        sums[0] = b.splat(op.initial(b, reads, [output]), tile)
    bounds = [(0, extent) for extent in shape_of(op.weight)[1:-1]]
    return sum_of(b, b.reduce(bounds, sums, step))
