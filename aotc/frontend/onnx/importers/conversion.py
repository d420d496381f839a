"""Casts, and the operators that change nothing at inference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import Attribute, SSAValue

from aotc.dialects.dtypes import is_minifloat, numpy_dtype
from aotc.dialects.graph.conversion import CastOp
from aotc.dialects.graph.interfaces import element_type_of
from aotc.dialects.graph.movement import BroadcastOp
from aotc.frontend.onnx.expressions import cast
from aotc.frontend.onnx.registry import Node, onnx_op


@onnx_op("Cast")
def cast_to_attribute(node: Node) -> SSAValue:
    return _cast(node, node.type_attr("to"))


@onnx_op("CastLike")
def cast_like(node: Node) -> SSAValue:
    return _cast(node, node.element_type(1))


def _cast(node: Node, to: Attribute) -> SSAValue:
    """The first input as `to`, which may be the type it has."""
    x = node.input(0)
    if element_type_of(x) == to:
        return x
    if not is_minifloat(to):
        return cast(node, x, to)
    rounding = node.attr("round_mode", "up")
    if rounding not in ("up", "down", "nearest"):
        node.fail(f"round_mode is {rounding!r}", "it must be up, down or nearest")
    return node.emit(
        CastOp,
        x,
        to=to,
        keep_overflow=None if node.attr("saturate", 1) else True,
        rounding=None if rounding == "up" else rounding,
    )


@onnx_op("Identity")
def identity(node: Node) -> SSAValue:
    return node.input(0)


@onnx_op("Dropout")
def dropout(node: Node) -> Sequence[SSAValue | None]:
    if node.optional(2) is not None and node.constant_input(2, "training_mode").any():
        ratio = node.known(1)
        if ratio is None or ratio.any():
            node.fail("training mode is not supported", "it drops elements at random", "export for inference")
    x = node.input(0)
    if len(node.outputs) < 2 or not node.outputs[1]:
        return [x]
    # What the mask says at inference: all kept, before version 12 (in onnxruntime) nothing at all.
    kept = np.full((), node.opset >= 12, np.bool_ if node.opset >= 10 else numpy_dtype(node.element_type(0)))
    return [x, node.emit(BroadcastOp, node.constant(kept), shape=list(node.shape(0)))]
