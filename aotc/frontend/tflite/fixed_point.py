"""The integer arithmetic of TensorFlow Lite's reference kernels on tensors of i64 with values of i32: what is computed
at run time.

Arrays have the same in `arithmetic`, where formats are described.
"""

from __future__ import annotations

from xdsl.dialects.builtin import f64, i64

from aotc.frontend.emitter import Tensor

LEAST, MOST = -(2**31), 2**31 - 1


def nearest(x: Tensor) -> Tensor:
    """Real numbers as the nearest whole ones, the middle away from zero."""
    size = x.emit("abs")
    whole = size.emit("floor")
    whole = whole + (size - whole >= 0.5).cast(x.kind)
    return (x < 0).choose(whole.emit("neg"), whole)


def left(x: Tensor, by: Tensor | int) -> Tensor:
    """Shifted up."""
    return x.emit("shift_left", x.beside(by))


def right(x: Tensor, by: Tensor | int) -> Tensor:
    """Shifted down, cut off."""
    return x.emit("shift_right", x.beside(by))


def saturated(x: Tensor, by: Tensor | int) -> Tensor:
    """Shifted up, within i32 (`SaturatingRoundingMultiplyByPOT`)."""
    return left(x, by).at_least(LEAST).at_most(MOST)


def doubling_product(a: Tensor, b: Tensor | int) -> Tensor:
    """Twice the upper half of the product, the middle up (`SaturatingRoundingDoublingHighMul`)."""
    return right(a * b + (1 << 30), 31).at_most(MOST)


def divided(x: Tensor, exponent: Tensor | int) -> Tensor:
    """Over a power of two, the middle away from zero (`RoundingDivideByPOT`)."""
    mask = left(x.scalar(1), exponent) - 1
    rest, middle = x.emit("and", mask), right(mask, 1) + (x < 0).cast(i64)
    return right(x, exponent) + (rest > middle).cast(i64)


def multiplied(x: Tensor, factor: Tensor, exponent: Tensor) -> Tensor:
    """Times factor / 2^31 * 2^exponent, rounded twice (`MultiplyByQuantizedMultiplier`)."""
    high = doubling_product(left(x, exponent.at_least(0)), factor)
    return divided(high, (0 - exponent).at_least(0))


def leading_zeros(x: Tensor) -> Tensor:
    """Zeros above the highest bit of 32, of positive numbers: by the exponent of f64."""
    return 1054 - right(x.cast(f64).emit("bit_cast", to=i64), 52)


def bit_length(x: Tensor) -> Tensor:
    """The place of the highest bit, from 1, of integers without sign."""
    found = x.scalar(0)
    for half in (x.dtype.itemsize * 4 >> halving for halving in range(6)):
        if half:
            high = right(x, half)
            is_high = high > 0
            x, found = is_high.choose(high, x), found + is_high.cast(x.kind) * half
    return found + x


def reciprocal_of_one_plus(a: Tensor) -> Tensor:
    """1 / (1 + a) of 0 to 1, both without integer bits: three rounds of Newton's method."""
    half = right(a + (MOST + 1), 1)
    x = doubling_product(half, -1010580540) + 1515870810
    for _ in range(3):
        x = x + saturated(doubling_product(x, (1 << 29) - doubling_product(half, x)), 2)
    return saturated(x, 1)


def inverse_root(x: Tensor) -> tuple[Tensor, Tensor]:
    """1 / sqrt of integers as factors and exponents: five rounds of Newton's method, 3 integer bits; what is below 1
    counts as 1."""
    value = x.at_least(2)
    is_large = value >= 1 << 29
    value, shift = is_large.choose(right(value, 2), value), is_large.cast(i64) + 11
    quarters = right(leading_zeros(value) - 1, 1) - 1
    value, shift = left(value, quarters * 2), shift - quarters
    half = divided(right(value, 1), 1)
    root = x.scalar(1 << 28)
    for _ in range(5):
        cube = saturated(doubling_product(doubling_product(root, root), root), 6)
        root = saturated(doubling_product(root, (1 << 28) + (1 << 27)) - doubling_product(half, cube), 3)
    root = left(doubling_product(root, 1518500250), (0 - shift).at_least(0))
    is_one = x <= 1
    return is_one.choose(MOST, root), is_one.choose(0, 0 - shift.at_least(0))


def logarithm(x: Tensor) -> Tensor:
    """The logarithm, with 5 integer bits, of numbers of at least 1 with 12 (`log_x_for_x_greater_than_or_equal_to_1`):
    of what remains between sqrt(1/2) and 1 a quotient of polynomials about the fourth root of 1/2."""
    quarter = 1 << 23
    zeros = leading_zeros(x)
    first = saturated(doubling_product(saturated(x, zeros - 1), 1518500250), 1)
    second_zeros = leading_zeros(doubling_product(x, 1518500250)) - 1
    second = saturated(x, second_zeros)
    first_power, second_power = (
        (saturated(12 - count, 25) + more).at_least(LEAST).at_most(MOST)
        for count, more in ((zeros, quarter), (second_zeros, -quarter))
    )
    rest, power = first.at_most(second), first_power.at_least(second_power)
    p, q = right(rest + (1805811301 + 1), 1), (rest - 1805811301) * 2
    square = doubling_product(q, q)
    above = doubling_product(q, rest) + doubling_product(doubling_product(q, square), 117049297)
    below = doubling_product(p, doubling_product(square, 127690142) + q + 1057819769) + doubling_product(q, 638450708)
    quotient = doubling_product(divided(above, 6), reciprocal_of_one_plus(below))
    return saturated(doubling_product(power, 1488522236) + quotient, 1)
