"""Rows of instructions: what each computes is what LLVM's intrinsic does, and C's, and its meaning in plain C.

All pairs of bytes are compared where an instruction takes two; else what is at the ends of ranges, and random numbers.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from vector_headers import headers_read

from aotc.emit.c.helpers import helper_text
from aotc.emit.c.vectors.instructions import macro_name
from aotc.emit.c.vectors.macros import INCLUDES, prologue
from aotc.emit.c.vectors.meanings import vector_type
from aotc.emit.llvm.jit import load_object
from aotc.machines.features import FEATURES
from aotc.machines.instructions import INSTRUCTIONS, architecture_of, available
from aotc.machines.instructions.evaluation import Array, evaluate, numpy_type
from aotc.machines.instructions.rows import Call, Instruction, Lanes
from aotc.machines.instructions.values import bits_of, bounds
from aotc.machines.targets import binding, lookup

HERE = [name for name in INSTRUCTIONS if name in lookup("host").instructions]
TARGETS = {
    "x86_64": "x86_64-linux-gnu:x86-64-v4:+avx512vnni,+avx512vbmi",
    "aarch64": "aarch64-linux-gnu::+dotprod,+i8mm",
    "thumb": "cortex-m55",
    "wasm32": "wasm32-simd128",
}
"""Of each architecture one that has every instruction."""


@cache
def _operands(name: str) -> list[Array]:
    """Registers [cases, lanes] of each operand."""
    row, random = INSTRUCTIONS[name], np.random.default_rng(len(name))
    kinds = [(lanes, numpy_type(lanes.dtype)) for lanes in row.operands]
    if all(bits_of(part.dtype) == 8 and part.count == 1 for part in row.group[0]) and len(kinds) == 2:
        first, second = (each.ravel().astype(np.uint8) for each in np.meshgrid(np.arange(256), np.arange(256)))
        return [
            np.ascontiguousarray(each.reshape(-1, lanes.count)).view(kind)
            for each, (lanes, kind) in zip((first, second), kinds, strict=True)
        ]
    found: list[Array] = []
    for lanes, kind in kinds:
        low, high = bounds(lanes.dtype)
        values = random.integers(low, high, (2000, lanes.count), endpoint=True)
        ends = random.choice([low, low + 1, high, high - 1, 0, 1], values.shape)
        found.append(np.where(random.random(values.shape) < random.random((2000, 1)), ends, values).astype(kind))
    return found


def _llvm_type(row: Instruction, lanes: Lanes) -> str:
    return f"i{lanes.bits}" if row.is_word(lanes) else f"<{lanes.count} x i{bits_of(lanes.dtype)}>"


def _c_type(row: Instruction, lanes: Lanes) -> str:
    return f"int{lanes.bits}_t" if row.is_word(lanes) else vector_type(lanes)


def _called(call: Call, kinds: Sequence[str], result: str, lines: list[str], declared: dict[str, str]) -> str:
    """A call of an intrinsic, written behind those whose results it takes."""
    given = [
        f"{kinds[each]} %x{each}"
        if isinstance(each, int)
        else f"i32 {each}"
        if isinstance(each, str)
        else f"i32 {_called(each, kinds, 'i32', lines, declared)}"
        for each in call.operands
    ]
    declared[call.name] = f"declare {result} @{call.name}({', '.join(each.rsplit(' ', 1)[0] for each in given)})\n"
    lines.append(f"  %y{len(lines)} = call {result} @{call.name}({', '.join(given)})\n")
    return f"%y{len(lines) - 1}"


def _llvm(rows: Iterable[Instruction]) -> str:
    """A function for each row, `f0` and so on, which applies it to arrays of registers."""
    text, declared = "", dict[str, str]()
    for number, row in enumerate(rows):
        pointers = ", ".join(f"ptr %p{n}" for n in range(len(row.operands)))
        kinds, result = [_llvm_type(row, lanes) for lanes in row.operands], _llvm_type(row, row.result)
        lines = [
            f"  %a{n} = getelementptr {kind}, ptr %p{n}, i64 %i\n  %x{n} = load {kind}, ptr %a{n}, align 1\n"
            for n, kind in enumerate(kinds)
        ]
        found = _called(row.intrinsic, kinds, result, lines, declared)
        text += (
            f"define void @f{number}({pointers}, ptr %r, i64 %count) {{\nentry:\n  br label %loop\nloop:\n"
            f"  %i = phi i64 [ 0, %entry ], [ %next, %loop ]\n{''.join(lines)}"
            f"  %to = getelementptr {result}, ptr %r, i64 %i\n  store {result} {found}, ptr %to, align 1\n"
            "  %next = add i64 %i, 1\n  %more = icmp ult i64 %next, %count\n"
            "  br i1 %more, label %loop, label %done\ndone:\n  ret void\n}\n"
        )
    return "".join(declared.values()) + text


def _c(rows: Sequence[Instruction]) -> str:
    """The same in C."""
    functions: list[str] = []
    for number, row in enumerate(rows):
        names = "abcdef"[: len(row.operands)]
        parameters = ", ".join(f"const {_c_type(row, each)} *{n}" for n, each in zip(names, row.operands, strict=True))
        call = f"{macro_name(row)}({', '.join(f'{n}[i]' for n in names)})"
        result = _c_type(row, row.result)
        functions.append(
            f"void f{number}({parameters}, {result} *r, long count)\n{{\n"
            f"    for (long i = 0; i < count; ++i) {{\n        r[i] = {call};\n    }}\n}}\n"
        )
    words = helper_text(macro_name(row) for row in rows if row.on_words)
    return "\n".join(["#include <stdint.h>", *words, prologue(functions).text, *functions])


def _check(functions: Sequence[Callable[..., Any]], names: Sequence[str]) -> None:
    for function, name in zip(functions, names, strict=True):
        operands = [_aligned(each) for each in _operands(name)]
        expected = evaluate(INSTRUCTIONS[name], operands)
        found = _aligned(np.zeros_like(expected))
        pointers = [ctypes.c_void_p(each.ctypes.data) for each in (*operands, found)]
        function(*pointers, ctypes.c_long(len(expected)))
        np.testing.assert_array_equal(found, expected, err_msg=name)


def _aligned(array: Array) -> Array:
    """A copy at a multiple of 64 bytes."""
    memory = np.zeros(array.nbytes + 64, np.uint8)
    start = -memory.ctypes.data % 64
    copy = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def test_meanings_are_what_intrinsics_of_llvm_compute() -> None:
    module = binding().parse_assembly(_llvm(INSTRUCTIONS[name] for name in HERE))
    host = lookup("host")
    module.triple = host.triple
    symbols = [f"f{number}" for number in range(len(HERE))]
    library = load_object(host.machine(2).emit_object(module), symbols)
    kind = ctypes.CFUNCTYPE(None)
    _check([kind(library.address(symbol)) for symbol in symbols], HERE)


@pytest.mark.parametrize("flags", [("-O1", "-march=native"), ("-O1",)], ids=["intrinsics", "plain"])
def test_meanings_are_what_c_computes(flags: Sequence[str], tmp_path: Path) -> None:
    """By intrinsics those of this machine, in plain C all."""
    names = HERE if "-march=native" in flags else [*INSTRUCTIONS]
    (tmp_path / "rows.c").write_text(_c([INSTRUCTIONS[name] for name in names]))
    command = ("gcc", "-std=c99", "-Werror", "-Wall", "-Wextra", "-Wno-psabi", "-fPIC", *flags)
    made = (*headers_read(*command), "-shared", "rows.c", "-o", "rows.so")
    subprocess.run([*command, *made], check=True, cwd=tmp_path)
    library = ctypes.CDLL(str(tmp_path / "rows.so"))
    _check([getattr(library, f"f{number}") for number in range(len(names))], names)


@pytest.mark.parametrize("architecture", TARGETS)
def test_llvm_has_every_intrinsic(architecture: str) -> None:
    target = lookup(TARGETS[architecture])
    rows = [row for row in INSTRUCTIONS.values() if row.architecture.name == architecture]
    assert {row.name for row in rows} == target.instructions
    module = binding().parse_assembly(_llvm(rows))
    module.triple = target.triple
    assert not re.search(r"^\s*(call|bl)\s", target.machine().emit_assembly(module), re.MULTILINE)


@pytest.mark.parametrize("name", INSTRUCTIONS)
def test_registers_are_whole_groups(name: str) -> None:
    row = INSTRUCTIONS[name]
    assert row.groups > 0 and row.result.bits == row.bits == row.groups * row.group[1].bits
    assert all(lanes.bits <= 512 and lanes.bits & (lanes.bits - 1) == 0 for lanes in row.operands)
    assert row.accumulator is None or str(row.operands[row.accumulator]) == str(row.result)


@pytest.mark.parametrize("name", INSTRUCTIONS)
def test_programs_ask_for_what_instructions_need(name: str) -> None:
    architecture = INSTRUCTIONS[name].architecture
    known = {*architecture.base, *architecture.others, *(row.name for row in FEATURES.get(architecture.name, ()))}
    for spelling in INSTRUCTIONS[name].spellings:
        assert known.issuperset(spelling.features) and spelling.features


@pytest.mark.parametrize("name", [name for name, row in INSTRUCTIONS.items() if not row.on_words and row.architecture.register])
def test_files_of_one_instruction_read_the_header_of_its_intrinsic(name: str) -> None:
    assert INCLUDES in prologue([macro_name(INSTRUCTIONS[name])]).text


def test_one_spelling_is_enough() -> None:
    architecture = architecture_of("x86_64-linux-gnu")
    assert architecture is not None and architecture_of("riscv64-linux-gnu") is None
    assert "vpdpbusd.256" in available(architecture, ["avxvnni"])
    assert "vpdpbusd.256" in available(architecture, ["avx512vnni", "avx512vl"])
    assert "vpdpbusd.256" not in available(architecture, ["avx512vnni"])
    assert available(architecture, []) == {"pmaddwd.128", "psubsb.128"}


def test_all_pairs_are_compared() -> None:
    a, b = _operands("psignb.128")
    assert len({*zip(a.ravel().tolist(), b.ravel().tolist(), strict=True)}) == 1 << 16 == prod(a.shape)
