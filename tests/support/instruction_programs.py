"""Programs that apply each of some instructions to many registers: in C, and in LLVM's text.

All pairs of bytes where an instruction takes two, all numbers of 16 bits in each operand of these; else what is at the
ends of ranges, and random numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np

from aotc.emit.c.definitions.helpers import helper_text
from aotc.emit.c.definitions.instructions import macro_name
from aotc.emit.c.definitions.macros import prologue
from aotc.emit.c.definitions.meanings import operand_type
from aotc.machines.instructions import INSTRUCTIONS
from aotc.machines.instructions.evaluation import Array, numpy_type
from aotc.machines.instructions.rows import ADD, NARROW, WIDEN, Call, Instruction, Lanes, Number
from aotc.machines.instructions.values import bits_of, bounds


@cache
def cases(name: str) -> list[Array]:
    """Registers [cases, lanes] of each operand."""
    row, random = INSTRUCTIONS[name], np.random.default_rng(len(name))
    kinds = [(lanes, numpy_type(lanes.dtype)) for lanes in row.operands]
    if all(bits_of(part.dtype) == 8 and part.count == 1 for part in row.group[0]) and len(kinds) == 2:
        first, second = (each.ravel().astype(np.uint8) for each in np.meshgrid(np.arange(256), np.arange(256)))
        return [
            np.ascontiguousarray(each.reshape(-1, lanes.count)).view(kind)
            for each, (lanes, kind) in zip((first, second), kinds, strict=True)
        ]
    if all(bits_of(lanes.dtype) == 16 for lanes in row.operands):
        return [
            np.ascontiguousarray(numbers.astype(np.uint16).reshape(-1, lanes.count)).view(kind)
            for numbers, (lanes, kind) in zip(_every_half(random, len(kinds)), kinds, strict=True)
        ]
    return [_some(random, lanes).astype(kind) for lanes, kind in kinds]


def _every_half(random: np.random.Generator, operands: int) -> Iterable[Array]:
    """All numbers of 16 bits: those of each operand beside ends of ranges of the others, and all beside any."""
    count, ends = 1 << 16, [0, 1, 0x7FFE, 0x7FFF, 0x8000, 0xFFFF]
    for at in range(operands):
        yield np.concatenate(
            [
                random.permutation(count) if block in (at, operands) else random.choice(ends, count)
                for block in range(operands + 1)
            ]
        )


def _some(random: np.random.Generator, lanes: Lanes) -> Array:
    """Registers of numbers many of which are at the ends of the type, or of what becomes of floats."""
    shape = 2000, lanes.count
    low, high = bounds(lanes.dtype if lanes.dtype[0] != "f" else "s32")
    values = random.integers(low, high, shape, endpoint=True)
    ends = [low, low + 1, high, high - 1, 0, 1]
    if lanes.dtype[0] == "f":
        values = values / 2.0 ** random.integers(-1, 40, shape)
        values = np.where(random.random(shape) < 0.5, np.round(values) + 0.5, values)
        ends = [low, high, 2.0**23 - 0.5, -(2.0**23) + 0.5, 2.0**24 + 2, 0.5, -0.5, -0.0, np.nan, np.inf, -np.inf]
    return np.where(random.random(shape) < random.random((2000, 1)), random.choice(ends, shape), values)


def _llvm_type(row: Instruction, lanes: Lanes) -> str:
    if row.is_word(lanes):
        return f"i{lanes.bits}"
    scalar = {"f32": "float", "f64": "double"}.get(lanes.dtype) or f"i{bits_of(lanes.dtype)}"
    return f"<{lanes.count} x {scalar}>" if lanes.count > 1 else scalar


def _called(row: Instruction, call: Call, result: str, lines: list[str], declared: dict[str, str]) -> str:
    """A call of an intrinsic, written behind those whose results it takes."""

    def operand(each: int | Number | Call) -> tuple[str, str]:
        if isinstance(each, Call):
            return "i32", _called(row, each, "i32", lines, declared)
        if isinstance(each, int):
            return _llvm_type(row, row.operands[each]), f"%x{each}"
        lanes, number = each.lanes, each.value
        scalar = _llvm_type(row, Lanes(lanes.dtype, 1))
        return _llvm_type(row, lanes), f"{number}" if lanes.count == 1 else f"splat ({scalar} {number})"

    given = [operand(each) for each in call.operands]
    if call.name == ADD:
        lines.append(f"  %y{len(lines)} = add {result} {', '.join(value for _, value in given)}\n")
        return f"%y{len(lines) - 1}"
    if call.name in (WIDEN, NARROW):
        return _converted(call.name, *given[0], result, lines)
    declared[call.name] = f"declare {result} @{call.name}({', '.join(kind for kind, _ in given)})\n"
    lines.append(f"  %y{len(lines)} = call {result} @{call.name}({', '.join(map(' '.join, given))})\n")
    return f"%y{len(lines) - 1}"


def _converted(name: str, kind: str, value: str, result: str, lines: list[str]) -> str:
    """A conversion of halves, which are integers otherwise."""
    wide, narrow = (result, kind) if name == WIDEN else (kind, result)
    half, at = wide.replace("float", "half"), len(lines)
    if name == WIDEN:
        lines += [f"  %y{at} = bitcast {narrow} {value} to {half}\n"]
        lines += [f"  %y{at + 1} = fpext {half} %y{at} to {wide}\n"]
    else:
        lines += [f"  %y{at} = fptrunc {wide} {value} to {half}\n"]
        lines += [f"  %y{at + 1} = bitcast {half} %y{at} to {narrow}\n"]
    return f"%y{at + 1}"


def llvm_text(rows: Iterable[Instruction]) -> str:
    """A function for each row, `f0` and so on, which applies it to arrays of registers."""
    text, declared = "", dict[str, str]()
    for number, row in enumerate(rows):
        pointers = ", ".join(f"ptr %p{n}" for n in range(len(row.operands)))
        kinds, result = [_llvm_type(row, lanes) for lanes in row.operands], _llvm_type(row, row.result)
        lines = [
            f"  %a{n} = getelementptr {kind}, ptr %p{n}, i64 %i\n  %x{n} = load {kind}, ptr %a{n}, align 1\n"
            for n, kind in enumerate(kinds)
        ]
        found = _called(row, row.intrinsic, result, lines, declared)
        text += (
            f"define void @f{number}({pointers}, ptr %r, i64 %count) nounwind {{\nentry:\n  br label %loop\nloop:\n"
            f"  %i = phi i64 [ 0, %entry ], [ %next, %loop ]\n{''.join(lines)}"
            f"  %to = getelementptr {result}, ptr %r, i64 %i\n  store {result} {found}, ptr %to, align 1\n"
            "  %next = add i64 %i, 1\n  %more = icmp ult i64 %next, %count\n"
            "  br i1 %more, label %loop, label %done\ndone:\n  ret void\n}\n"
        )
    return "".join(declared.values()) + text


def c_text(rows: Sequence[Instruction]) -> str:
    """The same in C."""
    functions: list[str] = []
    for number, row in enumerate(rows):
        names = "abcdef"[: len(row.operands)]
        kinds = (operand_type(row, each) for each in row.operands)
        parameters = ", ".join(f"const {kind} *{name}" for name, kind in zip(names, kinds, strict=True))
        call = f"{macro_name(row)}({', '.join(f'{n}[i]' for n in names)})"
        result = operand_type(row, row.result)
        functions.append(
            f"void f{number}({parameters}, {result} *r, int64_t count)\n{{\n"
            f"    for (int64_t i = 0; i < count; ++i) {{\n        r[i] = {call};\n    }}\n}}\n"
        )
    words = helper_text(macro_name(row) for row in rows if row.on_words or row.on_numbers)
    return "\n".join(["#include <stdint.h>", "#define AOTC_HELPER", *words, prologue(functions).text, *functions])
