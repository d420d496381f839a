"""Sums of two quantised tensors, in fixed point."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType, i32
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def

from aotc.dialects.builder import Builder, Scalar
from aotc.dialects.dtypes import MOST_BITS, integer_range, is_narrow_integer
from aotc.dialects.graph.checks import expect_within
from aotc.dialects.graph.elementwise import BroadcastOp
from aotc.dialects.graph.interfaces import ShapeError, element_type_of
from aotc.dialects.graph.quantized.requantization import check_clamp
from aotc.dialects.properties import bool_prop, int_prop


@irdl_op_definition
class FixedAddOp(BroadcastOp):
    """clamp(((x * x_factor + y * y_factor + offset) >> shift) + zero_point, low, high) of integers of at most 16 bits,
    or of terms in i32.

    With `even` the quotient is not rounded down, but to the nearest integer, in the middle between two to the even one.
    Sums are i32 and wrap.
    """

    name = "graph.fixed_add"
    x = operand_def(TensorType)
    y = operand_def(TensorType)
    x_factor = int_prop(1)
    y_factor = int_prop(1)
    offset = int_prop(0)
    shift = int_prop()
    even = bool_prop(False)
    zero_point = int_prop(0)
    low = int_prop()
    high = int_prop()
    to = prop_def(Attribute)

    def infer_types(self) -> Sequence[TensorType]:
        for value in self.operands:
            kind = element_type_of(value)
            if kind != i32 and not is_narrow_integer(kind):
                raise ShapeError(
                    f"an operand has element type {kind}, expected i32 or integers of 2 to {MOST_BITS} bits"
                )
        for name in ("x_factor", "y_factor", "offset"):
            expect_within(self, name, *integer_range(i32))
        expect_within(self, "shift", 1, 30)
        check_clamp(self.to, self.low, self.high, self.zero_point)
        return super().infer_types()

    def result_element_type(self) -> Attribute:
        return self.to

    def scalar(self, b: Builder, *operands: Scalar) -> Scalar:
        x, y = (b.cast(each, i32) for each in operands)
        shift = b.const(self.shift, i32)
        value = x * self.x_factor + y * self.y_factor + self.offset
        if self.even:
            value = value + (b.shift_right(value, shift) & 1) + self._below_half()
        point, low, high = self.zero_point, self.low, self.high
        return b.clamped(b.shift_right(value, shift), point, low, high, self.to)

    def _below_half(self) -> int:
        return (1 << self.shift - 1) - 1
