"""Functions of one number, and softmax."""

from __future__ import annotations

import math

import numpy as np

from lite_reference.fixed import (
    Array,
    clipped,
    divide_by_power,
    exp_of_negative,
    fixed_logistic,
    fixed_tanh,
    high_product,
    input_radius,
    leading_zeros,
    looked_up,
    quantized_multiplier,
    reciprocal,
    requantized,
    rounded,
    table_of_words,
    wide,
    wrapped,
)
from lite_reference.nodes import Node, computes

# --- logistic and tanh -----------------------------------------------------------------------------------------------

_ONE_MORE = (
    4, 8, 12, 14, 15, 16, 17, 19, 20, 21, 22, 25, 27, 28, 29, 30, 31, 33, 34, 35, 37, 39, 40, 41, 43, 44, 45, 46, 49,
    50, 54, 62, 63, 64, 66, 82, 86, 93, 100, 103, 112, 116, 135, 255,
)  # fmt: skip
"""Where the published table of the logistic function has one more than the nearest number."""


def _logistic_table() -> Array:
    """The logistic function of i / 24 for i of 0 to 255, of which 65536 is 1."""
    table = np.array([round(65536 / (1 + math.exp(-i / 24))) for i in range(256)])
    table[list(_ONE_MORE)] += 1
    return table


LOGISTIC = _logistic_table()


def _in_sixteen_bits(node: Node, exact_shifts: tuple[int, ...]) -> Array:
    """The input in steps of 1 / (24 * 512) of what the table is indexed by: times 3, exactly, where the scale is a
    power of two that `exact_shifts` allows, else by a factor of 15 bits that is cut off, rounded once."""
    scale, x = node[0].scale, wide(node[0].array)
    log2 = np.log(scale) * (np.float32(1) / np.log(np.float32(2)))
    shift = 12 + int(rounded(log2))
    if abs(log2 - rounded(log2)) < 1e-3 and shift in exact_shifts:
        return x * (3 << shift)
    factor, shift = float(scale) * 4096.0 * 3.0, 0
    while factor <= 32767.0 / 2.0 and shift <= 30:
        factor, shift = factor * 2, shift + 1
    return wrapped(x * int(factor) + ((1 << shift) >> 1)) >> shift


def logistic_of_words(x: Array) -> Array:
    """The logistic function of steps of 1 / (24 * 512), as 15 bits: the table, 9 bits of the way to the next."""
    size = np.abs(x)
    index = np.minimum(size >> 9, 254)
    between = (LOGISTIC[index] << 9) + (size & 511) * (LOGISTIC[index + 1] - LOGISTIC[index])
    result = np.where(size >> 9 >= 255, 0x7FFF << 10, between)
    return (np.where(x >= 0, result + (1 << 9), (1 << 25) - result + (1 << 9) - 1) >> 10).astype(np.int16)


def tanh_of_words(x: Array) -> Array:
    """tanh as twice the logistic function of twice the number, less 1: the same table, 8 bits of the way."""
    size = np.abs(x)
    index = np.minimum(size >> 8, 254)
    between = (LOGISTIC[index] << 8) + (size & 255) * (LOGISTIC[index + 1] - LOGISTIC[index])
    result = np.where(size >> 8 >= 255, 0xFFFF << 8, between)
    half, tie = 1 << 23, 1 << 7
    return (np.where(x >= 0, result - half + tie, -result + half + tie - 1) >> 8).astype(np.int16)


def _of_bytes(node: Node, is_tanh: bool) -> Array:
    """int8 by fixed point of 4 integer bits; what does not fit has the value of the end. uint8 is 128 more."""
    x = node[0].centered
    fraction, shift = math.frexp(float(node[0].scale) * (1 << 27))
    multiplier, radius = math.floor(fraction * (1 << 31) + 0.5), input_radius(4, shift)
    raw = requantized(np.clip(x, -radius, radius), multiplier, shift)
    inside = divide_by_power(fixed_tanh(raw, 4), 24) if is_tanh else divide_by_power(fixed_logistic(raw, 4), 23) - 128
    inside = clipped(inside, np.int8)
    found = np.where(x <= -radius, np.int8(-128), np.where(x >= radius, np.int8(127), inside))
    return found if node[0].dtype == "int8" else (found.astype(np.int16) + 128).astype(np.uint8)


@computes("LOGISTIC")
def logistic(node: Node) -> Array:
    """The output is 1/256 from -128 in int8, 1/32768 in int16."""
    if node[0].dtype == "float32":
        return (1 / (1 + np.exp(-node[0].array.astype(np.float64)))).astype(np.float32)
    return _of_bytes(node, False) if node[0].dtype != "int16" else logistic_of_words(_in_sixteen_bits(node, (0,)))


@computes("TANH")
def tanh(node: Node) -> Array:
    """The output is 1/128 about 0 in int8, 1/32768 in int16."""
    if node[0].dtype == "float32":
        return np.tanh(node[0].array)
    return _of_bytes(node, True) if node[0].dtype != "int16" else tanh_of_words(_in_sixteen_bits(node, (0, 1)))


# --- softmax ---------------------------------------------------------------------------------------------------------


@computes("SOFTMAX")
def softmax(node: Node) -> Array:
    """Over the last axis. int8: exp in fixed point of 5 integer bits, sums of 12, the reciprocal by Newton's method;
    what is too small is the least value. int16: two tables of 513."""
    beta, x = float(node.option("beta", 1.0)), node[0]
    if x.dtype == "float32":
        powers = np.exp((x.array - x.array.max(-1, keepdims=True)).astype(np.float64) * beta)
        return (powers / powers.sum(-1, keepdims=True)).astype(np.float32)
    less = wide(x.array) - wide(x.array).max(-1, keepdims=True)
    if x.dtype == "int16":
        return _softmax_of_words(node, less, beta)
    factor = min(beta * float(x.scale) * (1 << 26), (1 << 31) - 1.0)
    multiplier, shift = quantized_multiplier(factor)
    counts = less >= -input_radius(5, shift)
    powers = exp_of_negative(high_product(wrapped(np.where(counts, less, 0) << shift), multiplier), 5)
    sums = np.where(counts, divide_by_power(powers, 12), 0).sum(-1, keepdims=True)
    scale, over = reciprocal(sums, 12)
    bits = np.iinfo(node.out.dtype).bits
    out = divide_by_power(high_product(scale, powers), over + 31 - bits) + np.iinfo(node.out.dtype).min
    return np.where(counts, clipped(out, node.out.dtype), np.iinfo(node.out.dtype).min).astype(node.out.dtype)


def _softmax_of_words(node: Node, less: Array, beta: float) -> Array:
    exp = table_of_words(np.exp, np.float32(10) / np.float32(65535), 32767, np.float32(2) / np.float32(65535), 0)
    inverse = table_of_words(
        lambda x: np.float32(1) / (np.float32(1) + x),
        np.float32(1) / np.float32(65535), -32768, np.float32(2) / np.float32(65535), 0,
    )  # fmt: skip
    factor = float(node[0].scale) * beta / (10.0 / 65535.0)
    steps = requantized(less, *quantized_multiplier(factor)) + 32767
    powers = wide(looked_up(np.clip(steps, -32768, 32767), exp))
    sums = powers.sum(-1, keepdims=True)
    headroom = leading_zeros(sums)
    shifted = ((sums << (headroom - 1)) + (1 << 13)) >> 14
    scale = wide(looked_up(np.clip(shifted - (1 << 15) - (1 << 16), -32768, 32767), inverse))
    right = 31 - headroom
    return np.clip((powers * scale + (np.int64(1) << (right - 1))) >> right, 0, 32767).astype(np.int16)


# --- ReLU ------------------------------------------------------------------------------------------------------------


@computes("RELU")
def relu(node: Node) -> Array:
    """Requantised; scales are divided in double."""
    x = node[0]
    if x.dtype == "float32":
        return np.maximum(x.array, np.float32(0))
    out = requantized(x.centered, *quantized_multiplier(float(x.scale) / float(node.out.scale))) + node.out.zero
    return np.maximum(clipped(out, node.out.dtype), node.out.zero).astype(node.out.dtype)


@computes("RELU6")
def relu6(node: Node) -> Array:
    """Bounded by 0 and 6 of the input's scale; the output's is not looked at."""
    x = node[0]
    if x.dtype == "float32":
        return np.clip(x.array, np.float32(0), np.float32(6))
    six = clipped(rounded(np.float32(6) / x.scale).astype(np.int64) + x.zero, x.dtype)
    return np.clip(x.array, x.zero, six).astype(x.dtype)
