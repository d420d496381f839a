"""Networks of layers on pictures, within budgets of RAM: the numbers are those of the program without a budget."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from fuzz.routes import within_budgets


def network(seed: int) -> str:
    """A network of a seed, of floats or of 8 bits; what it counts as."""
    model, rng = drawn(seed, quantized=bool(seed % 2)), np.random.default_rng(seed)
    shape = [each.dim_value for each in model.graph.input[0].type.tensor_type.shape.dim]
    within_budgets(model.SerializeToString(), {"x": rng.standard_normal(shape).astype(np.float32) * 2}, rng)
    return "8 bits" if seed % 2 else "floats"


class Network:
    """A network of layers on pictures, whose extents are those of all their positions; of 8 bits, or of floats."""

    def __init__(self, seed: int, *, quantized: bool) -> None:
        self.r, self.quantized = np.random.default_rng(seed), quantized
        self.nodes, self.weights = list[NodeProto](), list[TensorProto]()
        self.shapes: dict[str, tuple[int, ...]] = {"x": (3, int(self.r.integers(9, 26)), int(self.r.integers(5, 14)))}

    def constant(self, value: Any, dtype: Any) -> str:
        self.weights.append(numpy_helper.from_array(np.asarray(value, dtype), f"w{len(self.weights)}"))
        return f"w{len(self.weights) - 1}"

    def node(self, kind: str, *operands: str, shape: tuple[int, ...] = (), **attributes: Any) -> str:
        name = f"{kind}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, operands, [name], **attributes))
        self.shapes[name] = shape or self.shapes[operands[0]]
        return name

    def real(self, x: str) -> str:
        """x, rounded to 8 bits where the network is."""
        if not self.quantized:
            return x
        parameters = self.constant(1 / 16, np.float32), self.constant(-3, np.int8)
        return self.node("DequantizeLinear", self.node("QuantizeLinear", x, *parameters), *parameters)

    def window(self, x: str, kind: str, weight: tuple[int, ...] = ()) -> str:
        """A convolution, depthwise where `weight` has one input, or a pool, of any window that fits."""
        channels, *extents = self.shapes[x]
        kernel = [int(self.r.integers(1, 4)) for _ in extents]
        strides = [int(self.r.choice([1, 1, 2])) for _ in extents]
        dilations = [int(self.r.choice([1, 1, 2])) for _ in extents] if kind == "Conv" else [1, 1]
        pads = [int(self.r.integers(0, size)) for size in kernel * 2]
        spans = [(size - 1) * dilation + 1 for size, dilation in zip(kernel, dilations, strict=True)]
        shape = [
            (extent + pads[axis] + pads[axis + 2] - spans[axis]) // strides[axis] + 1
            for axis, extent in enumerate(extents)
        ]
        if min(shape) < 2:
            return x
        attributes: dict[str, Any] = {"kernel_shape": kernel, "strides": strides, "pads": pads}
        if kind != "Conv":
            return self.real(self.node(kind, x, shape=(channels, *shape), **attributes))
        values = (*weight, *kernel)
        if self.quantized:
            taps = self.constant(self.r.integers(-127, 128, values), np.int8)
            taps = self.node("DequantizeLinear", taps, self.constant(1 / 256, np.float32), shape=values)
        else:
            taps = self.constant(self.r.normal(0, 0.3, values), np.float32)
        group = channels if weight[1] == 1 else 1
        found = self.node("Conv", x, taps, shape=(weight[0], *shape), dilations=dilations, group=group, **attributes)
        return self.real(self.node("Relu", found) if self.r.integers(0, 2) else found)

    def conv(self, x: str) -> str:
        return self.window(x, "Conv", (int(self.r.integers(2, 9)), self.shapes[x][0]))

    def depthwise(self, x: str) -> str:
        return self.window(x, "Conv", (self.shapes[x][0], 1))

    def pool(self, x: str) -> str:
        return self.window(x, "MaxPool")

    def residual(self, x: str) -> str:
        """x and what becomes of it, added up."""
        y, channels = x, self.shapes[x][0]
        for size in self.r.choice([1, 3], int(self.r.integers(1, 3))):
            saved, self.r = self.r, np.random.default_rng(int(self.r.integers(0, 1 << 30)))
            y = self.same(y, channels, int(size))
            self.r = saved
        return self.real(self.node("Add", x, y))

    def same(self, x: str, outputs: int, size: int) -> str:
        """A convolution whose result has the positions of x."""
        shape = (outputs, self.shapes[x][0], size, size)
        if self.quantized:
            weight = self.constant(self.r.integers(-127, 128, shape), np.int8)
            weight = self.node("DequantizeLinear", weight, self.constant(1 / 256, np.float32), shape=shape)
        else:
            weight = self.constant(self.r.normal(0, 0.3, shape), np.float32)
        _, *extents = self.shapes[x]
        pads = [size // 2] * 4
        return self.real(self.node("Conv", x, weight, shape=(outputs, *extents), kernel_shape=[size] * 2, pads=pads))

    def model(self, *results: str) -> ModelProto:
        names = ["x", *(self.node("Identity", result) for result in results)]
        infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, *self.shapes[name]]) for name in names]
        graph = helper.make_graph(self.nodes, "g", infos[:1], infos[1:], self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def drawn(seed: int, *, quantized: bool) -> ModelProto:
    """Some layers in a row; what some of them give is read again later, or a result of the model."""
    g = Network(seed, quantized=quantized)
    x = g.conv(g.real("x"))
    also: list[str] = []
    for _ in range(int(g.r.integers(3, 8))):
        layer = (g.conv, g.depthwise, g.depthwise, g.pool, g.residual)[int(g.r.integers(0, 5))]
        x = layer(x)
        if g.r.integers(0, 8) == 0:
            also.append(x)
    return g.model(x, *also)
