"""The installed extension, through the same doors a user takes."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import aotc
from aotc.model import extensions
from aotc.passes.kernel import strategy


def model(coefficient: float) -> onnx.ModelProto:
    nodes = [
        helper.make_node("Preemphasis", ["x"], ["f"], "filter", domain="com.example.signal", coefficient=coefficient),
        helper.make_node("Relu", ["f"], ["y"], "rectify"),
    ]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 160]) for name in "xy")
    graph = helper.make_graph(nodes, "front_end", [x], [y])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.example.signal", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def expected(x: np.ndarray, coefficient: float) -> np.ndarray:
    y = x.copy()
    y[:, 1:] -= np.float32(coefficient) * x[:, :-1]
    return np.maximum(y, 0)


def test_model_with_the_operator_runs() -> None:
    x = np.random.default_rng(0).standard_normal((2, 160)).astype(np.float32)
    compiled = aotc.compile(model(0.97))
    np.testing.assert_allclose(compiled({"x": x})["y"], expected(x, 0.97), rtol=1e-6, atol=1e-6)


def test_constants_are_filtered_when_compiling(tmp_path: Path) -> None:
    """As `element` says: the operator has no other definition."""
    whole, x = model(0.97), np.random.default_rng(1).standard_normal((2, 160)).astype(np.float32)
    del whole.graph.input[:]
    whole.graph.initializer.append(onnx.numpy_helper.from_array(x, "x"))
    aotc.compile_to(whole, tmp_path, name="front_end", stop_after="graph")
    assert "signal.preemphasis" not in (tmp_path / "front_end.graph.mlir").read_text()
    assert aotc.compile(whole)({})["y"].tobytes() == expected(x, 0.97).tobytes()


def test_operator_reaches_c(tmp_path: Path) -> None:
    aotc.compile_to(model(0.97), tmp_path, name="front_end")
    assert "filter" in (tmp_path / "front_end.c").read_text()


def test_pass_runs_in_its_phase(tmp_path: Path) -> None:
    aotc.compile_to(model(0.0), tmp_path, name="front_end", stop_after="graph")
    assert "signal.preemphasis" not in (tmp_path / "front_end.graph.mlir").read_text()
    aotc.compile_to(model(0.5), tmp_path, name="front_end", stop_after="graph")
    assert "signal.preemphasis" in (tmp_path / "front_end.graph.mlir").read_text()


def correlation(frames: int, samples: int, columns: int, template: np.ndarray | None = None) -> onnx.ModelProto:
    nodes = [
        helper.make_node("MatMul", ["x", "template"], ["scores"], "correlate"),
        helper.make_node("Relu", ["scores"], ["y"], "rectify"),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [frames, samples])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [frames, columns])
    given = helper.make_tensor_value_info("template", TensorProto.FLOAT, [samples, columns])
    constants = [] if template is None else [onnx.numpy_helper.from_array(template, "template")]
    graph = helper.make_graph(nodes, "correlation", [x, given][: 2 - len(constants)], [y], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def scheduled(model: onnx.ModelProto, directory: Path) -> str:
    aotc.compile_to(model, directory, name="m", stop_after="schedule", target="x86-64-v4")
    return (directory / "m.schedule.mlir").read_text()


LONG, SHORT, WIDE = (64, 512, 1), (64, 16, 1), (64, 512, 8)


@pytest.mark.parametrize("sizes", [LONG, SHORT, WIDE, (1, 512, 1), (3, 523, 1), (5, 1030, 1)])
def test_products_are_right(sizes: tuple[int, int, int]) -> None:
    frames, samples, columns = sizes
    random = np.random.default_rng(0)
    x = random.standard_normal((frames, samples)).astype(np.float32)
    template = random.standard_normal((samples, columns)).astype(np.float32)
    y = aotc.compile(correlation(*sizes))({"x": x, "template": template})["y"]
    np.testing.assert_allclose(y, np.maximum(x @ template, 0), rtol=1e-4, atol=1e-4)


def test_the_strategy_is_chosen_where_it_is_cheaper(tmp_path: Path) -> None:
    assert "#signal.dot_schedule<lanes = 16, sums = 4>" in scheduled(correlation(*LONG), tmp_path)


@pytest.mark.parametrize(
    "model", [correlation(*SHORT), correlation(*WIDE), correlation(*LONG, np.ones((512, 1), np.float32))]
)
def test_the_strategy_is_not_chosen_elsewhere(tmp_path: Path, model: onnx.ModelProto) -> None:
    text = scheduled(model, tmp_path)
    assert "signal.dot_schedule" not in text and "#graph.matmul_schedule" in text


def test_without_the_strategy_aotc_has_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = extensions.points

    def ours(group: str) -> list[EntryPoint]:
        return [point for point in found(group) if point.name != "signal"]

    def forget() -> None:
        strategy.registered.cache_clear()
        strategy.strategies_of.cache_clear()

    with monkeypatch.context() as patched:
        patched.setattr(extensions, "points", ours)
        forget()
        text = scheduled(correlation(*LONG), tmp_path)
    forget()
    assert "signal.dot_schedule" not in text and "#graph.matmul_schedule" in text
