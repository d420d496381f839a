"""Operations of math that are no instructions: functions of libm, roundings, functions of the bits of an integer.

Functions of libm are called by their C names and take scalars; everything else is for vectors, too, lane by lane.
"""

from __future__ import annotations

from xdsl.dialects import llvm, math
from xdsl.dialects.builtin import VectorType, f32, i1
from xdsl.ir import Operation

from aotc.dialects import libm
from aotc.dialects.llvm_ext import suffix
from aotc.errors import CompileError
from aotc.passes.lower.arith import fast_math_flags
from aotc.passes.lower.function import FunctionLowering, Lowerings
from aotc.passes.lower.llvm_builder import element

_INSTRUCTIONS = ("ceil", "copysign", "fabs", "floor", "fma", "round", "sqrt", "trunc")

LIBM = {kind: name for kind, name in libm.LIBM.items() if name not in _INSTRUCTIONS}
"""Functions of the C library's libm that LLVM calls as such, by their f64 name."""


def _libm(f: FunctionLowering, op: Operation) -> None:
    operands = [f.get(each) for each in op.operands]
    kind = operands[0].type
    if isinstance(kind, VectorType):
        what = f"{op.name} of a vector is not a function of libm"
        raise CompileError("no-form-in-llvm", what, fix="expand it before")
    symbol = LIBM[type(op)] + ("f" if kind == f32 else "")
    f.module.declare_pure(symbol, [kind] * len(operands), kind)
    f.set(op.results[0], f.b.call(symbol, operands, kind, fast_math_flags(op))[0])


_ROUNDING: dict[type[Operation], str] = {
    math.FloorOp: "floor",
    math.CeilOp: "ceil",
    math.TruncOp: "trunc",
    math.RoundEvenOp: "roundeven",
}


def _round(f: FunctionLowering, op: Operation) -> None:
    f.set(op.results[0], f.module.helpers.apply(f.b, _ROUNDING[type(op)], f.get(op.operands[0])))


def _round_half_away(f: FunctionLowering, op: math.RoundOp) -> None:
    """Truncate after adding the largest number below a half, which no tie of the format can cross by rounding."""
    a = f.get(op.operand)
    below_half = 0.5 - (2.0**-25 if element(a.type) == f32 else 2.0**-54)
    away = f.b.float_op(llvm.FCopySignOp, f.b.constant(below_half, a.type), a)
    f.set(op.result, f.module.helpers.apply(f.b, "trunc", f.b.float_op(llvm.FAddOp, a, away)))


_BIT_COUNTS: dict[type[Operation], str] = {
    math.AbsIOp: "abs",
    math.CountLeadingZerosOp: "ctlz",
    math.CountTrailingZerosOp: "cttz",
    math.CtPopOp: "ctpop",
}


def _integer_function(f: FunctionLowering, op: Operation) -> None:
    a = f.get(op.operands[0])
    name = _BIT_COUNTS[type(op)]
    operands = (a,) if name == "ctpop" else (a, f.b.constant(0, i1))  # the least integer and zero are defined
    f.set(op.results[0], f.b.intrinsic(f"llvm.{name}.{suffix(a.type)}", operands, a.type))


LOWERINGS: Lowerings = {
    **dict.fromkeys(LIBM, _libm),
    **dict.fromkeys(_ROUNDING, _round),
    math.RoundOp: _round_half_away,
    **dict.fromkeys(_BIT_COUNTS, _integer_function),
}
