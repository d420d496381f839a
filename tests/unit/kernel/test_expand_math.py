"""The polynomials of `expand-math` against libm in double precision, over a dense sample of all floats.

With AOTC_EXHAUSTIVE set (`make test-math`) over all 2^32 of them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from kernel_program import Array, Kernel, all_through_c, all_through_llvm, lowered
from memory import kept_for_a_file
from ulps import CHUNK, chunks, errors
from xdsl.dialects.builtin import ModuleOp

STEP = 1 if os.environ.get("AOTC_EXHAUSTIVE") else 251
"""Of the bit patterns that are tested; odd, so that every exponent and low bit occurs."""
BOUNDED = {"tanh": 2.5, "erf": 5.6, "sin": 1.6, "cos": 1.6}
"""Functions that are never beyond 1."""
EXPONENTIALS = {
    "exp": 0.9,
    "log": 0.87,
    "log1p": 1.5,
    "sinh": 1.7,
    "cosh": 1.4,
    "asinh": 1.9,
    "acosh": 2.1,
    "atanh": 2.1,
}
FUNCTIONS = BOUNDED | EXPONENTIALS | {"tan": 3.2, "asin": 2.4, "acos": 1.2, "atan": 2.1}
OF_THIRDS = {"erf_of_third": 6.1, "tanh_of_third": 3.5}
OF_NEGATIVE = {"exp_of_nonpositive": 0.9, "sigmoid": 2.5, "sigmoid_of_negative": 2.5}
"""Of -|x|, and the sigmoid of |x|, too; subnormal results may be 0."""
ULPS = FUNCTIONS | OF_THIRDS | OF_NEGATIVE
"""The greatest error of each function in units of the last place of the exact result."""
LEAST_NORMAL = float(np.finfo(np.float32).smallest_normal)
KINDS = ("tiles", "elements", "exact")
"""The forms of each function."""
THIRD = """
  %three = arith.constant CONSTANT(3.0) : T
  %third = arith.divf %a, %three : T
  """
NEGATIVE = """
  %m = math.absf %a : T
  %minus = arith.negf %m : T
  %e = math.exp %minus {aot.nonpositive} : T
  %one = arith.constant CONSTANT(1.0) : T
  %s = arith.addf %e, %one : T
  """
COMPOSED = {
    "exp_of_nonpositive": NEGATIVE.replace("%e", "%r"),
    "sigmoid": NEGATIVE + "%r = arith.divf %one, %s : T",
    "sigmoid_of_negative": NEGATIVE + "%r = arith.divf %e, %s : T",
    "erf_of_third": THIRD + "%r = math.erf %third : T",
    "tanh_of_third": THIRD + "%r = math.tanh %third : T",
}


def body(name: str, kind: str) -> str:
    """%r, the function of %a, both of a type."""
    text = COMPOSED.get(name, f"%r = math.{name} %a : T")
    constant = r"dense<\1>" if kind.startswith("vector") else r"\1"
    return re.sub(r"CONSTANT\((.*?)\)", constant, text).replace(": T", f": {kind}")


def source() -> str:
    """For each function `name_tiles`, `name_elements` and, in f64, `name_exact`, which libm computes."""
    functions: list[str] = []
    for name in ULPS:
        head = f"""
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %c64 = arith.constant 64 : index
          %n = arith.constant {CHUNK} : index
          %ok = arith.constant 0 : i32
          %x = aot.buffer %xp : !aot.ptr<f32> to memref<{CHUNK}xf32>"""
        single = f"%y = aot.buffer %yp : !aot.ptr<f32> to memref<{CHUNK}xf32>"
        functions.append(f"""
        func.func @{name}_tiles(%xp: !aot.ptr<f32>, %yp: !aot.ptr<f32>) -> i32 {{
          {head}
          {single}
          scf.for %i = %c0 to %n step %c64 {{
            %a = aot.tile_load %x[%i] {{strides = array<i64: 16, 1>}} : memref<{CHUNK}xf32> -> vector<4x16xf32>
            {body(name, "vector<4x16xf32>")}
            aot.tile_store %r, %y[%i] {{strides = array<i64: 16, 1>}} : vector<4x16xf32>, memref<{CHUNK}xf32>
          }}
          func.return %ok : i32
        }}
        func.func @{name}_elements(%xp: !aot.ptr<f32>, %yp: !aot.ptr<f32>) -> i32 {{
          {head}
          {single}
          // the pass is for kernels with tiles
          %t = arith.constant dense<0.0> : vector<16xf32>
          scf.for %i = %c0 to %n step %c1 {{
            %a = memref.load %x[%i] : memref<{CHUNK}xf32>
            {body(name, "f32")}
            memref.store %r, %y[%i] : memref<{CHUNK}xf32>
          }}
          func.return %ok : i32
        }}
        func.func @{name}_exact(%xp: !aot.ptr<f32>, %yp: !aot.ptr<f64>) -> i32 {{
          {head}
          %y = aot.buffer %yp : !aot.ptr<f64> to memref<{CHUNK}xf64>
          scf.for %i = %c0 to %n step %c1 {{
            %b = memref.load %x[%i] : memref<{CHUNK}xf32>
            %a = arith.extf %b : f32 to f64
            {body(name, "f64")}
            memref.store %r, %y[%i] : memref<{CHUNK}xf64>
          }}
          func.return %ok : i32
        }}""")
    return "builtin.module {" + "".join(functions) + "}"


@pytest.fixture(scope="module", autouse=True)
def quiet() -> Iterator[None]:
    """numpy warns of the very values that are tested."""
    with np.errstate(all="ignore"):
        yield


@kept_for_a_file(1)
def module() -> ModuleOp:
    return lowered(source(), "expand-math,unroll-tiles")


@kept_for_a_file(1)
def by_llvm() -> dict[str, Kernel]:
    """All functions."""
    return all_through_llvm(module(), [f"{name}_{kind}" for name in ULPS for kind in KINDS])


@kept_for_a_file(1)
def by_c() -> dict[str, Kernel]:
    with TemporaryDirectory(prefix="aotc-math.") as folder:
        return all_through_c(module(), [f"{name}_{kind}" for name in ULPS for kind in KINDS], Path(folder))


@pytest.mark.parametrize("name", ULPS)
def test_error_of_functions(name: str) -> None:
    tiles, exact = (by_llvm()[f"{name}_{kind}"] for kind in ("tiles", "exact"))
    worst, at, beyond = 0.0, 0.0, False
    found, expected = np.empty(CHUNK, np.float32), np.empty(CHUNK, np.float64)
    for x in chunks(STEP):
        tiles(x, found)
        exact(x, expected)
        error = errors(found, expected)
        if name in OF_NEGATIVE:
            small = expected < LEAST_NORMAL
            assert (found[small] < LEAST_NORMAL).all()
            error[small] = 0
        place = int(np.argmax(error))
        if error[place] > worst:
            worst, at = float(error[place]), float(x[place])
        beyond |= bool((np.abs(found) > 1).any())
    print(f"{name}: {worst:.3f} ulp at {at!r}")
    assert worst <= ULPS[name], f"{worst} ulp at {at!r}"
    assert name in FUNCTIONS.keys() - BOUNDED.keys() or not beyond


def same(found: Array, expected: Array) -> bool:
    """Whether all bits are the same; any NaN is like another."""
    return bool(((found.view(np.uint32) == expected.view(np.uint32)) | (np.isnan(found) & np.isnan(expected))).all())


@pytest.mark.parametrize("name", ULPS)
def test_elements_tiles_and_c_agree_bit_for_bit(name: str) -> None:
    corners = [0.0, -0.0, 1.0, -1.0, 88.72, 88.73, 89.5, -87.4, -103.9, -104.5, 1e-40, -1e-40, np.inf, -np.inf, np.nan]
    random = np.random.default_rng(0)
    spread = random.integers(0, 2**32, 3 * CHUNK // 4, dtype=np.uint32).view(np.float32)
    x = np.concatenate([corners, spread, random.normal(0, 3, CHUNK // 4 - len(corners))]).astype(np.float32)
    results: dict[str, Array] = {}
    for kind in ("tiles", "elements"):
        for way, compiled in (("llvm", by_llvm), ("c", by_c)):
            results[f"{kind} {way}"] = np.empty_like(x)
            compiled()[f"{name}_{kind}"](x, results[f"{kind} {way}"])
    for how, result in results.items():
        assert same(result, results["tiles llvm"]), how
