"""Arithmetic of one element, as builders write it, on many numbers at once: numpy computes what arith and math say."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import ml_dtypes
import numpy as np
from kernels.written import PREDICATES
from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr
from xdsl.ir import Attribute, Operation, SSAValue

Array = np.ndarray[Any, Any]

_TYPES: dict[str, Any] = {
    "i1": np.bool_,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
    **{f"i{bits}": np.dtype(f"int{bits}") for bits in (8, 16, 32, 64)},
}


def _type(kind: Attribute) -> np.dtype[Any]:
    return np.dtype(np.int64 if isinstance(kind, IndexType) else _TYPES[str(kind)])


def _unsigned(array: Array) -> Array:
    return array.view(f"uint{array.dtype.itemsize * 8}") if array.dtype.kind == "i" else array


def _of_unsigned(compute: Callable[..., Array]) -> Callable[..., Array]:
    return lambda *given: compute(*map(_unsigned, given))


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("arith.addi", "arith.addf"), operator.add),
    **dict.fromkeys(("arith.subi", "arith.subf"), operator.sub),
    **dict.fromkeys(("arith.muli", "arith.mulf"), operator.mul),
    "arith.divf": operator.truediv,
    "arith.negf": operator.neg,
    "arith.andi": operator.and_,
    "arith.ori": operator.or_,
    "arith.xori": operator.xor,
    "arith.shli": operator.lshift,
    "arith.shrsi": operator.rshift,
    "arith.shrui": _of_unsigned(operator.rshift),
    "arith.maxsi": np.maximum,
    "arith.minsi": np.minimum,
    "arith.maxui": _of_unsigned(np.maximum),
    "arith.minui": _of_unsigned(np.minimum),
    "arith.select": np.where,
    "math.absf": np.abs,
    "math.trunc": np.trunc,
    "math.roundeven": np.rint,
}
_COMPARISONS = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}
_WIDENED = ("arith.extui", "arith.uitofp")


def evaluated(value: SSAValue, given: Mapping[SSAValue, Array]) -> Array:
    """The numbers that a value is for those of the arguments of its block."""
    known = dict(given)

    def of(value: SSAValue) -> Array:
        if value not in known:
            known[value] = _computed(value, of)
        return known[value]

    with np.errstate(all="ignore"):
        return of(value)


def _computed(value: SSAValue, of: Callable[[SSAValue], Array]) -> Array:
    op, kind = value.owner, _type(value.type)
    assert isinstance(op, Operation), "an argument of no number"
    if isinstance(op, arith.ConstantOp):
        assert isinstance(op.value, IntegerAttr | FloatAttr)
        return np.array([op.value.value.data]).astype(kind)
    operands = [of(each) for each in op.operands]
    if op.name in PREDICATES:
        predicate = PREDICATES[op.name][op.properties["predicate"].value.data]  # pyright: ignore
        how = _COMPARISONS[predicate[-2:]]
        return (_of_unsigned(how) if op.name == "arith.cmpi" and predicate[0] == "u" else how)(*operands)
    if op.name == "arith.bitcast":
        return operands[0].view(kind)
    if (compute := _FUNCTIONS.get(op.name)) is not None:
        found = compute(*operands)
        return found if found.dtype == kind else found.view(kind)
    assert op.name.startswith("arith."), op.name
    return (_unsigned(operands[0]) if op.name in _WIDENED else operands[0]).astype(kind)
