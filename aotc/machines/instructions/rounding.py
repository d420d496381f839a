"""Roundings of products as floats round them, in integers: seldom called, and from many places.

A product x * factor / 2^shift is rounded to 24 bits, then to the nearest integer, the middle between two to the even
one (`aot.round_product`): to `above`, or to the integer below it. Arithmetic is modulo 2^32.
"""

from __future__ import annotations

from typing import Final

from aotc.machines.instructions.floats import Function
from aotc.machines.instructions.values import Value

_ALL_ONES: Final = 0xFFFFFFFF


def round_product(x: Value, factor: Value, above: Value, shift: Value) -> Value:
    """The distance of the product from the middle between the two integers is whole units of 2^16, `upper`, and 16
    bits below them."""
    by, middle = shift.convert("u32").named("by"), _middle(above)
    part = (factor.convert("u32") & 0xFFFF).named("part")
    least = ((x.convert("u32") & 0xFFFF) * part).named("least")
    more = (x >> 16).convert("u32") * part + x.convert("u32") * (factor >> 16).convert("u32")
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
    """The distance from the middle is one integer."""
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
    integer = above.convert("u32")
    is_even = (size & (steps ^ _ALL_ONES)) > steps
    return is_even.select(integer - (integer & 1), integer + sign).named("nearest").convert("s32")


_SIGNATURE: Final = "s32, s32, s32, s32 -> s32"
_NAMES: Final = ("x", "factor", "above", "shift")
_SAYS: Final = (
    "x * factor / 2^shift as floats round it, to `above` or the integer below it: to 24 bits, then to even{}."
)

ROUNDINGS: Final = {
    each.__name__: Function(each.__name__, _SIGNATURE, each, _SAYS.format(more), _NAMES, is_seldom=True)
    for each, more in (
        (round_product, ""),
        (round_near_product, ";\n * the distance of x * factor from the middle is an int32_t"),
    )
}
"""By name."""
