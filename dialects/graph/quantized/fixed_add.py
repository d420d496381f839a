"""Sums of two quantised tensors, in fixed point."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import I64, BoolAttr, IntegerAttr, IntegerType, TensorType, i32, i64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from aotc.dialects.builder import Builder, Scalar
from aotc.dialects.graph.accumulation import MOST_BITS
from aotc.dialects.graph.elementwise import BroadcastOp
from aotc.dialects.graph.interfaces import Array, ShapeError, element_type_of
from aotc.dialects.graph.quantized.requantization import check_clamp


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
    x_factor = prop_def(IntegerAttr[I64], default_value=IntegerAttr(1, i64))
    y_factor = prop_def(IntegerAttr[I64], default_value=IntegerAttr(1, i64))
    offset = prop_def(IntegerAttr[I64], default_value=IntegerAttr(0, i64))
    shift = prop_def(IntegerAttr[I64])
    even = prop_def(BoolAttr, default_value=BoolAttr.from_bool(False))
    zero_point = prop_def(IntegerAttr[I64], default_value=IntegerAttr(0, i64))
    low = prop_def(IntegerAttr[I64])
    high = prop_def(IntegerAttr[I64])
    to = prop_def(Attribute)
    result = result_def(TensorType)

    def infer_types(self) -> Sequence[TensorType]:
        for value in self.operands:
            kind = element_type_of(value)
            if kind != i32 and not (isinstance(kind, IntegerType) and 1 < kind.width.data <= MOST_BITS):
                raise ShapeError(
                    f"an operand has element type {kind}, expected i32 or integers of 2 to {MOST_BITS} bits"
                )
        for name in ("x_factor", "y_factor", "offset"):
            if not -(2**31) <= self.number(name) < 2**31:
                raise ShapeError(f"{name} is {self.number(name)}, which is no i32")
        if not 0 < self.number("shift") < 31:
            raise ShapeError(f"a shift of {self.number('shift')}, expected 1 to 30")
        check_clamp(self.to, *map(self.number, ("low", "high", "zero_point")))
        return super().infer_types()

    def number(self, name: str) -> int:
        """The property `name`, an integer."""
        attribute = self.properties[name]
        assert isinstance(attribute, IntegerAttr)
        return attribute.value.data

    def result_element_type(self) -> Attribute:
        return self.to

    def scalar(self, b: Builder, *operands: Scalar) -> Scalar:
        x, y = (b.cast(each, i32) for each in operands)
        shift = b.const(self.number("shift"), i32)
        value = x * self.number("x_factor") + y * self.number("y_factor") + self.number("offset")
        if self.flag("even"):
            value = value + (b.shift_right(value, shift) & 1) + self._below_half()
        point, low, high = map(self.number, ("zero_point", "low", "high"))
        return b.clamped(b.shift_right(value, shift), point, low, high, self.to)

    def compute(self, *operands: Array) -> Array:
        x, y = (each.astype(np.int32) for each in operands)
        shift = self.number("shift")
        value = x * np.int32(self.number("x_factor")) + y * np.int32(self.number("y_factor"))
        value = value + np.int32(self.number("offset"))
        if self.flag("even"):
            value = value + ((value >> shift) & 1) + np.int32(self._below_half())
        return np.clip((value >> shift) + self.number("zero_point"), self.number("low"), self.number("high"))

    def _below_half(self) -> int:
        return (1 << self.number("shift") - 1) - 1
