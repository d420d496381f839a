"""Attributes for plain Python values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, BoolAttr, DenseArrayBase, FloatAttr, IntegerAttr, StringAttr, f64, i64
from xdsl.ir import Attribute


def to_attribute(value: object) -> Attribute:
    """The attribute for a plain Python value: ints i64, floats f64, bools i1, strings, sequences of ints or floats."""
    match value:
        case Attribute():
            return value
        case bool():
            return BoolAttr.from_bool(value)
        case int():
            return IntegerAttr(value, i64)
        case float():
            return FloatAttr(value, f64)
        case str():
            return StringAttr(value)
        case list() | tuple():
            items = cast(Sequence[Any], value)
            if any(isinstance(item, str) for item in items):
                return ArrayAttr([StringAttr(item) for item in items])
            if any(isinstance(item, float) for item in items):
                return DenseArrayBase.from_list(f64, [float(item) for item in items])
            return DenseArrayBase.from_list(i64, [int(item) for item in items])
        case _:
            raise TypeError(f"no attribute for {value!r}")
