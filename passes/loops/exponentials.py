"""The exponential of f32 and its kin: logarithms, hyperbolic functions and their inverses, the error function."""

from math import inf, log, nan

from xdsl.dialects.builtin import f32, i32

from aotc.dialects.builder import Scalar
from aotc.passes.kernel.builders.tile_builder import TileBuilder
from aotc.passes.loops.float_parts import ROUNDER, as_bits, as_float, number, polynomial, with_sign

_ONE = 127 << 23
"""The bits of 1.0; 2^n is n << 23 more."""
_LOG2_E = 1.442695040888963
_LN2_HIGH, _LN2_LOW = 0.693359375, -2.121944400546905e-4
"""ln 2 in two parts: a multiple of the first with ten bits is exact in f32 (Cody and Waite)."""
_LEAST_LOG = -126 / _LOG2_E
"""The logarithm of the least normal number."""


def _reduce(b: TileBuilder, x: Scalar) -> tuple[Scalar, Scalar]:
    """(n, r) such that x = n ln 2 + r with |r| <= ln 2 / 2 for |x| < 200; n is in the low bits of an integer."""
    shifted = b.fma(x, number(b, _LOG2_E), number(b, ROUNDER))
    n = shifted - ROUNDER
    r = b.fma(n, number(b, -_LN2_LOW), b.fma(n, number(b, -_LN2_HIGH), x))
    return as_bits(b, shifted), r


# (e^r - 1 - r) / r^2 on |r| <= ln 2 / 2; e^r has relative error 3.1e-9
_EXP = (0.49999993432, 0.166665203987, 0.0416683908113, 0.00836874513761, 0.00138145390305)


def exponential(b: TileBuilder, x: Scalar) -> Scalar:
    """e^x to 0.9 ulp, subnormal results too; overflow is inf, NaN stays NaN.

    x = n ln 2 + r (Cody and Waite); 2^n is applied as two factors, each of which is a normal number.
    """
    return _power(b, *_reduce(b, b.min(b.max(x, -104.0), 89.0)))


def _power(b: TileBuilder, n: Scalar, r: Scalar) -> Scalar:
    """2^n e^r for |r| <= ln 2 / 2 and n from -150 to 254, in the low bits of an integer."""
    power = polynomial(b, r, (1.0, 1.0, *_EXP))
    half = b.shift_left(n, b.const(22, i32)) & -(1 << 23)  # (n >> 1) << 23
    rest = b.shift_left(n, b.const(23, i32)) - half
    return power * as_float(b, half + _ONE) * as_float(b, rest + _ONE)


def exponential_of_nonpositive(b: TileBuilder, x: Scalar) -> Scalar:
    """e^x for x <= 0 to 0.9 ulp, 0 where that is less than 2^-126; NaN stays NaN."""
    n, r = _reduce(b, x)
    scale = as_float(b, b.shift_left(n, b.const(23, i32)) + _ONE)
    power = polynomial(b, r, (1.0, 1.0, *_EXP)) * scale
    return b.select(b.compare("lt", x, _LEAST_LOG), number(b, 0.0), power)


def _exponential_minus_1(b: TileBuilder, x: Scalar) -> Scalar:
    """e^x - 1 for -80 <= x <= 0."""
    n, r = _reduce(b, x)
    power = b.fma(polynomial(b, r, _EXP) * r, r, r)
    scale = as_float(b, b.shift_left(n, b.const(23, i32)) + _ONE)
    return b.fma(scale, power, scale - 1)


# (log(1 + f) - f + f^2 / 2) / f^3 for 1 + f from sqrt(1/2) to sqrt(2); log(1 + f) has relative error 5.8e-9
_LOG = (
    *(0.333333317078, -0.250008210304, 0.200012268684, -0.166233574573),
    *(0.142017582368, -0.131601816857, 0.127615752271, -0.0763449593516),
)
_LEAST_NORMAL = 2.0**-126
_SQRT_HALF = 0x3F3504F3
"""The bits of sqrt(1/2)."""


def logarithm(b: TileBuilder, x: Scalar) -> Scalar:
    """ln x to 0.87 ulp, of subnormal numbers too; ln 0 = -inf, ln inf = inf, NaN of negative numbers and NaN.

    Subnormal numbers are scaled to normal ones.
    """
    small = b.compare("lt", x, _LEAST_NORMAL)
    shifted, f = _log_parts(b, b.select(small, x * 2.0**23, x))
    n = b.cast(b.shift_right(shifted, b.const(23, i32)), f32) + b.select(small, number(b, -23.0), 0.0)
    return _log_special(b, x, x, _log_sum(b, n, f))


def logarithm_of_1_plus(b: TileBuilder, x: Scalar) -> Scalar:
    """ln(1 + x) to 1.5 ulp, with the sign of x; of -1 it is -inf, of inf inf, of less and of NaN NaN.

    As ln u of u = 1 + x, rounded, where f takes what was rounded off.
    """
    u = x + 1.0
    shifted, f = _log_parts(b, u)
    scale = as_float(b, b.max(_ONE - shifted, 0))  # 2^-n; where it is 0, no rest counts
    n = b.cast(b.shift_right(shifted, b.const(23, i32)), f32)
    value = _log_sum(b, n, b.fma(x - (u - 1.0), scale, f))
    return _log_special(b, x, u, with_sign(b, value, x))


def _log_parts(b: TileBuilder, x: Scalar) -> tuple[Scalar, Scalar]:
    """(n, f) such that x = 2^n (1 + f) with 1 + f from sqrt(1/2) to sqrt(2), for normal x; n is shifted by 23 bits."""
    bits = as_bits(b, x)
    shifted = (bits - _SQRT_HALF) & -(1 << 23)
    return shifted, as_float(b, bits - shifted) - 1


def _log_sum(b: TileBuilder, n: Scalar, f: Scalar) -> Scalar:
    """n ln 2 + ln(1 + f) = n ln 2 + f - f^2 / 2 + f^3 P(f)."""
    square = f * f
    tail = b.fma(n, number(b, _LN2_LOW), f * square * polynomial(b, f, _LOG))
    return b.fma(n, number(b, _LN2_HIGH), f + b.fma(square, number(b, -0.5), tail))


def _log_special(b: TileBuilder, x: Scalar, u: Scalar, value: Scalar) -> Scalar:
    """`value`, ln u, but for what is no positive finite u; infinity and NaN are x."""
    value = b.select(b.compare("lt", x, inf), value, x)
    value = b.select(b.compare("lt", u, 0.0), number(b, nan), value)
    return b.select(b.compare("eq", u, 0.0), number(b, -inf), value)


def hyperbolic_tangent(b: TileBuilder, x: Scalar, factor: float = 1.0) -> Scalar:
    """tanh factor x to 2.5 ulp (3.5 with a factor), never beyond 1: |tanh x| = -e / (2 + e), e = exp(-2 |x|) - 1."""
    e = _exponential_minus_1(b, b.min(b.abs(x), 10.0 / factor) * (-2.0 * factor))
    return with_sign(b, e / (e + 2.0), x)


# erf(x) / x = P(x^2) / Q(x^2) to relative error 1.4e-8 up to _ERF_END, from where on erf rounds to 1 or the number
# before; P and Q are scaled by the common factor for which their rounded coefficients are best
_ERF_P = (0.950079322, 0.157640606, 0.0441284031, 0.00307304529, 0.000240793699, 1.78944413e-06)
_ERF_Q = (0.841985881, 0.420366943, 0.0950333923, 0.0124079315, 0.000960852019, 3.27719717e-05)
_ERF_END = 3.83


def error_function(b: TileBuilder, x: Scalar, factor: float = 1.0) -> Scalar:
    """erf factor x to 5.6 ulp (6.1 with a factor), never beyond 1: x times a rational function of x^2 (weighted least
    squares, reweighted to the least maximum as Lawson did)."""
    x = b.min(b.max(x, -_ERF_END / factor), _ERF_END / factor)
    square = x * x
    p = [coefficient * factor ** (2 * k + 1) for k, coefficient in enumerate(_ERF_P)]
    q = [coefficient * factor ** (2 * k) for k, coefficient in enumerate(_ERF_Q)]
    ratio = x * polynomial(b, square, p) / polynomial(b, square, q)
    return b.min(b.max(ratio, -1.0), 1.0)


# (sinh x - x) / x^3 in powers of x^2 for |x| <= 1; sinh x has relative error 5.2e-11
_SINH = (0.16666666497493926, 0.008333350063160147, 0.00019836158758538232, 2.8169573607492123e-06)
_GREATEST_COSH = 91.0
"""A number from which on sinh and cosh overflow."""


def _half_exponential(b: TileBuilder, x: Scalar) -> Scalar:
    """e^x / 2 for x >= 0, which overflows where sinh and cosh do."""
    n, r = _reduce(b, b.min(x, _GREATEST_COSH))
    return _power(b, n - 1, r)


def hyperbolic_sine(b: TileBuilder, x: Scalar) -> Scalar:
    """sinh x to 1.7 ulp: up to 1 a polynomial, then h - 1 / (4 h) with h = exp |x| / 2."""
    magnitude = b.abs(x)
    square = x * x
    near = b.fma(magnitude * square, polynomial(b, square, _SINH), magnitude)
    half = _half_exponential(b, magnitude)
    value = b.select(b.compare("gt", magnitude, 1.0), half - number(b, 0.25) / half, near)
    return with_sign(b, value, x)


def hyperbolic_cosine(b: TileBuilder, x: Scalar) -> Scalar:
    """cosh x to 1.4 ulp: h + 1 / (4 h) with h = exp |x| / 2."""
    half = _half_exponential(b, b.abs(x))
    return half + number(b, 0.25) / half


_FAR = 2.0**30
"""From here on x^2 + 1 and x^2 - 1 are x^2, and 1 + x is x."""


def _logarithm_of_1_plus_or_twice(b: TileBuilder, near: Scalar, x: Scalar) -> Scalar:
    """ln(1 + near), and where x is greater than `_FAR` ln 2 x, without computing 2 x."""
    far = b.compare("gt", x, _FAR)
    return logarithm_of_1_plus(b, b.select(far, x, near)) + b.select(far, number(b, log(2)), 0.0)


def inverse_hyperbolic_sine(b: TileBuilder, x: Scalar) -> Scalar:
    """asinh x to 1.9 ulp: ln(1 + |x| + x^2 / (1 + sqrt(1 + x^2)))."""
    magnitude, square = b.abs(x), x * x
    near = magnitude + square / (b.math("sqrt", square + 1.0) + 1.0)
    return with_sign(b, _logarithm_of_1_plus_or_twice(b, near, magnitude), x)


def inverse_hyperbolic_cosine(b: TileBuilder, x: Scalar) -> Scalar:
    """acosh x to 2.1 ulp, NaN below 1: ln(1 + t + sqrt(t^2 + 2 t)) with t = x - 1."""
    t = x - 1.0
    near = t + b.math("sqrt", b.fma(t, t, t + t))
    value = _logarithm_of_1_plus_or_twice(b, near, x)
    return b.select(b.compare("lt", x, 1.0), number(b, nan), value)


def inverse_hyperbolic_tangent(b: TileBuilder, x: Scalar) -> Scalar:
    """atanh x to 2.1 ulp, infinite of 1 and -1, NaN beyond: ln(1 + 2 |x| / (1 - |x|)) / 2."""
    magnitude = b.abs(x)
    value = logarithm_of_1_plus(b, (magnitude + magnitude) / (1.0 - magnitude)) * 0.5
    return with_sign(b, value, x)
