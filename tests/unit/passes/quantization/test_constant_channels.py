"""Channels that have one result whatever their operand are requantised in integers with the others, by the numbers of
onnxruntime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx.parser
import pytest
from harness import by_c_and_llvm, reference
from onnx import ModelProto, numpy_helper

import aotc
from aotc.dialects.arrays import Array
from aotc.pipeline.options import CompileOptions

RNG = np.random.default_rng(0)


def model(biases: dict[int, int]) -> ModelProto:
    """A convolution of 8 channels; those of `biases` have no weights, a tiny scale and a bias by it."""
    made = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (int8[1,4,9] x) => (int8[1,8,9] y) {'
        " xf = DequantizeLinear(x, s, z) wf = DequantizeLinear <axis = 0> (w, sw, zw)"
        " bf = DequantizeLinear <axis = 0> (b, sb) c = Conv <pads = [1, 1]> (xf, wf, bf) r = Relu(c)"
        " y = QuantizeLinear(r, sy, z) }"
    )
    weight = RNG.integers(-127, 128, (8, 4, 3)).astype(np.int8)
    scale = RNG.uniform(0.01, 0.02, 8).astype(np.float32)
    bias = RNG.integers(-2000, 2000, 8).astype(np.int32)
    for channel, value in biases.items():
        weight[channel], scale[channel], bias[channel] = 0, 3e-8 * (1 + channel), value
    step = np.float32(0.031)
    arrays: dict[str, Array] = {"s": step, "z": np.int8(-5), "w": weight, "sw": scale, "zw": np.zeros(8, np.int8)}
    arrays |= {"b": bias, "sb": (scale * step).astype(np.float32), "sy": np.float32(0.0371)}
    made.graph.initializer.extend(numpy_helper.from_array(np.asarray(array), name) for name, array in arrays.items())
    return made


@pytest.mark.parametrize("biases", [{1: 2**30, 4: -(2**30), 7: 123456789}, dict.fromkeys(range(8), 2**30), {}])
def test_constant_channels(biases: dict[int, int], tmp_path: Path) -> None:
    made = model(biases)
    x = RNG.integers(-128, 128, (1, 4, 9)).astype(np.int8)
    expected = reference(made, {"x": x})
    assert expected is not None
    by_c, by_llvm = by_c_and_llvm(made, tmp_path / "c", CompileOptions.of(optimize="s"))
    for compiled in (by_c, by_llvm):
        np.testing.assert_array_equal(compiled({"x": x})["y"], expected[0])
    aotc.compile_to(made, tmp_path / "m", name="m", target="cortex-m0")
    assert "roundeven" not in (tmp_path / "m" / "m.c").read_text()
