"""The integer arithmetic of TensorFlow Lite's reference kernels, on arrays: what is known when compiling.

Fixed-point numbers are gemmlowp's (github.com/google/gemmlowp, fixedpoint/fixedpoint.h): an i32 stands for itself over
2^31, times 2 for each bit of the integer part. Arrays here are i64 with values of i32.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from aotc.errors import CompileError
from aotc.model.weight_store import Array

_LEAST, _MOST = -(2**31), 2**31 - 1


@dataclass(frozen=True)
class Multiplier:
    """Real numbers as factor / 2^31 * 2^exponent, one or several."""

    factors: Array
    exponents: Array

    @staticmethod
    def of(real: Array | float) -> Multiplier:
        """The nearest ones of f64 (`QuantizeMultiplier`)."""
        mantissas, exponents = np.frexp(np.asarray(real, np.float64))
        factors = np.floor(np.abs(mantissas) * 2.0**31 + 0.5) * np.sign(mantissas)
        full = factors == 2.0**31
        factors, exponents = np.where(full, factors / 2, factors), exponents + full
        if not bool((exponents <= 31).all() and np.isfinite(factors).all()):
            what = "its scales make factors beyond 2^31"
            raise CompileError("unsupported-type", what, "integers are multiplied by them")
        gone = exponents < -31
        return Multiplier(np.where(gone, 0, factors).astype(np.int64), np.where(gone, 0, exponents).astype(np.int64))

    def __call__(self, x: Array) -> Array:
        """i32 times the numbers, rounded twice (`MultiplyByQuantizedMultiplier`)."""
        high = doubling_product(wrapped(x << np.maximum(self.exponents, 0)), self.factors)
        return divided(high, np.maximum(-self.exponents, 0))


def wrapped(x: Array) -> Array:
    """Modulo 2^32."""
    return (x - _LEAST) % 2**32 + _LEAST


def doubling_product(a: Array, b: Array | int) -> Array:
    """Twice the upper half of the product, the middle up (`SaturatingRoundingDoublingHighMul`)."""
    return np.minimum((a * b + (1 << 30)) >> 31, _MOST)


def divided(x: Array, exponent: Array | int) -> Array:
    """Over a power of two, the middle away from zero (`RoundingDivideByPOT`)."""
    mask = (np.int64(1) << np.asarray(exponent, np.int64)) - 1
    return (x >> exponent) + ((x & mask) > (mask >> 1) + (x < 0))


def multiplied(x: Array, exponent: int) -> Array:
    """Times a power of two, saturating (`SaturatingRoundingMultiplyByPOT`)."""
    return np.clip(x << exponent, _LEAST, _MOST)


def quantized_number(real: float, scale: np.float32, zero_point: int) -> int:
    """The integer that stands for a real number, the middle away from zero."""
    quotient = np.float32(real) / scale
    return int(math.copysign(math.floor(abs(float(quotient)) + 0.5), quotient)) + zero_point


# --- functions of fixed-point numbers ---------------------------------------------------------------------------------


def exponential(a: Array, integer_bits: int) -> Array:
    """exp(a) of numbers that are not positive, without integer bits (`exp_on_negative_values`)."""
    fraction = 31 - integer_bits
    quarter = 1 << fraction - 2
    rest = (a & (quarter - 1)) - quarter
    x = multiplied(rest, integer_bits) + (1 << 28)
    x2 = doubling_product(x, x)
    x3, x4 = doubling_product(x2, x), doubling_product(x2, x2)
    more = divided(doubling_product(divided(x4, 2) + x3, 715827883) + x2, 1)
    result = 1895147668 + doubling_product(x + more, 1895147668)
    remainder = rest - a
    for exponent, factor in enumerate((1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242), -2):
        if integer_bits > exponent:
            hit = (remainder >> fraction + exponent) & 1 != 0
            result = np.where(hit, doubling_product(result, factor), result)
    return np.where(a == 0, _MOST, result)


def _newton(a: Array) -> Array:
    """2 / (1 + a) with two integer bits, a from 0 to 1 without."""
    half = (a + _MOST + 1) >> 1
    x = 1515870810 + doubling_product(half, -1010580540)
    for _ in range(3):
        x = x + multiplied(doubling_product(x, (1 << 29) - doubling_product(half, x)), 2)
    return x


def reciprocal_of_one_plus(a: Array) -> Array:
    """1 / (1 + a) of 0 to 1, both without integer bits."""
    return multiplied(_newton(a), 1)


def logistic(a: Array, integer_bits: int) -> Array:
    """1 / (1 + exp(-a)) without integer bits."""
    positive = reciprocal_of_one_plus(exponential(-np.abs(a), integer_bits))
    return np.where(a == 0, 1 << 30, np.where(a > 0, positive, _MOST - positive))


def tanh(a: Array, integer_bits: int) -> Array:
    """The hyperbolic tangent without integer bits."""
    positive = multiplied(_newton(exponential(-np.abs(a), integer_bits + 1)) - (1 << 29), 2)
    return np.where(a == 0, 0, np.where(a < 0, -positive, positive))


def inverse_root(x: Array) -> Multiplier:
    """1 / sqrt of integers below 2^29: five rounds of Newton's method, 3 integer bits; what is below 1 counts as 1."""
    value = np.maximum(x, 2)
    quarters = (31 - np.frexp(value)[1].astype(np.int64)) // 2 - 1
    half, shift = divided(value << 2 * quarters >> 1, 1), 11 - quarters
    root = np.full(x.shape, 1 << 28, np.int64)
    for _ in range(5):
        cube = multiplied(doubling_product(doubling_product(root, root), root), 6)
        root = multiplied(doubling_product(root, (1 << 28) + (1 << 27)) - doubling_product(half, cube), 3)
    root = doubling_product(root, 1518500250) << np.maximum(-shift, 0)
    return Multiplier(np.where(x <= 1, _MOST, root), np.where(x <= 1, 0, -np.maximum(shift, 0)))


def input_radius(integer_bits: int, exponent: int, bits: int = 31) -> int:
    """How far from zero an input may be that does not saturate (`CalculateInputRadius`)."""
    return math.floor(((1 << integer_bits) - 1) * (1 << bits - integer_bits) / 2.0**exponent)
