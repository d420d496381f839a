"""Networks on blocked tensors, compiled for this machine's vectors, against onnxruntime."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import onnxruntime as ort
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

import aotc

Array = np.ndarray[Any, Any]


class Net:
    """A model under construction; methods add nodes and return the names of their results."""

    def __init__(self, *shape: int) -> None:
        self._rng = np.random.default_rng(len(shape) * 1000 + sum(shape))
        self._nodes: list[NodeProto] = []
        self._weights: list[TensorProto] = []
        self.shape = shape
        self.channels: dict[str, int] = {"x": shape[1]}

    def weight(self, *shape: int) -> str:
        """A random constant."""
        name = f"w{len(self._weights)}"
        scale = 1 / np.sqrt(np.prod(shape[1:])) if len(shape) > 2 else 1.0
        value = (self._rng.standard_normal(shape) * scale).astype(np.float32)
        self._weights.append(numpy_helper.from_array(value, name))
        return name

    def constant(self, *values: float) -> str:
        """A constant of the values given."""
        name = f"w{len(self._weights)}"
        dtype = np.int64 if all(isinstance(value, int) for value in values) else np.float32
        self._weights.append(numpy_helper.from_array(np.array(values, dtype), name))
        return name

    def op(self, kind: str, *inputs: str, channels: int | None = None, **attributes: Any) -> str:
        """A node; as many channels as its first input unless said."""
        name = f"t{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, inputs, [name], name, **attributes))
        self.channels[name] = self.channels.get(inputs[0], 0) if channels is None else channels
        return name

    def conv(self, x: str, outputs: int, size: int = 3, *, relu: bool = True, group: int = 1, **attributes: Any) -> str:
        """A convolution that keeps the spatial extents where it has no stride, with a relu."""
        rank = len(self.shape) - 2
        weight = self.weight(outputs, self.channels[x] // group, *[size] * rank)
        attributes = {"pads": [size // 2] * (2 * rank), "group": group} | attributes
        y = self.op("Conv", x, weight, self.weight(outputs), channels=outputs, **attributes)
        return self.op("Relu", y) if relu else y

    def concat(self, *parts: str, axis: int = 1) -> str:
        """Parts joined."""
        total = sum(self.channels[part] for part in parts) if axis == 1 else None
        return self.op("Concat", *parts, axis=axis, channels=total)

    def model(self, *outputs: str) -> ModelProto:
        """The finished model."""
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)
        values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
        graph = helper.make_graph(self._nodes, "net", [x], values, self._weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def dense_block() -> ModelProto:
    net = Net(1, 3, 9, 9)
    parts = [net.conv("x", 32, strides=[2, 2])]
    for _ in range(3):
        joined = net.concat(*parts) if len(parts) > 1 else parts[0]
        scaled = net.op("Add", net.op("Mul", joined, net.weight(net.channels[joined], 1, 1)), net.weight(1, 1, 1))
        parts.append(net.conv(net.op("Relu", scaled), 16))
    return net.model(net.op("GlobalAveragePool", net.concat(*parts)))


def squeeze_and_excite() -> ModelProto:
    net = Net(2, 5, 11, 7)
    x = net.conv("x", 40, 5, strides=[2, 1])
    gate = net.op("GlobalAveragePool", net.conv(x, 40, group=40))
    gate = net.op("Sigmoid", net.conv(net.conv(gate, 10, 1), 40, 1, relu=False))
    gated = net.op("Mul", x, gate)
    return net.model(net.op("Flatten", net.op("GlobalMaxPool", gated)), net.conv(gated, 24, 1))


def encoder_decoder() -> ModelProto:
    net = Net(1, 1, 12, 16)
    skip = net.conv("x", 16)
    low = net.conv(net.op("MaxPool", skip, kernel_shape=[2, 2], strides=[2, 2]), 40)
    scales = net.constant(1.0, 1.0, 2.0, 2.0)
    up = net.op("Resize", low, "", scales, mode="nearest")
    smooth = net.op("Resize", low, "", scales, mode="linear")
    both = net.conv(net.concat(skip, up), 20)
    return net.model(net.conv(net.concat(both, smooth, skip), 3, relu=False), net.op("Softmax", skip, axis=1))


def in_one_dimension() -> ModelProto:
    net = Net(3, 20, 33)
    x = net.conv("x", 48, 7, strides=[2])
    half = net.op("Slice", x, net.constant(16), net.constant(48), net.constant(1), channels=32)
    middle = net.op("Slice", x, net.constant(8), net.constant(40), net.constant(1), channels=32)
    y = net.conv(half, 32, 3, dilations=[2], pads=[2, 2])
    y = net.op("Add", y, net.op("Add", middle, half))
    return net.model(net.op("ReduceMean", y, axes=[2], keepdims=0), net.op("Transpose", y, perm=[0, 2, 1]))


def in_three_dimensions() -> ModelProto:
    net = Net(1, 2, 5, 6, 7)
    x = net.conv("x", 18, strides=[1, 2, 1])
    y = net.op("AveragePool", net.conv(x, 16), kernel_shape=[2, 2, 2])
    return net.model(net.op("Reshape", net.conv(y, 33, 1), net.constant(1, 33, -1)))


def groups() -> ModelProto:
    net = Net(1, 16, 8, 8)
    x = net.conv("x", 64, 1)
    whole = net.conv(x, 64, group=2)
    broken = net.conv(x, 64, group=16)
    depthwise = net.conv(whole, 64, 5, group=64, strides=[2, 2])
    y = net.op("ConvTranspose", depthwise, net.weight(64, 24, 2, 2), strides=[2, 2], channels=24)
    return net.model(net.conv(net.op("Clip", y, net.weight(), net.op("Exp", net.weight())), 8), broken)


def spatial_attention() -> ModelProto:
    """Gates of one channel, which lie in blocks, too, are for all channels."""
    net = Net(1, 3, 9, 10)
    x = net.conv("x", 40)
    extremes = [net.op(kind, x, axes=[1], keepdims=1, channels=1) for kind in ("ReduceMean", "ReduceMax")]
    x = net.op("Mul", x, net.op("Sigmoid", net.conv(net.concat(*extremes), 1, 7, relu=False)))
    return net.model(net.conv(net.op("Add", net.conv(x, 1, 1), x, channels=40), 20))


NETWORKS = (
    dense_block,
    squeeze_and_excite,
    encoder_decoder,
    in_one_dimension,
    in_three_dimensions,
    groups,
    spatial_attention,
)


@pytest.mark.parametrize(
    ("build", "accuracy"), [*((build, "fast") for build in NETWORKS), (dense_block, "strict"), (groups, "strict")]
)
def test_networks_are_what_onnxruntime_computes(build: Callable[[], ModelProto], accuracy: str) -> None:
    model = build()
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    shape = session.get_inputs()[0].shape
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    expected = cast(list[Array], session.run(None, {"x": x}))
    for mine, theirs in zip(aotc.compile(model, accuracy=accuracy)({"x": x}).values(), expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-4 * float(np.abs(theirs).max()))
