"""Options by which GCC and Clang compile for a target, and functions of theirs that code calls for arithmetic."""

from __future__ import annotations

import re
from typing import Final

from aotc.machines.targets import Target


def host_flags(optimize: str) -> tuple[str, ...]:
    """Flags of this processor and level."""
    return f"-O{optimize}", "-march=native"


def compiler_flags(target: Target, optimize: str) -> tuple[str, ...]:
    """Flags of processor and level; none of the processor where a target has no name, for its user knows them."""
    return host_flags(optimize) if target.name == "host" else (f"-O{optimize}", *_processor_flags(target))


def _processor_flags(target: Target) -> tuple[str, ...]:
    if target.name.startswith("cortex-m"):
        has_float = target.triple.endswith("hf")
        core = ("-mthumb", f"-mcpu={target.cpu}", f"-mfloat-abi={'hard' if has_float else 'soft'}")
        return (*core, "-mfpu=fpv5-sp-d16") if "-fp64" in target.features.split(",") else core
    if target.name.startswith("rv"):
        return (f"-march={target.name}", f"-mabi={target.abi}")
    if target.name.startswith("x86-64"):
        return (f"-march={target.name}",)
    if target.name == "armv7":
        return ("-march=armv7-a", "-mfpu=neon", "-mfloat-abi=hard")
    if target.name.startswith("wasm32"):
        return (f"--target={target.triple}", *(("-msimd128",) if target.vectors is not None else ()))
    return ()


# --- libgcc and compiler-rt: arithmetic that a processor has no instructions for -------------------------------------

_ARM = r"__aeabi_(?:{})"
_KINDS: Final[tuple[tuple[str, str], ...]] = (
    ("half", _ARM.format("[fd]2h(?:_alt)?|h2f(?:_alt)?") + r"|__gnu_(?:[fd]2h|h2f)_(?:ieee|alternative)"),
    ("wide", _ARM.format("[fd]2u?lz|u?l2[fd]|u?ldivmod|u?lcmp|lmul|llsl|llsr|lasr")),
    ("double", _ARM.format("c?d[a-z0-9]+|u?i2d|f2d")),
    ("single", _ARM.format("c?f[a-z0-9]+|u?i2f")),
    ("integer", _ARM.format("u?idiv(?:mod)?")),
)
_MODES: Final = re.compile(r"__[a-z]+?((?:[bhsdxtk]f|[sdt]i)+)[0-9]?")
_OF_MODES: Final = (("half", r"[hb]f"), ("wide", r"di|t[if]|[xk]f"), ("double", "df"), ("single", "sf"))

_STACK: Final[tuple[tuple[str, dict[str, int]], ...]] = (
    ("thumbv6m", {"integer": 16, "single": 40, "double": 80, "wide": 112, "half": 80}),
    ("(?:thumb|arm)", {"integer": 16, "single": 32, "double": 48, "wide": 64, "half": 64}),
    ("riscv32", {"integer": 16, "single": 48, "double": 64, "wide": 96, "half": 64}),
    ("", {"integer": 64, "single": 128, "double": 128, "wide": 192, "half": 128}),
)
"""Bytes by kind, for triples that begin so; the last row is for processors that nobody measured. They are bounds,
rounded up, over the libgcc of GCC 12 for every kind of core (prologues and calls in its code)."""


def helper_stack(triple: str, symbol: str) -> int | None:
    """The most bytes of stack that the arithmetic helper `symbol` takes; None for any other function."""
    kind = _kind(symbol)
    return None if kind is None else next(row for start, row in _STACK if re.match(start, triple))[kind]


def _kind(symbol: str) -> str | None:
    for kind, names in _KINDS:
        if re.fullmatch(names, symbol):
            return kind
    if (found := _MODES.fullmatch(symbol)) is None:
        return None
    return next((kind for kind, modes in _OF_MODES if re.search(modes, found[1])), "integer")
