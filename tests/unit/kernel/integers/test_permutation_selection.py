"""The code of look-ups and picks on each processor: in numpy by the meanings of instructions, and through both
emitters on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from kernel_program import Array, all_through_c, all_through_llvm, lowered
from selected import TARGETS, Evaluating

from aotc.machines.expansions.permutations import byte_lookup, lookup, pick, picks
from aotc.machines.instructions.evaluation import ArrayValue
from aotc.machines.targets import instructions_of
from aotc.machines.targets import lookup as target_of

RANDOM = np.random.default_rng(7)
FLAGS = {None: "-O1", "x86-64-v2": "-march=x86-64-v2", "x86-64-v3": "-march=x86-64-v3", "host": "-march=native"}
MACHINES = [each for each in FLAGS if each in (None, "host") or "+avx2" in target_of("host").features.split(",")]
SIZES = ((64, 64), (32, 16), (16, 16), (4, 16))
"""Bytes that are looked up at once, and those of a row of the table."""


@pytest.mark.parametrize(("lanes", "row"), SIZES)
@pytest.mark.parametrize("target", TARGETS)
def test_every_byte_is_looked_up(target: str, lanes: int, row: int) -> None:
    table, numbers = RANDOM.permutation(256).astype(np.uint8), np.arange(512, dtype=np.uint8).reshape(-1, lanes)
    p = Evaluating(instructions_of(target))
    rows = [ArrayValue(np.tile(part, (len(numbers), 1)), "u8") for part in table.reshape(-1, row)]
    np.testing.assert_array_equal(lookup(p, ArrayValue(numbers, "u8"), rows).array, table[numbers])
    assert bool(p.used) == (byte_lookup(p.names, lanes, 2).row == row)


@pytest.mark.parametrize("lanes", [4, 8, 16])
@pytest.mark.parametrize("target", TARGETS)
def test_numbers_of_lanes_are_modulo_all_of_them(target: str, lanes: int) -> None:
    a, b, numbers = (RANDOM.integers(0, 1 << 32, (200, lanes), dtype=np.uint32) for _ in range(3))
    p = Evaluating(instructions_of(target))
    found = pick(p, *(ArrayValue(each, "u32") for each in (a, b, numbers)))
    expected = np.take_along_axis(np.concatenate([a, b], axis=-1), (numbers % (2 * lanes)).astype(np.intp), axis=-1)
    np.testing.assert_array_equal(found.array, expected)
    assert bool(p.used) == picks(p.names, 4 * lanes)


def _lookups(target: str | None) -> list[tuple[int, int]]:
    """The sizes for which a target has an instruction; without a target one, whose numbers are compared."""
    if target is None:
        return [(16, 16)]
    return [(lanes, row) for lanes, row in SIZES if byte_lookup(instructions_of(target), lanes, 2).row == row]


def _text(sizes: Sequence[tuple[int, int]]) -> str:
    """A look-up of 64 bytes, and a pick, of each size."""
    text = ""
    for lanes, row in sizes:
        whole, entries = f"vector<{64 // lanes}x{lanes}xi8>", f"vector<{256 // row}x{row}xi8>"
        text += f"""
          func.func @look{lanes}(%p: !aot.ptr<i8>, %q: !aot.ptr<i8>) -> i32 {{
            %t = aot.buffer %p : !aot.ptr<i8> to memref<256xi8>
            %x = aot.buffer %q : !aot.ptr<i8> to memref<64xi8>
            %c0 = arith.constant 0 : index
            %table = aot.tile_load %t[%c0] {{strides = array<i64: {row}, 1>}} : memref<256xi8> -> {entries}
            %n = aot.tile_load %x[%c0] {{strides = array<i64: {lanes}, 1>}} : memref<64xi8> -> {whole}
            %r = aot.tile_lookup %n, %table {{width = {lanes}}} : {whole}, {entries}
            aot.tile_store %r, %x[%c0] {{strides = array<i64: {lanes}, 1>}} : {whole}, memref<64xi8>
            %ok = arith.constant 0 : i32
            func.return %ok : i32
          }}"""
    for lanes in (4, 8, 16):
        kind = f"vector<{lanes}xi32>"
        loads = "\n".join(
            f"%{name} = aot.tile_load %x[%c0] {{strides = array<i64: 1>, offset = {place * lanes}}} "
            f": memref<{3 * lanes}xi32> -> {kind}"
            for place, name in enumerate("abn")
        )
        text += f"""
          func.func @pick{lanes}(%p: !aot.ptr<i32>) -> i32 {{
            %x = aot.buffer %p : !aot.ptr<i32> to memref<{3 * lanes}xi32>
            %c0 = arith.constant 0 : index
            {loads}
            %r = aot.tile_pick %a, %b, %n : {kind}
            aot.tile_store %r, %x[%c0] {{strides = array<i64: 1>}} : {kind}, memref<{3 * lanes}xi32>
            %ok = arith.constant 0 : i32
            func.return %ok : i32
          }}"""
    return text


@pytest.mark.parametrize("route", ["llvm", "c"])
@pytest.mark.parametrize("target", MACHINES)
def test_through_emitters(target: str | None, route: str, tmp_path: Path) -> None:
    attached = "" if target is None else f"attach-target{{target={target}}},"
    sizes = _lookups(target)
    module = lowered(_text(sizes), f"{attached}unroll-tiles,select-instructions")
    symbols = [f"look{lanes}" for lanes, _ in sizes] + [f"pick{lanes}" for lanes in (4, 8, 16)]
    if route == "llvm":
        functions = all_through_llvm(module, symbols, target)
    else:
        functions = all_through_c(module, symbols, tmp_path, ["-O1", FLAGS[target]])
    table: Array = RANDOM.permutation(256).astype(np.uint8)
    for lanes, _ in sizes:
        for start in range(0, 256, 64):
            x = np.arange(start, start + 64, dtype=np.uint8)
            functions[f"look{lanes}"](table, x)
            np.testing.assert_array_equal(x, table[start : start + 64], err_msg=f"{lanes} bytes")
    for lanes in (4, 8, 16):
        x = RANDOM.integers(0, 1 << 32, 3 * lanes, dtype=np.uint32)
        expected = x[x[2 * lanes :] % (2 * lanes)]
        functions[f"pick{lanes}"](x)
        np.testing.assert_array_equal(x[:lanes], expected, err_msg=f"{lanes} lanes")
