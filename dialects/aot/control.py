"""Status checks, and the arithmetic that no other dialect has."""

from typing import ClassVar

from xdsl.dialects.builtin import I1, I32, AnyFloatConstr, IntegerAttr, i1, i64
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import IRDLOperation, VarConstraint, irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

from aotc.dialects.aot.types import PtrType
from aotc.dialects.properties import int_prop


@irdl_op_definition
class IsNullOp(IRDLOperation):
    """Whether a pointer is null."""

    name = "aot.is_null"
    pointer = operand_def(PtrType)
    result = result_def(I1)
    traits = traits_def(Pure())
    assembly_format = "$pointer attr-dict `:` type($pointer)"

    def __init__(self, pointer: SSAValue) -> None:
        super().__init__(operands=[pointer], result_types=[i1])


@irdl_op_definition
class IsAlignedOp(IRDLOperation):
    """Whether a pointer is a multiple of `alignment` bytes, a power of two."""

    name = "aot.is_aligned"
    pointer = operand_def(PtrType)
    alignment = int_prop()
    result = result_def(I1)
    traits = traits_def(Pure())
    assembly_format = "$pointer `to` $alignment attr-dict `:` type($pointer)"

    def __init__(self, pointer: SSAValue, alignment: int) -> None:
        properties = {"alignment": IntegerAttr(alignment, i64)}
        super().__init__(operands=[pointer], properties=properties, result_types=[i1])

    def verify_(self) -> None:
        alignment = self.alignment
        if alignment < 1 or alignment & (alignment - 1):
            raise VerifyException(f"the alignment must be a power of two, found {alignment}")


@irdl_op_definition
class CheckOp(IRDLOperation):
    """Return `status` from the function at once if it is not zero."""

    name = "aot.check"
    status = operand_def(I32)
    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$status attr-dict"

    def __init__(self, status: SSAValue | Operation) -> None:
        super().__init__(operands=[status])


@irdl_op_definition
class RequireOp(IRDLOperation):
    """Return -1 from the function at once if `condition` does not hold."""

    name = "aot.require"
    condition = operand_def(I1)
    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$condition attr-dict"

    def __init__(self, condition: SSAValue | Operation) -> None:
        super().__init__(operands=[condition])


@irdl_op_definition
class FModOp(IRDLOperation):
    """The exact remainder of floats with the sign of the dividend, C's `fmod`, which arith lacks."""

    name = "aot.fmod"
    T: ClassVar = VarConstraint("T", AnyFloatConstr)
    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(T)
    traits = traits_def(Pure())
    assembly_format = "$lhs `,` $rhs attr-dict `:` type($result)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue) -> None:
        super().__init__(operands=[lhs, rhs], result_types=[lhs.type])
