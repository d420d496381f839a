"""Loops whose rounds are known when compiling."""

from __future__ import annotations

import numpy as np
import pytest
from onnx_text import Imported, parse

import aotc
from aotc.errors import CompileError


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
        with pytest.raises(CompileError, match=r"50 rounds or more|more than 50 nodes"):
            model = parse(graph.replace("Less(i, last)", endless).replace("Add(v, x)", "Identity(v)"))
            Imported(model, max_nodes=50)


def test_a_loop_without_rounds_has_nothing_to_put_together() -> None:
    graph = """g (float[2] x) => (float[2] y, float[0, 2] all) <int64 n = {0}> {
        y, all = Loop (n, , x) <
            body = b (int64 i, bool k, float[2] v) => (bool k2, float[2] w, float[2] s) {
                k2 = Identity(k)  w = Add(v, x)  s = Neg(w)
            }
        >
    }"""
    (problem,) = problems(graph)
    assert "a loop without rounds" in problem
