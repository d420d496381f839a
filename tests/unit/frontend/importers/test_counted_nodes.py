"""Nodes of aotc.frontend.onnx.importers.counted: the valid part of what they give is onnxruntime's."""

from __future__ import annotations

import numpy as np
import pytest
from evaluated import agrees, evaluate, names, parsed, refused
from operators.counted_nodes import EACH, HEAD, SOME, SPARSE


def graph(nodes: str) -> str:
    """The inputs, the constants and the nodes that all begin with, and these."""
    inputs, _, rest = HEAD.removeprefix("g (").partition(") => (y) <")
    constants, _, first = rest.partition("> {")
    return f"{18 if 'reduction' in nodes else 17} | {inputs}; {constants} | {first}{nodes}"


@pytest.mark.parametrize("what", [*EACH, *SOME])
def test_some_parts(what: str) -> None:
    agrees(graph((EACH | SOME)[what]), x=SPARSE)


@pytest.mark.parametrize("what", EACH)
def test_no_parts(what: str) -> None:
    agrees(graph(EACH[what]), x=np.zeros((3, 4), np.float32))


@pytest.mark.parametrize(
    "nodes",
    [
        "y = Softmax<axis = 1>(g)",
        "y = Size(z)",
        "y = Shape<start = 2, end = 1>(z)",
        "y = Shape<start = 1>(z)",
        "k = Shape<end = 1>(w) y = Expand(one, k)",
        "a3 = ArgMax<axis = 1, keepdims = 0>(x) a4 = Gather<axis = 0>(a3, first) i = Reshape(a4, one)"
        " y = Slice(g, i, end, zero)",
    ],
)
def test_nodes(nodes: str) -> None:
    agrees(graph(nodes), x=SPARSE)


BOXES = "f4 = Constant<value_ints = [4]>() n = Slice(g, zero, f4, one) bx = Unsqueeze(n, zero)"
SCORES = "v2 = Unsqueeze(v, zero) s = Unsqueeze(v2, zero)"
ANY = "o = ReduceMax<keepdims = 0>(x) u = Cast<to = 7>(o) i = Unsqueeze(u, zero)"
FIXED = "fb = Constant<value = float[1, 12, 4] {" + ", ".join(["1"] * 48) + "}>()"
FIXED += " fs = Constant<value = float[1, 1, 12] {" + ", ".join(["1"] * 12) + "}>()"


@pytest.mark.parametrize(
    ("nodes", "problem"),
    [
        (f"{BOXES} {FIXED} y = NonMaxSuppression(bx, fs, three)", "data-dependent-extent"),
        (f"{SCORES} {FIXED} y = NonMaxSuppression(fb, s, three)", "data-dependent-extent"),
        ("y = Reshape(x, p)", "unknown-value"),
        ("y = ReduceSum(t, p)", "unknown-value"),
        (
            f"{ANY} s = Concat<axis = 0>(zero, i) e = Concat<axis = 0>(two, end) y = Slice(g, s, e)",
            "data-dependent-extent",
        ),
    ],
)
def test_nodes_that_are_refused(nodes: str, problem: str) -> None:
    assert refused(graph(nodes)) == [problem]


def test_the_first_of_a_row_are_as_many_as_are_asked_for() -> None:
    feed = {"x": SPARSE, "t": np.zeros((4, 9), np.float32)}
    assert set(evaluate(parsed(graph("i, y = TopK(v, two)")), feed)) == {"y"}
    asked = "k = Shape(v) n = Constant<value_ints = [9]>() s = Add(k, n) i, y = TopK(v, s)"
    assert evaluate(parsed(graph(asked)), feed)["y_count"] == 5


@pytest.mark.parametrize(("opset", "node"), [(9, "TopK<k = 1, axis = 1>(f)"), (12, "Softmax<axis = 1>(f)")])
def test_versions_that_do_not_count(opset: int, node: str) -> None:
    result = "y, y2" if "TopK" in node else "y"
    found = refused(f"{opset} | float[3, 4] x | z = NonZero(x) f = Cast<to = 1>(z) {result} = {node}")
    assert found == ["data-dependent-extent"]


def test_versions_that_count() -> None:
    agrees("10 | float[3, 4] x; int64[1] k = {1} | z = NonZero(x) f = Cast<to = 1>(z) y, y2 = TopK(f, k)", x=SPARSE)
    agrees("13 | float[3, 4] x | z = NonZero(x) f = Cast<to = 1>(z) y = Softmax<axis = 1>(f)", x=SPARSE)


def test_the_first_parts_are_a_slice() -> None:
    assert not {"gather", "div"} & {*names(graph("y = Slice(z, zero, two, one)"))}
