"""Values that compilers are not to see through."""

from __future__ import annotations

from xdsl.dialects.builtin import IndexType
from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def


@irdl_op_definition
class OpaqueOp(IRDLOperation):
    """The same index, of which compilers know nothing: what is computed of it stays where it is.

    `aot.opaque %i`
    """

    name = "aot.opaque"
    value = operand_def(IndexType)
    result = result_def(IndexType)
    assembly_format = "$value attr-dict"

    def __init__(self, value: SSAValue) -> None:
        super().__init__(operands=[value], result_types=[IndexType()])
