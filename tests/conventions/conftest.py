"""The small model that most of these tests run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two inputs and three outputs of three element types, weights, and steps that need a workspace."""
    rng = np.random.default_rng(1)
    weights = {
        "w0": rng.standard_normal((3, 40), np.float32),
        "w1": rng.standard_normal((40, 5), np.float32),
        "bias": rng.standard_normal(5, np.float32),
        "zero": np.zeros((), np.float32),
    }
    nodes = [
        helper.make_node("MatMul", ["a", "w0"], ["h"]),
        helper.make_node("Softmax", ["h"], ["p"], axis=-1),
        helper.make_node("MatMul", ["p", "w1"], ["q"]),
        helper.make_node("Add", ["q", "bias"], ["scores"]),
        helper.make_node("Greater", ["a", "zero"], ["positive"]),
        helper.make_node("Add", ["b", "b"], ["twice"]),
    ]
    graph = helper.make_graph(
        nodes,
        "toy",
        [
            helper.make_tensor_value_info("a", TensorProto.FLOAT, [2, 3]),
            helper.make_tensor_value_info("b", TensorProto.UINT8, [4]),
        ],
        [
            helper.make_tensor_value_info("scores", TensorProto.FLOAT, [2, 5]),
            helper.make_tensor_value_info("positive", TensorProto.BOOL, [2, 3]),
            helper.make_tensor_value_info("twice", TensorProto.UINT8, [4]),
        ],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    path = tmp_path_factory.mktemp("model") / "toy.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path
