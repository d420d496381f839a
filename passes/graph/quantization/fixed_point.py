"""Multipliers as integers, and by which bits of a product a requantisation in fixed point decides (see
`FixedRequantizeOp`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aotc.dialects.aot.control import RoundProductOp
from aotc.dialects.graph.interfaces import Array
from aotc.dialects.graph.quantized.requantization import least_guard

_MANTISSA = 24
_FACTOR_BITS = 31
_FRACTION = 7
"""Upper bits below an integer of the result that are enough: one product in 2^6 is near a middle."""
_SHIFTS = 4
"""Shifts are multiples of it where that loses nothing, so that kernels of several layers can be one function."""
_LIMIT = 2**31


@dataclass(frozen=True)
class FixedPoint:
    """The parameters of `graph.fixed_requantize`."""

    factors: Array
    shift: int
    most: int
    guard: int
    up: int | None = None
    drop: int | None = None
    split: int | None = None


def fixed_point(multiplier: Array, most: Array, low: int, high: int, *, long_multiply: bool) -> FixedPoint | None:
    """The same function as the float formula, of x with |x| <= most, for each channel; products are clamped to
    low..high once they are rounded.

    In 32 bits where a core has no `long_multiply`, and these decide most products. None where multipliers are too
    different, too great or too small, or where products that are not clamped come from x that f32 rounds.
    """
    integers = _integers(multiplier, most)
    reach = max(abs(low), abs(high)) + 1
    if integers is None:
        return None
    factors, shift = integers
    used = factors > 0
    exact = bool((np.minimum(most[used], reach / multiplier[used].astype(np.float64)) < 1 << _MANTISSA).all())
    if not exact or int(most.max(initial=0)) >= _LIMIT:
        return None
    greatest = max(int(most.max(initial=0)), 1)
    if not long_multiply and (found := _split(factors, shift, greatest, low, high)) is not None:
        return found
    return _whole(factors, shift, greatest, low, high)


def _integers(multiplier: Array, most: Array) -> tuple[Array, int] | None:
    """Factors and a shift with factor / 2^shift == multiplier exactly; 0 of a channel whose products are all nearer to
    0 than to 1."""
    wide = np.where(most * multiplier.astype(np.float64) < 0.49, 0.0, multiplier.astype(np.float64))
    greatest = _FACTOR_BITS - int(np.frexp(wide.max(initial=0))[1])
    for shift in (greatest // _SHIFTS * _SHIFTS, greatest):
        scaled = np.ldexp(wide, shift)
        if shift in RoundProductOp.SHIFTS and bool((scaled == np.rint(scaled)).all()):
            return scaled.astype(np.int32), shift
    return None


def _whole(factors: Array, shift: int, most: int, low: int, high: int) -> FixedPoint | None:
    """With products in 64 bits."""
    up = min(max(_FRACTION + 32 - shift, 1), _FACTOR_BITS - most.bit_length())  # 1: see FixedRequantizeOp.is_near
    fraction = shift + up - 32
    guard = least_guard(low, high, fraction, most, None) if fraction > 1 else 0
    if not (1 < fraction < 31 and 2 * guard < 1 << fraction):
        return None
    return FixedPoint(factors, shift, (_LIMIT - 1) >> up, guard, up=up or None)


def _split(factors: Array, shift: int, most: int, low: int, high: int) -> FixedPoint | None:
    """With products in 32 bits, of factors in two parts."""
    width = most.bit_length()
    most = (1 << width) - 1
    split = 30 - width  # bits of the lower part; the upper one has one less, for the sum
    upper = split - 1
    if upper < 1:
        return None
    drop = _FACTOR_BITS - split - upper
    if drop < 0:
        split, drop = split + drop, 0
    fraction = shift - drop - split
    if not 1 < fraction < 30:
        return None
    guard = least_guard(low, high, fraction, most, split)
    whole = most * ((_LIMIT >> drop) >> split) + most + (1 << (fraction - 1)) + guard
    fits = whole < _LIMIT and most << split < _LIMIT and 8 * guard < 1 << fraction
    return FixedPoint(factors, shift, most, guard, drop=drop, split=split) if fits else None


def doubled(multiplier: Array) -> tuple[Array, Array] | None:
    """The factors and shifts of `graph.doubling_requantize`, i32, exactly the multipliers; None where one is not below
    1. What is too small for a shift is 0."""
    mantissa, exponent = np.frexp(multiplier.astype(np.float64))
    if bool((exponent > 0).any()):
        return None
    representable = exponent >= -30
    factors = np.where(representable, np.ldexp(mantissa, _FACTOR_BITS), 0).astype(np.int32)
    return factors, np.where(representable, -exponent, 0).astype(np.int32)
