"""Indices known only at run time: what is out of range is clamped or left out, or with `check_indices` a status."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx.parser
import pytest
from quick_c import open_quickly

import aotc
from aotc.compiler.driver import lower
from aotc.dialects.aot.contract import arguments_of, kernels
from aotc.errors import AotcError
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
        open_quickly(str(path), route, CompileOptions.of(optimize=optimize, check_indices=check))
        for check in (False, True)
    )
    expected = free(FEED)
    for name, value in checked(FEED).items():
        np.testing.assert_array_equal(value, expected[name], name)
    for name, low, high in (("i", -6, 5), ("j", -6, 5), ("k", -6, 5), ("s", -6, 5), ("t", -6, 5)):
        for wrong in (low, high):
            feed = {**FEED, name: FEED[name].copy()}
            feed[name].flat[-2 if name == "k" else -1] = wrong
            with pytest.raises(AotcError, match="failed-run"):
                checked(feed)
            found = free(feed)
            assert all(np.isfinite(value).all() for value in found.values())
    clamped = free({**FEED, "i": np.array([99, -99, 2]), "t": np.array([[99], [-1]])})
    np.testing.assert_array_equal(clamped["a"], FEED["x"][[4, 0, 2]])
    np.testing.assert_array_equal(clamped["e"], np.concatenate([FEED["x"][:4], FEED["u"][1:]]))


LARGE = """<ir_version: 8, opset_import: ["" : 17]>
g (float[500, 400] x, int64[300] i, int32[200, 400] j, int64[3000, 2] k, int64[200, 400] s, float[200, 400] u,
    int64[200, 1] t) => (a, b, c, d, e) {
    a = Gather(x, i)
    b = GatherElements(x, j)
    c = GatherND(x, k)
    d = ScatterElements(x, s, u)
    e = ScatterND(x, t, u)
}"""


def _large_feed() -> dict[str, np.ndarray]:
    rows = RANDOM.permutation(500)[:200, None]
    return {
        "x": RANDOM.standard_normal((500, 400)).astype(np.float32),
        "i": RANDOM.integers(-500, 500, 300),
        "j": RANDOM.integers(-500, 500, (200, 400)).astype(np.int32),
        "k": np.stack([RANDOM.integers(-500, 500, 3000), RANDOM.integers(-400, 400, 3000)], 1),
        "s": np.repeat(rows, 400, 1),
        "u": RANDOM.standard_normal((200, 400)).astype(np.float32),
        "t": rows,
    }


@pytest.mark.parametrize(("route", "threads"), [("jit", 2), ("jit", 3), ("c", 2)])
def test_each_thread_checks_its_share(route: str, threads: int, tmp_path: Path) -> None:
    """Wherever an index is out of range, all threads come back with the status, and the next call is right again."""
    path = tmp_path / "indices.onnx"
    onnx.save(onnx.parser.parse_model(LARGE), path)
    checked = open_quickly(str(path), route, CompileOptions(check_indices=True, threads=threads))
    free = open_quickly(str(path), "jit", CompileOptions())
    feed = _large_feed()
    expected = free(feed)
    for name in "ijkst":
        for place in (0, -1):
            wrong = {**feed, name: feed[name].copy()}
            wrong[name].flat[place] = 500
            with pytest.raises(AotcError, match="failed-run"):
                checked(wrong)
        for output, value in checked(feed).items():
            np.testing.assert_array_equal(value, expected[output], output)


def test_kernels_that_check_are_shared() -> None:
    model = onnx.parser.parse_model(LARGE)
    one, other = (
        [kernel.sym_name.data for kernel in kernels(module) if "thread" in {each.name for each in arguments_of(kernel)}]
        for module in (lower(model, CompileOptions(check_indices=check, threads=2)).module for check in (True, False))
    )
    assert one == other and len(one) > 3


def test_an_index_without_a_sign_is_never_counted_from_the_end() -> None:
    model = """<ir_version: 8, opset_import: ["" : 17]>
        g (uint64[4] i) => (float[4, 3] y) <int64 depth = {3}, float[2] values = {0, 1}>
            { y = OneHot(i, depth, values) }"""
    given = np.array([1, 2**64 - 1, 2**63, 2], np.uint64)
    found = aotc.compile(onnx.parser.parse_model(model).SerializeToString())(given)["y"]
    assert found.argmax(1).tolist() == [1, 0, 0, 2] and found.sum(1).tolist() == [1, 0, 0, 1]
