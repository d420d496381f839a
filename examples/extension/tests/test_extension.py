"""The installed extension, through the same doors a user takes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

import aotc


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


def test_operator_reaches_c(tmp_path: Path) -> None:
    aotc.compile_to(model(0.97), tmp_path, name="front_end")
    assert "filter" in (tmp_path / "front_end.c").read_text()


def test_pass_runs_in_its_phase(tmp_path: Path) -> None:
    aotc.compile_to(model(0.0), tmp_path, name="front_end", stop_after="graph")
    assert "signal.preemphasis" not in (tmp_path / "front_end.graph.mlir").read_text()
    aotc.compile_to(model(0.5), tmp_path, name="front_end", stop_after="graph")
    assert "signal.preemphasis" in (tmp_path / "front_end.graph.mlir").read_text()
