"""Normalisations: softmax, zero mean and unit variance, the affine map of batch normalisation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects.builtin import (
    BoolAttr,
    DenseIntOrFPElementsAttr,
    Float32Type,
    Float64Type,
    FloatAttr,
    TensorType,
    f32,
)
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from aotc.dialects.dtypes import compute_type
from aotc.dialects.graph import arrays
from aotc.dialects.graph.elementwise import AddOp, DivOp, Domain, MulOp, SubOp
from aotc.dialects.graph.functions import SqrtOp
from aotc.dialects.graph.interfaces import (
    Array,
    ElementOp,
    ShapeError,
    element_type_of,
    producer,
    shape_of,
    tensor_type,
)
from aotc.dialects.graph.loops import LoopBuilder, Reader, Writer
from aotc.dialects.graph.movement import ReshapeOp
from aotc.dialects.graph.packed.channels import Blocked
from aotc.dialects.graph.reduction import ReduceOp, RowwiseOp, merge_index, reduced_shape, rows
from aotc.dialects.graph.scalars import Scalar
from aotc.dialects.graph.structure import ConstantOp
from aotc.passes.kernel.costs.rows import row_schedule
from aotc.passes.kernel.nests.rows import Part, Row, Rows
from aotc.passes.kernel.spatial_tiling import Box, Cutout, whole

if TYPE_CHECKING:
    from aotc.dialects.graph.schedule import Machine, Schedule
    from aotc.passes.kernel.builders.tile_builder import TileBuilder
    from aotc.passes.kernel.layouts import Layouts


class RowOp(RowwiseOp, ABC):
    """A result of the shape and type of x (floats); its rows, the elements along `axes`, are functions of x's rows."""

    result = result_def(TensorType)

    def infer_types(self) -> Sequence[TensorType]:
        Domain.FLOAT.require(element_type_of(self.x), "the operand")
        self.along()
        return [tensor_type(self.x)]

    def _row(self) -> list[int]:
        """The extents of a row."""
        return [shape_of(self.x)[axis] for axis in self.along()]

    def loops(self, b: LoopBuilder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        shape, axes = shape_of(self.x), self.along()

        def each(outer: list[Scalar]) -> None:
            def read(inner: Sequence[Scalar]) -> Scalar:
                return reads[0](merge_index(len(shape), axes, inner, outer))

            def write(inner: Sequence[Scalar], value: Scalar) -> None:
                writes[0](merge_index(len(shape), axes, inner, outer), value)

            self.row(b, read, write)

        b.for_each(reduced_shape(shape, axes, keepdims=False), each)

    def cut_out(self, box: Box) -> Cutout | None:
        everything = whole(self.x)
        return Cutout(self, (box,)) if all(box[axis] == everything[axis] for axis in self.along()) else None

    @abstractmethod
    def row(self, b: LoopBuilder, read: Reader, write: Writer) -> None:
        """Emit the loops of one row; `read` and `write` take indices within it."""

    def schedule_on(self, machine: Machine) -> Schedule | None:
        return row_schedule(machine, element_type_of(self.x), shape_of(self.x), self.along())

    def tiled_loops(
        self, b: TileBuilder, reads: Sequence[Reader], writes: Sequence[Writer], schedule: Schedule
    ) -> None:
        def steps(row: Row) -> Iterator[None]:
            return self.tiled_row(
                b, row, lambda part: reads[0](part.index), lambda part, value: writes[0](part.index, value)
            )

        Rows(b, shape_of(self.x), self.along(), schedule).for_each_in_waves(steps)

    @abstractmethod
    def tiled_row(
        self, b: TileBuilder, row: Row, read: Callable[[Part], Scalar], write: Callable[[Part, Scalar], None]
    ) -> Iterator[None]:
        """As `row`, on tiles, in steps that begin where one waits for all of a row; with lanes along another axis a
        tile has elements of neighbouring rows."""

    @abstractmethod
    def compute(self, row: Array) -> Array:
        """The result rows for the rows along the last axis; f16 and bf16 come, and may go, as f32."""

    def evaluate(self, operands: Sequence[Array]) -> Sequence[Array] | None:
        x, axes = operands[0], self.along()
        if x.size == 0:
            return [x]
        kept = [axis for axis in range(x.ndim) if axis not in axes]
        with np.errstate(all="ignore"):
            flat = arrays.convert(self.compute(rows(arrays.widen(x), axes)), x.dtype)
        moved = flat.reshape([x.shape[axis] for axis in [*kept, *axes]])
        return [moved.transpose(np.argsort([*kept, *axes]))]


@irdl_op_definition
class SoftmaxOp(RowOp):
    """exp(x - max) / sum(exp(x - max)) over `axes`; with `log` its logarithm."""

    name = "graph.softmax"
    log = prop_def(BoolAttr, default_value=BoolAttr.from_bool(False))

    def row(self, b: LoopBuilder, read: Reader, write: Writer) -> None:
        extents = self._row()
        bounds = [(0, extent) for extent in extents]
        kind = element_type_of(self.x)

        def larger(inner: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
            value = read(inner)
            # a NaN may be passed over here: it is met again, and spreads, in the sum
            return [b.select(b.compare("gt", value, carried[0]), value, carried[0])]

        (top,) = b.reduce(bounds, [b.const(-np.inf, kind)], larger)

        def add(inner: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
            return [carried[0] + b.exp_of_negative(read(inner) - top)]

        (total,) = b.reduce(bounds, [b.const(0, kind)], add)
        if self.flag("log"):
            shift = b.math("log", total)
            b.for_each(extents, lambda inner: write(inner, read(inner) - top - shift))
        else:
            b.for_each(extents, lambda inner: write(inner, b.exp_of_negative(read(inner) - top) / total))

    def schedule_on(self, machine: Machine) -> Schedule | None:
        return super().schedule_on(machine) if element_type_of(self.x) == f32 else None

    def tiled_row(
        self, b: TileBuilder, row: Row, read: Callable[[Part], Scalar], write: Callable[[Part, Scalar], None]
    ) -> Iterator[None]:
        kind = element_type_of(self.x)

        def value(part: Part) -> Scalar:
            return part.masked(read(part), -np.inf)

        def larger(x: Scalar, y: Scalar) -> Scalar:
            return b.select(b.compare("gt", y, x), y, x)  # as in `row`, a NaN may be passed over

        top = row.fold("ogt", -np.inf, kind, value, larger)
        yield

        def power(part: Part) -> Scalar:
            return b.exp_of_negative(value(part) - part.spread(top))

        total = row.fold("add", 0, kind, power, b.add)
        log = self.flag("log")
        scale = b.math("log", total) if log else 1 / total
        yield
        if log:
            row.for_each(lambda part: write(part, value(part) - part.spread(top) - part.spread(scale)))
        else:
            row.for_each(lambda part: write(part, power(part) * part.spread(scale)))

    def compute(self, row: Array) -> Array:
        shifted = row - row.max(-1, keepdims=True)
        total = np.exp(shifted).sum(-1, keepdims=True)
        return shifted - np.log(total) if self.flag("log") else np.exp(shifted) / total


@irdl_op_definition
class NormalizeOp(RowOp):
    """(x - mean) / sqrt(variance + epsilon) over `axes`, in two passes: the mean first, then the squared distances."""

    name = "graph.normalize"
    epsilon = prop_def(FloatAttr[Float64Type])

    def lay_out_reshaped(self, layouts: Layouts, shape: Sequence[int]) -> Blocked | None:
        """Groups of channels, which lanes of a block need not be: by means of the means of their channels."""
        split, own, kind = producer(self.x, ReshapeOp), shape_of(self.x), element_type_of(self.x)
        x = None if split is None else layouts.computed(split.x)
        if split is None or x is None or shape_of(split.x) != tuple(shape) or 0 in shape:
            return None
        if not isinstance(kind, Float32Type | Float64Type):
            return None  # means would be rounded to few digits
        if own[0] != shape[0] or shape[1] % own[1] or self.along() != tuple(range(2, len(own))):
            return None

        def means(value: SSAValue) -> SSAValue:
            """Of all groups, [N, G, 1]."""
            positions = list(range(2, len(shape)))
            of_channels = layouts.add(ReduceOp.get(value, kind="mean", axes=positions, keepdims=True))
            plain = layouts.unpack(Blocked(of_channels, x.channels))
            split = layouts.add(ReshapeOp.get(plain, shape=[*own[:2], shape[1] // own[1]]))
            return layouts.add(ReduceOp.get(split, kind="mean", axes=[2], keepdims=True))

        def number(value: float) -> SSAValue:
            return layouts.add(ConstantOp(DenseIntOrFPElementsAttr.from_list(TensorType(kind, []), [value])))

        mean = layouts.per_channel(means(x.value), shape, x.channels)
        distance = layouts.add(SubOp.get(x.value, mean))
        variance = means(layouts.add(MulOp.get(distance, distance)))
        root = layouts.add(SqrtOp.get(layouts.add(AddOp.get(variance, number(self.epsilon.value.data)))))
        inverse = layouts.per_channel(layouts.add(DivOp.get(number(1.0), root)), shape, x.channels)
        return Blocked(layouts.add(MulOp.get(distance, inverse)), x.channels)

    def row(self, b: LoopBuilder, read: Reader, write: Writer) -> None:
        extents = self._row()
        bounds = [(0, extent) for extent in extents]
        zero, count = b.const(0, element_type_of(self.x)), float(np.prod(extents))
        (total,) = b.reduce(bounds, [zero], lambda inner, carried: [carried[0] + read(inner)])
        mean = total / count

        def square(inner: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
            distance = read(inner) - mean
            return [carried[0] + distance * distance]

        (squares,) = b.reduce(bounds, [zero], square)
        inverse = 1 / b.math("sqrt", squares / count + self.epsilon.value.data)
        b.for_each(extents, lambda inner: write(inner, (read(inner) - mean) * inverse))

    def tiled_row(
        self, b: TileBuilder, row: Row, read: Callable[[Part], Scalar], write: Callable[[Part, Scalar], None]
    ) -> Iterator[None]:
        kind, each = element_type_of(self.x), 1 / float(np.prod(self._row()))
        mean = row.fold("add", 0, kind, lambda part: part.masked(read(part), 0), b.add) * each
        yield

        def distance(part: Part) -> Scalar:
            return read(part) - part.spread(mean)

        def square(part: Part) -> Scalar:
            return part.masked(distance(part) * distance(part), 0)

        squares = row.fold("add", 0, kind, square, b.add)
        inverse = 1 / b.math("sqrt", squares * each + self.epsilon.value.data)
        yield
        row.for_each(lambda part: write(part, distance(part) * part.spread(inverse)))

    def compute(self, row: Array) -> Array:
        distance = row - row.mean(-1, keepdims=True)
        variance = (distance * distance).mean(-1, keepdims=True)
        return distance * (1 / np.sqrt(variance + row.dtype.type(self.epsilon.value.data)))


@irdl_op_definition
class BatchNormOp(ElementOp):
    """(x - mean) / sqrt(variance + epsilon) * scale + bias with one of each for every index of axis 1, the channels.

    The four may have another float type than x.
    """

    name = "graph.batch_norm"
    x = operand_def(TensorType)
    scale = operand_def(TensorType)
    bias = operand_def(TensorType)
    mean = operand_def(TensorType)
    variance = operand_def(TensorType)
    epsilon = prop_def(FloatAttr[Float64Type])
    result = result_def(TensorType)

    def infer_types(self) -> Sequence[TensorType]:
        shape = shape_of(self.x)
        channels = shape[1] if len(shape) > 1 else 1
        for name, value in zip(("x", "scale", "bias", "mean", "variance"), self.operands, strict=True):
            Domain.FLOAT.require(element_type_of(value), f"the operand {name}")
            if name != "x" and shape_of(value) != (channels,):
                raise ShapeError(f"{name} has shape {list(shape_of(value))}, for {channels} channels [{channels}]")
        return [tensor_type(self.x)]

    def element(self, b: LoopBuilder, index: Sequence[Scalar], reads: Sequence[Reader]) -> Scalar:
        channel = [index[1] if len(index) > 1 else b.index(0)]
        kind = compute_type(element_type_of(self.x))
        scale, bias, mean, variance = (b.cast(read(channel), kind) for read in reads[1:])
        factor = scale / b.math("sqrt", variance + self.epsilon.value.data)
        return reads[0](index) * factor + (bias - mean * factor)

    def evaluate(self, operands: Sequence[Array]) -> Sequence[Array] | None:
        x = arrays.widen(operands[0])
        column = [-1] + [1] * (x.ndim - 2)
        scale, bias, mean, variance = (array.astype(x.dtype).reshape(column) for array in operands[1:])
        with np.errstate(all="ignore"):
            factor = scale / np.sqrt(variance + x.dtype.type(self.epsilon.value.data))
            return [arrays.convert(x * factor + (bias - mean * factor), operands[0].dtype)]
