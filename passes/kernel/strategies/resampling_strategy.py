"""Resampling on register tiles: all elements of a tile have the same position along the resampled axis."""

from __future__ import annotations

from collections.abc import Mapping

from aotc.dialects.builder import INDEX, Scalar
from aotc.dialects.graph.interfaces import element_type_of, shape_of
from aotc.dialects.graph.schedules import ResampleSchedule
from aotc.dialects.graph.shapes import Segment, ceil_div, segments
from aotc.dialects.graph.windows.resampling import ResampleOp
from aotc.machines.machine import Machine
from aotc.passes.kernel.builders.tiles import NotVectorizable, Tile
from aotc.passes.kernel.costs.lanes import lanes_of
from aotc.passes.kernel.costs.row_cost import axis_of_lanes
from aotc.passes.kernel.layouts import Layouts
from aotc.passes.kernel.nest import Nest
from aotc.passes.kernel.strategy import KernelStrategy, Strategies

MOST_UNROLLED = 4
"""The most taps that are unrolled; more become a loop."""


class ResampleStrategy(KernelStrategy[ResampleOp]):
    """Each tap is a load of a tile and a scalar factor."""

    SCHEDULES = (ResampleSchedule,)

    def schedule(self, op: ResampleOp, machine: Machine) -> ResampleSchedule | None:
        axes, lanes = _tile_axes(op), lanes_of(machine, element_type_of(op.x))
        extent = shape_of(op.result)[axes[1]]
        if lanes == 1 or axes[1] == op.axis or 2 * extent <= lanes:
            return None  # neighbouring results read elements that are not contiguous, or there are few of them
        registers = min(machine.use.chain, ceil_div(extent, lanes))
        return ResampleSchedule(lanes, machine.use.chain // registers, registers)

    def on_blocks(self, op: ResampleOp) -> Mapping[str, object] | None:
        """Unless the result leaves the function and is larger than x: then it costs less to unpack x first."""
        axis, shape = op.axis, shape_of(op.result)
        grows = axis < axis_of_lanes(shape) and shape[axis] > shape_of(op.x)[axis]
        return None if axis < 2 or (grows and Layouts.is_result(op.result)) else {}

    def nest(self, nest: Nest[ResampleOp, ResampleSchedule]) -> None:
        op, b, schedule = nest.op, nest.b, nest.schedule
        shape, taps, axis = nest.shape, shape_of(op.places)[1], op.axis
        row_axis, lane_axis = _tile_axes(op)
        if lane_axis == axis:
            raise NotVectorizable("neighbouring elements are gathered along the lanes")
        kind, lanes = element_type_of(op.x), schedule.lanes
        height = 1 if row_axis is None else min(schedule.rows, shape[row_axis])

        def each(index: list[Scalar], tile: Tile) -> None:
            def step(tap: Scalar, carried: list[Scalar]) -> list[Scalar]:
                at = [index[axis], tap]
                x = nest.reads[0]([*index[:axis], b.cast(nest.reads[1](at), INDEX), *index[axis + 1 :]])
                return [b.fma(b.splat(x, tile), nest.reads[2](at), carried[0])]

            total = [b.splat(0, tile, kind)]
            if taps <= MOST_UNROLLED:
                for tap in range(taps):
                    total = step(b.index(tap), total)
            else:
                total = b.loop(0, taps, 1, total, step)
            nest.write(index, total[0])

        for rows in segments(1 if row_axis is None else shape[row_axis], height):
            for piece in segments(shape[lane_axis], schedule.registers * lanes):
                tile = Tile.of(rows.size, piece.size, lanes)

                def place(at: list[Scalar], rows: Segment = rows, piece: Segment = piece, tile: Tile = tile) -> None:
                    index = list(at)
                    if row_axis is not None:
                        index[row_axis] = tile.index(b, at[row_axis] * rows.size + rows.start, {0: 1})
                    start = at[lane_axis] * piece.size + piece.start
                    index[lane_axis] = tile.index(b, start, {-2: lanes, -1: 1})
                    each(index, tile)

                bounds = list(shape)
                bounds[lane_axis] = piece.count
                if row_axis is not None:
                    bounds[row_axis] = rows.count
                b.parallel_for(bounds, place)


def _tile_axes(op: ResampleOp) -> tuple[int | None, int]:
    """The axis along which a tile has rows, if any, and that of its lanes: the innermost axes that are longer than
    1."""
    shape, axis = shape_of(op.result), op.axis
    lanes = axis_of_lanes(shape)
    return max((k for k in range(len(shape)) if k not in (axis, lanes) and shape[k] > 1), default=None), lanes


STRATEGIES: Strategies = {ResampleOp: (ResampleStrategy(),)}
