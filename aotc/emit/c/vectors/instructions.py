"""Instructions in generated C: macros that are an intrinsic where the compiler may use it, else their meaning.

`aotc_vpdpbusd_512(a, b, c)` is one on vectors, `aotc_add_vpdpbusd_512(a, b, c)` a statement that leaves its result in
the variable `a`, and in its register.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from aotc.emit.c.vector_types import Variants, type_name
from aotc.emit.c.vectors.meanings import plain, vector_type
from aotc.machines.instructions import INSTRUCTIONS
from aotc.machines.instructions.rows import Instruction, Lanes, Spelling
from aotc.machines.instructions.values import bits_of

MACROS: Final = {f"aotc_{name.replace('.', '_')}": row for name, row in INSTRUCTIONS.items()}
"""Instructions by the names of their macros."""
_ADD: Final = "aotc_add_"
_VECTORS: Final = {("x86_64", 512): "__AVX512F__", ("x86_64", 256): "__AVX__", ("x86_64", 128): "__SSE2__"}
"""The macro that says that registers of so many bits are ones of GCC's `"v"`."""


def macro_name(row: Instruction, *, accumulates: bool = False) -> str:
    """The name of an instruction."""
    name = row.name.replace(".", "_")
    return f"{_ADD if accumulates else 'aotc_'}{name}"


STATEMENTS: Final = {
    macro_name(row, accumulates=True): row for row in INSTRUCTIONS.values() if row.accumulator is not None
}


def definition(name: str) -> tuple[Sequence[str], Variants]:
    """Parameters and expansions of a macro in `MACROS` or `STATEMENTS`."""
    row = STATEMENTS.get(name) or MACROS[name]
    parameters = "abcdef"[: len(row.operands)]
    return parameters, _statement(row, parameters) if name in STATEMENTS else _expression(row, parameters)


def _expression(row: Instruction, parameters: str) -> Variants:
    return [*((row.condition(each), _call(row, each, parameters)) for each in row.spellings), ("", plain(row))]


def _call(row: Instruction, spelling: Spelling, parameters: str) -> str:
    operands = [f"({_type(row, lanes)})({name})" for name, lanes in zip(parameters, row.operands, strict=True)]
    return f"(({vector_type(row.result)}){spelling.call(operands)})"


def _type(row: Instruction, lanes: Lanes) -> str:
    """Of an operand as the intrinsic takes it."""
    register = row.architecture.register
    return type_name("i", bits_of(lanes.dtype), lanes.count) if register is None else register(lanes)


def _statement(row: Instruction, parameters: str) -> Variants:
    """GCC would take the register of a factor which is not used again, and run short of registers."""
    assert row.accumulator is not None
    total = parameters[row.accumulator]
    others = ", ".join(f'"v"({name})' for name in parameters if name != total)
    sum_ = f"({total}) = {macro_name(row)}({', '.join(parameters)})"
    kept = f'do {{ {sum_}; __asm__("" : "+v"({total}) : {others}); }} while (0)'
    flag = _VECTORS.get((row.architecture.name, row.bits))
    gcc = [] if flag is None else [(f"defined({flag}) && !defined(__clang__)", kept)]
    return [*gcc, ("", f"({sum_})")]
