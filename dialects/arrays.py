"""Arrays of constants: the numpy side of what `LoopBuilder` computes, for `evaluate`."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
from xdsl.ir import Attribute

from aotc.dialects.dtypes import DType, compute_type, element_type, number_kind, numpy_dtype

Array = np.ndarray[Any, Any]

_FINITE_ONLY = ("float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn")
"""Formats with neither infinity nor NaN."""


def is_float_array(array: Array) -> bool:
    """True for every float dtype (numpy does not count bf16 and most minifloats among them)."""
    return number_kind(array.dtype) == "f"


def is_narrow(dtype: DType) -> bool:
    """True for the floats that are computed in f32: f16, bf16 and minifloats."""
    return number_kind(dtype) == "f" and dtype.itemsize < 4


def _computed_in(dtype: DType) -> DType:
    return numpy_dtype(compute_type(element_type(dtype)))


def scaled(array: Array, factors: Array, kind: Attribute) -> Array:
    """`array` times `factors` in f64, rounded to an element type, without an array of f64 in between."""
    result = np.empty(array.shape, numpy_dtype(kind))
    return np.multiply(array, factors, out=result, dtype=np.float64, casting="unsafe")


def widen(array: Array) -> Array:
    """`array` in its compute type: f32 for narrow floats, a byte for sub-byte integers, else itself."""
    return array.astype(_computed_in(array.dtype), copy=False)


def ranked(array: Array) -> Array:
    """The place (i64, same shape) of each element among the distinct ones in ascending order: equal elements have the
    same, as all NaNs, which come last."""
    flat = widen(array).reshape(-1)
    _, places = np.unique(flat, return_inverse=True, equal_nan=True)
    return places.reshape(array.shape).astype(np.int64)


def convert(array: Array, dtype: DType, *, saturate: bool = True, rounding: str = "up") -> Array:
    """`array` as `dtype`, value for value as `LoopBuilder.convert`: defined for every float, NaN and infinities too."""
    if array.dtype == dtype:
        return array
    if is_narrow(dtype):
        wide = array.astype(np.float32)
        return _minifloat(wide, dtype, saturate, rounding) if dtype.itemsize == 1 else wide.astype(dtype)
    wide, byte = widen(array), _computed_in(dtype)
    if byte != dtype:
        return convert(_nearest(wide) if is_float_array(wide) else wide, byte).astype(dtype)
    if not is_float_array(wide) or dtype.kind not in "iu":
        return wide.astype(dtype)
    width = 64 if dtype.itemsize == 8 else 32
    signed = np.dtype(f"int{width}")
    least, half = np.array(np.iinfo(signed).min, signed), wide.dtype.type(2.0 ** (width - 1))
    big = (wide >= half) if dtype.kind == "u" and dtype.itemsize >= 4 else np.zeros(wide.shape, np.bool_)
    wide = np.where(big, wide - half, wide)
    inside = np.abs(wide) < half
    whole = np.where(inside, np.where(inside, wide, 0).astype(signed), least)
    return np.where(big, whole ^ least, whole).astype(dtype)


def _nearest(array: Array) -> Array:
    """The nearest whole numbers, of two the one away from zero."""
    whole = np.trunc(array)
    with np.errstate(invalid="ignore"):  # infinities
        return np.where(np.abs(array - whole) >= 0.5, whole + np.copysign(1, array), whole).astype(array.dtype)


def _minifloat(wide: Array, dtype: DType, saturate: bool, rounding: str) -> Array:
    """f32 as a minifloat: see `encodings.encode`."""
    if dtype.name == "float8_e8m0fnu":
        return _powers_of_two(wide, saturate, rounding)
    if dtype.name in _FINITE_ONLY:
        return np.where(np.isnan(wide), np.float32(-0.0), wide).astype(dtype)
    greatest = np.float32(ml_dtypes.finfo(dtype).max)
    return (np.clip(wide, -greatest, greatest) if saturate else wide).astype(dtype)


def _powers_of_two(wide: Array, saturate: bool, rounding: str) -> Array:
    """f32 as float8_e8m0fnu, which is encoded as its exponent; ml_dtypes rounds differently."""
    least, greatest = 2.0**-127, 2.0**127
    fraction, exponent = np.frexp(np.where(np.isfinite(wide) & (wide > 0), wide, 1).astype(np.float64))
    power = np.ldexp(0.5, exponent)  # the power of two at or below it
    ratio = 2 * fraction
    goes_up = {"up": ratio > 1, "down": np.zeros_like(ratio, np.bool_), "nearest": ratio >= 1.5}[rounding]
    result = np.where(goes_up, 2 * power, power)
    result = np.where(wide > greatest, greatest if saturate else np.nan, result)
    result = np.where(wide < least, least if saturate else np.nan, result)
    return np.where(np.isnan(wide), np.nan, result).astype(np.float32).astype(ml_dtypes.float8_e8m0fnu)


def divide(lhs: Array, rhs: Array) -> Array:
    """IEEE division of floats, truncating division of integers (by zero: zero)."""
    if is_float_array(lhs):
        return np.divide(lhs, rhs)
    return np.floor_divide(lhs - np.fmod(lhs, rhs), rhs)


def erf(array: Array) -> Array:
    """The error function."""
    return np.asarray(np.frompyfunc(math.erf, 1, 1)(array)).astype(array.dtype)
