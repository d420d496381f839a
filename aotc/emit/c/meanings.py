"""The function of an instruction in plain C: its meaning (`aotc.machines.instructions`), evaluated to text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Final, Self, TypeAlias

from aotc.emit.c.c_types import float_literal
from aotc.emit.c.formulas import FLOATS, SYMBOLS
from aotc.emit.c.vector_types import type_name
from aotc.machines.instructions.rows import Instruction, Lanes, joined
from aotc.machines.instructions.values import Group, Operation, Value, bits_of, is_signed

_MODULAR: Final = ("u32", "u64")
"""Types of numbers that C computes with modulo their size."""
_WRAPPING: Final = ("add", "sub", "mul", "shl")
_ATOM: Final = re.compile(r"\w+|\(-\d+\)")
_GROUP, _LANE = "aotc_g", "aotc_k"
"""The variables that count groups, and lanes of one."""
_Place: TypeAlias = tuple[str, str, int]
"""The name of an operand, where its group begins, and a lane of that."""


class Text(Value):
    """An expression of C; what is used more than once becomes a variable, among `statements` that come first."""

    def __init__(
        self, statements: list[str], text: str, dtype: str, wrapping: str | None = None, place: _Place | None = None
    ) -> None:
        super().__init__(dtype)
        self._statements = statements
        self.text = text
        """The number."""
        self.wrapping = wrapping or (text if dtype in _MODULAR else f"(uint{max(32, bits_of(dtype))}_t){text}")
        """The number modulo 2^32 or 2^64, of the type without sign of so many bits."""
        self.place = place

    @property
    def lanes(self) -> int:
        return 1

    def _text(self, text: str, dtype: str, wrapping: str | None = None) -> Self:
        return type(self)(self._statements, text, dtype, wrapping)

    def _named(self) -> str:
        """The text of a number that is used several times."""
        if _ATOM.fullmatch(self.text):
            return self.text
        name = f"aotc_{len(self._statements)}"
        text = _cast(self.dtype, self.text) if bits_of(self.dtype) < _INT else self.text
        self._statements.append(f"const {c_type(self.dtype)} {name} = {text};")
        return name

    def stored(self) -> str:
        """The number as an element of a vector, whose integers have no sign."""
        if bits_of(self.dtype) >= _INT:
            return self.text if self.dtype[0] == "f" else self.wrapping
        return _cast(f"u{bits_of(self.dtype)}", self.text)

    def made(self, name: Operation, dtype: str, *operands: Self) -> Self:
        texts = [each.text for each in operands]
        if name in _WRAPPING and dtype[0] != "f":
            first, second = operands
            by = second.text if name == "shl" else second.wrapping
            wrapping = f"({first.wrapping} {SYMBOLS[name]} {by})"
            return self._text(wrapping if dtype in _MODULAR else _cast(dtype, wrapping), dtype, wrapping)
        match name:
            case "select":
                return self._text(self._text("({} ? {} : {})".format(*texts), dtype)._named(), dtype)
            case "min" | "max":
                a, b = (each._named() for each in operands)
                return self._text(f"({a} {'<' if name == 'min' else '>'} {b} ? {a} : {b})", dtype)
            case "abs":
                a = self._text(self._named(), dtype)
                return self._text(self._text(f"({a.text} < 0 ? {(-a).text} : {a.text})", dtype)._named(), dtype)
            case "convert" | "reinterpret":
                assert name == "convert" or "f" not in dtype + self.dtype
                is_wider = bits_of(self.dtype) < bits_of(dtype) <= _INT and "f" not in dtype + self.dtype
                is_same = is_wider and dtype not in _MODULAR and is_signed(dtype) >= is_signed(self.dtype)
                return self._text(self.text if is_same else _cast(dtype, self.text), dtype)
            case _:
                return self._text(f"({texts[0]} {SYMBOLS[name]} {texts[1]})", dtype)

    def number(self, value: float, dtype: str) -> Self:
        if dtype[0] == "f":
            return self._text(f"({float_literal(value, FLOATS[dtype])})", dtype)
        wrapping = f"{int(value) % (1 << _INT)}u" if bits_of(dtype) <= _INT else None
        return self._text(str(int(value)) if value >= 0 else f"({int(value)})", dtype, wrapping)

    def among(self, group: Group[Self]) -> Self:
        """An element of an operand; of several ones it depends on the number, which they are."""
        parts = [[*parts] for _, parts in groupby(group, key=lambda each: each.place and each.place[0])]
        texts, first, number = list[str](), 0, self._named()
        for part in parts:
            place = part[0].place
            assert place is not None
            name, start, lane = place
            text = f"{name}[{_sum(start, f'{number} - {first}' if first else number, lane)}]"
            first += len(part)
            texts.append(f"{number} < {first} ? {text}" if first < len(group) else text)
        text = texts[0] if len(texts) == 1 else f"({' : '.join(texts)})"
        return self._text(_signed(group[0].dtype, text), group[0].dtype)


class _Lanes(Group[Text]):
    """The lanes of a group of an operand."""

    def __init__(self, statements: list[str], name: str, part: Lanes, start: str) -> None:
        super().__init__([_read(statements, name, part.dtype, start, lane) for lane in range(part.count)])
        self._each = _read(statements, name, part.dtype, _sum(start, _LANE), 0)

    def each(self, function: Callable[..., Text], *others: Group[Text]) -> Sequence[Text]:
        given = [each._each for each in others if isinstance(each, _Lanes)]
        return _Loop([function(self._each, *given)])


class _Loop(list[Text]):
    """As many lanes of a group of the result as an operand has, as one."""


_INT: Final = 32
"""Bits of the type that narrower integers become where they are computed with."""


def c_type(dtype: str) -> str:
    """C's type of a number."""
    if dtype[0] == "f":
        return FLOATS[dtype].text
    return f"{'' if is_signed(dtype) else 'u'}int{bits_of(dtype)}_t"


def _cast(dtype: str, text: str) -> str:
    return f"({c_type(dtype)}){text}"


def _signed(dtype: str, text: str) -> str:
    """An element of a vector, whose type has no sign."""
    return _cast(dtype, text) if is_signed(dtype) else text


def _sum(*parts: str | int) -> str:
    return " + ".join(str(part) for part in parts if part not in ("", 0)) or "0"


def _read(statements: list[str], name: str, dtype: str, start: str, lane: int) -> Text:
    text = _signed(dtype, f"{name}[{_sum(start, lane)}]")
    return Text(statements, text, dtype, place=(name, start, lane))


def plain(row: Instruction) -> str:
    """The expression of an instruction on vectors `a`, `b`, .. of the types of generated C."""
    operands, part = row.group
    statements, names = list[str](), [f"aotc_{letter}" for letter, _ in zip("abcdef", operands, strict=False)]

    def start(lanes: Lanes) -> str:
        return "" if row.groups == 1 else _GROUP if lanes.count == 1 else f"{lanes.count} * {_GROUP}"

    given = [
        Text(statements, name, each.dtype)
        if row.is_word(whole)
        else _read(statements, name, each.dtype, start(each), 0)
        if each.count == 1
        else _Lanes(statements, name, each, start(each))
        for name, each, whole in zip(names, operands, row.operands, strict=True)
    ]
    found = row.meaning(*given)
    results = [found] if isinstance(found, Value | _Loop) else found
    lanes = part.count // len(results)
    written = list[str]()
    for number, each in enumerate(results):
        value, lane = (each[0], _LANE) if isinstance(each, _Loop) else (each, "")
        assert isinstance(value, Text)
        place = _sum(start(part), number * lanes, lane)
        written.append(f"aotc_r = {value.text};" if row.is_word(row.result) else f"aotc_r[{place}] = {value.stored()};")
    body = " ".join([*statements, *written])
    if lanes > 1:
        body = _loop(_LANE, lanes, body)
    if row.groups > 1:
        body = _loop(_GROUP, row.groups, body)
    kinds = (operand_type(row, each) for each in row.operands)
    declared = " ".join(f"const {kind} {name} = ({name[-1]});" for name, kind in zip(names, kinds, strict=True))
    return f"(__extension__ ({{ {declared} {operand_type(row, row.result)} aotc_r; {body} aotc_r; }}))"


def plain_words(row: Instruction) -> Sequence[str]:
    """The statements of an instruction on integers `a`, `b`, .. that return its result."""
    statements, lanes = list[str](), list[Text]()
    found = row.lane_by_lane([Text(statements, name, "s32") for name, _ in zip("abcdef", row.operands, strict=False)])
    for place, lane in enumerate(found):
        if len(found) > 1:
            statements.append(f"const {c_type(lane.dtype)} r{place} = {lane.text};")
        lanes.append(lane if len(found) == 1 else Text(statements, f"r{place}", lane.dtype))
    return [*statements, f"return {joined(lanes).text};"]


def _loop(variable: str, count: int, body: str) -> str:
    return f"for (int {variable} = 0; {variable} < {count}; ++{variable}) {{ {body} }}"


def operand_type(row: Instruction, lanes: Lanes) -> str:
    """The type of an operand or the result in generated C."""
    return "int32_t" if row.is_word(lanes) else vector_type(lanes)


def vector_type(lanes: Lanes) -> str:
    """The type of a register in generated C, where integers have no sign."""
    return type_name("f" if lanes.dtype[0] == "f" else "u", bits_of(lanes.dtype), lanes.count)
