"""Softmax."""

from __future__ import annotations

import numpy as np

from aotc.frontend.emitter import Tensor
from aotc.frontend.tflite import arithmetic
from aotc.frontend.tflite.arithmetic import Multiplier
from aotc.frontend.tflite.node import Node
from aotc.frontend.tflite.registry import tflite_op


@tflite_op("SOFTMAX")
def softmax(node: Node) -> Tensor:
    node.require_type(0, "float32", "int8")
    x, beta = node.tensor(0), np.float32(node.real_option("Beta", 1.0))
    if not node.is_quantized:
        return (x if beta == 1 else x * float(beta)).emit("softmax", axes=[-1])
    scale, _ = node.input_quantization(0)
    _, point = node.quantization(node.results[0])
    low, high = node.clamp()
    least = np.float64(2**31 - 1)
    by = Multiplier.of(min(np.float64(beta) * np.float64(scale) * 2.0 ** (31 - _INTEGER_BITS), least))
    radius, distances = arithmetic.input_radius(_INTEGER_BITS, int(by.exponents)), np.arange(256)
    inside = np.minimum(distances, radius)
    powers = arithmetic.exponential(by(-inside), _INTEGER_BITS)
    table = node.constant(np.where(distances <= radius, powers, 0).astype(np.int32))
    return x.emit("doubling_softmax", table, axes=[-1], zero_point=point, low=low, high=high, to=node.to)


_INTEGER_BITS = 5
"""Of what exponentials are taken of."""
