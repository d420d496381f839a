"""Functions of numbers of 16 bits, by tables between whose entries they interpolate."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from xdsl.dialects.builtin import i32, i64

from aotc.frontend.emitter import Tensor
from aotc.frontend.tflite import fixed_point, words
from aotc.frontend.tflite.arithmetic import Multiplier
from aotc.frontend.tflite.node import Node
from aotc.model.weight_store import Array


def sigmoid(node: Node, x: Tensor) -> Tensor:
    """The logistic function or the hyperbolic tangent."""
    wide = x.cast(i32)
    if node.op_type == "TANH":
        return words.tanh(_in_table(node, wide, (0, 1))).cast(node.to)
    return words.logistic(_in_table(node, wide, (0,))).cast(node.to)


def _in_table(node: Node, x: Tensor, shifts: tuple[int, ...]) -> Tensor:
    """Numbers in 24ths of 2^-9: times 3 where the scale is 2^-12, shifted up where it is a power of two by one of
    `shifts` more, else times a factor of 15 bits that is cut off, rounded, the middle up; in i32 that wraps."""
    scale, _ = node.input_quantization(0)
    power = np.log(scale) * (np.float32(1) / np.log(np.float32(2)))
    whole = math.floor(abs(float(power)) + 0.5) * (1 if power > 0 else -1)
    if abs(float(power) - whole) < 1e-3 and 12 + whole in shifts:
        return x * (3 << 12 + whole)
    factor, shift = float(scale) * 4096.0 * 3.0, 0
    while factor <= 32767.0 / 2.0 and shift <= 30:
        factor, shift = factor * 2, shift + 1
    node.require(factor < 2**31, "unsupported-type", f"the scale {scale} is too great")
    product = x * int(factor)
    return fixed_point.right(product + ((1 << shift) >> 1), shift) if shift else product


# --- softmax ----------------------------------------------------------------------------------------------------------

_HALVES = np.float32(2) / np.float32(65535)
"""The scale of tables: their numbers stand for -1 to 1."""


def softmax(node: Node, x: Tensor, beta: np.float32) -> Tensor:
    """Exponentials of -10 to 0, and the reciprocal of their sum, which lies between two powers of two, by tables."""
    whole = np.float32(65535)
    powers = _table(np.exp, np.float32(10) / whole, 32767)
    inverses = _table(lambda real: 1 / (1 + real), 1 / whole, -32768)
    scale, _ = node.input_quantization(0)
    wide, by = x.cast(i32), Multiplier.of(np.float64(scale) * np.float64(beta) / (10.0 / 65535.0))
    power = _looked_up(node, node.rescaled(wide - wide.reduce("max", [-1]), by) + 32767, powers)
    sums = power.reduce("sum", [-1])
    room = fixed_point.leading_zeros(sums.cast(i64)).cast(i32)
    fraction = fixed_point.right(fixed_point.left(sums, room - 1) + (1 << 13), 14)
    product = power * _looked_up(node, fraction - ((1 << 15) + (1 << 16)), inverses)
    half = fixed_point.left(room.scalar(1), 30 - room)
    return fixed_point.right(product + half, 31 - room).at_least(0).at_most(32767).cast(node.to)


def _table(function: Callable[[Array], Array], scale: np.float32, zero_point: int) -> Array:
    """A function of 65,536 integers, less a zero point and times a scale, at each 128th and where they end: as 16 bits,
    moved by half the error half-way to the next, i64; in f32, as `LUTPopulate` computes it."""

    def real(x: Array | np.float32) -> Array:
        return function(np.asarray(x, np.float64)).astype(np.float32) * (np.float32(65536) / (_HALVES * 65535))

    low, high = (scale * np.float32(end - zero_point) for end in (-32768, 32767))
    stride, places = (high - low) / np.float32(512), np.arange(512, dtype=np.float32)
    value, middle, following = (
        real(low + each) for each in (places * stride, places * stride + stride / 2, (places + 1) * stride)
    )
    between = _rounded((following + _rounded(value)) / 2)
    entries = _rounded(value) - _rounded((between - _rounded(middle)) / 2)
    return np.clip(np.append(entries, _rounded(real(high))), -32768, 32767).astype(np.int64)


def _rounded(x: Array) -> Array:
    """The nearest integers, the middle away from zero, f32."""
    return np.sign(x) * np.floor(np.abs(x) + np.float32(0.5))


def _looked_up(node: Node, x: Tensor, table: Array) -> Tensor:
    """The entry of the upper 9 bits of integers, which are clamped to 16, and 7 bits of the way to the next."""
    x = x.at_least(-32768).at_most(32767)
    place, share = fixed_point.right(x, 7) + 256, x.emit("and", x.scalar(127))
    base, rise = (
        Tensor(node, node.constant(each.astype(np.int32))).emit("gather", place, axis=0)
        for each in (table[:-1], np.diff(table))
    )
    return base + fixed_point.right(rise * share + 64, 7)
