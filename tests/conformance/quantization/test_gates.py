"""Networks of int8 from end to end with hard swish and squeeze and excitation, as MobileNetV3 has: every result is that
of onnxruntime's integers, wherever products lie next to the middle between two steps."""

from __future__ import annotations

import numpy as np
import pytest
from quantized import Graph

import aotc
from aotc.compiler.checking.reference import comparable_session, reference_session

CHANNELS, EXTENT, STEP = 8, 12, 0.05


class Network(Graph):
    """Layers whose results are quantised one by one, as onnxruntime's quantiser leaves them."""

    def quantised(self, value: str, scale: float) -> str:
        scale_name, point = self.constant(np.float32(scale)), self.constant(np.int8(self.r.integers(-20, 20)))
        self.integers_are = self.node("QuantizeLinear", value, scale_name, point)
        return self.real(self.integers_are, scale_name, point)

    def layer(self, op_type: str, x: str, *shape: int, scale: float, **attributes: object) -> str:
        """A convolution or product with weights [out, in, ..] of a scale for each output, by which one sum in some
        hundred is in the middle between two steps, but for rounding errors."""
        scales = (scale / STEP * self.r.integers(1, 40, shape[0]) / 512).astype(np.float32)
        weight, bias = self.r.integers(-127, 128, shape).astype(np.int8), self.r.integers(-500, 500, shape[0])
        names = [self.constant(each) for each in (weight, scales, np.zeros(shape[0], np.int8))]
        w = self.real(names[0], names[1], names[2], axis=0)
        b = self.real(
            self.constant(bias.astype(np.int32)),
            self.constant(np.float32(STEP) * scales),
            self.constant(np.zeros(shape[0], np.int32)),
            axis=0,
        )
        return self.quantised(self.node(op_type, x, w, b, **attributes), scale)

    def hard_swish(self, x: str) -> str:
        gate = self.quantised(self.node("HardSigmoid", x, alpha=1 / 6, beta=0.5), 1 / 255)
        return self.quantised(self.node("Mul", x, gate), STEP)

    def excited(self, x: str) -> str:
        mean = self.quantised(self.node("GlobalAveragePool", x), STEP)
        y = self.layer("Conv", mean, CHANNELS, CHANNELS, 1, 1, scale=STEP)
        return self.quantised(self.node("Mul", x, self.quantised(self.node("HardSigmoid", y), 1 / 255)), STEP)


def network(seed: int) -> Network:
    g = Network(np.random.default_rng(seed))
    x = g.real(g.input(np.int8, 1, CHANNELS, EXTENT, EXTENT), g.constant(np.float32(STEP)), g.constant(np.int8(3)))
    for _ in range(2):
        x = g.hard_swish(g.layer("Conv", x, CHANNELS, CHANNELS, 3, 3, scale=STEP, pads=[1, 1, 1, 1]))
        x = g.excited(x)
    mean = g.quantised(g.node("Flatten", g.quantised(g.node("GlobalAveragePool", x), STEP)), STEP)
    g.layer("Gemm", mean, 200, CHANNELS, scale=0.01, transB=1)
    g.outputs = [g.integers_are]
    return g


@pytest.mark.parametrize("optimize", [3, "s"])
def test_gates_are_those_of_integers(optimize: int | str) -> None:
    floats = 0
    for seed in range(6):
        g = network(seed)
        model = g.model()
        compiled, (name,) = aotc.compile(model, optimize=optimize), g.outputs
        judge, signed = comparable_session(model.SerializeToString()), reference_session(model.SerializeToString())
        for _ in range(10):
            x = {each: g.r.integers(-128, 128, array.shape).astype(np.int8) for each, array in g.inputs.items()}
            (right,), (other,) = judge.run(g.outputs, x), signed.run(g.outputs, x)
            np.testing.assert_array_equal(compiled(x)[name], right)
            floats += int((other != right).sum())
    assert floats, "the signed model's first and last layer are in floats: some middles are rounded to the other side"
