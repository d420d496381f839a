"""Convolutions as models, and what onnxruntime makes of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
from onnx import ModelProto, TensorProto, helper, numpy_helper

import aotc

Array = np.ndarray[Any, Any]


def convolution(kind: str, x: Array, weight: Array, bias: Array | None, **attributes: Any) -> ModelProto:
    """`Conv` or `ConvTranspose` of x [N, C, ..], then a relu: x to z."""
    constants = {"w": weight} | ({} if bias is None else {"b": bias})
    graph = helper.make_graph(
        [helper.make_node(kind, ["x", *constants], ["y"], **attributes), helper.make_node("Relu", ["y"], ["z"])],
        "convolution",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
        [helper.make_tensor_value_info("z", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def assert_as_onnxruntime(model: ModelProto, x: Array, *levels: str, target: str = "host") -> None:
    """Compiled at each level of `optimize`, the model computes of x what onnxruntime does."""
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (expected,) = session.run(None, {"x": x})
    for level in levels:
        found = aotc.compile(model, optimize=level, target=target)({"x": x})["z"]
        np.testing.assert_allclose(found, np.asarray(expected), rtol=1e-4, atol=1e-4, err_msg=f"-O{level}")
