"""Narrowing goes above views and padding: as onnxruntime computes it, by every route, C and LLVM bit for bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx.parser
import pytest
from harness import assert_same_bits, by_every_route, reference
from onnx import ModelProto, numpy_helper

from aotc.dialects.arrays import Array


def model(text: str, **weights: Array) -> ModelProto:
    """A model of opset 17 with initializers."""
    made = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> g {text}')
    made.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in weights.items())
    return made


def agrees(made: ModelProto, x: Array, folder: Path) -> None:
    """Compare all routes with onnxruntime, to the last bit."""
    expected = reference(made, {"x": x})
    assert expected is not None
    found = {how: compiled({"x": x}) for how, compiled in by_every_route(made, folder).items()}
    for outputs in found.values():
        for actual, wanted in zip(outputs.values(), expected, strict=True):
            np.testing.assert_array_equal(actual, wanted)
    assert_same_bits(found)


RNG = np.random.default_rng(0)
BYTES = RNG.integers(-127, 128, (4096,)).astype(np.int8)


def quantized(*shape: int) -> Array:
    return BYTES[: int(np.prod(shape))].reshape(shape)


VIEWS = """(int8[6,8] x) => (int8[2,3,16] y) {
    xf = DequantizeLinear(x, s, z) wf = DequantizeLinear(w, s, z) a = MatMul(xf, wf)
    b = Reshape(a, three) c = %s d = Reshape(c, two) e = QuantizeLinear(d, big, z) y = Reshape(e, three)
}"""


@pytest.mark.parametrize("between", ["Relu(b)", "Max(b, zero)", "Sigmoid(b)", "Add(b, bias)", "Sub(b, b)"])
def test_views_between_a_product_and_its_quantisation(between: str, tmp_path: Path) -> None:
    weights = {"s": np.float32(0.02), "big": np.float32(0.11), "z": np.int8(0), "w": quantized(8, 16)}
    shapes = {"three": np.array([2, 3, 16]), "two": np.array([6, 16])}
    more = {"zero": np.float32(0), "bias": RNG.normal(size=16).astype(np.float32)}
    agrees(model(VIEWS % between, **weights, **shapes, **more), quantized(6, 8), tmp_path)


PADDED = """(int8[1,4,20] x) => (int8[1,6,20] y) {
    xf = DequantizeLinear(x, s, z) p = Pad(xf, pads) pq = QuantizeLinear(p, t, z) pf = DequantizeLinear(pq, t, z)
    wf = DequantizeLinear(w, s, zero) c = Conv <dilations = [%d]> (pf, wf) y = QuantizeLinear(c, big, z)
}"""


@pytest.mark.parametrize("dilation", [1, 3])
@pytest.mark.parametrize("scale", [0.02, 0.021])
@pytest.mark.parametrize("point", [0, -128, 17])
def test_padding_before_a_convolution(dilation: int, scale: float, point: int, tmp_path: Path) -> None:
    weights = {"s": np.float32(0.02), "t": np.float32(scale), "big": np.float32(0.1237), "w": quantized(6, 4, 3)}
    points = {"z": np.int8(point), "zero": np.int8(0), "pads": np.array([0, 0, 2 * dilation, 0, 0, 0])}
    agrees(model(PADDED % dilation, **weights, **points), quantized(1, 4, 20), tmp_path)
