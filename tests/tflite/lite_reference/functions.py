"""More functions of one number, and those of a row: L2 normalisation and the logarithm of softmax."""

from __future__ import annotations

import numpy as np

from lite_reference.fixed import (
    INT32,
    Array,
    clipped,
    divide_by_power,
    exp_of_negative,
    high_product,
    input_radius,
    leading_zeros,
    quantized_multiplier,
    reciprocal_of_one_plus,
    requantized,
    scaled,
    table_of_bytes,
    wide,
    wrapped,
)
from lite_reference.nodes import Node, computes


def _out(node: Node, x: Array) -> Array:
    """Numbers above the zero point of the output, in its type."""
    return clipped(x + node.out.zero, node.out.dtype)


# --- activations -----------------------------------------------------------------------------------------------------


def _short(multiplier: int) -> int:
    """A factor of 31 bits in 15."""
    return 32767 if multiplier >= INT32.max - (1 << 15) else (multiplier + (1 << 15)) >> 16


def _shifted(x: Array, by: int) -> Array:
    return np.clip(x << by, -32768, 32767)


def _high_word(a: Array, b: Array | int) -> Array:
    """The product of 15 bits each, ties up."""
    return np.minimum((wide(a) * b + (1 << 14)) >> 15, 32767)


@computes("HARD_SWISH")
def hard_swish(node: Node) -> Array:
    """int8 in words of 16 bits: the number 128 times as fine, times the output's factor; the same as a fraction of 3,
    saturating, moved to 0 to 1; their product cut off towards 0, shifted, ties away from 0."""
    x = node[0]
    if x.dtype == "float32":
        return x.array * np.clip(x.array + np.float32(3), 0, 6).astype(np.float32) / np.float32(6)
    fine = x.centered * 128
    in_scale = float(x.scale) / 128
    multiplier, exponent = quantized_multiplier(in_scale / float(node.out.scale))
    factor, shift = quantized_multiplier(in_scale / (3 / 32768))
    part = _shifted(fine, shift - 1) if shift > 0 else fine
    part = _high_word(part, _short(factor))
    part = _shifted(part, 1) if shift > 0 else divide_by_power(part, -shift)
    part = (part + (1 << 15)) >> 1
    product = part * _high_word(fine, _short(multiplier))
    cut = np.sign(product) * (np.abs(product) >> 15)
    return _out(node, divide_by_power(cut, -exponent))


@computes("LEAKY_RELU")
def leaky_relu(node: Node) -> Array:
    """Two factors, scales multiplied and divided in double."""
    x, alpha = node[0], np.float32(node.option("alpha", 0.0))
    if x.dtype == "float32":
        return np.where(x.array > 0, x.array, x.array * alpha)
    factor = float(x.scale) * float(alpha) / float(node.out.scale)
    low = scaled(x.centered, abs(factor)) * (-1 if alpha < 0 else 1)
    return _out(node, np.where(x.centered >= 0, scaled(x.centered, float(x.scale) / float(node.out.scale)), low))


@computes("PRELU")
def prelu(node: Node) -> Array:
    """As leaky ReLU, but the negative side is a product; alpha of 16 bits by 8 is int8."""
    x, alpha = node[0], node[1]
    if x.dtype == "float32":
        return np.where(x.array >= 0, x.array, x.array * alpha.array)
    high = scaled(x.centered, float(x.scale) / float(node.out.scale))
    low = scaled(x.centered * alpha.centered, float(x.scale) * float(alpha.scale) / float(node.out.scale))
    return _out(node, np.where(x.centered >= 0, high, low))


@computes("ELU")
def elu(node: Node) -> Array:
    """int8 by a table of 256, computed in float32."""

    def function(x: Array) -> Array:
        return np.where(x < 0, np.exp(x, dtype=np.float32) - np.float32(1), x).astype(np.float32)

    x, to = node[0], node.out
    if x.dtype == "float32":
        return np.where(x.array < 0, np.expm1(x.array.astype(np.float64)), x.array).astype(np.float32)
    table = table_of_bytes(function, x.scale, x.zero, to.scale, to.zero, np.int8)
    return table[x.array.astype(np.int64) + 128]


# --- plain functions -------------------------------------------------------------------------------------------------


@computes("ABS")
def abs_(node: Node) -> Array:
    """int8 and quantised int16: requantised unless scales are the same; scales are divided in double."""
    x = node[0]
    if not x.is_quantized:
        return np.abs(x.array)
    same = x.scale == node.out.scale
    return _out(
        node, np.abs(x.centered) if same else scaled(np.abs(x.centered), float(x.scale) / float(node.out.scale))
    )


@computes("RSQRT")
def rsqrt(node: Node) -> Array:
    """int8: Newton's method, 20 bits of fraction, then the factor 1 / (sqrt(in) out), in double; 0 is the greatest
    value, negative numbers are refused."""
    x = node[0]
    if x.dtype == "float32":
        return np.float32(1) / np.sqrt(x.array)
    inverse, shift = inverse_root(x.centered)
    fine = requantized(np.ones_like(inverse), inverse, shift + 20)
    multiplier, more = quantized_multiplier(1.0 / (np.sqrt(float(x.scale)) * float(node.out.scale)))
    found = requantized(fine, multiplier, more - 20) + node.out.zero
    return clipped(np.where(x.centered == 0, 127, found), np.int8)


_FUNCTIONS = {
    "EXP": np.exp, "LOG": np.log, "SIN": np.sin, "COS": np.cos, "SQRT": np.sqrt, "SQUARE": np.square,
    "NEG": np.negative, "CEIL": np.ceil, "FLOOR": np.floor, "ROUND": np.rint, "LOGICAL_NOT": np.logical_not,
}  # fmt: skip


@computes(*_FUNCTIONS)
def plain(node: Node) -> Array:
    """Functions of floats alone; ROUND rounds ties to even."""
    x = node[0].array
    return _FUNCTIONS[node.operator.code](x)


# --- rows ------------------------------------------------------------------------------------------------------------


def inverse_root(x: Array) -> tuple[Array, Array]:
    """1 / sqrt of integers as multiplier and shift: five steps of Newton's method, 3 integer bits; 0 counts as 1."""
    x = wide(x)
    shift = np.full(x.shape, 11)
    value = np.maximum(x, 2)
    while (large := value >= 1 << 29).any():
        value, shift = np.where(large, value // 4, value), shift + large
    pairs = (leading_zeros(value) - 1) // 2 - 1
    value, shift = value << (2 * pairs), shift - pairs
    half = divide_by_power(value >> 1, 1)
    root = np.full(x.shape, np.int64(1 << 28))
    for _ in range(5):
        cube = _rescaled(high_product(high_product(root, root), root), 6)
        root = _rescaled(high_product((1 << 28) + (1 << 27), root) - high_product(half, cube), 3)
    root = high_product(root, 1518500250)
    root, shift = root << np.maximum(-shift, 0), np.maximum(shift, 0)
    return np.where(x <= 1, INT32.max, root), np.where(x <= 1, 0, -shift)


def _rescaled(raw: Array, exponent: Array | int) -> Array:
    """Shifted left, saturating."""
    return np.clip(wide(raw) << exponent, INT32.min, INT32.max)


@computes("L2_NORMALIZATION")
def l2_normalization(node: Node) -> Array:
    """int8: the sum of squares, its inverse root, and 7 bits of fraction; the output's scale is not looked at."""
    x = node[0]
    if x.dtype == "float32":
        norm = np.sqrt((x.array.astype(np.float64) ** 2).sum(-1, keepdims=True))
        return (x.array / np.maximum(norm, 1e-6)).astype(np.float32)
    multiplier, shift = inverse_root((x.centered**2).sum(-1, keepdims=True))
    return clipped(requantized(x.centered, multiplier, shift + 7), np.int8)


def _logarithm(x: Array) -> Array:
    """The logarithm, with 5 integer bits, of numbers of at least 1 with 12: of what remains between sqrt(1/2) and 1
    a quotient of polynomials about the fourth root of 1/2."""
    root, half_root, quarter = 1805811301, 1518500250, divide_by_power(536870912, 6)
    zeros = leading_zeros(x)
    first = _rescaled(high_product(_rescaled(x, zeros - 1), half_root), 1)
    first_power = np.clip(_rescaled(12 - zeros, 25) + quarter, INT32.min, INT32.max)
    second_zeros = leading_zeros(high_product(x, half_root)) - 1
    second = _rescaled(x, second_zeros)
    second_power = np.clip(_rescaled(12 - second_zeros, 25) - quarter, INT32.min, INT32.max)
    rest, power = np.minimum(first, second), np.maximum(first_power, second_power)
    total = rest + root
    p, q = (total + np.where(total >= 0, 1, -1)) // 2, 2 * (rest - root)
    square = high_product(q, q)
    above = high_product(q, rest) + high_product(high_product(q, square), 117049297)
    below = high_product(p, 1057819769 + q + high_product(127690142, square)) + high_product(638450708, q)
    quotient = high_product(divide_by_power(above, 6), reciprocal_of_one_plus(below))
    return _rescaled(high_product(power, 1488522236) + quotient, 1)


@computes("LOG_SOFTMAX")
def log_softmax(node: Node) -> Array:
    """int8 to 1/16 below 127: sums of exp as softmax has them, their logarithm in fixed point of 5 integer bits."""
    x = node[0]
    if x.dtype == "float32":
        less = x.array.astype(np.float64) - x.array.max(-1, keepdims=True)
        return (less - np.log(np.exp(less).sum(-1, keepdims=True))).astype(np.float32)
    less = wide(x.array) - wide(x.array).max(-1, keepdims=True)
    multiplier, shift = quantized_multiplier(min(float(x.scale) * (1 << 26), (1 << 31) - 1.0))
    radius = input_radius(5, shift)
    counts = less >= -radius
    fine = requantized(np.where(counts, less, 0), multiplier, shift)
    log = _logarithm(np.where(counts, divide_by_power(exp_of_negative(fine, 5), 12), 0).sum(-1, keepdims=True))
    back = quantized_multiplier((1 << (31 - shift)) / multiplier)
    least = np.maximum(-radius - 1, requantized(wrapped(log + INT32.min), *back))
    out = divide_by_power(requantized(less, multiplier, shift) - log, 31 - 5 - 4) + 127
    return np.where(less > least, clipped(out, np.int8), np.int8(-128)).astype(np.int8)
