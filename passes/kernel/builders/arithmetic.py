"""The operations of arith and math for the numbers of an element type: functions, comparisons, conversions."""

from __future__ import annotations

from xdsl.dialects.builtin import Float32Type, Float64Type, IntegerType
from xdsl.ir import Attribute, Operation, SSAValue

from aotc.dialects.builder import Comparison
from aotc.dialects.dtypes import is_float, is_unsigned, storage_type
from aotc.dialects.operations import make

_PROPERTIES: dict[type[Operation], dict[str, Attribute]] = {}
"""The properties of an operation on two numbers, by its class."""


def binary(kind: type[Operation], a: SSAValue, c: SSAValue) -> Operation:
    """`kind(a, c)`, whose result has the type of `a`; only the first of a class is made argument by argument."""
    if (properties := _PROPERTIES.get(kind)) is None:
        op = kind(a, c)  # pyright: ignore[reportCallIssue]
        _PROPERTIES[kind] = dict(op.properties)
        return op
    return make(kind, (a, c), a.type, properties)


def predicate(how: Comparison, dtype: Attribute) -> str:
    """The predicate of arith for a comparison of numbers of `dtype`."""
    if is_float(dtype):
        return "une" if how == "ne" else "o" + how
    return how if how in ("eq", "ne") else ("u" if is_unsigned(dtype) else "s") + how


def conversion(source: Attribute, dtype: Attribute) -> str | None:
    """The conversion of arith from numbers of `source` to `dtype`; None where no bit changes."""
    if is_float(source) and is_float(dtype):
        return "extf" if isinstance(source, Float32Type) and isinstance(dtype, Float64Type) else "truncf"
    if is_float(source):
        return "fptoui" if is_unsigned(dtype) else "fptosi"
    if is_float(dtype):
        return "uitofp" if is_unsigned(source) else "sitofp"
    target = storage_type(dtype)
    assert isinstance(source, IntegerType) and isinstance(target, IntegerType)
    if target.width.data == source.width.data:
        return None
    if target.width.data < source.width.data:
        return "trunci"
    return "extui" if is_unsigned(source) else "extsi"


def quotient(a: int, c: int) -> int:
    """a / c, towards zero."""
    return abs(a) // abs(c) * (1 if (a < 0) == (c < 0) else -1)
