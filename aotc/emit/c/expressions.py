"""Which pure operation is which C expression: the one table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from xdsl.dialects import arith, math
from xdsl.ir import Operation

from aotc.dialects import aot
from aotc.emit.c.floats import Floats
from aotc.emit.c.placement import Expr

Printer: TypeAlias = "Callable[[Expressions, Any, int], Expr]"
"""Writes one result of an operation."""


class Expressions(Floats):
    """Writes pure operations as expressions within a scope."""

    def build(self, op: Operation, result: int) -> Expr:
        """The expression of one result of a supported operation."""
        return _PRINTERS[type(op)](self, op, result)


def supports(op: Operation) -> bool:
    """Whether there is an expression for operations of this class."""
    return type(op) in _PRINTERS


def _library(name: str) -> Printer:
    return lambda p, op, _: p.library(op, name)


_LIBRARY: dict[type[Operation], str] = {
    aot.FModOp: "fmod",
    math.AbsFOp: "fabs",
    math.AcosOp: "acos",
    math.AcoshOp: "acosh",
    math.AsinOp: "asin",
    math.AsinhOp: "asinh",
    math.Atan2Op: "atan2",
    math.AtanOp: "atan",
    math.AtanhOp: "atanh",
    math.CbrtOp: "cbrt",
    math.CeilOp: "ceil",
    math.CopySignOp: "copysign",
    math.CosOp: "cos",
    math.CoshOp: "cosh",
    math.ErfOp: "erf",
    math.Exp2Op: "exp2",
    math.ExpM1Op: "expm1",
    math.ExpOp: "exp",
    math.FloorOp: "floor",
    math.FmaOp: "fma",
    math.Log10Op: "log10",
    math.Log1pOp: "log1p",
    math.Log2Op: "log2",
    math.LogOp: "log",
    math.PowFOp: "pow",
    math.RoundOp: "round",
    math.SinOp: "sin",
    math.SinhOp: "sinh",
    math.SqrtOp: "sqrt",
    math.TanOp: "tan",
    math.TanhOp: "tanh",
    math.TruncOp: "trunc",
}

_PRINTERS: dict[type[Operation], Printer] = {
    arith.ConstantOp: Expressions.constant,
    arith.AddiOp: lambda p, op, _: p.arithmetic(op, "+"),
    arith.SubiOp: lambda p, op, _: p.arithmetic(op, "-"),
    arith.MuliOp: lambda p, op, _: p.arithmetic(op, "*"),
    arith.DivSIOp: lambda p, op, _: p.divide(op, "/"),
    arith.RemSIOp: lambda p, op, _: p.divide(op, "%"),
    arith.DivUIOp: lambda p, op, _: p.divide_unsigned(op, "/"),
    arith.RemUIOp: lambda p, op, _: p.divide_unsigned(op, "%"),
    arith.FloorDivSIOp: lambda p, op, _: p.division_helper(op, "floordiv"),
    arith.CeilDivSIOp: lambda p, op, _: p.division_helper(op, "ceildiv"),
    arith.CeilDivUIOp: lambda p, op, _: p.division_helper(op, "ceildivu"),
    arith.MinSIOp: lambda p, op, _: p.extreme(op, "<", False),
    arith.MaxSIOp: lambda p, op, _: p.extreme(op, ">", False),
    arith.MinUIOp: lambda p, op, _: p.extreme(op, "<", True),
    arith.MaxUIOp: lambda p, op, _: p.extreme(op, ">", True),
    arith.AndIOp: lambda p, op, _: p.bitwise(op, "&"),
    arith.OrIOp: lambda p, op, _: p.bitwise(op, "|"),
    arith.XOrIOp: lambda p, op, _: p.bitwise(op, "^"),
    arith.ShLIOp: Expressions.shift_left,
    arith.ShRSIOp: Expressions.shift_right,
    arith.ShRUIOp: Expressions.shift_right_unsigned,
    arith.MulSIExtendedOp: Expressions.multiply_extended,
    arith.MulUIExtendedOp: Expressions.multiply_extended,
    arith.AddUIExtendedOp: Expressions.add_extended,
    arith.CmpiOp: Expressions.compare,
    arith.CmpfOp: Expressions.float_compare,
    arith.SelectOp: Expressions.select,
    arith.TruncIOp: Expressions.truncate,
    arith.ExtSIOp: Expressions.extend,
    arith.ExtUIOp: Expressions.extend_unsigned,
    arith.IndexCastOp: Expressions.index_cast,
    arith.AddfOp: lambda p, op, _: p.float_arithmetic(op, "+"),
    arith.SubfOp: lambda p, op, _: p.float_arithmetic(op, "-"),
    arith.MulfOp: lambda p, op, _: p.float_arithmetic(op, "*"),
    arith.DivfOp: lambda p, op, _: p.float_arithmetic(op, "/"),
    arith.NegfOp: Expressions.negate,
    arith.MaximumfOp: lambda p, op, _: p.float_extreme(op, "maximum"),
    arith.MinimumfOp: lambda p, op, _: p.float_extreme(op, "minimum"),
    arith.MaxnumfOp: lambda p, op, _: p.float_extreme(op, "maxnum"),
    arith.MinnumfOp: lambda p, op, _: p.float_extreme(op, "minnum"),
    arith.ExtFOp: Expressions.extend_float,
    arith.TruncFOp: Expressions.truncate_float,
    arith.SIToFPOp: Expressions.from_signed,
    arith.UIToFPOp: Expressions.from_unsigned,
    arith.FPToSIOp: lambda p, op, _: p.to_integer(op, False),
    arith.FPToUIOp: lambda p, op, _: p.to_integer(op, True),
    arith.BitcastOp: Expressions.bitcast,
    math.AbsIOp: Expressions.absolute,
    math.RoundEvenOp: Expressions.roundeven,
    math.RsqrtOp: Expressions.reciprocal_root,
    **{kind: _library(name) for kind, name in _LIBRARY.items()},
}
