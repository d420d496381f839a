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
    is_below = upper.convert("s32") < 0
    taken = (upper | lower).differs(0).convert("u32").named("taken")  # of a distance of 0 there is none less
    borrowed = lower.equals(0).select(taken, lower.number(0, "u32"))
    whole = is_below.select(upper ^ _ALL_ONES, upper - borrowed).named("whole")
    rest = is_below.select(lower ^ _ALL_ONES, lower - taken).named("rest")
    steps = (shift < 41).select(whole << by.number(41, "u32") - by | rest >> by - 9, whole >> by - 41)
    return _nearer(above, middle, steps.named("steps"), is_below)


def round_near_product(x: Value, factor: Value, above: Value, shift: Value) -> Value:
    """The distance from the middle is one word."""
    by, middle = shift.convert("u32").named("by"), _middle(above)
    moved = (shift < 33).select(middle << by - 1, by.number(0, "u32")).named("moved")
    distance = (x.convert("u32") * factor.convert("u32") - moved).named("distance")
    is_below = distance.convert("s32") < 0
    less = distance - distance.differs(0).convert("u32")
    steps = is_below.select(distance ^ _ALL_ONES, less) >> by - 25
    return _nearer(above, middle, steps.named("steps"), is_below)


def _middle(above: Value) -> Value:
    """Twice the middle between an integer and the one below."""
    return (above.convert("u32") * 2 - 1).named("middle")


def _nearer(above: Value, middle: Value, steps: Value, is_below: Value) -> Value:
    """The even integer where `steps`, the distance in halves of the last of 24 bits of a number near the middle, has
    fewer bits than this; else the nearer one."""
    size = (above > 0).select(middle, middle.number(0, "u32") - middle).named("size")
    nearest = (above.convert("u32") - is_below.convert("u32")).convert("s32")
    return ((size & (steps ^ _ALL_ONES)) > steps).select(above & -2, nearest)


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
