"""Inputs that shapes follow from: compiled for by their values, without being told where they are small."""

from __future__ import annotations

import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest

import aotc
from aotc import backend
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


BOUNDED = {
    "the K of TopK": "y, i = TopK(x, k)",
    "an end": "y = Slice(x, zero, k)",
    "a start": "y = Slice(x, k, end)",
    "an end of itself": "y = Slice(m, zero, k)",
    "a condition": """c = Less(k, three) s = Squeeze(c) y = If(s) <
        then_branch = then () => (float[a] t) { t = Slice(x, zero, three) },
        else_branch = else () => (float[b] e) { e = Neg(x) }
    >""",
}
"""k is how many of m are above 0."""


@pytest.mark.parametrize("nodes", BOUNDED.values(), ids=BOUNDED)
@pytest.mark.parametrize("extent", [9, 65])
def test_an_extent_that_is_bounded_is_counted_however_few_values_it_follows_from(nodes: str, extent: int) -> None:
    """It is compiled once, for C, too."""
    text = f"""m (float[{extent}] m, float[20] x) => (float[n] y) <
        float none = {{0}}, int64[1] zero = {{0}}, int64[1] three = {{3}}, int64[1] end = {{99}}
    > {{ g = Greater(m, none) o = Cast<to=7>(g) k = ReduceSum(o) {nodes} }}"""
    compiled = aotc.compile(parsed(text))
    assert isinstance(compiled, aotc.CompiledModel)
    theirs = onnxruntime.InferenceSession(parsed(text).SerializeToString(), providers=["CPUExecutionProvider"])
    ours, prepared = aotc.InferenceSession(parsed(text)), backend.prepare(parsed(text))
    (output,) = ours.get_outputs()
    assert (output.name, output.shape) == ("y", [None])
    x = np.random.default_rng(3).standard_normal(20).astype(np.float32)
    for ones in (0, 2, 5):
        feed = {"m": np.repeat(np.array([1, -1], np.float32), [ones, extent - ones]), "x": x}
        (expected,) = theirs.run(None, feed)
        found = compiled(feed)
        assert int(found["y_count"]) == len(expected)
        np.testing.assert_array_equal(found["y"][: len(expected)], expected)
        for exact in (ours.run(None, feed), prepared.run(feed)):
            assert len(exact) == 1
            np.testing.assert_array_equal(exact[0], expected)
        binding = ours.io_binding()
        for name, value in feed.items():
            binding.bind_cpu_input(name, value)
        binding.bind_output("y")
        ours.run_with_iobinding(binding)
        np.testing.assert_array_equal(binding.copy_outputs_to_cpu()[0], expected)
    header = aotc.build(parsed(text), target="cortex-m4", emit="c")
    assert [tensor.name for tensor in header.metadata.outputs] == ["y", "y_count"]


UNBOUNDED = {
    "a shape": ("int64[2] k", "y = Reshape(x, k)", [[3, 4], [6, 2]]),
    "sizes": ("int64[2] k", "y = Resize(x, , , k)", [[2, 12], [4, 6]]),
    "scales": ("float[2] k", "y = Resize(x, , k)", [[1, 2], [2, 1]]),
    "repeats": ("int64[2] k", "y = Tile(x, k)", [[1, 2], [3, 1]]),
    "a shape to expand to": ("int64[3] k", "y = Expand(x, k)", [[1, 2, 6], [3, 1, 1]]),
    "a shape to fill": ("int64[2] k", "y = ConstantOfShape(k)", [[1, 2], [3, 1]]),
    "pads": ("int64[4] k", "y = Pad(x, k)", [[0, 1, 0, 0], [1, 0, 0, 2]]),
    "a limit": ("int64 k", "o = Constant<value_int=1>() y = Range(o, k, o)", [4, 7]),
    "two ends": ("int64[2] k", "s = Constant<value_ints=[0, 1]>() y = Slice(x, s, k)", [[1, 3], [2, 6]]),
    "an extent that a shape needs": (
        "int64[1] k",
        "o = Constant<value_ints=[0]>() t = Constant<value_ints=[1]>() s = Constant<value_ints=[2, -1, 2]>() "
        "v = Slice(x, o, k, t) y = Reshape(v, s)",
        [[4], [2]],
    ),
    "a K that a shape needs": (
        "int64[1] k",
        "s = Constant<value_ints=[2, -1, 2]>() v, i = TopK(x, k) y = Reshape(v, s)",
        [[4], [2]],
    ),
}


@pytest.mark.parametrize(("value", "nodes", "values"), UNBOUNDED.values(), ids=UNBOUNDED)
def test_a_shape_that_nothing_bounds_is_compiled_for(value: str, nodes: str, values: list[object]) -> None:
    text = f"m (float[2,6] x, {value}) => (y) {{ {nodes} }}"
    heard: list[Specialization] = []
    model = aotc.compile(parsed(text), on_compile=heard.append)
    session = onnxruntime.InferenceSession(parsed(text).SerializeToString(), providers=["CPUExecutionProvider"])
    x = np.arange(12, dtype=np.float32).reshape(2, 6)
    for each in (*values, values[0]):
        feed = {"x": x, "k": np.array(each, np.float32 if "float" in value else np.int64)}
        np.testing.assert_array_equal(model(feed)["y"], session.run(None, feed)[0])
    assert len(heard) == 2
    with pytest.raises(CompileError, match=r'constants=\{"k": VALUE\}'):
        aotc.build(parsed(text))


def test_how_many_are_found_is_not_compiled_for() -> None:
    """Where an operator cannot read so many, they are data, however few they are found among."""
    text = "m (float[6] x) => (y) { z = NonZero(x) p = Constant<value_ints=[0, 0, 0, 1]>() y = Pad(z, p) }"
    with pytest.raises(CompileError, match="data-dependent-extent") as caught:
        aotc.compile(parsed(text))
    assert not caught.value.waits_for
