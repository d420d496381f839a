"""Concatenations of channels that come last: their parts are written in place, with the numbers of onnxruntime."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from convolution_model import Layers
from harness import SCALAR, assert_close, reference
from onnx import ModelProto
from quick_c import quick_flags, write_c

import aotc
from aotc.compiler.driver import in_process, lower
from aotc.executor import compiled_in_process, load
from aotc.measuring.routes import build_shared
from aotc.pipeline.options import CompileOptions


class Graph(Layers):
    """Convolutions and concatenations, of any batch, along one axis or two."""

    def __init__(self, seed: int, *, quantized: bool) -> None:
        super().__init__(seed, quantized=quantized)
        self.channels = {"x": 3}
        self.batch, self.rank = 1 + seed % 2, 1 + int(seed % 3 > 0)

    def of(self, channels: int, name: str) -> str:
        """A result, rounded where the network is, that has so many channels."""
        name = self.real(name)
        self.channels[name] = channels
        return name

    def conv(self, x: str, outputs: int, size: int) -> str:
        taps = self.taps((outputs, self.channels[x], *[size] * self.rank))
        found = self.node("Conv", x, taps, kernel_shape=[size] * self.rank, pads=[size // 2] * 2 * self.rank)
        return self.of(outputs, self.node("Relu", found))

    def pool(self, x: str) -> str:
        name = self.node("MaxPool", x, kernel_shape=[3] * self.rank, pads=[1] * 2 * self.rank)
        self.channels[name] = self.channels[x]
        return name

    def concat(self, *parts: str) -> str:
        return self.of(sum(self.channels[part] for part in parts), self.node("Concat", *parts, axis=1))

    def of_blocks(self, result: str) -> ModelProto:
        shapes = ([self.batch, channels, *[7] * self.rank] for channels in (3, self.channels[result]))
        return self.model(next(shapes), {result: next(shapes)})


def blocks(seed: int, *, quantized: bool) -> ModelProto:
    """Blocks of parts of any widths: convolutions, a pool, what another part reads, a concatenation, one part twice."""
    g = Graph(seed, quantized=quantized)
    x = g.conv(g.of(3, "x"), 8, 1)
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
    return g.of_blocks(x)


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
    x = g.conv(g.of(3, "x"), 8, 1)
    model = g.of_blocks(g.conv(g.concat(g.conv(x, 24, 1), g.conv(x, 16, 3)), 8, 1))
    found = aotc.build(model, target="cortex-m4f").metadata.workspace_bytes
    assert found <= -(-g.batch * 7**g.rank * (8 + 24 + 16) * width // 16) * 16 + 32
