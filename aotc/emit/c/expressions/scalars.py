"""Pure operations on scalars as C expressions: which is which, and those of floats, IEEE 754 as in the IR.

f16 and bf16 are stored as uint16_t, and converted from and to float.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, Float64Type, IntegerType, i1
from xdsl.ir import Attribute, Operation

from aotc.dialects import aot
from aotc.dialects.libm import LIBM
from aotc.emit.c.definitions.helpers import HELPERS
from aotc.emit.c.definitions.instructions import macro_name
from aotc.emit.c.definitions.meanings import c_name
from aotc.emit.c.expressions.integers import Integers, width
from aotc.emit.c.syntax.c_types import BF16, BOOL, F16, F32, F64, INT, SIGNED, UNSIGNED, CType
from aotc.emit.c.syntax.expr import OPERATORS, Expr, Level, binary, call, cast_expr, integer_expr, unary
from aotc.machines.instructions.floats import FUNCTIONS

Printer: TypeAlias = "Callable[[Scalars, Any], Expr]"
"""Writes the result of an operation."""


class Scalars(Integers):
    """Writes pure operations as expressions within a scope."""

    def build(self, op: Operation, result: int) -> Expr:
        """The expression of one result of a supported operation."""
        if (halves := _HALVES.get(type(op))) is not None:
            return halves(self, op, result)
        return _PRINTERS[type(op)](self, op)

    def _machine(self, kind: Attribute) -> CType:
        return F64 if isinstance(kind, Float64Type) else F32

    def float_arithmetic(self, op: Any) -> Expr:
        """+ - * / of IEEE 754."""
        a, b = self.scope.operand(op.lhs), self.scope.operand(op.rhs)
        return binary(OPERATORS[type(op)], a, b, self._machine(op.result.type))

    def negate(self, op: arith.NegfOp) -> Expr:
        """-x."""
        return unary("-", self.scope.operand(op.operand), self._machine(op.result.type))

    def float_function(self, op: Operation) -> Expr:
        """A function that the file brings along (`machines.instructions.floats`)."""
        name = op.name.partition(".")[2].removesuffix("f")
        machine = self._machine(op.results[0].type)
        helper = self.scope.helper(c_name(FUNCTIONS[name], f"f{machine.bits}"))
        return call(helper, *map(self.scope.operand, op.operands), ctype=machine)

    def instruction(self, op: aot.InstructionOp) -> Expr:
        """One on integers, or a function of floats."""
        if op.row.on_words:
            return super().instruction(op)
        given = (self.unsigned(x) if isinstance(x.type, IntegerType) else self.scope.operand(x) for x in op.arguments)
        is_half = isinstance(op.result.type, IntegerType)
        ctype = UNSIGNED[16] if is_half else self._machine(op.result.type)
        return replace(call(self.scope.helper(macro_name(op.row)), *given, ctype=ctype), unsigned=is_half)

    def float_compare(self, op: arith.CmpfOp) -> Expr:
        """An IEEE comparison, ordered or not."""
        predicate = op.predicate.value.data
        if predicate in (0, 15):
            self.scope.include("stdbool.h")
            return Expr("true" if predicate else "false", Level.PRIMARY, BOOL, literal=int(predicate == 15))
        simple = {1: "==", 2: ">", 3: ">=", 4: "<", 5: "<=", 13: "!="}
        opposite = {9: "<=", 10: "<", 11: ">=", 12: ">"}
        if predicate in simple or predicate in opposite:
            a, b = self.scope.operand(op.lhs), self.scope.operand(op.rhs)
            if predicate in simple:
                return binary(simple[predicate], a, b, BOOL)
            return self._not(binary(opposite[predicate], a, b, BOOL))
        a, b = self.scope.atom(op.lhs), self.scope.atom(op.rhs)
        if predicate in (6, 8):
            differ = binary("||", binary("<", a, b, BOOL), binary(">", a, b, BOOL), BOOL)
            return differ if predicate == 6 else self._not(differ)
        symbol, join = ("==", "&&") if predicate == 7 else ("!=", "||")
        parts = [binary(symbol, e, e, BOOL) for e in (a, b) if e.literal is None or e.literal != e.literal]
        if not parts:
            return Expr("1" if predicate == 7 else "0", Level.PRIMARY, BOOL, literal=int(predicate == 7))
        return parts[0] if len(parts) == 1 or a.text == b.text else binary(join, parts[0], parts[1], BOOL)

    def _not(self, e: Expr) -> Expr:
        return replace(unary("!", e, BOOL), negation=e.text)

    def extend_float(self, op: arith.ExtFOp) -> Expr:
        """To a wider float; exact."""
        e, source = self.scope.operand(op.input), op.input.type
        if isinstance(source, Float16Type | BFloat16Type):
            return call(self.scope.helper(f"aotc_{source}_to_f32"), e, ctype=F32)
        return cast_expr(e, F64)

    def truncate_float(self, op: arith.TruncFOp) -> Expr:
        """To a narrower float, to nearest even."""
        e, target = self.scope.operand(op.input), op.result.type
        if isinstance(target, Float16Type | BFloat16Type):
            ctype = F16 if isinstance(target, Float16Type) else BF16
            return call(self.scope.helper(f"aotc_f32_to_{target}"), e, ctype=ctype)
        return cast_expr(e, F32)

    def from_signed(self, op: arith.SIToFPOp) -> Expr:
        """Integer to float, to nearest even."""
        e = self.signed(op.input)
        if op.input.type == i1:
            e = unary("-", e, INT)
        return cast_expr(e, self._machine(op.result.type))

    def from_unsigned(self, op: arith.UIToFPOp) -> Expr:
        """Unsigned integer to float, to nearest even."""
        e = self.scope.operand(op.input)
        if self.scope.ranges.of(op.input)[0] < 0:
            e = self.unsigned(op.input)
        return cast_expr(e, self._machine(op.result.type))

    def to_integer(self, op: arith.FPToSIOp | arith.FPToUIOp, unsigned: bool) -> Expr:
        """Float to integer, towards zero; what does not fit is undefined here as in the IR."""
        e = self.scope.operand(op.input)
        if op.result.type == i1:
            return binary("!=", cast_expr(e, INT), integer_expr(0), BOOL)
        return replace(cast_expr(e, (UNSIGNED if unsigned else SIGNED)[width(op.result)]), unsigned=unsigned)

    def bitcast(self, op: arith.BitcastOp) -> Expr:
        """The same bits as another type of that width."""
        source, target = op.input.type, op.result.type
        if isinstance(source, Float32Type | Float64Type) and isinstance(target, IntegerType):
            kind = self._machine(source)
            bits = UNSIGNED[kind.bits]
            e = call(self.scope.helper(f"aotc_{kind.text}_bits"), self.scope.operand(op.input), ctype=bits)
            return replace(e, unsigned=True)
        if isinstance(source, IntegerType) and isinstance(target, Float32Type | Float64Type):
            kind = self._machine(target)
            return call(self.scope.helper(f"aotc_{kind.text}_of_bits"), self.modular(op.input), ctype=kind)
        if isinstance(target, Float16Type | BFloat16Type):
            e = self.unsigned(op.input) if isinstance(source, IntegerType) else self.scope.operand(op.input)
            return replace(e, ctype=F16 if isinstance(target, Float16Type) else BF16, unsigned=False)
        if isinstance(source, Float16Type | BFloat16Type):
            return replace(self.scope.operand(op.input), ctype=UNSIGNED[16], unsigned=True)
        return self.scope.operand(op.input)

    def library(self, op: Operation, name: str) -> Expr:
        """A function of math.h, or one that the file brings along."""
        machine = self._machine(op.results[0].type)
        arguments = [self.scope.operand(value) for value in op.operands]
        own = f"aotc_{name}f"
        if self.scope.unit.freestanding and machine == F32 and own in HELPERS:
            return call(self.scope.helper(own), *arguments, ctype=machine)
        self.scope.include("math.h")
        return call(name + ("f" if machine == F32 else ""), *arguments, ctype=machine)


def supports(op: Operation) -> bool:
    """Whether there is an expression for operations of this class."""
    return type(op) in _PRINTERS or type(op) in _HALVES


def _library(name: str) -> Printer:
    return lambda p, op: p.library(op, name)


_PRINTERS: dict[type[Operation], Printer] = {
    arith.ConstantOp: Scalars.constant,
    **dict.fromkeys((arith.AddiOp, arith.SubiOp, arith.MuliOp), Scalars.arithmetic),
    **dict.fromkeys((arith.DivSIOp, arith.RemSIOp), Scalars.divide),
    **dict.fromkeys((arith.DivUIOp, arith.RemUIOp), Scalars.divide_unsigned),
    **dict.fromkeys((arith.FloorDivSIOp, arith.CeilDivSIOp, arith.CeilDivUIOp), Scalars.division_helper),
    **dict.fromkeys((arith.MinSIOp, arith.MaxSIOp, arith.MinUIOp, arith.MaxUIOp), Scalars.extreme),
    **dict.fromkeys((arith.AndIOp, arith.OrIOp, arith.XOrIOp), Scalars.bitwise),
    arith.ShLIOp: Scalars.shift_left,
    arith.ShRSIOp: Scalars.shift_right,
    arith.ShRUIOp: Scalars.shift_right_unsigned,
    arith.CmpiOp: Scalars.compare,
    arith.CmpfOp: Scalars.float_compare,
    arith.SelectOp: Scalars.select,
    arith.TruncIOp: Scalars.truncate,
    arith.ExtSIOp: Scalars.extend,
    arith.ExtUIOp: Scalars.extend_unsigned,
    arith.IndexCastOp: Scalars.index_cast,
    **dict.fromkeys((arith.AddfOp, arith.SubfOp, arith.MulfOp, arith.DivfOp), Scalars.float_arithmetic),
    arith.NegfOp: Scalars.negate,
    **dict.fromkeys((arith.MaximumfOp, arith.MinimumfOp, math.RoundEvenOp), Scalars.float_function),
    arith.ExtFOp: Scalars.extend_float,
    arith.TruncFOp: Scalars.truncate_float,
    arith.SIToFPOp: Scalars.from_signed,
    arith.UIToFPOp: Scalars.from_unsigned,
    arith.FPToSIOp: lambda p, op: p.to_integer(op, False),
    arith.FPToUIOp: lambda p, op: p.to_integer(op, True),
    arith.BitcastOp: Scalars.bitcast,
    aot.InstructionOp: Scalars.instruction,
    aot.OpaqueOp: Scalars.opaque,
    aot.RoundProductOp: Scalars.round_product,
    math.AbsIOp: Scalars.absolute,
    **{kind: _library(name) for kind, name in LIBM.items()},
}
_HALVES: dict[type[Operation], Callable[[Scalars, Any, int], Expr]] = {
    arith.MulSIExtendedOp: Scalars.multiply_extended,
    arith.MulUIExtendedOp: Scalars.multiply_extended,
    arith.AddUIExtendedOp: Scalars.add_extended,
}
"""Operations of two results."""
