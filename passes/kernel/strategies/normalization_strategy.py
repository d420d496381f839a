"""Softmax and normalisation on register tiles: rows stay in registers, several are software-pipelined."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import TypeVar

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, Float32Type, Float64Type, TensorType, f32
from xdsl.ir import SSAValue

from aotc.dialects.builder import Scalar
from aotc.dialects.dtypes import compute_type
from aotc.dialects.graph.elementwise import AddOp, DivOp, MulOp, SubOp
from aotc.dialects.graph.functions import SqrtOp
from aotc.dialects.graph.interfaces import element_type_of, producer, shape_of
from aotc.dialects.graph.movement import ReshapeOp
from aotc.dialects.graph.normalization import NormalizeOp, RowOp, SoftmaxOp
from aotc.dialects.graph.reduction import ReduceOp
from aotc.dialects.graph.schedules import RowSchedule
from aotc.dialects.graph.structure import ConstantOp
from aotc.machines.machine import Machine
from aotc.passes.kernel.costs.row_cost import row_schedule
from aotc.passes.kernel.layouts import Blocked, Layouts
from aotc.passes.kernel.nest import Nest
from aotc.passes.kernel.nests.row_nest import Part, Row, Rows
from aotc.passes.kernel.spatial_tiling import Box, TiledImplementation, whole
from aotc.passes.kernel.strategies.reduction_strategy import RowwiseStrategy
from aotc.passes.kernel.strategy import Strategies

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
        x = None if split is None else layouts.computed(split.x)
        if split is None or x is None or shape_of(split.x) != tuple(shape) or 0 in shape:
            return None
        if not isinstance(kind, Float32Type | Float64Type):
            return None  # means would be rounded to few digits
        if own[0] != shape[0] or shape[1] % own[1] or op.along() != tuple(range(2, len(own))):
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


STRATEGIES: Strategies = {SoftmaxOp: (SoftmaxStrategy(),), NormalizeOp: (NormalizeStrategy(),)}
