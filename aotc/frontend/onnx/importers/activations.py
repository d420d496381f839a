"""Activations that ONNX does not define by other operators in every version, or not accurately."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from aotc.dialects.dtypes import is_float
from aotc.dialects.graph.elementwise import AddOp, DivOp, MulOp, SubOp
from aotc.dialects.graph.functions import ExpOp
from aotc.dialects.graph.interfaces import element_type_of
from aotc.dialects.graph.logical import CompareOp, WhereOp
from aotc.frontend.onnx.composition import cast, require_broadcast, require_fit, reshape, scalar, widen
from aotc.frontend.onnx.registry import Node, onnx_op


def _leaky(node: Node, x: SSAValue, slope: SSAValue) -> SSAValue:
    """x where x >= 0, else slope * x."""
    negative = node.emit(CompareOp, x, scalar(node, 0, x), how="lt")
    return node.emit(WhereOp, negative, node.emit(MulOp, slope, x), x)


@onnx_op("LeakyRelu")
def leaky_relu(node: Node) -> SSAValue:
    x, default = node.input(0), float(np.float32(0.01))  # attributes are f32, also beside operands of f64
    return _leaky(node, x, scalar(node, node.attr("alpha", default), x))


@onnx_op("Celu")
def celu(node: Node) -> SSAValue:
    """x where x >= 0, else alpha * (exp(x / alpha) - 1); ONNX's own definition makes a vector of a scalar."""
    x = widen(node, node.input(0))
    alpha = scalar(node, node.attr("alpha", 1.0), x)
    power = node.emit(ExpOp, node.emit(DivOp, x, alpha))
    below = node.emit(MulOp, alpha, node.emit(SubOp, power, scalar(node, 1, x)))
    negative = node.emit(CompareOp, x, scalar(node, 0, x), how="lt")
    return cast(node, node.emit(WhereOp, negative, below, x), node.element_type(0))


@onnx_op("PRelu")
def prelu(node: Node) -> SSAValue:
    shape, slope = node.shape(0), node.input(1)
    if node.opset < 7 and len(shape) > 1:  # one for each channel, or one for all
        slope = reshape(node, slope, [*node.shape(1), *[1] * (len(shape) - 2)])
        require_fit(node, slope, shape)
    else:
        require_broadcast(node, 1, shape, "the operand")
    return _leaky(node, node.input(0), slope)


@onnx_op("Shrink")
def shrink(node: Node) -> SSAValue:
    # in floats for every type: the definition has no negative threshold for unsigned integers
    x, threshold, bias = node.input(0), node.attr("lambd", 0.5), node.attr("bias", 0.0)
    wide = widen(node, x) if is_float(element_type_of(x)) else cast(node, x, f32)
    below = node.emit(CompareOp, wide, scalar(node, -threshold, wide), how="lt")
    above = node.emit(CompareOp, wide, scalar(node, threshold, wide), how="gt")
    less, more = node.emit(SubOp, wide, scalar(node, bias, wide)), node.emit(AddOp, wide, scalar(node, bias, wide))
    inner = node.emit(WhereOp, above, less, scalar(node, 0, wide))
    return cast(node, node.emit(WhereOp, below, more, inner), node.element_type(0))
