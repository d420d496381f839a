"""Functions of floats that some processors have as instructions: each is defined here, once.

Rows of instructions have these meanings, too. Without one both emitters print the meaning as a function of their own.
f16 and bf16 are their bits, `u16`. NaN stays NaN, and becomes quiet where it is converted; zeros keep their signs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from aotc.machines.instructions.values import Meaning, Value, bits_of


@dataclass(frozen=True)
class Function:
    """A function that is printed; `signature` is of types, where `f` is any, as in "f, f -> f"."""

    name: str
    signature: str
    meaning: Meaning
    says: str
    """A sentence for the reader of generated C."""
    names: tuple[str, ...] = ("x", "y")
    """Of the operands, which there may be fewer of."""
    dtypes: tuple[str, ...] = ("f32",)
    """Types that `f` stands for, or the only type of operands."""
    is_seldom: bool = False
    """Whether it is called seldom, from many places: it stays a function."""

    def types(self, dtype: str) -> tuple[tuple[str, ...], str]:
        """Those of the operands and of the result, where `f` is `dtype`."""
        operands, result = self.signature.split(" -> ")
        given = tuple(dtype if each == "f" else each for each in operands.split(", "))
        return given, dtype if result == "f" else result

    @property
    def is_of_any(self) -> bool:
        """Whether it is one of each type."""
        return self.signature.endswith("f")


_MANTISSA: Final = {"f32": 23, "f64": 52}


def _bits(x: Value) -> Value:
    return x.reinterpret(f"u{bits_of(x.dtype)}")


def _magnitude(x: Value) -> tuple[Value, Value]:
    """The bits of x without its sign, and this sign."""
    bits = _bits(x).named("bits")
    magnitude = (bits & (1 << bits_of(x.dtype) - 1) - 1).named("magnitude")
    return magnitude, bits ^ magnitude


# --- conversions -----------------------------------------------------------------------------------------------------


def f16_to_f32(half: Value) -> Value:
    """Exponent and mantissa are shifted into place; a subtraction makes normal what was not, and NaN quiet."""
    wide = half.convert("u32").named("bits")
    magnitude, sign = ((wide & 0x7FFF) << 13).named("magnitude"), (wide & 0x8000) << 16
    special = (magnitude >= 0x1F << 23).select(111 << 23, magnitude.number(0, "u32"))
    biased = (magnitude + (113 << 23) + special).named("biased")
    others = (biased.reinterpret("f32") - 2.0**-14).reinterpret("u32")
    is_normal = magnitude - (1 << 23) < 0x1E << 23
    return (is_normal.select(magnitude + (112 << 23), others).named("widened") | sign).reinterpret("f32")


def f32_to_f16(x: Value) -> Value:
    """Normal numbers round in integer arithmetic; subnormal ones by adding 0.5, whose last bit is theirs."""
    magnitude, sign = _magnitude(x)
    shifted = (magnitude >> 13).named("shifted")
    normal = magnitude + ((15 - 127) * (1 << 23) + 0xFFF) + (shifted & 1) >> 13
    subnormal = (magnitude.reinterpret("f32") + 0.5).reinterpret("u32") - (126 << 23)
    finite = (magnitude < 113 << 23).select(subnormal, normal).named("finite")
    special = (magnitude > 0x7F800000).select(shifted & 0x3FF | 0x7E00, magnitude.number(0x7C00, "u32"))
    rounded = (magnitude < 0x47800000).select(finite, special).named("rounded")  # 65536, past the greatest half
    return (rounded | sign >> 16).convert("u16")


def bf16_to_f32(half: Value) -> Value:
    """The upper half of the bits."""
    return (half.convert("u32") << 16).reinterpret("f32")


def f32_to_bf16(x: Value) -> Value:
    """Just under half a unit is added, plus one where the last bit kept is odd."""
    bits = _bits(x).named("bits")
    upper = (bits >> 16).named("upper")
    rounded, quiet = bits + ((upper & 1) + 0x7FFF) >> 16, upper | 0x40
    return x.is_nan().select(quiet, rounded).named("narrowed").convert("u16")


# --- rounding --------------------------------------------------------------------------------------------------------


def roundeven(x: Value) -> Value:
    """Adding 2^(bits of the mantissa) leaves an integer, rounded as the addition rounds; larger numbers are some."""
    magnitude, sign = _magnitude(x)
    size = _MANTISSA[x.dtype]
    exponent = (1 << bits_of(x.dtype) - 2 - size) - 1 + size
    rounded = (magnitude.reinterpret(x.dtype) + 2.0**size - 2.0**size).named("rounded")
    return (magnitude < exponent << size).select((_bits(rounded) | sign).reinterpret(x.dtype), x)


def nearest(x: Value, beyond: Value) -> Value:
    """The integer of 32 bits nearest to an f32, to even between two; `beyond` for those that do not fit, and NaN."""
    size = abs(x).named("size")
    rounded = (size < 2.0**23).select(size + 2.0**23 - 2.0**23, size).named("rounded")
    whole = (size < 2.0**31).select(rounded, x.number(0, x.dtype)).convert("s32").named("whole")
    return (size < 2.0**31).select((x < 0).select(-whole, whole), beyond)


def floor(x: Value) -> Value:
    """One less than the nearest integer where that is beyond."""
    nearest = roundeven(x).named("nearest")
    return (nearest > x).select(nearest - 1, nearest)


def ceil(x: Value) -> Value:
    """One more than the nearest integer where that is below, with the sign of x, which zero may lack."""
    nearest = roundeven(x).named("nearest")
    _, sign = _magnitude(x)
    return (_bits((nearest < x).select(nearest + 1, nearest)) | sign).reinterpret(x.dtype)


def trunc(x: Value) -> Value:
    """That of the magnitude rounded down, with the sign of x."""
    magnitude, sign = _magnitude(x)
    return (_bits(floor(magnitude.reinterpret(x.dtype).named("size"))) | sign).reinterpret(x.dtype)


# --- extremes --------------------------------------------------------------------------------------------------------


def maximum(x: Value, y: Value) -> Value:
    """Numbers that compare equal have the same bits, but zeros: "and" makes those +0."""
    chosen = x.is_nan().select(x, (x > y).select(x, y))
    return x.equals(y).select((_bits(x) & _bits(y)).reinterpret(x.dtype), chosen)


def minimum(x: Value, y: Value) -> Value:
    """The same, where "or" makes zeros -0."""
    chosen = x.is_nan().select(x, (x < y).select(x, y))
    return x.equals(y).select((_bits(x) | _bits(y)).reinterpret(x.dtype), chosen)


_ROWS: Final[tuple[tuple[Callable[..., Value], str, str], ...]] = (
    (f16_to_f32, "u16 -> f32", "IEEE half precision to single; exact."),
    (f32_to_f16, "f32 -> u16", "Single precision to IEEE half, to nearest even."),
    (bf16_to_f32, "u16 -> f32", "bfloat16 to single precision; exact."),
    (f32_to_bf16, "f32 -> u16", "Single precision to bfloat16, to nearest even."),
    (roundeven, "f -> f", "The nearest whole number, ties to even; keeps the sign of zero."),
    (floor, "f -> f", "The greatest whole number that is not above x."),
    (ceil, "f -> f", "The least whole number that is not below x."),
    (trunc, "f -> f", "The whole number next to x towards zero."),
    (maximum, "f, f -> f", "The greater of two; NaN if either is NaN, and +0 is greater than -0."),
    (minimum, "f, f -> f", "The lesser of two; NaN if either is NaN, and -0 is less than +0."),
)

FUNCTIONS: Final = {
    meaning.__name__: Function(
        *(meaning.__name__, signature, meaning, says), dtypes=("f32", "f64") if signature.endswith("f") else ("f32",)
    )
    for meaning, signature, says in _ROWS
}
"""By name."""
ROUNDS: Final = tuple(FUNCTIONS[each.__name__] for each in (roundeven, floor, ceil, trunc))
EXTREMES: Final = tuple(FUNCTIONS[each.__name__] for each in (maximum, minimum))
HALVES: Final = tuple(FUNCTIONS[each.__name__] for each in (f16_to_f32, f32_to_f16))


# --- roundings of products, in integers ------------------------------------------------------------------------------
#
# A product x * factor / 2^shift is rounded to 24 bits as floats are, then to the nearest integer, the middle between
# two to the even one (`aot.round_product`): to `above`, or to the integer below it. Arithmetic is modulo 2^32.

_ALL_ONES: Final = 0xFFFFFFFF


def round_product(x: Value, factor: Value, above: Value, shift: Value) -> Value:
    """The distance of the product from the middle between the two integers is whole units of 2^16, `upper`, and 16
    bits below them."""
    by, middle = shift.convert("u32").named("by"), _middle(above)
    low = (factor.convert("u32") & 0xFFFF).named("part")
    least = ((x.convert("u32") & 0xFFFF) * low).named("least")
    more = (x >> 16).convert("u32") * low + x.convert("u32") * (factor >> 16).convert("u32")
    product = ((least >> 16) + more).named("product")
    upper, lower = (product - (middle << by - 17)).named("upper"), (least << 16).named("lower")
    is_some = (upper | lower).differs(0).convert("u32")
    one = (upper.convert("s32") < 0).select(0, is_some).named("one")
    less = (upper - (lower < one).convert("u32")).named("less")
    sign = _sign(less)
    whole, rest = (less ^ sign).named("whole"), (lower - one ^ sign).named("rest")
    steps = (shift < 41).select(whole << by.number(41, "u32") - by | rest >> by - 9, whole >> by - 41)
    return _nearer(above, middle, steps.named("steps"), sign)


def round_near_product(x: Value, factor: Value, above: Value, shift: Value) -> Value:
    """The distance from the middle is one word."""
    by, middle = shift.convert("u32").named("by"), _middle(above)
    moved = (shift < 33).select(middle << by - 1, by.number(0, "u32")).named("moved")
    distance = (x.convert("u32") * factor.convert("u32") - moved).named("distance")
    less = (distance - (distance.convert("s32") > 0).convert("u32")).named("less")
    sign = _sign(less)
    return _nearer(above, middle, ((less ^ sign) >> by - 25).named("steps"), sign)


def _sign(less: Value) -> Value:
    """All ones where a distance, less one where it is positive, is negative; exclusively it makes this positive."""
    return (less.convert("s32") >> 31).convert("u32").named("sign")


def _middle(above: Value) -> Value:
    """Twice the middle between an integer and the one below."""
    return (above.convert("u32") * 2 - 1).named("middle")


def _nearer(above: Value, middle: Value, steps: Value, sign: Value) -> Value:
    """The even integer where `steps`, the distance in halves of the last of 24 bits of a number near the middle, has
    fewer bits than this; else the nearer one."""
    size = (middle.convert("s32") < 0).select(middle.number(0, "u32") - middle, middle).named("size")
    word = above.convert("u32")
    is_even = (size & (steps ^ _ALL_ONES)) > steps
    return is_even.select(word - (word & 1), word + sign).named("nearest").convert("s32")


_SIGNATURE: Final = "s32, s32, s32, s32 -> s32"
_NAMES: Final = ("x", "factor", "above", "shift")
_SAYS: Final = (
    "x * factor / 2^shift as floats round it, to `above` or the integer below it: to 24 bits, then to even{}."
)

ROUNDINGS: Final = {
    each.__name__: Function(each.__name__, _SIGNATURE, each, _SAYS.format(more), _NAMES, ("s32",), is_seldom=True)
    for each, more in (
        (round_product, ""),
        (round_near_product, ";\n * the distance of x * factor from the middle is an int32_t"),
    )
}
"""By name."""


# --- quotients of integers -------------------------------------------------------------------------------------------


def floordiv(a: Value, b: Value) -> Value:
    """One less than towards zero where something is left and the signs differ."""
    quotient, is_inexact = a.divide(b).named("quotient"), a.remainder(b).differs(0)
    return (is_inexact & ((a ^ b) < 0)).select(quotient - 1, quotient)


def ceildiv(a: Value, b: Value) -> Value:
    """One more than towards zero where something is left and the signs agree."""
    quotient, is_inexact = a.divide(b).named("quotient"), a.remainder(b).differs(0)
    return (is_inexact & ((a ^ b) >= 0)).select(quotient + 1, quotient)


def ceildivu(a: Value, b: Value) -> Value:
    """One more than the quotient where something is left."""
    quotient = a.divide(b).named("quotient")
    return a.remainder(b).differs(0).select(quotient + 1, quotient)


DIVISIONS: Final = {
    each.__name__: Function(
        *(each.__name__, "f, f -> f", each, f"a / b rounded {how}."),
        names=("a", "b"),
        dtypes=tuple(f"{sign}{bits}" for bits in (8, 16, 32, 64)),
    )
    for each, how, sign in ((floordiv, "down", "s"), (ceildiv, "up", "s"), (ceildivu, "up", "u"))
}
"""By name."""
