"""Loops whose condition is a function of counters, which is counted when compiling, and those that data end."""

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


def expected(trips: int, step: int = 2) -> np.ndarray[Any, Any]:
    given = feed()
    rows, v = [], given["a"]
    for trip in range(trips):
        v = np.tanh(v + given["x"][3 + step * trip])
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
        ("Loop (most, yes, first, a)", "Loop (q, yes, first, a)"),
        ("Loop (most, yes, first, a)", "Loop ( , yes, q, a)"),
    ],
    ids=["another trip count", "another start and none"],
)
def test_what_nothing_bounds_is_refused(old: str, new: str) -> None:
    graph = COUNTING.replace("float[4] a)", "float[4] a, int64 q)").replace(old, new)
    with pytest.raises(CompileError, match="unknown-value"):
        aotc.build(parse(graph))


BOUNDED = COUNTING.replace("float[4] a)", "float[4] a, int64 q, float r, bool go)").replace("{1000}", "{10}")


@pytest.mark.parametrize(
    ("old", "new", "trips"),
    [
        ("k2 = Less(f, end)", "t = ReduceMax<keepdims=0>(w)  k2 = Less(t, r)", 2),
        ("m = Add(n, two)", "h = ReduceMax<keepdims=0>(x)  j = Cast<to=7>(h)  g = Div(j, j)  m = Add(n, g)", 10),
        ("yes, first, a)", "yes, q, a)", 10),
        ("k2 = Less(f, end)", "k2 = Less(f, r)", 1),
        ("yes, first", "go, first", 0),
    ],
    ids=["data decide", "data count", "another start", "another end", "none"],
)
@pytest.mark.parametrize("options", [{"optimize": "0"}, {}, {"threads": 2}, {"executor": "vm"}], ids=str)
def test_what_data_end_is_as_long_as_it_may_become(old: str, new: str, trips: int, options: dict[str, Any]) -> None:
    given = {**feed(), "q": np.array(3), "r": np.array(0.5, np.float32), "go": np.array(False)}
    model = parse(BOUNDED.replace(old, new))
    found = aotc.compile(model, **options)({value.name: given[value.name] for value in model.graph.input})
    step = 1 if "Div" in new else 2
    rows = expected(trips, step) if trips else np.zeros((0, 4), np.float32)
    assert found["all"].shape == (10, 4) and found["all_count"] == trips
    np.testing.assert_allclose(found["all"][:trips], rows, atol=1e-6)
    assert not found["all"][trips:].any()


def test_what_such_a_loop_stacks_is_read_part_by_part_only() -> None:
    bounded = BOUNDED.replace("Less(f, end)", "Less(f, r)").replace("(float[N, 4] all,", "(float[M, 4] more,")
    each = bounded.removesuffix("}") + "more = Tanh(all)\n}"
    given = {**feed(), "q": np.array(3), "r": np.array(9, np.float32), "go": np.array(True)}
    found = aotc.compile(parse(each))(given)
    assert found["more_count"] == 3
    with pytest.raises(CompileError, match="data-dependent-extent"):
        aotc.compile(parse(each.replace("Tanh(all)", "Hardmax<axis = 0>(all)")))


def test_a_loop_that_goes_on_for_long_is_not_counted() -> None:
    long = COUNTING.replace("k2 = Less(f, end)", "k2 = Greater(f, end)").replace("end = {32.5}", "end = {-1}")
    with pytest.raises(CompileError, match="unknown-value"):
        aotc.compile(parse(long.replace("{1000}", "{9223372036854775807}")))


def test_a_great_trip_count_makes_no_constant_of_its_size() -> None:
    long = BOUNDED.replace("{10}", "{3000000}").replace("Less(f, end)", "Less(f, r)")
    compilation = aotc.build(parse(long), target="cortex-m4f")
    assert sum(len(each.read()) for each in compilation) < 1 << 20
    with pytest.raises(CompileError, match="too-large"):
        aotc.compile(parse(long.replace("{3000000}", "{2000000000}")))
