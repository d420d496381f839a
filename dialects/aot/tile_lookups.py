"""Bytes of tiles that are looked up in a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import IntegerType, VectorType
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from aotc.dialects.aot.tiles import tile_shape
from aotc.dialects.properties import int_prop, integer

ENTRIES = 256
"""Of a table: one for each byte."""


@irdl_op_definition
class TileLookupOp(IRDLOperation):
    """Each byte of a tile, without sign, as the number of one of the 256 bytes of a table.

    The table is one tile, its registers one after the other; or, once tiles are unrolled, as many registers.
    `width` bytes are looked up at once, so several registers of the tile together.

    `aot.tile_lookup %x, %table {width = 64} : vector<6x16xi8>, vector<4x64xi8>`
    """

    name = "aot.tile_lookup"
    T: ClassVar = VarConstraint("T", VectorType.constr(AnyAttr()))
    x = operand_def(T)
    table = var_operand_def(VectorType)
    width = int_prop()
    result = result_def(T)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$x `,` $table attr-dict `:` type($x) `,` type($table)"

    def __init__(self, x: SSAValue, table: Sequence[SSAValue], width: int) -> None:
        super().__init__(operands=[x, table], result_types=[x.type], properties={"width": integer(width)})

    def verify_(self) -> None:
        for value in self.operands:
            assert isinstance(value.type, VectorType)
            if not isinstance(value.type.element_type, IntegerType) or value.type.element_type.width.data != 8:
                raise VerifyException(f"elements are integers of 8 bits, found {value.type}")
        entries = sum(value.type.element_count() for value in self.table if isinstance(value.type, VectorType))
        if entries != ENTRIES or len({value.type for value in self.table}) > 1:
            raise VerifyException(f"a table has {ENTRIES} entries in registers of one type, found {entries}")
        lanes, width = tile_shape(self.x)[-1], self.width
        if width < lanes or width % lanes:
            raise VerifyException(f"{width} bytes at once are not whole registers of {lanes}")
