"""Floats as values to compute with: f16 and bf16 operands in f32, results narrowed again; fast-math flags."""

from __future__ import annotations

from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import BFloat16Type, Float16Type, IntegerType, f32
from xdsl.ir import Attribute, Operation, SSAValue

from aotc.passes.lower.function import FunctionLowering
from aotc.passes.lower.llvm_builder import NO_FAST_MATH, element, like

NARROW = (Float16Type, BFloat16Type)
"""The formats that compute in f32."""

_fast_math: dict[Attribute, llvm.FastMathAttr] = {}


def fast_math_flags(op: Operation) -> llvm.FastMathAttr:
    """The operation's fast-math flags."""
    given = op.properties.get("fastmath")
    if given is None:
        return NO_FAST_MATH
    if given not in _fast_math:
        assert isinstance(given, arith.FastMathFlagsAttr)
        _fast_math[given] = llvm.FastMathAttr(tuple(given.data))
    return _fast_math[given]


def float_operands(f: FunctionLowering, op: Operation) -> list[SSAValue]:
    """The operands, f16 and bf16 ones extended to f32, in which their arithmetic happens."""
    return [widened(f, value) for value in op.operands]


def widened(f: FunctionLowering, value: SSAValue) -> SSAValue:
    """The llvm value of `value`, extended to f32 where that is f16 or bf16."""
    lowered, kind = f.get(value), element(value.type)
    if type(kind) not in NARROW:
        return lowered
    if isinstance(element(lowered.type), IntegerType):
        return f.module.helpers.apply(f.b, f"{kind}_to_f32", lowered)
    return f.b.convert(llvm.FPExtOp, lowered, like(lowered.type, f32))


def set_float(f: FunctionLowering, result: SSAValue, value: SSAValue) -> None:
    """Map a result, narrowed to f16 or bf16 where it has that type."""
    f.set(result, narrowed(f, value, result.type))


def narrowed(f: FunctionLowering, value: SSAValue, kind: Attribute) -> SSAValue:
    """`value`, an f32 or f64, rounded once to the type `kind` where that is f16 or bf16; else as it is."""
    scalar = element(kind)
    if type(scalar) not in NARROW:
        return value
    if element(value.type) != f32:
        value = f.module.helpers.apply(f.b, "f64_to_f32_odd", value)
    if isinstance(f.types.value(scalar), IntegerType):
        return f.module.helpers.apply(f.b, f"f32_to_{scalar}", value)
    return f.b.convert(llvm.FPTruncOp, value, kind)
