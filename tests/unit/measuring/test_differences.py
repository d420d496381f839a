"""Which operator, and which pass, is said to make a difference: faults are put in on purpose."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx.parser
import pytest
from onnx import ModelProto, numpy_helper, save
from xdsl.rewriter import Rewriter

import aotc
from aotc.cli.main import run
from aotc.compiler.checking.submodels import NodeByNode
from aotc.dialects.builder import Builder, Scalar
from aotc.dialects.graph.elementwise import AddOp, SubOp
from aotc.dialects.graph.functions import FunctionOp, TanhOp
from aotc.errors import EXIT_OK, EXIT_WRONG
from aotc.measuring.differences import (
    Judge,
    WrongOperator,
    first_operator,
    first_pass,
    values_between_kernels,
    with_outputs,
)
from aotc.passes.fuse.fuse_epilogues import FuseEpiloguesPass
from aotc.pipeline.options import CompileOptions

Array = np.ndarray[Any, Any]

MODEL = """<ir_version: 8, opset_import: ["" : 17]> g (float[4,8] x, float[8,8] w) => (float[4,8] y) {
    [first] a = MatMul(x, w)
    [second] b = Tanh(a)
    [third] c = Add(b, x)
    [last] y = Neg(c)
}"""


@pytest.fixture
def model(tmp_path: Any) -> str:
    path = tmp_path / "model.onnx"
    save(onnx.parser.parse_model(MODEL), path)
    return str(path)


def test_what_comes_after_a_count_is_not_compared(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model.onnx"
    text = """g (float[9] m, float[20] x) => (float[n] y) <float half = {0.5}> {
        c = Greater(m, half) o = Cast<to=7>(c) k = ReduceSum(o) v, i = TopK(x, k) y = Neg(v)
    }"""
    save(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {text}'), path)
    assert run(["verify", str(path), "--per-op"]) == EXIT_OK
    assert "no operator's result differs" in capsys.readouterr().out


def test_the_operator_that_is_wrong_is_named(
    model: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["verify", model, "--per-op"]) == EXIT_OK
    assert "no operator's result differs" in capsys.readouterr().out

    def wrong(self: FunctionOp, b: Builder, *operands: Scalar) -> Scalar:
        return operands[0] + 1

    monkeypatch.setattr(TanhOp, "scalar", wrong)
    assert run(["verify", model, "--per-op", "--bisect"]) == EXIT_WRONG
    shown = capsys.readouterr().out
    assert "the first operator whose result differs is second (Tanh): b DIFFERS" in shown
    assert "the model as it is imported differs already" in shown


def differs(name: str, value: Array, right: Array) -> str:
    exact = value.dtype.kind in "iu"
    same = np.array_equal(value, right) if exact else np.allclose(value, right)
    return "" if same else "is wrong"


def first(proto: ModelProto, inputs: Any, off: Any, alone: float = 0) -> WrongOperator | None:
    """The first operator that is said to be wrong where values are off by so much, and in models of one node."""

    def computed(given: ModelProto, arrays: Any, more: Any) -> dict[str, Array]:
        found = aotc.compile(given)(arrays)
        return {name: (array + more(name)).astype(array.dtype) for name, array in found.items()}

    values = [name for node in proto.graph.node for name in node.output]
    found = computed(with_outputs(proto, values), inputs, lambda name: off.get(name, 0))
    given = [name for name in values if name not in off or np.any(off[name])]
    judge = Judge(proto, {}, differs)
    return first_operator(judge, given, found, inputs, lambda part, arrays: computed(part, arrays, lambda _: alone))


def test_what_is_wrong_only_where_it_is_fused_is_the_kernels() -> None:
    """Of a kernel of the second and the third node, there is the third's result alone."""
    inputs = {"x": np.ones((4, 8), np.float32), "w": np.ones((8, 8), np.float32)}
    found = first(onnx.parser.parse_model(MODEL), inputs, {"b": 0, "c": 1})
    assert found is not None
    assert (found.node, found.output, found.fused) == ("third", "c", True)
    found = first(onnx.parser.parse_model(MODEL), inputs, {"b": 0, "c": 1}, alone=1)
    assert found is not None
    assert (found.node, found.output, found.fused) == ("second", "b", False)


@pytest.mark.parametrize(("off", "wrong"), [({}, None), ({"a": 1.0}, "first"), ({"y": 1.0}, "last")])
def test_an_operator_is_not_blamed_for_what_it_was_given(off: dict[str, float], wrong: str | None) -> None:
    """Results of a wrong value are judged by that."""
    inputs = {"x": np.ones((4, 8), np.float32), "w": np.ones((8, 8), np.float32)}
    found = first(onnx.parser.parse_model(MODEL), inputs, off)
    assert (found.node if found else None) == wrong


INTEGERS = """<ir_version: 10, opset_import: ["" : 17]> g (float[3] x) => (int8[3] y)
    <float s = {0.5}, int8 z = {3}, float two = {2}> { a = Mul(x, two) y = QuantizeLinear(a, s, z) }"""


@pytest.mark.parametrize(
    ("off", "wrong"), [([0, 1, 0], False), ([0, 2, 0], True), ([1, 0, 0], True), ([0, 0, -1], True)]
)
def test_integers_are_exact_but_next_to_the_middle(off: list[int], wrong: bool) -> None:
    inputs = {"x": np.array([1.0, 1.125001, 1.2], np.float32)}
    assert (first(onnx.parser.parse_model(INTEGERS), inputs, {"y": np.array(off)}) is not None) == wrong


def test_the_reference_evaluator_judges_what_onnxruntime_has_no_kernel_for() -> None:
    text = "g (uint16[3] x, uint16[3] k) => (uint16[3] y) { a = Max(x, k) y = Min(a, k) }"
    proto = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 17]> {text}')
    inputs = {"x": np.array([1, 7, 65535], np.uint16), "k": np.array([2, 5, 65534], np.uint16)}
    assert first(proto, inputs, {}) is None
    assert first(proto, inputs, {"a": np.array([0, 1, 0])}) is not None
    session = NodeByNode(proto)
    (found,) = session.run(None, inputs)
    np.testing.assert_array_equal(found, [2, 5, 65534])
    assert {*session.evaluated} == {"Max", "Min"}


def test_values_are_those_of_the_compiled_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values that no kernel writes are none of them, nor what the target computes otherwise."""
    text = """g (float[1,3,16,16] x) => (float[1,8,14,14] y) <float[8,3,3,3] w, float[8] b> {
        c = Conv(x, w, b) r = Relu(c) p = Softmax(r) t = Transpose<perm=[0, 1, 3, 2]>(p) q = Softmax<axis=1>(t)
        y = Neg(q) }"""
    proto = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 17]> {text}')
    for name, shape in (("w", (8, 3, 3, 3)), ("b", 8)):
        proto.graph.initializer.append(numpy_helper.from_array(np.ones(shape, np.float32), name))
    options = CompileOptions(target="x86-64-v4")
    (values,) = values_between_kernels(proto, options)
    assert "r" in values and "y" in values and "c" not in values
    monkeypatch.setattr("aotc.measuring.differences.AT_ONCE", 1)
    groups = values_between_kernels(proto, options)
    assert len(groups) > 1 and {*values} == {name for group in groups for name in group}


def test_the_pass_that_is_wrong_is_named(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = {"x": np.ones((4, 8), np.float32), "w": np.ones((8, 8), np.float32)}
    expected = aotc.compile(model)(inputs)["y"]
    right = FuseEpiloguesPass.apply

    def wrong(self: FuseEpiloguesPass, ctx: Any, op: Any) -> None:
        right(self, ctx, op)
        for each in list(op.walk()):
            if isinstance(each, AddOp):
                Rewriter.replace_op(each, SubOp.get(*each.operands))

    monkeypatch.setattr(FuseEpiloguesPass, "apply", wrong)
    sentence = first_pass(model, CompileOptions(), lambda found: not np.allclose(found["y"], expected), inputs)
    assert sentence == "the first pass after which results differ is fuse-epilogues (fuse)"
