"""Inputs that shapes follow from: compiled for by their values, without being told where they are small."""

from __future__ import annotations

import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest

import aotc
from aotc.compiler.dynamic.specializing import Specialization
from aotc.errors import CompileError


def parsed(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 18]> {text}')


def test_values_that_shapes_follow_from_are_compiled_for() -> None:
    """Without being told, one after the other as they are found, and beside dimensions that are open or not."""
    nodes = "{ two = Constant<value_int=2>() k2 = Mul(k, two) v, p = TopK(x, k2) y = Reshape(v, shape) }"
    for extent in ("n", "3"):
        text = f"m (float[{extent},4] x, int64[1] k, int64[r] shape) => (float[a,b] y) {nodes}"
        heard: list[Specialization] = []
        model = aotc.compile(parsed(text), on_compile=heard.append)
        x = np.random.default_rng(3).standard_normal((3, 4)).astype(np.float32)
        calls = [([1], [2, 3]), ([2], [4, 3]), ([1], [2, 3]), ([1], [6, 1]), ([2], [2, 2, 3])]
        for k, shape in calls:
            given = {"x": x, "k": np.array(k), "shape": np.array(shape)}
            session = onnxruntime.InferenceSession(parsed(text).SerializeToString(), providers=["CPUExecutionProvider"])
            np.testing.assert_array_equal(model(given)["y"], session.run(None, given)[0])
        assert len(heard) == 4


def test_shapes_that_follow_from_data_are_refused() -> None:
    text = "m (float[99] x) => (y) { s = ReduceSum<keepdims=1>(x) c = Cast<to=7>(s) y = Reshape(x, c) }"
    with pytest.raises(CompileError, match="unknown-value"):
        aotc.compile(parsed(text))
    small = "m (float[2] x) => (y) { c = Cast<to=7>(x) y = com.example.None(x, c) z = Reshape(x, c) }"
    with pytest.raises(CompileError, match="unsupported-operator"):
        aotc.compile(parsed(small.replace("=> (y)", "=> (y, z)")))


@pytest.mark.parametrize("node", ["Transpose<perm=[0, 1, 2]>(x)", "MatMul(x, x)"])
def test_the_condition_of_a_branch_that_does_not_fit_is_compiled_for(node: str) -> None:
    """Only where that branch is taken the call is refused; whether or not its problem can be mended otherwise."""
    text = f"""m (float[2,3] x, int64 rate) => (float[a,b] y) {{
        least = Constant<value_int=8>()
        slow = Less(rate, least)
        y = If(slow) <
            then_branch = then () => (float[2,2] t) {{ t = {node} }},
            else_branch = else () => (float[2,3] e) {{ e = Add(x, x) }}
        >
    }}"""
    heard: list[Specialization] = []
    model = aotc.compile(parsed(text), on_compile=heard.append)
    x = np.ones((2, 3), np.float32)
    for rate in (16, 8, 16):
        np.testing.assert_array_equal(model({"x": x, "rate": np.int64(rate)})["y"], x + x)
    assert len(heard) == 2
    with pytest.raises(CompileError, match=node.partition("(")[0].partition("<")[0]):
        model({"x": x, "rate": np.int64(7)})
    with pytest.raises(CompileError, match=r'never taken, .* with constants=\{"rate": VALUE\}'):
        aotc.build(parsed(text))
