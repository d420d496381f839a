"""LLVM instructions that xDSL's llvm dialect does not have, spelt as MLIR spells them there."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import AnyFloatConstr, SignlessIntegerConstraint, VectorType
from xdsl.ir import Attribute, Dialect, Operation, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure

_FLOAT = AnyFloatConstr | VectorType.constr(AnyFloatConstr)
_INTEGER = SignlessIntegerConstraint | VectorType.constr(SignlessIntegerConstraint)


class ConversionOp(IRDLOperation, ABC):
    """One scalar or vector converted to another type; printed `%x : f32 to i32`."""

    assembly_format = "$arg attr-dict `:` type($arg) `to` type($res)"
    traits = traits_def(Pure())

    def __init__(self, arg: SSAValue | Operation, result_type: Attribute) -> None:
        results: Sequence[Attribute] = [result_type]
        super().__init__(operands=[arg], result_types=results)


@irdl_op_definition
class FPToSIOp(ConversionOp):
    """Float to signed integer, towards zero; out of range is poison."""

    name = "llvm_ext.fptosi"
    arg = operand_def(_FLOAT)
    res = result_def(_INTEGER)


@irdl_op_definition
class FPToUIOp(ConversionOp):
    """Float to unsigned integer, towards zero; out of range is poison."""

    name = "llvm_ext.fptoui"
    arg = operand_def(_FLOAT)
    res = result_def(_INTEGER)


@irdl_op_definition
class UIToFPOp(ConversionOp):
    """Unsigned integer to float, to nearest."""

    name = "llvm_ext.uitofp"
    arg = operand_def(_INTEGER)
    res = result_def(_FLOAT)


LLVM_EXT = Dialect("llvm_ext", [FPToSIOp, FPToUIOp, UIToFPOp], [])
