"""Instructions of processors, each a row: its type, what it computes, how LLVM and C name it.

`values` is what meanings are written over, `rows` what a row says; then a module for each architecture. The IR has one
operation for all (`aot.instruction`), which `select-instructions` writes where a target has the instruction.

The operations that meanings are written with (`values.Operation`: extremes of integers, other widths of them) are no
rows, nor `fma`, `sqrt` and loads of some lanes, which have no simpler meaning. They are operations of the IR, which any
processor has for LLVM. Compilers of C miss instructions for some; `aotc/emit/c/definitions/operations.py` spells these.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Final, Literal

from aotc.machines.instructions import arm32, arm64, cortex_m, others, wasm, x86
from aotc.machines.instructions.floats import Function
from aotc.machines.instructions.rows import Architecture, Instruction, Lanes

INSTRUCTIONS: Final[dict[str, Instruction]] = {
    row.name: row for module in (x86, arm64, arm32, cortex_m, wasm, others) for row in module.ROWS
}
"""By name; those of x86 have the bits of their registers behind it, as "vpdpbusd.512"."""

_ARCHITECTURES: Final = tuple({id(row.architecture): row.architecture for row in INSTRUCTIONS.values()}.values())


@lru_cache(maxsize=256)
def computing(function: Function, lanes: Lanes) -> Sequence[Instruction]:
    """The instructions that compute a function of floats, of registers whose result has these lanes."""
    return [row for row in INSTRUCTIONS.values() if row.meaning is function.meaning and row.result == lanes]


@lru_cache(maxsize=256)
def moving(memory: Lanes, register: Lanes, how: Literal["loaded", "stored"]) -> Sequence[Instruction]:
    """The instructions that load or store lanes as others."""
    return [row for row in INSTRUCTIONS.values() if row.memory == how and row.moved == (memory, register)]


def architecture_of(triple: str) -> Architecture | None:
    """The architecture of a triple; None where it has no rows."""
    return next((each for each in _ARCHITECTURES if triple.startswith(each.name)), None)


def available(architecture: Architecture, features: Collection[str]) -> frozenset[str]:
    """The names of the instructions that processors with these features, beyond the base, have."""
    there = {*architecture.base, *features}
    return frozenset(
        row.name
        for row in INSTRUCTIONS.values()
        if row.architecture is architecture and any(there.issuperset(each.features) for each in row.spellings)
    )
