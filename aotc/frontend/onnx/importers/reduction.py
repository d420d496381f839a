"""Reductions over axes, the positions of extrema, running sums."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import f64
from xdsl.ir import SSAValue

from aotc.dialects.dtypes import is_float
from aotc.dialects.graph.shapes import normalize_axis
from aotc.frontend.onnx.node import Tensor
from aotc.frontend.onnx.registry import Node, onnx_op


def axes_of(node: Node) -> list[int]:
    """The axes to reduce, as an attribute or (by version) an input; all where none are given, or none at all."""
    if node.opset >= (13 if node.op_type == "ReduceSum" else 18):
        given = [] if node.optional(1) is None else [int(axis) for axis in node.constant_input(1, "the axes")]
    else:
        given = list(node.attr("axes", []))
    if given or node.attr("noop_with_empty_axes", 0):
        return given
    return list(range(len(node.shape(0))))


_ONE_AXIS = {
    **dict.fromkeys(("ArgMax", "ArgMin", "Split"), 0),
    **dict.fromkeys(("Hardmax", "LogSoftmax", "LpNormalization", "Softmax", "TopK"), -1),
}
"""Operators along one axis that an attribute says, and its default."""


def whole_axes(node: Node) -> list[int]:
    """The axes along which an operator takes all elements together."""
    if node.op_type.startswith("Reduce"):
        given = axes_of(node)
    elif node.op_type in ("CumSum", "CumProd"):
        given = [int(node.constant_input(1, "the axis").reshape(()))]
    else:
        given = [node.attr("axis", _ONE_AXIS[node.op_type])]
    return [normalize_axis(axis, len(node.shape(0))) for axis in given]


def _reduce(x: Tensor, kind: str, keepdims: bool | None = None) -> Tensor:
    axes = axes_of(x.node)
    keep = bool(x.node.attr("keepdims", 1)) if keepdims is None else keepdims
    return x.reduce(kind, axes, keep) if axes else x


def _real(x: Tensor) -> Tensor:
    """The operand of a function of floats: integers go through f64."""
    return x if is_float(x.kind) else x.cast(f64)


@onnx_op("ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum")
def plain_reduction(node: Node) -> Tensor:
    return _reduce(node.tensor(0), node.op_type.removeprefix("Reduce").lower())


@onnx_op("ReduceL1")
def reduce_l1(node: Node) -> Tensor:
    return _reduce(node.tensor(0).emit("abs"), "sum")


@onnx_op("ReduceSumSquare", "ReduceL2")
def reduce_squares(node: Node) -> Tensor:
    x = node.tensor(0).widened()
    squares = _reduce(x * x, "sum")
    return (_real(squares).sqrt() if node.op_type == "ReduceL2" else squares).cast(node.element_type(0))


@onnx_op("ReduceLogSum")
def reduce_log_sum(node: Node) -> Tensor:
    total = _reduce(node.tensor(0).widened(), "sum")
    return _real(total).emit("log").cast(node.element_type(0))


@onnx_op("ReduceLogSumExp")
def reduce_log_sum_exp(node: Node) -> Tensor:
    x = _real(node.tensor(0).widened())
    if not axes_of(node):
        return node.tensor(0)
    # The greatest element is taken out of the exponents, so that none overflows, unless it is infinite itself.
    top = _reduce(x, "max", keepdims=True)
    top = (top.emit("abs") < np.inf).choose(top, 0)
    total = _reduce((x - top).emit("exp"), "sum")
    return (total.emit("log") + top.reshape(total.shape)).cast(node.element_type(0))


@onnx_op("ArgMax", "ArgMin")
def arg_reduction(node: Node) -> SSAValue:
    return node.emit(
        "arg_reduce",
        node.input(0),
        kind=node.op_type.removeprefix("Arg").lower(),
        axis=node.attr("axis", 0),
        keepdims=bool(node.attr("keepdims", 1)),
        last=bool(node.attr("select_last_index", 0)),
    )


@onnx_op("CumSum", "CumProd")
def cumulative(node: Node) -> SSAValue:
    return node.emit(
        "cumulative",
        node.input(0),
        kind=node.op_type.removeprefix("Cum").lower(),
        axis=int(node.constant_input(1, "the axis").reshape(())),
        exclusive=bool(node.attr("exclusive", 0)),
        reverse=bool(node.attr("reverse", 0)),
    )
