"""LLVM instructions that xDSL's llvm dialect does not have, spelt as MLIR spells them there."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from functools import cache
from typing import ClassVar

from xdsl.dialects.builtin import (
    AnyFloatConstr,
    BFloat16Type,
    FixedBitwidthType,
    IntegerType,
    SignlessIntegerConstraint,
    VectorType,
    i1,
)
from xdsl.dialects.llvm import FastMathAttr, LLVMPointerType
from xdsl.ir import Attribute, Dialect, Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect

from aotc.dialects.operations import PureOp
from aotc.dialects.properties import int_prop


@cache
def suffix(kind: Attribute) -> str:
    """How LLVM's intrinsics name a type that they are overloaded on: f32, i8, p0, v4f32."""
    match kind:
        case VectorType():
            return f"v{kind.get_shape()[0]}{suffix(kind.element_type)}"
        case LLVMPointerType():
            return "p0"
        case IntegerType():
            return f"i{kind.width.data}"
        case BFloat16Type():
            return "bf16"
        case _:
            assert isinstance(kind, FixedBitwidthType)
            return f"f{kind.bitwidth}"


_FLOAT = AnyFloatConstr | VectorType.constr(AnyFloatConstr)
_VECTOR = VectorType.constr(AnyAttr())
_MASK = VectorType.constr(i1)
_INTEGER = SignlessIntegerConstraint | VectorType.constr(SignlessIntegerConstraint)


class ConversionOp(PureOp, ABC):
    """One scalar or vector converted to another type; printed `%x : f32 to i32`."""

    assembly_format = "$arg attr-dict `:` type($arg) `to` type($res)"

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


@irdl_op_definition
class FCmpOp(PureOp):
    """Vectors of floats compared lane by lane; `predicate` is numbered as that of llvm.fcmp."""

    T: ClassVar = VarConstraint("T", VectorType.constr(AnyFloatConstr))

    name = "llvm_ext.fcmp"
    predicate = int_prop()
    fastmathFlags = prop_def(FastMathAttr, default_value=FastMathAttr(None))
    lhs = operand_def(T)
    rhs = operand_def(T)
    res = result_def(_MASK)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$lhs `,` $rhs attr-dict `:` type($lhs) `->` type($res)"


@irdl_op_definition
class SelectOp(PureOp):
    """Lane by lane, lhs where the condition holds, else rhs."""

    T: ClassVar = VarConstraint("T", _VECTOR)

    name = "llvm_ext.select"
    fastmathFlags = prop_def(FastMathAttr, default_value=FastMathAttr(None))
    cond = operand_def(_MASK)
    lhs = operand_def(T)
    rhs = operand_def(T)
    res = result_def(T)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$cond `,` $lhs `,` $rhs attr-dict `:` type($cond) `,` type($res)"


@irdl_op_definition
class ExtractElementOp(PureOp):
    """One lane of a vector."""

    name = "llvm_ext.extractelement"
    vector = operand_def(_VECTOR)
    index = operand_def(IntegerType)
    res = result_def(AnyAttr())
    assembly_format = "$vector `[` $index `:` type($index) `]` attr-dict `:` type($vector) `->` type($res)"


@irdl_op_definition
class MaskedLoadOp(IRDLOperation):
    """The lanes of a vector in memory whose bit of the mask is set, the others from `rest`.

    The address is a multiple of `alignment` bytes."""

    T: ClassVar = VarConstraint("T", _VECTOR)

    name = "llvm_ext.masked_load"
    alignment = int_prop()
    pointer = operand_def(LLVMPointerType)
    mask = operand_def(_MASK)
    rest = operand_def(T)
    res = result_def(T)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$pointer `,` $mask `,` $rest attr-dict `:` type($pointer) `,` type($mask) `,` type($res)"
    traits = traits_def(MemoryReadEffect())


@irdl_op_definition
class MaskedStoreOp(IRDLOperation):
    """Store the lanes of a vector whose bit of the mask is set; the address is a multiple of `alignment` bytes."""

    name = "llvm_ext.masked_store"
    alignment = int_prop()
    value = operand_def(_VECTOR)
    pointer = operand_def(LLVMPointerType)
    mask = operand_def(_MASK)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$value `,` $pointer `,` $mask attr-dict `:` type($value) `,` type($pointer) `,` type($mask)"
    traits = traits_def(MemoryWriteEffect())


LLVM_EXT = Dialect(
    "llvm_ext", [FPToSIOp, FPToUIOp, UIToFPOp, FCmpOp, SelectOp, ExtractElementOp, MaskedLoadOp, MaskedStoreOp], []
)
