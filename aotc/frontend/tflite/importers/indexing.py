"""Operators that choose elements by tensors: by indices, by conditions, by where a part begins."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import f32, i32

from aotc.frontend.emitter import Tensor
from aotc.frontend.tflite.node import First, Node
from aotc.frontend.tflite.registry import tflite_op


@tflite_op("GATHER", moves=True)
def gather(node: Node) -> Tensor:
    """At indices along an axis; the first `batch_dims` axes of both go together."""
    x, indices = node.tensor(0), node.tensor(1)
    axis, batch = node.axis(0, node.option("Axis")), node.option("BatchDims")
    batch += len(indices.shape) if batch < 0 else 0
    node.require(0 <= batch <= min(axis, len(indices.shape)), "invalid-attribute", f"batch_dims is {batch}")
    if not batch:
        return x.emit("gather", indices, axis=axis)
    rank, behind = len(x.shape), len(indices.shape) - batch
    others = [each for each in range(batch, rank) if each != axis]
    x = x.transpose([*range(batch), axis, *others]) if axis != batch else x
    found = x.emit("gather_nd", indices.reshape([*indices.shape, 1]), batch_dims=batch)
    if axis == batch:
        return found
    before, start = axis - batch, batch + behind
    order = [*range(batch), *range(start, start + before), *range(batch, start)]
    return found.transpose([*order, *range(start + before, len(found.shape))])


@tflite_op("GATHER_ND", moves=True)
def gather_nd(node: Node) -> Tensor:
    return node.tensor(0).emit("gather_nd", node.tensor(1), batch_dims=0)


@tflite_op("SCATTER_ND", moves=True)
def scatter_nd(node: Node) -> Tensor:
    """Updates at places of several indices, which are summed where they meet, in zeros."""
    indices, updates = node.tensor(0), node.tensor(1)
    zeros = Tensor(node, node.constant(node.filled(node.results[0].shape, 0, updates.dtype)))
    return zeros.emit("scatter_nd", indices, updates, reduction="add")


@tflite_op("EMBEDDING_LOOKUP", moves=True)
def embedding_lookup(node: Node) -> Tensor:
    """Rows of a table; those of integers times its scale where the result is real."""
    rows = node.tensor(1).emit("gather", node.tensor(0), axis=0)
    if rows.kind == node.to:
        return rows
    node.require_type(1, "int8")
    scale, point = node.input_quantization(1)
    node.require(point == 0, "unsupported-type", "the table has a zero point", "it must be 0")
    return rows.cast(f32) * float(scale)


@tflite_op("DYNAMIC_UPDATE_SLICE", moves=True)
def dynamic_update_slice(node: Node) -> Tensor:
    """A part written over, which begins where it is told, or as near to that as it fits."""
    x, update, starts = node.tensor(0), node.tensor(1), node.tensor(2)
    rank = len(x.shape)
    fits = len(update.shape) == rank and starts.shape == (rank,)
    fits = fits and all(size <= extent for size, extent in zip(update.shape, x.shape, strict=True))
    node.require(fits, "invalid-shape", f"an update {list(update.shape)} does not go into {list(x.shape)}")
    inside: Tensor | None = None
    for axis, (size, extent) in enumerate(zip(update.shape, x.shape, strict=True)):
        if size == extent:
            continue
        start = starts.emit("slice", starts=[axis], steps=[1], shape=[1]).cast(i32)
        start = start.at_least(0).at_most(extent - size)
        places = Tensor(node, node.constant(node.numbers(extent, np.int32))) - start
        update = update.emit("gather", places.at_least(0).at_most(size - 1), axis=axis)
        here = (places >= 0).emit("and", places < size)
        here = here.reshape([extent if each == axis else 1 for each in range(rank)])
        inside = here if inside is None else inside.emit("and", here)
    return update if inside is None else inside.choose(update, x)


@tflite_op("SELECT", "SELECT_V2", moves=True)
def select(node: Node) -> Tensor | First:
    """One or the other, by a condition; all of them broadcast."""
    if node.op_type == "SELECT" and len(node.shape(0)) == 1 < len(node.shape(1)):  # one condition for each row
        condition, rank = node.tensor(0), len(node.shape(1))
        return condition.reshape([*condition.shape, *[1] * (rank - 1)]).choose(node.tensor(1), node.tensor(2))
    (condition, yes, no), ordered = node.alike(0, 1, 2)
    return ordered(condition.choose(yes, no))
