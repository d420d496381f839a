"""Which pure operation on scalars is which C expression: the one table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from xdsl.dialects import arith, math
from xdsl.ir import Operation

from aotc.dialects import aot
from aotc.dialects.libm import LIBM
from aotc.emit.c.expr import Expr
from aotc.emit.c.expressions.floats import Floats

Printer: TypeAlias = "Callable[[Scalars, Any, int], Expr]"
"""Writes one result of an operation."""


class Scalars(Floats):
    """Writes pure operations as expressions within a scope."""

    def build(self, op: Operation, result: int) -> Expr:
        """The expression of one result of a supported operation."""
        return _PRINTERS[type(op)](self, op, result)


def supports(op: Operation) -> bool:
    """Whether there is an expression for operations of this class."""
    return type(op) in _PRINTERS


def _library(name: str) -> Printer:
    return lambda p, op, _: p.library(op, name)


_PRINTERS: dict[type[Operation], Printer] = {
    arith.ConstantOp: Scalars.constant,
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
    arith.ShLIOp: Scalars.shift_left,
    arith.ShRSIOp: Scalars.shift_right,
    arith.ShRUIOp: Scalars.shift_right_unsigned,
    arith.MulSIExtendedOp: Scalars.multiply_extended,
    arith.MulUIExtendedOp: Scalars.multiply_extended,
    arith.AddUIExtendedOp: Scalars.add_extended,
    arith.CmpiOp: Scalars.compare,
    arith.CmpfOp: Scalars.float_compare,
    arith.SelectOp: Scalars.select,
    arith.TruncIOp: Scalars.truncate,
    arith.ExtSIOp: Scalars.extend,
    arith.ExtUIOp: Scalars.extend_unsigned,
    arith.IndexCastOp: Scalars.index_cast,
    arith.AddfOp: lambda p, op, _: p.float_arithmetic(op, "+"),
    arith.SubfOp: lambda p, op, _: p.float_arithmetic(op, "-"),
    arith.MulfOp: lambda p, op, _: p.float_arithmetic(op, "*"),
    arith.DivfOp: lambda p, op, _: p.float_arithmetic(op, "/"),
    arith.NegfOp: Scalars.negate,
    arith.MaximumfOp: lambda p, op, _: p.float_function(op, "maximum"),
    arith.MinimumfOp: lambda p, op, _: p.float_function(op, "minimum"),
    arith.ExtFOp: Scalars.extend_float,
    arith.TruncFOp: Scalars.truncate_float,
    arith.SIToFPOp: Scalars.from_signed,
    arith.UIToFPOp: Scalars.from_unsigned,
    arith.FPToSIOp: lambda p, op, _: p.to_integer(op, False),
    arith.FPToUIOp: lambda p, op, _: p.to_integer(op, True),
    arith.BitcastOp: Scalars.bitcast,
    aot.InstructionOp: Scalars.instruction,
    aot.OpaqueOp: Scalars.opaque,
    aot.RoundProductOp: Scalars.round_product,
    math.AbsIOp: Scalars.absolute,
    math.RoundEvenOp: lambda p, op, _: p.float_function(op, "roundeven"),
    **{kind: _library(name) for kind, name in LIBM.items()},
}
