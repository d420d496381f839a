"""Functions of floats in C: their meaning (`aotc.machines.instructions.floats`), evaluated to expressions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from typing import Final, Self

from aotc.emit.c.c_types import (
    BOOL,
    F32,
    F64,
    SIGNED,
    UNSIGNED,
    CType,
    float_literal,
    mask_ctype,
    vector_ctype,
)
from aotc.emit.c.expr import Expr, Level, binary, call, cast_expr, conditional, name_expr
from aotc.emit.c.text import WIDTH
from aotc.machines.instructions.floats import Function
from aotc.machines.instructions.values import BOOLEAN, Operation, Value, bits_of

SYMBOLS: Final[dict[Operation, str]] = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "and": "&",
    "or": "|",
    "xor": "^",
    "shl": "<<",
    "shr": ">>",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "eq": "==",
    "ne": "!=",
}
"""C's operators."""
FLOATS: Final = {"f32": F32, "f64": F64}
"""C's types of floats."""


class Formula(Value):
    """An expression of scalars (`lanes` is 0) or of vectors; named ones become the `variables`, by their text."""

    def __init__(self, variables: dict[str, Expr], e: Expr, dtype: str, lanes: int) -> None:
        super().__init__(dtype)
        self._variables = variables
        self.e = e
        self._lanes = lanes

    @property
    def lanes(self) -> int:
        return max(self._lanes, 1)

    def _made(self, e: Expr, dtype: str) -> Self:
        return type(self)(self._variables, e, dtype, self._lanes)

    def named(self, name: str) -> Self:
        text, name = self.e.text, name if not self._lanes else f"aotc_{name}"
        if text not in self._variables:
            taken = {each.text for each in self._variables.values()}
            name = next(each for n in count(1) if (each := name + str(n) * (n > 1)) not in taken)
            self._variables[text] = name_expr(name, self.e.ctype)
        return self._made(self._variables[text], self.dtype)

    def is_nan(self) -> Self:
        """Of scalars in integers, which every core has."""
        if self._lanes:
            return super().is_nan()
        bits = bits_of(self.dtype)
        magnitude = self.reinterpret(f"u{bits}") & (1 << bits - 1) - 1
        return magnitude > (0x7F800000 if bits == 32 else 0x7FF << 52)

    def number(self, value: float, dtype: str) -> Self:
        if dtype in FLOATS:
            text = float_literal(value, FLOATS[dtype])
        elif dtype[0] == "s":
            text = str(int(value))
        else:
            value = int(value) % (1 << bits_of(dtype))
            digits = str(value) if value < 64 else hex(value)
            text = f"{digits}u" if bits_of(dtype) <= 32 else f"UINT64_C({digits})"
        return self._made(Expr(text, Level.PRIMARY, _ctype(dtype, self._lanes), literal=value), dtype)

    def made(self, name: Operation, dtype: str, *operands: Self) -> Self:
        given, ctype = [each.e for each in operands], _ctype(dtype, self._lanes)
        if name not in SYMBOLS:
            make = self._vector if self._lanes else self._scalar
            return self._made(make(name, ctype, *given), dtype)
        a, b = given
        e = binary(SYMBOLS[name], a, b, ctype)
        if dtype == BOOLEAN and self._lanes:
            e = replace(cast_expr(e, mask_ctype(a.ctype.bits, self._lanes)), origin=e)
        return self._made(e, dtype)

    def _scalar(self, name: Operation, ctype: CType, e: Expr, *others: Expr) -> Expr:
        if name == "select":
            a, b = others
            return conditional(e, a, b, ctype)
        if name == "convert":
            return cast_expr(e, ctype)
        is_float = self.dtype in FLOATS
        return call(f"aotc_{e.ctype.text}_bits" if is_float else f"aotc_{ctype.text}_of_bits", e, ctype=ctype)

    def _vector(self, name: Operation, ctype: CType, e: Expr, *others: Expr) -> Expr:
        if name == "select":
            a, b = others
            return _selected(ctype, self._lanes, e, a, b)
        if name == "reinterpret":
            return cast_expr(e, ctype)
        return _macro("extended_unsigned16", ctype, e) if self.dtype == "u16" else _converted(e, ctype)


def _selected(ctype: CType, lanes: int, condition: Expr, a: Expr, b: Expr) -> Expr:
    """One or the other, lane by lane; the greater or lesser where it is that."""
    for symbol, extreme in ((">", "max"), ("<", "min")):
        if condition.origin is not None and condition.origin.parts == (symbol, a.text, b.text):
            return _macro(extreme, ctype, a, b)
    arms = [each if each.literal is None else _macro("splat", ctype, each) for each in (a, b)]
    return _macro("select", ctype, _converted(condition, mask_ctype(ctype.bits, lanes)), *arms)


def _macro(name: str, ctype: CType, *arguments: Expr) -> Expr:
    return call(ctype.text.replace("_", f"_{name}_", 1), *arguments, ctype=ctype)


def _converted(e: Expr, ctype: CType) -> Expr:
    if e.ctype.text == ctype.text:
        return e
    return call("__builtin_convertvector", e, Expr(ctype.text, Level.PRIMARY, ctype), ctype=ctype)


def _ctype(dtype: str, lanes: int = 0) -> CType:
    integers = SIGNED if dtype[0] == "s" else UNSIGNED
    scalar = BOOL if dtype == BOOLEAN else FLOATS.get(dtype) or integers[bits_of(dtype)]
    return vector_ctype(scalar, lanes) if lanes else scalar


# --- definitions -----------------------------------------------------------------------------------------------------


def c_name(function: Function, dtype: str) -> str:
    """The name of a function of scalars, as libm would have it by the format of its operands."""
    return f"aotc_{function.name}{'f' if dtype == 'f32' and function.is_of_any else ''}"


_SELDOM: Final = """\
#if defined(__GNUC__) || defined(__clang__)
__attribute__((noinline, cold))
#endif
"""


def definition(function: Function, dtype: str, variant: str = "") -> str:
    """A function of scalars; `variant`, a condition of the preprocessor and a body, is preferred where that holds."""
    operands, result = function.types(dtype)
    names = function.names[: len(operands)]
    statements, e = _evaluated(function, dtype, names, 0)
    given = ", ".join(_ctype(kind).declare(name) for kind, name in zip(operands, names, strict=True))
    kind = f"{_SELDOM}static AOTC_HELPER" if function.is_seldom else "static AOTC_HELPER inline"
    head = f"{kind} {_ctype(result).text} {c_name(function, dtype)}({given})"
    lines = [line for each in [*statements, f"return {e.text};"] for line in _lines(each)]
    body = "\n".join(f"    {line}" for line in lines)
    body = f"{variant}\n#else\n{body}\n#endif" if variant else body
    return f"/* {function.says} */\n{head}\n{{\n{body}\n}}\n"


def expression(function: Function, dtype: str, lanes: int) -> tuple[Sequence[str], str]:
    """The parameters and the text of a macro of vectors."""
    operands, _ = function.types(dtype)
    names = function.names[: len(operands)]
    statements, e = _evaluated(function, dtype, [f"({name})" for name in names], lanes)
    return names, f"(__extension__ ({{ {' '.join(statements)} {e.text}; }}))" if statements else f"({e.text})"


def _evaluated(function: Function, dtype: str, names: Sequence[str], lanes: int) -> tuple[Sequence[str], Expr]:
    """The statements of variables, and the result, of operands of these names."""
    operands, _ = function.types(dtype)
    variables: dict[str, Expr] = {}
    given = [
        Formula(variables, Expr(name, Level.PRIMARY, _ctype(kind, lanes)), kind, lanes)
        for name, kind in zip(names, operands, strict=True)
    ]
    found = function.meaning(*given)
    assert isinstance(found, Formula)
    return [f"const {e.ctype.declare(e.text)} = {text};" for text, e in variables.items()], found.e


def _lines(statement: str) -> list[str]:
    """On several lines where it is long: the arms of a conditional have each their own."""
    if len(statement) <= WIDTH:
        return [statement]
    places = [at.start() for at in re.finditer(r" [?:] ", statement) if _depth(statement[: at.start()]) == 0]
    parts = [statement[start:end].strip() for start, end in zip([0, *places], [*places, None], strict=True)]
    return [parts[0], *(f"    {each}" for each in parts[1:])]


def _depth(text: str) -> int:
    return text.count("(") - text.count(")")
