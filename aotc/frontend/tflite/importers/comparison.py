"""Comparisons, extremes and logic: of two tensors, and along axes."""

from __future__ import annotations

import numpy as np

from aotc.dialects.dtypes import element_type
from aotc.frontend.emitter import Tensor
from aotc.frontend.tflite.arithmetic import Multiplier
from aotc.frontend.tflite.node import First, Node
from aotc.frontend.tflite.registry import tflite_op

_COMPARISONS = {
    "EQUAL": "eq", "NOT_EQUAL": "ne", "LESS": "lt", "LESS_EQUAL": "le", "GREATER": "gt", "GREATER_EQUAL": "ge"
}  # fmt: skip
_FINE = 8
"""By how many bits integers are shifted up before they are rescaled and compared."""


@tflite_op(*_COMPARISONS)
def compare(node: Node) -> Tensor | First:
    """Integers times 2^8 are rescaled by their scales, so that those whose difference is below 1/256 may be equal."""
    node.require_type(0, "float32", "int8", "int32", "int64", *["bool"] * node.op_type.endswith("EQUAL"))
    sides, ordered = node.alike(0, 1)
    if not node.real and node.declared(0).tensor.quantization is not None:
        for position, side in enumerate(sides):
            node.require_type(position, "int8")
            scale, point = node.input_quantization(position)
            sides[position] = node.rescaled(node.integers(side, point) * (1 << _FINE), Multiplier.of(np.float64(scale)))
    return ordered(sides[0].compare(_COMPARISONS[node.op_type], sides[1]))


@tflite_op("MAXIMUM", "MINIMUM", moves=True)
def extreme(node: Node) -> Tensor | First:
    """Of elements as they are, whatever their scales."""
    (x, y), ordered = node.alike(0, 1)
    return ordered(x.emit(node.op_type[:3].lower(), y))


@tflite_op("LOGICAL_AND", "LOGICAL_OR", moves=True)
def logical(node: Node) -> Tensor | First:
    node.require_type(0, "bool")
    (x, y), ordered = node.alike(0, 1)
    return ordered(x.emit(node.op_type.removeprefix("LOGICAL_").lower(), y))


@tflite_op("LOGICAL_NOT", moves=True)
def logical_not(node: Node) -> Tensor | First:
    node.require_type(0, "bool")
    (x,), ordered = node.alike(0)
    return ordered(x.emit("not"))


# --- along axes -------------------------------------------------------------------------------------------------------


@tflite_op("REDUCE_MAX", "REDUCE_MIN", moves=True)
def reduce_extreme(node: Node) -> Tensor:
    return node.along_axes(lambda x, axes: x.reduce(node.op_type.removeprefix("REDUCE_").lower(), axes))


@tflite_op("REDUCE_ALL", "REDUCE_ANY", moves=True)
def reduce_logical(node: Node) -> Tensor:
    """Whether all are true: the least of 0 and 1; whether any is: the greatest."""
    node.require_type(0, "bool")
    kind = "min" if node.op_type == "REDUCE_ALL" else "max"
    return node.along_axes(lambda x, axes: x.cast(element_type("uint8")).reduce(kind, axes).compare("ne", 0))


@tflite_op("ARG_MAX", "ARG_MIN", moves=True)
def arg_extreme(node: Node) -> Tensor:
    """The first place of the greatest or least."""
    axis = node.integer_of(1, "the axis")
    kind = node.op_type.removeprefix("ARG_").lower()
    found = node.tensor(0).emit("arg_reduce", kind=kind, axis=node.axis(0, axis), keepdims=False)
    return found.cast(node.to)
