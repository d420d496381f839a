"""Operators whose indices are tensors."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from aotc.dialects.dtypes import is_unsigned
from aotc.dialects.graph.conversion import CastOp
from aotc.dialects.graph.elementwise import MinOp
from aotc.dialects.graph.movement import ConcatOp, ReshapeOp
from aotc.dialects.graph.reduction import ReduceOp
from aotc.dialects.graph.shapes import normalize_axis
from aotc.frontend.onnx.importers.movement import cut
from aotc.frontend.onnx.node import Bound, Tensor
from aotc.frontend.onnx.registry import Node, onnx_op


@onnx_op("Gather")
def gather(node: Node) -> Tensor:
    x, shape = node.tensor(0), node.shape(0)
    axis = normalize_axis(node.attr("axis", 0), len(shape))
    indices = node.known(1)
    if indices is not None:
        extent = shape[axis]
        if ((indices < -extent) | (indices >= extent)).any():
            node.fail("invalid-value", f"indices reach beyond the {extent} elements of axis {axis}")
        if indices.size == 1:  # a slice: often a view
            (index,) = indices.reshape(-1).tolist()
            one = cut(x, {axis: (index % extent, 1, 1)})
            return one.reshape([*shape[:axis], *indices.shape, *shape[axis + 1 :]])
    return x.emit("gather", node.input(1), axis=axis)


@onnx_op("GatherElements")
def gather_elements(node: Node) -> SSAValue:
    axis = normalize_axis(node.attr("axis", 0), len(node.shape(0)))
    return node.emit("gather_elements", node.input(0), node.input(1), axis=axis)


@onnx_op("GatherND")
def gather_nd(node: Node) -> SSAValue:
    return node.emit("gather_nd", node.input(0), node.input(1), batch_dims=node.attr("batch_dims", 0))


@onnx_op("ScatterElements", "Scatter")
def scatter_elements(node: Node) -> SSAValue:
    axis = normalize_axis(node.attr("axis", 0), len(node.shape(0)))
    reduction = node.attr("reduction", "none")
    operands = node.input(0), node.input(1), node.input(2)
    return node.emit("scatter_elements", *operands, axis=axis, reduction=reduction)


@onnx_op("ScatterND")
def scatter_nd(node: Node) -> SSAValue:
    operands = node.input(0), node.input(1), node.input(2)
    return node.emit("scatter_nd", *operands, reduction=node.attr("reduction", "none"))


@onnx_op("TopK")
def top_k(node: Node) -> list[SSAValue]:
    shape = node.shape(0)
    axis = normalize_axis(node.attr("axis", -1), len(shape))
    if node.opset >= 10 and node.known(1) is None:
        return counted_top_k(node, Bound(axis, node.constant(shape[axis], np.int64), asked=True))
    k: int = node.attr("k") if node.opset < 10 else int(node.constant_input(1, "K").reshape(()))
    smallest = not node.attr("largest", 1)
    return node.emit_all("top_k", node.input(0), k=k, axis=axis, smallest=smallest)


def counted_top_k(node: Node, bound: Bound) -> list[SSAValue]:
    """As many as K says when the model runs, of at most those that `bound` says."""
    axis, count = bound.axis, Tensor(node, bound.count)
    asked = node.tensor(1).reshape([]).cast(i64)
    most = min([node.shape(0)[axis], *_bounds_of(node, node.input(1))])
    smallest = not node.attr("largest", 1)
    results = node.emit_all("top_k", node.input(0), k=most, axis=axis, smallest=smallest)
    number = asked.at_least(0).at_most(count.at_most(most)).value
    return [node.bounded(value, replace(bound, count=number)) for value in results]


def _bounds_of(node: Node, value: SSAValue) -> list[int]:
    """Constants that an integer, a tensor of one element, is not above: those that it is the least of with others."""
    op = value.owner
    if isinstance(op, MinOp):
        return [bound for operand in op.operands for bound in _constants_of(node, operand)]
    if isinstance(op, ReduceOp) and op.kind.data == "min" and isinstance(op.x.owner, ConcatOp):
        return [bound for part in op.x.owner.operands for bound in _constants_of(node, part)]
    if isinstance(op, ReshapeOp | CastOp):
        return _bounds_of(node, op.operands[0])
    return []


def _constants_of(node: Node, value: SSAValue) -> list[int]:
    known = node.known_value(value)
    return _bounds_of(node, value) if known is None else [max(int(each), 0) for each in known.reshape(-1)]


@onnx_op("OneHot")
def one_hot(node: Node) -> Tensor:
    shape = node.shape(0)
    axis = normalize_axis(node.attr("axis", -1), len(shape) + 1)
    depth = int(node.constant_input(1, "the depth").reshape(()))
    if math.prod(node.shape(2)) != 2:
        node.fail("invalid-shape", f"values must be two, off and on, found {list(node.shape(2))}")
    given = node.tensor(0)
    indices = given.emit("cast", to=i64)
    if not is_unsigned(given.kind):  # of 64 bits without a sign some are negative now, and none of the classes
        indices = (indices < 0).choose(indices + depth, indices)
    indices = indices.reshape([*shape[:axis], 1, *shape[axis:]])
    classes = node.constant(node.numbers(depth).reshape([depth if a == axis else 1 for a in range(len(shape) + 1)]))
    off, on = (cut(node.tensor(2).reshape([2]), {0: (position, 1, 1)}) for position in (0, 1))
    return indices.compare("eq", classes).choose(on, off)


@onnx_op("ReverseSequence")
def reverse_sequence(node: Node) -> SSAValue:
    batch, time = node.attr("batch_axis", 1), node.attr("time_axis", 0)
    return node.emit("reverse_sequence", node.input(0), node.input(1), batch=batch, time=time)


@onnx_op("TensorScatter")
def tensor_scatter(node: Node) -> SSAValue:
    shape, mode = node.shape(0), node.attr("mode", "linear")
    node.require_choice("mode", mode, ("linear", "circular"))
    starts = node.optional(2)
    if starts is None:
        starts = node.constant(node.filled(shape[:1], 0, np.int64))
    axis = normalize_axis(node.attr("axis", -2), len(shape))
    return node.emit("update_cache", node.input(0), node.input(1), starts, axis=axis, circular=mode == "circular")
