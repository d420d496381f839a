"""Layers that change how many rows there are, or join what others give, row by row: the numbers and bits of whole
layers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from convolution_model import Layers
from harness import SCALAR
from onnx import ModelProto
from quick_c import quick_flags, write_c

from aotc.compiler.driver import in_process, lower
from aotc.executor import compiled_in_process, load
from aotc.measuring.routes import build_shared
from aotc.pipeline.compilation import Compilation
from aotc.pipeline.options import ANY_RAM, CompileOptions


class Picture(Layers):
    """Layers on a picture x [1, 3, 24, 12]."""

    def same(self, x: str, outputs: int, inputs: int) -> str:
        return self.windows(x, (outputs, inputs, 3, 3), pads=[1] * 4)

    def joined(self, *parts: str, axis: int = 1) -> str:
        return self.real(self.node("Concat", *parts, axis=axis))


def decoder(*, quantized: bool) -> ModelProto:
    """Layers that halve rows and double them again in several ways, with skips that are joined, and two results."""
    g = Picture(3, quantized=quantized)
    skip = g.same(g.real("x"), 4, 3)
    low = g.same(g.node("MaxPool", skip, kernel_shape=[2, 2], strides=[2, 2]), 8, 4)
    nearest = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    linear = {"mode": "linear", "coordinate_transformation_mode": "half_pixel"}
    parts = [
        g.resized(low, 2, 2, **nearest),
        skip,
        g.windows(low, (8, 4, 2, 2), "ConvTranspose", strides=[2, 2]),
        g.resized(low, 2, 2, **linear),
        g.node("DepthToSpace", low, blocksize=2),
    ]
    high = g.same(g.joined(*parts), 4, 26)
    return g.model((1, 3, 24, 12), {g.same(high, 4, 4): (1, 4, 24, 12), g.same(low, 2, 8): (1, 2, 12, 6)})


def cropped(*, quantized: bool) -> ModelProto:
    """Layers that leave rows out, add some, and put them below others; a resize by a fraction."""
    g = Picture(3, quantized=quantized)
    x = g.same(g.real("x"), 4, 3)
    ints = [g.constant(value, np.int64) for value in ([2], [21], [2])]
    rows = g.same(g.node("Slice", x, *ints), 4, 4)  # [4, 19, 12]
    below = g.joined(rows, g.node("Pad", g.same(rows, 4, 4), g.constant([0, 0, 1, 0, 0, 0, 2, 0], np.int64)), axis=2)
    wide = g.resized(g.same(below, 4, 4), 1.5, 1, mode="nearest")  # [4, 61, 12]
    return g.model((1, 3, 24, 12), {g.same(wide, 2, 4): (1, 2, 61, 12)})


def compiled(model: ModelProto, ram: int | str) -> Compilation:
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
    plain, rolled = compiled(model, ANY_RAM), compiled(model, "min")
    assert rolled.info().workspace_bytes <= share * plain.info().workspace_bytes
    expected = compiled_in_process(plain)(feed)
    run = load(build_shared(write_c(rolled, tmp_path), quick_flags())) if in_c else compiled_in_process(rolled)
    found = run(feed)
    assert {name: array.tobytes() for name, array in found.items()} == {
        name: array.tobytes() for name, array in expected.items()
    }
