"""Several threads compute together what one computes, to the last bit, however unevenly it divides."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import aotc

ROWS, WIDTH, HEADS = 397, 192, 3
"""Of the rows no number of threads has as many as another; three heads are not whole heads for two or four."""


def _encoder() -> onnx.ModelProto:
    """An attention whose scores are computed in tiles, and products by Strassen's algorithm, with a residual."""
    rng = np.random.default_rng(0)
    constants: list[onnx.TensorProto] = []
    nodes: list[onnx.NodeProto] = []

    def node(kind: str, inputs: list[str], output: str, **attributes: Any) -> str:
        nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    def product(x: str, name: str, depth: int, columns: int) -> str:
        weight = rng.standard_normal((depth, columns)) / np.sqrt(depth)
        constants.append(numpy_helper.from_array(weight.astype(np.float32), f"w{name}"))
        constants.append(numpy_helper.from_array(rng.standard_normal(columns).astype(np.float32), f"b{name}"))
        return node("Add", [node("MatMul", [x, f"w{name}"], f"m{name}"), f"b{name}"], name)

    constants.append(numpy_helper.from_array(np.array([ROWS, HEADS, WIDTH // HEADS]), "split"))
    constants.append(numpy_helper.from_array(np.array([ROWS, WIDTH]), "joined"))
    parts = {}
    for name, order in (("q", [1, 0, 2]), ("k", [1, 2, 0]), ("v", [1, 0, 2])):
        heads = node("Reshape", [product("x", name, WIDTH, WIDTH), "split"], f"{name}h")
        parts[name] = node("Transpose", [heads], f"{name}t", perm=order)
    scores = node("Softmax", [node("MatMul", [parts["q"], parts["k"]], "scores")], "weights", axis=-1)
    mixed = node("Transpose", [node("MatMul", [scores, parts["v"]], "mixed")], "back", perm=[1, 0, 2])
    projected = product(node("Reshape", [mixed, "joined"], "flat"), "p", WIDTH, WIDTH)
    residual = node("Add", ["x", projected], "residual")
    wide = node("Relu", [product(residual, "wide", WIDTH, 4 * WIDTH)], "positive")
    node("Add", [residual, product(wide, "narrow", 4 * WIDTH, WIDTH)], "y")
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [ROWS, WIDTH]) for name in "xy")
    graph = helper.make_graph(nodes, "encoder", [x], [y], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture(scope="module")
def model() -> onnx.ModelProto:
    return _encoder()


@pytest.fixture(scope="module")
def alone(model: onnx.ModelProto) -> np.ndarray:
    return _run(model, 1)


def _run(model: onnx.ModelProto, threads: int) -> np.ndarray:
    x = np.random.default_rng(1).standard_normal((ROWS, WIDTH)).astype(np.float32)
    return np.asarray(aotc.compile(model, threads=threads)({"x": x})["y"])


@pytest.mark.parametrize("threads", [2, 3, 4])
def test_results_do_not_depend_on_threads(model: onnx.ModelProto, alone: np.ndarray, threads: int) -> None:
    assert np.ptp(alone) > 1
    np.testing.assert_array_equal(_run(model, threads), alone)
