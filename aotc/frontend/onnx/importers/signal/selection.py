"""Operators whose results have data-dependent extents, and counts of n-grams."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from aotc.dialects.graph.indexing import GatherOp
from aotc.dialects.graph.interfaces import shape_of
from aotc.dialects.graph.logical import CompareOp
from aotc.dialects.graph.matrices.matmul import MatMulOp
from aotc.dialects.graph.movement import TransposeOp
from aotc.dialects.graph.selection.distinct import UniqueOp
from aotc.dialects.graph.selection.grams import CountGramsOp
from aotc.dialects.graph.selection.positions import NonZeroOp
from aotc.dialects.graph.shapes import normalize_axis
from aotc.frontend.onnx.composition import cast, reshape, scalar
from aotc.frontend.onnx.registry import Bound, Node, onnx_op


@onnx_op("NonZero")
def non_zero(node: Node) -> SSAValue:
    indices, count = node.emit_all(NonZeroOp, node.input(0))
    return node.bounded(indices, Bound(1, count))


@onnx_op("Compress")
def compress(node: Node) -> SSAValue:
    x, axis = node.input(0), node.attr("axis")
    if axis is None:
        x, axis = reshape(node, x, [math.prod(node.shape(0))]), 0
    axis = normalize_axis(axis, len(shape_of(x)))
    size = math.prod(node.shape(1))
    if size > shape_of(x)[axis]:
        node.fail("invalid-shape", f"the condition has {size} elements, axis {axis} of {list(shape_of(x))} has fewer")
    indices, count = node.emit_all(NonZeroOp, reshape(node, node.input(1), [size]))
    cut = node.cut_to_count(indices, 1, count)
    places = reshape(node, cut, [shape_of(cut)[1]])
    return node.bounded(node.emit(GatherOp, x, places, axis=axis), Bound(axis, count))


@onnx_op("Unique")
def unique(node: Node) -> list[SSAValue]:
    x, axis = node.input(0), node.attr("axis")
    shape = node.shape(0)
    if axis is None:
        x, axis, shape = reshape(node, x, [math.prod(shape)]), 0, (math.prod(shape),)
    axis = normalize_axis(axis, len(shape))
    rows = x
    if axis:
        order = [axis, *(each for each in range(len(shape)) if each != axis)]
        rows = node.emit(TransposeOp, x, permutation=order)
    rows = reshape(node, rows, [shape[axis], math.prod(shape) // max(shape[axis], 1)])
    in_order = bool(node.attr("sorted", 1))
    indices, inverse, counts, count = node.emit_all(UniqueOp, rows, sorted=in_order)
    values = node.emit(GatherOp, x, indices, axis=axis)
    there = Bound(0, count)
    found = node.bounded(values, replace(there, axis=axis))
    return [found, node.bounded(indices, there), inverse, node.bounded(counts, there)]


@onnx_op("TfIdfVectorizer")
def tf_idf_vectorizer(node: Node) -> SSAValue:
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
    x = node.input(0)
    x = reshape(node, x, [1, *shape_of(x)]) if len(shape_of(x)) < 2 else x
    found = node.emit(CountGramsOp, x, node.constant(table), node.constant(lengths), skips=node.attr("max_skip_count"))
    if mode == "IDF":
        found = cast(node, node.emit(CompareOp, found, scalar(node, 0, found), how="gt"), f32)
    result = node.emit(MatMulOp, found, node.constant(placing))
    return reshape(node, result, [*node.shape(0)[:-1], placing.shape[1]])
