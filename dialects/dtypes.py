"""Element types: graph IR type <-> numpy dtype <-> the name users see ("float32", "uint8", "float8_e4m3fn").

And what memory holds of each, and what arithmetic is done in.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    Float4E2M1FNType,
    Float6E2M3FNType,
    Float6E3M2FNType,
    Float8E4M3FNType,
    Float8E4M3FNUZType,
    Float8E5M2FNUZType,
    Float8E5M2Type,
    Float8E8M0FNUType,
    Float16Type,
    IntegerType,
    ReducedPrecisionFloatType,
    Signedness,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute

Array = np.ndarray[Any, Any]
DType = np.dtype[Any]

_UNSIGNED = {width: IntegerType(width, Signedness.UNSIGNED) for width in (2, 4, 8, 16, 32, 64)}

ELEMENT_TYPES: dict[str, Attribute] = {
    "float32": f32,
    "float64": f64,
    "float16": f16,
    "bfloat16": bf16,
    "bool": i1,
    "int8": i8,
    "int16": i16,
    "int32": i32,
    "int64": i64,
    "uint8": _UNSIGNED[8],
    "uint16": _UNSIGNED[16],
    "uint32": _UNSIGNED[32],
    "uint64": _UNSIGNED[64],
    "int4": IntegerType(4),
    "int2": IntegerType(2),
    "uint4": _UNSIGNED[4],
    "uint2": _UNSIGNED[2],
    "float8_e4m3fn": Float8E4M3FNType(),
    "float8_e4m3fnuz": Float8E4M3FNUZType(),
    "float8_e5m2": Float8E5M2Type(),
    "float8_e5m2fnuz": Float8E5M2FNUZType(),
    "float8_e8m0fnu": Float8E8M0FNUType(),
    "float6_e2m3fn": Float6E2M3FNType(),
    "float6_e3m2fn": Float6E3M2FNType(),
    "float4_e2m1fn": Float4E2M1FNType(),
}
"""Every element type the compiler knows, by user-visible name: numpy's, beyond those ml_dtypes'."""

_NAMES = {kind: name for name, kind in ELEMENT_TYPES.items()}
_DTYPES: dict[str, DType] = {name: np.dtype(getattr(ml_dtypes, name, name)) for name in ELEMENT_TYPES}


def numpy_dtype(kind: Attribute | str) -> DType:
    """The numpy dtype of an element type or of its name."""
    return _DTYPES[kind if isinstance(kind, str) else _NAMES[kind]]


@cache
def element_type(dtype: DType | str) -> Attribute:
    """The graph element type of a numpy dtype or of a name; KeyError where there is none."""
    return ELEMENT_TYPES[dtype if isinstance(dtype, str) else dtype.name]


def dtype_name(kind: Attribute) -> str:
    """The user-visible name of a graph element type."""
    return _NAMES[kind]


def byte_width(kind: Attribute) -> int:
    """Bytes one element takes in memory (bool: 1). Accepts signless storage types too."""
    return 1 if kind == i1 else numpy_dtype(kind).itemsize


def number_kind(dtype: DType) -> Literal["b", "i", "u", "f"]:
    """The class of an element type: boolean, signed or unsigned integer, float (numpy calls many of these void)."""
    if dtype.kind == "V":
        return "u" if dtype.name.startswith("uint") else "i" if dtype.name.startswith("int") else "f"
    assert dtype.kind in ("b", "i", "u", "f"), dtype
    return dtype.kind


# Some types have no arithmetic of their own in machines and emitters: a byte of memory holds an encoded element. Types
# are asked all the time, and `isinstance` of abstract classes, as xDSL's are, takes ten times as long as `type() is`.


def is_minifloat(kind: Attribute) -> bool:
    """True for the floats of at most 8 bits; `kind.SEMANTICS` describes their encoding."""
    return _is_minifloat(type(kind))


@cache
def _is_minifloat(kind: type[Attribute]) -> bool:
    return issubclass(kind, ReducedPrecisionFloatType)


def is_subbyte_integer(kind: Attribute) -> bool:
    """True for the integers of 2 and 4 bits, signed and unsigned (not for booleans)."""
    return type(kind) is IntegerType and 1 < kind.width.data < 8


def is_encoded(kind: Attribute) -> bool:
    """True for minifloats and sub-byte integers: memory holds a byte for each element, arithmetic has another type."""
    return is_minifloat(kind) or is_subbyte_integer(kind)


def extended(array: Array) -> Array:
    """`array` with sub-byte integers as they are in the memory of compiled code: sign- or zero-extended to the byte.

    To ml_dtypes the upper bits mean nothing, and so they do to kernels that read them.
    """
    kind = ELEMENT_TYPES.get(array.dtype.name)
    if kind is None or not is_subbyte_integer(kind):
        return array
    return array.astype(numpy_dtype(compute_type(kind))).view(array.dtype)


def is_float(dtype: Attribute) -> bool:
    """True for every float type."""
    return _is_float(type(dtype))


@cache
def _is_float(kind: type[Attribute]) -> bool:
    return issubclass(kind, AnyFloat)


def is_narrow_float(dtype: Attribute) -> bool:
    """True for f16 and bf16, which memory holds and f32 computes."""
    return type(dtype) in (Float16Type, BFloat16Type)


def is_unsigned(dtype: Attribute) -> bool:
    """True for ui2..ui64 and for i1 (a boolean extends with zeros)."""
    return type(dtype) is IntegerType and (dtype.signedness.data is Signedness.UNSIGNED or dtype.width.data == 1)


MOST_BITS = 16
"""The width of the widest integers that are summed up as products."""


def is_narrow_integer(dtype: Attribute) -> bool:
    """True for the integers of 2 to `MOST_BITS` bits."""
    return type(dtype) is IntegerType and 1 < dtype.width.data <= MOST_BITS


def storage_type(dtype: Attribute) -> Attribute:
    """The signless type that arith and memref use for a graph element type (ui8 -> i8, encoded types i8; others
    unchanged)."""
    if is_encoded(dtype):
        return i8
    return IntegerType(dtype.width.data) if type(dtype) is IntegerType else dtype


def compute_type(dtype: Attribute) -> Attribute:
    """The type arithmetic on `dtype` happens in: f32 for f16, bf16 and minifloats, a byte for integers of less, else
    the type itself."""
    if type(dtype) is IntegerType and is_encoded(dtype):
        return IntegerType(8, dtype.signedness)
    return f32 if is_narrow_float(dtype) or is_minifloat(dtype) else dtype


def integer_range(dtype: Attribute) -> tuple[int, int]:
    """The least and greatest value of an integer element type."""
    assert isinstance(dtype, IntegerType)
    width = dtype.width.data
    return (0, 2**width - 1) if is_unsigned(dtype) else (-(2 ** (width - 1)), 2 ** (width - 1) - 1)


def wrap(value: int, dtype: IntegerType) -> int:
    """`value` modulo 2^width in the range of `dtype`."""
    low, _ = integer_range(dtype)
    return (value - low) % 2**dtype.width.data + low


_TINY = np.finfo(np.float32).tiny
"""The least normal float of 32 bits."""

_NEGLIGIBLE = float(_TINY / np.finfo(np.float32).eps)
"""Beside it what is smaller than the least normal float is less than a rounding error."""

_PART = 1 << 16
"""Elements looked at together, which stay in cache."""


def without_subnormals(array: Array) -> Array | None:
    """f32 with zeros for elements below the least normal float; None where there are none, or nothing much larger."""
    if not _has_subnormals(array) or np.abs(array).max() < _NEGLIGIBLE:
        return None
    return np.where(np.abs(array) < _TINY, np.float32(0), array)


def _has_subnormals(array: Array) -> bool:
    bits = np.ascontiguousarray(array).reshape(-1).view(np.uint32)
    for start in range(0, len(bits), _PART):
        sizes = bits[start : start + _PART] << np.uint32(1)  # without signs
        sizes -= np.uint32(1)  # zero is the greatest
        if sizes.min() < (1 << 24) - 1:
            return True
    return False
