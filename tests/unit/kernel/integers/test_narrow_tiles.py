"""`aot.tile_narrow` on single registers and on several together against numpy: by the meanings of the instructions of
each processor, and through LLVM and C on this one."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from kernel_program import Array, Kernel, all_through_c, all_through_llvm, lowered
from selected import TARGETS, Evaluating

from aotc.machines.expansions.narrowing import Narrowing
from aotc.machines.instructions.evaluation import ArrayValue
from aotc.machines.targets import instructions_of, lookup

ROWS = 7
"""Of a tile with two registers in each: groups of four and three are neighbours in memory, and three are no power of
two."""
FLAGS = {None: ["-Og"], "x86-64-v3": ["-Og", "-march=x86-64-v3"], "host": ["-Og", "-march=native"]}
MACHINES = [name for name in FLAGS if name is None or name == "host" or "+avx2" in lookup("host").features.split(",")]
CLAMPS = [
    (0, -128, 127, ""),
    (7, -128, 127, ""),
    (-128, -128, 127, ""),
    (3, -100, 90, ""),
    (0, -5, -5, ""),
    (0, 0, 255, ", unsigned"),
    (255, 0, 255, ", unsigned"),
    (128, 128, 255, ", unsigned"),
    (-9, 3, 250, ", unsigned"),
]


def numbers(kind: str) -> Array:
    """All that may go wrong: every half around the bytes, the ends of 16 bits, of 24, and of the type."""
    near = np.arange(-1200, 1200) / 2
    ends = np.array([2.0**power + less for power in (15, 16, 22, 23, 24, 30) for less in (-1, -0.5, 0, 0.5, 1)])
    last = np.array([2.0**31 - 128] if kind == "f32" else [2.0**31 - 1, -(2.0**31)])
    values = np.concatenate([near, ends, -ends, last, -last[:1], [-0.0]])
    return values.astype(np.float32 if kind == "f32" else np.int32)


def expected(x: Array, point: int, low: int, high: int) -> Array:
    whole = np.rint(x.astype(np.float64)) + point
    return np.clip(whole, low, high).astype(np.int64).astype(np.uint8)


@pytest.mark.parametrize("lanes", [4, 8, 16])
@pytest.mark.parametrize("target", TARGETS)
def test_every_number_on_each_processor(target: str, lanes: int) -> None:
    """Integers of 16 bits and beyond, and their halves."""
    p = Evaluating(instructions_of(target))
    for kind, count, (point, low, high, unsigned) in product(("f32", "s32"), (1, 2, 4), CLAMPS):
        every = np.arange(-(1 << 16), 1 << 16, dtype=np.float32) / 2
        x = np.concatenate([every, numbers("f32")]) if kind == "f32" else numbers("i32")
        x = np.resize(x, (-(-len(x) // (lanes * count)), lanes * count))
        parts = [ArrayValue(part, kind) for part in np.split(x, count, axis=-1)]
        found = Narrowing(p, point, low, high, "u8" if unsigned else "s8").result(parts)
        np.testing.assert_array_equal(found.array.view(np.uint8), expected(x, point, low, high), err_msg=kind)
    ways = {f"packssdw.{32 * lanes}", *(("sqxtn.words", "i16x8.narrow_i32x4_s") if lanes == 4 else ())}
    assert p.used & ways == p.names & ways


def function(name: str, kind: str, lanes: int, clamp: tuple[int, int, int, str], valid: int | None) -> str:
    """A tile whose rows are neighbours in memory; or, of rows that are, the last register is partial."""
    point, low, high, unsigned = clamp
    wide, narrow = f"vector<{ROWS}x2x{lanes}x{kind}>", f"vector<{ROWS}x2x{lanes}xi8>"
    count = ROWS * 2 * lanes
    strides = f"strides = array<i64: {lanes}, {ROWS * lanes}, 1>"
    if valid is not None:
        strides = f"strides = array<i64: {2 * lanes}, {lanes}, 1>, valid = {valid} : i64"
    numbers = f"zero_point = {point} : i64, low = {low} : i64, high = {high} : i64{unsigned}"
    return f"""func.func @{name}(%p: !aot.ptr<{kind}>, %q: !aot.ptr<i8>) -> i32 {{
      %x = aot.buffer %p : !aot.ptr<{kind}> to memref<{count}x{kind}>
      %y = aot.buffer %q : !aot.ptr<i8> to memref<{count}xi8>
      %c0 = arith.constant 0 : index
      %a = aot.tile_load %x[%c0] {{{strides}}} : memref<{count}x{kind}> -> {wide}
      %b = aot.tile_narrow %a {{{numbers}}} : {wide} -> {narrow}
      aot.tile_store %b, %y[%c0] {{{strides}}} : {narrow}, memref<{count}xi8>
      %ok = arith.constant 0 : i32
      func.return %ok : i32
    }}"""


CASES = {
    f"f{number}": (kind, lanes, clamp, valid)
    for number, (kind, valid, (lanes, clamp)) in enumerate(
        product(("f32", "i32"), (None, 5), zip([4, 8, 16] * 3, CLAMPS, strict=True))
    )
}


def check(run: Kernel, kind: str, lanes: int, clamp: tuple[int, int, int, str], valid: int | None) -> None:
    count = ROWS * 2 * lanes
    values = numbers(kind)
    here = np.ones(count, bool) if valid is None else np.arange(count) % (2 * lanes) < valid
    for start in range(0, len(values), count):
        x = np.resize(values[start : start + count], count)
        y = np.full(count, 77, np.uint8)
        run(x, y)
        np.testing.assert_array_equal(y, np.where(here, expected(x, *clamp[:3]), 77))


@pytest.mark.parametrize("route", ["llvm", "c"])
@pytest.mark.parametrize("target", MACHINES)
def test_against_numpy(target: str | None, route: str, tmp_path: Path) -> None:
    attached = "" if target is None else f'attach-target{{target="{target}"}},'
    text = "\n".join(function(name, *case) for name, case in CASES.items())
    module = lowered(text, f"{attached}unroll-tiles,select-instructions")
    if route == "llvm":
        found = all_through_llvm(module, list(CASES), target)
    else:
        found = all_through_c(module, list(CASES), tmp_path, FLAGS[target])
    for name, case in CASES.items():
        check(found[name], *case)
