"""Requantisation as TFLite computes it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def

from aotc.dialects.builder import Builder, Reader, Scalar
from aotc.dialects.dtypes import compute_type
from aotc.dialects.graph.checks import expect
from aotc.dialects.graph.interfaces import ElementOp, ShapeError, shape_of
from aotc.dialects.graph.quantized.requantization import (
    check_clamp,
    check_parameters,
    parameter_axes,
    parameter_index,
)
from aotc.dialects.properties import int_prop


@irdl_op_definition
class DoublingRequantizeOp(ElementOp):
    """clamp(round(round(x * factor / 2^31) / 2^shift) + zero_point, low, high), in i32 by a product of 64 bits.

    Twice the product's upper half is rounded to the nearest integer, the middle up; its quotient once more, the middle
    away from zero (gemmlowp's doubling high multiplication and rounding division; TFLite's reference kernels). Factors
    are from 2^30 to 2^31 - 1, or 0, shifts from 0 to 30; there is one of each, or one for each index of `axis`.
    """

    name = "graph.doubling_requantize"
    x = operand_def(TensorType)
    factor = operand_def(TensorType)
    shift = operand_def(TensorType)
    axis = int_prop(1)
    zero_point = int_prop(0)
    low = int_prop()
    high = int_prop()
    to = prop_def(Attribute)

    def infer_types(self) -> Sequence[TensorType]:
        expect(self, x=".. i32", factor=".. i32", shift=".. i32")
        if shape_of(self.factor) != shape_of(self.shift):
            raise ShapeError(f"{shape_of(self.factor)} factors and {shape_of(self.shift)} shifts")
        check_parameters(self.x, self.factor, self.axis)
        check_clamp(self.to, self.low, self.high, self.zero_point)
        return [TensorType(self.to, shape_of(self.x))]

    def single_elements(self) -> Iterable[int]:
        return (1, 2)

    def operand_axes(self, axis: int) -> Mapping[int, int] | None:
        axes = dict(parameter_axes(self.x, self.factor, self.axis, axis))
        return axes | ({2: axes[1]} if 1 in axes else {})

    def element(self, b: Builder, index: Sequence[Scalar], reads: Sequence[Reader]) -> Scalar:
        place = parameter_index(b, self.factor, self.axis, index)
        value = b.rescaled(reads[0](index), reads[1](place), reads[2](place)) + self.zero_point
        value = b.min(b.max(value, self.low), self.high)
        return b.encode(b.cast(value, compute_type(self.to)), self.to)
