"""C expressions as values: text, precedence, C type, and what must be known to place them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from aotc.emit.c.syntax.c_types import BOOL, INT, SIGNED, CType, VectorCType, integer_literal


class Level(IntEnum):
    """Precedence levels of C, loosest first."""

    CONDITIONAL = 1
    LOGICAL_OR = 2
    LOGICAL_AND = 3
    OR = 4
    XOR = 5
    AND = 6
    EQUALITY = 7
    RELATION = 8
    SHIFT = 9
    SUM = 10
    PRODUCT = 11
    UNARY = 12
    PRIMARY = 13


_LEVELS = {
    symbol: level
    for level, symbols in (
        (Level.PRODUCT, ("*", "/", "%")),
        (Level.SUM, ("+", "-")),
        (Level.SHIFT, ("<<", ">>")),
        (Level.RELATION, ("<", "<=", ">", ">=")),
        (Level.EQUALITY, ("==", "!=")),
        (Level.AND, ("&",)),
        (Level.XOR, ("^",)),
        (Level.OR, ("|",)),
        (Level.LOGICAL_AND, ("&&",)),
        (Level.LOGICAL_OR, ("||",)),
    )
    for symbol in symbols
}
OPERATORS: dict[type[Operation], str] = {
    kind: symbol
    for symbol, kinds in {
        "+": (arith.AddfOp, arith.AddiOp),
        "-": (arith.SubfOp, arith.SubiOp),
        "*": (arith.MulfOp, arith.MuliOp),
        "/": (arith.DivfOp, arith.DivSIOp, arith.DivUIOp),
        "%": (arith.RemSIOp, arith.RemUIOp),
        "&": (arith.AndIOp,),
        "|": (arith.OrIOp,),
        "^": (arith.XOrIOp,),
        "<<": (arith.ShLIOp,),
        ">>": (arith.ShRSIOp, arith.ShRUIOp),
    }.items()
    for kind in kinds
}
"""C's operator for an operation of two operands, scalars or vectors."""
_OPPOSITE = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}


@dataclass(frozen=True)
class Expr:
    """A C expression and what must be known to place it."""

    text: str
    level: Level
    ctype: CType
    """The C type of the text, after promotions."""
    unsigned: bool = False
    """An integer that equals the unsigned reading of the IR's bits, not the signed one."""
    literal: int | float | None = None
    parts: tuple[str, str, str] | None = None
    """Operator, left and right text of a binary expression without their parentheses, for `x += y`."""
    negation: str | None = None
    """The text of a condition's opposite."""
    reads: frozenset[SSAValue] = frozenset()
    """The buffers (their roots) it loads from."""
    variables: frozenset[str] = frozenset()
    """The mutable variables it mentions."""
    origin: Expr | None = None
    """A pointer before it was cast to its type; what a vector is loaded from, or was before it was narrowed."""

    @property
    def is_atom(self) -> bool:
        """A name or a literal: may be repeated."""
        return self.literal is not None or self.text.isidentifier()

    @property
    def vector(self) -> VectorCType:
        """The type of a vector."""
        assert isinstance(self.ctype, VectorCType)
        return self.ctype


def name_expr(name: str, ctype: CType, unsigned: bool = False) -> Expr:
    """A constant variable or an argument."""
    return Expr(name, Level.PRIMARY, ctype, unsigned)


def integer_expr(value: int, ctype: CType = INT) -> Expr:
    """An integer literal."""
    text = integer_literal(value)
    wide = ctype if -(2**31) <= value < 2**31 else SIGNED[64]
    return Expr(text, Level.UNARY if text.startswith("-") else Level.PRIMARY, wide, literal=value)


def _grouped(e: Expr) -> str:
    """The text of an operand of another operator: in parentheses where it has an operator of two operands itself."""
    return e.text if e.level >= Level.UNARY else f"({e.text})"


def cast_expr(e: Expr, ctype: CType) -> Expr:
    """`(ctype)e`; nothing where it is of that type."""
    if e.ctype == ctype:
        return e
    return replace(
        e, text=f"({ctype.text}){_grouped(e)}", level=Level.UNARY, ctype=ctype, literal=None, parts=None, negation=None
    )


def unary(symbol: str, e: Expr, ctype: CType) -> Expr:
    """`-e` or `!e`."""
    text = f"({e.text})" if e.level < Level.UNARY or e.text.startswith(symbol) else e.text
    return Expr(f"{symbol}{text}", Level.UNARY, ctype)


_BITWISE = ("&", "|", "^", "<<", ">>")


def binary(symbol: str, a: Expr, b: Expr, ctype: CType, associative: bool = False) -> Expr:
    """`a symbol b` with the parentheses that C, -Wparentheses and rule 12.1 of MISRA need: none relies on precedence.

    An `associative` sum is one where neither order of adding up overflows: `a + (b - c)` loses its parentheses.
    """
    level = _LEVELS[symbol]
    if symbol in ("+", "-") and b.literal is not None and b.text.startswith("-") and b.text[1:2].isdigit():
        symbol = "-" if symbol == "+" else "+"
        b = replace(b, text=b.text[1:], level=Level.PRIMARY)

    def side(e: Expr, right: bool) -> str:
        if e.level != level:
            return _grouped(e)
        inner = e.parts[0] if e.parts is not None else ""
        flat = inner == symbol if symbol in ("&&", "||") else associative and symbol == "+" and inner in ("+", "-")
        enclose = right and not flat
        if symbol in _BITWISE:
            enclose = enclose or inner != symbol
        if level in (Level.RELATION, Level.EQUALITY):
            enclose = True
        return f"({e.text})" if enclose else e.text

    left, right = side(a, False), side(b, True)
    negation = None
    if symbol in _OPPOSITE and (ctype == BOOL) and (a.ctype.is_integer or symbol in ("==", "!=")):
        negation = f"{left} {_OPPOSITE[symbol]} {right}"
    return Expr(f"{left} {symbol} {right}", level, ctype, parts=(symbol, a.text, b.text), negation=negation)


def conditional(condition: Expr, a: Expr, b: Expr, ctype: CType) -> Expr:
    """`condition ? a : b`."""
    return Expr(f"{_grouped(condition)} ? {_grouped(a)} : {_grouped(b)}", Level.CONDITIONAL, ctype)


def call(function: str, *arguments: Expr, ctype: CType) -> Expr:
    """`function(arguments)`."""
    return Expr(f"{function}({', '.join(e.text for e in arguments)})", Level.PRIMARY, ctype)


def converted(e: Expr, target: VectorCType) -> Expr:
    """Lane by lane as C converts numbers."""
    if e.ctype.text == target.text:
        return replace(e, ctype=target)
    return Expr(f"__builtin_convertvector({e.text}, {target.text})", Level.PRIMARY, target)


def negated(e: Expr) -> str:
    """The text of `!e`."""
    return e.negation if e.negation is not None else unary("!", e, BOOL).text
