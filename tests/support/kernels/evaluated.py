"""Arithmetic of one element, as builders write it, on many numbers at once: numpy computes what arith and math say."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np
from kernels.written import PREDICATES
from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IndexType, IntegerAttr, VectorType
from xdsl.ir import Attribute, Operation, SSAValue

from aotc.dialects.aot.tiles import TileCompareOp, TileConvertOp

Array = np.ndarray[Any, Any]

_TYPES: dict[str, Any] = {
    "i1": np.bool_,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
    **{f"i{bits}": np.dtype(f"int{bits}") for bits in (8, 16, 32, 64)},
}


def type_of(kind: Attribute) -> np.dtype[Any]:
    """The type of an array of numbers of a type."""
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
    "aot.tile_select": np.where,
    "arith.maximumf": np.maximum,
    "arith.minimumf": np.minimum,
    "arith.divui": _of_unsigned(operator.floordiv),
    "arith.remui": _of_unsigned(operator.mod),
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
_CONVERSIONS = {
    *_WIDENED,
    *(f"arith.{kind}" for kind in ("extsi", "trunci", "fptosi", "fptoui", "sitofp", "extf", "truncf", "index_cast")),
}


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
    assert isinstance(value.owner, Operation), "an argument of no number"
    return computed(value.owner, [of(each) for each in value.owner.operands])


def computed(op: Operation, operands: Sequence[Array]) -> Array:
    """The result of an operation of arith, or the same on tiles, element by element."""
    return computation(op)(*operands)


def computation(op: Operation) -> Callable[..., Array]:
    """A function that gives the result of such an operation for its operands."""
    result = op.results[0].type
    kind = type_of(result.element_type if isinstance(result, VectorType) else result)
    if isinstance(op, arith.ConstantOp):
        constant = _constant(op, kind)
        return lambda: constant
    if op.name in PREDICATES:
        return _comparison(PREDICATES[op.name][op.properties["predicate"].value.data])  # pyright: ignore
    if isinstance(op, TileCompareOp):
        return _comparison(op.predicate.data)
    name = f"arith.{op.kind.data}" if isinstance(op, TileConvertOp) else op.name
    if name == "arith.bitcast":
        return lambda operand: operand.view(kind)
    if (compute := _FUNCTIONS.get(name)) is not None:
        return lambda *operands: _as(kind, compute(*operands))
    assert name in _CONVERSIONS, name
    is_widened = name in _WIDENED
    return lambda operand: (_unsigned(operand) if is_widened else operand).astype(kind)


def _constant(op: arith.ConstantOp, kind: np.dtype[Any]) -> Array:
    if isinstance(op.value, DenseIntOrFPElementsAttr):
        values = np.array(op.value.get_values()).astype(kind)
        shape = op.result.type.get_shape()  # pyright: ignore
        return np.broadcast_to(values, shape) if values.size == 1 else values.reshape(shape)
    assert isinstance(op.value, IntegerAttr | FloatAttr)
    return np.array(op.value.value.data).astype(kind)


def _as(kind: np.dtype[Any], found: Array) -> Array:
    return found if found.dtype == kind else found.view(kind)


def _comparison(predicate: str) -> Callable[..., Array]:
    how = _COMPARISONS[predicate[-2:]]
    unsigned = _of_unsigned(how) if predicate[0] == "u" else how
    return lambda *operands: (how if operands[0].dtype.kind == "f" else unsigned)(*operands)
