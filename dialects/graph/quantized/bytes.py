"""Functions of one byte: what a table has for it, and the same bits with or without sign."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import TensorType, i8
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def

from aotc.dialects.aot.tile_integers import ENTRIES
from aotc.dialects.builder import Builder, Reader, Scalar
from aotc.dialects.dtypes import ELEMENT_TYPES
from aotc.dialects.graph.checks import expect
from aotc.dialects.graph.elementwise import BroadcastOp
from aotc.dialects.graph.interfaces import ElementOp, ShapeError, element_type_of, shape_of
from aotc.dialects.properties import opt_int_prop


@irdl_op_definition
class LookupOp(ElementOp):
    """table[x] of an 8-bit integer x, the bits of which, without sign, are the position in a table of 256 elements.

    On vectors `width` bytes are looked up at once, in registers that hold `row` bytes of the table each.
    """

    name = "graph.lookup"
    x = operand_def(TensorType)
    table = operand_def(TensorType)
    width = opt_int_prop()
    row = opt_int_prop()

    @property
    def registers(self) -> tuple[int, int] | None:
        """`width` and `row`; None where elements are looked up one by one."""
        return None if self.width is None or self.row is None else (self.width, self.row)

    def infer_types(self) -> Sequence[TensorType]:
        expect(self, x=".. byte", table=f"{ENTRIES}")
        if (self.width is None) != (self.row is None):
            raise ShapeError("width and row are given together")
        for each in self.registers or ():
            if not 0 < each <= ENTRIES or each.bit_count() != 1:
                raise ShapeError(f"registers have a power of two of bytes, found {each}")
        return [TensorType(element_type_of(self.table), shape_of(self.x))]

    def operand_axes(self, axis: int) -> Mapping[int, int] | None:
        return {0: axis} if shape_of(self.x)[axis] > 1 else {}

    def element(self, b: Builder, index: Sequence[Scalar], reads: Sequence[Reader]) -> Scalar:
        return b.lookup(reads[0](index), reads[1], self.registers)


UI8 = ELEMENT_TYPES["uint8"]
FLIPPED = 128
"""The addend, modulo 256: the top bit changes."""


def flipped_type(kind: Attribute) -> Attribute:
    """ui8 for i8, i8 for ui8."""
    return UI8 if kind == i8 else i8


@irdl_op_definition
class FlipSignOp(BroadcastOp):
    """8-bit integers with the top bit flipped: i8 as ui8, 128 more; ui8 as i8, 128 less."""

    name = "graph.flip_sign"
    ORDERS_WEIGHTS: ClassVar[bool] = True
    x = operand_def(TensorType)

    def infer_types(self) -> Sequence[TensorType]:
        expect(self, x=".. byte")
        return super().infer_types()

    def result_element_type(self) -> Attribute:
        return flipped_type(element_type_of(self.x))

    def scalar(self, b: Builder, *operands: Scalar) -> Scalar:
        kind = self.result_element_type()
        return b.cast(operands[0], kind) + b.const(FLIPPED if kind == UI8 else -FLIPPED, kind)
