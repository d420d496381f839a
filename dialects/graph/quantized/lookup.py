"""Functions of one 8-bit integer, by table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def

from aotc.dialects.aot.tile_lookups import ENTRIES
from aotc.dialects.builder import Builder, Reader, Scalar
from aotc.dialects.graph.checks import expect
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
