"""Operators that move elements, or make them of nothing."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from lite_reference.fixed import Array, clipped, requantized, scaled, wide
from lite_reference.nodes import Node, computes


def _ints(node: Node, index: int) -> list[int]:
    return [int(each) for each in np.atleast_1d(node[index].array).reshape(-1)]


@computes("RESHAPE", "SQUEEZE", "EXPAND_DIMS")
def reshape(node: Node) -> Array:
    """The elements in order."""
    return node[0].array.reshape(node.shape)


@computes("TRANSPOSE")
def transpose(node: Node) -> Array:
    """Axes in another order."""
    return node[0].array.transpose(_ints(node, 1))


@computes("PAD", "PADV2")
def pad(node: Node) -> Array:
    """With the third input, else what stands for 0."""
    value = node.get(2)
    fill = value.array.reshape(-1)[0] if value else node.out.zero if node[0].is_quantized else 0
    return np.pad(node[0].array, node[1].array.astype(int), constant_values=fill)


@computes("MIRROR_PAD")
def mirror_pad(node: Node) -> Array:
    """With the image in a mirror, which repeats the border where it is symmetric."""
    mode = "reflect" if node.option("mode", "REFLECT") == "REFLECT" else "symmetric"
    return np.pad(node[0].array, node[1].array.astype(int), mode=mode)


@computes("CONCATENATION")
def concatenation(node: Node) -> Array:
    """Along an axis, of one scale."""
    return np.concatenate([node[k].array for k in range(len(node.inputs))], node.option("axis"))


@computes("PACK")
def pack(node: Node) -> Array:
    """Along a new axis."""
    return np.stack([node[k].array for k in range(len(node.inputs))], node.option("axis"))


@computes("UNPACK")
def unpack(node: Node) -> Sequence[Array]:
    """Each index of an axis by itself."""
    axis = node.option("axis")
    return [np.ascontiguousarray(each) for each in np.moveaxis(node[0].array, axis, 0)]


@computes("SPLIT")
def split(node: Node) -> Sequence[Array]:
    """Equal shares of an axis, which is the first input."""
    return np.split(node[1].array, node.option("num_splits"), _ints(node, 0)[0])


@computes("SPLIT_V")
def split_v(node: Node) -> Sequence[Array]:
    """Shares of given lengths, one of which may be -1."""
    sizes, axis = _ints(node, 1), _ints(node, 2)[0]
    sizes = [node[0].array.shape[axis] - sum(sizes) - 1 if size < 0 else size for size in sizes]
    return np.split(node[0].array, np.cumsum(sizes)[:-1], axis)


@computes("SLICE")
def slice_(node: Node) -> Array:
    """From a start, of a size, of which -1 is all that follows."""
    pairs = zip(_ints(node, 1), _ints(node, 2), strict=True)
    return node[0].array[tuple(slice(start, None if size < 0 else start + size) for start, size in pairs)]


@computes("STRIDED_SLICE")
def strided_slice(node: Node) -> Array:
    """As Python slices, with masks of what is left out, what is one index, a new axis, or all other axes."""
    picks: list[Any] = []
    for axis, (begin, end, stride) in enumerate(zip(*(_ints(node, k) for k in (1, 2, 3)), strict=True)):
        bit = 1 << axis
        if node.option("ellipsis_mask", 0) & bit or node.option("new_axis_mask", 0) & bit:
            picks.append(... if node.option("ellipsis_mask", 0) & bit else None)
            continue
        if node.option("shrink_axis_mask", 0) & bit:
            picks.append(begin)
            continue
        start, stop = node.option("begin_mask") & bit, node.option("end_mask") & bit
        end += begin if node.option("offset", False) else 0
        picks.append(slice(None if start else begin, None if stop else end, stride))
    return np.ascontiguousarray(node[0].array[tuple(picks)])


@computes("GATHER")
def gather(node: Node) -> Array:
    """Indices of an axis, for each of the first `batch_dims` axes others."""
    x, places, axis, many = node[0].array, node[1].array, node.option("axis"), node.option("batch_dims")
    axis += x.ndim if axis < 0 else 0
    if not many:
        return np.take(x, places, axis)
    rows = np.ndindex(*x.shape[:many])
    found = [np.take(x[row], places[row], axis - many) for row in rows]
    return np.stack(found).reshape(node.shape)


@computes("GATHER_ND")
def gather_nd(node: Node) -> Array:
    """Elements, or what remains of axes, at places of several indices."""
    return node[0].array[tuple(np.moveaxis(node[1].array, -1, 0))]


@computes("EMBEDDING_LOOKUP")
def embedding_lookup(node: Node) -> Array:
    """Rows of a table, which are dequantised where the output is float."""
    rows = node[1].array[node[0].array]
    if node.out.dtype == rows.dtype.name:
        return rows
    return rows.astype(np.float32) * node[1].scale


@computes("BROADCAST_TO")
def broadcast_to(node: Node) -> Array:
    """One shape made another."""
    return np.array(np.broadcast_to(node[0].array, _ints(node, 1)))


@computes("BROADCAST_ARGS")
def broadcast_args(node: Node) -> Array:
    """The shape of both."""
    return np.array(np.broadcast_shapes(_ints(node, 0), _ints(node, 1)), node.out.dtype)


@computes("FILL")
def fill(node: Node) -> Array:
    """A shape of one value."""
    return np.full(_ints(node, 0), node[1].array.reshape(-1)[0], node.out.dtype)


@computes("SHAPE")
def shape(node: Node) -> Array:
    """The shape of the input."""
    return np.array(node[0].array.shape, node.out.dtype)


@computes("ZEROS_LIKE")
def zeros_like(node: Node) -> Array:
    """Zeros, not the zero point."""
    return np.zeros_like(node[0].array)


@computes("TILE")
def tile(node: Node) -> Array:
    """Each axis several times."""
    return np.tile(node[0].array, _ints(node, 1))


@computes("RANK")
def rank(node: Node) -> Array:
    """How many axes there are."""
    return np.array(node[0].array.ndim, node.out.dtype)


@computes("SCATTER_ND")
def scatter_nd(node: Node) -> Array:
    """Updates summed, one after the other, at places of several indices."""
    found = np.zeros(node.shape, node.out.dtype)
    np.add.at(found, tuple(np.moveaxis(node[0].array, -1, 0)), node[1].array)
    return found


@computes("SELECT")
def select(node: Node) -> Array:
    """By elements, or by rows where the condition has one axis."""
    condition = node[0].array
    condition = condition.reshape(*condition.shape, *[1] * (node[1].array.ndim - condition.ndim))
    return np.where(condition, node[1].array, node[2].array)


@computes("REVERSE_V2")
def reverse_v2(node: Node) -> Array:
    """Axes the other way round."""
    return np.ascontiguousarray(np.flip(node[0].array, tuple(_ints(node, 1))))


@computes("SPACE_TO_DEPTH")
def space_to_depth(node: Node) -> Array:
    """Blocks of rows and columns behind each other in the channels."""
    (batch, height, width, depth), block = node[0].array.shape, node.option("block_size")
    blocks = node[0].array.reshape(batch, height // block, block, width // block, block, depth)
    return blocks.transpose(0, 1, 3, 2, 4, 5).reshape(node.shape)


@computes("DEPTH_TO_SPACE")
def depth_to_space(node: Node) -> Array:
    """The way back."""
    (batch, height, width, depth), block = node[0].array.shape, node.option("block_size")
    blocks = node[0].array.reshape(batch, height, width, block, block, depth // block**2)
    return blocks.transpose(0, 1, 3, 2, 4, 5).reshape(node.shape)


@computes("SPACE_TO_BATCH_ND")
def space_to_batch_nd(node: Node) -> Array:
    """Padded with what stands for 0; blocks in the batch."""
    block, pads = _ints(node, 1), node[2].array.reshape(-1, 2)
    count = len(block)
    wide_pads = [(0, 0), *(tuple(each) for each in pads), *[(0, 0)] * (node[0].array.ndim - 1 - count)]
    x = np.pad(node[0].array, wide_pads, constant_values=node.out.zero if node[0].is_quantized else 0)
    shape_ = [x.shape[0]]
    for size, each in zip(x.shape[1:], block, strict=False):
        shape_ += [size // each, each]
    x = x.reshape(*shape_, *x.shape[1 + count :])
    order = [2 * k + 2 for k in range(count)] + [0] + [2 * k + 1 for k in range(count)]
    return x.transpose(*order, *range(2 * count + 1, x.ndim)).reshape(node.shape)


@computes("BATCH_TO_SPACE_ND")
def batch_to_space_nd(node: Node) -> Array:
    """The way back, and a border cut off."""
    block, crops = _ints(node, 1), node[2].array.reshape(-1, 2)
    count, x = len(block), node[0].array
    x = x.reshape(*block, x.shape[0] // int(np.prod(block)), *x.shape[1:])
    order = [count]
    for k in range(count):
        order += [count + 1 + k, k]
    x = x.transpose(*order, *range(2 * count + 1, x.ndim))
    sizes = [x.shape[1 + 2 * k] * block[k] for k in range(count)]
    x = x.reshape(x.shape[0], *sizes, *x.shape[2 * count + 1 :])
    cuts = (slice(low, size - high) for (low, high), size in zip(crops, sizes, strict=True))
    return np.ascontiguousarray(x[(slice(None), *cuts)])


@computes("DYNAMIC_UPDATE_SLICE")
def dynamic_update_slice(node: Node) -> Array:
    """A window written over, moved inside where it would reach out."""
    x, update = node[0].array.copy(), node[1].array
    spare = (size - width for size, width in zip(x.shape, update.shape, strict=True))
    starts = (min(max(start, 0), room) for start, room in zip(_ints(node, 2), spare, strict=True))
    x[tuple(slice(start, start + width) for start, width in zip(starts, update.shape, strict=True))] = update
    return x


@computes("CAST")
def cast(node: Node) -> Array:
    """Floats are cut off towards 0."""
    return node[0].array.astype(node.out.dtype)


# --- running sums ----------------------------------------------------------------------------------------------------


def _sum(node: Node, halves: Array) -> Array:
    """Sums of numbers shifted left by 20 bits and halved, scaled back."""
    real = 2 * float(node[0].scale) / ((1 << 20) * float(node.out.scale))
    return clipped(scaled(halves, real) + node.out.zero, np.int8)


def _half(x: Array) -> Array:
    return requantized(wide(x) << 20, 1 << 30, 0)


@computes("ADD_N")
def add_n(node: Node) -> Array:
    """int8 of one scale; the sum begins with the zero point, subtracted once more than there are inputs."""
    count = len(node.inputs)
    if node[0].dtype == "float32":
        return sum((node[k].array for k in range(1, count)), node[0].array)
    return _sum(node, sum((_half(node[k].centered) for k in range(count)), _half(np.array(-node[0].zero))))


@computes("CUMSUM")
def cumsum(node: Node) -> Array:
    """As ADD_N: in int8 each sum begins with the zero point subtracted."""
    axis, x = _ints(node, 1)[0], node[0]
    values = x.array if x.dtype == "float32" else _half(x.centered)
    values = np.flip(values, axis) if node.option("reverse", False) else values
    sums = np.cumsum(values, axis, dtype=values.dtype)
    if node.option("exclusive", False):
        sums = sums - values if x.dtype != "float32" else np.roll(sums, 1, axis)
        if x.dtype == "float32":
            np.moveaxis(sums, axis, 0)[0] = 0
    sums = np.flip(sums, axis) if node.option("reverse", False) else sums
    return sums.astype(np.float32) if x.dtype == "float32" else _sum(node, sums + _half(np.array(-x.zero)))


@computes("DENSIFY")
def densify(node: Node) -> Array:
    """A matrix of which each row's stored elements, or blocks of a few neighbours, have places."""
    sparsity, out = node[0].tensor.sparsity, np.zeros(node.shape, np.float32)
    assert sparsity is not None and not isinstance(sparsity[2][1], int)
    size = sparsity[2][2] if len(sparsity[2]) > 2 else 1
    assert isinstance(size, int)
    starts, columns = sparsity[2][1]
    blocks, stored = out.reshape(len(out), -1, size), node[0].array.reshape(-1, size)
    for row, (start, end) in enumerate(pairwise(starts)):
        blocks[row, np.asarray(columns[start:end], int)] = stored[start:end]
    return out
