"""Arrays of constants: the numpy side of what `LoopBuilder` computes, for `evaluate`."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np

from aotc.dialects.dtypes import DType
from aotc.dialects.graph.interfaces import Array

_NARROW_FLOATS = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))


def is_narrow(dtype: DType) -> bool:
    """True for f16 and bf16, which are computed in f32."""
    return dtype in _NARROW_FLOATS


def widen(array: Array) -> Array:
    """`array` in its compute type: f32 for f16 and bf16, else itself."""
    return array.astype(np.float32) if is_narrow(array.dtype) else array


def is_float_array(array: Array) -> bool:
    """True for every float dtype (numpy does not count bf16 among them)."""
    return array.dtype.kind == "f" or is_narrow(array.dtype)


def convert(array: Array, dtype: DType) -> Array:
    """`array` as `dtype`, value for value as `LoopBuilder.convert`: defined for every float, NaN and infinities too."""
    if array.dtype == dtype:
        return array
    if is_narrow(dtype):
        return array.astype(np.float32).astype(dtype)
    if not is_float_array(array) or dtype.kind not in "iu":
        return array.astype(dtype)
    wide = widen(array)
    width = 64 if dtype.itemsize == 8 else 32
    signed = np.dtype(f"int{width}")
    least, half = np.array(np.iinfo(signed).min, signed), wide.dtype.type(2.0 ** (width - 1))
    big = (wide >= half) if dtype.kind == "u" and dtype.itemsize >= 4 else np.zeros(wide.shape, np.bool_)
    wide = np.where(big, wide - half, wide)
    inside = np.abs(wide) < half
    whole = np.where(inside, np.where(inside, wide, 0).astype(signed), least)
    return np.where(big, whole ^ least, whole).astype(dtype)


def divide(lhs: Array, rhs: Array) -> Array:
    """IEEE division of floats, truncating division of integers (by zero: zero)."""
    if is_float_array(lhs):
        return np.divide(lhs, rhs)
    return np.floor_divide(lhs - np.fmod(lhs, rhs), rhs)


def erf(array: Array) -> Array:
    """The error function."""
    return np.asarray(np.frompyfunc(math.erf, 1, 1)(array)).astype(array.dtype)
