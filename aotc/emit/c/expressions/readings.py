"""Integers of the IR as C reads them.

An integer value of N bits stands in C either as its signed or as its unsigned reading (`Expr.unsigned`), in whatever
C type the expression happens to have; each use asks for the reading it needs and pays with a cast only where the two
differ.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from xdsl.dialects.builtin import IntegerType, i1
from xdsl.ir import SSAValue

from aotc.emit.c.c_types import BOOL, SIGNED, UNSIGNED, CType, unsigned_literal
from aotc.emit.c.expr import Expr, Level, cast_expr, integer_expr
from aotc.emit.c.expressions.ranges import type_interval
from aotc.emit.c.expressions.scope import Scope


class Readings:
    """Integer values as C reads them, within a scope."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    def signed(self, value: SSAValue, atom: bool = False) -> Expr:
        """The signed reading (of i1: 0 or 1)."""
        e = self.scope.atom(value) if atom else self.scope.operand(value)
        return self.as_signed(e, value)

    def as_signed(self, e: Expr, value: SSAValue) -> Expr:
        """`e`, the expression of `value`, as its signed reading."""
        if not e.unsigned or value.type == i1:
            return e
        if e.ctype.bits < 32 and self.scope.ranges.of(value)[0] >= 0:
            return replace(e, unsigned=False)
        return replace(cast_expr(e, SIGNED[width(value)]), unsigned=False)

    def unsigned(self, value: SSAValue, atom: bool = False) -> Expr:
        """The unsigned reading, in an unsigned C type or one that it is promoted to."""
        e = self.scope.atom(value) if atom else self.scope.operand(value)
        if e.unsigned or value.type == i1:
            return e
        if e.literal is not None:
            bits = width(value)
            number = int(e.literal) % (1 << bits)
            text = unsigned_literal(number, max(bits, 32))
            return Expr(text, Level.PRIMARY, UNSIGNED[max(bits, 32)], unsigned=True, literal=number)
        return replace(cast_expr(e, UNSIGNED[width(value)]), unsigned=True)

    def modular(self, value: SSAValue) -> Expr:
        """The value modulo 2^width in the unsigned type of 32 or 64 bits that arithmetic on it wraps in."""
        bits = max(width(value), 32)
        e = self.scope.operand(value)
        if e.literal is not None:
            return Expr(unsigned_literal(int(e.literal), bits), Level.PRIMARY, UNSIGNED[bits], True, e.literal)
        return replace(cast_expr(e, UNSIGNED[bits]), unsigned=True)

    def convert(self, e: Expr, value: SSAValue, target: CType) -> Expr:
        """`e`, the expression of `value`, as it can be assigned to `target` without a warning."""
        if e.ctype == target or not target.is_integer or target == BOOL:
            return e
        if e.literal is not None and e.ctype.is_integer:
            low, high = (0, (1 << target.bits) - 1) if target.kind == "unsigned" else type_interval(value.type)
            number = int(e.literal)
            if target.kind == "unsigned":
                number %= 1 << target.bits
            if low <= number <= high:
                return integer_expr(number, target) if target.bits < 64 or number < 2**63 else cast_expr(e, target)
        given = e.ctype
        if given == BOOL and e.is_atom:
            return e
        if given.kind == target.kind and given.bits <= target.bits:
            return e
        if given.kind == "unsigned" and target.kind == "signed" and given.bits < target.bits:
            return e
        return cast_expr(e, target)


def width(value: SSAValue) -> int:
    """Bits of an integer value."""
    return cast(IntegerType, value.type).width.data
