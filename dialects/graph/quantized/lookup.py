"""Functions of one 8-bit integer, by table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.dialects.builtin import IntegerType, TensorType
from xdsl.irdl import irdl_op_definition, operand_def, result_def

from aotc.dialects.builder import INDEX, Builder, Reader, Scalar
from aotc.dialects.dtypes import ELEMENT_TYPES
from aotc.dialects.graph.interfaces import Array, ElementOp, ShapeError, element_type_of, shape_of

_UI8 = ELEMENT_TYPES["uint8"]


@irdl_op_definition
class LookupOp(ElementOp):
    """table[x] of an 8-bit integer x, the bits of which, without sign, are the position in a table of 256 elements."""

    name = "graph.lookup"
    x = operand_def(TensorType)
    table = operand_def(TensorType)
    result = result_def(TensorType)

    def infer_types(self) -> Sequence[TensorType]:
        kind = element_type_of(self.x)
        if not isinstance(kind, IntegerType) or kind.width.data != 8:
            raise ShapeError(f"the operand has element type {kind}, expected an integer of 8 bits")
        if shape_of(self.table) != (256,):
            raise ShapeError(f"the table has shape {list(shape_of(self.table))}, expected [256]")
        return [TensorType(element_type_of(self.table), shape_of(self.x))]

    def operand_axes(self, axis: int) -> Mapping[int, int] | None:
        return {0: axis} if shape_of(self.x)[axis] > 1 else {}

    def element(self, b: Builder, index: Sequence[Scalar], reads: Sequence[Reader]) -> Scalar:
        return reads[1]([b.cast(b.cast(reads[0](index), _UI8), INDEX)])

    def evaluate(self, operands: Sequence[Array]) -> Sequence[Array] | None:
        x, table = operands
        return [table[np.ascontiguousarray(x).view(np.uint8)]]
