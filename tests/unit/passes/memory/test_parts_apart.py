"""Concatenations of channels that come last: their parts are written in place, with the numbers of onnxruntime."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness import SCALAR, assert_close, reference
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from quick_c import quick_flags, write_c

import aotc
from aotc.compiler.driver import in_process, lower
from aotc.executor import compiled_in_process, load
from aotc.measuring.routes import build_shared
from aotc.pipeline.options import CompileOptions


class Graph:
    """A network of convolutions and concatenations; quantised to 8 bits, or of floats."""

    def __init__(self, seed: int, *, quantized: bool) -> None:
        self.r, self.quantized = np.random.default_rng(seed), quantized
        self.nodes, self.weights, self.channels = list[NodeProto](), list[TensorProto](), {"x": 3}
        self.batch, self.rank = 1 + seed % 2, 1 + int(seed % 3 > 0)

    def constant(self, value: Any, dtype: Any) -> str:
        self.weights.append(numpy_helper.from_array(np.asarray(value, dtype), f"w{len(self.weights)}"))
        return f"w{len(self.weights) - 1}"

    def node(self, kind: str, *operands: str, channels: int = 0, **attributes: Any) -> str:
        name = f"{kind}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, operands, [name], **attributes))
        self.channels[name] = channels or self.channels[operands[0]]
        return name

    def real(self, x: str) -> str:
        """x, rounded to 8 bits where the network is."""
        if not self.quantized:
            return x
        parameters = self.constant(1 / 16, np.float32), self.constant(-3, np.int8)
        return self.node("DequantizeLinear", self.node("QuantizeLinear", x, *parameters), *parameters)

    def conv(self, x: str, outputs: int, size: int) -> str:
        shape = (outputs, self.channels[x], *[size] * self.rank)
        if self.quantized:
            weight = self.constant(self.r.integers(-127, 128, shape), np.int8)
            weight = self.node("DequantizeLinear", weight, self.constant(1 / 256, np.float32), channels=1)
        else:
            weight = self.constant(self.r.normal(0, 0.3, shape), np.float32)
        pads = [size // 2] * 2 * self.rank
        found = self.node("Conv", x, weight, channels=outputs, kernel_shape=[size] * self.rank, pads=pads)
        return self.real(self.node("Relu", found))

    def pool(self, x: str) -> str:
        return self.node("MaxPool", x, kernel_shape=[3] * self.rank, pads=[1] * 2 * self.rank)

    def concat(self, *parts: str) -> str:
        return self.real(self.node("Concat", *parts, channels=sum(self.channels[part] for part in parts), axis=1))

    def model(self, result: str) -> ModelProto:
        self.nodes.append(helper.make_node("Identity", [result], ["y"]))
        infos = [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, [self.batch, channels, *[7] * self.rank])
            for name, channels in (("x", 3), ("y", self.channels[result]))
        ]
        graph = helper.make_graph(self.nodes, "g", infos[:1], infos[1:], self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def blocks(seed: int, *, quantized: bool) -> ModelProto:
    """Blocks of parts of any widths: convolutions, a pool, what another part reads, a concatenation, one part twice."""
    g = Graph(seed, quantized=quantized)
    x = g.conv(g.real("x"), 8, 1)
    for _ in range(3):
        parts = [g.conv(x, int(g.r.integers(1, 9)), int(size)) for size in g.r.choice([1, 3], g.r.integers(1, 4))]
        more = [
            lambda x=x: g.conv(g.pool(x), 5, 1),
            lambda x=x: g.pool(x),
            lambda x=x: x,
            lambda parts=parts: parts[0],
            lambda x=x: g.concat(g.conv(x, 2, 1), g.conv(x, 3, 3)),
            lambda x=x: g.conv(x, 4, 3),
        ]
        parts += [more[int(number)]() for number in g.r.integers(0, len(more), 2)]
        x = g.conv(g.concat(*(parts[int(place)] for place in g.r.permutation(len(parts)))), 6, int(g.r.choice([1, 3])))
    return g.model(x)


@pytest.mark.parametrize("quantized", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_numbers_are_those_of_onnxruntime(seed: int, quantized: bool, tmp_path: Path) -> None:
    model = blocks(seed, quantized=quantized)
    shape = [each.dim_value for each in model.graph.input[0].type.tensor_type.shape.dim]
    feed = {"x": np.random.default_rng(seed).standard_normal(shape).astype(np.float32) * 2}
    expected = reference(model, feed)
    assert expected is not None
    compilation = lower(model, replace(in_process(CompileOptions.of(target=SCALAR)), weights="embedded"))
    library = build_shared(write_c(compilation, tmp_path), quick_flags())
    by_c, by_llvm = (each(feed)["y"] for each in (load(library), compiled_in_process(compilation)))
    assert by_c.tobytes() == by_llvm.tobytes()
    if quantized:
        np.testing.assert_array_equal(by_c, expected[0])
    else:
        assert_close("y", by_c, expected[0])


@pytest.mark.parametrize(("quantized", "width"), [(False, 4), (True, 1)])
def test_parts_take_no_memory_of_their_own(quantized: bool, width: int) -> None:
    """Before the last convolution there are the whole and its result, which is smaller than what the parts read."""
    g = Graph(1, quantized=quantized)
    x = g.conv(g.real("x"), 8, 1)
    model = g.model(g.conv(g.concat(g.conv(x, 24, 1), g.conv(x, 16, 3)), 8, 1))
    found = aotc.build(model, target="cortex-m4f").metadata.workspace_bytes
    assert found <= -(-g.batch * 7**g.rank * (8 + 24 + 16) * width // 16) * 16 + 32
