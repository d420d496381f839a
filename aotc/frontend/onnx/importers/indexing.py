"""Operators whose indices are tensors, or whose results have data-dependent extents; and those that are one
operation on the same inputs."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from xdsl.dialects.builtin import f32, i64
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

_SAME: dict[str, tuple[str, dict[str, Any]]] = {
    "Det": ("determinant", {}),
    "GatherElements": ("gather_elements", {"axis": 0}),
    "GatherND": ("gather_nd", {"batch_dims": 0}),
    "Inverse": ("inverse", {}),
    "Scatter": ("scatter_elements", {"axis": 0, "reduction": "none"}),
    "ScatterElements": ("scatter_elements", {"axis": 0, "reduction": "none"}),
    "ScatterND": ("scatter_nd", {"reduction": "none"}),
    "Where": ("where", {}),
}
"""Operators that are an operation on the same inputs; the attributes of both, and their defaults."""


@onnx_op(*(_SAME.keys() - {"Inverse"}))
@onnx_op("Inverse", domain="com.microsoft")
def same(node: Node) -> SSAValue:
    operation, defaults = _SAME[node.op_type]
    given = {name: node.attr(name, default) for name, default in defaults.items()}
    if "axis" in given:
        given["axis"] = node.axis(defaults["axis"])
    return node.emit(operation, *node.inputs, **given)


@onnx_op("Gather")
def gather(node: Node) -> Tensor:
    x, shape = node.tensor(0), node.shape(0)
    axis = node.axis(0)
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


@onnx_op("TopK")
def top_k(node: Node) -> list[SSAValue]:
    shape = node.shape(0)
    axis = node.axis(-1)
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
    operands = node.input(0), node.input(1), starts
    return node.emit("update_cache", *operands, axis=node.axis(-2), circular=mode == "circular")


@onnx_op("NonZero")
def non_zero(node: Node) -> SSAValue:
    indices, count = node.emit_all("non_zero", node.input(0))
    return node.bounded(indices, Bound(1, count))


@onnx_op("Compress")
def compress(node: Node) -> SSAValue:
    x, axis = _along(node)
    size = math.prod(node.shape(1))
    if size > x.shape[axis]:
        node.fail("invalid-shape", f"the condition has {size} elements, axis {axis} of {list(x.shape)} has fewer")
    indices, count = node.emit_all("non_zero", node.tensor(1).reshape([size]))
    cut = Tensor(node, node.cut_to_count(indices, 1, count))
    places = cut.reshape([cut.shape[1]])
    return node.bounded(node.emit("gather", x, places, axis=axis), Bound(axis, count))


def _along(node: Node) -> tuple[Tensor, int]:
    """The first input and the axis that an attribute says; without one all elements, one behind the other."""
    x, axis = node.tensor(0), node.attr("axis")
    if axis is None:
        return x.reshape([math.prod(x.shape)]), 0
    return x, normalize_axis(axis, len(x.shape))


@onnx_op("Unique")
def unique(node: Node) -> list[SSAValue]:
    x, axis = _along(node)
    shape = x.shape
    rows = x.transpose([axis, *(each for each in range(len(shape)) if each != axis)]) if axis else x
    rows = rows.reshape([shape[axis], math.prod(shape) // max(shape[axis], 1)])
    in_order = bool(node.attr("sorted", 1))
    indices, inverse, counts, count = node.emit_all("unique", rows, sorted=in_order)
    values = node.emit("gather", x, indices, axis=axis)
    there = Bound(0, count)
    found = node.bounded(values, replace(there, axis=axis))
    return [found, node.bounded(indices, there), inverse, node.bounded(counts, there)]


@onnx_op("TfIdfVectorizer")
def tf_idf_vectorizer(node: Node) -> Tensor:
    """Of numbers; of strings it is refused by the type of its input."""
    pool, starts, columns = node.attr("pool_int64s"), node.attr("ngram_counts"), node.attr("ngram_indexes")
    if pool is None:
        node.fail("missing-attribute", "pool_int64s is missing", "only numbers can be counted")
    least, most, mode = node.attr("min_gram_length"), node.attr("max_gram_length"), node.attr("mode")
    node.require_choice("mode", mode, ("TF", "IDF", "TFIDF"))
    grams: list[list[int]] = []
    for length, (start, end) in enumerate(zip(starts, [*starts[1:], len(pool)], strict=True), 1):
        if not 0 <= start <= end or (end - start) % length:
            node.fail("invalid-attribute", f"ngram_counts {starts} do not cut {len(pool)} items into n-grams")
        grams += [pool[place : place + length] for place in range(start, end, length)]
    weights = node.attr("weights", [1.0] * len(grams))
    if len(columns) != len(grams) or len(weights) != len(grams) or any(column < 0 for column in columns):
        what = f"there are {len(grams)} n-grams, {len(columns)} indexes and {len(weights)} weights"
        node.fail("invalid-attribute", what)
    chosen = [number for number, gram in enumerate(grams) if least <= len(gram) <= most]
    longest = max((len(grams[number]) for number in chosen), default=1)
    table = node.filled((len(chosen), longest), 0, np.int64)
    placing = node.filled((len(chosen), max(columns, default=-1) + 1), 0, np.float32)
    for row, number in enumerate(chosen):
        table[row, : len(grams[number])] = grams[number]
        placing[row, columns[number]] = 1 if mode == "TF" else weights[number]
    lengths = np.array([len(grams[number]) for number in chosen], np.int64)
    x = node.tensor(0)
    x = x.reshape([1, *x.shape]) if len(x.shape) < 2 else x
    found = x.emit("count_grams", node.constant(table), node.constant(lengths), skips=node.attr("max_skip_count"))
    if mode == "IDF":
        found = (found > 0).cast(f32)
    result = found @ Tensor(node, node.constant(placing))
    return result.reshape([*node.shape(0)[:-1], placing.shape[1]])
