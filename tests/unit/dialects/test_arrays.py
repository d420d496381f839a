"""The numpy side of the conversions: what out-of-range floats become, and truncating division."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from aotc.dialects.arrays import convert, divide, scaled, widen
from aotc.dialects.dtypes import element_type

AWKWARD = np.array([np.nan, np.inf, -np.inf, 3e9, -3e9, 1e19, 300.7, -1.5], np.float32)


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        ("int8", [0, 0, 0, 0, 0, 0, 44, -1]),
        ("uint8", [0, 0, 0, 0, 0, 0, 44, 255]),
        ("uint16", [0, 0, 0, 0, 0, 0, 300, 65535]),
        ("int32", [-(2**31)] * 6 + [300, -1]),
        ("uint32", [2**31, 0, 2**31, 3000000000, 2**31, 0, 300, 2**32 - 1]),
        ("int64", [-(2**63)] * 3 + [3000000000, -3000000000, -(2**63), 300, -1]),
        ("uint64", [2**63, 0, 2**63, 3000000000, 2**64 - 3000000000, 9999999980506447872, 300, 2**64 - 1]),
    ],
)
@pytest.mark.parametrize("source", ["float32", "float64"])
def test_out_of_range_floats_become_what_x86_makes_of_them(source: str, dtype: str, expected: list[int]) -> None:
    converted = convert(AWKWARD.astype(source), np.dtype(dtype))
    assert converted.dtype == dtype
    assert [int(value) for value in converted] == expected


def test_wide_floats_round_to_narrow_ones_by_way_of_f32() -> None:
    # one ulp of f64 above the middle of two f16 values: f32 rounds it to the middle, and that to even
    value = np.array(1 + 2.0**-11 + 2.0**-40)
    assert convert(value, np.dtype(np.float16)) == np.float16(1)
    assert convert(np.array(np.nan), np.dtype(ml_dtypes.bfloat16)) != 0


def test_integers_wrap_and_truth_is_not_zero() -> None:
    assert convert(np.array(-1), np.dtype(np.uint8)) == 255
    assert convert(np.array([0.0, 0.5, np.nan]), np.dtype(np.bool_)).tolist() == [False, True, True]


def test_integer_division_truncates() -> None:
    quotients = divide(np.array([7, -7, 7, -7, -128], np.int8), np.array([2, 2, -2, -2, 3], np.int8))
    assert quotients.dtype == np.int8
    assert quotients.tolist() == [3, -3, -3, 3, -42]


def test_narrow_floats_are_computed_in_f32() -> None:
    assert widen(np.zeros(1, ml_dtypes.bfloat16)).dtype == np.float32
    assert widen(np.zeros(1, np.float64)).dtype == np.float64


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_a_product_with_factors_in_f64_is_rounded_once(dtype: type) -> None:
    values, factors = (
        np.random.default_rng(0).normal(size=(2, 3, 50, 40)),
        np.random.default_rng(1).normal(size=(3, 50, 1)),
    )
    array = values[0].astype(dtype)
    product = scaled(array, factors, element_type(np.dtype(dtype)))
    np.testing.assert_array_equal(product, (array.astype(np.float64) * factors).astype(dtype))
    assert product.dtype == dtype
    in_own_type = array * factors.astype(dtype)
    assert (in_own_type != product).any()
