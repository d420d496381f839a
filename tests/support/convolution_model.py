"""Convolutions as models, and what onnxruntime makes of them; networks of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnxruntime
from case_model import window_values
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

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


class Layers:
    """Nodes and weights of a network, of floats or of 8 bits, whose real numbers are rounded behind each layer; methods
    add nodes and return the name of the result."""

    def __init__(self, seed: int, *, quantized: bool) -> None:
        self.r, self.quantized = np.random.default_rng(seed), quantized
        self.nodes, self.weights = list[NodeProto](), list[TensorProto]()

    def constant(self, value: Any, dtype: Any) -> str:
        self.weights.append(numpy_helper.from_array(np.asarray(value, dtype), f"w{len(self.weights)}"))
        return f"w{len(self.weights) - 1}"

    def node(self, kind: str, *operands: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(kind, operands, [f"{kind}{len(self.nodes)}"], **attributes))
        return self.nodes[-1].output[0]

    def real(self, x: str) -> str:
        """x, rounded to 8 bits where the network is."""
        if not self.quantized:
            return x
        parameters = self.constant(1 / 16, np.float32), self.constant(-3, np.int8)
        return self.node("DequantizeLinear", self.node("QuantizeLinear", x, *parameters), *parameters)

    def taps(self, shape: Sequence[int]) -> str:
        """Weights of a window."""
        if not self.quantized:
            return self.constant(self.r.normal(0, 0.3, shape), np.float32)
        weight = self.constant(self.r.integers(-127, 128, shape), np.int8)
        return self.node("DequantizeLinear", weight, self.constant(1 / 256, np.float32))

    def windows(self, x: str, shape: Sequence[int], kind: str = "Conv", **attributes: Any) -> str:
        """A convolution with weights of this shape, or another layer that has them."""
        return self.real(self.node(kind, x, self.taps(shape), **attributes))

    def resized(self, x: str, *scales: float, **attributes: Any) -> str:
        """x with its spatial axes so many times as long."""
        return self.real(self.node("Resize", x, "", self.constant([1, 1, *scales], np.float32), **attributes))

    def model(self, x: Sequence[int], results: Mapping[str, Sequence[int]]) -> ModelProto:
        """The model of an input x and results y, y1 and so on, of these shapes."""
        shapes = {"x": x}
        for number, (name, shape) in enumerate(results.items()):
            shapes[f"y{number or ''}"] = shape
            self.nodes.append(helper.make_node("Identity", [name], [f"y{number or ''}"]))
        infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
        graph = helper.make_graph(self.nodes, "g", infos[:1], infos[1:], self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
