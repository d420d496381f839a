"""Reductions over axes, the positions of extrema, running sums."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import f64
from xdsl.ir import SSAValue

from aotc.dialects.dtypes import is_float
from aotc.dialects.graph.elementwise import AbsOp, AddOp, MulOp, SubOp
from aotc.dialects.graph.functions import ExpOp, LogOp, SqrtOp
from aotc.dialects.graph.interfaces import GraphOp, element_type_of, shape_of
from aotc.dialects.graph.logical import CompareOp, WhereOp
from aotc.dialects.graph.reduction import ArgReduceOp, CumulativeOp, ReduceOp
from aotc.frontend.onnx.composition import cast, reshape, scalar, widen
from aotc.frontend.onnx.registry import Node, onnx_op

_PLAIN = {
    "ReduceMax": "max",
    "ReduceMean": "mean",
    "ReduceMin": "min",
    "ReduceProd": "prod",
    "ReduceSum": "sum",
}


def axes_of(node: Node) -> list[int]:
    """The axes to reduce, as an attribute or (by version) an input; all where none are given, or none at all."""
    if node.opset >= (13 if node.op_type == "ReduceSum" else 18):
        given = [] if node.optional(1) is None else [int(axis) for axis in node.constant_input(1, "the axes")]
    else:
        given = list(node.attr("axes", []))
    if given or node.attr("noop_with_empty_axes", 0):
        return given
    return list(range(len(node.shape(0))))


def _reduce(node: Node, x: SSAValue, kind: str, keepdims: bool | None = None) -> SSAValue:
    axes = axes_of(node)
    keep = bool(node.attr("keepdims", 1)) if keepdims is None else keepdims
    return node.emit(ReduceOp, x, kind=kind, axes=axes, keepdims=keep) if axes else x


def _function(node: Node, op_class: type[GraphOp], x: SSAValue) -> SSAValue:
    """A function of floats on any numbers: integers go through f64."""
    return node.emit(op_class, x if is_float(element_type_of(x)) else cast(node, x, f64))


@onnx_op(*_PLAIN)
def plain_reduction(node: Node) -> SSAValue:
    return _reduce(node, node.input(0), _PLAIN[node.op_type])


@onnx_op("ReduceL1")
def reduce_l1(node: Node) -> SSAValue:
    return _reduce(node, node.emit(AbsOp, node.input(0)), "sum")


@onnx_op("ReduceSumSquare")
def reduce_sum_square(node: Node) -> SSAValue:
    x = widen(node, node.input(0))
    return cast(node, _reduce(node, node.emit(MulOp, x, x), "sum"), node.element_type(0))


@onnx_op("ReduceL2")
def reduce_l2(node: Node) -> SSAValue:
    x = widen(node, node.input(0))
    squares = _reduce(node, node.emit(MulOp, x, x), "sum")
    return cast(node, _function(node, SqrtOp, squares), node.element_type(0))


@onnx_op("ReduceLogSum")
def reduce_log_sum(node: Node) -> SSAValue:
    total = _reduce(node, widen(node, node.input(0)), "sum")
    return cast(node, _function(node, LogOp, total), node.element_type(0))


@onnx_op("ReduceLogSumExp")
def reduce_log_sum_exp(node: Node) -> SSAValue:
    x = widen(node, node.input(0))
    x = x if is_float(element_type_of(x)) else cast(node, x, f64)
    if not axes_of(node):
        return node.input(0)
    # The greatest element is taken out of the exponents, so that none overflows, unless it is infinite itself.
    top = _reduce(node, x, "max", keepdims=True)
    finite = node.emit(CompareOp, node.emit(AbsOp, top), scalar(node, np.inf, x), how="lt")
    top = node.emit(WhereOp, finite, top, scalar(node, 0, x))
    total = _reduce(node, node.emit(ExpOp, node.emit(SubOp, x, top)), "sum")
    result = node.emit(AddOp, node.emit(LogOp, total), reshape(node, top, shape_of(total)))
    return cast(node, result, node.element_type(0))


@onnx_op("ArgMax", "ArgMin")
def arg_reduction(node: Node) -> SSAValue:
    return node.emit(
        ArgReduceOp,
        node.input(0),
        kind=node.op_type.removeprefix("Arg").lower(),
        axis=node.attr("axis", 0),
        keepdims=bool(node.attr("keepdims", 1)),
        last=bool(node.attr("select_last_index", 0)),
    )


@onnx_op("CumSum", "CumProd")
def cumulative(node: Node) -> SSAValue:
    return node.emit(
        CumulativeOp,
        node.input(0),
        kind=node.op_type.removeprefix("Cum").lower(),
        axis=int(node.constant_input(1, "the axis").reshape(())),
        exclusive=bool(node.attr("exclusive", 0)),
        reverse=bool(node.attr("reverse", 0)),
    )
