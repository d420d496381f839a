"""Arithmetic of fixed point that TFLite Micro's kernels share, on numpy arrays of int64.

A real factor is `multiplier * 2 ** (shift - 31)` with 2 ** 30 <= multiplier < 2 ** 31. Ties: `high_product` rounds them
up, `divide_by_power` away from zero; `requantized` does one after the other, two roundings. The package of PyPI is
built so, without TFLITE_SINGLE_ROUNDING; LiteRT rounds once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Integers = Array | int

INT32 = np.iinfo(np.int32)


def wide(x: Any) -> Array:
    """Integers as int64, in which nothing below overflows."""
    return np.asarray(x, np.int64)


def wrapped(x: Array) -> Array:
    """The low 32 bits, as an int32 that overflows keeps."""
    return wide(x).astype(np.int32).astype(np.int64)


def rounded(x: Any) -> Array:
    """Floats to the nearest integer, ties away from zero: std::round."""
    x = np.asarray(x)
    return np.where(np.abs(x - np.trunc(x)) >= 0.5, np.trunc(x) + np.sign(x), np.trunc(x)).astype(x.dtype)


def quantized_multiplier(real: float) -> tuple[int, int]:
    """A real factor as multiplier and shift; factors below 2 ** -32 are 0."""
    if real == 0:
        return 0, 0
    fraction, shift = math.frexp(real)
    multiplier = math.floor(fraction * (1 << 31) + 0.5)
    if multiplier == 1 << 31:
        multiplier, shift = multiplier // 2, shift + 1
    return (0, 0) if shift < -31 else (multiplier, shift)


def high_product(a: Integers, b: Integers) -> Array:
    """`a * b / 2 ** 31`, ties up; of int32, whose least value times itself saturates."""
    return np.minimum((wide(a) * wide(b) + (1 << 30)) >> 31, INT32.max)


def divide_by_power(x: Integers, exponent: Integers) -> Array:
    """`x / 2 ** exponent`, ties away from zero."""
    x, exponent = wide(x), wide(exponent)
    mask = (np.int64(1) << exponent) - 1
    return (x >> exponent) + ((x & mask) > (mask >> 1) + (x < 0))


def requantized(x: Integers, multiplier: Integers, shift: Integers) -> Array:
    """An int32 times a real factor: shifted left before, or right after the product, where it is rounded again."""
    left, right = np.maximum(shift, 0), np.maximum(-wide(shift), 0)
    return divide_by_power(high_product(wrapped(wide(x) << left), multiplier), right)


def requantized_wide(x: Integers, multiplier: Integers, shift: Integers) -> Array:
    """An int64 of at most 48 bits times a real factor of 15 bits, rounded once, ties up."""
    multiplier, shift = wide(multiplier), wide(shift)
    short = np.where(multiplier < 0x7FFF0000, (multiplier + (1 << 15)) >> 16, 0x7FFF)
    total = 15 - shift
    return wrapped((wide(x) * short + (np.int64(1) << (total - 1))) >> total)


def scaled(x: Integers, real: float) -> Array:
    """An int32 times a real factor."""
    return requantized(x, *quantized_multiplier(real))


def clipped(x: Array, dtype: Any) -> Array:
    """Saturated to a type."""
    limits = np.iinfo(dtype)
    return np.clip(x, limits.min, limits.max).astype(dtype)


# --- functions of fixed point: a number with `bits` integer bits is `raw / 2 ** (31 - bits)` -------------------------

_ONE = INT32.max
"""1, as near as a number without integer bits comes."""


def _rescaled(raw: Array, exponent: int) -> Array:
    """`raw * 2 ** exponent`, saturating, or rounded as `divide_by_power` does."""
    if exponent <= 0:
        return divide_by_power(raw, -exponent)
    threshold = (1 << (31 - exponent)) - 1
    return np.where(raw > threshold, INT32.max, np.where(raw < -threshold, INT32.min, raw << exponent))


def _exp_near_zero(a: Array) -> Array:
    """exp of -1/4 to 0 without integer bits: a polynomial of degree 4 about -1/8."""
    x = a + (1 << 28)
    x2 = high_product(x, x)
    x3, x4 = high_product(x2, x), high_product(x2, x2)
    sums = divide_by_power(high_product(divide_by_power(x4, 2) + x3, 715827883) + x2, 1)
    return 1895147668 + high_product(1895147668, x + sums)


_STEPS = (1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242)
"""exp of -1/4, -1/2, -1, -2, .., -16 without integer bits."""


def exp_of_negative(raw: Array, bits: int) -> Array:
    """exp of a number of at most 0 with `bits` integer bits; the result has none."""
    raw, fraction = wide(raw), 31 - bits
    quarter = 1 << (fraction - 2)
    below = (raw & (quarter - 1)) - quarter
    result = _exp_near_zero(_rescaled(below, bits))
    rest = below - raw
    for exponent, factor in enumerate(_STEPS, -2):
        if bits > exponent:
            set_bit = (rest >> (fraction + exponent)) & 1
            result = np.where(set_bit == 1, high_product(result, factor), result)
    if bits > 5:
        result = np.where(raw < -(1 << (36 - bits)), 0, result)
    return np.where(raw == 0, _ONE, result)


def _newton(raw: Array) -> Array:
    """`2 / (1 + x)` with 2 integer bits, by three steps of Newton's method, for x of 0 to 1 without integer bits."""
    total = wide(raw) + _ONE
    half = (total + np.where(total >= 0, 1, -1)) // 2  # of sums at least 0
    x = 1515870810 + high_product(half, -1010580540)
    for _ in range(3):
        x = x + _rescaled(high_product(x, (1 << 29) - high_product(half, x)), 2)
    return x


def reciprocal_of_one_plus(raw: Array) -> Array:
    """`1 / (1 + x)` for x of 0 to 1, both without integer bits."""
    return _rescaled(_newton(raw), 1)


def fixed_logistic(raw: Array, bits: int) -> Array:
    """The logistic function of a number with `bits` integer bits; the result has none."""
    raw = wide(raw)
    positive = reciprocal_of_one_plus(exp_of_negative(-np.abs(raw), bits))
    return np.where(raw == 0, 1 << 30, np.where(raw > 0, positive, _ONE - positive))


def fixed_tanh(raw: Array, bits: int) -> Array:
    """The hyperbolic tangent of a number with `bits` integer bits; the result has none."""
    raw = wide(raw)
    t = _rescaled(_newton(exp_of_negative(-np.abs(raw), bits + 1)) - (1 << 29), 2)
    return np.where(raw == 0, 0, np.where(raw < 0, -t, t))


def leading_zeros(x: Integers) -> Array:
    """Zeros above the highest bit of a number of 32 bits."""
    x = wide(x)
    return 32 - np.where(x > 0, np.floor(np.log2(np.maximum(x, 1))).astype(np.int64) + 1, 0)


def reciprocal(x: Array, integer_bits: int) -> tuple[Array, Array]:
    """`1 / x` of a positive number as a number of 1/2 to 1 without integer bits, and by how many bits to shift that to
    the right."""
    headroom = leading_zeros(x)
    return reciprocal_of_one_plus((wide(x) << headroom) - (1 << 31)), integer_bits - headroom


def input_radius(integer_bits: int, shift: int, signed_bits: int = 31) -> int:
    """The greatest difference from the zero point whose scaled value `integer_bits` still hold."""
    return math.floor(((1 << integer_bits) - 1) * (1 << (signed_bits - integer_bits)) / (1 << shift))


# --- tables ----------------------------------------------------------------------------------------------------------


def _f32(x: Any) -> Any:
    return np.float32(x)


def table_of_bytes(
    function: Callable[[Array], Array], in_scale: Any, in_zero: int, out_scale: Any, out_zero: int, dtype: Any
) -> Array:
    """A value for each of the 256 of an 8-bit type, from the least up, computed in float32."""
    limits = np.iinfo(dtype)
    values = np.arange(limits.min, limits.max + 1)
    inverse = _f32(1) / _f32(out_scale)
    transformed = function((_f32(in_scale) * (values - in_zero).astype(np.float32)).astype(np.float32))
    out = rounded(transformed.astype(np.float32) * inverse) + _f32(out_zero)
    return clipped(out.astype(np.int64), dtype)


def table_of_words(
    function: Callable[[Array], Array], in_scale: Any, in_zero: int, out_scale: Any, out_zero: int
) -> Array:
    """513 values between which numbers of 16 bits interpolate, shifted by half the error in the middle of each step;
    all in float32."""
    in_scale, out_scale, low, high = _f32(in_scale), _f32(out_scale), -32768, 32767
    in_min, in_max = (in_scale * _f32(end - in_zero) for end in (low, high))
    out_min, out_max = (out_scale * _f32(end - out_zero) for end in (low, high))
    step = (in_max - in_min) / _f32(512)
    inverse = _f32(65536) / (out_max - out_min)
    index = np.arange(512, dtype=np.float32)
    value = function(in_min + index * step)
    middle = function(in_min + index * step + step / _f32(2))
    following = function(in_min + (index + _f32(1)) * step)
    sample = rounded(value * inverse)
    interpolated = rounded((following * inverse + rounded(value * inverse)) / _f32(2))
    bias = rounded((interpolated - rounded(middle * inverse)) / _f32(2))
    last = rounded(function(np.asarray(in_max, np.float32)) * inverse)
    return np.clip(np.append(sample - bias, last), low, high).astype(np.int16)


def looked_up(x: Array, table: Array) -> Array:
    """Numbers of 16 bits by a table of 513: the nearest below, and 7 bits of the way to the next, ties up."""
    x, table = wide(x), wide(table)
    index = 256 + (x >> 7)
    base = table[index]
    slope = (table[index + 1] - base).astype(np.int16).astype(np.int64)
    return (base + ((slope * (x & 127) + 64) >> 7)).astype(np.int16)
