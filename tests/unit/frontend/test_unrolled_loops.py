"""Loops whose rounds are known when compiling."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import GraphProto
from onnx_text import Imported, parse
from xdsl.context import Context

import aotc
from aotc.errors import CompileError
from aotc.frontend.onnx import import_model, load_model
from aotc.frontend.onnx.control import loops
from aotc.model.limits import MOST_COMPUTED
from aotc.model.weight_store import WeightStore


def problems(model: str) -> list[str]:
    with pytest.raises(CompileError) as caught:
        Imported(parse(model))
    return [str(problem) for problem in caught.value.problems]


def test_loops_with_known_rounds_are_unrolled() -> None:
    graph = """g (float[2] x) => (float[2] y, float[3, 2] all) <int64 n = {3}> {
        y, all = Loop (n, , x) <
            body = b (int64 i, bool k, float[2] v) => (bool k2, float[2] w, float[2] s) {
                k2 = Identity(k)  f = CastLike(i, v)  w = Mul(v, x)  s = Add(w, f)
            }
        >
    }"""
    model = parse(graph)
    x = np.array([2, -3], np.float32)
    found = aotc.compile(model)({"x": x})
    np.testing.assert_allclose(found["y"], x**4)
    np.testing.assert_allclose(found["all"], np.stack([x**2, x**3 + 1, x**4 + 2]))


def test_a_loop_ends_where_its_condition_is_known_to_be_false() -> None:
    graph = """g (float[2] x) => (float[2] y) <bool yes = {1}, int64 last = {4}> {
        y = Loop ( , yes, x) <
            body = b (int64 i, bool k, float[2] v) => (bool k2, float[2] w) { k2 = Less(i, last)  w = Add(v, x) }
        >
    }"""
    assert Imported(parse(graph)).names == ["add"] * 5
    for endless in ("Identity(k)", "Or(k, k)"):
        with pytest.raises(CompileError, match="endless-loop"):
            model = parse(graph.replace("Less(i, last)", endless).replace("Add(v, x)", "Identity(v)"))
            Imported(model, max_nodes=50)


OPEN = """g (float[2] x) => (float[M] y) <bool yes = {1}, int64[2] one = {1, 1}, int64 last = {5}> {
    n = Loop ( , yes, one) <
        body = b (int64 i, bool k, int64[N] v) => (bool k2, int64[M] w) { k2 = Identity(k)  w = Add(v, one) }
    >
    f = Cast<to = 1>(n)  y = Add(x, f)
}"""
"""A loop over constants."""


def rounds(monkeypatch: pytest.MonkeyPatch, model: str, most_computed: int = MOST_COMPUTED) -> tuple[int, str]:
    """How many rounds are imported in place, and the problem or the operations."""
    ctx, count = Context(), 0
    WeightStore.of(ctx).most_computed = most_computed
    original = loops.Loop._scope

    def counted(self: loops.Loop, body: GraphProto, prefix: str, *more: Any) -> Any:
        nonlocal count
        count += prefix[:-1].isdigit()
        return original(self, body, prefix, *more)

    monkeypatch.setattr(loops.Loop, "_scope", counted)
    try:
        module = import_model(load_model(parse(model)), ctx)
    except CompileError as error:
        return count, str(error)
    return count, str(module)


def test_of_a_loop_that_hands_its_condition_on_no_round_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    count, problem = rounds(monkeypatch, OPEN)
    assert count == 0 and "endless-loop" in problem


def test_few_rounds_are_tried_of_a_loop_whose_end_nobody_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "MOST_TRIED", 100)
    model = OPEN.replace("Identity(k)", "Less(last, last)").replace("{1, 1}, int64", "{1, 1}, bool no = {0}, int64")
    assert rounds(monkeypatch, model)[0] == 1
    count, module = rounds(monkeypatch, OPEN.replace("Identity(k)", "GreaterOrEqual(i, last)").replace("{5}", "{0}"))
    assert 50 <= count <= 52 and "graph.loop" in module


def test_rounds_that_fill_the_memory_are_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    model = OPEN.replace("Identity(k)", "Or(k, k)").replace("Add(v, one)", "Concat<axis = 0>(v, one)")
    first = 16  # what the first round adds, of each of the two attempts
    count, problem = rounds(monkeypatch, model, most_computed=2 * first + 16 * (2 + 3 + 4 + 5))
    assert count == 2 * 5 and "unstable-type" in problem


def test_a_loop_without_rounds_stacks_nothing() -> None:
    graph = """g (float[2] x) => (float[2] y, float[0, 2] all) <int64 n = {0}> {
        y, all = Loop (n, , x) <
            body = b (int64 i, bool k, float[2] v) => (bool k2, float[2] w, float[2] s) {
                k2 = Identity(k)  w = Add(v, x)  s = Neg(w)
            }
        >
    }"""
    x = np.array([2, -3], np.float32)
    found = aotc.compile(parse(graph))({"x": x})
    np.testing.assert_array_equal(found["y"], x)
    assert found["all"].shape == (0, 2)


def test_a_loop_whose_shapes_change_is_unrolled() -> None:
    graph = """g (float[1] x) => (float[N] y) <int64 n = {40}, float[0] none = {}> {
        y = Loop (n, , none) <
            body = b (int64 i, bool k, float[N] v) => (bool k2, float[M] w) {
                k2 = Identity(k)  w = Concat<axis = 0>(v, x)
            }
        >
    }"""
    found = aotc.compile(parse(graph))({"x": np.array([2], np.float32)})
    np.testing.assert_array_equal(found["y"], np.full(40, 2, np.float32))


def test_a_long_loop_stays_one() -> None:
    graph = """g (float[2] x) => (float[2] y) <int64 n = {1000}> {
        y = Loop (n, , x) <
            body = b (int64 i, bool k, float[2] v) => (bool k2, float[2] w) { k2 = Identity(k)  w = Add(v, x) }
        >
    }"""
    assert Imported(parse(graph)).names == ["loop"]


def test_what_is_known_at_run_time_only_is_refused_by_name() -> None:
    stacked = """g (float[2] x, int64 n) => (float[2] y, float[N, 2] all) {
        y, all = Loop (n, , x) <
            body = b (int64 i, bool k, float[2] v) => (bool k2, float[2] w, float[2] s) {
                k2 = Identity(k)  w = Add(v, x)  s = Neg(w)
            }
        >
    }"""
    (problem,) = problems(stacked)
    assert problem.startswith("Loop_0 (Loop): ") and problem.endswith("--constant n=VALUE [unknown-value]")
    (problem,) = problems(stacked.replace("Add(v, x)", "Concat<axis = 0>(v, x)"))
    assert problem.startswith("Loop_0 (Loop): ") and problem.endswith("[unstable-type]")
    branches = """g (float[2] x, bool c) => (float[N, M] y) <int64[2] wide = {1, 2}, int64[2] high = {2, 1}> {
        y = If (c) <
            then_branch = t () => (float[1, 2] a) { a = Reshape(x, wide) },
            else_branch = e () => (float[2, 1] b) { b = Reshape(x, high) }
        >
    }"""
    (problem,) = problems(branches)
    assert problem.startswith("If_0 (If): ") and problem.endswith("--constant c=VALUE [unknown-value]")
    sequence = """g (float[2] x, int64 n) => (float[2] y) {
        y = Loop (n, , x) <
            body = b (int64 i, bool k, seq(float[2]) v) => (bool k2, seq(float[2]) w)
                { k2 = Identity(k)  w = Identity(v) }
        >
    }"""
    (problem,) = problems(sequence)
    assert "'v'" in problem and problem.endswith("[sequence-at-run-time]")


def test_a_sequence_grows_until_a_condition_of_constants_is_false() -> None:
    """As torch.jit.script writes `while`: the greatest trip count there is, and a counter that is carried on."""
    graph = """g (float[2] x) => (float[3, 2] y) <int64 most = {9223372036854775807}, bool yes = {1}, int64 zero = {0},
        int64 one = {1}, int64 three = {3}> {
        e = SequenceEmpty<dtype = 1>()
        n, l = Loop (most, yes, zero, e) <
            body = b (int64 i, bool k, int64 c, seq(float[2]) s) => (bool k2, int64 d, seq(float[2]) t) {
                f = CastLike(c, x)  v = Mul(x, f)  t = SequenceInsert(s, v)  d = Add(c, one)  k2 = Less(d, three)
            }
        >
        y = ConcatFromSequence<axis = 0, new_axis = 1>(l)
    }"""
    x = np.array([2, -3], np.float32)
    np.testing.assert_array_equal(aotc.compile(parse(graph))({"x": x})["y"], np.stack([0 * x, x, 2 * x]))
    with pytest.raises(CompileError, match="sequence-at-run-time"):
        Imported(parse(graph.replace("Less(d, three)", "Identity(k)")), max_nodes=50)
