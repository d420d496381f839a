"""Minifloats and integers of less than a byte, decoded and encoded by kernels, against ml_dtypes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from kernels.evaluated import evaluated
from kernels.written import arguments
from xdsl.dialects.builtin import f32, i8, i32

from aotc.dialects import arrays
from aotc.dialects.builder import Rounding
from aotc.dialects.dtypes import ELEMENT_TYPES, Array, compute_type, extended, is_encoded, numpy_dtype
from aotc.passes.kernel.builders.encodings import constant
from aotc.passes.kernel.builders.loop_builder import LoopBuilder

ENCODED = [name for name, kind in ELEMENT_TYPES.items() if is_encoded(kind)]
FLOATS = [name for name in ENCODED if name.startswith("float")]
NO_SIGN = "float8_e8m0fnu"


def bits(name: str) -> int:
    return 8 if name.startswith("float8") else int(name.removeprefix("float").removeprefix("u").removeprefix("int")[0])


def codes(name: str) -> Array:
    """All of a type, as bytes in memory."""
    return np.arange(2 ** bits(name), dtype=np.uint8)


def numbers(name: str) -> Array:
    """All that a type has, what is between and beside them, and what it has not."""
    known = codes(name).view(numpy_dtype(name)).astype(np.float32)
    known = np.unique(known[np.isfinite(known)])
    between = (known[1:].astype(np.float64) + known[:-1]) / 2
    exact = np.concatenate([known, between.astype(np.float32), known[np.abs(known) < 2.0**127] * 2])
    beside = [np.nextafter(exact, np.float32(end)) for end in (np.inf, -np.inf)]
    return np.concatenate([exact, *beside, np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 3e38, -3e38], np.float32)])


def same(found: Array, expected: Array) -> None:
    assert found.view(np.uint8).tolist() == expected.view(np.uint8).tolist()


@pytest.mark.parametrize("name", ENCODED)
def test_decoded(name: str) -> None:
    kind = ELEMENT_TYPES[name]
    b = LoopBuilder(block := arguments(kind))
    stored = extended(codes(name).view(numpy_dtype(name))).view(np.int8)
    wide = b.decode(b.scalar(block.args[0], kind))
    assert wide.dtype == compute_type(kind)
    found = evaluated(wide.ssa, {block.args[0]: stored})
    expected = arrays.widen(stored.view(numpy_dtype(name)))
    np.testing.assert_array_equal(found.view(expected.dtype), expected)
    if expected.dtype == np.float32:
        np.testing.assert_array_equal(np.signbit(found[~np.isnan(found)]), np.signbit(expected[~np.isnan(expected)]))


ROUNDINGS: tuple[Rounding, ...] = ("up", "down", "nearest")


@pytest.mark.parametrize("saturate", [True, False])
@pytest.mark.parametrize(
    ("name", "rounding"), [(name, how) for name in FLOATS for how in (ROUNDINGS if name == NO_SIGN else ROUNDINGS[:1])]
)
def test_floats_are_encoded(name: str, rounding: Rounding, *, saturate: bool) -> None:
    kind, values = ELEMENT_TYPES[name], numbers(name)
    b = LoopBuilder(block := arguments(f32))
    code = b.encode(b.scalar(block.args[0], f32), kind, saturate=saturate, rounding=rounding)
    assert code.dtype == kind
    found = evaluated(code.ssa, {block.args[0]: values})
    expected = arrays.convert(values, numpy_dtype(name), saturate=saturate, rounding=rounding)
    same(found, expected)


@pytest.mark.parametrize("name", [name for name in ENCODED if name not in FLOATS])
def test_integers_keep_their_low_bits(name: str) -> None:
    kind = ELEMENT_TYPES[name]
    wide = compute_type(kind)
    values = np.arange(256, dtype=np.uint8).view(np.int8)
    b = LoopBuilder(block := arguments(wide))
    expected = extended(values.view(numpy_dtype(wide)).astype(numpy_dtype(kind)))
    encoded = b.encode(b.scalar(block.args[0], wide), kind)
    assert encoded.dtype == kind
    same(evaluated(encoded.ssa, {block.args[0]: values}), expected)


@pytest.mark.parametrize(("source", "target"), [("float32", "int4"), ("int32", "uint4"), ("int8", "int2")])
def test_integers_of_less_than_a_byte_are_rounded_from_floats_and_cut_from_integers(source: str, target: str) -> None:
    values = np.array([0, 1, -1, 2.5, -2.5, 3.4999, -7.5, 6.5, 9, 100], numpy_dtype(source))
    b = LoopBuilder(block := arguments(kind := ELEMENT_TYPES[source]))
    found = evaluated(
        b.convert_element(b.scalar(block.args[0], kind), ELEMENT_TYPES[target]).ssa, {block.args[0]: values}
    )
    width = bits(target)
    rounded = [
        int(np.trunc(value + np.copysign(0.5, value))) if source == "float32" else value for value in values.tolist()
    ]
    low = 0 if target[0] == "u" else -(2 ** (width - 1))
    assert found.view(f"{'u' if not low else ''}int8").tolist() == [(value - low) % 2**width + low for value in rounded]


def test_integers_become_minifloats_and_minifloats_integers() -> None:
    e4m3, int4 = ELEMENT_TYPES["float8_e4m3fn"], ELEMENT_TYPES["int4"]
    b = LoopBuilder(block := arguments(e4m3, i32))
    x, y = (b.scalar(arg, kind) for arg, kind in zip(block.args, (e4m3, i32), strict=True))
    small = np.array([1.25, -3.0, 7.0, -2.5], numpy_dtype(e4m3))
    whole = np.array([17, -300, 0, 448], np.int32)
    given = {block.args[0]: small.view(np.int8), block.args[1]: whole}
    assert evaluated(b.convert_element(x, i32).ssa, given).tolist() == [1, -3, 7, -2]
    assert evaluated(b.convert_element(x, int4).ssa, given).tolist() == [1, -3, 7, -3]
    same(evaluated(b.convert_element(y, e4m3).ssa, given), whole.astype(numpy_dtype(e4m3)))
    assert evaluated(b.convert_element(b.decode(x), e4m3).ssa, given).tolist() == small.view(np.int8).tolist()
    assert b.convert_element(y, i32) is y


@pytest.mark.parametrize("name", ENCODED)
def test_constants_are_computed_with(name: str) -> None:
    """They are decoded and encoded at compile time, as any other element is in kernels."""
    kind = ELEMENT_TYPES[name]
    b = LoopBuilder(arguments())
    for code, saturate in itertools.product(codes(name)[:16], (True, False)):
        stored = constant(b, np.array(code).view(numpy_dtype(name)), kind)
        number = b.decode(stored)
        assert number.dtype == compute_type(kind)
        expected = arrays.widen(np.array([code]).view(numpy_dtype(name)))
        np.testing.assert_array_equal(number.constant, expected.item())
        again = b.encode(number, kind, saturate=saturate)
        assert (again.constant, again.dtype) == (stored.constant, kind)
    assert b.zero(kind).constant == 0
    assert b.zero(kind).dtype == kind


def test_what_is_encoded_stays_so_and_other_types_have_no_code() -> None:
    int4, f16 = ELEMENT_TYPES["int4"], ELEMENT_TYPES["float16"]
    b = LoopBuilder(block := arguments(int4, f32))
    x, y = b.scalar(block.args[0], int4), b.scalar(block.args[1], f32)
    assert b.encode(x, int4) is x
    assert b.encode(y, f16) is y
    assert b.decode(y) is y
    assert (b.zero(f16).dtype, b.zero(i8).dtype) == (f32, i8)
    plain = constant(b, np.array(-7, np.int8), i8)
    assert (plain.constant, plain.dtype) == (-7, i8)


def test_only_the_type_without_overflow_saturates_always() -> None:
    """The greatest number beside what becomes of infinity: itself where the type has neither that nor a NaN."""
    infinite = np.array([np.inf], np.float32)
    for name in FLOATS:
        b = LoopBuilder(block := arguments(f32))
        x = b.scalar(block.args[0], f32)
        ends = [
            evaluated(b.encode(x, ELEMENT_TYPES[name], saturate=saturate).ssa, {block.args[0]: infinite}).item()
            for saturate in (True, False)
        ]
        assert (ends[0] == ends[1]) == (bits(name) < 8), name
