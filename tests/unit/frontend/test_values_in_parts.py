"""Values of data-dependent extents (aotc.frontend.onnx.importers.counted), sequences and optionals, and what early
versions had otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx.parser
import pytest
from onnx import ModelProto
from onnx_text import Imported, parse

import aotc
from aotc.errors import CompileError, Problem, gathered

X = np.arange(12, dtype=np.float32).reshape(3, 4) % 5


def model(text: str, opset: int = 17) -> ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : {opset}]>\n{text}')


def refused(text: str, **options: object) -> str:
    with pytest.raises(CompileError) as caught:
        Imported(parse(text), **options)
    return str(caught.value)


COUNTED = "g (float[3, 4] x, float[12, 2] t, float[2, 2] u, float[12] e) => (y) { z = NonZero(x) c = Transpose(z) "


def test_each_part_by_itself_carries_the_count() -> None:
    text = "g (float[3, 4] x, float[4, 2] t) => (y, v, w) { z = NonZero(x) k = Constant<value_int=1>() "
    text += "y = Gather(z, k) v = Gather(t, y) q = Mul(v, v) o = Constant<value_ints=[0]>() w = Unsqueeze(q, o) }"
    t = np.arange(8, dtype=np.float32).reshape(4, 2)
    found = aotc.compile(model(text))({"x": X, "t": t})
    assert list(found) == ["y", "v", "w", "y_count", "v_count", "w_count"]
    count = int(np.count_nonzero(X))
    columns = np.nonzero(X)[1]
    assert {int(found[f"{name}_count"]) for name in "yvw"} == {count} and count < 12
    np.testing.assert_array_equal(found["y"][:count], columns)
    assert (found["y"][count:] == -1).all()
    np.testing.assert_array_equal(found["v"][:count], t[columns])
    np.testing.assert_array_equal(found["w"][0, :count], t[columns] ** 2)


@pytest.mark.parametrize(
    ("op_type", "function"),
    [
        ("Softplus", lambda x: np.log1p(np.exp(x))),
        ("Elu<alpha=0.5>", lambda x: np.where(x < 0, 0.5 * np.expm1(x), x)),
        ("HardSigmoid", lambda x: np.clip(0.2 * x + 0.5, 0, 1)),
        ("ThresholdedRelu", lambda x: np.where(x > 1, x, 0)),
        ("Identity", lambda x: x),
    ],
)
def test_what_an_operator_becomes_says_whether_it_is_by_element(op_type: str, function: Any) -> None:
    """However many operations it becomes, and whatever it is called."""
    text = f"g (float[3, 4] x) => (y) {{ z = NonZero(x) f = Cast<to=1>(z) y = {op_type}(f) }}"
    found = aotc.compile(model(text))(X)
    count = int(found["y_count"])
    np.testing.assert_allclose(found["y"][:, :count], function(np.array(np.nonzero(X), np.float32)), rtol=1e-5)


@pytest.mark.parametrize(
    "nodes",
    [
        'f = Cast<to=1>(z) y = Einsum<equation="ij->i">(f) }',
        "f = Cast<to=1>(z) y = LpNormalization(f) }",
        "s = Constant<value_ints=[2, 12]>() y = Expand(z, s) }",
        "s = Constant<value_ints=[0]>() k = Gather<axis=1>(c, s) l = Constant<value_ints=[1, 12]>() p = Expand(k, l) "
        "w = Transpose(p) y = Concat<axis=1>(p, w) }",
        "n = Neg(x) p = NonZero(n) y = Concat<axis=0>(z, p) }",
        "y = ArgMax<axis=1, select_last_index=1>(z) }",
        "f = Cast<to=1>(z) y = MatMul(f, t) }",
        "f = Cast<to=1>(c) y = Gemm(f, u, t) }",
        "f = Cast<to=1>(z) q = Constant<value_ints=[2, 1, 12]>() r = Reshape(f, q) y = GlobalMaxPool(r) }",
        "f = Cast<to=1>(c) y = LayerNormalization<axis=0>(f, t) }",
        "y = ScatterND(x, c, e) }",
        "q = Constant<value_ints=[0, 1]>() a = Constant<value_ints=[0]>() p = Unsqueeze(q, a) "
        "y = ScatterElements<axis=1>(c, p, p) }",
        "q = Constant<value_ints=[1, 2]>() r = Tile(z, q) y = Neg(r) }",
        "f = Cast<to=1>(c) y = Add(f, t) }",
        "f = Cast<to=1>(z) y = Hardmax<axis=1>(f) }",
        "s = Constant<value_ints=[4, 6]>() y = Reshape(z, s) }",
        "s = Constant<value_ints=[-1]>() y = Reshape(z, s) }",
        "s = Constant<value_ints=[-1, 4]>() y = Reshape(c, s) }",
        "s = Constant<value_ints=[-1]>() q = Constant<value_ints=[12, -1]>() r = Reshape(c, s) y = Reshape(r, q) }",
        "s = Constant<value_ints=[-1]>() q = Constant<value_ints=[-1, 4]>() r = Reshape(c, s) y = Reshape(r, q) }",
        "n = Neg(x) p = NonZero(n) y = Add(z, p) }",
        "y = EyeLike(z) }",
        "f = Cast<to=1>(c) s = Constant<value_floats=[2.0, 1.0]>() y = Resize(f, , s) }",
        "f = Cast<to=1>(c) s = Constant<value_ints=[13, 2]>() y = Resize(f, , , s) }",
        "f = Cast<to=1>(c) r = Constant<value_floats=[0.0, 0.0, 0.5, 1.0]>() s = Constant<value_floats=[1.0, 1.0]>() "
        'y = Resize<coordinate_transformation_mode="tf_crop_and_resize">(f, r, s) }',
        "s = Constant<value_ints=[0, 0, 1, 0]>() y = Pad(c, s) }",
        "b = Constant<value_ints=[-1]>() h = Constant<value_ints=[-13]>() a = Constant<value_ints=[1]>() "
        "y = Slice(z, b, h, a, b) }",
    ],
)
def test_what_takes_all_parts_as_data_is_refused(nodes: str) -> None:
    shown = refused(COUNTED + nodes)
    assert "a data-dependent extent along axis" in shown and "--constant NAME=VALUE" in shown


@pytest.mark.parametrize(
    ("nodes", "what"),
    [
        ("s = Shape(z) y = Reshape(x, s) }", "the shape (input 1) is computed at run time"),
        ("s = Shape(z) o = Constant<value_ints=[0, 1]>() k = Add(s, o) y = Expand(t, k) }", "computed at run time"),
        ("s = Shape(z) o = Constant<value_ints=[1]>() k = Gather(s, o) y = Expand(e, k) }", "a fixed number of parts"),
        ("s = Shape(z) n = Neg(x) p = NonZero(n) y = Expand(p, s) }", "a data-dependent"),
        ("s = Shape(z) o = Constant<value_int=1>() k = Gather(s, o) y = Range(o, k, o) }", "computed at run time"),
    ],
)
def test_a_number_of_parts_is_an_extent_of_as_many_parts_only(nodes: str, what: str) -> None:
    assert what in refused(COUNTED + nodes)


@pytest.mark.parametrize(
    ("nodes", "function"),
    [
        ("s = Constant<value_ints=[-1]>() y = Reshape(c, s) }", lambda c: c.reshape(-1)),
        ("s = Constant<value_ints=[-1, 1]>() y = Reshape(c, s) }", lambda c: c.reshape(-1, 1)),
        ("s = Constant<value_ints=[1, -1]>() y = Reshape(c, s) }", lambda c: c.reshape(1, -1)),
        ("f = Cast<to=1>(c) t, y = Dropout(f) }", lambda c: np.ones(c.shape, bool)),
        ("y = Flatten<axis=0>(c) }", lambda c: c.reshape(1, -1)),
        (
            "s = Constant<value_ints=[-1]>() r = Reshape(c, s) q = Constant<value_ints=[-1, 2]>() b = Reshape(r, q) "
            "y = Add(b, c) }",
            lambda c: c + c,
        ),
        (
            "s = Constant<value_ints=[-1]>() r = Reshape(c, s) m = Neg(c) t = Reshape(m, s) d = Mul(r, t) "
            "k = Constant<value_ints=[1, 0, -1]>() a = Gather(d, k) y = Concat<axis=0>(a, a) }",
            lambda c: np.tile((-(c.reshape(-1) ** 2))[[1, 0, -1]], 2),
        ),
        (
            "a = Constant<value_ints=[2]>() u = Unsqueeze(c, a) w = Concat<axis=2>(u, u, u, u) "
            "s = Constant<value_ints=[-1]>() r = Reshape(w, s) q = Constant<value_ints=[-1, 4]>() y = Reshape(r, q) }",
            lambda c: np.repeat(c.reshape(-1), 4).reshape(-1, 4),
        ),
    ],
)
def test_parts_are_cut_into_as_many_each_and_put_together_again(nodes: str, function: Any) -> None:
    text = "g (float[3, 4] x) => (y) { z = NonZero(x) c = Transpose(z) "
    compiled = aotc.compile(model(text + nodes))
    for threshold in (0, 1, 3):
        x = np.where(threshold < X, X, 0)
        expected = function(np.transpose(np.nonzero(x)))
        found = compiled(x)
        y, axis = found["y"], int(expected.shape[0] == 1)
        count = int(found.get("y_count", len(y)))
        assert count == expected.shape[axis]
        np.testing.assert_array_equal(y.take(range(count), axis), expected)


def test_a_shape_whose_minus_ones_stand_for_one() -> None:
    text = "g (float[3, 4] x) => (y) <int64[1] n = {-1}, int64 m = {-1}, int64[3] ones = {1, 1, 1}> { "
    text += "z = NonZero(x) c = Transpose(z) s = Shape(c) t = Concat<axis=0>(n, s) k = Mul(ones, m) e = Equal(t, k) "
    text += "w = Where(e, ones, t) y = Expand(c, w) }"
    found = aotc.compile(parse(text))(X)
    np.testing.assert_array_equal(found["y"][:, : int(found["y_count"])], np.transpose(np.nonzero(X))[None])
    assert "computed at run time" in refused(text.replace("m = {-1}", "m = {3}"))


@pytest.mark.parametrize("indices", [[0, 1], [-1, -2]])
@pytest.mark.parametrize("counted", [False, True])
def test_parts_are_written_to_parts(indices: list[int], counted: bool) -> None:
    """Of which there are other numbers; behind the last is none."""
    text = "g (float[3, 4] x, int64[2] t) => (y) <int64[1] all = {-1}> { z = NonZero(x) c = Transpose(z) "
    text += "d = Reshape(c, all) h = Neg(d) m = NonZero(h) i = Reshape(m, all) j = Neg(i) k = Gather(h, i) "
    text += f"y = ScatterElements<axis=0>(h, {'j, k' if counted else 't, t'}) }}"
    compiled = aotc.compile(parse(text))
    for threshold in (0, 1, 3):
        x = np.where(threshold < X, X, 0)
        wanted = -np.transpose(np.nonzero(x)).reshape(-1)
        places = np.nonzero(wanted)[0]
        if counted:
            wanted[-places] = wanted[places].copy()
        else:
            wanted[indices] = indices
        found = compiled({"x": x, "t": np.array(indices)})
        np.testing.assert_array_equal(found["y"][: int(found["y_count"])], wanted)


def test_lists_of_parts_are_put_one_behind_the_other() -> None:
    text = "g (float[3, 4] x, float[3, 4] w, int64[2, 3] t) => (y, v, u) <float half = {0.5}, int64[1] all = {-1}> { "
    text += "a = NonZero(x) b = NonZero(w) y = Concat<axis=1>(a, t, b, a) s = Concat<axis=1>(a, t, b, a) "
    text += "d = Mul(y, s) e = Transpose(d) v = Reshape(e, all) u = Concat<axis=-1>(t, b) }"
    compiled = aotc.compile(parse(text))
    t = np.arange(100, 106).reshape(2, 3)
    for one, two in ((0, 3), (1, 0), (9, 9), (9, 1), (1, 9), (-9, -9)):
        x, w = np.where(one < X, X + 1, 0), np.where(X.T.reshape(3, 4) > two, X + 1, 0)
        a, b = np.array(np.nonzero(x)), np.array(np.nonzero(w))
        found = compiled({"x": x, "w": w, "t": t})
        wanted = np.concatenate([a, t, b, a], 1)
        np.testing.assert_array_equal(found["y"][:, : int(found["y_count"])], wanted)
        np.testing.assert_array_equal(found["v"][: int(found["v_count"])], (wanted**2).T.reshape(-1))
        np.testing.assert_array_equal(found["u"][:, : int(found["u_count"])], np.concatenate([t, b], 1))


LOOPED = """g (float[3, 4] x, int64 n) => (y) <bool yes = {1}, float[2] zeros = {0, 0}, int64[1] axis = {0}> {
    z = NonZero(x) c = Transpose(z) f = Cast<to=1>(c)
    y = Loop(n, yes, zeros) <
        body = b (int64 i, bool k, float[2] s) => (bool k2, float[2] t) {
            k2 = Identity(k) last = Neg(i) q = Gather<axis=0>(f, last) m = ReduceSum<keepdims=0>(f, axis)
            r = If(k) <
                then_branch = g () => (float[2] u) { a = Neg(f) u = ReduceMax<keepdims=0>(a, axis) },
                else_branch = g () => (float[2] v) { v = Identity(m) }
            >
            d = Add(q, m) e = Add(d, r) t = Add(s, e)
        }
    >
}"""


def test_bodies_read_parts_of_the_graph_around_them() -> None:
    compiled = aotc.compile(model(LOOPED, 18))
    for threshold in (0, 1, 3):
        x = np.where(threshold < X, X, 0)
        c = np.transpose(np.nonzero(x)).astype(np.float32)
        expected = sum((c[-i] + c.sum(0) + (-c).max(0) for i in range(3)), np.zeros(2))
        np.testing.assert_allclose(compiled({"x": x, "n": np.array(3)})["y"], expected)


@pytest.mark.parametrize(
    ("attributes", "inputs", "scale"),
    [
        ("", "f, none, scales", 2),
        ("<axes=[1]>", "f, none, scale", 2),
        ("", "f, none, none, sizes", 2),
        ('<coordinate_transformation_mode="half_pixel", mode="linear", axes=[1]>', "f, none, none, size", 2),
    ],
)
def test_a_resize_of_other_axes_leaves_the_parts(attributes: str, inputs: str, scale: int) -> None:
    text = "g (float[3, 4] x) => (y) <float[0] none = {}, float[2] scales = {1, 2}, float[1] scale = {2}, "
    text += "int64[1] size = {4}> { z = NonZero(x) c = Transpose(z) f = Cast<to=1>(c) s = Shape<end=1>(c) "
    text += f"sizes = Concat<axis=0>(s, size) y = Resize{attributes}({inputs}) }}"
    found = aotc.compile(model(text, 18))(X)
    count = int(found["y_count"])
    c = np.transpose(np.nonzero(X)).astype(np.float32)
    wanted = np.repeat(c, scale, 1)
    if "linear" in attributes:
        wanted = c @ np.array([[1, 0.75, 0.25, 0], [0, 0.25, 0.75, 1]], np.float32)
    np.testing.assert_allclose(found["y"][:count], wanted, rtol=1e-6)


def test_padding_of_other_axes_leaves_the_parts() -> None:
    text = (
        "g (float[3, 4] x) => (y) <int64[4] pads = {0, 1, 0, -1}> { z = NonZero(x) c = Transpose(z) y = Pad(c, pads) }"
    )
    found = aotc.compile(parse(text))(X)
    count = int(found["y_count"])
    np.testing.assert_array_equal(found["y"][:count], np.pad(np.nonzero(X)[0][:, None], ((0, 0), (1, 0))))


def test_fixed_extents_out_of_the_shape_of_parts_are_constants() -> None:
    text = "g (float[3, 4] x, float[2, 6] t) => (y, v) <int64 zero = {0}, int64[1] axes = {0}, int64[1] rest = {-1}> { "
    text += "z = NonZero(x) s = Shape(z) k = Gather(s, zero) q = Unsqueeze(k, axes) r = Concat<axis=0>(rest, q) "
    text += "y = Reshape(t, r) c = Transpose(z) v = Reshape(c, r) }"
    t = np.arange(12, dtype=np.float32).reshape(2, 6)
    found = aotc.compile(parse(text))({"x": X, "t": t})
    np.testing.assert_array_equal(found["y"], t.reshape(-1, 2))
    np.testing.assert_array_equal(found["v"][: int(found["v_count"])], np.transpose(np.nonzero(X)))


def test_a_constant_has_a_known_count() -> None:
    found = aotc.compile(
        model("g (float[1] x) => (z, s) { k = Constant<value_ints=[0, 7, 9]>() z = NonZero(k) s = Add(x, x) }")
    )
    outputs = found(np.zeros(1, np.float32))
    np.testing.assert_array_equal(outputs["z"], [[1, 2]])
    assert "z_count" not in outputs


def test_where_there_can_be_no_parts_there_is_nothing_to_count() -> None:
    """Operators that need a fixed extent have one: 0."""
    text = """g (float[1, 0, 4] b, float[1, 1, 0] s) => (y) <int64[1] most = {5}, int64[1] one = {1},
        int64[1] two = {2}, int64[1] three = {3}>
    { i = NonMaxSuppression(b, s, most) c = Slice(i, two, three, one) y = Squeeze(c, one) }"""
    found = aotc.compile(model(text))({"b": np.empty((1, 0, 4), np.float32), "s": np.empty((1, 1, 0), np.float32)})
    assert list(found) == ["y"] and found["y"].shape == (0,) and found["y"].dtype == np.int64


def test_distinct_values_of_a_constant_have_a_known_count() -> None:
    text = (
        "g (float[1] x) => (s) { k = Constant<value_ints=[7, 3, 7, 9]>() u = Unique(k) n = Shape(u) s = Expand(x, n) }"
    )
    np.testing.assert_array_equal(aotc.compile(model(text))(np.ones(1, np.float32))["s"], np.ones(3))


def test_sequences_are_their_tensors() -> None:
    text = "g (float[2, 6] x) => (float[] a, b, n, seq(float[2, 3]) s) { "
    text += "k = Constant<value_int=3>() s = SplitToSequence<axis=1>(x, k)"
    text += " i = Constant<value_int=-1>() a = SequenceAt(s, i) r = SequenceErase(s, i) u = SequenceInsert(r, a, i)"
    text += " b = ConcatFromSequence<axis=0, new_axis=1>(u) n = SequenceLength(u) }"
    x = np.arange(12, dtype=np.float32).reshape(2, 6)
    found = aotc.compile(model(text))(x)
    assert list(found) == ["a", "b", "n", "s_0", "s_1"]
    np.testing.assert_array_equal(found["b"], [x[:, 3:], x[:, :3]])
    assert int(found["n"]) == 2
    np.testing.assert_array_equal(found["s_1"], x[:, 3:])


def test_a_sequence_among_the_inputs_has_the_length_of_the_shapes_given() -> None:
    text = "g (seq(float[N]) q) => (y) { y = ConcatFromSequence<axis=0>(q) }"
    assert "q_0=N,... " in refused(text)
    compiled = aotc.compile(model(text), input_shapes={"q_0": (2,), "q_1": (3,)})
    np.testing.assert_array_equal(
        compiled(q_0=np.ones(2, np.float32), q_1=np.zeros(3, np.float32))["y"], [1, 1, 0, 0, 0]
    )


@pytest.mark.parametrize(
    ("nodes", "what"),
    [
        ("s = SequenceConstruct(x, x) y = SequenceAt(s, two) }", "position 2 is out of range for 2"),
        ("s = SequenceEmpty() y = ConcatFromSequence<axis=0>(s) }", "the sequence is empty"),
        ("s = SequenceConstruct(x) y = Relu(s) }", "the operator takes tensors"),
        ("y = SequenceLength(x) }", "its first input is not a sequence"),
        ("o = Optional<type=float>() y = OptionalGetElement(o) }", "its output 'o' is not supported"),
        ("s = SplitToSequence(x, four) y = SequenceLength(s) }", "do not cut axis 0 of 3"),
    ],
)
def test_what_sequences_are_not(nodes: str, what: str) -> None:
    head = "g (float[3] x) => (y) { two = Constant<value_int=2>() four = Constant<value_ints=[2, 2]>() "
    assert what in refused(head + nodes)


# Refusals


def test_an_operator_is_refused_once() -> None:
    shown = refused("g (float[2] x) => (y) { [a] b = Scan_(x) [c] d = Scan_(b) [e] f = Other_(x) y = Add(d, f) }")
    first, second = shown.splitlines()
    assert first.startswith("a, c (Scan_): operator Scan_ is not supported")
    assert second.startswith("e (Other_): ")


def test_problems_of_several_nodes_are_gathered_only_where_they_are_alike() -> None:
    alike = [Problem("usage", "what", node=name, op_type="Op") for name in ("a", "b")]
    assert [
        str(each)
        for each in gathered(
            [*alike, Problem("usage", "else", node="c", op_type="Op"), Problem("usage", "what", node="d")]
        )
    ] == [
        "a, b (Op): what [usage]",
        "c (Op): else [usage]",
        "d: what [usage]",
    ]


def test_what_depends_on_no_input_is_not_said_to_be_computed_at_run_time() -> None:
    text = "g (float[4] x) => (y) { r = RandomUniform<shape=[1]>() k = Cast<to=7>(r) y = Reshape(x, k) }"
    shown = refused(text)
    assert "not known when compiling" in shown and "of constants only" in shown and "run time" not in shown
    assert "computed at run time" in refused("g (float[4] x, int64[1] k) => (y) { y = Reshape(x, k) }")


def test_refusals_say_what_works() -> None:
    graph = "g (uint8[9] p) => (y) { y = ImageDecoder(p) }"
    with pytest.raises(CompileError, match="unsupported-operator"):
        aotc.compile(model(graph, 20))


# Early versions


def test_early_versions_broadcast_where_they_say_so() -> None:
    text = "g (float[2, 3, 4] x, float[3] s) => (y) { y = Add<broadcast=1, axis=1>(x, s) }"
    x, s = np.zeros((2, 3, 4), np.float32), np.array([1, 2, 3], np.float32)
    np.testing.assert_array_equal(aotc.compile(model(text, 6))({"x": x, "s": s})["y"], x + s[:, None])
    with pytest.raises(CompileError, match="invalid-shape"):
        aotc.compile(model(text.replace("broadcast=1, ", ""), 6))
    with pytest.raises(CompileError, match="invalid-shape"):
        aotc.compile(model(text.replace("axis=1", "axis=2"), 6))


@pytest.mark.parametrize(
    ("opset", "text", "expected"),
    [
        (1, 'g (float[3, 4] x) => (y) { y = Cast<to="INT32">(x) }', X.astype(np.int32)),
        (1, "g (float[3, 4] x) => (y) { y = Reshape<shape=[4, 3]>(x) }", X.reshape(4, 3)),
        (1, "g (float[3, 4] x) => (y) { y = Pad<paddings=[0, 1, 0, 0]>(x) }", np.pad(X, [(0, 0), (1, 0)])),
        (6, "g (float[3, 4] x) => (y) { y = Dropout<is_test=1, ratio=0.5>(x) }", X),
        (1, "g (float[3, 4] x) => (y) { y = Concat(x, x) }", np.concatenate([X, X], 1)),
    ],
)
def test_forms_of_early_versions(opset: int, text: str, expected: np.ndarray) -> None:
    found = aotc.compile(model(text, opset))(X)["y"]
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
