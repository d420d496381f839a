"""Loops whose condition is a function of counters: their trips are counted when compiling."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx_text import parse

import aotc
from aotc.errors import CompileError

COUNTING = """g (float[40, 4] x, float[4] a) => (float[N, 4] all, int64 last)
    <bool yes = {1}, int64 first = {3}, int64 two = {2}, float end = {32.5}, int64 most = {1000}> {
    last, y, all = Loop (most, yes, first, a) <
        body = b (int64 i, bool k, int64 n, float[4] v) => (bool k2, int64 m, float[4] w, float[4] s) {
            m = Add(n, two)  f = Cast<to=1>(m)  k2 = Less(f, end)
            e = Gather<axis=0>(x, n)  u = Add(v, e)  w = Tanh(u)  s = Neg(w)
        }
    >
}"""


def feed() -> dict[str, np.ndarray[Any, Any]]:
    random = np.random.default_rng(3)
    return {"x": random.standard_normal((40, 4)).astype(np.float32), "a": np.zeros(4, np.float32)}


def expected(trips: int) -> np.ndarray[Any, Any]:
    given = feed()
    rows, v = [], given["a"]
    for trip in range(trips):
        v = np.tanh(v + given["x"][3 + 2 * trip])
        rows.append(-v)
    return np.stack(rows)


@pytest.mark.parametrize("optimize", ["0", "2"])
def test_what_a_counted_loop_stacks_has_a_known_extent(optimize: str) -> None:
    found = aotc.compile(parse(COUNTING), optimize=optimize)(feed())
    np.testing.assert_allclose(found["all"], expected(15), atol=1e-6)
    assert found["last"] == 33


@pytest.mark.parametrize(("most", "trips"), [("{7}", 7), ("{15}", 15), ("{9223372036854775807}", 15)])
def test_the_least_of_the_trip_count_and_the_condition_decides(most: str, trips: int) -> None:
    found = aotc.compile(parse(COUNTING.replace("most = {1000}", f"most = {most}")))(feed())
    np.testing.assert_allclose(found["all"], expected(trips), atol=1e-6)


def test_a_condition_that_does_not_end_the_loop_leaves_its_trip_count() -> None:
    endless = COUNTING.replace("k2 = Less(f, end)", "k2 = Greater(f, end)").replace("end = {32.5}", "end = {-1}")
    found = aotc.compile(parse(endless.replace("{1000}", "{4}")))(feed())
    np.testing.assert_allclose(found["all"], expected(4), atol=1e-6)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("k2 = Less(f, end)", "t = ReduceSum<keepdims=0>(w)  k2 = Less(t, end)"),
        ("m = Add(n, two)", "h = ReduceMax<keepdims=0>(x)  j = Cast<to=7>(h)  m = Add(n, j)"),
        ("Loop (most, yes, first, a)", "Loop (most, yes, q, a)"),
        ("Loop (most, yes, first, a)", "Loop (q, yes, first, a)"),
        ("k2 = Less(f, end)", "k2 = Less(f, r)"),
    ],
    ids=["data decide", "data count", "another start", "another trip count", "another end"],
)
def test_what_is_known_only_at_run_time_is_not_counted(old: str, new: str) -> None:
    graph = COUNTING.replace("float[4] a)", "float[4] a, int64 q, float r)").replace(old, new)
    with pytest.raises(CompileError, match="as many elements as the loop has iterations"):
        aotc.compile(parse(graph))


def test_a_loop_that_goes_on_for_long_is_not_counted() -> None:
    long = COUNTING.replace("k2 = Less(f, end)", "k2 = Greater(f, end)").replace("end = {32.5}", "end = {-1}")
    with pytest.raises(CompileError, match="as many elements as the loop has iterations"):
        aotc.compile(parse(long.replace("{1000}", "{9223372036854775807}")))
