"""Dot products of narrow integers in C, with the instructions of several processors and without, against numpy."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from c_program import printed, run
from dot_program import dot_cases
from kernel_program import lowered

from aotc.machines.targets import lookup
from aotc.model.weight_store import Array

_FEATURES = lookup("host").features.split(",")


@pytest.mark.parametrize(
    ("compiler", "flags", "lanes", "target"),
    [
        pytest.param("gcc", ("-Og",), 16, None, id="gcc-portable"),
        pytest.param("gcc", ("-Og",), 16, "host", id="gcc-meanings"),
        pytest.param("gcc", ("-Og",), 4, "host", id="gcc-some-meanings"),
        pytest.param("gcc", ("-O2", "-march=x86-64-v2"), 4, "x86-64-v2", id="gcc-ssse3"),
        pytest.param("gcc", ("-O2", "-march=x86-64-v3"), 8, "x86-64-v3", id="gcc-avx2"),
        pytest.param("gcc", ("-O2", "-march=native"), 8, "host", id="gcc-native-256"),
        pytest.param("gcc", ("-O2", "-march=native"), 16, "host", id="gcc-native"),
        pytest.param("clang", ("-O2", "-march=native"), 16, "host", id="clang-native"),
    ],
)
def test_exact_and_wrapping(
    tmp_path: Path, compiler: str, flags: Sequence[str], lanes: int, target: str | None
) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    if "-march=x86-64-v3" in flags and "+avx2" not in _FEATURES:
        pytest.skip("no AVX2 here")
    c, calls, arrays = program(lanes, target)
    results = run(tmp_path, c, arrays, calls, flags, compiler)
    for number, case in enumerate(dot_cases(lanes)):
        np.testing.assert_array_equal(results[f"c{number}"], case.expected(), err_msg=str(case))


@cache
def program(lanes: int, target: str | None) -> tuple[str, list[tuple[str, ...]], dict[str, Array]]:
    """The source of all cases, the calls, and the arrays."""
    every = list(dot_cases(lanes))
    text, calls, arrays = "", list[tuple[str, ...]](), dict[str, Array]()
    for number, case in enumerate(every):
        kind = f"i{case.bits}"
        found = dict(zip((f"a{number}", f"b{number}", f"c{number}"), case.arrays(), strict=True))
        arrays |= found
        calls.append((f"f{number}", *found))
        buffers = "\n".join(
            f"%m{n} = aot.buffer %p{n} : !aot.ptr<{k}> to memref<{'x'.join(map(str, each.shape))}x{k}>"
            for n, (each, k) in enumerate(zip(found.values(), (kind, kind, "i32"), strict=True))
        )
        text += f"""
          func.func @f{number}(%p0: !aot.ptr<{kind}> {{aot.readonly, aot.noalias}},
              %p1: !aot.ptr<{kind}> {{aot.readonly, aot.noalias}}, %p2: !aot.ptr<i32> {{aot.noalias}}) -> i32 {{
            {buffers}
            %c0 = arith.constant 0 : index
            %c1 = arith.constant 1 : index
            {case.body()}
            %ok = arith.constant 0 : i32
            func.return %ok : i32
          }}"""
    attached = "" if target is None else f'attach-target{{target="{target}"}},'
    module = lowered(text, f"{attached}unroll-tiles,select-instructions")
    return printed(module), calls, arrays
