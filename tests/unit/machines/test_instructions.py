"""Rows of instructions: what each computes is what LLVM's intrinsic does, and C's, and its meaning in plain C.

Those of this machine; `tests/embedded/test_instructions_on_boards.py` has those of Cortex-M.
"""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from instruction_programs import c_text, cases, llvm_text
from vector_headers import headers_read

from aotc.emit.c.definitions.instructions import macro_name
from aotc.emit.c.definitions.macros import INCLUDES, prologue
from aotc.emit.llvm.jit import load_object
from aotc.machines.features import FEATURES
from aotc.machines.instructions import INSTRUCTIONS, architecture_of, available
from aotc.machines.instructions.evaluation import Array, evaluate
from aotc.machines.instructions.rows import Instruction
from aotc.machines.targets import binding, lookup

HERE = [name for name in INSTRUCTIONS if name in lookup("host").instructions]
TARGETS = {
    "x86_64": "x86_64-linux-gnu:x86-64-v4:+avx512vnni,+avx512vbmi,+avxvnniint8",
    "aarch64": "aarch64-linux-gnu::+dotprod,+i8mm",
    "arm": "armv8-linux-gnueabihf:cortex-a53",
    "thumb": "cortex-m55",
    "wasm32": "wasm32-simd128",
    "powerpc64le": "powerpc64le-linux-gnu:pwr9",
    "loongarch64": "loongarch64-linux-gnu::+lasx",
    "riscv64": "riscv64-linux-gnu::+f,+d,+v,+zfhmin,+zfa",
    "riscv32": "riscv32-none-elf::+f,+d,+v,+zfhmin,+zfa",
}
"""Of each architecture one that has every instruction."""


def _has_header(row: Instruction) -> bool:
    """Whether C writes it by an intrinsic; it loads whole registers without one."""
    is_written = any(each.function for each in row.spellings)
    if row.memory and row.operands[0].bits == row.result.bits:
        return False
    return is_written and not (row.on_words or row.on_numbers) and row.architecture.register is not None


def _check(functions: Sequence[Callable[..., Any]], names: Sequence[str]) -> None:
    for function, name in zip(functions, names, strict=True):
        operands = [_aligned(each) for each in cases(name)]
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
    module = binding().parse_assembly(llvm_text(INSTRUCTIONS[name] for name in HERE))
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
    (tmp_path / "rows.c").write_text(c_text([INSTRUCTIONS[name] for name in names]))
    command = ("gcc", "-std=c99", "-Werror", "-Wall", "-Wextra", "-Wno-psabi", "-fPIC", *flags)
    made = (*headers_read(*command), "-shared", "rows.c", "-o", "rows.so")
    subprocess.run([*command, *made], check=True, cwd=tmp_path)
    library = ctypes.CDLL(str(tmp_path / "rows.so"))
    _check([getattr(library, f"f{number}") for number in range(len(names))], names)


@pytest.mark.skipif(
    shutil.which("qemu-aarch64") is None or shutil.which("aarch64-linux-gnu-gcc") is None,
    reason="needs qemu-aarch64 and a compiler for it",
)
@pytest.mark.parametrize("source", ["rows.c", "rows.o"])
def test_meanings_are_what_neon_computes_under_emulation(source: str, tmp_path: Path) -> None:
    """The program reads the operands of all instructions, one after the other, and writes the results."""
    rows = [row for row in INSTRUCTIONS.values() if row.architecture.name == "aarch64"]
    target = lookup(TARGETS["aarch64"])
    module = binding().parse_assembly(llvm_text(rows))
    module.triple = target.triple
    (tmp_path / "rows.o").write_bytes(target.machine(2).emit_object(module))
    (tmp_path / "rows.c").write_text(c_text(rows))
    operands = [cases(row.name) for row in rows]
    expected = [evaluate(row, each) for row, each in zip(rows, operands, strict=True)]
    (tmp_path / "operands").write_bytes(b"".join(array.tobytes() for each in operands for array in each))
    (tmp_path / "main.c").write_text(_program(operands, expected))
    command = ["aarch64-linux-gnu-gcc", "-O1", "-march=armv8.2-a+dotprod+i8mm", "-static", "main.c", source]
    subprocess.run([*command, "-o", "program", "-lm"], cwd=tmp_path, check=True)
    subprocess.run(["qemu-aarch64", "program"], cwd=tmp_path, check=True)
    results = (tmp_path / "results").read_bytes()
    for row, array in zip(rows, expected, strict=True):
        found, results = results[: array.nbytes], results[array.nbytes :]
        np.testing.assert_array_equal(np.frombuffer(found, array.dtype).reshape(array.shape), array, err_msg=row.name)
    assert not results


def _program(operands: Sequence[Sequence[Array]], results: Sequence[Array]) -> str:
    """C that calls the function of each instruction on what the file `operands` has."""
    most = max(array.nbytes for arrays in (*operands, results) for array in arrays)
    width = max(map(len, operands))
    declared, called = list[str](), list[str]()
    for number, (arrays, result) in enumerate(zip(operands, results, strict=True)):
        declared.append(f"void f{number}({'void *, ' * (len(arrays) + 1)}long);")
        called += [f"ok &= fread(x[{place}], {array.nbytes}, 1, in) == 1;" for place, array in enumerate(arrays)]
        named = "".join(f"x[{place}], " for place in range(len(arrays)))
        called += [f"f{number}({named}y, {len(result)});", f"ok &= fwrite(y, {result.nbytes}, 1, out) == 1;"]
    memory = f"static _Alignas(64) unsigned char x[{width}][{-(-most // 64) * 64}], y[{most}];"
    opened = 'FILE *in = fopen("operands", "rb"), *out = fopen("results", "wb"); int ok = in && out;'
    body = [opened, *called, "return !(ok && fclose(out) == 0);"]
    return "\n".join(["#include <stdio.h>", *declared, memory, "int main(void) {", *body, "}", ""])


@pytest.mark.parametrize("architecture", TARGETS)
def test_llvm_has_every_intrinsic(architecture: str) -> None:
    target = lookup(TARGETS[architecture])
    rows = [row for row in INSTRUCTIONS.values() if row.architecture.name == architecture]
    assert {row.name for row in rows} == target.instructions
    module = binding().parse_assembly(llvm_text(rows))
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


@pytest.mark.parametrize("name", [name for name in INSTRUCTIONS if _has_header(INSTRUCTIONS[name])])
def test_files_of_one_instruction_read_the_header_of_its_intrinsic(name: str) -> None:
    assert INCLUDES in prologue([macro_name(INSTRUCTIONS[name])]).text


def test_one_spelling_is_enough() -> None:
    architecture = architecture_of("x86_64-linux-gnu")
    assert architecture is not None and architecture_of("i686-linux-gnu") is None
    assert "vpdpbusd.256" in available(architecture, ["avxvnni"])
    assert "vpdpbusd.256" in available(architecture, ["avx512vnni", "avx512vl"])
    assert "vpdpbusd.256" not in available(architecture, ["avx512vnni"])
    packs = {"packssdw.128", "packsswb.128", "packuswb.128"}
    whole = {"max": "maximum", "min": "minimum"}
    extremes = {f"v{name}p{kind}{end}.128" for name in whole for kind in "sd" for end in ("", f".{whole[name]}")}
    extremes |= {f"{name}s{kind}.{function}" for name, function in whole.items() for kind in "sd"}
    assert available(architecture, []) == {
        *("pmaddwd.128", "psubsb.128", "paddsw.128", "cvtps2dq.128"),
        *packs,
        *extremes,
    }


def test_all_pairs_are_compared() -> None:
    a, b = cases("psignb.128")
    assert len({*zip(a.ravel().tolist(), b.ravel().tolist(), strict=True)}) == 1 << 16 == prod(a.shape)


def test_all_numbers_of_16_bits_are_compared() -> None:
    assert all(len(np.unique(operand)) == 1 << 16 for operand in cases("packsswb.256"))
