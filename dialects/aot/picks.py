"""Lanes of tiles that are picked by numbers known at run time."""

from __future__ import annotations

from typing import ClassVar, cast

from xdsl.dialects.builtin import VectorType, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import AnyAttr, IRDLOperation, VarConstraint, irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from aotc.dialects.aot.tiles import tile_shape


@irdl_op_definition
class TilePickOp(IRDLOperation):
    """Register by register of L lanes, those of two tiles that `numbers` says, modulo 2 L, counted through both.

    `aot.tile_pick %a, %b, %numbers : vector<3x16xi32>`
    """

    name = "aot.tile_pick"
    T: ClassVar = VarConstraint("T", VectorType.constr(AnyAttr()))
    a = operand_def(T)
    b = operand_def(T)
    numbers = operand_def(T)
    result = result_def(T)
    traits = traits_def(Pure())
    assembly_format = "$a `,` $b `,` $numbers attr-dict `:` type($a)"

    def __init__(self, a: SSAValue, b: SSAValue, numbers: SSAValue) -> None:
        super().__init__(operands=[a, b, numbers], result_types=[a.type])

    def verify_(self) -> None:
        lanes = tile_shape(self.a)[-1]
        if cast("VectorType[Attribute]", self.a.type).element_type != i32 or lanes & (lanes - 1):
            raise VerifyException(f"lanes are i32, a power of two of them, found {self.a.type}")
