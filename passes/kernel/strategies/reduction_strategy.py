"""Reductions on register tiles: a row is read once, or neighbouring rows together, one in each lane."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import prod
from typing import TypeVar

import numpy as np
from xdsl.dialects.builtin import f32, i32, i64
from xdsl.ir import SSAValue

from aotc.dialects.aot.tiles import Reduction
from aotc.dialects.builder import Scalar
from aotc.dialects.dtypes import integer_range
from aotc.dialects.graph.interfaces import element_type_of, shape_of
from aotc.dialects.graph.reduction import ArgReduceOp, CumulativeOp, ReduceOp, RowwiseOp
from aotc.dialects.graph.schedules import RowSchedule
from aotc.machines.machine import Machine
from aotc.passes.kernel.builders.tile_builder import TileBuilder
from aotc.passes.kernel.builders.tiles import NotVectorizable
from aotc.passes.kernel.costs.row_cost import axis_of_lanes, reduction_schedule
from aotc.passes.kernel.layouts import Blocked, ChannelsOf, Layouts
from aotc.passes.kernel.nest import Nest
from aotc.passes.kernel.nests.row_nest import Part, Row, Rows, lane_numbers
from aotc.passes.kernel.strategy import KernelStrategy, Strategies

Rowwise = TypeVar("Rowwise", bound=RowwiseOp)

LANES: dict[str, Reduction] = {"sum": "add", "mean": "add", "prod": "mul", "max": "max", "min": "min"}
"""The reduction across the lanes of a register for each kind of `graph.reduce`."""
FEW = 4
"""Below this number of elements, adding one by one is faster than reducing across lanes."""


class RowwiseStrategy(KernelStrategy[Rowwise]):
    """Operations on rows along any axes."""

    SCHEDULES = (RowSchedule,)

    def lay_out(self, op: Rowwise, layouts: Layouts) -> SSAValue | Blocked | None:
        """Rows within a channel are the same in the NCHWc layout."""
        x, axes = layouts.computed(op.x), op.along()
        return None if x is None or min(axes, default=2) < 2 else layouts.copied_on_blocks(op, x, axes=axes)

    def block_starts(self, op: Rowwise, channels_of: ChannelsOf) -> Iterable[int] | None:
        return None if min(op.along(), default=2) >= 2 else ()


class ReduceStrategy(RowwiseStrategy[ReduceOp]):
    """Each element of a tile holds a partial result; these are combined at the end of a row."""

    def schedule(self, op: ReduceOp, machine: Machine) -> RowSchedule | None:
        shape, axes = shape_of(op.x), op.along()
        if axis_of_lanes(shape) in axes and prod(shape[axis] for axis in axes) < FEW:
            return None
        kind = element_type_of(op.x)
        if kind == i32 and op.kind.data != "mean":  # which is divided, and no vector is
            kind = f32  # of the same width
        return reduction_schedule(machine, kind, shape, axes)

    def nest(self, nest: Nest[ReduceOp, RowSchedule]) -> None:
        op, b = nest.op, nest.b
        shape, axes, monoid = shape_of(op.x), op.along(), op.monoid()
        kind = element_type_of(op.x)
        neutral = monoid.neutral(kind)

        def value(part: Part) -> Scalar:
            return part.masked(nest.reads[0](part.index), neutral)

        def each(row: Row) -> None:
            total = row.fold(LANES[op.kind.data], neutral, kind, value, lambda x, y: monoid.combine(b, x, y))
            axes_of_result = [axis for axis in range(len(shape)) if op.keepdims or axis not in axes]
            nest.write(row.result_index(axes_of_result), total / op.count() if op.kind.data == "mean" else total)

        Rows(b, shape, axes, nest.schedule).parallel_for(each)


class ArgReduceStrategy(KernelStrategy[ArgReduceOp]):
    """The best element so far, and its position, in each element of a tile."""

    SCHEDULES = (RowSchedule,)

    def schedule(self, op: ArgReduceOp, machine: Machine) -> RowSchedule | None:
        schedule = reduction_schedule(machine, element_type_of(op.x), shape_of(op.x), op.along())
        return None if schedule is None else replace(schedule, steps=1)

    def nest(self, nest: Nest[ArgReduceOp, RowSchedule]) -> None:
        op, b, read, (axis,) = nest.op, nest.b, nest.reads[0], nest.op.along()
        shape, kind = shape_of(op.x), element_type_of(op.x)
        rows = Rows(b, shape, (axis,), replace(nest.schedule, steps=1))

        def better(value: Scalar, position: Scalar, carried: Sequence[Scalar]) -> list[Scalar]:
            wins = b.compare(op.better(), value, carried[0])
            return [b.select(wins, value, carried[0]), b.select(wins, position, carried[1])]

        def each(row: Row) -> None:
            first = row.first(axis)
            numbers = lane_numbers(b, first.tile.shape, kind)
            start = b.splat(read(first.index), first.tile, kind)

            def step(part: Part, carried: list[Scalar]) -> list[Scalar]:
                sizes = part.tile.shape[:-1]
                position = b.splat(b.cast(part.base(axis), numbers.dtype), part.tile)
                if rows.across:
                    position = position + b.slice(numbers, [0, 0], sizes)
                value = part.masked(read(part.index), np.nan)  # NaN is never better
                mine = [b.slice(each, [0, 0], sizes) for each in carried]
                now = better(value, position, mine)
                return [b.replace(new, old, [0, 0]) for new, old in zip(now, carried, strict=True)]

            best, position = row.walk([start, b.splat(0, first.tile, numbers.dtype)], step)
            if rows.across:
                position = self._best_lane(op, b, best, position)
            axes_of_result = [k for k in range(len(shape)) if op.keepdims or k != axis]
            nest.write(row.result_index(axes_of_result), b.cast(position, i64))

        rows.parallel_for(each)

    @staticmethod
    def _best_lane(op: ArgReduceOp, b: TileBuilder, best: Scalar, position: Scalar) -> Scalar:
        """The first (or last) position among the lanes that hold the best value; where x starts with NaN, all hold
        position 0."""
        greatest = op.kind.data == "max"
        top = b.total("max" if greatest else "min", best)
        worse = b.compare("lt" if greatest else "gt", best, top)
        never = -1 if op.last else integer_range(position.dtype)[1]
        return b.total("max" if op.last else "min", b.select(worse, b.const(never, position.dtype), position))


class CumulativeStrategy(KernelStrategy[CumulativeOp]):
    """Running totals of neighbouring rows, one in each lane."""

    SCHEDULES = (RowSchedule,)

    def schedule(self, op: CumulativeOp, machine: Machine) -> RowSchedule | None:
        shape, axis = shape_of(op.x), op.along()
        if not shape or axis_of_lanes(shape) == axis:
            return None
        schedule = reduction_schedule(machine, element_type_of(op.x), shape, (axis,))
        return None if schedule is None else replace(schedule, steps=1)

    def nest(self, nest: Nest[CumulativeOp, RowSchedule]) -> None:
        op, b = nest.op, nest.b
        shape, axis, monoid = shape_of(op.x), op.along(), op.monoid()
        kind = element_type_of(op.x)
        if axis_of_lanes(shape) == axis:
            raise NotVectorizable("a cumulative sum runs along the lanes")

        def each(row: Row) -> None:
            def step(i: Scalar, carried: list[Scalar]) -> list[Scalar]:
                place = b.index(shape[axis] - 1) - i if op.reverse else i
                part = row.at(axis, place)
                total = monoid.combine(b, carried[0], nest.reads[0](part.index))
                nest.write(part.index, carried[0] if op.exclusive else total)
                return [total]

            b.loop(0, shape[axis], 1, [b.splat(monoid.neutral(kind), row.at(axis, b.index(0)).tile, kind)], step)

        Rows(b, shape, (axis,), replace(nest.schedule, steps=1)).parallel_for(each)


STRATEGIES: Strategies = {
    ReduceOp: (ReduceStrategy(),),
    ArgReduceOp: (ArgReduceStrategy(),),
    CumulativeOp: (CumulativeStrategy(),),
}
