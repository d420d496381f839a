"""Fixed-point requantisation gives what the float formula gives, for every sum."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from aotc.dialects.graph.quantized.requantization import least_guard
from aotc.passes.graph.fix_requantization import FixedPoint, doubled, fixed_point

Array = np.ndarray[Any, Any]
_ALL = (1 << 31) - 1


def _floats(x: Array, multiplier: np.float32, low: int, high: int) -> Array:
    return np.clip(np.rint(x.astype(np.float32) * multiplier), low, high).astype(np.int64)


def _integers(x: Array, factor: int, fixed: FixedPoint, low: int, high: int) -> Array:
    """The arithmetic of kernels, in Python's integers, with every bound of 32 and 64 bits checked."""
    x = x.astype(np.int64)

    def fitting(array: Array, bits: int = 32) -> Array:
        assert bool((np.abs(array.astype(np.float64)) < 2.0 ** (bits - 1)).all())
        return array

    if fixed.split is None:
        fraction = fixed.shift + (fixed.up or 0) - 32
        upper = fitting((fitting(x << (fixed.up or 0)) * factor) >> 32)
    else:
        assert fixed.drop is not None
        kept, fraction = factor >> fixed.drop, fixed.shift - fixed.drop - fixed.split
        lower = fitting(x * (kept & ((1 << fixed.split) - 1))) >> fixed.split
        upper = fitting(fitting(x * (kept >> fixed.split)) + lower)
    upper = fitting(upper + (1 << (fraction - 1)) + fixed.guard)
    above = upper >> fraction
    near = (upper & ((1 << fraction) - 1)) < 2 * fixed.guard
    some, doubled = np.clip(above, low, high + 1), 2 * np.clip(above, low, high + 1) - 1
    distance = x * factor - fitting(doubled << (fixed.shift - 1), 64)
    power = np.exp2(np.floor(np.log2(np.abs(doubled)))).astype(np.int64)
    is_middle = np.abs(distance) <= (fitting(power << fixed.shift, 64) >> 25)
    decided = np.where(is_middle, some - (some & 1), np.where(distance < 0, some - 1, some))
    return np.clip(np.where(near, decided, above), low, high)


def _cases() -> Iterator[tuple[np.float32, int, int, int]]:
    rng = np.random.default_rng(1)
    for exponent in range(-19, 1):
        for _ in range(4):
            most = int(rng.integers(1, 1 << int(rng.integers(4, 24))))
            low, high = sorted(int(each) for each in rng.integers(-256, 256, 2))
            yield np.float32(np.exp2(exponent + rng.random())), most, low, high
        yield np.float32(np.exp2(exponent)), 1 << 20, -128, 127
        yield np.float32(3 * np.exp2(exponent - 2)), 1 << 20, -255, 255


def _sums(multiplier: np.float32, most: int, low: int, high: int) -> Array:
    """All sums, or those around every middle between two integers, and some others."""
    if most <= 1 << 17:
        return np.arange(-most, most + 1)
    middles = (np.arange(low - 2, high + 2) + 0.5) / float(multiplier)
    near = (np.floor(middles)[:, None] + np.arange(-2, 4)).reshape(-1)
    random = np.random.default_rng(0).integers(-most, most + 1, 1 << 15)
    return np.clip(np.concatenate([near, random, [-most, most]]), -most, most).astype(np.int64)


@pytest.mark.parametrize("long_multiply", [True, False])
def test_integers_decide_as_floats(long_multiply: bool) -> None:
    found = 0
    for multiplier, most, low, high in _cases():
        given = np.array([multiplier]), np.array([most], np.int64)
        fixed = fixed_point(*given, low, high, long_multiply=long_multiply)
        if fixed is None:
            continue
        found += 1
        x = _sums(multiplier, most, low, high)
        computed = _integers(x, int(fixed.factors[0]), fixed, low, high)
        assert (computed == _floats(x, multiplier, low, high)).all(), (multiplier, most, low, high)
    assert found > 100


def _of(multipliers: list[float], most: int = 1 << 16, long_multiply: bool = True) -> FixedPoint | None:
    array = np.array(multipliers, np.float32)
    return fixed_point(array, np.full(len(array), most, np.int64), -128, 127, long_multiply=long_multiply)


def _expected(factors: list[int], shift: int, most: int, guard: int, **more: int) -> FixedPoint:
    return FixedPoint(np.array(factors), shift, most, guard, **more)


NUMBERS = [
    # the greatest sum is rounded to 0, or just not; one channel of several
    ([0.49], [1], 128, True, _expected([2104534016], 32, (1 << 24) - 1, 1, up=7)),
    ([2.0**-26], [1 << 24], 1 << 15, True, _expected([0], 28, (1 << 25) - 1, 1, up=6)),
    ([2.0**-20, 2.0**-19, 2.0**-11], [42656, 285, 1 << 30], 128, True, _expected([0, 0, 1 << 29], 40, _ALL, 1)),
    # f32 does not have all integers of a sum, i32 none of them
    ([1.1 * 2.0**-15], [1 << 24], 1 << 15, True, None),
    ([1.5 * 2.0**-8], [1 << 31], 128, False, None),
    # no shift, or not one for both
    ([2.0**-20], [1 << 20], 1 << 17, True, None),
    ([3.550853e-05, 0.026732499, 0.023554217], [251729, 34791687, 1684362288], 128, True, None),
    # products of 64 bits with too few bits of a fraction
    ([2.0**-16.1, 0.114, 2.0**-14], [5, 359, 641931553], 128, False, None),
    # products of 32 bits: of the greatest sums for which they are enough, of factors that need not be split, of one too
    # many, with fractions that leave the type, and with guards that are too wide
    ([2.0**-17], [(1 << 22) - 1], 128, False, _expected([1 << 27], 44, (1 << 22) - 1, 16401, drop=16, split=8)),
    ([2.0**-17], [1 << 22], 128, False, _expected([1 << 27], 44, (1 << 30) - 1, 1, up=1)),
    ([2.0**-20], [5], 1 << 17, False, _expected([0], 28, 7, 131074, drop=0, split=5)),
    ([2.0**-9 * (1 - 2.0**-24)], [255], 1 << 15, False, _expected([(1 << 31) - 128], 40, (1 << 30) - 1, 3, up=1)),
    ([2.0**-20], [5], 1 << 20, False, _expected([0], 28, (1 << 20) - 1, 17, up=11)),
]
"""Multipliers, greatest sums, the range, whether there are products of 64 bits, and what becomes of that."""


@pytest.mark.parametrize("multipliers, most, reach, long_multiply, expected", NUMBERS)
def test_numbers(
    multipliers: list[float], most: list[int], reach: int, long_multiply: bool, expected: FixedPoint | None
) -> None:
    given = np.array(multipliers, np.float32), np.array(most, np.int64)
    found = fixed_point(*given, -reach, reach - (reach <= 1 << 15), long_multiply=long_multiply)
    assert (found is None) == (expected is None)
    if found is not None and expected is not None:
        assert found.factors.tolist() == expected.factors.tolist()
        assert vars(found) | {"factors": None} == vars(expected) | {"factors": None}


def test_sums_that_are_nearly_half_are_half() -> None:
    """f32 rounds the product of 2^24 - 1 and a little more than half to a half."""
    multiplier = np.float32(0.1)
    x = np.arange(1 << 16)
    exact = x * np.float64(multiplier)
    nearly = x[(np.abs(exact % 1 - 0.5) < 1e-6) & (exact % 1 != 0.5) & (exact < 127)]
    fixed = _of([0.1])
    assert fixed is not None and len(nearly) > 0
    assert (_integers(nearly, int(fixed.factors[0]), fixed, -128, 127) == _floats(nearly, multiplier, -128, 127)).all()


def test_multipliers_are_kept_to_the_last_bit() -> None:
    fixed = _of([0.001, 0.1])
    assert fixed is not None
    assert (np.ldexp(fixed.factors.astype(np.float64), -fixed.shift) == np.array([0.001, 0.1], np.float32)).all()


def test_multipliers_that_have_no_common_shift_stay_floats() -> None:
    assert _of([0.1, 0.1 / 2**9]) is None


def test_a_channel_without_products_needs_no_multiplier() -> None:
    fixed = fixed_point(np.array([0.1, 1e-9], np.float32), np.array([1 << 16, 100]), -128, 127, long_multiply=True)
    assert fixed is not None and fixed.factors[1] == 0


def test_sums_that_f32_rounds_stay_floats() -> None:
    given = np.array([1e-3], np.float32), np.array([1 << 30])
    assert fixed_point(*given, -32768, 32767, long_multiply=True) is None
    assert fixed_point(*given, -128, 127, long_multiply=True) is not None, "those that are not clamped are small"


def test_multipliers_that_are_too_great_or_too_small_stay_floats() -> None:
    """Those whose distances from a middle 48 bits do not hold, and those with which the last of 24 bits is none of the
    product."""
    below_one = 1 - 2.0**-24
    assert _of([2.0**-16 * below_one], most=1 << 18) is not None and _of([2.0**-17 * below_one], most=1 << 18) is None
    assert _of([63.0], most=100) is not None and _of([64.0], most=100) is None


def test_a_core_without_long_products_splits_factors() -> None:
    fixed = _of([0.001], most=1 << 18, long_multiply=False)
    assert fixed is not None and fixed.split is not None
    fixed = _of([0.001], most=1 << 27, long_multiply=False)
    assert fixed is not None and fixed.split is None, "what is left of 32 bits decides too little"


def test_more_bits_of_fraction_need_a_greater_guard() -> None:
    assert least_guard(-128, 127, 10, 1, None) == 1
    assert least_guard(-128, 127, 20, 1, None) > 8
    assert least_guard(-128, 127, 10, 1 << 16, 4) > 1 << 12


def test_doubling_is_one_unit_off_at_most() -> None:
    rng = np.random.default_rng(2)
    for exponent in range(-31, 1):
        multiplier = np.exp2(exponent - rng.random(20)).astype(np.float32)
        found = doubled(multiplier)
        assert found is not None
        for factor, shift, exact in zip(*(each.astype(np.int64) for each in found), multiplier, strict=True):
            assert factor == 0 or (2**30 <= factor < 2**31 and 0 <= shift <= 30)
            most = min(2**31 - 1, int(300 / exact))
            sums = rng.integers(-most, most + 1, 2000)
            high = (sums * factor + 2**30) >> 31
            mask = (1 << shift) - 1
            rounded = (high >> shift) + ((high & mask) > (mask >> 1) + (high < 0))
            assert np.abs(rounded - sums * exact.astype(np.float64)).max() <= 1


def test_doubling_needs_multipliers_below_one() -> None:
    assert doubled(np.float32([0.5, 1.0])) is None
    assert doubled(np.float32([0.5, 0.99])) is not None
