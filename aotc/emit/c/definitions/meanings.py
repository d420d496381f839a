"""Meanings (`aotc.machines.instructions`) as plain C: of functions of floats, and of instructions lane by lane."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count, groupby
from typing import Final, Self, TypeAlias

from aotc.emit.c.syntax.c_types import (
    BOOL,
    F32,
    F64,
    INT,
    SIGNED,
    UNSIGNED,
    CType,
    VectorCType,
    float_literal,
    mask_ctype,
    type_name,
    unsigned_literal,
    vector_ctype,
)
from aotc.emit.c.syntax.expr import Expr, Level, binary, call, cast_expr, conditional, converted, name_expr
from aotc.emit.c.syntax.text import WIDTH, sections
from aotc.machines.instructions.floats import Function
from aotc.machines.instructions.rows import Instruction, Lanes, joined
from aotc.machines.instructions.values import BOOLEAN, Group, Operation, Value, bits_of, is_signed

_SYMBOLS: Final[dict[Operation, str]] = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "rem": "%",
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
_FLOATS: Final = {"f32": F32, "f64": F64}
_MODULAR: Final = ("u32", "u64")
"""Types of numbers that C computes with modulo their size."""
_WRAPPING: Final = ("add", "sub", "mul", "shl")
TEXTS: Final = sections("aotc.emit.c.definitions", "texts.c")
_GROUP, _LANE = "aotc_g", "aotc_k"
"""The variables that count groups, and lanes of one."""
_Place: TypeAlias = tuple[str, str, int]
"""The name of an operand, where its group begins, and a lane of that."""


class _Variables:
    """Expressions with names, by their text; in a macro names begin with `aotc_`, and there are no helpers."""

    def __init__(self, in_macro: bool) -> None:
        self.in_macro = in_macro
        self._named: dict[str, Expr] = {}

    def name(self, e: Expr, name: str, ctype: CType) -> Expr:
        """The variable of an expression, new or found."""
        text = cast_expr(e, ctype).text
        if text not in self._named:
            taken, name = {each.text for each in self._named.values()}, f"{'aotc_' * self.in_macro}{name}"
            name = next(each for n in count(1) if (each := name + str(n) * (n > 1)) not in taken)
            self._named[text] = name_expr(name, ctype)
        return self._named[text]

    def statements(self) -> list[str]:
        """Their declarations."""
        return [f"const {e.ctype.declare(e.text)} = {text};" for text, e in self._named.items()]


class CValue(Value):
    """An expression of scalars (`lanes` is 0) or of vectors."""

    def __init__(
        self,
        variables: _Variables,
        e: Expr,
        dtype: str,
        lanes: int = 0,
        modular: Expr | None = None,
        place: _Place | None = None,
    ) -> None:
        super().__init__(dtype)
        self._variables = variables
        self.e = e
        self._lanes = lanes
        self._modular = modular
        self.place = place

    @property
    def lanes(self) -> int:
        return max(self._lanes, 1)

    @property
    def modular(self) -> Expr:
        """A scalar integer modulo 2^32 or 2^64, of the type without sign of so many bits."""
        return self._modular or cast_expr(self.e, UNSIGNED[max(bits_of(self.dtype), INT.bits)])

    @property
    def stored(self) -> Expr:
        """The scalar as an element of a vector, whose integers have no sign."""
        if self.dtype in _FLOATS:
            return self.e
        bits = bits_of(self.dtype)
        return self.modular if bits >= INT.bits else cast_expr(self.e, UNSIGNED[bits])

    def _made(self, e: Expr, dtype: str, modular: Expr | None = None) -> Self:
        return type(self)(self._variables, e, dtype, self._lanes, modular)

    def named(self, name: str) -> Self:
        return self._made(self._variables.name(self.e, name, _ctype(self.dtype, self._lanes)), self.dtype)

    def _once(self) -> Self:
        """The same to be mentioned several times."""
        return self if self.e.is_atom else self.named("value")

    def is_nan(self) -> Self:
        """In a function in integers, which every core has."""
        if self._variables.in_macro:
            return super().is_nan()
        bits = bits_of(self.dtype)
        magnitude = self.reinterpret(f"u{bits}") & (1 << bits - 1) - 1
        return magnitude > (0x7F800000 if bits == 32 else 0x7FF << 52)

    def number(self, value: float, dtype: str) -> Self:
        level, modular = Level.UNARY if value < 0 else Level.PRIMARY, None
        if dtype in _FLOATS:
            text = float_literal(value, _FLOATS[dtype])
        elif dtype in _MODULAR:
            value = int(value) % (1 << bits_of(dtype))
            digits = str(value) if value < 64 else hex(value)
            text = f"{digits}u" if dtype == "u32" else f"UINT64_C({digits})"
        else:
            text, bits = str(int(value)), max(bits_of(dtype), INT.bits)
            modular = Expr(unsigned_literal(int(value), bits), Level.PRIMARY, UNSIGNED[bits])
        return self._made(Expr(text, level, _ctype(dtype, self._lanes), literal=value), dtype, modular)

    def made(self, name: Operation, dtype: str, *operands: Self) -> Self:
        given, ctype = [each.e for each in operands], _ctype(dtype, self._lanes)
        if name in _WRAPPING and not self._lanes and dtype not in (*_FLOATS, *_MODULAR):
            modular, other = operands[0].modular, operands[1].e if name == "shl" else operands[1].modular
            modular = binary(_SYMBOLS[name], modular, other, modular.ctype)
            return self._made(cast_expr(modular, ctype), dtype, modular)
        if name not in _SYMBOLS:
            return self._made((self._vector if self._lanes else self._scalar)(name, dtype, *operands), dtype)
        a, b = given
        e = binary(_SYMBOLS[name], a, b, ctype if self._lanes else _promoted(ctype))
        if dtype == BOOLEAN and self._lanes:
            e = replace(cast_expr(e, mask_ctype(a.ctype.bits, self._lanes)), origin=e)
        return self._made(e, dtype)

    def _scalar(self, name: Operation, dtype: str, *operands: Self) -> Expr:
        ctype, e = _ctype(dtype), operands[0].e
        is_float = self.dtype in _FLOATS
        match name:
            case "select":
                return conditional(e, operands[1].e, operands[2].e, _promoted(ctype))
            case "min" | "max":
                a, b = (each._once().e for each in operands)
                return conditional(binary("<" if name == "min" else ">", a, b, BOOL), a, b, _promoted(ctype))
            case "abs":
                a = self._once()
                return conditional((a < 0).e, (-a).e, a.e, _promoted(ctype))
            case "reinterpret" if is_float or dtype in _FLOATS:
                assert not self._variables.in_macro, "bits of floats take a helper"
                return call(f"aotc_{e.ctype.text}_bits" if is_float else f"aotc_{ctype.text}_of_bits", e, ctype=ctype)
            case "convert" if not is_float and dtype not in (*_FLOATS, *_MODULAR):
                is_wider = bits_of(self.dtype) < bits_of(dtype) <= INT.bits
                return e if is_wider and is_signed(dtype) >= is_signed(self.dtype) else cast_expr(e, ctype)
            case _:
                return cast_expr(e, ctype)

    def _vector(self, name: Operation, dtype: str, *operands: Self) -> Expr:
        ctype, (e, *others) = vector_ctype(_ctype(dtype), self._lanes), [each.e for each in operands]
        if name == "select":
            a, b = others
            return _selected(ctype, e, a, b)
        if name == "reinterpret":
            return cast_expr(e, ctype)
        if self.dtype == "u16":
            return call(ctype.operation("extended_unsigned16"), e, ctype=ctype)
        return converted(e, ctype)

    def among(self, group: Group[Self]) -> Self:
        """An element of an operand; of several ones it depends on the number, which they are."""
        parts = [[*parts] for _, parts in groupby(group, key=lambda each: each.place and each.place[0])]
        texts, first, number = list[str](), 0, self._once().e.text
        for part in parts:
            place = part[0].place
            assert place is not None
            name, start, lane = place
            text = f"{name}[{_sum(start, f'{number} - {first}' if first else number, lane)}]"
            first += len(part)
            texts.append(f"({number} < {first}) ? {text}" if first < len(group) else text)
        level = Level.PRIMARY if len(texts) == 1 else Level.CONDITIONAL
        return self._made(_element(" : ".join(texts), group[0].dtype, level), group[0].dtype)


def _selected(ctype: VectorCType, condition: Expr, a: Expr, b: Expr) -> Expr:
    """One or the other, lane by lane; the greater or lesser where it is that."""
    for symbol, extreme in ((">", "max"), ("<", "min")):
        if condition.origin is not None and condition.origin.parts == (symbol, a.text, b.text):
            return call(ctype.operation(extreme), a, b, ctype=ctype)
    splat = ctype.operation("splat")
    arms = [each if each.literal is None else call(splat, each, ctype=ctype) for each in (a, b)]
    mask = converted(condition, mask_ctype(ctype.bits, ctype.lanes))
    return call(ctype.operation("select"), mask, *arms, ctype=ctype)


def _ctype(dtype: str, lanes: int = 0) -> CType:
    integers = SIGNED if is_signed(dtype) else UNSIGNED
    scalar = BOOL if dtype == BOOLEAN else _FLOATS.get(dtype) or integers[bits_of(dtype)]
    return vector_ctype(scalar, lanes) if lanes else scalar


def _promoted(ctype: CType) -> CType:
    """The type of arithmetic on scalars."""
    return INT if ctype.is_integer and 1 < ctype.bits < INT.bits else ctype


# --- functions of floats ---------------------------------------------------------------------------------------------


def c_name(function: Function, dtype: str) -> str:
    """The name of a function of scalars, as libm would have it by its operands; of integers with their bits."""
    suffix = {"f32": "f", "f64": ""}.get(dtype, dtype[1:])
    return f"aotc_{function.name}{suffix if function.is_of_any else ''}"


def definition(function: Function, dtype: str, variants: Sequence[tuple[str, str]] = ()) -> str:
    """A function of scalars; of `variants`, conditions of the preprocessor and expressions, the first is preferred that
    holds."""
    operands, result = function.types(dtype)
    names = function.names[: len(operands)]
    statements, e = _evaluated(function, dtype, names, 0)
    given = ", ".join(_ctype(kind).declare(name) for kind, name in zip(operands, names, strict=True))
    kind = f"{TEXTS['SELDOM']}static AOTC_HELPER" if function.is_seldom else "static AOTC_HELPER inline"
    head = f"{kind} {_ctype(result).text} {c_name(function, dtype)}({given})"
    lines = [line for each in [*statements, f"return {e.text};"] for line in _lines(each)]
    body, preferred = "\n".join(f"    {line}" for line in lines), ""
    for number, (condition, text) in enumerate(variants):
        for statements, apart in (("({ ", "({\n        "), ("; })", ";\n    })"), ("; ", ";\n        ")):
            text = text.replace(statements, apart)
        preferred += f"#{'el' if number else ''}if {condition}\n    return {text};\n"
    body = f"{preferred}#else\n{body}\n#endif" if preferred else body
    return f"/* {function.says} */\n{head}\n{{\n{body}\n}}\n"


def expression(function: Function, dtype: str, lanes: int) -> tuple[Sequence[str], str]:
    """The parameters and the text of a macro of vectors."""
    operands, _ = function.types(dtype)
    names = function.names[: len(operands)]
    statements, e = _evaluated(function, dtype, [f"({name})" for name in names], lanes)
    return names, f"(__extension__ ({{ {' '.join(statements)} {e.text}; }}))" if statements else f"({e.text})"


def _evaluated(function: Function, dtype: str, names: Sequence[str], lanes: int) -> tuple[Sequence[str], Expr]:
    """The statements of variables, and the result, of operands of these names."""
    operands, result = function.types(dtype)
    variables = _Variables(lanes > 0)
    given = (name_expr(name, _ctype(kind, lanes)) for name, kind in zip(names, operands, strict=True))
    found = function.meaning(*(CValue(variables, *each, lanes) for each in zip(given, operands, strict=True)))
    assert isinstance(found, CValue)
    return variables.statements(), found.e if lanes else cast_expr(found.e, _ctype(result))


def _lines(statement: str) -> list[str]:
    """On several lines where it is long: the arms of a conditional have each their own."""
    if len(statement) <= WIDTH:
        return [statement]
    places = [at.start() for at in re.finditer(r" [?:] ", statement) if _depth(statement[: at.start()]) == 0]
    parts = [statement[start:end].strip() for start, end in zip([0, *places], [*places, None], strict=True)]
    return [parts[0], *(f"    {each}" for each in parts[1:])]


def _depth(text: str) -> int:
    return text.count("(") - text.count(")")


# --- instructions ----------------------------------------------------------------------------------------------------


class _Lanes(Group[CValue]):
    """The lanes of a group of an operand."""

    def __init__(self, variables: _Variables, name: str, part: Lanes, start: str) -> None:
        super().__init__([_read(variables, name, part.dtype, start, lane) for lane in range(part.count)])
        self._each = _read(variables, name, part.dtype, _sum(start, _LANE), 0)

    def each(self, function: Callable[..., CValue], *others: Group[CValue]) -> Sequence[CValue]:
        given = [each._each for each in others if isinstance(each, _Lanes)]
        return _Loop([function(self._each, *given)])


class _Loop(list[CValue]):
    """As many lanes of a group of the result as an operand has, as one."""


def _sum(*parts: str | int) -> str:
    return " + ".join(str(part) for part in parts if part not in ("", 0)) or "0"


def _element(text: str, dtype: str, level: Level = Level.PRIMARY) -> Expr:
    """An element of a vector, whose integers have no sign."""
    ctype = _ctype(dtype)
    return (
        Expr(text, level, ctype) if not is_signed(dtype) else cast_expr(Expr(text, level, UNSIGNED[ctype.bits]), ctype)
    )


def _read(variables: _Variables, name: str, dtype: str, start: str, lane: int) -> CValue:
    return CValue(variables, _element(f"{name}[{_sum(start, lane)}]", dtype), dtype, place=(name, start, lane))


def plain(row: Instruction) -> str:
    """The expression of an instruction on vectors `a`, `b`, .. of the types of generated C."""
    operands, part = row.group
    variables, names = _Variables(True), [f"aotc_{letter}" for letter, _ in zip("abcdef", operands, strict=False)]

    def start(lanes: Lanes) -> str:
        return "" if row.groups == 1 else _GROUP if lanes.count == 1 else f"{lanes.count} * {_GROUP}"

    given = [
        CValue(variables, name_expr(name, _ctype(each.dtype)), each.dtype)
        if row.is_word(whole)
        else _read(variables, name, each.dtype, start(each), 0)
        if each.count == 1
        else _Lanes(variables, name, each, start(each))
        for name, each, whole in zip(names, operands, row.operands, strict=True)
    ]
    found = row.meaning(*given)
    results = [found] if isinstance(found, Value | _Loop) else found
    lanes = part.count // len(results)
    written = list[str]()
    for number, each in enumerate(results):
        value, lane = (each[0], _LANE) if isinstance(each, _Loop) else (each, "")
        assert isinstance(value, CValue)
        place = _sum(start(part), number * lanes, lane)
        written.append(
            f"aotc_r = {value.e.text};" if row.is_word(row.result) else f"aotc_r[{place}] = {value.stored.text};"
        )
    body = " ".join([*variables.statements(), *written])
    if lanes > 1:
        body = _loop(_LANE, lanes, body)
    if row.groups > 1:
        body = _loop(_GROUP, row.groups, body)
    kinds = (operand_type(row, each) for each in row.operands)
    declared = " ".join(f"const {kind} {name} = ({name[-1]});" for name, kind in zip(names, kinds, strict=True))
    return f"(__extension__ ({{ {declared} {operand_type(row, row.result)} aotc_r; {body} aotc_r; }}))"


def plain_words(row: Instruction) -> Sequence[str]:
    """The statements of an instruction on integers `a`, `b`, .. that return its result."""
    variables = _Variables(False)
    given = (name_expr(name, SIGNED[32]) for name, _ in zip("abcdef", row.operands, strict=False))
    found = row.lane_by_lane([CValue(variables, e, "s32") for e in given])
    result = joined([each.named("lane") for each in found] if len(found) > 1 else found).e.text
    return [*variables.statements(), f"return {result};"]


def _loop(variable: str, count: int, body: str) -> str:
    return f"for (int {variable} = 0; {variable} < {count}; ++{variable}) {{ {body} }}"


def operand_type(row: Instruction, lanes: Lanes) -> str:
    """The type of an operand or the result in generated C, where integers of registers have no sign."""
    if row.is_word(lanes):
        return "int32_t"
    if lanes.count == 1:
        return _ctype(lanes.dtype).text
    return type_name("f" if lanes.dtype[0] == "f" else "u", bits_of(lanes.dtype), lanes.count)
