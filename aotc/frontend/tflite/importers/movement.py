"""Operators that move elements."""

from __future__ import annotations

import numpy as np

from aotc.frontend.emitter import Tensor
from aotc.frontend.tflite.node import PLACES, TO_FIRST, First, Node
from aotc.frontend.tflite.registry import tflite_op


@tflite_op("RESHAPE", "SQUEEZE", "EXPAND_DIMS", moves=True)
def reshape(node: Node) -> Tensor:
    """The same elements in the shape that the model declares."""
    return node.shaped(node.tensor(0))


@tflite_op("TRANSPOSE", moves=True)
def transpose(node: Node) -> Tensor:
    permutation = node.array(1, "the permutation")
    return node.tensor(0).transpose([int(axis) for axis in permutation])


@tflite_op("CONCATENATION", moves=True)
def concatenation(node: Node) -> Tensor | First:
    parts, ordered = node.alike(*range(len(node.inputs)))
    rank, axis = len(parts[0].shape), node.option("Axis")
    axis = axis % max(rank, 1)
    is_first = ordered is First
    value = node.emit("concat", parts, axis=PLACES[axis] if is_first else axis)
    return ordered(node.activated(Tensor(node, value)) if node.results[0].dtype == "float32" else Tensor(node, value))


@tflite_op("PAD", "PADV2", moves=True)
def pad(node: Node) -> Tensor | First:
    """With zeros, or what stands for them; PADV2 with the number that it is given."""
    (x,), ordered = node.alike(0)
    amounts = node.array(1, "the pads").reshape(-1, 2).astype(np.int64)
    if ordered is First:
        amounts = amounts[list(TO_FIRST)]
    if (value := node.optional(2)) is None:
        point = 0 if node.results[0].quantization is None else node.quantization(node.results[0])[1]
        value = node.constant(np.array(point, x.dtype))
    pads = [int(each) for each in amounts.T.reshape(-1)]
    return ordered(x.emit("pad", value, pads=pads, mode="constant"))
