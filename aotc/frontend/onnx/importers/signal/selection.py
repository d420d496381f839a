"""Operators whose results have data-dependent extents, and counts of n-grams."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from aotc.dialects.graph.shapes import normalize_axis
from aotc.frontend.onnx.node import Bound, Tensor
from aotc.frontend.onnx.registry import Node, onnx_op


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
        if not 0 <= start <= end <= len(pool) or (end - start) % length:
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
