"""Vectors as C reads them: types, signed and unsigned readings, masks.

Integers are unsigned vectors, so that arithmetic wraps, and are read as signed ones where the operation says so.
Booleans are masks: integers of the width of what was compared, all ones or all zeros.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from xdsl.ir import SSAValue

from aotc.emit.c.c_types import (
    SIGNED,
    UNSIGNED,
    CType,
    VectorCType,
    ctype_of,
    mask_ctype,
    vector_ctype,
)
from aotc.emit.c.expr import Expr, Level, binary, call, cast_expr
from aotc.emit.c.expressions.scope import Scope


class VectorReadings:
    """Values that are vectors as C reads them, within a function."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    def ctype(self, value: SSAValue) -> VectorCType:
        """The C type of a vector."""
        return cast(VectorCType, ctype_of(value.type, self.scope.index))

    def operand(self, value: SSAValue, atom: bool = False) -> Expr:
        """The expression of a vector, a name where it is mentioned more than once (`atom`)."""
        return self.scope.atom(value) if atom else self.scope.operand(value)

    def signed(self, e: Expr) -> Expr:
        """Integers as their signed readings."""
        return cast_expr(e, vector_ctype(SIGNED[e.ctype.bits], lanes_of(e)))

    def unsigned(self, e: Expr) -> Expr:
        """Integers as their unsigned readings, which arithmetic is done on."""
        return cast_expr(e, vector_ctype(UNSIGNED[e.ctype.bits], lanes_of(e)))

    def converted(self, e: Expr, target: VectorCType) -> Expr:
        """Lane by lane as C converts numbers."""
        if e.ctype.text == target.text:
            return replace(e, ctype=target)
        return Expr(f"__builtin_convertvector({e.text}, {target.text})", Level.PRIMARY, target)

    def mask(self, e: Expr, bits: int) -> Expr:
        """A mask as one of another width."""
        return self.converted(e, mask_ctype(bits, lanes_of(e)))

    def macro(self, name: str, ctype: VectorCType, *arguments: Expr) -> Expr:
        """`aotc_name_f32x16(arguments)`."""
        return call(ctype.text.replace("_", f"_{name}_", 1), *arguments, ctype=ctype)

    def mask_bits(self, mask: Expr, bits: int) -> Expr:
        """Booleans as the integers 0 and 1."""
        e = self.unsigned(self.mask(mask, bits))
        return binary("&", e, self.macro("splat", cast(VectorCType, e.ctype), number_expr(1)), e.ctype)


def lanes_of(e: Expr) -> int:
    """How many elements a vector has."""
    return cast(VectorCType, e.ctype).lanes


def element_of(ctype: CType) -> CType:
    """The C type of a vector's elements; BOOL of a mask."""
    element = cast(VectorCType, ctype).element
    assert element is not None
    return element


def number_expr(value: int) -> Expr:
    """A small integer as an argument of a macro."""
    return Expr(str(value), Level.UNARY, SIGNED[32], literal=value)
