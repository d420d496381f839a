"""Facts that are told of shapes while extents are open is true, and of exporters' patterns it is told."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
import pytest
from node_suite.cases import load_cases
from onnx import numpy_helper

from aotc.errors import CompileError, UsageError
from aotc.frontend.onnx import OpenShapesError, load_model, open_interface
from aotc.model.extents import OpenTensor, value_of
from aotc.model.known_tensors import KnownTensor

HEAD = '<ir_version: 10, opset_import: ["" : 18]> '


def outputs(text: str, dims: Mapping[str, int | str] | None = None) -> list[str]:
    """The facts that are told of the outputs of a graph; `float[] y` is one of which nothing is declared."""
    model = onnx.parser.parse_model(HEAD + text)
    for value in model.graph.output:
        if not value.type.tensor_type.shape.dim:
            value.type.tensor_type.ClearField("shape")
    _, found = open_interface(load_model(model), dims or {}, {})
    return [str(each) for each in found]


def test_what_is_told_of_every_operator_is_true() -> None:
    """Of each case that the onnx package has: inputs of which every extent is open, integers that are not among what
    is checked as constants; what is told of the outputs' shapes is what they are."""
    told: set[str] = set()
    for case in load_cases():
        graph = case.model.graph
        for feed, expected in case.data():
            if not all(
                isinstance(each, np.ndarray) and each.dtype.kind not in "OUS" for each in (*feed.values(), *expected)
            ):
                continue
            model = onnx.ModelProto()
            model.CopyFrom(case.model)
            extents: dict[str, int] = {}
            for value in model.graph.input:
                if value.name not in feed:
                    continue
                array = feed[value.name]
                if array.dtype.kind == "i" and array.ndim <= 1 and value is not model.graph.input[0]:
                    model.graph.initializer.append(numpy_helper.from_array(array, value.name))
                    continue
                value.type.tensor_type.shape.Clear()
                for axis, extent in enumerate(array.shape):
                    value.type.tensor_type.shape.dim.add().dim_param = f"{value.name}{axis}"
                    extents[f"{value.name}{axis}"] = extent
            for value in model.graph.output:
                value.type.tensor_type.ClearField("shape")
            try:
                _, found = open_interface(load_model(model), {}, {})
            except CompileError:  # an operator is refused
                continue
            for tensor, array in zip(found, expected, strict=True):
                if tensor.shape is None:
                    continue
                assert len(tensor.shape) == array.ndim, (case.name, str(tensor), array.shape)
                for extent, actual in zip(tensor.shape, array.shape, strict=True):
                    assert extent is None or value_of(extent, extents) == actual, (case.name, str(tensor), array.shape)
                if None not in tensor.shape:
                    told.add(graph.node[0].op_type)
    assert len(told) > 130  # of about 170


def test_patterns_of_exporters() -> None:
    """A reshape to what Shape and Gather give, heads of attention, positions, a mask of another rank."""
    assert outputs(
        """m (float[b,s,768] x, int64[b,s] mask) => (float[] y, float[] z, int64[p] p, float[] q)
        <int64 zero = {0}, int64 one = {1}, int64[1] axis = {0}, int64[2] tail = {12, 64}> {
          shape = Shape(x)
          batch = Gather(shape, zero)
          length = Gather(shape, one)
          b1 = Unsqueeze(batch, axis)
          s1 = Unsqueeze(length, axis)
          to = Concat<axis = 0>(b1, s1, tail)
          heads = Reshape(x, to)
          q = Transpose<perm = [0, 2, 1, 3]>(heads)
          k = Transpose<perm = [0, 2, 3, 1]>(heads)
          scores = MatMul(q, k)
          weights = Softmax<axis = -1>(scores)
          y = MatMul(weights, q)
          width = Constant<value_ints = [768]>()
          back = Concat<axis = 0>(b1, s1, width)
          turned = Transpose<perm = [0, 2, 1, 3]>(y)
          z = Reshape(turned, back)
          p = Range(zero, length, one)
        }"""
    ) == ["float32[b, 12, s, 64]", "float32[b, s, 768]", "int64[s]", "float32[b, 12, s, 64]"]


def test_strides_and_pads() -> None:
    assert outputs(
        """m (float[n,3,h,w] x, float[8,3,3,3] k) => (float[] y, float[] z, float[] u) {
          y = Conv<strides = [2, 2], pads = [1, 1, 1, 1]>(x, k)
          z = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(y)
          u = GlobalAveragePool(z)
        }"""
    ) == ["float32[n, 8, (h + 1)//2, (w + 1)//2]", "float32[n, 8, (h + 1)//4, (w + 1)//4]", "float32[n, 8, 1, 1]"]


def test_expand_as_exporters_write_it() -> None:
    """-1 stands for an extent that is kept, by Equal and Where."""
    assert outputs(
        """m (float[1,s] x, float[b,s] like) => (float[] y) <int64[2] ones = {1, 1}, int64[2] minus = {-1, -1}> {
          shape = Shape(like)
          kept = Equal(shape, minus)
          to = Where(kept, ones, shape)
          y = Expand(x, to)
        }"""
    ) == ["float32[b, s]"]


def test_what_depends_on_which_is_greater_is_not_told() -> None:
    assert outputs("m (float[n] x, float[w] y) => (float[] z) { z = Add(x, y) }") == ["float32[?]"]
    assert outputs("m (float[n] x, float[w] y) => (float[] z) { s = Shape(y) z = Expand(x, s) }") == ["float32[?]"]
    assert outputs("m (float[n] x) => (float[] y) <int64[1] a = {2}, int64[1] b = {9}> { y = Slice(x, a, b) }") == [
        "float32[?]"
    ]
    assert outputs("m (float[n] x) => (int64[] y) { y = NonZero(x) }") == ["int64[1, ?]"]


def sliced(start: str, end: str) -> str:
    """The facts that are told of n elements and a few more from `start` to `end`."""
    (found,) = outputs(
        f"""m (float[n] x, float[7] more) => (float[] y)
        <int64[1] axis = {{0}}, int64[1] one = {{1}}, int64[1] two = {{2}}, int64[1] last = {{-1}},
         int64[1] far = {{99}}> {{
          all = Concat<axis = 0>(x, more)
          n = Shape(x)
          next = Add(n, two)
          before = Sub(n, two)
          y = Slice(all, {start}, {end}, axis)
        }}"""
    )
    return found


def test_slices_are_told_where_they_lie_in_the_tensor() -> None:
    assert sliced("one", "next") == "float32[n + 1]" and sliced("n", "next") == "float32[2]"
    assert sliced("axis", "last") == "float32[n + 6]" and sliced("two", "last") == "float32[n + 4]"
    for start, end in (("next", "n"), ("axis", "far"), ("axis", "before"), ("two", "n")):
        assert sliced(start, end) == "float32[?]"


def test_quotients_are_told_where_they_are_rounded_down() -> None:
    text = """m (float[n] x) => (float[] y, float[] z) <int64[1] two = {2}, int64[1] five = {5}, float one = {1}> {
      n = Shape(x)
      half = Div(n, two)
      less = Sub(n, five)
      other = Div(less, two)
      y = Expand(one, half)
      z = Expand(one, other)
    }"""
    assert outputs(text) == ["float32[n//2]", "float32[?]"]


def test_what_the_graph_does_not_tell_is_taken_from_declarations_of_known_symbols() -> None:
    sums = "z = Add(x, y) u = Add(x, y) v = Add(x, y)"
    found = outputs(f"m (float[n] x, float[w] y) => (float[w] z, float[k] u, float[7] v) {{ {sums} }}")
    assert found == ["float32[w]", "float32[?]", "float32[7]"]


def test_dimensions_that_are_fixed_and_those_without_a_name() -> None:
    text = "m (float[n,?,w] x) => (float[] y) { y = Relu(x) }"
    assert outputs(text) == ["float32[n, x[1], w]"] and outputs(text, {"n": 4, "w": "any"}) == ["float32[4, x[1], w]"]
    model = load_model(onnx.parser.parse_model(HEAD + text))
    inputs, _ = open_interface(model, {}, {"x": (2, 3, 4)})
    assert inputs == (OpenTensor("x", "float32", (2, 3, 4)),)
    with pytest.raises(UsageError, match=r"--dim k.*\[unknown-dimension\]"):
        open_interface(model, {"k": "any"}, {})
    with pytest.raises(UsageError, match=r"--dim n.*\[out-of-range\]"):
        open_interface(model, {"n": 0}, {})
    with pytest.raises(UsageError, match="mismatched-shape"):
        open_interface(model, {}, {"x": (2, 3)})


def test_a_malformed_node_is_no_error_here() -> None:
    """The import says what is wrong with it, and where."""
    text = "m (float[n,4] x) => (float[] y) { y = Transpose<perm = [0, 5]>(x) }"
    assert outputs(text) == ["float32[...]"]


def test_inputs_that_no_model_has_are_refused() -> None:
    model = load_model(onnx.parser.parse_model(HEAD + "m (seq(float[n]) x) => (int64 y) { y = SequenceLength(x) }"))
    with pytest.raises(CompileError, match="unknown-length"):
        open_interface(model, {}, {})


def test_open_shapes_are_an_error_of_their_own_where_they_are_the_only_one() -> None:
    from xdsl.context import Context

    from aotc.frontend.onnx import freeze, import_model

    known = load_model(onnx.parser.parse_model(HEAD + "m (float[n] x) => (float[n] y) { y = Relu(x) }"))
    with pytest.raises(OpenShapesError, match=r"--dim n.*\[open-shapes\]"):
        import_model(known, Context())
    with pytest.raises(OpenShapesError, match=r"--dim n.*\[open-shapes\]"):
        import_model(known, Context(), dims={"n": "any"})  # type: ignore[dict-item]
    unknown = load_model(onnx.parser.parse_model(HEAD + "m (float[n] x) => (float[n] y) { y = Nonsense(x) }"))
    with pytest.raises(CompileError, match="unsupported-operator") as raised:
        import_model(unknown, Context())
    assert not isinstance(raised.value, OpenShapesError)
    with pytest.raises(OpenShapesError, match=r"--constant x.*\[open-values\]"):
        freeze(known, {"x": "any"})
    assert freeze(known, {"x": KnownTensor.of([1.0], "x")}).proto.graph.initializer
