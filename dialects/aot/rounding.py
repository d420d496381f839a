"""Rounding of a product as floats round it, in integers: what is seldom needed, so a function of its own."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import I32, IntegerAttr, UnitAttr, i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from aotc.dialects.properties import int_prop, unit_prop


@irdl_op_definition
class RoundProductOp(IRDLOperation):
    """The product x * factor / 2^shift as f32 rounds it: `above`, or the integer below it.

    The product is rounded to 24 bits first, then to the nearest integer, the middle between two to the even one. It is
    less than 1 away from the middle between `above` and the integer below; |above| < 2^22, else the result is just one
    of the two. With `near` the distance times 2^shift is an i32.

    `aot.round_product %x, %factor, %above, 40 near`
    """

    name = "aot.round_product"
    SHIFTS: ClassVar[range] = range(25, 48)
    """Those with which 48 bits hold how far a product is from the middle, and the last of its 24 bits is a whole
    number."""
    x = operand_def(I32)
    factor = operand_def(I32)
    above = operand_def(I32)
    shift = int_prop()
    near = unit_prop()
    result = result_def(I32)
    traits = traits_def(Pure())
    assembly_format = "$x `,` $factor `,` $above `,` $shift (`near` $near^)? attr-dict"

    def __init__(self, x: SSAValue, factor: SSAValue, above: SSAValue, shift: int, *, near: bool = False) -> None:
        properties: dict[str, Attribute] = {"shift": IntegerAttr(shift, i64)}
        if near:
            properties["near"] = UnitAttr()
        super().__init__(operands=[x, factor, above], result_types=[i32], properties=properties)

    def verify_(self) -> None:
        if self.shift not in self.SHIFTS:
            least, most = self.SHIFTS[0], self.SHIFTS[-1]
            raise VerifyException(f"the shift must be {least} to {most}, found {self.shift}")
