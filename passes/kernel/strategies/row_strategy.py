"""Reductions, softmax and normalisation on register tiles, and elimination, whose columns lie along the lanes."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import TypeVar

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, Float32Type, Float64Type, TensorType, f32, i32, i64
from xdsl.ir import SSAValue

from aotc.dialects.aot.tiles import Reduction
from aotc.dialects.builder import Scalar
from aotc.dialects.dtypes import compute_type, integer_range
from aotc.dialects.graph.elementwise import AddOp, DivOp, MulOp, SubOp
from aotc.dialects.graph.functions import SqrtOp
from aotc.dialects.graph.interfaces import element_type_of, producer, shape_of
from aotc.dialects.graph.matrices.elimination import Column, Columns, EliminationOp
from aotc.dialects.graph.movement import ReshapeOp
from aotc.dialects.graph.normalization import NormalizeOp, RowOp, SoftmaxOp
from aotc.dialects.graph.reduction import ArgReduceOp, CumulativeOp, ReduceOp, RowwiseOp
from aotc.dialects.graph.schedules import ElementwiseSchedule, RowSchedule
from aotc.dialects.graph.shapes import ceil_div, segments
from aotc.dialects.graph.structure import ConstantOp
from aotc.machines.machine import Machine
from aotc.passes.kernel.builders.tile_builder import TileBuilder
from aotc.passes.kernel.builders.tiles import NotVectorizable, Tile
from aotc.passes.kernel.costs.lanes import axis_of_lanes, lanes_of, reduction_schedule, row_schedule
from aotc.passes.kernel.layouts import Blocked, ChannelsOf, Layouts
from aotc.passes.kernel.nest import Nest
from aotc.passes.kernel.nests.row_nest import Part, Row, Rows, lane_numbers
from aotc.passes.kernel.spatial_tiling import Box, TiledImplementation, whole
from aotc.passes.kernel.strategy import KernelStrategy, Prologue, Strategies

Rowwise = TypeVar("Rowwise", bound=RowwiseOp)

LANES: dict[str, Reduction] = {"sum": "add", "mean": "add", "prod": "mul", "max": "max", "min": "min"}
"""The reduction across the lanes of a register for each kind of `graph.reduce`."""
FEW = 4
"""Below this number of elements, adding one by one is faster than reducing across lanes."""


class RowwiseStrategy(KernelStrategy[Rowwise]):
    """Operations on rows along any axes."""

    SCHEDULES = (RowSchedule,)

    def on_blocks(self, op: Rowwise) -> Mapping[str, object] | None:
        """Rows within a channel are the same in the NCHWc layout."""
        axes = op.along()
        return None if min(axes, default=2) < 2 else {"axes": axes}

    def block_starts(self, op: Rowwise, channels_of: ChannelsOf) -> Iterable[int] | None:
        return () if self.on_blocks(op) is None else None


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
        """The first (or last) position of lanes with the best value; where x starts with NaN, all hold position 0."""
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
        if axis_of_lanes(shape) == axis:
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


Op = TypeVar("Op", bound=RowOp)


class RowStrategy(RowwiseStrategy[Op]):
    """Functions of rows that read each row several times."""

    def schedule(self, op: Op, machine: Machine) -> RowSchedule | None:
        return row_schedule(machine, element_type_of(op.x), shape_of(op.x), op.along())

    def tiled_implementation(self, op: Op, box: Box) -> TiledImplementation | None:
        everything = whole(op.x)
        return TiledImplementation(op, (box,)) if all(box[axis] == everything[axis] for axis in op.along()) else None

    def nest(self, nest: Nest[Op, RowSchedule]) -> None:
        rows = Rows(nest.b, shape_of(nest.op.x), nest.op.along(), nest.schedule)
        rows.pipelined(lambda row: self.row(nest, row))

    @abstractmethod
    def row(self, nest: Nest[Op, RowSchedule], row: Row) -> Iterator[None]:
        """As `RowOp.row`, vectorised, as a generator: it yields where the next stage needs all of a row.

        With lanes along another axis, a tile holds elements of neighbouring rows.
        """


class SoftmaxStrategy(RowStrategy[SoftmaxOp]):
    """The exponentials are computed twice where a row does not stay in registers: nothing is stored between stages."""

    def schedule(self, op: SoftmaxOp, machine: Machine) -> RowSchedule | None:
        return super().schedule(op, machine) if compute_type(element_type_of(op.x)) == f32 else None

    def row(self, nest: Nest[SoftmaxOp, RowSchedule], row: Row) -> Iterator[None]:
        b, kind = nest.b, element_type_of(nest.op.x)

        def value(part: Part) -> Scalar:
            return part.masked(nest.reads[0](part.index), -np.inf)

        def write(part: Part, value: Scalar) -> None:
            nest.write(part.index, value)

        def larger(x: Scalar, y: Scalar) -> Scalar:
            return b.select(b.compare("gt", y, x), y, x)  # as in `SoftmaxOp.row`, a NaN may be passed over

        top = row.fold("ogt", -np.inf, kind, value, larger)
        yield

        def power(part: Part) -> Scalar:
            return b.exp_of_nonpositive(value(part) - part.spread(top))

        total = row.fold("add", 0, kind, power, b.add)
        log = nest.op.log
        scale = b.math("log", total) if log else 1 / total
        yield
        if log:
            row.sequential_for(lambda part: write(part, value(part) - part.spread(top) - part.spread(scale)))
        else:
            row.sequential_for(lambda part: write(part, power(part) * part.spread(scale)))


class NormalizeStrategy(RowStrategy[NormalizeOp]):
    """The mean, then what it is off by, then the squared distances, then the result."""

    def lay_out_reshaped(self, op: NormalizeOp, layouts: Layouts, shape: Sequence[int]) -> Blocked | None:
        """Normalisation over groups of channels that need not fill blocks: the means of the groups are computed from
        those of their channels, and what they are off by likewise."""
        split, own, kind = producer(op.x, ReshapeOp), shape_of(op.x), element_type_of(op.x)
        if split is None or (x := layouts.computed(split.x)) is None or shape_of(split.x) != tuple(shape) or 0 in own:
            return None
        if not isinstance(kind, Float32Type | Float64Type):
            return None  # means would be rounded to few digits
        if len(own) < 3 or op.along() != tuple(range(2, len(own))) or own[0] != shape[0] or shape[1] % own[1]:
            return None

        def means(value: SSAValue) -> SSAValue:
            """The means of all groups, [N, G, 1]."""
            positions = list(range(2, len(shape)))
            of_channels = layouts.add(ReduceOp.get(value, kind="mean", axes=positions, keepdims=True))
            plain = layouts.unpack(Blocked(of_channels, x.channels))
            split = layouts.add(ReshapeOp.get(plain, shape=[*own[:2], shape[1] // own[1]]))
            return layouts.add(ReduceOp.get(split, kind="mean", axes=[2], keepdims=True))

        def number(value: float) -> SSAValue:
            return layouts.add(ConstantOp(DenseIntOrFPElementsAttr.from_list(TensorType(kind, []), [value])))

        distance = x.value
        for _ in range(2):  # the mean, then what rounding took off it where it is large
            mean = layouts.per_channel(means(distance), shape, x.channels)
            distance = layouts.add(SubOp.get(distance, mean))
        variance = means(layouts.add(MulOp.get(distance, distance)))
        root = layouts.add(SqrtOp.get(layouts.add(AddOp.get(variance, number(op.epsilon)))))
        inverse = layouts.per_channel(layouts.add(DivOp.get(number(1.0), root)), shape, x.channels)
        return Blocked(layouts.add(MulOp.get(distance, inverse)), x.channels)

    def row(self, nest: Nest[NormalizeOp, RowSchedule], row: Row) -> Iterator[None]:
        op, b = nest.op, nest.b
        kind, each = element_type_of(op.x), 1 / float(np.prod(op.row_extents()))

        def read(part: Part) -> Scalar:
            return nest.reads[0](part.index)

        mean = row.fold("add", 0, kind, lambda part: part.masked(read(part), 0), b.add) * each
        yield

        drift = row.fold("add", 0, kind, lambda part: part.masked(read(part) - part.spread(mean), 0), b.add) * each
        yield

        def distance(part: Part) -> Scalar:
            return read(part) - part.spread(mean) - part.spread(drift)

        def square(part: Part) -> Scalar:
            return part.masked(distance(part) * distance(part), 0)

        squares = row.fold("add", 0, kind, square, b.add)
        inverse = 1 / b.math("sqrt", squares * each + op.epsilon)
        yield
        row.sequential_for(lambda part: nest.write(part.index, distance(part) * part.spread(inverse)))


MOST_REGISTERS = 4
"""The most registers of a row at a time: enough independent differences to hide the latency of one."""


class EliminationStrategy(KernelStrategy[EliminationOp]):
    """Whole registers from the one on that holds the first column, where a row fills one."""

    SCHEDULES = (ElementwiseSchedule,)
    PROLOGUES = (Prologue.STORED,)

    def schedule(self, op: EliminationOp, machine: Machine) -> ElementwiseSchedule | None:
        lanes, size = lanes_of(machine, element_type_of(op.x)), shape_of(op.x)[-1]
        if lanes == 1 or size < lanes:
            return None
        return ElementwiseSchedule(lanes, min(ceil_div(size, lanes), MOST_REGISTERS))

    def nest(self, nest: Nest[EliminationOp, ElementwiseSchedule]) -> None:
        nest.op.nest(nest.b, nest.reads, nest.writes, _columns(nest.b, nest.schedule))


def _columns(b: TileBuilder, schedule: ElementwiseSchedule) -> Columns:
    lanes = schedule.lanes

    def columns_of(low: int, end: int, first: Scalar, body: Column) -> None:
        for part in segments(end - low, schedule.registers * lanes):
            tile = Tile((ceil_div(part.size, lanes), lanes), part.size if part.size % lanes else None)
            start, stop = low + part.start, low + part.stop
            # the tile that holds `first`, if it is in this part
            before = b.max(first - start, 0) / b.index(part.size) * part.size
            b.sequential_range(
                before + start, stop, part.size, lambda column, tile=tile: body(tile.index(b, column, {0: lanes, 1: 1}))
            )

    return columns_of


STRATEGIES: Strategies = {
    ReduceOp: (ReduceStrategy(),),
    ArgReduceOp: (ArgReduceStrategy(),),
    CumulativeOp: (CumulativeStrategy(),),
    SoftmaxOp: (SoftmaxStrategy(),),
    NormalizeOp: (NormalizeStrategy(),),
    EliminationOp: (EliminationStrategy(),),
}
