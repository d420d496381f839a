"""Operators that read values of data-dependent extents: the valid part of their results is onnxruntime's."""

from __future__ import annotations

import numpy as np
import onnx.parser
import onnxruntime
import pytest
from counted_nodes import EACH, HEAD, SOME, SPARSE

import aotc
from aotc.errors import CompileError
from aotc.executor.step import RunError


def agrees(nodes: str, x: np.ndarray, optimize: str) -> None:
    opset = 18 if "reduction" in nodes else 17  # the first where there are max and min
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]>\n{HEAD}{nodes} }}')
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    feeds = {"x": x, "t": np.random.default_rng(8).standard_normal((4, 9)).astype(np.float32)}
    (expected,) = session.run(["y"], feeds)
    found = aotc.compile(model.SerializeToString(), optimize=optimize)(feeds)
    actual = found["y"]
    if "y_count" in found:
        count, pairs = int(found["y_count"]), list(zip(actual.shape, expected.shape, strict=True))
        axis = next((place for place, (a, b) in enumerate(pairs) if a != b), None)
        if axis is None:  # all of them
            axis = expected.shape.index(count)
        assert count == expected.shape[axis]
        actual = np.take(actual, range(count), axis)
    assert actual.dtype == expected.dtype and actual.shape == expected.shape
    if expected.dtype.kind == "f":
        rtol, atol = (2e-3, 1e-3) if expected.dtype == np.float16 else (2e-6, 1e-5)
        np.testing.assert_allclose(actual, expected, rtol, atol)
    else:
        np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("what", [*EACH, *SOME])
@pytest.mark.parametrize("optimize", ["0", "2"])
def test_counted_parts(what: str, optimize: str) -> None:
    agrees((EACH | SOME)[what], SPARSE, optimize)


@pytest.mark.parametrize("what", EACH)
def test_no_parts(what: str) -> None:
    agrees(EACH[what], np.zeros((3, 4), np.float32), "2")


@pytest.mark.parametrize(
    "nodes",
    [
        "y = ScatterND(x, d, v)",
        'y = ScatterND<reduction = "add">(x, d, v)',
        "k = Sub(p, far) y = ScatterElements<axis = 0>(m, k, v)",
    ],
)
def test_what_is_not_there_is_no_index(nodes: str) -> None:
    head = HEAD.replace("int64 first", "int64 far = {50}, int64 first")
    text = f'<ir_version: 10, opset_import: ["" : 18]>\n{head} d = Sub(w, far) {nodes} }}'
    compiled = aotc.compile(onnx.parser.parse_model(text), check_indices=True)
    found = compiled(x=np.zeros((3, 4), np.float32), t=np.ones((4, 9), np.float32))["y"]
    np.testing.assert_array_equal(found, np.arange(1, 10) if "Elements" in nodes else np.zeros((3, 4)))
    with pytest.raises(RunError, match="failed-run"):
        compiled(x=SPARSE, t=np.ones((4, 9), np.float32))


def test_backwards_is_refused() -> None:
    text = f'<ir_version: 10, opset_import: ["" : 18]>\n{HEAD} y = Slice(g, end, zero, zero, minus) }}'
    with pytest.raises(CompileError, match="data-dependent-extent"):
        aotc.build(onnx.parser.parse_model(text))


@pytest.mark.parametrize(
    "then",
    [
        "{ ty = Unsqueeze(g, zero) }",
        "{ ty = Cast<to = 11>(g) }",
        "{ tz = Slice(t, one, two, one) ty = Slice(tz, one, two) }",
    ],
)
def test_branches_that_differ_otherwise(then: str) -> None:
    """In the rank, in the type or along another axis than that of the parts."""
    nodes = "m2 = ReduceMax<keepdims = 0>(x) l2 = Constant<value_float = 6.0>() e = Less(l2, m2)"
    nodes += f" y = If (e) <then_branch = t1 () => (ty) {then}, else_branch = e1 () => (ey) {{ ey = Abs(g) }}>"
    text = f'<ir_version: 8, opset_import: ["" : 17]>\n{HEAD}{nodes} }}'
    with pytest.raises(CompileError, match="data-dependent-extent"):
        aotc.build(onnx.parser.parse_model(text))
