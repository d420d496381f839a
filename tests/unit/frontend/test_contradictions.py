"""Models that say one thing and mean another: what is refused, what costs a warning."""

from __future__ import annotations

import pytest
from onnx import ModelProto, TensorProto, helper
from onnx_text import Imported, parse

from aotc.errors import CompileError


def problems(model: ModelProto) -> list[str]:
    with pytest.raises(CompileError) as caught:
        Imported(model)
    return [problem.id for problem in caught.value.problems]


def test_shapes_that_are_declared_otherwise_cost_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    model = parse("g (float[2, 3] x) => (float[7, 7] y) { h = Relu(x)  y = Neg(h) }")
    model.graph.value_info.append(helper.make_tensor_value_info("h", TensorProto.FLOAT, ["n", 4]))
    assert Imported(model).names == ["relu", "neg"]
    shown = capsys.readouterr().err.splitlines()
    assert shown == [
        "warning: Relu_0 (Relu): the model declares 'h' as [n, 4]; it is computed as [2, 3] [contradicted-shape]",
        "warning: Neg_1 (Neg): the model declares 'y' as [7, 7]; it is computed as [2, 3] [contradicted-shape]",
    ]
    assert Imported(parse("g (float[2, 3] x) => (float[n, 3] y) { y = Relu(x) }")).names == ["relu"]
    assert not capsys.readouterr().err


@pytest.mark.parametrize(
    ("graph", "problem"),
    [
        (
            "g (float[1, 3] x, float[3, 2] w, float[4, 2] c) => (y) { y = Gemm(x, w, c) }",
            "invalid-shape",
        ),
        (
            "g (float[1, 3] x, float[4, 3] s) => (y) { y = PRelu(x, s) }",
            "invalid-shape",
        ),
        (
            "g (float[3] x, float[1, 3] s) => (y) { y = PRelu(x, s) }",
            "invalid-shape",
        ),
        (
            "g (float[1, 1, 3, 3] x) => (y) { y = MaxPool<kernel_shape=[2, 2], pads=[1, 1, 2, 1]>(x) }",
            "unsupported-attribute",
        ),
        (
            "g (float[1, 1, 3, 3] x) => (y) { y = AveragePool<kernel_shape=[1, 2], pads=[0, 1, 1, 1]>(x) }",
            "unsupported-attribute",
        ),
    ],
)
def test_what_contradicts_a_definition_is_refused(graph: str, problem: str) -> None:
    assert problems(parse(graph)) == [problem]


def test_pads_below_the_span_of_a_dilated_kernel_are_taken() -> None:
    graph = "g (float[1, 1, 5] x) => (y) { y = MaxPool<kernel_shape=[2], dilations=[2], pads=[2, 2]>(x) }"
    assert Imported(parse(graph)).names == ["max_pool"]


def test_one_version_of_an_operator_set_may_be_named_twice() -> None:
    model = parse("g (float[2] x) => (y) { y = Relu(x) }")
    model.opset_import.append(helper.make_opsetid("", 17))
    assert Imported(model).names == ["relu"]
    model.opset_import.append(helper.make_opsetid("ai.onnx", 18))
    assert problems(model) == ["duplicate-name"]


def test_an_input_without_elements_costs_a_warning_with_its_reader(capsys: pytest.CaptureFixture[str]) -> None:
    assert Imported(parse("g (float[0, 3] x) => (y) { [first] y = Relu(x) }")).names == []
    shown = capsys.readouterr().err
    assert "'x'" in shown and "first (Relu)" in shown and shown.endswith("[empty-input]\n")
