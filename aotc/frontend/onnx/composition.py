"""Helpers of importers to write an operator as several graph operations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import BFloat16Type, Float16Type, f32, f64
from xdsl.ir import Attribute, SSAValue

from aotc.dialects.dtypes import byte_width, integer_range, numpy_dtype
from aotc.dialects.graph.conversion import CastOp, QuantizeOp
from aotc.dialects.graph.functions import RoundOp
from aotc.dialects.graph.interfaces import element_type_of, shape_of
from aotc.dialects.graph.logical import AndOp, CompareOp, WhereOp
from aotc.dialects.graph.movement import ReshapeOp
from aotc.frontend.onnx.registry import Node


def require_broadcast(node: Node, position: int, shape: Sequence[int], what: str) -> None:
    """Fail where an input does not broadcast to `shape`, that of `what`, which must not change."""
    if not _fits(node.shape(position), shape):
        own = list(node.shape(position))
        node.fail(
            "invalid-shape", f"input {position} of shape {own} does not broadcast to that of {what}, {list(shape)}"
        )


def require_fit(node: Node, x: SSAValue, shape: Sequence[int]) -> None:
    """Fail where `x`, an operand in another shape than it came, does not broadcast to `shape`."""
    if not _fits(shape_of(x), shape):
        node.fail("invalid-shape", f"an operand seen as {list(shape_of(x))} does not broadcast to {list(shape)}")


def _fits(own: Sequence[int], shape: Sequence[int]) -> bool:
    each = zip(reversed(own), reversed(shape), strict=False)
    return len(own) <= len(shape) and all(mine in (1, extent) for mine, extent in each)


def scalar(node: Node, value: float, like: SSAValue) -> SSAValue:
    """The constant `value` of rank 0, with the element type of `like`. Fails where that is an integer and `value` is
    none, or beyond it: an importer computes in floats then."""
    dtype = numpy_dtype(element_type_of(like))
    found = np.array(value).astype(dtype)
    if dtype.kind in "iu" and found.item() != value:
        fix = "cast the operands to floats before, and the result back"
        node.fail("invalid-value", f"the number {value} is no {dtype}", fix=fix)
    return node.constant(found)


def saturated(node: Node, x: SSAValue, element_type: Attribute) -> SSAValue:
    """`x`, floats, as the nearest integers of a type, to even; what is beyond them becomes the least or the
    greatest."""
    if byte_width(element_type) <= 2:
        one, zero = node.constant(np.ones((), np.float32)), node.constant(np.zeros((), numpy_dtype(element_type)))
        return node.emit(QuantizeOp, cast(node, x, f32), one, zero, to=element_type)
    low, high = integer_range(element_type)
    whole = node.emit(RoundOp, cast(node, x, f64))
    least, beyond = (node.constant(np.float64(bound)) for bound in (low, high + 1))
    is_below = node.emit(CompareOp, whole, beyond, how="lt")
    is_above = node.emit(CompareOp, whole, least, how="gt")
    number = cast(node, node.emit(WhereOp, node.emit(AndOp, is_below, is_above), whole, least), element_type)
    is_beyond = node.emit(CompareOp, whole, beyond, how="ge")
    return node.emit(WhereOp, is_beyond, node.constant(np.array(high, numpy_dtype(element_type))), number)


def cast(node: Node, x: SSAValue, element_type: Attribute) -> SSAValue:
    """`x` as `element_type`; itself where it is that already."""
    return x if element_type_of(x) == element_type else node.emit(CastOp, x, to=element_type)


def widen(node: Node, x: SSAValue) -> SSAValue:
    """`x` in f32 where it is f16 or bf16, so that intermediate results neither overflow nor round."""
    return cast(node, x, f32) if isinstance(element_type_of(x), Float16Type | BFloat16Type) else x


def reshape(node: Node, x: SSAValue, shape: Sequence[int]) -> SSAValue:
    """`x` under another shape; itself where it has that already."""
    return x if shape_of(x) == tuple(shape) else node.emit(ReshapeOp, x, shape=list(shape))
