"""Instructions in generated C: an intrinsic where the compiler may use it, else their meaning.

`aotc_vpdpbusd_512(a, b, c)` is a macro on vectors, `aotc_add_vpdpbusd_512(a, b, c)` a statement that leaves its result
in the variable `a`, and in its register. `aotc_smlad(a, b, c)` is a function, of integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import Final, TypeAlias

from aotc.emit.c.definitions.meanings import c_name, operand_type, plain, plain_words
from aotc.emit.c.syntax.c_types import type_name, vector_of
from aotc.machines.instructions import INSTRUCTIONS, floats
from aotc.machines.instructions.rows import Instruction, Lanes, Spelling
from aotc.machines.instructions.values import bits_of

Variants: TypeAlias = list[tuple[str, str]]
"""(preprocessor condition, expansion) in order of preference; the last one's condition is empty."""
_NAMES: Final = {f"aotc_{name.replace('.', '_')}": row for name, row in INSTRUCTIONS.items()}
FUNCTIONS: Final = {name: row for name, row in _NAMES.items() if row.on_words}
"""Instructions by the names of their functions."""
MACROS: Final = {name: row for name, row in _NAMES.items() if not (row.on_words or row.on_numbers or row.memory)}
"""Instructions by the names of their macros."""
_OF_FLOATS: Final = {each.meaning: each for each in floats.FUNCTIONS.values()}
_ADD: Final = "aotc_add_"
X86_VECTORS: Final = {64: "defined(__AVX512F__)", 32: "defined(__AVX__)", 16: "defined(__SSE2__)"}
"""The condition under which x86 has vector registers of so many bytes."""


def macro_name(row: Instruction, *, accumulates: bool = False) -> str:
    """The name of an instruction; on floats that of the function which it computes; of one that loads or stores that
    of the operation."""
    if row.memory:
        return vector_of("u", bits_of(row.moved[1].dtype), row.moved[1].count).operation(moving_name(row))
    if row.on_numbers:
        return c_name(_OF_FLOATS[row.meaning], row.result.dtype)
    name = row.name.replace(".", "_")
    return f"{_ADD if accumulates else 'aotc_'}{name}"


def moving_name(row: Instruction, first: str = "") -> str:
    """The name of the operation that loads lanes as wider ones, or the `first` of them, or stores them as narrower
    ones."""
    memory, register = row.moved
    if row.memory == "stored":
        return f"narrowed{bits_of(memory.dtype)}"
    if memory == register:
        return f"load{first}"
    sign = "signed" if memory.dtype[0] == "s" else "unsigned"
    return f"widened_{sign}{bits_of(memory.dtype)}{f'_first{first}' if first else ''}"


STATEMENTS: Final = {
    macro_name(row, accumulates=True): row for row in INSTRUCTIONS.values() if row.accumulator is not None
}


def definition(name: str) -> tuple[Sequence[str], Variants]:
    """Parameters and expansions of a macro in `MACROS` or `STATEMENTS`."""
    row = STATEMENTS.get(name) or MACROS[name]
    parameters = "abcdef"[: len(row.operands)]
    return parameters, _statement(row, parameters) if name in STATEMENTS else _expression(row, parameters)


def _expression(row: Instruction, parameters: str) -> Variants:
    if (function := _OF_FLOATS.get(row.meaning)) is not None:  # which has the same variants
        lanes = row.result
        vector = vector_of(lanes.dtype[0], bits_of(lanes.dtype), lanes.count)
        return [("", f"{vector.operation(function.name)}({', '.join(parameters)})")]
    return [*intrinsics(row, parameters), ("", plain(row))]


def intrinsics(row: Instruction, parameters: Sequence[str]) -> Variants:
    """Calls of intrinsics on parameters of a macro, or of a function of floats."""
    return [(row.condition(each), _call(row, each, parameters)) for each in row.spellings if each.function]


def _call(row: Instruction, spelling: Spelling, parameters: Sequence[str]) -> str:
    if row.on_numbers:
        return spelling.call(parameters)
    operands = [f"({_type(row, lanes)})({name})" for name, lanes in zip(parameters, row.operands, strict=True)]
    return f"(({operand_type(row, row.result)}){spelling.call(operands)})"


def _type(row: Instruction, lanes: Lanes) -> str:
    """Of an operand as the intrinsic takes it."""
    if row.is_word(lanes):
        return operand_type(row, lanes)
    register = row.architecture.register
    return type_name("i", bits_of(lanes.dtype), lanes.count) if register is None else register(lanes)


def function(row: Instruction) -> str:
    """The definition of an instruction in `FUNCTIONS`."""
    names = "abcdef"[: len(row.operands)]
    operands = [_as_taken(row, lanes, name) for lanes, name in zip(row.operands, names, strict=True)]
    parameters = ", ".join(f"int32_t {name}" for name in names)
    lines = [f"/* {row.says} */", f"static AOTC_HELPER inline int32_t {macro_name(row)}({parameters})", "{"]
    for position, spelling in enumerate(row.spellings):
        lines.append(f"#{'el' if position else ''}if {row.condition(spelling)}")
        if spelling.assembly:
            inputs = ", ".join(f'"r"({name})' for name in names)
            lines += ["int32_t r;", f'__asm__("{spelling.assembly}" : "=r"(r) : {inputs});', "return r;"]
        else:
            lines.append(f"return (int32_t){spelling.call(names if '(' in spelling.function else operands)};")
    lines += ["#else", *plain_words(row), "#endif", "}"]
    return "".join(f"{each}\n" for line in lines for each in _indented(line))


def _indented(line: str) -> Sequence[str]:
    """A line of a function's definition, which a statement may be longer than."""
    if line.startswith(("#", "{", "}", "/*", "static")):
        return [line]
    return wrap(line, 116, initial_indent=" " * 4, subsequent_indent=" " * 8, break_on_hyphens=False)


def _as_taken(row: Instruction, lanes: Lanes, name: str) -> str:
    """A word as the intrinsic takes it."""
    assert row.architecture.register is not None
    return name if lanes.count == 1 else f"({row.architecture.register(lanes)}){name}"


def _statement(row: Instruction, parameters: str) -> Variants:
    """GCC would take the register of a factor which is not used again, and run short of registers."""
    assert row.accumulator is not None
    total = parameters[row.accumulator]
    others = ", ".join(f'"v"({name})' for name in parameters if name != total)
    sum_ = f"({total}) = {macro_name(row)}({', '.join(parameters)})"
    is_x86 = row.architecture.name == "x86_64"
    gcc = in_registers(row.bits // 8, f'"+v"({total}) : {others}', f"{sum_};") if is_x86 else []
    return [*gcc, ("", f"({sum_})")]


def in_registers(size: int, operands: str, before: str = "") -> Variants:
    """`before`, then an empty statement whose operands must be in registers of so many bytes: for GCC on x86."""
    text = f'__asm__("" : {operands})'
    whole = f"do {{ {before} {text}; }} while (0)" if before else text
    return [(f"{X86_VECTORS[size]} && !defined(__clang__)", whole)] if size in X86_VECTORS else []
