"""Resampling: every element a weighted sum of elements from places along one axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects.builtin import I64, IntegerAttr, TensorType, i64
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from aotc.dialects.graph import arrays
from aotc.dialects.graph.interfaces import AnchorOp, Array, ShapeError, common_element_type, element_type_of, shape_of
from aotc.dialects.graph.loops import LoopBuilder, Reader, Writer
from aotc.dialects.graph.scalars import INDEX, Scalar
from aotc.dialects.graph.schedule import Machine, Schedule
from aotc.dialects.graph.shapes import ceil_div, require_axis
from aotc.passes.kernel.builders.tile_builder import NotTileable, Tile, TileBuilder
from aotc.passes.kernel.costs.lanes import lanes_of
from aotc.passes.kernel.costs.register_tiles import Segment, segments
from aotc.passes.kernel.costs.rows import axis_of_lanes
from aotc.passes.kernel.nests.rows import Piece, pieces

if TYPE_CHECKING:
    from aotc.dialects.graph.packed.channels import Blocked
    from aotc.passes.kernel.layouts import Layouts

MOST_UNROLLED = 4
"""More taps than that are a loop."""


@irdl_op_definition
class ResampleOp(AnchorOp):
    """Weighted sums along `axis`: result[a..., n, b...] = sum over t of x[a..., places[n, t], b...] * weights[n, t].

    The `places` (i64) must lie inside x.
    """

    name = "graph.resample"
    x = operand_def(TensorType)
    places = operand_def(TensorType)
    weights = operand_def(TensorType)
    axis = prop_def(IntegerAttr[I64])
    result = result_def(TensorType)

    def infer_types(self) -> Sequence[TensorType]:
        x, places, axis = shape_of(self.x), shape_of(self.places), self.axis.value.data
        require_axis(axis, len(x))
        if len(places) != 2 or places != shape_of(self.weights) or element_type_of(self.places) != i64:
            raise ShapeError(f"places and weights must be matrices of one shape, found {list(places)}")
        kind = common_element_type(self.x, self.weights)
        return [TensorType(kind, [*x[:axis], places[0], *x[axis + 1 :]])]

    def operations(self) -> int:
        return 2 * math.prod(shape_of(self.result)) * shape_of(self.places)[1]

    def evaluate(self, operands: Sequence[Array]) -> Sequence[Array] | None:
        x, places, weights = operands
        wide = np.promote_types(arrays.widen(x).dtype, np.float32)
        taps = np.moveaxis(x.astype(wide), self.axis.value.data, -1)[..., places]
        sums = (taps * weights.astype(wide)).sum(-1)
        return [arrays.convert(np.moveaxis(sums, -1, self.axis.value.data), x.dtype)]

    def loops(self, b: LoopBuilder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        axis, taps = self.axis.value.data, shape_of(self.places)[1]
        zero = b.const(0, element_type_of(self.result))

        def body(index: list[Scalar]) -> None:
            def step(at: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
                tap = [index[axis], at[0]]
                x = reads[0]([*index[:axis], b.cast(reads[1](tap), INDEX), *index[axis + 1 :]])
                return [carried[0] + x * reads[2](tap)]

            writes[0](index, b.reduce([(0, taps)], [zero], step)[0])

        b.for_each(shape_of(self.result), body)

    def lay_out(self, layouts: Layouts) -> Blocked | None:
        """On blocks, but for what leaves the function larger than it came: that costs less to unpack before."""
        x, axis, shape = layouts.computed(self.x), self.axis.value.data, shape_of(self.result)
        if x is None or axis < 2:
            return None
        if axis < axis_of_lanes(shape) and shape[axis] > shape_of(self.x)[axis] and layouts.is_result(self.result):
            return None
        return layouts.on_blocks(self, x, *self.operands[1:])

    def schedule_on(self, machine: Machine) -> Schedule | None:
        axes, lanes = self._tile_axes(), lanes_of(machine, element_type_of(self.x))
        extent = shape_of(self.result)[axes[1]]
        if lanes == 1 or axes[1] == self.axis.value.data or 2 * extent <= lanes:
            return None  # elements that follow each other come from anywhere, or are few
        registers = min(machine.use.chain, ceil_div(extent, lanes))
        return Schedule(lanes, (machine.use.chain // registers, registers))

    def _tile_axes(self) -> tuple[int | None, int]:
        """The axis of a tile's rows, if there is one, and that of its lanes: the innermost that are longer than 1."""
        shape, axis = shape_of(self.result), self.axis.value.data
        lanes = axis_of_lanes(shape)
        return max((k for k in range(len(shape)) if k not in (axis, lanes) and shape[k] > 1), default=None), lanes

    def tiled_loops(
        self, b: TileBuilder, reads: Sequence[Reader], writes: Sequence[Writer], schedule: Schedule
    ) -> None:
        """All elements of a tile have one place along the axis, so that each tap is a load and a scalar factor."""
        shape, taps, axis = shape_of(self.result), shape_of(self.places)[1], self.axis.value.data
        row_axis, lane_axis = self._tile_axes()
        if lane_axis == axis:
            raise NotTileable("elements that follow each other come from anywhere")
        kind, lanes = element_type_of(self.x), schedule.lanes
        height = 1 if row_axis is None else min(schedule.tile[0], shape[row_axis])

        def each(index: list[Scalar], tile: Tile) -> None:
            def step(tap: Scalar, carried: list[Scalar]) -> list[Scalar]:
                at = [index[axis], tap]
                x = reads[0]([*index[:axis], b.cast(reads[1](at), INDEX), *index[axis + 1 :]])
                return [b.fma(b.splat(x, tile), reads[2](at), carried[0])]

            total = [b.splat(0, tile, kind)]
            if taps <= MOST_UNROLLED:
                for tap in range(taps):
                    total = step(b.index(tap), total)
            else:
                total = b.loop(0, taps, 1, total, step)
            writes[0](index, total[0])

        for rows in segments(1 if row_axis is None else shape[row_axis], height):
            for piece in pieces(shape[lane_axis], schedule.tile[1], lanes):
                tile = Tile((rows.size, piece.registers, lanes), piece.valid)

                def place(at: list[Scalar], rows: Segment = rows, piece: Piece = piece, tile: Tile = tile) -> None:
                    index = list(at)
                    if row_axis is not None:
                        index[row_axis] = tile.index(b, at[row_axis] * rows.size + rows.start, {0: 1})
                    start = at[lane_axis] * piece.width + piece.start
                    index[lane_axis] = tile.index(b, start, {-2: lanes, -1: 1})
                    each(index, tile)

                bounds = list(shape)
                bounds[lane_axis] = ceil_div(piece.end - piece.start, piece.width)
                if row_axis is not None:
                    bounds[row_axis] = rows.count
                b.for_each(bounds, place)
