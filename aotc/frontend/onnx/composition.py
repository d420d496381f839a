"""What importers share to write an operator as several graph operations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import BFloat16Type, Float16Type, f32
from xdsl.ir import Attribute, SSAValue

from aotc.dialects.dtypes import numpy_dtype
from aotc.dialects.graph.conversion import CastOp
from aotc.dialects.graph.interfaces import element_type_of, shape_of
from aotc.dialects.graph.movement import ReshapeOp
from aotc.frontend.onnx.registry import Node


def require_broadcast(node: Node, position: int, shape: Sequence[int], what: str) -> None:
    """Fail where an input does not broadcast to `shape`, that of `what`, which must not change."""
    if not _fits(node.shape(position), shape):
        own = list(node.shape(position))
        node.fail(f"input {position} of shape {own} does not broadcast to that of {what}, {list(shape)}")


def require_fit(node: Node, x: SSAValue, shape: Sequence[int]) -> None:
    """Fail where `x`, an operand in another shape than it came, does not broadcast to `shape`."""
    if not _fits(shape_of(x), shape):
        node.fail(f"an operand seen as {list(shape_of(x))} does not broadcast to {list(shape)}")


def _fits(own: Sequence[int], shape: Sequence[int]) -> bool:
    each = zip(reversed(own), reversed(shape), strict=False)
    return len(own) <= len(shape) and all(mine in (1, extent) for mine, extent in each)


def scalar(node: Node, value: float, like: SSAValue) -> SSAValue:
    """The constant `value` of rank 0, with the element type of `like`."""
    return node.constant(np.array(value).astype(numpy_dtype(element_type_of(like))))


def cast(node: Node, x: SSAValue, element_type: Attribute) -> SSAValue:
    """`x` as `element_type`; itself where it is that already."""
    return x if element_type_of(x) == element_type else node.emit(CastOp, x, to=element_type)


def widen(node: Node, x: SSAValue) -> SSAValue:
    """`x` in f32 where it is f16 or bf16, so that intermediate results neither overflow nor round."""
    return cast(node, x, f32) if isinstance(element_type_of(x), Float16Type | BFloat16Type) else x


def reshape(node: Node, x: SSAValue, shape: Sequence[int]) -> SSAValue:
    """`x` under another shape; itself where it has that already."""
    return x if shape_of(x) == tuple(shape) else node.emit(ReshapeOp, x, shape=list(shape))
