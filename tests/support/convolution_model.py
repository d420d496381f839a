"""Convolutions as models, and what onnxruntime makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnxruntime
from case_model import window_values
from onnx import ModelProto, TensorProto, helper, numpy_helper

import aotc
from aotc.dialects.graph.windows.sliding import sliding_windows

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class ConvolutionCase:
    """A convolution of two images, without groups."""

    channels: int
    outputs: int
    extents: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...] = ()
    pads: tuple[int, ...] = ()
    dilations: tuple[int, ...] = ()
    bias: bool = True

    def values(self) -> dict[str, Sequence[int]]:
        """The attributes."""
        return window_values(self.kernel, self.strides, self.pads, self.dilations)

    def shapes(self) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """Of x, the weight, the bias."""
        return (2, self.channels, *self.extents), (self.outputs, self.channels, *self.kernel), (self.outputs,)

    def result_shape(self) -> tuple[int, ...]:
        """Of the result."""
        windows = sliding_windows(self.extents, self.kernel, **self.values())
        return 2, self.outputs, *(window.positions for window in windows)

    def arrays(self, seed: int) -> list[Array]:
        """Random x, weight and bias."""
        rng = np.random.default_rng(seed)
        return [rng.standard_normal(shape).astype(np.float32) for shape in self.shapes()]


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
