"""Stacks of equal layers: the points of sweeps over sizes, whose weights together decide from which cache they come."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from onnx import helper, numpy_helper
from points import Array, Point, drawn, inferred

ROWS = (1, 2, 4, 7, 8, 10, 13, 16, 24, 32, 37, 48, 64, 96, 128, 192, 256)
PRODUCTS = ((64, 256, 8), (256, 1024, 8), (768, 3072, 4))
"""Channels, channels between, and layers: 512 KiB, 8 MiB and 36 MiB of floats."""
TOKENS = (4, 8, 15, 16, 24, 32, 48, 64, 96, 128, 200)
CHANNELS = {112: (16, 32), 56: (24, 32, 64), 28: (128, 256), 14: (256, 512), 7: (256, 512)}
"""By rows and columns of an image."""
WINDOWS = (1, 3, 5, 7)
MOST_TAPS = 1 << 31
"""Products of the largest point."""


class _Layers:
    """A model of one input that grows layer by layer."""

    def __init__(self, *shape: int, opset: int = 20) -> None:
        self.x = drawn("x", shape)
        self.nodes: list[Any] = []
        self.constants: dict[str, Array] = {}
        self.opset = opset

    def constant(self, value: Any) -> str:
        """The name of a new constant."""
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(value)
        return name

    def weight(self, *shape: int, terms: int) -> str:
        """Floats whose sums of so many terms are as large as the operand."""
        return self.constant(drawn(f"{shape}{len(self.constants)}", shape) / np.float32(np.sqrt(terms)))

    def add(self, kind: str, *operands: str, **attributes: Any) -> str:
        """The result of a new node."""
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, operands, [name], **attributes))
        return name

    def point(self, name: str, result: str) -> Point:
        """The model."""
        graph = helper.make_graph(
            self.nodes,
            "layers",
            [helper.make_tensor_value_info("x", 1, self.x.shape)],
            [helper.make_empty_tensor_value_info(result)],
            [numpy_helper.from_array(value, key) for key, value in self.constants.items()],
        )
        opsets = [helper.make_opsetid("", self.opset)]
        return Point(name, inferred(helper.make_model(graph, opset_imports=opsets, ir_version=9)), {"x": self.x})

    # Layers

    def linear(self, x: str, inputs: int, outputs: int) -> str:
        """A product and a bias."""
        product = self.add("MatMul", x, self.weight(inputs, outputs, terms=inputs))
        return self.add("Add", product, self.weight(outputs, terms=4))

    def convolution(self, x: str, channels: int, size: int, groups: int = 1) -> str:
        """To as many channels, with as many positions."""
        terms = channels // groups * size**2
        weight = self.weight(channels, channels // groups, size, size, terms=terms)
        return self.add("Conv", x, weight, self.weight(channels, terms=4), pads=[size // 2] * 4, group=groups)

    def normalized(self, x: str, channels: int) -> str:
        """A layer normalisation."""
        ones, zeros = (self.constant(np.full(channels, value, np.float32)) for value in (1, 0))
        return self.add("LayerNormalization", x, ones, zeros)

    def attention(self, x: str, tokens: int, channels: int, heads: int) -> str:
        """Softmax over all tokens, and the product behind it."""
        apart = self.constant(np.array([1, tokens, heads, channels // heads]))
        kinds = [[0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]]
        query, key, value = (
            self.add("Transpose", self.add("Reshape", self.linear(x, channels, channels), apart), perm=perm)
            for perm in kinds
        )
        scale = self.constant(np.float32((channels // heads) ** 0.5))
        scores = self.add("Softmax", self.add("Div", self.add("MatMul", query, key), scale), axis=-1)
        mixed = self.add("Transpose", self.add("MatMul", scores, value), perm=kinds[0])
        whole = self.constant(np.array([1, tokens, channels]))
        return self.linear(self.add("Reshape", mixed, whole), channels, channels)

    def quantized(self, x: str, scale: float = 0.05) -> str:
        """Rounded to 8 bits without sign."""
        values = self.constant(np.float32(scale)), self.constant(np.uint8(128))
        return self.add("DequantizeLinear", self.add("QuantizeLinear", x, *values), *values)

    def integers(self, *shape: int, terms: int) -> str:
        """A weight of 8 bits, with a scale for each output."""
        name = f"{shape}{len(self.constants)}"
        values = np.clip(np.rint(drawn(name, shape) * 40), -127, 127).astype(np.int8)
        scale = np.full(shape[0], 1 / (40 * terms**0.5), np.float32)
        zeros = self.constant(np.zeros(shape[0], np.int8))
        return self.add("DequantizeLinear", self.constant(values), self.constant(scale), zeros, axis=0)


def products() -> Iterator[Point]:
    """Products of some rows, wide and narrow in turn."""
    for channels, between, count in PRODUCTS:
        for rows in ROWS:
            layers, x = _Layers(rows, channels), "x"
            for number in range(count):
                sizes = (channels, between) if number % 2 == 0 else (between, channels)
                x = layers.add("Relu", layers.linear(x, *sizes))
            yield layers.point(f"{rows} x {channels} x {between}, {count} layers", x)


def transformers() -> Iterator[Point]:
    """Six layers of 384 channels and 12 heads, as of a small model of sentences."""
    channels = 384
    for tokens in TOKENS:
        layers, x = _Layers(1, tokens, channels), "x"
        for _ in range(6):
            x = layers.normalized(layers.add("Add", x, layers.attention(x, tokens, channels, 12)), channels)
            wide = layers.add("Gelu", layers.linear(x, channels, 4 * channels))
            x = layers.normalized(layers.add("Add", x, layers.linear(wide, 4 * channels, channels)), channels)
        yield layers.point(f"{tokens} tokens", x)


def _convolutions(*, depthwise: bool) -> Iterator[tuple[int, int, int, int]]:
    count = 3
    for extent, all_channels in CHANNELS.items():
        for channels, size in itertools.product(all_channels, (3, 5) if depthwise else WINDOWS):
            if depthwise or count * (extent * channels * size) ** 2 <= MOST_TAPS:
                yield channels, extent, size, count


def _convolution_name(channels: int, extent: int, size: int, count: int, *, depthwise: bool) -> str:
    kind = " depthwise" if depthwise else ""
    return f"{size} x {size}{kind}, {channels} channels, {extent} x {extent}, {count} layers"


def convolutions() -> Iterator[Point]:
    """Convolutions of all channels, and depthwise ones."""
    for depthwise in (False, True):
        for channels, extent, size, count in _convolutions(depthwise=depthwise):
            layers, x = _Layers(1, channels, extent, extent), "x"
            for _ in range(count):
                x = layers.add("Relu", layers.convolution(x, channels, size, channels if depthwise else 1))
            yield layers.point(_convolution_name(channels, extent, size, count, depthwise=depthwise), x)


def integers() -> Iterator[Point]:
    """Convolutions and products of 8-bit integers, weights with a scale for each output."""
    for channels, extent, size, count in _convolutions(depthwise=False):
        layers = _Layers(1, channels, extent, extent)
        x = layers.quantized("x")
        for _ in range(count):
            weight = layers.integers(channels, channels, size, size, terms=channels * size**2)
            x = layers.quantized(layers.add("Relu", layers.add("Conv", x, weight, pads=[size // 2] * 4)))
        yield layers.point(_convolution_name(channels, extent, size, count, depthwise=False), x)
    for channels, between, count in PRODUCTS:
        for rows in ROWS:
            layers = _Layers(rows, channels)
            x = layers.quantized("x")
            for number in range(count):
                inputs, outputs = (channels, between) if number % 2 == 0 else (between, channels)
                weight = layers.integers(outputs, inputs, terms=inputs)
                x = layers.quantized(layers.add("Relu", layers.add("Gemm", x, weight, transB=1)))
            yield layers.point(f"{rows} x {channels} x {between}, {count} layers", x)
