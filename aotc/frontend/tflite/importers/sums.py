"""Sums of many tensors, running sums, and products of matrices."""

from __future__ import annotations

from functools import reduce

import numpy as np
from xdsl.dialects.builtin import i32, i64

from aotc.frontend.emitter import Tensor
from aotc.frontend.tflite.arithmetic import Multiplier
from aotc.frontend.tflite.node import First, Node
from aotc.frontend.tflite.products import multiplier
from aotc.frontend.tflite.registry import tflite_op


@tflite_op("ADD_N")
def add_n(node: Node) -> Tensor | First:
    """Of integers, all of one scale: the sum begins with minus the zero point."""
    terms, ordered = node.alike(*range(len(node.inputs)))
    node.require_type(0, "float32", "int8", "int32")
    if not node.is_quantized:
        return ordered(reduce(Tensor.__add__, terms))
    own = node.input_quantization(0)
    for position in range(len(terms)):
        node.require_type(position, "int8")
        same = node.input_quantization(position) == own
        node.require(same, "unsupported-type", f"input {position} has another scale than input 0")
    sums = reduce(Tensor.__add__, (node.integers(each, own[1]) for each in terms))
    return ordered(_halved(node, sums))


@tflite_op("CUMSUM")
def cumsum(node: Node) -> Tensor:
    """Running sums; of integers each begins with minus the zero point."""
    node.require_type(0, "float32", "int8", "int32", "int64")
    axis = node.integer_of(1, "the axis")
    ends = {"exclusive": bool(node.option("Exclusive")), "reverse": bool(node.option("Reverse"))}
    x, more = node.tensor(0), {"kind": "sum", "axis": node.axis(0, axis), **ends}
    if not node.is_quantized:
        return x.emit("cumulative", **more)
    _, point = node.input_quantization(0)
    return _halved(node, node.integers(x, point).emit("cumulative", **more))


def _halved(node: Node, sums: Tensor) -> Tensor:
    """Sums less the zero point once more, times 2^20 and halved, to the scale of the result."""
    (scale, point), (to, _) = node.input_quantization(0), node.quantization(node.results[0])
    sums = sums - point if point else sums
    by = Multiplier.of(2 * np.float64(scale) / (2**20 * np.float64(to)))
    return node.requantized(sums * (1 << 19), by)


@tflite_op("BATCH_MATMUL")
def batch_matmul(node: Node) -> Tensor:
    node.require_type(0, "float32", "int8", "int16")
    sides = [node.tensor(0), node.tensor(1)]
    for position, name in enumerate(("AdjX", "AdjY")):
        rank = len(sides[position].shape)
        node.require(rank > 1, "invalid-shape", f"input {position} has rank {rank}", "it must be a matrix")
        if node.option(name):
            sides[position] = sides[position].transpose([*range(rank - 2), rank - 1, rank - 2])
    if not node.is_quantized:
        return sides[0] @ sides[1]
    node.require_type(1, str(sides[0].dtype))
    by, points = multiplier(node), [node.input_quantization(position)[1] for position in (0, 1)]
    if sides[0].dtype == np.int16:
        node.require(points == [0, 0], "unsupported-type", "its numbers of 16 bits have a zero point", "it must be 0")
        sums = sides[0].cast(i64) @ sides[1].cast(i64)
        return node.requantized_once(sums, by, np.array(sides[0].shape[-1] << 30))
    given = {"lhs_zero_point": points[0] or None, "rhs_zero_point": points[1] or None}
    return node.requantized(sides[0].emit("matmul", sides[1], accumulator=i32, **given), by)
