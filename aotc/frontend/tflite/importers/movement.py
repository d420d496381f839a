"""Operators that move elements."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from aotc.frontend.emitter import Tensor, joined
from aotc.frontend.tflite.node import PLACES, TO_FIRST, First, Node
from aotc.frontend.tflite.registry import tflite_op
from aotc.model.weight_store import Array


@tflite_op("RESHAPE", "SQUEEZE", "EXPAND_DIMS", moves=True)
def reshape(node: Node) -> Tensor:
    """The same elements in the shape that the model declares."""
    return node.shaped(node.tensor(0))


@tflite_op("TRANSPOSE", moves=True)
def transpose(node: Node) -> Tensor:
    return node.tensor(0).transpose(node.integers_of(1, "the permutation"))


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
    amounts = node.rows_of(1, "the pads")
    if ordered is First:
        amounts = amounts[list(TO_FIRST)]
    if (value := node.optional(2)) is None:
        point = 0 if node.results[0].quantization is None else node.quantization(node.results[0])[1]
        value = node.constant(np.array(point, x.dtype))
    pads = [int(each) for each in amounts.T.reshape(-1)]
    return ordered(x.emit("pad", value, pads=pads, mode="constant"))


_SYMMETRIC = 1
"""The number in the schema of mirrors that repeat the border."""


@tflite_op("MIRROR_PAD", moves=True)
def mirror_pad(node: Node) -> Tensor:
    """With what a mirror at the border shows."""
    x, skipped = node.tensor(0), 0 if node.option("Mode") == _SYMMETRIC else 1
    for axis, (before, after) in enumerate(node.rows_of(1, "the pads").tolist()):
        extent = x.shape[axis]
        fits = min(before, after) >= 0 and max(before, after) <= extent - skipped
        node.require(fits, "invalid-value", f"{before} and {after} elements around {extent} of axis {axis}")
        first = cut(x, {axis: (before - 1 + skipped, -1, before)})
        last = cut(x, {axis: (extent - 1 - skipped, -1, after)})
        parts = [part for part, count in ((first, before), (x, extent), (last, after)) if count]
        x = joined(parts, axis)
    return x


# --- parts of axes ----------------------------------------------------------------------------------------------------


def cut(x: Tensor, ranges: dict[int, tuple[int, int, int]]) -> Tensor:
    """The slice of `x` with (start, stride, count) along the axes of `ranges` and the whole of the others."""
    full = [ranges.get(axis, (0, 1, extent)) for axis, extent in enumerate(x.shape)]
    if full == [(0, 1, extent) for extent in x.shape]:
        return x
    starts, strides, counts = zip(
        *((start if count else 0, stride, count) for start, stride, count in full), strict=True
    )
    return x.emit("slice", starts=starts, steps=strides, shape=counts)


@tflite_op("SLICE", moves=True)
def slice_(node: Node) -> Tensor:
    """From a start on, of a size, of which -1 is all that follows."""
    x, starts, sizes = node.tensor(0), node.integers_of(1, "the starts"), node.integers_of(2, "the sizes")
    node.require(len(starts) == len(sizes) == len(x.shape), "invalid-value", "starts and sizes are not one an axis")
    every = enumerate(zip(starts, sizes, x.shape, strict=True))
    return cut(x, {axis: (start, 1, extent - start if size < 0 else size) for axis, (start, size, extent) in every})


@tflite_op("STRIDED_SLICE", moves=True)
def strided_slice(node: Node) -> Tensor:
    """As Python slices: masks say which starts and ends are left out, which axes are one index and go, and which places
    stand for a new axis, or for all axes that the others do not name."""
    names = enumerate(("the begins", "the ends", "the strides"), 1)
    begins, ends, strides = (node.integers_of(position, what) for position, what in names)
    x, rank, count = node.tensor(0), len(node.shape(0)), len(begins)
    kinds = ("EllipsisMask", "NewAxisMask", "ShrinkAxisMask", "BeginMask", "EndMask")
    rest, new, one, from_start, to_end = (
        [bool(node.option(name) >> place & 1) for place in range(count)] for name in kinds
    )
    named = sum(not (rest[place] or new[place]) for place in range(count))
    fits = count == len(ends) == len(strides) and named <= rank and sum(rest) <= 1
    node.require(fits, "invalid-value", f"{count} ranges do not fit rank {rank}")
    node.require(0 not in strides, "invalid-value", "a stride is 0")
    ranges: dict[int, tuple[int, int, int]] = {}
    axis = 0
    for place, (begin, end, stride) in enumerate(zip(begins, ends, strides, strict=True)):
        if rest[place] or new[place]:
            axis += rank - named if rest[place] else 0
            continue
        extent = x.shape[axis]
        end = begin + end if node.option("Offset") else end
        if one[place]:
            what = f"index {begin} of axis {axis} of {extent} elements"
            node.require(-extent <= begin < extent, "invalid-value", what)
            ranges[axis] = (begin % extent, 1, 1)
        else:
            bounds = slice(None if from_start[place] else begin, None if to_end[place] else end, stride)
            places = range(extent)[bounds]
            ranges[axis] = (places.start, stride, len(places))
        axis += 1
    return node.shaped(cut(x, ranges))


@tflite_op("REVERSE_V2", moves=True)
def reverse_v2(node: Node) -> Tensor:
    x = node.tensor(0)
    axes = [node.axis(0, axis) for axis in node.integers_of(1, "the axes")]
    return cut(x, {axis: (x.shape[axis] - 1, -1, x.shape[axis]) for axis in axes})


def _shares(node: Node, position: int, axis: int, sizes: Sequence[int]) -> list[Tensor]:
    """Consecutive parts of an axis."""
    x = node.tensor(position)
    fits = len(sizes) == len(node.results) and min(sizes, default=0) >= 0 and sum(sizes) == x.shape[axis]
    node.require(fits, "invalid-value", f"axis {axis} of {x.shape[axis]} elements is cut into {list(sizes)}")
    starts = np.cumsum([0, *sizes]).tolist()
    return [cut(x, {axis: (start, 1, size)}) for start, size in zip(starts, sizes, strict=False)]


@tflite_op("SPLIT", moves=True)
def split(node: Node) -> list[Tensor]:
    """Equal shares of an axis, which is the first input."""
    axis, count = node.axis(1, node.integer_of(0, "the axis")), len(node.results)
    return _shares(node, 1, axis, [node.shape(1)[axis] // count] * count)


@tflite_op("SPLIT_V", moves=True)
def split_v(node: Node) -> list[Tensor]:
    """Shares of given sizes, of which one may be -1: the rest."""
    axis, sizes = node.axis(0, node.integers_of(2, "the axis")[0]), node.integers_of(1, "the sizes")
    rest = node.shape(0)[axis] - sum(size for size in sizes if size >= 0)
    return _shares(node, 0, axis, [rest if size == -1 else size for size in sizes])


@tflite_op("PACK", moves=True)
def pack(node: Node) -> Tensor:
    """Tensors along a new axis."""
    axis = node.axis(0, node.option("Axis"), more=1)
    parts = [node.tensor(position) for position in range(len(node.inputs))]
    return joined([part.reshape([*part.shape[:axis], 1, *part.shape[axis:]]) for part in parts], axis)


@tflite_op("UNPACK", moves=True)
def unpack(node: Node) -> list[Tensor]:
    """Each index of an axis by itself."""
    axis = node.axis(0, node.option("Axis"))
    parts = _shares(node, 0, axis, [1] * len(node.results))
    return [part.reshape([*part.shape[:axis], *part.shape[axis + 1 :]]) for part in parts]


# --- blocks -----------------------------------------------------------------------------------------------------------


@tflite_op("DEPTH_TO_SPACE", moves=True)
def depth_to_space(node: Node) -> Tensor | First:
    """Blocks of channels become rows and columns."""
    (x,), ordered = node.alike(0)
    block, is_first = node.option("BlockSize"), ordered is First
    n, c, h, w = _image(node, x, is_first)
    node.require(block > 0 and not c % (block * block), "invalid-shape", f"{c} channels in blocks of {block}")
    depth = c // (block * block)
    if is_first:
        blocks = x.reshape([n, block, block, depth, h, w]).transpose([0, 3, 4, 1, 5, 2])
        return First(blocks.reshape([n, depth, h * block, w * block]))
    return node.shaped(x.reshape([n, h, w, block, block, depth]).transpose([0, 1, 3, 2, 4, 5]))


@tflite_op("SPACE_TO_DEPTH", moves=True)
def space_to_depth(node: Node) -> Tensor | First:
    """Blocks of rows and columns become channels."""
    (x,), ordered = node.alike(0)
    block, is_first = node.option("BlockSize"), ordered is First
    n, c, h, w = _image(node, x, is_first)
    fits = block > 0 and not h % block and not w % block
    node.require(fits, "invalid-shape", f"a picture of {h} x {w} in blocks of {block}")
    rows, columns = h // block, w // block
    if is_first:
        blocks = x.reshape([n, c, rows, block, columns, block]).transpose([0, 3, 5, 1, 2, 4])
        return First(blocks.reshape([n, c * block * block, rows, columns]))
    return node.shaped(x.reshape([n, rows, block, columns, block, c]).transpose([0, 1, 3, 2, 4, 5]))


def _image(node: Node, x: Tensor, is_first: bool) -> tuple[int, int, int, int]:
    """Batch, channels, height and width."""
    node.require(len(x.shape) == 4, "invalid-shape", f"input 0 has rank {len(x.shape)}", "it must have rank 4")
    n, *rest = x.shape
    c, h, w = rest if is_first else (rest[2], *rest[:2])
    return n, c, h, w


@tflite_op("SPACE_TO_BATCH_ND", moves=True)
def space_to_batch_nd(node: Node) -> Tensor:
    """Padded with what stands for 0; the places in blocks become batches."""
    x, (block, pads) = node.tensor(0), _blocks(node, "the pads")
    count, rank = len(block), len(x.shape)
    around = np.zeros((rank, 2), np.int64)
    around[1 : 1 + count] = pads
    if around.any():
        point = 0 if node.results[0].quantization is None else node.quantization(node.results[0])[1]
        x = x.emit("pad", node.constant(np.array(point, x.dtype)), pads=around.T.reshape(-1).tolist(), mode="constant")
    shape = [x.shape[0]]
    for extent, size in zip(x.shape[1:], block, strict=False):
        node.require(not extent % size, "invalid-shape", f"{extent} elements in blocks of {size}")
        shape += [extent // size, size]
    order = [*range(2, 2 * count + 1, 2), 0, *range(1, 2 * count + 1, 2)]
    blocks = x.reshape([*shape, *x.shape[1 + count :]])
    return node.shaped(blocks.transpose([*order, *range(2 * count + 1, rank + count)]))


@tflite_op("BATCH_TO_SPACE_ND", moves=True)
def batch_to_space_nd(node: Node) -> Tensor:
    """Batches become the places in blocks; what is around them is cut off."""
    x, (block, crops) = node.tensor(0), _blocks(node, "the crops")
    count, rank, size = len(block), len(x.shape), math.prod(block)
    node.require(not x.shape[0] % size, "invalid-shape", f"{x.shape[0]} batches in blocks of {block}")
    batches = x.shape[0] // size
    order = [count]
    for axis in range(count):
        order += [count + 1 + axis, axis]
    blocks = x.reshape([*block, batches, *x.shape[1:]]).transpose([*order, *range(2 * count + 1, rank + count)])
    extents = [extent * size for extent, size in zip(x.shape[1:], block, strict=False)]
    whole = blocks.reshape([batches, *extents, *x.shape[1 + count :]])
    every = enumerate(zip(extents, crops.tolist(), strict=True), 1)
    return cut(whole, {axis: (low, 1, extent - low - high) for axis, (extent, (low, high)) in every})


def _blocks(node: Node, what: str) -> tuple[list[int], Array]:
    """The extents of a block, and for each two numbers."""
    block, more = node.integers_of(1, "the block"), node.rows_of(2, what)
    fits = len(block) == len(more) < len(node.shape(0)) and min(block, default=1) > 0
    node.require(fits and not (more < 0).any(), "invalid-value", f"a block of {block} with {what} {more.tolist()}")
    return block, more
