"""Convolutions of bytes with enough channels for Winograd's algorithm, against onnxruntime's integer kernels."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from onnx import save
from quantized import Graph, pick, scale_of_sums, session
from quick_c import open_quickly

from aotc.machines.targets import lookup
from aotc.pipeline.options import CompileOptions

CASES = int(os.environ.get("AOTC_CASES", "100")) // 10
"""Each takes as long to compile as many others."""
BEST = "x86-64-v3" if "+avx2" in lookup("host").features else "x86-64"


def tiles(g: Graph) -> None:
    """3 x 3 taps, any pads, an image of which tiles of 4 do not cover all, a scale of the weight or of each channel."""
    dtype, (channels, outputs) = pick(g, np.int8, np.uint8), (int(n) for n in g.r.integers(16, 70, 2))
    pads, extents = ([int(n) for n in g.r.integers(low, high, count)] for low, high, count in ((0, 3, 4), (4, 20, 2)))
    x, scale = g.input(dtype, int(g.r.integers(1, 3)), channels, *extents), g.scale()
    w, ws, wz, _ = g.weight(0, outputs, channels, 3, 3)
    given = [x, *g.parameters(dtype, scale), w, ws, wz, *g.parameters(dtype, np.float32(4 * scale_of_sums(g, dtype)))]
    if g.r.integers(2):
        given.append(g.constant(g.r.integers(-2000, 2000, outputs).astype(np.int32)))
    g.outputs.append(g.node("QLinearConv", *given, pads=pads))


@pytest.mark.parametrize(("route", "target"), [("shared", "x86-64"), ("shared", BEST), ("c", BEST)])
def test_tiles_are_those_of_onnxruntime(route: str, target: str, tmp_path: Path) -> None:
    g = Graph(np.random.default_rng(0))
    for _ in range(CASES):
        tiles(g)
    model = g.model()
    wanted = session(model).run(g.outputs, g.inputs)
    save(model, tmp_path / "tiles.onnx")
    computed = open_quickly(str(tmp_path / "tiles.onnx"), route, CompileOptions(target=target))(g.inputs)
    for number, (name, value) in enumerate(zip(g.outputs, wanted, strict=True)):
        np.testing.assert_array_equal(computed[name], value, err_msg=f"case {number}")
