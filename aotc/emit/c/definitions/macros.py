"""Vector types and operations of generated C: GCC's vector extension, and instructions it has no operator for.

A name says what it is: `aotc_f32x16` is sixteen floats, `aotc_fma_f32x16` a fused multiply-add of them. Integer vectors
are unsigned (`u32`), where arithmetic wraps; `i32` vectors are their signed readings and the results of comparisons,
all ones or all zeros. Operations are macros, since vectors may not be passed to functions without the instructions
that a target may lack. Each is an instruction where the compiler may use it, and the same in plain C elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from aotc.emit.c.definitions import instructions
from aotc.emit.c.definitions.instructions import Variants
from aotc.emit.c.definitions.meanings import TEXTS
from aotc.emit.c.definitions.operations import OPERATIONS, PARTIAL
from aotc.emit.c.syntax.c_types import VectorCType, vector_of

_TYPES = ("", "unaligned")
"""A vector's own type, and the one for access to memory: at any address, of whatever type the memory is."""
_ORDER = {operation: place for place, operation in enumerate(dict.fromkeys((*_TYPES, *OPERATIONS, *PARTIAL)))}
_NAME = re.compile(rf"\baotc_(?:({'|'.join([*_TYPES[1:], *OPERATIONS, *PARTIAL])})(\d*)_)?([fui])(8|16|32|64)x(\d+)\b")
_INSTRUCTION = re.compile(rf"\b(?:{'|'.join([*instructions.MACROS, *instructions.STATEMENTS])})\b")
_INTRINSICS = re.compile(r"\b(?:_mm\d*_|__m\d|wasm_|v[a-z]+\d?q?_[fsu]\d|float\d+x\d+_t)")
_MATH = re.compile(r"(?<!\w)sqrtf?\(")


@dataclass(frozen=True)
class Prologue:
    """The declarations that a file must have before its functions."""

    text: str
    headers: frozenset[str]


INCLUDES = TEXTS["INCLUDES"]
"""The least header of what the compiler may use: the one of all x86 takes longer to read than most models."""


def prologue(functions: Iterable[str]) -> Prologue:
    """The types and macros that the text of `functions` mentions, and all that those mention."""
    definitions: dict[_Name, str] = {}
    chosen: dict[str, str] = {}
    pending = [*functions]
    while pending:
        text = pending.pop()
        for name in _names(text) - definitions.keys():
            definitions[name] = _definition(name)
            pending.append(definitions[name])
        for name in {*_INSTRUCTION.findall(text)} - chosen.keys():
            parameters, variants = instructions.definition(name)
            chosen[name] = _macro(f"{name}({', '.join(parameters)})", variants)
            pending.append(chosen[name])
    types = [definitions[name] for name in sorted(definitions, key=_Name.order) if name.is_type]
    macros = [definitions[name] for name in sorted(definitions, key=_Name.order) if not name.is_type]
    body = "\n".join([*types, "", *macros, *(chosen[name] for name in sorted(chosen))])
    headers = {"math.h"} if _MATH.search(body) else set[str]()
    if "memcpy(" in body:
        headers.add("string.h")
    includes = INCLUDES if _INTRINSICS.search(body) else ""
    return Prologue(f"{TEXTS['COMPILER']}{includes}\n{body}\n", frozenset(headers))


def _names(text: str) -> set[_Name]:
    return {_Name(m[1] or "", int(m[2] or 0), vector_of(m[3], int(m[4]), int(m[5]))) for m in _NAME.finditer(text)}


@dataclass(frozen=True)
class _Name:
    """The meaning of `aotc_load13_f32x16`."""

    operation: str
    count: int
    vector: VectorCType

    @property
    def is_type(self) -> bool:
        return self.operation in _TYPES

    def order(self) -> tuple[object, ...]:
        """By type, then by operation."""
        vector = self.vector
        return "fui".index(vector.letter), vector.bits, vector.lanes, _ORDER[self.operation], self.count


def _definition(name: _Name) -> str:
    vector = name.vector
    if name.operation == "":
        return f"typedef {vector.element.text} {vector.text} __attribute__((vector_size({vector.size})));"
    if name.operation == "unaligned":
        attributes = f"vector_size({vector.size}), aligned({vector.bits // 8}), may_alias"
        return f"typedef {vector.element.text} {vector.operation('unaligned')} __attribute__(({attributes}));"
    if name.count:
        parameters, variants = PARTIAL[name.operation](vector, name.count)
    else:
        parameters, variants = OPERATIONS[name.operation](vector)
    full = f"{name.operation}{name.count or ''}"
    return _macro(f"{vector.operation(full)}({', '.join(parameters)})", variants)


def _macro(head: str, variants: Variants) -> str:
    lines: list[str] = []
    for position, (condition, expansion) in enumerate(variants):
        if condition:
            lines.append(f"#{'el' if position else ''}if {condition}")
        elif position:
            lines.append("#else")
        lines += _continued(f"#define {head}", expansion)
    if len(variants) > 1:
        lines.append("#endif")
    return "\n".join(lines)


def _continued(head: str, expansion: str) -> list[str]:
    """`head expansion` on lines of at most 118 columns, broken at blanks."""
    if len(head) + 1 + len(expansion) <= 118:
        return [f"{head} {expansion}"]
    lines, line = [f"{head} \\"], "   "
    for token in expansion.split(" "):
        if len(line) + 1 + len(token) > 116:
            lines.append(f"{line} \\")
            line = "   "
        line += f" {token}"
    return [*lines, line]
