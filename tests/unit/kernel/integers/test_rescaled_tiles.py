"""`aot.tile_rescale` against gemmlowp's two roundings: by the meanings of the instructions of each processor, and
through LLVM and C on this one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from kernel_program import Array, all_through_c, all_through_llvm, lowered
from selected import TARGETS, Evaluating

from aotc.machines.expansions.rescaling import rescaled
from aotc.machines.instructions.evaluation import ArrayValue
from aotc.machines.targets import instructions_of, lookup

FLAGS = {None: ["-Og"], "x86-64-v3": ["-Og", "-march=x86-64-v3"], "host": ["-Og", "-march=native"]}
MACHINES = [name for name in FLAGS if name is None or name == "host" or "+avx2" in lookup("host").features.split(",")]
ROWS, COUNT = 3, 1 << 14


def numbers() -> tuple[Array, Array, Array]:
    """Sums of every size, the ends of their range and what becomes a tie; factors and shifts from end to end."""
    r = np.random.default_rng(1)
    shift = np.arange(COUNT, dtype=np.int32) % 32
    x = (r.integers(-(2**31), 2**31, COUNT) >> r.integers(0, 31, COUNT)).astype(np.int32)
    factor = r.integers(1 << 30, 1 << 31, COUNT).astype(np.int32)
    factor[::5], factor[1::5], factor[2::50] = 1 << 30, (1 << 31) - 1, 0
    ties = np.arange(COUNT // 4) * 4
    x[ties] = (r.integers(-1000, 1000, ties.size) * 2 + 1) << np.clip(shift[ties], 0, 19)
    x[3:7] = [2**31 - 1, -(2**31), 2**31 - 1, -(2**31)]
    return x, factor, shift


def expected(x: Array, factor: Array, shift: Array) -> Array:
    value = (x.astype(np.int64) * factor + (1 << 30)) >> 31
    size = np.abs(value) * 2 + (1 << shift.astype(np.int64))
    return np.sign(value) * (size >> (shift.astype(np.int64) + 1))  # the middle away from zero


@pytest.mark.parametrize("lanes", [4, 8, 16])
@pytest.mark.parametrize("target", TARGETS)
def test_numbers_on_each_processor(target: str, lanes: int) -> None:
    p = Evaluating(instructions_of(target))
    given = [each.reshape(-1, lanes) for each in numbers()]
    found = rescaled(p, *(ArrayValue(each, "s32") for each in given))
    np.testing.assert_array_equal(found.array, expected(*given))
    ways = {f"pmuldq.{32 * lanes}"}
    assert p.used & ways == p.names & ways


@pytest.mark.parametrize("route", ["llvm", "c"])
@pytest.mark.parametrize("target", MACHINES)
def test_against_numpy(target: str | None, route: str, tmp_path: Path) -> None:
    count = ROWS * 16
    memory, strides, tile = f"memref<{count}xi32>", "strides = array<i64: 16, 1>", f"vector<{ROWS}x16xi32>"
    loads = "\n".join(
        f"""%m{place} = aot.buffer %p{place} : !aot.ptr<i32> to {memory}
        %t{place} = aot.tile_load %m{place}[%c0] {{{strides}}} : {memory} -> {tile}"""
        for place in range(3)
    )
    text = f"""func.func @f(%p0: !aot.ptr<i32>, %p1: !aot.ptr<i32>, %p2: !aot.ptr<i32>, %q: !aot.ptr<i32>) -> i32 {{
      %y = aot.buffer %q : !aot.ptr<i32> to {memory}
      %c0 = arith.constant 0 : index
      {loads}
      %r = aot.tile_rescale %t0, %t1, %t2 : {tile}
      aot.tile_store %r, %y[%c0] {{{strides}}} : {tile}, {memory}
      %ok = arith.constant 0 : i32
      func.return %ok : i32
    }}"""
    attached = "" if target is None else f'attach-target{{target="{target}"}},'
    module = lowered(text, f"{attached}unroll-tiles,select-instructions")
    if route == "llvm":
        run = all_through_llvm(module, ["f"], target)["f"]
    else:
        run = all_through_c(module, ["f"], tmp_path, FLAGS[target])["f"]
    given = numbers()
    for start in range(0, COUNT - count, count):
        some = [each[start : start + count].copy() for each in given]
        result = np.zeros(count, np.int32)
        run(*some, result)
        np.testing.assert_array_equal(result, expected(*some))
