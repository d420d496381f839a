"""Shapes, and tensors that are made of them: repeated, filled or converted."""

from __future__ import annotations

import numpy as np

from aotc.frontend.emitter import Tensor
from aotc.frontend.tflite.node import First, Node
from aotc.frontend.tflite.registry import tflite_op


@tflite_op("SHAPE", moves=True)
def shape(node: Node) -> Tensor:
    return _made(node, node.declared(0).tensor.shape)


@tflite_op("RANK", moves=True)
def rank(node: Node) -> Tensor:
    return _made(node, len(node.declared(0).tensor.shape))


def _made(node: Node, value: object) -> Tensor:
    return Tensor(node, node.constant(np.asarray(value, node.results[0].dtype)))


@tflite_op("ZEROS_LIKE", moves=True)
def zeros_like(node: Node) -> Tensor:
    """Zeros, whatever these stand for."""
    return _made(node, 0).emit("broadcast", shape=node.results[0].shape)


@tflite_op("FILL", moves=True)
def fill(node: Node) -> Tensor:
    """One number in the shape that the model declares."""
    return node.tensor(1).reshape([]).emit("broadcast", shape=node.results[0].shape)


@tflite_op("BROADCAST_TO", moves=True)
def broadcast_to(node: Node) -> Tensor:
    return node.tensor(0).emit("broadcast", shape=node.results[0].shape)


@tflite_op("BROADCAST_ARGS", moves=True)
def broadcast_args(node: Node) -> Tensor:
    """The shape that two shapes broadcast to."""
    sides = node.tensor(0), node.tensor(1)
    count = max(side.shape[0] for side in sides)
    first, second = (
        side.emit("pad", side.scalar(1).value, pads=[count - side.shape[0], 0], mode="constant")
        if side.shape[0] < count
        else side
        for side in sides
    )
    return first.compare("eq", 1).choose(second, first)


@tflite_op("TILE", moves=True)
def tile(node: Node) -> Tensor:
    """Each axis several times."""
    x, counts = node.tensor(0), node.integers_of(1, "the counts")
    extents = x.shape
    fits = len(counts) == len(extents) and min(counts, default=0) >= 0
    node.require(fits, "invalid-value", f"counts {counts} for a shape {list(extents)}")
    apart = np.stack([np.ones_like(extents), extents], 1).reshape(-1).tolist()
    tiled = np.stack([counts, extents], 1).reshape(-1).tolist()
    whole = [extent * count for extent, count in zip(extents, counts, strict=True)]
    return x.reshape(apart).emit("broadcast", shape=tiled).reshape(whole)


@tflite_op("CAST", moves=True)
def cast(node: Node) -> Tensor | First:
    """Real numbers are cut off towards 0."""
    (x,), ordered = node.alike(0)
    return ordered(x.cast(node.to))
