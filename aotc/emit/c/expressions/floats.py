"""Float operations and conversions as C expressions: IEEE 754 as in the IR.

f16 and bf16 are stored as uint16_t and computed in float.
"""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Any

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, Float64Type, IntegerType, i1
from xdsl.ir import Attribute, Operation, SSAValue

from aotc.emit.c.c_types import BF16, BOOL, F16, F32, F64, INT, SIGNED, UNSIGNED, CType, float_literal
from aotc.emit.c.expr import Expr, Level, binary, call, cast_expr, conditional, integer_expr, unary
from aotc.emit.c.expressions.integers import Integers
from aotc.emit.c.expressions.readings import width
from aotc.emit.c.helpers import HELPERS


class Floats(Integers):
    """Float operations as expressions within a scope."""

    def float_operand(self, value: SSAValue, atom: bool = False) -> Expr:
        """A float as C computes with it: f16 and bf16 widened to float."""
        e = self.scope.atom(value) if atom else self.scope.operand(value)
        return self._widen(e, value.type)

    def _widen(self, e: Expr, kind: Attribute) -> Expr:
        if isinstance(kind, Float16Type | BFloat16Type):
            name = "aotc_f16_to_f32" if isinstance(kind, Float16Type) else "aotc_bf16_to_f32"
            return call(self.scope.helper(name), e, ctype=F32)
        return e

    def _narrow(self, e: Expr, kind: Attribute) -> Expr:
        """`e`, a float or double, rounded to `kind`."""
        if isinstance(kind, Float16Type | BFloat16Type):
            if e.ctype == F64:
                e = call(self.scope.helper("aotc_f64_to_f32_odd"), e, ctype=F32)
            is_half = isinstance(kind, Float16Type)
            name = "aotc_f32_to_f16" if is_half else "aotc_f32_to_bf16"
            return call(self.scope.helper(name), e, ctype=F16 if is_half else BF16)
        return cast_expr(e, F32 if isinstance(kind, Float32Type) else F64)

    def _machine(self, kind: Attribute) -> CType:
        return F64 if isinstance(kind, Float64Type) else F32

    def float_arithmetic(self, op: Any, symbol: str) -> Expr:
        """+ - * / of IEEE 754."""
        e = binary(symbol, self.float_operand(op.lhs), self.float_operand(op.rhs), self._machine(op.result.type))
        return self._narrow(e, op.result.type)

    def negate(self, op: arith.NegfOp, _: int) -> Expr:
        """-x."""
        return self._narrow(unary("-", self.float_operand(op.operand), self._machine(op.result.type)), op.result.type)

    def float_extreme(self, op: Any, name: str) -> Expr:
        """maximum, minimum (NaN wins), maxnum, minnum (NaN loses)."""
        kind = op.result.type
        machine = self._machine(kind)
        if name in ("maximum", "minimum"):
            for value, other in ((op.rhs, op.lhs), (op.lhs, op.rhs)):
                bound = self.scope.operand(value).literal
                if bound is not None and bound == bound and machine in (F32, F64):
                    return self._clamp(op, value, other, float(bound), name == "maximum")
        suffix = "f" if machine == F32 else ""
        helper = self.scope.helper(f"aotc_{name}{suffix}")
        return self._narrow(call(helper, self.float_operand(op.lhs), self.float_operand(op.rhs), ctype=machine), kind)

    def _clamp(self, op: Any, bound: SSAValue, other: SSAValue, number: float, is_maximum: bool) -> Expr:
        """x < bound ? bound : x keeps NaN; where both are zero the comparison decides which sign stays."""
        x, limit = self.float_operand(other, atom=True), self.float_operand(bound, atom=True)
        kind = op.result.type
        if isinstance(kind, Float16Type | BFloat16Type):
            x_narrow, limit_narrow = self.scope.atom(other), self.scope.atom(bound)
        else:
            x_narrow, limit_narrow = x, limit
        positive_zero = number == 0.0 and struct.pack("<d", number) == struct.pack("<d", 0.0)
        negative_zero = number == 0.0 and not positive_zero
        symbol = ("<=" if positive_zero else "<") if is_maximum else (">=" if negative_zero else ">")
        return conditional(binary(symbol, x, limit, BOOL), limit_narrow, x_narrow, x_narrow.ctype)

    def float_compare(self, op: arith.CmpfOp, _: int) -> Expr:
        """An IEEE comparison, ordered or not."""
        predicate = op.predicate.value.data
        if predicate in (0, 15):
            self.scope.include("stdbool.h")
            return Expr("true" if predicate else "false", Level.PRIMARY, BOOL, literal=int(predicate == 15))
        simple = {1: "==", 2: ">", 3: ">=", 4: "<", 5: "<=", 13: "!="}
        opposite = {9: "<=", 10: "<", 11: ">=", 12: ">"}
        if predicate in simple or predicate in opposite:
            a, b = self.float_operand(op.lhs), self.float_operand(op.rhs)
            if predicate in simple:
                return binary(simple[predicate], a, b, BOOL)
            return self._not(binary(opposite[predicate], a, b, BOOL))
        a, b = self.float_operand(op.lhs, atom=True), self.float_operand(op.rhs, atom=True)
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

    def extend_float(self, op: arith.ExtFOp, _: int) -> Expr:
        """To a wider float; exact."""
        e = self.float_operand(op.input)
        return cast_expr(e, F64) if isinstance(op.result.type, Float64Type) else e

    def truncate_float(self, op: arith.TruncFOp, _: int) -> Expr:
        """To a narrower float, to nearest even."""
        return self._narrow(self.float_operand(op.input), op.result.type)

    def from_signed(self, op: arith.SIToFPOp, _: int) -> Expr:
        """Integer to float, to nearest even."""
        e = self.signed(op.input)
        if op.input.type == i1:
            e = unary("-", e, INT)
        return self._narrow(cast_expr(e, self._machine(op.result.type)), op.result.type)

    def from_unsigned(self, op: arith.UIToFPOp, _: int) -> Expr:
        """Unsigned integer to float, to nearest even."""
        e = self.scope.operand(op.input)
        if self.scope.ranges.of(op.input)[0] < 0:
            e = self.unsigned(op.input)
        return self._narrow(cast_expr(e, self._machine(op.result.type)), op.result.type)

    def to_integer(self, op: arith.FPToSIOp | arith.FPToUIOp, unsigned: bool) -> Expr:
        """Float to integer, towards zero; what does not fit is undefined here as in the IR."""
        e = self.float_operand(op.input)
        if op.result.type == i1:
            return binary("!=", cast_expr(e, INT), integer_expr(0), BOOL)
        return replace(cast_expr(e, (UNSIGNED if unsigned else SIGNED)[width(op.result)]), unsigned=unsigned)

    def bitcast(self, op: arith.BitcastOp, _: int) -> Expr:
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
        kind = op.results[0].type
        machine = self._machine(kind)
        arguments = [self.float_operand(value) for value in op.operands]
        own = f"aotc_{name}f"
        if self.scope.unit.freestanding and machine == F32 and own in HELPERS:
            return self._narrow(call(self.scope.helper(own), *arguments, ctype=machine), kind)
        self.scope.include("math.h")
        return self._narrow(call(name + ("f" if machine == F32 else ""), *arguments, ctype=machine), kind)

    def roundeven(self, op: math.RoundEvenOp, _: int) -> Expr:
        """The nearest whole number, ties to even, without a library."""
        kind = op.result.type
        machine = self._machine(kind)
        helper = self.scope.helper("aotc_roundeven" + ("f" if machine == F32 else ""))
        return self._narrow(call(helper, self.float_operand(op.operand), ctype=machine), kind)

    def reciprocal_root(self, op: math.RsqrtOp, _: int) -> Expr:
        """1 / sqrt(x)."""
        self.scope.include("math.h")
        kind = op.result.type
        machine = self._machine(kind)
        root = call("sqrt" + ("f" if machine == F32 else ""), self.float_operand(op.operand), ctype=machine)
        one = Expr(float_literal(1.0, machine), Level.PRIMARY, machine, literal=1.0)
        return self._narrow(binary("/", one, root, machine), kind)
