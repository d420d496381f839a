"""Softmax, its logarithm, and rows over their lengths."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import i32, i64

from aotc.dialects.dtypes import element_type
from aotc.frontend.emitter import Tensor
from aotc.frontend.tflite import arithmetic, fixed_point
from aotc.frontend.tflite.arithmetic import Multiplier
from aotc.frontend.tflite.importers import curves
from aotc.frontend.tflite.node import Node
from aotc.frontend.tflite.registry import tflite_op
from aotc.model.weight_store import Array


@tflite_op("SOFTMAX")
def softmax(node: Node) -> Tensor:
    node.require_type(0, "float32", "int8", "uint8", "int16")
    x, beta = node.tensor(0), np.float32(node.real_option("Beta", 1.0))
    if not node.is_quantized:
        return (x if beta == 1 else x * float(beta)).emit("softmax", axes=[-1])
    if x.dtype == np.int16:
        return curves.softmax(node, x, beta)
    scale, _ = node.input_quantization(0)
    _, point = node.quantization(node.results[0])
    low, high = node.clamp()
    _, _, powers = _exponentials(np.float64(beta) * np.float64(scale))
    table = node.constant(powers.astype(np.int32))
    return x.emit("doubling_softmax", table, axes=[-1], zero_point=point, low=low, high=high, to=node.to)


_INTEGER_BITS = 5
"""Of what exponentials are taken of."""


def _exponentials(scale: np.float64) -> tuple[Multiplier, int, Array]:
    """How far each of 256 distances is below the greatest element: the factor that makes it fixed point, the greatest
    distance that counts, and the exponential of each."""
    by = Multiplier.of(min(scale * 2.0 ** (31 - _INTEGER_BITS), np.float64(2**31 - 1)))
    radius, distances = arithmetic.input_radius(_INTEGER_BITS, int(by.exponents)), np.arange(256)
    powers = arithmetic.exponential(by(-np.minimum(distances, radius)), _INTEGER_BITS)
    return by, radius, np.where(distances <= radius, powers, 0)


@tflite_op("LOG_SOFTMAX")
def log_softmax(node: Node) -> Tensor:
    """Of bytes: the sum of exponentials as softmax has it, its logarithm, and differences in 16ths below 127."""
    node.require_type(0, "float32", "int8")
    x = node.tensor(0)
    if not node.is_quantized:
        return x.emit("softmax", axes=[-1], log=True)
    scale, _ = node.input_quantization(0)
    by, radius, powers = _exponentials(np.float64(scale))
    distances = (x.reduce("max", [-1]).cast(i32) - x.cast(i32)).cast(element_type("uint8"))
    rounded = np.asarray(arithmetic.divided(powers, _SUM_BITS), np.int32)
    sums = distances.emit("lookup", node.constant(rounded)).reduce("sum", [-1])
    log = fixed_point.logarithm(sums.cast(i64))
    back = Multiplier.of(np.float64(1 << 31 - int(by.exponents)) / np.float64(by.factors))
    least = node.rescaled((log + fixed_point.LEAST).cast(i32), back).at_least(-radius - 1)
    fine = distances.emit("lookup", node.constant(by(-np.arange(256)).astype(np.int32)))
    found = (fixed_point.divided(fine.cast(i64) - log, 31 - _INTEGER_BITS - 4) + 127).at_least(-128).at_most(127)
    counts = distances.cast(i32) < 0 - least
    return counts.choose(found.cast(node.to), -128)


_SUM_BITS = 12
"""Integer bits of sums of exponentials."""


@tflite_op("L2_NORMALIZATION")
def l2_normalization(node: Node) -> Tensor:
    """Rows over the roots of their sums of squares; bytes become 128ths, whatever the result's scale."""
    node.require_type(0, "float32", "int8")
    x = node.tensor(0)
    if not node.is_quantized:
        return node.activated(x / (x * x).reduce("sum", [-1]).sqrt().at_least(1e-6))
    _, point = node.input_quantization(0)
    of = node.integers(x, point)
    factor, exponent = fixed_point.inverse_root((of * of).reduce("sum", [-1]).cast(i64))
    found = fixed_point.multiplied(of.cast(i64), factor, exponent + 7)
    return found.at_least(-128).at_most(127).cast(node.to)
