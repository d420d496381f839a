"""Integer operations as C expressions: modulo 2^width as in the IR, without undefined behaviour and with few casts.

An integer value of N bits stands in C either as its signed or as its unsigned reading (`Expr.unsigned`), in whatever
C type the expression happens to have; each use asks for the reading it needs and pays with a cast only where the two
differ. Arithmetic that may overflow is done in unsigned types, where C wraps as the IR does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr, IntegerType, i1, i32
from xdsl.ir import OpResult, SSAValue

from aotc.dialects import aot
from aotc.emit.c.analyses.ranges import Interval, type_interval, within
from aotc.emit.c.contents.unit import Scope
from aotc.emit.c.definitions.instructions import macro_name
from aotc.emit.c.syntax.c_types import BOOL, INT, SIGNED, UNSIGNED, CType, ctype_of, float_literal, unsigned_literal
from aotc.emit.c.syntax.expr import (
    OPERATORS,
    Expr,
    Level,
    binary,
    call,
    cast_expr,
    conditional,
    integer_expr,
    negated,
    unary,
)

_SATURATIONS = {
    ((low, low), (high, high)): f"aotc_{sign}sat{bits}"
    for bits in (8, 16)
    for sign, low, high in (("s", -(1 << bits - 1), (1 << bits - 1) - 1), ("u", 0, (1 << bits) - 1))
}
"""The helpers that clamp, by the intervals of their bounds."""
_SYMBOLS = ("==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">=")
"""The comparison of each predicate of arith.cmpi: signed ones, then unsigned ones."""


class Integers:
    """Integer, index and boolean values, and operations on them, as expressions within a scope."""

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
        return _modular(self.scope.operand(value), max(width(value), 32))

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

    # Operations

    def constant(self, op: arith.ConstantOp) -> Expr:
        """A literal."""
        kind = op.result.type
        if isinstance(op.value, IntegerAttr):
            number = op.value.value.data
            if kind == i1:
                self.scope.include("stdbool.h")
                return Expr("true" if number & 1 else "false", Level.PRIMARY, BOOL, literal=number & 1)
            return integer_expr(number, INT)
        assert isinstance(op.value, FloatAttr), "array constants live in the WeightStore"
        ctype = ctype_of(kind, self.scope.index)
        text = float_literal(op.value.value.data, ctype)
        if text.endswith(("NAN", "INFINITY")):
            self.scope.include("math.h")
        level = Level.UNARY if text.startswith("-") else Level.PRIMARY
        return Expr(text, level, ctype, literal=op.value.value.data)

    def arithmetic(self, op: arith.AddiOp | arith.SubiOp | arith.MuliOp) -> Expr:
        """+ - * modulo 2^width."""
        kind, symbol = op.result.type, OPERATORS[type(op)]
        if kind == i1:
            a, b = self.signed(op.lhs), self.signed(op.rhs)
            return binary("&&" if symbol == "*" else "!=", a, b, BOOL)
        exact = self.scope.ranges.exact(op)
        if isinstance(kind, IndexType):
            return self._sum(symbol, self.signed(op.lhs), self.signed(op.rhs), self.scope.index, True)
        bits = width(op.result)
        machine = type_interval(IntegerType(max(bits, 32)))
        if not within(exact, machine):
            unsigned, a, b = UNSIGNED[max(bits, 32)], self.modular(op.lhs), self.modular(op.rhs)
            least, greatest = self.scope.ranges.of(op.rhs)
            if symbol == "+" and -(1 << bits - 1) < least == greatest < 0:
                symbol, b = "-", Expr(unsigned_literal(-least, unsigned.bits), Level.PRIMARY, unsigned, literal=-least)
            return replace(binary(symbol, a, b, unsigned), unsigned=True)
        a, b = self.signed(op.lhs), self.signed(op.rhs)
        if bits == 64:
            return self._wide(symbol, a, b, exact)
        e = self._sum(symbol, a, b, INT)
        return e if within(exact, type_interval(kind)) else cast_expr(e, SIGNED[bits])

    def _sum(self, symbol: str, a: Expr, b: Expr, ctype: CType, associative: bool = False) -> Expr:
        if symbol == "+" and a.literal is not None and b.literal is None:
            a, b = b, a
        return binary(symbol, a, b, ctype, associative)

    def _wide(self, symbol: str, a: Expr, b: Expr, exact: Interval | None) -> Expr:
        """Signed 64-bit arithmetic; `exact` is the interval of the result, in whose 32 bits C may compute."""
        long = SIGNED[64]
        a, b = (cast_expr(e, long) if e.ctype == UNSIGNED[32] else e for e in (a, b))
        if a.ctype.bits == 64 or b.ctype.bits == 64:
            return self._sum(symbol, a, b, long)
        if exact is not None and within(exact, type_interval(IntegerType(32))):
            return self._sum(symbol, a, b, INT)
        return binary(symbol, cast_expr(a, long), b, long)

    def divide(self, op: arith.DivSIOp | arith.RemSIOp | arith.DivUIOp | arith.RemUIOp) -> Expr:
        """Signed division and remainder, towards zero."""
        a, b, symbol = self.signed(op.lhs), self.signed(op.rhs), OPERATORS[type(op)]
        if isinstance(op.result.type, IndexType):
            return binary(symbol, a, b, self.scope.index)
        bits = width(op.result)
        if bits == 64:
            return self._wide(symbol, a, b, None)
        e = binary(symbol, a, b, INT)
        return e if bits == 32 or self.scope.ranges.of(op.lhs)[0] >= 0 else cast_expr(e, SIGNED[bits])

    def divide_unsigned(self, op: arith.DivUIOp | arith.RemUIOp) -> Expr:
        """Unsigned division and remainder; an index is never negative where it is divided."""
        if isinstance(op.result.type, IndexType) or self._both_natural(op):
            return self.divide(op)
        return self._unsigned_result(OPERATORS[type(op)], self.unsigned(op.lhs), self.unsigned(op.rhs), op.result)

    def _unsigned_result(self, symbol: str, a: Expr, b: Expr, result: SSAValue) -> Expr:
        bits = width(result)
        ctype = UNSIGNED[bits] if bits >= 32 or UNSIGNED[32] in (a.ctype, b.ctype) else INT
        if bits >= 32 and a.ctype.bits < bits:
            a = cast_expr(a, UNSIGNED[bits])
        return replace(binary(symbol, a, b, ctype), unsigned=True)

    def _both_natural(self, op: Any) -> bool:
        return all(self.scope.ranges.of(value)[0] >= 0 for value in (op.lhs, op.rhs))

    def division_helper(self, op: Any) -> Expr:
        """Division with another rounding, by a helper."""
        name = op.name.removeprefix("arith.").removesuffix("si").removesuffix("i")
        bits = self.scope.index.bits if isinstance(op.result.type, IndexType) else width(op.result)
        reading = self.unsigned if name == "ceildivu" else self.signed
        ctype = (UNSIGNED if name == "ceildivu" else SIGNED)[bits]
        a, b = (self.convert(reading(value), value, ctype) for value in (op.lhs, op.rhs))
        e = call(self.scope.helper(f"aotc_{name}{bits}"), a, b, ctype=ctype)
        return replace(e, unsigned=name == "ceildivu")

    def extreme(self, op: Any) -> Expr:
        """The lesser or greater of two integers."""
        symbol, unsigned = "<" if op.name.startswith("arith.min") else ">", op.name.endswith("ui")
        if (dominant := self._dominant(op, symbol, unsigned)) is not None:
            return self.scope.operand(dominant)
        if (name := self._saturation(op)) is not None:
            return self._word(name, op.lhs.op.lhs)
        if op.result.type == i1:
            return binary("&&" if (symbol == "<") == unsigned else "||", self.signed(op.lhs), self.signed(op.rhs), BOOL)
        if unsigned and not self._both_natural(op):
            a, b = self.unsigned(op.lhs, atom=True), self.unsigned(op.rhs, atom=True)
            bits = width(op.result)
            ctype = UNSIGNED[bits] if bits >= 32 else INT
            return replace(conditional(binary(symbol, a, b, BOOL), a, b, ctype), unsigned=True)
        a, b = self._alike(self.signed(op.lhs, atom=True), self.signed(op.rhs, atom=True))
        return conditional(binary(symbol, a, b, BOOL), a, b, self._common(a, b))

    def _saturation(self, op: Any) -> str | None:
        """The helper for what clamps an integer to all that one of 8 or 16 bits holds."""
        if not (isinstance(op, arith.MinSIOp) and op.result.type == i32 and isinstance(op.lhs, OpResult)):
            return None
        if not isinstance(op.lhs.op, arith.MaxSIOp):
            return None
        return _SATURATIONS.get((self.scope.ranges.of(op.lhs.op.rhs), self.scope.ranges.of(op.rhs)))

    def _dominant(self, op: Any, symbol: str, unsigned: bool) -> SSAValue | None:
        """The operand that always wins; compilers warn of a comparison that cannot fail."""
        if op.lhs is op.rhs:
            return op.lhs
        if op.result.type == i1:
            return None
        (a, b), (c, d) = self.scope.ranges.of(op.lhs), self.scope.ranges.of(op.rhs)
        if unsigned and min(a, c) < 0:
            zero = op.lhs if (a, b) == (0, 0) else op.rhs if (c, d) == (0, 0) else None
            other = op.rhs if zero is op.lhs else op.lhs
            return None if zero is None else (zero if symbol == "<" else other)
        if b <= c:
            return op.lhs if symbol == "<" else op.rhs
        if d <= a:
            return op.rhs if symbol == "<" else op.lhs
        return None

    def _alike(self, a: Expr, b: Expr) -> tuple[Expr, Expr]:
        """Two signed readings as they can be compared: never one of them as uint32_t."""
        if a.ctype == b.ctype:
            return a, b
        a, b = (cast_expr(e, SIGNED[64]) if e.ctype == UNSIGNED[32] else e for e in (a, b))
        return a, b

    def _common(self, a: Expr, b: Expr) -> CType:
        """The type of `c ? a : b`."""
        if a.ctype == b.ctype:
            return a.ctype
        return SIGNED[64] if 64 in (a.ctype.bits, b.ctype.bits) else INT

    def bitwise(self, op: arith.AndIOp | arith.OrIOp | arith.XOrIOp) -> Expr:
        """And, or, exclusive or, of integers and of booleans."""
        a, b, symbol = self.scope.operand(op.lhs), self.scope.operand(op.rhs), OPERATORS[type(op)]
        if op.result.type == i1:
            if symbol == "^":
                for e, other in ((a, b), (b, a)):
                    if e.literal is not None:
                        return self.opposite(other) if e.literal else other
                return binary("!=", a, b, BOOL)
            return binary({"&": "&&", "|": "||"}[symbol], a, b, BOOL)
        bits = self.scope.index.bits if isinstance(op.result.type, IndexType) else width(op.result)
        reading = self.scope.operand if bits >= 32 else self.signed
        a, b = (_modular(reading(value), max(bits, 32)) for value in (op.lhs, op.rhs))
        e = binary(symbol, a, b, a.ctype)
        is_wide = bits >= 32 and not isinstance(op.result.type, IndexType)
        return replace(e, unsigned=True) if is_wide else cast_expr(e, SIGNED[max(bits, 32)])

    def shift_left(self, op: arith.ShLIOp) -> Expr:
        """a << b modulo 2^width."""
        bits = width(op.result)
        low, high = self.scope.ranges.of(op.lhs)
        by = self.scope.ranges.of(op.rhs)
        e = replace(binary("<<", self.modular(op.lhs), self._amount(op), UNSIGNED[max(bits, 32)]), unsigned=True)
        if bits >= 32:
            return e
        fits = low >= 0 and 0 <= by[0] <= by[1] < 32 and high << by[1] < 2 ** (bits - 1)
        return replace(cast_expr(e, SIGNED[32 if fits else bits]), unsigned=False)

    def _amount(self, op: arith.ShLIOp | arith.ShRSIOp | arith.ShRUIOp) -> Expr:
        """How far to shift."""
        e = self.scope.operand(op.rhs)
        return _modular(e, 32) if e.literal is not None else self.unsigned(op.rhs)

    def shift_right(self, op: arith.ShRSIOp) -> Expr:
        """Arithmetic shift; C compilers agree on what it does to negative numbers."""
        a = self.signed(op.lhs)
        if width(op.result) == 64:
            a = cast_expr(a, SIGNED[64])
        return binary(">>", a, self._amount(op), a.ctype if a.ctype.bits >= 32 else INT)

    def shift_right_unsigned(self, op: arith.ShRUIOp) -> Expr:
        """Logical shift."""
        if self.scope.ranges.of(op.lhs)[0] >= 0:
            return self.shift_right(cast(Any, op))
        return self._unsigned_result(">>", self.unsigned(op.lhs), self._amount(op), op.result)

    def absolute(self, op: math.AbsIOp) -> Expr:
        """|x|; the least integer stays as it is."""
        x = self.signed(op.operand, atom=True)
        bits = width(op.result)
        is_negative = binary("<", x, integer_expr(0), BOOL)
        if bits < 32 or self.scope.ranges.of(op.operand)[0] > type_interval(op.operand.type)[0]:
            e = conditional(is_negative, unary("-", x, INT), x, INT if bits <= 32 else SIGNED[64])
            return cast_expr(e, SIGNED[bits]) if bits < 32 else e
        wide = cast_expr(x, UNSIGNED[bits])
        zero = Expr(unsigned_literal(0, bits), Level.PRIMARY, wide.ctype)
        return replace(conditional(is_negative, binary("-", zero, wide, wide.ctype), wide, wide.ctype), unsigned=True)

    def opposite(self, e: Expr) -> Expr:
        """`!e`; a comparison is turned round."""
        text = negated(e)
        if text.startswith("!"):
            return Expr(text, Level.UNARY, BOOL, negation=e.text)
        assert e.parts is not None
        return replace(e, text=text, parts=None, negation=e.text)

    def compare(self, op: arith.CmpiOp) -> Expr:
        """An integer comparison."""
        predicate = op.predicate.value.data
        if (known := self._decided(op)) is not None:
            self.scope.include("stdbool.h")
            return Expr("true" if known else "false", Level.PRIMARY, BOOL, literal=int(known))
        symbol = _SYMBOLS[predicate]
        if op.lhs.type == i1 and 2 <= predicate <= 5:  # read as signed, true is -1
            symbol = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}[symbol]
        if predicate < 2 and (equal := self._equality(op, symbol)) is not None:
            return equal
        is_natural = op.lhs.type == i1 or self._both_natural(op)
        given = [self.scope.operand(value) for value in (op.lhs, op.rhs)]
        if is_natural and any(e.unsigned for e in given) and all(e.unsigned or e.literal is not None for e in given):
            return binary(symbol, self.unsigned(op.lhs), self.unsigned(op.rhs), BOOL)
        if predicate < 6 or is_natural:
            a, b = self._alike(self.signed(op.lhs), self.signed(op.rhs))
            return binary(symbol, a, b, BOOL)
        if isinstance(op.lhs.type, IndexType):
            a, b = (cast_expr(self.signed(v), UNSIGNED[self.scope.index.bits]) for v in (op.lhs, op.rhs))
        else:
            a, b = self.unsigned(op.lhs), self.unsigned(op.rhs)
        return binary(symbol, a, b, BOOL)

    def _decided(self, op: arith.CmpiOp) -> bool | None:
        """The result of the comparison if it is certain; compilers warn of those."""
        predicate = op.predicate.value.data
        symbol = _SYMBOLS[predicate]
        if op.lhs is op.rhs:
            return "=" in symbol and symbol != "!="
        (a, b), (c, d) = self.scope.ranges.of(op.lhs), self.scope.ranges.of(op.rhs)
        if op.lhs.type == i1 or (predicate >= 6 and min(a, c) < 0):
            below_zero = (c, d) == (0, 0) and predicate in (6, 9)
            return predicate == 9 if below_zero and op.lhs.type != i1 else None
        return {
            "==": False if b < c or d < a else None,
            "!=": True if b < c or d < a else None,
            "<": True if b < c else (False if a >= d else None),
            "<=": True if b <= c else (False if a > d else None),
            ">": True if a > d else (False if b <= c else None),
            ">=": True if a >= d else (False if b < c else None),
        }[symbol]

    def _equality(self, op: arith.CmpiOp, symbol: str) -> Expr | None:
        """An unsigned reading compared with a literal that is the same in both readings."""
        a, b = self.scope.operand(op.lhs), self.scope.operand(op.rhs)
        if a.unsigned and b.literal is not None and b.literal >= 0:
            number = int(b.literal)
            return binary(symbol, a, replace(b, text=unsigned_literal(number, 32 if number < 1 << 32 else 64)), BOOL)
        return None

    def select(self, op: arith.SelectOp) -> Expr:
        """condition ? a : b."""
        return self.choose(self.scope.operand(op.cond), op.lhs, op.rhs)

    def choose(self, condition: Expr, left: SSAValue, right: SSAValue) -> Expr:
        """`condition ? left : right` of two values of one type."""
        if condition.literal is not None:
            return self.scope.operand(left if condition.literal else right)
        a, b = self.scope.operand(left), self.scope.operand(right)
        if not a.ctype.is_integer:
            return conditional(condition, a, b, a.ctype)
        if a.unsigned and b.unsigned and a.ctype == b.ctype:
            return replace(conditional(condition, a, b, a.ctype), unsigned=True)
        a, b = self._alike(self.as_signed(a, left), self.as_signed(b, right))
        common = self._common(a, b)
        if common.bits in (8, 16) and Level.UNARY in (a.level, b.level):
            common = INT  # as it is in C; of casts within, GCC forgets that they make a value fit
        return conditional(condition, a, b, common)

    def truncate(self, op: arith.TruncIOp) -> Expr:
        """The low bits."""
        e = self.scope.operand(op.input)
        if op.result.type == i1:
            low = binary("&", self.modular(op.input), _modular(integer_expr(1), 32), UNSIGNED[32])
            return binary("!=", low, _modular(integer_expr(0), 32), BOOL)
        bits = width(op.result)
        if e.literal is not None:
            low, _high = type_interval(op.result.type)
            return integer_expr((int(e.literal) - low) % (1 << bits) + low)
        fits = within(self.scope.ranges.of(op.input), type_interval(op.result.type))
        if fits and not e.unsigned and (e.ctype.bits < 32 or e.ctype in (INT, SIGNED[32])):
            return e
        return replace(cast_expr(e, SIGNED[bits]), unsigned=False)

    def extend(self, op: arith.ExtSIOp) -> Expr:
        """Sign extension: the signed reading does not change."""
        ctype_of(op.result.type, self.scope.index)  # which C has not of 128 bits
        e = self.signed(op.input)
        return unary("-", e, INT) if op.input.type == i1 else e

    def extend_unsigned(self, op: arith.ExtUIOp) -> Expr:
        """Zero extension: the unsigned reading becomes the signed one."""
        ctype_of(op.result.type, self.scope.index)
        e = self.scope.operand(op.input)
        if not e.unsigned and self.scope.ranges.of(op.input)[0] >= 0:
            return replace(e, ctype=INT) if e.ctype == BOOL and not e.is_atom else e
        e = self.unsigned(op.input)
        if e.literal is not None:
            return integer_expr(int(e.literal))
        return replace(e, unsigned=False)

    def instruction(self, op: aot.InstructionOp) -> Expr:
        """One on integers."""
        return self._word(macro_name(op.row), *op.arguments)

    def round_product(self, op: aot.RoundProductOp) -> Expr:
        """The product as floats round it."""
        name = "aotc_round_product" if not op.near else "aotc_round_near_product"
        return self._word(name, *op.operands, literals=[op.shift])

    def opaque(self, op: aot.OpaqueOp) -> Expr:
        """An index that is computed of again."""
        return call(
            self.scope.helper(f"aotc_opaque_i{self.scope.index.bits}"), self.signed(op.value), ctype=self.scope.index
        )

    def _word(self, name: str, *operands: SSAValue, literals: Sequence[int] = ()) -> Expr:
        given = (self.convert(self.signed(value), value, SIGNED[32]) for value in operands)
        return call(self.scope.helper(name), *given, *map(integer_expr, literals), ctype=SIGNED[32])

    def index_cast(self, op: arith.IndexCastOp) -> Expr:
        """Between integers and indices."""
        e = self.signed(op.input)
        if op.input.type == i1:
            return unary("-", e, INT)
        if (
            isinstance(op.result.type, IntegerType)
            and op.result.type != i1
            and width(op.result) >= self.scope.index.bits
        ):
            return e
        target = ctype_of(op.result.type, self.scope.index)
        keeps = e.literal is not None or (e.ctype.kind, e.ctype.bits) == ("signed", 32)
        if keeps or (e.ctype.bits < 32 and isinstance(op.result.type, IndexType)):
            return e
        return cast_expr(e, target)


def _modular(e: Expr, bits: int) -> Expr:
    """`e` modulo 2^bits in the unsigned type of so many."""
    if e.literal is not None:
        return Expr(unsigned_literal(int(e.literal), bits), Level.PRIMARY, UNSIGNED[bits], True, e.literal)
    return replace(cast_expr(e, UNSIGNED[bits]), unsigned=True)


def width(value: SSAValue) -> int:
    """Bits of an integer value."""
    return cast(IntegerType, value.type).width.data
