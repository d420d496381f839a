"""Element types: graph IR type <-> numpy dtype <-> the name users see ("float32", "uint8", "bool")."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import IntegerType, Signedness, bf16, f16, f32, f64, i1, i8, i16, i32, i64
from xdsl.ir import Attribute

DType = np.dtype[Any]

_UNSIGNED = {width: IntegerType(width, Signedness.UNSIGNED) for width in (8, 16, 32, 64)}

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
}
"""Every element type the compiler knows, by user-visible name."""

_NAMES = {kind: name for name, kind in ELEMENT_TYPES.items()}
_BFLOAT16: DType = np.dtype(ml_dtypes.bfloat16)


def numpy_dtype(kind: Attribute | str) -> DType:
    """The numpy dtype of an element type or of its name."""
    name = kind if isinstance(kind, str) else _NAMES[kind]
    return _BFLOAT16 if name == "bfloat16" else np.dtype(name)


def element_type(dtype: DType | str) -> Attribute:
    """The graph element type of a numpy dtype or of a name; KeyError where there is none."""
    return ELEMENT_TYPES[dtype if isinstance(dtype, str) else dtype.name]


def dtype_name(kind: Attribute) -> str:
    """The user-visible name of a graph element type."""
    return _NAMES[kind]


def byte_width(kind: Attribute) -> int:
    """Bytes one element takes in memory (bool: 1). Accepts signless storage types too."""
    return 1 if kind == i1 else numpy_dtype(kind).itemsize
