"""Layers that change how many rows there are, or join what others give, row by row: the numbers and bits of whole
layers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness import SCALAR
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from quick_c import quick_flags, write_c

from aotc.compiler.driver import in_process, lower
from aotc.executor import compiled_in_process, load
from aotc.measuring.routes import build_shared
from aotc.pipeline.compilation import Compilation
from aotc.pipeline.options import CompileOptions


class Network:
    """Layers on a picture x [1, 3, 24, 12], of 8 bits or of floats."""

    def __init__(self, *, quantized: bool) -> None:
        self.r, self.quantized = np.random.default_rng(3), quantized
        self.nodes, self.weights = list[NodeProto](), list[TensorProto]()

    def constant(self, value: Any, dtype: Any) -> str:
        self.weights.append(numpy_helper.from_array(np.asarray(value, dtype), f"w{len(self.weights)}"))
        return f"w{len(self.weights) - 1}"

    def node(self, kind: str, *operands: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(kind, operands, [f"{kind}{len(self.nodes)}"], **attributes))
        return self.nodes[-1].output[0]

    def real(self, x: str) -> str:
        """x, rounded to 8 bits where the network is."""
        parameters = self.constant(1 / 16, np.float32), self.constant(-3, np.int8)
        pair = ("QuantizeLinear", "DequantizeLinear") if self.quantized else ()
        for kind in pair:
            x = self.node(kind, x, *parameters)
        return x

    def conv(self, x: str, weight: tuple[int, ...], kind: str = "Conv", **attributes: Any) -> str:
        if self.quantized:
            taps = self.constant(self.r.integers(-127, 128, weight), np.int8)
            taps = self.node("DequantizeLinear", taps, self.constant(1 / 256, np.float32))
        else:
            taps = self.constant(self.r.normal(0, 0.3, weight), np.float32)
        return self.real(self.node(kind, x, taps, **attributes))

    def same(self, x: str, outputs: int, inputs: int) -> str:
        return self.conv(x, (outputs, inputs, 3, 3), pads=[1] * 4)

    def resized(self, x: str, *scales: float, **attributes: Any) -> str:
        return self.real(self.node("Resize", x, "", self.constant([1, 1, *scales], np.float32), **attributes))

    def joined(self, *parts: str, axis: int = 1) -> str:
        return self.real(self.node("Concat", *parts, axis=axis))

    def model(self, *results: tuple[str, int, int, int]) -> ModelProto:
        names = [self.node("Identity", name) for name, *_ in results]
        shapes = zip(["x", *names], [(3, 24, 12), *(shape for _, *shape in results)], strict=True)
        infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, *shape]) for name, shape in shapes]
        graph = helper.make_graph(self.nodes, "g", infos[:1], infos[1:], self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def decoder(*, quantized: bool) -> ModelProto:
    """Layers that halve rows and double them again in several ways, with skips that are joined, and two results."""
    g = Network(quantized=quantized)
    skip = g.same(g.real("x"), 4, 3)
    low = g.same(g.node("MaxPool", skip, kernel_shape=[2, 2], strides=[2, 2]), 8, 4)
    nearest = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    linear = {"mode": "linear", "coordinate_transformation_mode": "half_pixel"}
    parts = [
        g.resized(low, 2, 2, **nearest),
        skip,
        g.conv(low, (8, 4, 2, 2), "ConvTranspose", strides=[2, 2]),
        g.resized(low, 2, 2, **linear),
        g.node("DepthToSpace", low, blocksize=2),
    ]
    high = g.same(g.joined(*parts), 4, 26)
    return g.model((g.same(high, 4, 4), 4, 24, 12), (g.same(low, 2, 8), 2, 12, 6))


def cropped(*, quantized: bool) -> ModelProto:
    """Layers that leave rows out, add some, and put them below others; a resize by a fraction."""
    g = Network(quantized=quantized)
    x = g.same(g.real("x"), 4, 3)
    ints = [g.constant(value, np.int64) for value in ([2], [21], [2])]
    rows = g.same(g.node("Slice", x, *ints), 4, 4)  # [4, 19, 12]
    below = g.joined(rows, g.node("Pad", g.same(rows, 4, 4), g.constant([0, 0, 1, 0, 0, 0, 2, 0], np.int64)), axis=2)
    wide = g.resized(g.same(below, 4, 4), 1.5, 1, mode="nearest")  # [4, 61, 12]
    return g.model((g.same(wide, 2, 4), 2, 61, 12))


def compiled(model: ModelProto, ram: str | None) -> Compilation:
    options = CompileOptions.of(target=SCALAR, ram=ram)
    return lower(model, replace(in_process(options), weights="embedded"))


@pytest.mark.parametrize(
    ("network", "quantized", "in_c", "share"), [(decoder, True, True, 0.8), (cropped, False, False, 0.5)]
)
def test_numbers_are_those_without_a_budget(
    network: Any, quantized: bool, in_c: bool, share: float, tmp_path: Path
) -> None:
    model = network(quantized=quantized)
    feed = {"x": np.random.default_rng(1).standard_normal((1, 3, 24, 12)).astype(np.float32) * 2}
    plain, rolled = compiled(model, None), compiled(model, "min")
    assert rolled.info().workspace_bytes <= share * plain.info().workspace_bytes
    expected = compiled_in_process(plain)(feed)
    run = load(build_shared(write_c(rolled, tmp_path), quick_flags())) if in_c else compiled_in_process(rolled)
    found = run(feed)
    assert {name: array.tobytes() for name, array in found.items()} == {
        name: array.tobytes() for name, array in expected.items()
    }
