"""Activations that ONNX does not define by other operators in every version, or not accurately."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import f32

from aotc.dialects.dtypes import is_float
from aotc.frontend.onnx.node import Operand, Tensor
from aotc.frontend.onnx.registry import Node, onnx_op


def leaky(x: Tensor, slope: Operand) -> Tensor:
    """x where x >= 0, else slope * x."""
    factor = x.beside(slope)
    return (x < 0).choose(factor * x, x)


@onnx_op("LeakyRelu")
def leaky_relu(node: Node) -> Tensor:
    # attributes are f32, also beside operands of f64
    return leaky(node.tensor(0), node.attr("alpha", float(np.float32(0.01))))


@onnx_op("Celu")
def celu(node: Node) -> Tensor:
    """x where x >= 0, else alpha * (exp(x / alpha) - 1); ONNX's own definition makes a vector of a scalar."""
    x = node.tensor(0).widened()
    alpha = x.scalar(node.attr("alpha", 1.0))
    below = alpha * ((x / alpha).emit("exp") - 1)
    return (x < 0).choose(below, x).cast(node.element_type(0))


@onnx_op("PRelu")
def prelu(node: Node) -> Tensor:
    shape, slope = node.shape(0), node.tensor(1)
    if node.opset < 7 and len(shape) > 1:  # one for each channel, or one for all
        slope = slope.reshape([*slope.shape, *[1] * (len(shape) - 2)])
        node.require_fit(slope, shape)
    else:
        node.require_broadcast(1, shape, "the operand")
    return leaky(node.tensor(0), slope)


@onnx_op("Shrink")
def shrink(node: Node) -> Tensor:
    # in floats for every type: the definition has no negative threshold for unsigned integers
    x, threshold, bias = node.tensor(0), node.attr("lambd", 0.5), node.attr("bias", 0.0)
    wide = x.widened() if is_float(x.kind) else x.cast(f32)
    below, above = wide < -threshold, wide > threshold
    less, more = wide - bias, wide + bias
    return below.choose(more, above.choose(less, 0)).cast(x.kind)
