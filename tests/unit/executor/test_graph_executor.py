"""The names of GraphExecutor (E3), keyword calls, and how a model shows itself."""

from __future__ import annotations

import numpy as np
import onnx.parser
import pytest

import aotc
from aotc.executor import CompiledModel

TEXT = """<ir_version: 10, opset_import: ["" : 21]>
scaled (float[2,3] x, float[3] w) => (float[2,3] y, float[2,3] z) { y = Mul(x, w)  z = Neg(y) }"""
X = np.arange(6, dtype=np.float32).reshape(2, 3)
W = np.array([1, 10, 100], np.float32)


@pytest.fixture(scope="module")
def compiled() -> CompiledModel:
    return aotc.compile(onnx.parser.parse_model(TEXT), name="scaled")


@pytest.fixture
def executor(compiled: CompiledModel) -> CompiledModel:
    return compiled["scaled"](aotc.cpu())


def test_e3_inputs_by_keyword(executor: CompiledModel) -> None:
    executor.set_input(x=X, w=W)
    executor.run()
    assert np.array_equal(executor.get_output("y"), X * W)
    executor.run(w=W + 1)
    assert np.array_equal(executor.get_output(0), X * (W + 1)) and np.array_equal(executor.get_output(1), -X * (W + 1))
    executor.set_input("w", W, x=X + 1)
    executor.run()
    assert np.array_equal(executor.get_output(0), (X + 1) * W)


def test_e3_what_there_is(executor: CompiledModel) -> None:
    assert (executor.get_num_inputs(), executor.get_num_outputs()) == (2, 2)
    assert [executor.get_input_index(name) for name in ("x", "w", "y")] == [0, 1, -1]
    assert [executor.get_output_index(name) for name in ("y", "z", "x")] == [0, 1, -1]
    assert executor.get_input_name(1) == "w"
    assert executor.get_input_info() == ({"x": (2, 3), "w": (3,)}, {"x": "float32", "w": "float32"})


def test_e3_functions_by_name(executor: CompiledModel) -> None:
    executor["set_input"]("x", X)
    executor["set_input"](w=W)
    executor["run"]()
    assert np.array_equal(executor["get_output"](0), X * W)
    assert np.array_equal(executor["get_input"]("w"), W)
    assert executor["get_num_inputs"]() == 2 and executor["get_input_index"]("w") == 1


def test_a_call_that_is_refused_changes_nothing(executor: CompiledModel) -> None:
    executor.set_input(x=X, w=W)
    for wrong in ({"x": X + 1, "v": W}, {"x": X + 1, "w": W[:2]}):
        for call in (executor.set_input, executor.run):
            with pytest.raises(ValueError, match=r"no input 'v'|'w' has shape \[2\]"):
                call(**wrong)
    with pytest.raises(TypeError, match="two values for 'x'"):
        executor.set_input(0, X, x=X)
    assert np.array_equal(executor.get_input("x"), X)


def test_e3_zero_copy(executor: CompiledModel) -> None:
    x, y = X.copy(), np.empty_like(X)
    executor.set_input(w=W)
    executor.set_input_zero_copy("x", x)
    executor.set_output_zero_copy(0, y)
    for _ in range(2):
        x += 1
        executor.run()
        assert np.array_equal(y, x * W) and np.array_equal(executor.get_output("y"), y)
        assert np.array_equal(executor.get_output("z"), -y)
    assert executor.get_input(0) is x
    executor.set_input("x", X)
    executor.run()
    assert np.array_equal(y, X * W) and np.array_equal(x, X + 2), "the lent array is not written"


@pytest.mark.parametrize(
    ("method", "value", "message"),
    [
        ("set_input_zero_copy", X.T.copy().T, "'x' is not contiguous"),
        ("set_input_zero_copy", np.zeros(25, np.uint8)[1:].view(np.float32).reshape(2, 3), "'x' is not aligned"),
        ("set_input_zero_copy", X[:1], r"'x' has shape \[1, 3\]"),
        ("set_output_zero_copy", np.broadcast_to(np.float32(1), (2, 3)), "'y' is read-only"),
        ("set_output_zero_copy", X.T.copy().T, "'y' is not contiguous"),
    ],
)
def test_memory_that_cannot_be_used_where_it_is(
    executor: CompiledModel, method: str, value: np.ndarray, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        executor[method](0, value)
    with pytest.raises(TypeError, match="is of type list"):
        executor[method](0, X.tolist())


def test_zero_copy_buffers_are_apart(executor: CompiledModel) -> None:
    executor.set_output_zero_copy("y", both := X.copy())
    with pytest.raises(ValueError, match="'x' and 'y' overlap"):
        executor.set_input_zero_copy("x", both)
    with pytest.raises(ValueError, match="'y' and 'z' overlap"):
        executor.set_output_zero_copy("z", both)


def test_get_output_wants_memory(executor: CompiledModel) -> None:
    with pytest.raises(TypeError, match="'y' is of type list"):
        executor.get_output(0, X.tolist())


def test_keyword_calls(compiled: CompiledModel) -> None:
    for result in (compiled(x=X, w=W), compiled(X, w=W), compiled({"x": X}, w=W), compiled.bind(X, w=W)()):
        assert np.array_equal(result["y"], X * W)
    for arguments, named, error, message in (
        ((X,), {"x": X, "w": W}, TypeError, "3 arrays|two values for 'x'"),
        ((X, W), {"w": W}, TypeError, "3 arrays for 2 inputs"),
        (({"x": X, "w": W},), {"w": W}, TypeError, "two values for 'w'"),
        ((), {"x": X}, ValueError, "'w' missing"),
        ((X,), {"v": W}, ValueError, "no input 'v' and 'w' missing"),
    ):
        with pytest.raises(error, match=message):
            compiled(*arguments, **named)


def test_repr(compiled: CompiledModel) -> None:
    assert repr(compiled) == "<CompiledModel scaled: float32[2, 3], float32[3] -> float32[2, 3], float32[2, 3]>"
    html = compiled._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert "<td>input</td><td>x</td><td>float32</td><td>2 x 3</td>" in html and html.count("<tr>") == 5


def test_html_of_any_name() -> None:
    text = TEXT.replace("scaled (", "m (").replace("float[3] w", "float w").replace("(x, w)", "(x, w)")
    model = onnx.parser.parse_model(text)
    model.graph.input[0].name = model.graph.node[0].input[0] = "<script>"
    html = aotc.compile(model)._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert "<td>&lt;script&gt;</td>" in html and "<script>" not in html and "<td>scalar</td>" in html
