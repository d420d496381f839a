"""Activations that ONNX does not define by other operators in every version, or not accurately."""

from __future__ import annotations

from xdsl.ir import SSAValue

from aotc.dialects.graph.elementwise import AbsOp, AddOp, MaxOp, MulOp, NegOp
from aotc.dialects.graph.functions import ExpOp, LogOp
from aotc.dialects.graph.logical import CompareOp, WhereOp
from aotc.frontend.onnx.expressions import cast, scalar, widen
from aotc.frontend.onnx.registry import Node, onnx_op


def _leaky(node: Node, x: SSAValue, slope: SSAValue) -> SSAValue:
    """x where x >= 0, else slope * x."""
    negative = node.emit(CompareOp, x, scalar(node, 0, x), how="lt")
    return node.emit(WhereOp, negative, node.emit(MulOp, slope, x), x)


@onnx_op("LeakyRelu")
def leaky_relu(node: Node) -> SSAValue:
    x = node.input(0)
    return _leaky(node, x, scalar(node, node.attr("alpha", 0.01), x))


@onnx_op("PRelu")
def prelu(node: Node) -> SSAValue:
    return _leaky(node, node.input(0), node.input(1))


@onnx_op("Softplus")
def softplus(node: Node) -> SSAValue:
    # max(x, 0) + log(1 + exp(-|x|)): the definition, log(1 + exp(x)), overflows
    x = widen(node, node.input(0))
    decay = node.emit(ExpOp, node.emit(NegOp, node.emit(AbsOp, x)))
    correction = node.emit(LogOp, node.emit(AddOp, decay, scalar(node, 1, x)))
    result = node.emit(AddOp, node.emit(MaxOp, x, scalar(node, 0, x)), correction)
    return cast(node, result, node.element_type(0))
