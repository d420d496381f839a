"""Operations of arith and math as llvm operations, of scalars and of vectors, lane by lane.

Functions of libm are called by their C names and take scalars. Floats keep IEEE semantics; f16 and bf16 are only moved,
and converted from f32 and to it.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
from xdsl.dialects import arith, llvm, math, vector
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    Float16Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    VectorType,
    f32,
    i1,
)
from xdsl.ir import Attribute, Operation, SSAValue

from aotc.dialects import libm, llvm_ext
from aotc.dialects.llvm_ext import suffix
from aotc.errors import CompileError
from aotc.machines.instructions.floats import DIVISIONS
from aotc.passes.lower.function import FunctionLowering, Lowerings
from aotc.passes.lower.helpers import meaning
from aotc.passes.lower.llvm_builder import NO_FAST_MATH, NSW, element, width

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
        case DenseIntOrFPElementsAttr() if isinstance(kind, VectorType):  # narrow floats are stored as their bits
            f.set(op.result, f.b.dense(value.data.data, f.types.value(kind)))
        case _:
            raise CompileError("no-form-in-llvm", f"a constant of type {kind} has no LLVM counterpart")


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


_MIN_MAX = (arith.MaxSIOp, arith.MinSIOp, arith.MaxUIOp, arith.MinUIOp)


def _integer_min_max(f: FunctionLowering, op: Operation) -> None:
    a, b = (f.get(value) for value in op.operands)
    name, sign = op.name.removeprefix("arith.")[:3], op.name[-2]
    f.set(op.results[0], f.b.intrinsic(f"llvm.{sign}{name}.{suffix(a.type)}", (a, b), a.type))


_ROUNDING_DIVISIONS = (arith.FloorDivSIOp, arith.CeilDivSIOp, arith.CeilDivUIOp)


def _rounding_division(f: FunctionLowering, op: Operation) -> None:
    a, b = (f.get(value) for value in op.operands)
    function = DIVISIONS[op.name.removeprefix("arith.").removesuffix("si").removesuffix("i")]
    types, _ = function.types(f"{function.dtypes[0][0]}{width(a.type)}")
    f.set(op.results[0], meaning(function, types, f.b, a, b))


def _compare_integers(f: FunctionLowering, op: arith.CmpiOp) -> None:
    operands = (f.get(op.lhs), f.get(op.rhs))
    f.set(op.result, f.b.op(llvm.ICmpOp, operands, i1, {"predicate": op.predicate}))  # predicates are numbered alike


def _index_cast(f: FunctionLowering, op: arith.IndexCastOp) -> None:
    a, to = f.get(op.input), f.types.value(op.result.type)
    f.set(op.result, f.b.convert(llvm.TruncOp if width(a.type) > width(to) else llvm.SExtOp, a, to))


# --- floats ----------------------------------------------------------------------------------------------------------

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
    f.set(op.results[0], f.b.float_op(_FLOAT[type(op)], *map(f.get, op.operands), flags=fast_math_flags(op)))


def compare(f: FunctionLowering, predicate: str, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """Two values of the interface phase, by a predicate of arith.cmpf or, for integers, arith.cmpi."""
    write = f.b.icmp if isinstance(element(lhs.type), IntegerType) else f.b.fcmp
    return write(predicate, f.get(lhs), f.get(rhs))


def _compare_floats(f: FunctionLowering, op: arith.CmpfOp) -> None:
    properties: dict[str, Attribute] = {"predicate": op.predicate, "fastmathFlags": fast_math_flags(op)}
    f.set(op.result, f.b.op(llvm.FCmpOp, (f.get(op.lhs), f.get(op.rhs)), i1, properties))


def _extreme(f: FunctionLowering, op: Operation) -> None:
    """NaN where either is, and -0 is less than +0, also where either would do: C has no third meaning."""
    name = "maximum" if isinstance(op, arith.MaximumfOp) else "minimum"
    f.set(op.results[0], f.module.helpers.apply(f.b, name, *map(f.get, op.operands)))


CONVERSION: dict[type[Operation], type[Operation]] = {
    arith.ExtFOp: llvm.FPExtOp,
    arith.TruncFOp: llvm.FPTruncOp,
    arith.ExtSIOp: llvm.SExtOp,
    arith.ExtUIOp: llvm.ZExtOp,
    arith.TruncIOp: llvm.TruncOp,
    arith.SIToFPOp: llvm.SIToFPOp,
    arith.UIToFPOp: llvm_ext.UIToFPOp,
    arith.FPToSIOp: llvm_ext.FPToSIOp,
    arith.FPToUIOp: llvm_ext.FPToUIOp,
    arith.BitcastOp: llvm.BitcastOp,
    vector.BitcastOp: llvm.BitcastOp,
}
"""The conversion of a value by an operation of arith."""


def convert(f: FunctionLowering, kind: type[Operation], value: SSAValue, to: Attribute) -> SSAValue:
    """A value of the interface phase converted to its type `to`, as the operation `kind` of arith does."""
    operand, lowered = f.get(value), f.types.value(to)
    if kind is arith.ExtFOp and isinstance(element(operand.type), IntegerType):  # narrow floats held as their bits
        return f.module.helpers.apply(f.b, f"{element(value.type)}_to_f32", operand)
    if kind is arith.TruncFOp and isinstance(element(lowered), IntegerType):
        return f.module.helpers.apply(f.b, f"f32_to_{element(to)}", operand)
    return f.b.convert(CONVERSION[kind], operand, lowered)


def _conversion(f: FunctionLowering, op: Operation) -> None:
    (result,) = op.results
    f.set(result, convert(f, type(op), op.operands[0], result.type))


# --- functions -------------------------------------------------------------------------------------------------------

_INSTRUCTIONS = ("ceil", "copysign", "fabs", "floor", "fma", "round", "sqrt", "trunc")

LIBM = {kind: name for kind, name in libm.LIBM.items() if name not in _INSTRUCTIONS}
"""Functions of the C library's libm that LLVM calls as such, by their f64 name."""


def _libm(f: FunctionLowering, op: Operation) -> None:
    operands = [f.get(each) for each in op.operands]
    if isinstance(kind := operands[0].type, VectorType):
        what = f"{op.name} of a vector is not a function of libm"
        raise CompileError("no-form-in-llvm", what, fix="expand it before")
    symbol = LIBM[type(op)] + ("f" if kind == f32 else "")
    f.module.declare_pure(symbol, [kind] * len(operands), kind)
    f.set(op.results[0], f.b.call(symbol, operands, kind, fast_math_flags(op))[0])


_ROUNDING = (math.FloorOp, math.CeilOp, math.TruncOp, math.RoundEvenOp)


def _round(f: FunctionLowering, op: Operation) -> None:
    f.set(op.results[0], f.module.helpers.apply(f.b, op.name.removeprefix("math."), f.get(op.operands[0])))


def _round_half_away(f: FunctionLowering, op: math.RoundOp) -> None:
    """Truncate after adding the largest number below a half, which no tie of the format can cross by rounding."""
    a = f.get(op.operand)
    below_half = 0.5 - (2.0**-25 if element(a.type) == f32 else 2.0**-54)
    away = f.b.float_op(llvm.FCopySignOp, f.b.constant(below_half, a.type), a)
    f.set(op.result, f.module.helpers.apply(f.b, "trunc", f.b.float_op(llvm.FAddOp, a, away)))


_INTEGER_FUNCTIONS = (math.AbsIOp, math.CountLeadingZerosOp, math.CountTrailingZerosOp, math.CtPopOp)


def _integer_function(f: FunctionLowering, op: Operation) -> None:
    a = f.get(op.operands[0])
    name = op.name.removeprefix("math.").removesuffix("i")
    operands = (a,) if name == "ctpop" else (a, f.b.constant(0, i1))  # the least integer and zero are defined
    f.set(op.results[0], f.b.intrinsic(f"llvm.{name}.{suffix(a.type)}", operands, a.type))


LOWERINGS: Lowerings = {
    arith.ConstantOp: _constant,
    **dict.fromkeys(_INTEGER, _integer),
    **dict.fromkeys(_MIN_MAX, _integer_min_max),
    **dict.fromkeys(_ROUNDING_DIVISIONS, _rounding_division),
    arith.CmpiOp: _compare_integers,
    arith.IndexCastOp: _index_cast,
    arith.SelectOp: lambda f, op: f.set(op.result, f.b.select(f.get(op.cond), f.get(op.lhs), f.get(op.rhs))),
    **dict.fromkeys(_FLOAT, _float),
    arith.CmpfOp: _compare_floats,
    arith.MaximumfOp: _extreme,
    arith.MinimumfOp: _extreme,
    **dict.fromkeys(CONVERSION, _conversion),
    **dict.fromkeys(LIBM, _libm),
    **dict.fromkeys(_ROUNDING, _round),
    math.RoundOp: _round_half_away,
    **dict.fromkeys(_INTEGER_FUNCTIONS, _integer_function),
}
