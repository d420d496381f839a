"""Small networks of several operators, with numbers of their own: what importers must get right between operators."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from lite_model import Graph

from lite_cases.case import Case, random
from lite_cases.products import FLOAT, spread

Shape = tuple[int, ...]


class _Net:
    """A network on its way: the shape of each value by name; all of one type, numbers of 8 bits with made-up scales."""

    def __init__(self, name: str, shape: Shape, dtype: str = "int8", scale: float = 0.04) -> None:
        self.name, self.dtype, self.graph, self.rng = name, dtype, Graph(), random(name)
        self.shapes: dict[str, Shape] = {}
        self.scales: dict[str, float] = {}
        self.input = self.value("input", shape, scale)

    def value(self, name: str, shape: Shape, scale: float, zero: int | None = None) -> str:
        """A tensor."""
        name = f"{name}_{len(self.graph.tensors)}"
        self.shapes[name], self.scales[name] = shape, scale
        point = int(self.rng.integers(-20, 20)) if zero is None else zero
        quantized = {"scale": scale, "zero": point} if self.dtype == "int8" else {}
        return self.graph.tensor(name, shape, self.dtype, **quantized)

    def constant(self, name: str, array: Any, **more: Any) -> str:
        """A constant of a type of its own."""
        return self.graph.constant(f"{name}_{len(self.graph.tensors)}", np.asarray(array), **more)

    def op(
        self, code: str, inputs: Sequence[str], shape: Shape, scale: float, zero: int | None = None, **options: Any
    ) -> str:
        """A node of one result."""
        out = self.value(code.lower(), shape, scale, zero)
        self.graph.op(code, inputs, [out], **options)
        return out

    def same(self, code: str, x: str, **options: Any) -> str:
        """A function of each element."""
        return self.op(code, [x], self.shapes[x], self.scales[x], **options)

    def moved(self, code: str, x: str, shape: Shape, *more: str, **options: Any) -> str:
        """A node that moves elements."""
        zero = next(each.zero for each in self.graph.tensors if each.name == x)
        assert isinstance(zero, int)
        return self.op(code, [x, *more], shape, self.scales[x], zero, **options)

    def layer(self, code: str, x: str, weights: Shape, out: Shape, axis: int = 0, **options: Any) -> str:
        """A layer with weights of a scale for each channel, unless it is fully connected."""
        channels, inner = weights[axis], np.prod(weights) / weights[axis]
        if self.dtype == "float32":
            w = self.constant("w", self.rng.normal(0, inner**-0.5, weights).astype(np.float32))
            bias = self.constant("b", self.rng.normal(0, 0.1, channels).astype(np.float32))
            return self.op(code, [x, w, bias], out, 1.0, **options)
        each = 1 if code == "FULLY_CONNECTED" else channels
        scales = self.rng.uniform(0.5, 1.5, each) * inner**-0.5 / 60
        numbers = self.rng.integers(-127, 127, weights, endpoint=True).astype(np.int8)
        w = self.constant("w", numbers, scale=scales, axis=axis)
        given = np.float32(self.scales[x]) * scales.astype(np.float32)
        bias = self.constant("b", self.rng.integers(-3000, 3000, channels).astype(np.int32), scale=given)
        return self.op(code, [x, w, bias], out, self.scales[x] * float(self.rng.uniform(0.8, 1.4)), **options)

    def conv(self, x: str, outs: int, side: tuple[int, int] = (3, 3), stride: int = 1, fused: str = "RELU") -> str:
        """CONV_2D."""
        options: dict[str, Any] = {"padding": "SAME", "stride_h": stride, "stride_w": stride}
        options["fused_activation_function"] = fused
        shape = spread(self.shapes[x], side, outs, options)
        return self.layer("CONV_2D", x, (outs, *side, self.shapes[x][3]), shape, **options)

    def depthwise(self, x: str, stride: int = 1, fused: str = "RELU6") -> str:
        """DEPTHWISE_CONV_2D of windows of 3 x 3."""
        options: dict[str, Any] = {"padding": "SAME", "stride_h": stride, "stride_w": stride}
        options["fused_activation_function"] = fused
        shape, depth = spread(self.shapes[x], (3, 3), self.shapes[x][3], options), self.shapes[x][3]
        return self.layer("DEPTHWISE_CONV_2D", x, (1, 3, 3, depth), shape, 3, depth_multiplier=1, **options)

    def pool(self, x: str, side: int, code: str = "AVERAGE_POOL_2D") -> str:
        """A pool of windows that do not overlap."""
        batch, height, width, depth = self.shapes[x]
        options = {"filter_height": side, "filter_width": side, "stride_h": side, "stride_w": side}
        return self.moved(code, x, (batch, height // side, width // side, depth), padding="VALID", **options)

    def dense(self, x: str, outs: int, fused: str = "NONE") -> str:
        """FULLY_CONNECTED of what is flattened before."""
        count = int(np.prod(self.shapes[x][1:]))
        if len(self.shapes[x]) > 2:
            rows = self.constant("shape", np.array([1, count], np.int32))
            x = self.moved("RESHAPE", x, (1, count), rows, new_shape=[1, count])
        return self.layer("FULLY_CONNECTED", x, (outs, count), (1, outs), fused_activation_function=fused)

    def add(self, a: str, b: str, fused: str = "NONE") -> str:
        """ADD."""
        return self.op("ADD", [a, b], self.shapes[a], self.scales[a] * 1.3, fused_activation_function=fused)

    def softmax(self, x: str) -> str:
        """SOFTMAX, whose scale is given."""
        return self.op("SOFTMAX", [x], self.shapes[x], 1 / 256, -128, beta=1.0)

    def concatenated(self, *values: str) -> str:
        """CONCATENATION of channels, each requantised to the scale of the first."""
        first = values[0]
        zero = next(each.zero for each in self.graph.tensors if each.name == first)
        assert isinstance(zero, int)
        alike = [first]
        for x in values[1:]:
            same = self.dtype == "float32"
            alike.append(x if same else self.op("QUANTIZE", [x], self.shapes[x], self.scales[first], zero))
        depth = sum(self.shapes[x][-1] for x in values)
        return self.op("CONCATENATION", alike, (*self.shapes[first][:-1], depth), self.scales[first], zero, axis=3)

    def case(self, *outputs: str) -> Case:
        """The network with its results."""
        near = 20 * FLOAT if self.dtype == "float32" else 0
        return Case(f"network-{self.name}", [self.graph.ends([self.input], outputs)], tolerance=near)


def _keywords(net: _Net) -> Case:
    x = net.conv(net.input, 8, (5, 4), 2)
    for _ in range(2):
        x = net.conv(net.depthwise(x), 8, (1, 1))
    return net.case(net.softmax(net.dense(net.pool(x, 3), 6)))


def _residual(net: _Net) -> Case:
    x = net.conv(net.input, 8)
    x = net.add(x, net.conv(net.conv(x, 8), 8, fused="NONE"), "RELU")
    y = net.conv(net.conv(x, 12, stride=2), 12, fused="NONE")
    x = net.add(net.conv(x, 12, (1, 1), 2, "NONE"), y, "RELU")
    return net.case(net.softmax(net.dense(net.pool(x, 4), 5)))


def _mobile(net: _Net) -> Case:
    x = net.conv(net.input, 6, stride=2, fused="RELU6")
    wide = net.depthwise(net.conv(x, 12, (1, 1), fused="RELU6"))
    x = net.add(x, net.conv(wide, 6, (1, 1), fused="NONE"))
    axes = net.constant("axes", np.array([1, 2], np.int32))
    mean = net.op("MEAN", [x, axes], (1, 1, 1, 6), net.scales[x], keep_dims=True)
    return net.case(net.dense(mean, 4))


def _fire(net: _Net) -> Case:
    x = net.pool(net.conv(net.input, 8), 2, "MAX_POOL_2D")
    narrow = net.conv(x, 4, (1, 1))
    x = net.concatenated(net.conv(narrow, 6, (1, 1)), net.conv(narrow, 6))
    return net.case(net.dense(net.pool(x, 4), 3), x)


def _autoencoder(net: _Net) -> Case:
    x = net.input
    for size in (24, 12, 4, 12, 24):
        x = net.dense(x, size, "RELU")
    return net.case(net.dense(x, 40))


def _segments(net: _Net) -> Case:
    """An image made smaller and larger again."""
    whole = net.conv(net.input, 6)
    x = net.conv(net.pool(whole, 2, "MAX_POOL_2D"), 8)
    size = net.constant("size", np.array(net.shapes[whole][1:3], np.int32))
    x = net.moved("RESIZE_BILINEAR", x, (*net.shapes[whole][:3], 8), size, half_pixel_centers=True)
    x = net.conv(net.concatenated(whole, x), 3, (1, 1), fused="NONE")
    return net.case(net.op("LOGISTIC", [x], net.shapes[x], 1 / 256, -128))


def _gates(net: _Net) -> Case:
    """Channels weighted by what all of them are, and swish."""
    x = net.conv(net.input, 8, fused="NONE")
    x = net.same("HARD_SWISH", x)
    axes = net.constant("axes", np.array([1, 2], np.int32))
    mean = net.op("MEAN", [x, axes], (1, 1, 1, 8), net.scales[x], keep_dims=True)
    gate = net.conv(net.conv(mean, 4, (1, 1)), 8, (1, 1), fused="NONE")
    gate = net.op("LOGISTIC", [gate], net.shapes[gate], 1 / 256, -128)
    return net.case(net.op("MUL", [x, gate], net.shapes[x], net.scales[x]))


def _attention(net: _Net) -> Case:
    """One head on rows."""
    parts: list[str] = []
    for _ in range(3):
        parts.append(net.layer("FULLY_CONNECTED", net.input, (8, 10), (1, 6, 8), keep_num_dims=True))
    scores = net.op("BATCH_MATMUL", parts[:2], (1, 6, 6), net.scales[parts[0]] * 4, adj_y=True)
    return net.case(net.op("BATCH_MATMUL", [net.softmax(scores), parts[2]], (1, 6, 8), net.scales[parts[2]]))


def _turned(net: _Net) -> Case:
    """Transposes, pads, slices and strides between convolutions."""
    x = net.conv(net.input, 4)
    pads = net.constant("pads", np.array([[0, 0], [1, 0], [0, 1], [0, 0]], np.int32))
    batch, height, width, depth = net.shapes[x]
    x = net.conv(net.moved("PAD", x, (batch, height + 1, width + 1, depth), pads), 5, stride=2)
    order = net.constant("order", np.array([0, 3, 1, 2], np.int32))
    batch, height, width, depth = net.shapes[x]
    x = net.moved("TRANSPOSE", x, (batch, depth, height, width), order)
    ends = [
        net.constant("at", np.array(each, np.int32)) for each in ([0, 1, 0, 0], [1, 4, height, width], [1, 1, 2, 1])
    ]
    x = net.moved("STRIDED_SLICE", x, (batch, 3, -(-height // 2), width), *ends)
    return net.case(net.dense(x, 4), x)


_NETWORKS: list[tuple[str, Callable[[_Net], Case], Shape]] = [
    ("keywords", _keywords, (1, 12, 12, 1)), ("residual", _residual, (1, 8, 8, 3)), ("mobile", _mobile, (1, 10, 10, 3)),
    ("fire", _fire, (1, 8, 8, 3)), ("autoencoder", _autoencoder, (1, 40)), ("segments", _segments, (1, 6, 8, 2)),
    ("gates", _gates, (1, 7, 5, 4)), ("attention", _attention, (1, 6, 10)), ("turned", _turned, (1, 7, 9, 3)),
]  # fmt: skip


def _quantized_inside() -> Case:
    """Floats in and out, a layer of integers between."""
    graph, rng = Graph(), random("quantized inside")
    graph.tensor("x", (1, 12), "float32")
    graph.tensor("q", (1, 12), "int8", scale=0.06, zero=4)
    graph.constant("w", rng.integers(-127, 127, (5, 12)).astype(np.int8), scale=0.01)
    graph.tensor("p", (1, 5), "int8", scale=0.1, zero=-3)
    graph.tensor("y", (1, 5), "float32")
    graph.op("QUANTIZE", ["x"], ["q"])
    graph.op("FULLY_CONNECTED", ["q", "w", None], ["p"])
    graph.op("DEQUANTIZE", ["p"], ["y"])
    return Case("network-quantized_inside-int8", [graph.ends(["x"], ["y"])])


def cases() -> Iterator[Case]:
    """All of this file."""
    for name, made, shape in _NETWORKS:
        for dtype in ("int8", "float32"):
            yield made(_Net(f"{name}-{dtype}", shape, dtype))
    yield _quantized_inside()
