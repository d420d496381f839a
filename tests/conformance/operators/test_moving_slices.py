"""Slices that begin or end at a data-dependent element."""

from __future__ import annotations

import numpy as np
import onnx.parser
import onnxruntime
import pytest

import aotc
from aotc.errors import CompileError
from aotc.executor import RunError

X = np.arange(60, dtype=np.float32).reshape(3, 4, 5)

SLICES = {
    "one axis": "e = Add(s, two) y = Slice(x, s, e, last)",
    "a number": "n = Squeeze(s) o = Add(n, one) a = Unsqueeze(n, zero) e = Unsqueeze(o, zero) y = Slice(x, a, e, zero)",
    "from its end": "a = Sub(s, one1) y = Slice(x, a, s, last)",
    "every second": "e = Add(three, s) y = Slice(x, s, e, last, two)",
    "backwards": "e = Sub(s, two) y = Slice(x, s, e, last, back)",
    "32 bits": "i = Cast<to = 6>(s) t = Cast<to = 6>(two) e = Add(i, t) l = Cast<to = 6>(last) y = Slice(x, i, e, l)",
    "cast later": "i = Cast<to = 6>(s) a = Cast<to = 7>(i) e = Add(a, two) y = Slice(x, a, e, last)",
    "two axes": "a = Concat<axis = 0>(s, s) e = Add(a, pair) k = Concat<axis = 0>(last, one1) y = Slice(x, a, e, k)",
    "one fixed": "a = Concat<axis = 0>(zero, s) t = Add(s, one1) e = Concat<axis = 0>(two, t) y = Slice(x, a, e)",
    "nothing": "y = Slice(x, s, s, last)",
}


def model(nodes: str) -> bytes:
    head = """g (float[3, 4, 5] x, int64[1] s) => (y) <int64 one = {1}, int64[1] zero = {0}, int64[1] one1 = {1},
        int64[1] two = {2}, int64[1] three = {3}, int64[1] last = {2}, int64[1] back = {-1}, int64[2] pair = {2, 1}>"""
    text = f'<ir_version: 10, opset_import: ["" : 17]>\n{head} {{ {nodes} }}'
    return onnx.parser.parse_model(text).SerializeToString()


@pytest.mark.parametrize("nodes", SLICES.values(), ids=SLICES)
@pytest.mark.parametrize("optimize", ["0", "2"])
def test_moving_slices(nodes: str, optimize: str) -> None:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model(nodes), options)
    compiled = aotc.compile(model(nodes), optimize=optimize)
    for start in (4, 3) if "back)" in nodes else (2, 1) if "three" in nodes or "Sub" in nodes else (1, 2, -3):
        feeds = {"x": X, "s": np.array([start])}
        (expected,) = session.run(None, feeds)
        np.testing.assert_array_equal(compiled(feeds)["y"], expected)


@pytest.mark.parametrize("optimize", ["0", "2", "s"])
@pytest.mark.parametrize("nodes", [nodes for name, nodes in SLICES.items() if name != "a number"])
def test_a_window_that_goes_beyond_an_end_fails(nodes: str, optimize: str) -> None:
    """Its extent is fixed: where ONNX takes fewer elements than that, there is no result."""
    session = onnxruntime.InferenceSession(model(nodes))
    compiled = aotc.compile(model(nodes), optimize=optimize)
    failed = 0
    for start in (*range(-9, 10), -(2**31), 2**31 - 9):
        feeds = {"x": X, "s": np.array([start])}
        (expected,) = session.run(None, feeds)
        if expected.shape == compiled.outputs[0].shape:
            np.testing.assert_array_equal(compiled(feeds)["y"], expected)
        else:
            failed += 1
            with pytest.raises(RunError, match="returned -1"):
                compiled(feeds)
    assert failed or nodes == SLICES["nothing"]


@pytest.mark.parametrize(
    ("nodes", "what"),
    [
        ("y = Slice(x, s, zero, last, back)", "the starts (input 1) is computed at run time"),
        ("n = Constant<value_ints = [9]>() e = Add(s, n) y = Slice(x, s, e, last)", "takes 9 elements of axis 2"),
    ],
)
def test_what_does_not_say_how_many(nodes: str, what: str) -> None:
    with pytest.raises(CompileError) as caught:
        aotc.build(model(nodes))
    assert what in str(caught.value)


@pytest.mark.parametrize(
    "nodes",
    [
        "y = Slice(x, zero, s, last)",
        "e = Mul(s, two) y = Slice(x, s, e, last)",
        "t = Neg(s) e = Add(t, two) y = Slice(x, s, e, last)",
        "e = Sub(two, s) y = Slice(x, s, e, last)",
        "i = Cast<to = 3>(s) a = Cast<to = 7>(i) e = Add(s, two) y = Slice(x, a, e, last)",
    ],
)
def test_how_many_is_counted_where_it_is_not_said(nodes: str) -> None:
    """The ends are not so many elements from the starts: what is cast to fewer bits may wrap."""
    session = onnxruntime.InferenceSession(model(nodes))
    compiled = aotc.compile(model(nodes))
    for start in (0, 1, 2, 4, -1, 257):
        feeds = {"x": X, "s": np.array([start])}
        (expected,) = session.run(None, feeds)
        found = compiled(feeds)
        assert int(found["y_count"]) == expected.shape[2]
        np.testing.assert_array_equal(found["y"][..., : expected.shape[2]], expected)


OPEN = {
    "an end": "y = Slice(x, zero, m, last)",
    "a start": "e = Constant<value_ints = [4]>() y = Slice(x, m, e, last)",
    "both": "k = Neg(two) e = Add(m, k) n = Mul(e, two) y = Slice(x, m, n, last)",
    "every second": "y = Slice(x, one1, m, last, two)",
    "from the end": "n = Neg(m) y = Slice(x, n, last, last)",
    "up to its end": "n = Neg(m) y = Slice(x, one1, n, last)",
    "of a start before the end": "y = Slice(x, back, m, last)",
    "other axes": "b = Concat<axis = 0>(one1, m) t = Constant<value_ints = [3, 4]>() y = Slice(x, b, t)",
}
"""m is computed, of few numbers or of more than a model may be compiled for."""


@pytest.mark.parametrize("nodes", OPEN.values(), ids=OPEN)
@pytest.mark.parametrize(("optimize", "extent"), [("0", 99), ("2", 99), ("2", 9)])
def test_an_extent_that_is_data_dependent_is_counted(nodes: str, optimize: str, extent: int) -> None:
    proto = model("f = ArgMax<axis = 0, keepdims = 0>(w) m = Reshape(f, one1) " + nodes)
    proto = onnx.load_model_from_string(proto)
    proto.graph.input.append(onnx.helper.make_tensor_value_info("w", 1, [extent]))
    session = onnxruntime.InferenceSession(proto.SerializeToString())
    compiled = aotc.compile(proto.SerializeToString(), optimize=optimize)
    for place in (0, 1, 3, 5, extent - 1):
        feeds = {"x": X, "s": np.array([0]), "w": np.eye(extent, dtype=np.float32)[place]}
        (expected,) = session.run(None, feeds)
        found = compiled(feeds)
        axis = 1 if "b = " in nodes else 2
        assert int(found["y_count"]) == expected.shape[axis]
        np.testing.assert_array_equal(np.take(found["y"], range(expected.shape[axis]), axis), expected)


@pytest.mark.parametrize(
    "nodes",
    [
        "y = Slice(x, m, zero, last, back)",
        "a = Concat<axis = 0>(m, zero) e = Concat<axis = 0>(last, m) y = Slice(x, a, e)",
    ],
)
def test_what_is_not_counted(nodes: str) -> None:
    """Neither backwards nor along two axes."""
    proto = onnx.load_model_from_string(model("f = ArgMax<axis = 0, keepdims = 0>(w) m = Reshape(f, one1) " + nodes))
    proto.graph.input.append(onnx.helper.make_tensor_value_info("w", 1, [99]))
    with pytest.raises(CompileError, match="unknown-value"):
        aotc.build(proto.SerializeToString())
