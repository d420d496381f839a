"""arith and math operations as llvm operations: tables where it is one to one, a few lines where it is not.

Floats keep IEEE semantics. `maximumf` and `minimumf` are NaN where either operand is, and the first operand where both
compare equal (so that zeros keep their sign); functions of libm are called by their C names.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
from xdsl.dialects import arith, llvm, math
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    f32,
    i1,
)
from xdsl.ir import Attribute, Operation, SSAValue

from aotc.dialects import aot, llvm_ext
from aotc.errors import CompileError, Problem
from aotc.passes.lower.llvm_builder import NO_FAST_MATH, NSW, integer, width
from aotc.passes.lower.llvm_function import FunctionLowering, Lowerings

_fast_math: dict[Attribute, llvm.FastMathAttr] = {}


def _flags(op: Operation) -> llvm.FastMathAttr:
    """The operation's fast-math flags."""
    given = op.properties.get("fastmath")
    if given is None:
        return NO_FAST_MATH
    if given not in _fast_math:
        assert isinstance(given, arith.FastMathFlagsAttr)
        _fast_math[given] = llvm.FastMathAttr(tuple(given.data))
    return _fast_math[given]


def _arithmetic_float(op: Operation) -> bool:
    """Whether the operands are f32 or f64; CompileError for narrow floats, which are only moved and converted."""
    kind = op.operands[0].type
    if not isinstance(kind, Float32Type | Float64Type):
        raise CompileError(
            Problem(f"{op.name} on {kind}", why="arithmetic on narrow floats happens in f32", fix="extend the operands")
        )
    return True


# --- constants -------------------------------------------------------------------------------------------------------


def _constant(f: FunctionLowering, op: arith.ConstantOp) -> None:
    value, kind = op.value, op.result.type
    match value:
        case IntegerAttr():
            number = value.value.data
            if isinstance(kind, IndexType):
                f.known[op.result] = number
            f.set(op.result, f.b.constant(number, f.types.value(kind)))
        case FloatAttr() if isinstance(to := f.types.value(kind), IntegerType):  # a narrow float held as its bits
            dtype = np.float16 if isinstance(kind, Float16Type) else ml_dtypes.bfloat16
            f.set(op.result, f.b.constant(int(np.array(value.value.data, dtype).view(np.uint16)), to))
        case FloatAttr():
            f.set(op.result, f.b.constant(value.value.data, kind))
        case _:
            raise CompileError(Problem(f"a constant of type {kind} has no LLVM counterpart"))


# --- integers --------------------------------------------------------------------------------------------------------

_INTEGER: dict[type[Operation], type[Operation]] = {
    arith.AddiOp: llvm.AddOp,
    arith.SubiOp: llvm.SubOp,
    arith.MuliOp: llvm.MulOp,
    arith.DivUIOp: llvm.UDivOp,
    arith.DivSIOp: llvm.SDivOp,
    arith.RemUIOp: llvm.URemOp,
    arith.RemSIOp: llvm.SRemOp,
    arith.AndIOp: llvm.AndOp,
    arith.OrIOp: llvm.OrOp,
    arith.XOrIOp: llvm.XOrOp,
    arith.ShLIOp: llvm.ShlOp,
    arith.ShRUIOp: llvm.LShrOp,
    arith.ShRSIOp: llvm.AShrOp,
}
_OVERFLOWING = (arith.AddiOp, arith.SubiOp, arith.MuliOp)
_OVERFLOW_BITS = {"nsw": 1, "nuw": 2}


def _integer(f: FunctionLowering, op: Operation) -> None:
    a, b = op.operands
    flags = None
    if isinstance(op, _OVERFLOWING):
        if isinstance(a.type, IndexType):  # bounded by sizes in memory; lets LLVM widen and reorder addresses
            flags = NSW
        elif bits := sum(_OVERFLOW_BITS[flag.value] for flag in op.overflow_flags.data):
            flags = IntegerAttr(bits, 32)
    f.set(op.results[0], f.b.integer_op(_INTEGER[type(op)], f.get(a), f.get(b), flags))


_MIN_MAX: dict[type[Operation], str] = {
    arith.MaxSIOp: "smax",
    arith.MinSIOp: "smin",
    arith.MaxUIOp: "umax",
    arith.MinUIOp: "umin",
}


def _integer_min_max(f: FunctionLowering, op: Operation) -> None:
    a, b = (f.get(value) for value in op.operands)
    f.set(op.results[0], f.b.intrinsic(f"llvm.{_MIN_MAX[type(op)]}.i{width(a.type)}", (a, b), a.type))


def _rounding_division(f: FunctionLowering, op: Operation) -> None:
    """floordivsi, ceildivsi, ceildivui: truncate, then step by one where the remainder asks for it."""
    a, b = (f.get(value) for value in op.operands)
    builder, kind = f.b, a.type
    zero, one = builder.constant(0, kind), builder.constant(1, kind)
    unsigned = isinstance(op, arith.CeilDivUIOp)
    quotient = builder.integer_op(llvm.UDivOp if unsigned else llvm.SDivOp, a, b)
    remainder = builder.integer_op(llvm.URemOp if unsigned else llvm.SRemOp, a, b)
    step = builder.icmp("ne", remainder, zero)
    if not unsigned:
        signs = builder.integer_op(llvm.XOrOp, a, b)
        agree = builder.icmp("slt" if isinstance(op, arith.FloorDivSIOp) else "sge", signs, zero)
        step = builder.integer_op(llvm.AndOp, step, agree)
    stepped = builder.integer_op(llvm.SubOp if isinstance(op, arith.FloorDivSIOp) else llvm.AddOp, quotient, one)
    f.set(op.results[0], builder.select(step, stepped, quotient))


def _add_extended(f: FunctionLowering, op: arith.AddUIExtendedOp) -> None:
    a = f.get(op.lhs)
    total = f.b.integer_op(llvm.AddOp, a, f.get(op.rhs))
    f.set(op.results[0], total)
    f.set(op.results[1], f.b.icmp("ult", total, a))


def _mul_extended(f: FunctionLowering, op: Operation) -> None:
    a, b = (f.get(value) for value in op.operands)
    kind, bits = a.type, width(a.type)
    wide = integer(2 * bits)
    extend = llvm.ZExtOp if isinstance(op, arith.MulUIExtendedOp) else llvm.SExtOp
    product = f.b.integer_op(llvm.MulOp, f.b.convert(extend, a, wide), f.b.convert(extend, b, wide))
    high = f.b.integer_op(llvm.LShrOp, product, f.b.constant(bits, wide))
    f.set(op.results[0], f.b.convert(llvm.TruncOp, product, kind))
    f.set(op.results[1], f.b.convert(llvm.TruncOp, high, kind))


def _compare_integers(f: FunctionLowering, op: arith.CmpiOp) -> None:
    operands = (f.get(op.lhs), f.get(op.rhs))
    f.set(op.result, f.b.op(llvm.ICmpOp, operands, i1, {"predicate": op.predicate}))  # predicates are numbered alike


def _index_cast(f: FunctionLowering, op: arith.IndexCastOp) -> None:
    a, to = f.get(op.input), f.types.value(op.result.type)
    f.set(op.result, f.b.convert(llvm.TruncOp if width(a.type) > width(to) else llvm.SExtOp, a, to))


def _select(f: FunctionLowering, op: arith.SelectOp) -> None:
    f.set(op.result, f.b.select(f.get(op.cond), f.get(op.lhs), f.get(op.rhs)))


# --- floats ----------------------------------------------------------------------------------------------------------

_FLOAT: dict[type[Operation], type[Operation]] = {
    arith.AddfOp: llvm.FAddOp,
    arith.SubfOp: llvm.FSubOp,
    arith.MulfOp: llvm.FMulOp,
    arith.DivfOp: llvm.FDivOp,
    arith.NegfOp: llvm.FNegOp,
    math.AbsFOp: llvm.FAbsOp,
    math.CopySignOp: llvm.FCopySignOp,
    math.FmaOp: llvm.FMAOp,
    math.SqrtOp: llvm.FSqrtOp,
}


def _float(f: FunctionLowering, op: Operation) -> None:
    _arithmetic_float(op)
    f.set(op.results[0], f.b.float_op(_FLOAT[type(op)], *(f.get(value) for value in op.operands), flags=_flags(op)))


def _compare_floats(f: FunctionLowering, op: arith.CmpfOp) -> None:
    _arithmetic_float(op)
    properties: dict[str, Attribute] = {"predicate": op.predicate, "fastmathFlags": _flags(op)}
    f.set(op.result, f.b.op(llvm.FCmpOp, (f.get(op.lhs), f.get(op.rhs)), i1, properties))


def _is_number(value: SSAValue) -> bool:
    owner = value.owner
    return (
        isinstance(owner, arith.ConstantOp)
        and isinstance(owner.value, FloatAttr)
        and owner.value.value.data == owner.value.value.data
    )


def _float_min_max(f: FunctionLowering, op: Operation) -> None:
    """NaN where either is, else the extreme, the first of equals: one compare and select for each that may be NaN."""
    _arithmetic_float(op)
    a, b = (f.get(value) for value in op.operands)
    flags, order = _flags(op), "g" if isinstance(op, arith.MaximumfOp) else "l"
    first_may_be_nan = not _is_number(op.operands[0])
    # An unordered compare picks the first, an ordered one the second; a constant is no NaN and needs no check.
    chosen = f.b.select(f.b.fcmp(f"{'u' if first_may_be_nan else 'o'}{order}e", a, b, flags), a, b)
    if first_may_be_nan and not _is_number(op.operands[1]):
        chosen = f.b.select(f.b.fcmp("uno", b, b), b, chosen)
    f.set(op.results[0], chosen)


def _float_min_max_number(f: FunctionLowering, op: Operation) -> None:
    """maxnumf, minnumf: the other operand where one is NaN."""
    _arithmetic_float(op)
    a, b = (f.get(value) for value in op.operands)
    order = "g" if isinstance(op, arith.MaxnumfOp) else "l"
    chosen = f.b.select(f.b.fcmp(f"o{order}e", a, b, _flags(op)), a, b)
    f.set(op.results[0], f.b.select(f.b.fcmp("uno", b, b), a, chosen))


def _extend_float(f: FunctionLowering, op: arith.ExtFOp) -> None:
    a, source, to = f.get(op.input), op.input.type, op.result.type
    if isinstance(a.type, IntegerType):  # a narrow float held as its bits
        a = f.module.helpers.widen(f.b, a, source)
    f.set(op.result, f.b.convert(llvm.FPExtOp, a, to))


def _truncate_float(f: FunctionLowering, op: arith.TruncFOp) -> None:
    a, to = f.get(op.input), op.result.type
    if isinstance(to, BFloat16Type) or isinstance(f.types.value(to), IntegerType):
        result = f.module.helpers.narrow(f.b, a, to)
    elif isinstance(to, Float16Type) and a.type != f32:
        narrow = f.b.convert(llvm.FPTruncOp, f.module.helpers.round_to_odd(f.b, a), to)
        result = narrow
    else:
        result = f.b.convert(llvm.FPTruncOp, a, to)
    f.set(op.result, result)


_CONVERSION: dict[type[Operation], type[Operation]] = {
    arith.ExtSIOp: llvm.SExtOp,
    arith.ExtUIOp: llvm.ZExtOp,
    arith.TruncIOp: llvm.TruncOp,
    arith.SIToFPOp: llvm.SIToFPOp,
    arith.UIToFPOp: llvm_ext.UIToFPOp,
    arith.FPToSIOp: llvm_ext.FPToSIOp,
    arith.FPToUIOp: llvm_ext.FPToUIOp,
    arith.BitcastOp: llvm.BitcastOp,
}
_FROM_FLOAT = (arith.FPToSIOp, arith.FPToUIOp)
_TO_FLOAT = (arith.SIToFPOp, arith.UIToFPOp)


def _conversion(f: FunctionLowering, op: Operation) -> None:
    a, result = f.get(op.operands[0]), op.results[0]
    if isinstance(op, _FROM_FLOAT):
        _arithmetic_float(op)
    elif isinstance(op, _TO_FLOAT) and not isinstance(result.type, Float32Type | Float64Type):
        raise CompileError(Problem(f"{op.name} to {result.type}", fix="convert to f32, then narrow"))
    f.set(result, f.b.convert(_CONVERSION[type(op)], a, f.types.value(result.type)))


# --- math ------------------------------------------------------------------------------------------------------------

LIBM: dict[type[Operation], str] = {
    math.ExpOp: "exp",
    math.Exp2Op: "exp2",
    math.ExpM1Op: "expm1",
    math.LogOp: "log",
    math.Log2Op: "log2",
    math.Log10Op: "log10",
    math.Log1pOp: "log1p",
    math.SinOp: "sin",
    math.CosOp: "cos",
    math.TanOp: "tan",
    math.AsinOp: "asin",
    math.AcosOp: "acos",
    math.AtanOp: "atan",
    math.Atan2Op: "atan2",
    math.SinhOp: "sinh",
    math.CoshOp: "cosh",
    math.TanhOp: "tanh",
    math.AsinhOp: "asinh",
    math.AcoshOp: "acosh",
    math.AtanhOp: "atanh",
    math.ErfOp: "erf",
    math.CbrtOp: "cbrt",
    math.PowFOp: "pow",
    aot.FModOp: "fmod",
}
"""Functions of the C library's libm, by their f64 name."""


def _libm(f: FunctionLowering, op: Operation) -> None:
    _arithmetic_float(op)
    operands = [f.get(value) for value in op.operands]
    kind = operands[0].type
    symbol = LIBM[type(op)] + ("f" if kind == f32 else "")
    f.module.declare_pure(symbol, [kind] * len(operands), kind)
    f.set(op.results[0], f.b.call(symbol, operands, kind, _flags(op))[0])


_ROUNDING: dict[type[Operation], str] = {
    math.FloorOp: "floor",
    math.CeilOp: "ceil",
    math.TruncOp: "trunc",
    math.RoundEvenOp: "roundeven",
}


def _round(f: FunctionLowering, op: Operation) -> None:
    _arithmetic_float(op)
    f.set(op.results[0], f.module.helpers.round(f.b, _ROUNDING[type(op)], f.get(op.operands[0])))


def _round_half_away(f: FunctionLowering, op: math.RoundOp) -> None:
    """Truncate after adding the largest number below a half, which no tie of the format can cross by rounding."""
    _arithmetic_float(op)
    a = f.get(op.operands[0])
    below_half = 0.5 - (2.0**-25 if a.type == f32 else 2.0**-54)
    away = f.b.float_op(llvm.FCopySignOp, f.b.constant(below_half, a.type), a)
    f.set(op.results[0], f.module.helpers.round(f.b, "trunc", f.b.float_op(llvm.FAddOp, a, away)))


def _reciprocal_square_root(f: FunctionLowering, op: math.RsqrtOp) -> None:
    _arithmetic_float(op)
    a = f.get(op.operands[0])
    root = f.b.float_op(llvm.FSqrtOp, a, flags=_flags(op))
    f.set(op.results[0], f.b.float_op(llvm.FDivOp, f.b.constant(1.0, a.type), root, flags=_flags(op)))


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
    f.set(op.results[0], f.b.intrinsic(f"llvm.{name}.i{width(a.type)}", operands, a.type))


LOWERINGS: Lowerings = {
    arith.ConstantOp: _constant,
    **dict.fromkeys(_INTEGER, _integer),
    **dict.fromkeys(_MIN_MAX, _integer_min_max),
    arith.FloorDivSIOp: _rounding_division,
    arith.CeilDivSIOp: _rounding_division,
    arith.CeilDivUIOp: _rounding_division,
    arith.AddUIExtendedOp: _add_extended,
    arith.MulUIExtendedOp: _mul_extended,
    arith.MulSIExtendedOp: _mul_extended,
    arith.CmpiOp: _compare_integers,
    arith.IndexCastOp: _index_cast,
    arith.SelectOp: _select,
    **dict.fromkeys(_FLOAT, _float),
    arith.CmpfOp: _compare_floats,
    arith.MaximumfOp: _float_min_max,
    arith.MinimumfOp: _float_min_max,
    arith.MaxnumfOp: _float_min_max_number,
    arith.MinnumfOp: _float_min_max_number,
    arith.ExtFOp: _extend_float,
    arith.TruncFOp: _truncate_float,
    **dict.fromkeys(_CONVERSION, _conversion),
    **dict.fromkeys(LIBM, _libm),
    **dict.fromkeys(_ROUNDING, _round),
    math.RoundOp: _round_half_away,
    math.RsqrtOp: _reciprocal_square_root,
    **dict.fromkeys(_BIT_COUNTS, _integer_function),
}
