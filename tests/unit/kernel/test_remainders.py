"""Exact remainders of floats on tiles, against those of libm, by LLVM and C; and where kernels keep libm's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx.parser
import pytest
from harness import by_c_and_llvm
from xdsl.dialects.func import FuncOp

from aotc.compiler.driver import lower
from aotc.dialects.aot import FModOp
from aotc.pipeline.options import CompileOptions

COUNT = 20_011
SPECIAL = np.array(
    [0, -0.0, np.inf, np.nan, 1e-45, -1e-45, 3.4028235e38, 1.1754944e-38, 1, -1, 3, 1e30, 2**24, 2**24 - 1, 8388607.5],
    np.float32,
)


def pairs(dtype: type[np.floating]) -> tuple[np.ndarray, np.ndarray]:
    """Dividends and divisors: special ones, near multiples, any bits."""
    random = np.random.default_rng(0)
    width = np.dtype(dtype).itemsize
    special = SPECIAL.astype(dtype)
    first, second = (each.ravel() for each in np.meshgrid(special, special))
    bits = random.integers(0, 2 ** (8 * width), (3, COUNT), f"uint{8 * width}").view(dtype)
    times = random.integers(1, 1000, COUNT).astype(dtype)
    normal = random.standard_normal((2, COUNT)).astype(dtype)
    dividends = [first, bits[0], bits[1] * times, normal[0] * times, normal[0]]
    return np.concatenate(dividends), np.concatenate([second, bits[2], bits[1], normal[0], normal[1]])


def _model(kind: str) -> onnx.ModelProto:
    graph = f"g ({kind} x, {kind} y) => ({kind} z) {{ z = Mod <fmod = 1> (x, y) }}"
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {graph}')


@pytest.mark.parametrize(("name", "dtype"), [("float", np.float32), ("float16", np.float16)])
def test_remainders_are_exact(name: str, dtype: type[np.floating], tmp_path: Path) -> None:
    with np.errstate(all="ignore"):
        dividends, divisors = pairs(dtype)
        exact = np.fmod(dividends.astype(np.float32), divisors.astype(np.float32)).astype(dtype)
    size = len(exact)
    model = _model(f"{name}[{size}]")
    for compiled in by_c_and_llvm(model, tmp_path):
        (found,) = compiled({"x": dividends, "y": divisors}).values()
        same = found.view(f"uint{8 * found.itemsize}") == exact.view(f"uint{8 * found.itemsize}")
        assert (same | (np.isnan(found) & np.isnan(exact))).all()


@pytest.mark.parametrize(
    ("dtype", "target", "are_libm"),
    [("float", "x86-64-v3", False), ("float", "x86-64", True), ("double", "x86-64-v3", True)],
)
def test_multiply_adds_must_round_once_and_floats_be_narrow(dtype: str, target: str, are_libm: bool) -> None:
    module = lower(_model(f"{dtype}[64]"), CompileOptions(target=target)).module
    kernels = [each for each in module.walk() if isinstance(each, FuncOp)]
    assert any(isinstance(op, FModOp) for each in kernels for op in each.walk()) == are_libm
