"""Indices known only at run time: what is out of range is clamped or left out, or with `check_indices` a status."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx.parser
import pytest

from aotc.compiler.driver import lower
from aotc.errors import AotcError, UsageError
from aotc.measuring.routes import open_model
from aotc.pipeline.options import CompileOptions

MODEL = """<ir_version: 8, opset_import: ["" : 17]>
g (float[5, 40] x, int64[3] i, int32[2, 40] j, int64[3, 2] k, int64[2, 40] s, float[2, 40] u, int64[2, 1] t)
    => (a, b, c, d, e) {
    a = Gather(x, i)
    b = GatherElements(x, j)
    c = GatherND(x, k)
    d = ScatterElements(x, s, u)
    e = ScatterND(x, t, u)
}"""

RANDOM = np.random.default_rng(3)
FEED = {
    "x": RANDOM.standard_normal((5, 40)).astype(np.float32),
    "i": np.array([4, -5, 0]),
    "j": RANDOM.integers(-5, 5, (2, 40)).astype(np.int32),
    "k": np.array([[4, -40], [-5, 39], [0, 0]]),
    "s": np.array([[-5] * 40, [4] * 40]),
    "u": RANDOM.standard_normal((2, 40)).astype(np.float32),
    "t": np.array([[-1], [0]]),
}


@pytest.mark.parametrize(("route", "optimize"), [("jit", "0"), ("jit", "2"), ("c", "2")])
def test_indices_out_of_range(route: str, optimize: str, tmp_path: Path) -> None:
    path = tmp_path / "indices.onnx"
    onnx.save(onnx.parser.parse_model(MODEL), path)
    free, checked = (
        open_model(str(path), route, CompileOptions.of(optimize=optimize, check_indices=check))
        for check in (False, True)
    )
    expected = free(FEED)
    for name, value in checked(FEED).items():
        np.testing.assert_array_equal(value, expected[name], name)
    for name, low, high in (("i", -6, 5), ("j", -6, 5), ("k", -6, 5), ("s", -6, 5), ("t", -6, 5)):
        for wrong in (low, high):
            feed = {**FEED, name: FEED[name].copy()}
            feed[name].flat[-2 if name == "k" else -1] = wrong
            with pytest.raises(AotcError, match="returned -1"):
                checked(feed)
            found = free(feed)
            assert all(np.isfinite(value).all() for value in found.values())
    clamped = free({**FEED, "i": np.array([99, -99, 2]), "t": np.array([[99], [-1]])})
    np.testing.assert_array_equal(clamped["a"], FEED["x"][[4, 0, 2]])
    np.testing.assert_array_equal(clamped["e"], np.concatenate([FEED["x"][:4], FEED["u"][1:]]))


def test_checks_are_for_one_thread(tmp_path: Path) -> None:
    path = tmp_path / "indices.onnx"
    onnx.save(onnx.parser.parse_model(MODEL), path)
    with pytest.raises(UsageError, match="--threads 2 with --check-indices"):
        lower(str(path), CompileOptions.of(check_indices=True, threads=2))
