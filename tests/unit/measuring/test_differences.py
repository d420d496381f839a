"""Which operator, and which pass, is said to make a difference: faults are put in on purpose."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx.parser
import pytest
from onnx import ModelProto, save
from xdsl.rewriter import Rewriter

import aotc
from aotc.cli.main import run
from aotc.dialects.builder import Builder, Scalar
from aotc.dialects.graph.elementwise import AddOp, SubOp
from aotc.dialects.graph.functions import FunctionOp, TanhOp
from aotc.errors import EXIT_OK, EXIT_WRONG
from aotc.measuring.differences import first_operator, first_pass
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


def test_what_is_wrong_only_where_it_is_fused_is_found_by_cutting() -> None:
    proto = onnx.parser.parse_model(MODEL)
    inputs = {"x": np.ones((4, 8), np.float32), "w": np.ones((8, 8), np.float32)}

    def expected(given: ModelProto, arrays: Any) -> Any:
        return aotc.compile(given)(arrays)

    def actual(given: ModelProto, arrays: Any) -> Any:
        outputs = dict(expected(given, arrays))
        names = [value.name for value in given.graph.output]
        if len(names) == 1 and names[0] in "cy":
            outputs[names[0]] = outputs[names[0]] + 1
        return outputs

    def differs(name: str, value: Array, right: Array) -> str:
        return "" if np.allclose(value, right) else "is wrong"

    found = first_operator(proto, inputs, expected, actual, differs)
    assert found is not None
    assert (found.node, found.output, found.fused) == ("third", "c", True)


def test_values_are_looked_at_in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is wrong only in the model of a later portion, whose nodes before are fused, is no fault of the node."""
    monkeypatch.setattr("aotc.measuring.differences.AT_ONCE", 2)
    proto = onnx.parser.parse_model(MODEL)
    inputs = {"x": np.ones((4, 8), np.float32), "w": np.ones((8, 8), np.float32)}
    counts: list[int] = []

    def expected(given: ModelProto, arrays: Any) -> Any:
        return aotc.compile(given)(arrays)

    def actual(given: ModelProto, arrays: Any) -> Any:
        outputs = dict(expected(given, arrays))
        counts.append(len(outputs))
        if len(given.graph.node) > 1 and "c" in outputs:
            outputs["c"] = outputs["c"] + 1
        return outputs

    found = first_operator(proto, inputs, expected, actual, lambda _, a, b: "" if np.allclose(a, b) else "is wrong")
    assert counts[:2] == [2, 2]
    assert found is None, "the node alone is right, and what the model returns as well"


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


@pytest.mark.parametrize(("off", "right", "blamed"), [(0.01, True, False), (0.01, False, True), (0, True, True)])
def test_an_operator_is_not_blamed_for_what_it_was_given(off: float, right: bool, blamed: bool) -> None:
    proto = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 17]>\n'
        "g (float[4] x) => (float[4] y) <float[4] t = {1, 2, 3, 4}> { a = Mul(x, t) y = Exp(a) }"
    )
    inputs = {"x": np.ones(4, np.float32)}

    def expected(given: ModelProto, arrays: Any) -> Any:
        return aotc.compile(given)(arrays)

    def actual(given: ModelProto, arrays: Any) -> Any:
        outputs = dict(expected(given, arrays))
        if len(given.graph.output) == 2:  # a little off, of which the exponential makes much
            outputs = {"a": outputs["a"] + np.float32(off), "y": outputs["y"] * np.float32(1.01)}
        elif len(given.graph.node) == 1:
            assert list(arrays) == ["a"]
            outputs["y"] = outputs["y"] + np.float32(not right)
        return outputs

    def differs(name: str, value: Array, right: Array) -> str:
        return "is far off" if np.abs(value - right).max() > 0.02 else ""

    found = first_operator(proto, inputs, expected, actual, differs)
    assert (found is not None) == blamed
    assert found is None or found.op_type == "Exp"
