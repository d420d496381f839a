"""From sums in i32 to narrow integers at another scale."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from xdsl.dialects.builtin import I64, IntegerAttr, IntegerType, TensorType, f32, i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from aotc.dialects.builder import Builder, Reader, Scalar
from aotc.dialects.dtypes import compute_type, integer_range, numpy_dtype
from aotc.dialects.graph.interfaces import Array, ElementOp, ShapeError, element_type_of, shape_of
from aotc.dialects.graph.quantized.accumulation import MOST_BITS
from aotc.dialects.graph.shapes import broadcast_index, normalize_axis


@irdl_op_definition
class RequantizeOp(ElementOp):
    """clamp(round(f32(x) * multiplier) + zero_point, low, high), rounding to even; the product is rounded to f32.

    x is i32; the multiplier is one f32, or one for each index of `axis`, or has the rank of x and broadcasts. `low` and
    `high` are in the range of `to`: what clamps beside that, as a relu does, is in them.
    """

    name = "graph.requantize"
    x = operand_def(TensorType)
    multiplier = operand_def(TensorType)
    axis = prop_def(IntegerAttr[I64], default_value=IntegerAttr(1, i64))
    zero_point = prop_def(IntegerAttr[I64], default_value=IntegerAttr(0, i64))
    low = prop_def(IntegerAttr[I64])
    high = prop_def(IntegerAttr[I64])
    to = prop_def(Attribute)
    result = result_def(TensorType)

    @property
    def range(self) -> tuple[int, int]:
        """The least and greatest product that is not clamped, rounded."""
        point = self.zero_point.value.data
        return self.low.value.data - point, self.high.value.data - point

    def infer_types(self) -> Sequence[TensorType]:
        if element_type_of(self.x) != i32:
            raise ShapeError(f"the operand has element type {element_type_of(self.x)}, expected i32")
        if element_type_of(self.multiplier) != f32:
            raise ShapeError(f"the multiplier has element type {element_type_of(self.multiplier)}, expected f32")
        check_parameters(self.x, self.multiplier, self.axis.value.data)
        if not isinstance(self.to, IntegerType) or not 1 < self.to.width.data <= MOST_BITS:
            raise ShapeError(f"the result has element type {self.to}, expected an integer of 2 to {MOST_BITS} bits")
        least, greatest = integer_range(self.to)
        low, high, point = (each.value.data for each in (self.low, self.high, self.zero_point))
        if not (least <= low <= high <= greatest and least <= point <= greatest):
            raise ShapeError(f"zero point {point} and clamp {low} to {high} do not fit {self.to}")
        return [TensorType(self.to, shape_of(self.x))]

    def single_elements(self) -> Iterable[int]:
        return (1,)

    def operand_axes(self, axis: int) -> Mapping[int, int] | None:
        return parameter_axes(self.x, self.multiplier, self.axis.value.data, axis)

    def element(self, b: Builder, index: Sequence[Scalar], reads: Sequence[Reader]) -> Scalar:
        multiplier = reads[1](parameter_index(b, self.multiplier, self.axis.value.data, index))
        low, high = self.range
        value = b.math("roundeven", b.cast(reads[0](index), f32) * multiplier)
        value = b.select(b.compare("gt", value, low), value, low)
        value = b.select(b.compare("lt", value, high), value, high)
        return b.encode(b.cast(b.cast(value, i32) + self.zero_point.value.data, compute_type(self.to)), self.to)

    def evaluate(self, operands: Sequence[Array]) -> Sequence[Array] | None:
        x, multiplier = operands
        factor = along_axis(multiplier, self.axis.value.data, x.ndim)
        low, high = self.range
        with np.errstate(all="ignore"):
            value = np.rint(x.astype(np.float32) * factor)
            value = np.where(value > low, value, np.float32(low))
            value = np.where(value < high, value, np.float32(high)).astype(np.int32)
        return [(value + self.zero_point.value.data).astype(numpy_dtype(self.to))]


def check_parameters(x: SSAValue, parameters: SSAValue, axis: int) -> None:
    """Raise ShapeError unless there is one parameter, or one for each index of an axis of x, or parameters of its rank
    broadcast to it."""
    shape, given = shape_of(x), shape_of(parameters)
    if len(given) == len(shape) > 1 and all(own in (1, extent) for own, extent in zip(given, shape, strict=True)):
        return
    if given not in ((), (1,)) and given != (shape[normalize_axis(axis, len(shape))],):
        raise ShapeError(f"parameters of shape {list(given)} for {list(shape)} along axis {axis}")


def parameter_axes(x: SSAValue, parameters: SSAValue, along: int, axis: int) -> Mapping[int, int]:
    """As `ElementOp.operand_axes`, of x and parameters along the axis `along` of it."""
    shape, given = shape_of(x), shape_of(parameters)
    axes = {0: axis} if shape[axis] > 1 else {}
    if len(given) == len(shape) > 1:
        return axes | ({1: axis} if given[axis] > 1 else {})
    if along % len(shape) == axis and given not in ((), (1,)):
        axes[1] = 0
    return axes


def parameter_index(b: Builder, parameters: SSAValue, axis: int, index: Sequence[Scalar]) -> list[Scalar]:
    """Where the parameter for the element at `index` is."""
    shape = shape_of(parameters)
    if len(shape) == len(index) > 1:
        return broadcast_index(b, index, shape)
    return [b.index(0)] * len(shape) if shape in ((), (1,)) else [index[axis % len(index)]]


def along_axis(parameters: Array, axis: int, rank: int) -> Array:
    """Parameters as they broadcast to a tensor of `rank`."""
    if parameters.size == 1:
        return parameters.reshape(())
    if parameters.ndim == rank > 1:
        return parameters
    return parameters.reshape([-1 if each == axis % rank else 1 for each in range(rank)])
