"""Small static functions that generated C defines where it needs them, instead of calling a library.

They are those of `helpers.c`, the meanings of functions, and instructions on words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.resources import files

from aotc.emit.c.definitions import instructions
from aotc.emit.c.definitions.instructions import Variants
from aotc.emit.c.definitions.meanings import TEXTS, c_name, definition
from aotc.machines.instructions import computing
from aotc.machines.instructions.floats import DIVISIONS, FUNCTIONS, ROUNDINGS, Function
from aotc.machines.instructions.rows import Lanes

_NAME = re.compile(r"\b(aotc_\w+)\(|define (AOTC_\w+) 1")
"""The first function of a definition, which is its own, or the macro that it is."""
_CALLED = re.compile(r"\baotc_\w+|\bAOTC_DSP\b")


def _helpers() -> dict[str, str]:
    """The definitions by name, in an order in which each stands behind what it calls."""
    sections = files("aotc.emit.c.definitions").joinpath("helpers.c").read_text(encoding="utf-8").split("\n\n\n")
    macros, floats, words, others = (
        [f"{text.strip()}\n" for text in section.split("\n\n")] for section in sections[1:]
    )
    functions = {
        c_name(each, dtype): (each, dtype)
        for each in (*FUNCTIONS.values(), *ROUNDINGS.values(), *DIVISIONS.values())
        for dtype in each.dtypes
    }
    return {
        **dict(map(_named, macros)),  # they include headers: before any code, as MISRA's rule 20.1 has it
        **dict(map(_named, floats)),
        **{name: definition(*each, _preferred(*each)) for name, each in functions.items()},
        **dict(map(_named, words)),
        **{name: instructions.function(row) for name, row in instructions.FUNCTIONS.items()},
        **dict(map(_named, others)),
    }


def _preferred(function: Function, dtype: str) -> Variants:
    """The instructions for a function of numbers."""
    rows = computing(function, Lanes(function.types(dtype)[1], 1))
    return [each for row in rows for each in instructions.intrinsics(row, function.names)]


def _named(text: str) -> tuple[str, str]:
    found = _NAME.search(text)
    assert found is not None
    return found[1] or found[2], text


HELPERS = _helpers()

_ROUNDING = {"aotc_expf", "aotc_roundevenf", "aotc_roundeven", "aotc_f32_to_f16"}
"""Helpers that -ffast-math would break."""


def helper_text(needed: Iterable[str]) -> list[str]:
    """The definitions of the `needed` helpers and of all they call, each once, also where several models are one
    translation unit."""
    closed: set[str] = set()
    pending = {*needed}
    while pending:
        closed |= pending
        called = {name for each in pending for name in _CALLED.findall(HELPERS[each])}
        pending = (called & HELPERS.keys()) - closed
    guard = [TEXTS["FAST_MATH"]] if closed & _ROUNDING else []
    return guard + [_once(name, text) for name, text in HELPERS.items() if name in closed]


def _once(name: str, text: str) -> str:
    guard = f"AOTC_HAS_{name.removeprefix('aotc_').upper()}"
    return f"#ifndef {guard}\n#define {guard}\n{text}#endif\n"
