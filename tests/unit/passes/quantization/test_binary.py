"""Sums and products of two quantised numbers in integers are what floats make of every pair."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from aotc.passes.graph.quantization.binary import FixedSum, Numbers, Terms, fixed_sum, product_multiplier

Array = np.ndarray[Any, Any]
INTEGERS = np.arange(-128, 128)


def _numbers(zero_point: int, scale: np.float32) -> Numbers:
    values = (INTEGERS - zero_point).astype(np.float32) * scale
    return Numbers(values, INTEGERS, zero_point, float(scale))


def _quantized(real: Array, scale: np.float32, zero_point: int) -> Array:
    return np.clip(np.rint(real / scale).astype(np.int64) + zero_point, -128, 127)


def _sums(left: Numbers, right: Numbers, fixed: Any, point: int, low: int, high: int) -> Array:
    """The arithmetic of kernels, in Python's integers; nothing leaves an i32."""
    sums = fixed.left.values[:, None] + fixed.right.values[None, :] + fixed.offset
    if fixed.even:
        sums = sums + ((sums >> fixed.shift) & 1) + (1 << fixed.shift - 1) - 1
    assert sums.min() >= -(2**31) and sums.max() < 2**31
    for operand, terms in ((left, fixed.left), (right, fixed.right)):
        if terms.factor is not None:
            assert operand.integers is not None
            assert (terms.values == (operand.integers - operand.zero_point) * terms.factor).all()
    return np.clip((sums >> fixed.shift) + fixed.zero_point, low, high)


@pytest.mark.parametrize("seed", range(40))
def test_sums_are_those_of_floats(seed: int) -> None:
    r = np.random.default_rng(seed)
    scales = np.where(r.integers(3, size=3) == 0, 2.0 ** r.integers(-6, -2, 3), r.uniform(0.01, 0.1, 3))
    a, b, to = scales.astype(np.float32)
    points = [int(each) for each in r.integers(-128, 128, 3)]
    left, right = _numbers(points[0], a), _numbers(points[1], b)
    wanted = _quantized(left.values[:, None] + right.values[None, :], to, points[2])
    fixed = fixed_sum(left, right, wanted, float(to), points[2])
    assert fixed is not None
    assert (_sums(left, right, fixed, points[2], wanted.min(), wanted.max()) == wanted).all()


def test_a_difference_has_a_factor_below_zero() -> None:
    left, right = _numbers(3, np.float32(0.1)), _numbers(-7, np.float32(0.23)).negated()
    wanted = _quantized(left.values[:, None] + right.values[None, :], np.float32(0.17), 5)
    fixed = fixed_sum(left, right, wanted, 0.17, 5)
    assert fixed is not None and fixed.right.factor is not None and fixed.right.factor < 0
    assert (_sums(left, right, fixed, 5, wanted.min(), wanted.max()) == wanted).all()


def test_halves_of_powers_of_two_go_to_the_even_integer() -> None:
    left = right = _numbers(0, np.float32(0.25))
    wanted = _quantized(left.values[:, None] + right.values[None, :], np.float32(0.5), 0)
    fixed = fixed_sum(left, right, wanted, 0.5, 0)
    assert fixed is not None and fixed.even


def test_there_is_none_where_errors_of_floats_decide() -> None:
    left = right = _numbers(0, np.float32(0.1))
    wanted = _quantized(left.values[:, None] + right.values[None, :], np.float32(0.2), 0)
    assert len({*wanted[(INTEGERS[:, None] + INTEGERS[None, :]) == 1]}) > 1  # a half is 0 here and 1 there
    assert fixed_sum(left, right, wanted, 0.2, 0) is None


def test_functions_have_tables() -> None:
    left, right = Numbers(np.tanh(INTEGERS / 50).astype(np.float32)), _numbers(3, np.float32(0.013))
    wanted = _quantized(left.values[:, None] + right.values[None, :], np.float32(0.017), 0)
    fixed = fixed_sum(left, right, wanted, 0.017, 0)
    assert fixed is not None and fixed.left.factor is None and fixed.right.factor is not None
    assert (_sums(left, right, fixed, 0, wanted.min(), wanted.max()) == wanted).all()


def test_numbers_that_are_too_great_have_none() -> None:
    left, right = _numbers(0, np.float32(1e9)), _numbers(0, np.float32(0.1))
    wanted = _quantized(left.values[:, None] + right.values[None, :], np.float32(0.1), 0)
    assert fixed_sum(left, right, wanted, 0.1, 0) is None


def test_every_pair_is_tried() -> None:
    """Also those that are far from the middle between two integers: one of them wants another integer."""
    left, right = _numbers(3, np.float32(0.1)), _numbers(-7, np.float32(0.23))
    reals = left.values[:, None].astype(np.float64) + right.values[None, :]
    wanted = _quantized(left.values[:, None] + right.values[None, :], np.float32(0.17), 5)
    assert fixed_sum(left, right, wanted, 0.17, 5) is not None
    from_middle = np.where(np.abs(wanted) < 100, np.abs(np.abs(reals / 0.17 - np.rint(reals / 0.17)) - 0.5), 0)
    wanted[np.unravel_index(from_middle.argmax(), from_middle.shape)] += 1
    assert fixed_sum(left, right, wanted, 0.17, 5) is None


@pytest.mark.parametrize(("even", "most"), [(False, 2**31 - 4), (True, 2**31 - 5)])
def test_sums_stay_in_32_bits(even: bool, most: int) -> None:
    """Of the offset and of what rounds to even, 2 with a shift of 2, too."""
    terms = Terms(np.arange(0))
    fixed = FixedSum(terms, terms, 1 if even else 3, 2, even, 0)
    for sums, fits in (
        ([0, most], True),
        ([0, most + 2], False),
        ([-(2**31) - 3, 0], True),
        ([-(2**31) - 6, 0], False),
    ):
        wanted = np.array([min(max(each, 0), 100) for each in sums])
        assert fixed.agrees(np.array(sums), wanted, 0, 100) is fits, sums


@pytest.mark.parametrize("seed", range(20))
def test_products_are_those_of_floats(seed: int) -> None:
    r = np.random.default_rng(seed)
    a, b, to = r.uniform(0.01, 0.1, 3).astype(np.float32)
    products = (INTEGERS[:, None] - 3) * (INTEGERS[None, :] + 9)
    real = ((INTEGERS[:, None] - 3).astype(np.float32) * a) * ((INTEGERS[None, :] + 9).astype(np.float32) * b)
    wanted = _quantized(real, to, 0)
    multiplier = product_multiplier(products, wanted, float(a) * float(b) / float(to))
    assert multiplier is not None
    assert (np.clip(np.rint(products.astype(np.float32) * multiplier), -128, 127) == wanted).all()


def test_no_multiplier_is_near_enough() -> None:
    products = np.arange(1000)
    assert product_multiplier(products, np.clip(products // 2, 0, 255), 0.75) is None
