"""Arithmetic on elements, and functions of one of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from xdsl.dialects.builtin import i32

from aotc.dialects.dtypes import integer_range
from aotc.frontend.emitter import Tensor
from aotc.frontend.tflite import arithmetic
from aotc.frontend.tflite.arithmetic import Multiplier
from aotc.frontend.tflite.importers import curves
from aotc.frontend.tflite.node import First, Node
from aotc.frontend.tflite.registry import tflite_op
from aotc.model.weight_store import Array


@tflite_op("ADD", "SUB")
def add(node: Node) -> Tensor | First:
    """Of integers: both times 2^20, or 2^15 of 16 bits, are rescaled to twice the greater scale, and their sum to that
    of the result."""
    node.require_type(0, "float32", "int8", "uint8", "int16", "int32", "int64")
    name = node.op_type.lower()
    (x, y), ordered = node.alike(0, 1)
    if not node.is_quantized:
        whole = x.emit(name, y)  # sums of i32 have no activation, whatever the model says
        return ordered(whole if name == "add" and whole.kind == i32 else node.activated(whole))
    node.require_type(0, "int8", "uint8", "int16")
    node.require_type(1, str(x.dtype))
    (x_scale, x_point), (y_scale, y_point) = node.input_quantization(0), node.input_quantization(1)
    scale, _ = node.quantization(node.results[0])
    own, up = np.array([x_scale, y_scale], np.float64), _UP[x.dtype.itemsize]
    twice = 2 * own.max()
    shares, last = own / twice, twice / (2**up * np.float64(scale))
    left, right = (
        node.rescaled(node.integers(each, point) * (1 << up), Multiplier.of(share))
        for each, point, share in ((x, x_point, shares[0]), (y, y_point, shares[1]))
    )
    return ordered(node.requantized(left.emit(name, right), Multiplier.of(last)))


_UP = {1: 20, 2: 15}
"""By how many bits terms of sums are shifted up before they are rescaled, by their bytes."""


@tflite_op("MUL")
def mul(node: Node) -> Tensor | First:
    node.require_type(0, "float32", "int8", "uint8", "int16", "int32", "int64")
    (x, y), ordered = node.alike(0, 1)
    if not node.is_quantized:
        return ordered(node.activated(x * y))
    node.require_type(0, "int8", "uint8", "int16")
    node.require_type(1, str(x.dtype))
    (x_scale, x_point), (y_scale, y_point) = node.input_quantization(0), node.input_quantization(1)
    scale, _ = node.quantization(node.results[0])
    product = node.integers(x, x_point) * node.integers(y, y_point)
    by = Multiplier.of(np.float64(x_scale) * np.float64(y_scale) / np.float64(scale))
    return ordered(node.requantized(product, by))


# --- functions of one element -----------------------------------------------------------------------------------------


def function(
    node: Node,
    real: Callable[[Tensor], Tensor],
    table: Callable[[Array], Array],
    wide: Callable[[Tensor], Tensor] | None = None,
) -> Tensor | First:
    """A function of one element: of real numbers, or of integers of 8 bits, by what `table` has for these, i64, or of
    16 bits by `wide`."""
    (x,), ordered = node.alike(0)
    if not node.is_quantized:
        return ordered(real(x))
    if wide is not None and x.dtype == np.int16:
        return ordered(wide(x))
    node.require_type(0, "int8", "uint8")
    least, greatest = integer_range(x.kind)
    numbers = np.arange(256).astype(x.dtype)
    entries = table(numbers.astype(np.int64))
    if bool((entries == np.clip(numbers, entries.min(), entries.max())).all()) and node.to == x.kind:
        low, high = int(entries.min()), int(entries.max())
        x = x if low == least else x.at_least(low)
        return ordered(x if high == greatest else x.at_most(high))
    return ordered(x.emit("lookup", node.constant(entries.astype(node.results[0].dtype))))


@tflite_op("RELU", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1")
def relu(node: Node) -> Tensor | First:
    node.require_type(0, "float32", "int8", "int16", *["uint8"] * (node.op_type != "RELU"))
    low, high = _RANGES[node.op_type]

    def real(x: Tensor) -> Tensor:
        if high == np.inf:
            return x.emit("relu")
        return x.at_least(low).at_most(high)

    def table(x: Array) -> Array:
        (scale, point), (to, target) = node.input_quantization(0), node.quantization(node.results[0])
        if node.op_type != "RELU":  # the result has the scale of the operand
            bounds = [arithmetic.quantized_number(each, scale, point) for each in (low, high)]
            return x.clip(bounds[0], bounds[1])
        return np.maximum(Multiplier.of(np.float64(scale) / np.float64(to))(x - point) + target, target).clip(-128, 127)

    def wide(x: Tensor) -> Tensor:
        (scale, point), (to, target) = node.input_quantization(0), node.quantization(node.results[0])
        if node.op_type != "RELU":
            bounds = (arithmetic.quantized_number(each, scale, point) for each in (low, high))
            least, greatest = np.clip(list(bounds), *integer_range(x.kind)).tolist()
            return x.at_least(least).at_most(greatest)
        by = Multiplier.of(np.float64(scale) / np.float64(to))
        return node.requantized(node.integers(x, point), by).at_least(target)

    return function(node, real, table, wide)


_RANGES = {"RELU": (0.0, np.inf), "RELU6": (0.0, 6.0), "RELU_N1_TO_1": (-1.0, 1.0), "RELU_0_TO_1": (0.0, 1.0)}


@tflite_op("LOGISTIC", "TANH")
def sigmoid(node: Node) -> Tensor | First:
    node.require_type(0, "float32", "int8", "uint8", "int16")
    is_tanh = node.op_type == "TANH"

    def table(x: Array) -> Array:
        scale, point = node.input_quantization(0)
        by = Multiplier.of(np.float64(scale) * 2.0 ** (31 - _INTEGER_BITS))
        radius, of = arithmetic.input_radius(_INTEGER_BITS, int(by.exponents)), x - point
        inside = np.clip(of, -radius, radius)
        value = (arithmetic.tanh if is_tanh else arithmetic.logistic)(by(inside), _INTEGER_BITS)
        entries = arithmetic.divided(value, 24 if is_tanh else 23) - (0 if is_tanh else 128)
        found = np.select([of <= -radius, of >= radius], [-128, 127], entries.clip(-128, 127))
        return found - integer_range(node.to)[0] - 128

    return function(node, lambda x: x.emit("tanh" if is_tanh else "sigmoid"), table, lambda x: curves.sigmoid(node, x))


_INTEGER_BITS = 4
"""Of what the kernels take exponentials of."""
