"""Trigonometric functions of f32 and their inverses."""

from functools import reduce
from math import pi

import numpy as np
from xdsl.dialects.builtin import f32, f64, i32

from aotc.dialects.aot.tiles import tile_shape
from aotc.dialects.builder import Scalar
from aotc.passes.kernel.builders.tile_builder import TileBuilder
from aotc.passes.loops.float_parts import ROUNDER, as_bits, as_float, bits_of, number, polynomial, with_sign

_HALF_PI = (1.5703125, 4.837512969970703e-4, 7.549533620476723e-8, 2.5633440682570896e-12)
"""pi / 2 in parts: a multiple of each but the last with thirteen bits is exact in f32 (Cody and Waite)."""
_FAR = 12800.0
"""Up to where multiples of pi / 2 have thirteen bits: those below 2^13."""
_TURNS = (
    *(0.15915494272485375, 3.6704158115630214e-10, 5.690025167992954e-19),
    *(1.4703036846932608e-27, 2.5867171752090537e-36, 9.458140970740169e-46),
)
"""1 / (2 pi) in parts of 29 bits, so that a multiple of each with 24 bits is exact in f64, and a last one of 53."""
# (sin r - r) / r^3 and (cos r - 1 + r^2 / 2) / r^4 in powers of r^2 for |r| <= pi / 4; the relative errors of
# sin r and cos r are 3.9e-9 and 1.2e-10
_SIN = (-0.166666543897, 0.00833214659504, -0.000195133273652)
_COS = (0.0416666452955, -0.00138872970327, 2.44309225967e-05)


def _quadrants(b: TileBuilder, x: Scalar) -> tuple[Scalar, Scalar]:
    """(n, r) such that x = n pi / 2 + r with |r| <= pi / 4, a little more at most; n is in the low bits of an integer.

    Of x >= 0 and finite. The rare numbers beyond `_FAR` are reduced apart, if any element of x is one.
    """
    shifted = b.fma(x, number(b, 2 / pi), number(b, ROUNDER))
    n = shifted - ROUNDER
    first, second, third, fourth = (number(b, -part) for part in _HALF_PI)
    above = b.fma(n, second, b.fma(n, first, x))  # exact, and so is what the next sum rounds off
    r = b.fma(n, third, above)
    r = r + b.fma(n, fourth, b.fma(n, third, above - r))
    near, bits = [as_bits(b, shifted), r], as_bits(b, x)

    def with_far() -> list[Scalar]:
        far = b.compare("gt", x, _FAR)
        return [b.select(far, each, other) for each, other in zip(_far_quadrants(b, x), near, strict=True)]

    greatest = b.total("max", bits) if tile_shape(x.ssa) else bits
    n, r = b.when(b.compare("gt", greatest, bits_of(_FAR)), with_far, lambda: near)
    return n, r


def _far_quadrants(b: TileBuilder, x: Scalar) -> tuple[Scalar, Scalar]:
    """The same for every x >= 0, in f64: x / (2 pi) modulo 1, from each part of the factor.

    Every sum for r is exact until it has as few bits as r: whole turns cancel in the first parts that are not whole.
    """
    wide = b.cast(x, f64)
    *heads, tail = (wide * part for part in _TURNS)
    rests = [*(head - b.math("roundeven", head) for head in heads), tail]
    n = b.math("roundeven", reduce(b.add, rests) * 4.0)
    r = reduce(b.add, rests, n * -0.25) * (2 * pi)
    return as_bits(b, b.cast(n, f32) + ROUNDER), b.cast(r, f32)


def _sine_and_cosine(b: TileBuilder, r: Scalar) -> tuple[Scalar, Scalar]:
    """sin r and cos r for |r| <= pi / 4."""
    square = r * r
    cosine = b.fma(square, b.fma(square, polynomial(b, square, _COS), number(b, -0.5)), number(b, 1.0))
    return b.fma(square * r, polynomial(b, square, _SIN), r), cosine


def _is_odd(b: TileBuilder, n: Scalar) -> Scalar:
    return b.compare("ne", n & 1, 0)


def _negated(b: TileBuilder, value: Scalar, sign: Scalar) -> Scalar:
    """`value`, negated where the highest bit of `sign` is set."""
    return as_float(b, as_bits(b, value) ^ (sign & -(1 << 31)))


def _sine(b: TileBuilder, n: Scalar, r: Scalar, sign: Scalar) -> Scalar:
    """sin(n pi / 2 + r) for |r| <= pi / 4, negated where the sign bit of `sign` is set."""
    even, odd = _sine_and_cosine(b, r)
    return _negated(b, b.select(_is_odd(b, n), odd, even), b.shift_left(n, b.const(30, i32)) ^ sign)


def sine(b: TileBuilder, x: Scalar) -> Scalar:
    """sin x to 1.6 ulp, never beyond 1, of every finite x; NaN of infinity and NaN."""
    n, r = _quadrants(b, b.abs(x))
    return _sine(b, n, r, as_bits(b, x))


def cosine(b: TileBuilder, x: Scalar) -> Scalar:
    """cos x to 1.6 ulp, never beyond 1, of every finite x; NaN of infinity and NaN."""
    n, r = _quadrants(b, b.abs(x))
    return _sine(b, n + 1, r, b.const(0, i32))


def tangent(b: TileBuilder, x: Scalar) -> Scalar:
    """tan x to 3.2 ulp, of every finite x; NaN of infinity and NaN.

    Of x = n pi / 2 + r it is sin r / cos r, or -cos r / sin r where n is odd.
    """
    n, r = _quadrants(b, b.abs(x))
    (sine, cosine), odd = _sine_and_cosine(b, r), _is_odd(b, n)
    quotient = b.select(odd, cosine, sine) / b.select(odd, sine, cosine)
    return _negated(b, quotient, b.shift_left(n, b.const(31, i32)) ^ as_bits(b, x))


_QUARTER, _HALF, _WHOLE = (
    (float(np.float32(angle)), angle - float(np.float32(angle))) for angle in (pi / 4, pi / 2, pi)
)
"""pi / 4, pi / 2 and pi as f32, each with what that lacks."""
_TANGENTS = (0.41421356, 2.4142135)
"""tan(pi / 8) and tan(3 pi / 8)."""
# (atan t - t) / t^3 and (asin s - s) / s^3 in powers of t^2 and s^2, for |t| <= tan(pi / 8) and |s| <= 1/2; the
# relative errors of atan t and asin s are 6.8e-10 and 4.9e-9
_ATAN = (-0.33333315105307976, 0.19998466002588583, -0.1424342232637351, 0.10592946728841647, -0.06075916743381957)
_ASIN = (0.16666752681478325, 0.07495288669149078, 0.045471607478934625, 0.02417295014636227, 0.04217823237824683)


def arc_tangent(b: TileBuilder, x: Scalar) -> Scalar:
    """atan x to 2.1 ulp.

    atan |x| = pi / 4 + atan t with t = (|x| - 1) / (|x| + 1), or pi / 2 + atan t with t = -1 / |x|, for the numbers
    around and above 1.
    """
    magnitude, one = b.abs(x), number(b, 1.0)
    middle, high = (b.compare("gt", magnitude, bound) for bound in _TANGENTS)

    def choose(low: Scalar | float, around: Scalar | float, above: Scalar | float) -> Scalar:
        values = [value if isinstance(value, Scalar) else number(b, value) for value in (low, around, above)]
        return b.select(high, values[2], b.select(middle, values[1], values[0]))

    t = choose(magnitude, magnitude - 1.0, -1.0) / choose(one, magnitude + 1.0, magnitude)
    square = t * t
    angle = b.fma(t * square, polynomial(b, square, _ATAN), t)
    nearest, rest = (choose(0.0, around, above) for around, above in zip(_QUARTER, _HALF, strict=True))
    return with_sign(b, nearest + (angle + rest), x)


def _arc_sine_parts(b: TileBuilder, x: Scalar) -> tuple[Scalar, Scalar]:
    """Whether |x| is greater than 1/2, and asin |x|, or where it is asin sqrt((1 - |x|) / 2) = acos |x| / 2."""
    magnitude = b.abs(x)
    large = b.compare("gt", magnitude, 0.5)
    halved = (1.0 - magnitude) * 0.5
    square = b.select(large, halved, x * x)
    root = b.select(large, b.math("sqrt", halved), magnitude)
    return large, b.fma(root * square, polynomial(b, square, _ASIN), root)


def arc_sine(b: TileBuilder, x: Scalar) -> Scalar:
    """asin x to 2.4 ulp, NaN beyond 1: |x| > 1/2 as pi / 2 - 2 asin sqrt((1 - |x|) / 2)."""
    large, angle = _arc_sine_parts(b, x)
    nearest, rest = _HALF
    rotated = b.fma(angle, number(b, -2.0), number(b, rest)) + nearest
    return with_sign(b, b.select(large, rotated, angle), x)


def arc_cosine(b: TileBuilder, x: Scalar) -> Scalar:
    """acos x to 1.2 ulp, NaN beyond 1: pi / 2 - asin x, or 2 asin sqrt((1 - |x|) / 2), or pi less that."""
    large, angle = _arc_sine_parts(b, x)
    signed = with_sign(b, angle, x)
    negative = b.compare("lt", x, 0.0)
    factor = b.select(large, number(b, 2.0), -1.0)

    def base(part: int) -> Scalar:
        return b.select(large, b.select(negative, number(b, _WHOLE[part]), 0.0), _HALF[part])

    return base(0) + b.fma(signed, factor, base(1))
