"""Images of another size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import i8

from aotc.dialects.dtypes import integer_range
from aotc.frontend.emitter import Tensor
from aotc.frontend.tflite.node import First, Node
from aotc.frontend.tflite.registry import tflite_op
from aotc.model.weight_store import Array

_BITS = 10
"""Of the fraction of a place, where images are integers."""


@dataclass(frozen=True)
class _Axis:
    """An axis of `extent` elements that becomes one of `count`."""

    extent: int
    count: int
    corners: bool
    """Whether the outermost elements are those of the operand."""
    half: bool
    """Whether elements are in the middle of what they cover."""

    @property
    def scale(self) -> np.float32:
        """Elements of the operand for one of the result."""
        if self.corners and self.count > 1:
            return np.float32(self.extent - 1) / np.float32(self.count - 1)
        return np.float32(self.extent) / np.float32(self.count)

    def nearest(self) -> Array:
        """The nearest element of the operand for each of the result, in f32 as the kernel has it."""
        offset = np.float32(0.5 if self.half else 0)
        places = (np.arange(self.count, dtype=np.float32) + offset) * self.scale
        places = np.floor(places + np.float32(0.5) if self.corners else places)
        return np.clip(places, 0, self.extent - 1).astype(np.int64)

    def real(self) -> tuple[Array, Array]:
        """The two elements that each of the result is between, and their weights."""
        half = np.float32(0.5)
        places = np.arange(self.count, dtype=np.float32)
        places = (places + half) * self.scale - half if self.half else places * self.scale
        low = np.maximum(np.floor(places), 0).astype(np.int64)
        high = np.minimum(np.ceil(places), self.extent - 1).astype(np.int64)
        share = places - low.astype(np.float32)
        return np.stack([low, high], 1), np.stack([1 - share, share], 1)

    def integer(self) -> tuple[Array, Array]:
        """The same in 1024ths."""
        size, out, one = self.extent, self.count, 1 << _BITS
        if self.corners and out > 1:
            size, out = size - 1, out - 1
        scale = ((size << _BITS) + out // 2) // out
        places = np.arange(self.count) * scale + (scale // 2 - one // 2 if self.half else 0)
        low = np.maximum(places, 0) >> _BITS
        high = np.clip((places + one - 1) // one, 0, self.extent - 1)
        share = places - (low << _BITS)
        return np.stack([low, high], 1), np.stack([one - share, share], 1).astype(np.int32)


def _axes(node: Node, is_first: bool) -> dict[int, _Axis]:
    """The axes of height and width, by their places."""
    sizes, given = node.integers_of(1, "the size"), node.declared(0).tensor.shape
    fits = len(given) == 4 and len(sizes) == 2 and min(sizes) > 0
    node.require(fits, "invalid-value", f"an image of shape {list(given)} of size {sizes}")
    for size in sizes:  # two places, and two weights
        node.require_room(size * 4, np.float64)
    ways = bool(node.option("AlignCorners")), bool(node.option("HalfPixelCenters"))
    first = 2 if is_first else 1
    return {first + place: _Axis(given[1 + place], sizes[place], *ways) for place in (0, 1)}


@tflite_op("RESIZE_NEAREST_NEIGHBOR", moves=True)
def resize_nearest_neighbor(node: Node) -> Tensor | First:
    (x,), ordered = node.alike(0)
    for axis, one in _axes(node, ordered is First).items():
        places = one.nearest()
        if not np.array_equal(places, np.arange(one.extent)):
            x = x.emit("gather", node.constant(places), axis=axis)
    return ordered(x)


@tflite_op("RESIZE_BILINEAR")
def resize_bilinear(node: Node) -> Tensor | First:
    """Of integers: places in 1024ths, so that sums are 2^20 times as great; rounded, the middle away from zero."""
    node.require_type(0, "float32", "int8")
    (x,), ordered = node.alike(0)
    axes = _axes(node, ordered is First)
    if all(one.extent == one.count for one in axes.values()):
        return ordered(x)
    if x.kind != i8:
        for axis, one in axes.items():
            places, weights = one.real()
            x = x.emit("resample", node.constant(places), node.constant(weights), axis=axis)
        return ordered(x)
    x = node.integers(x, 0)
    for (axis, one), double in zip(axes.items(), (1, 2), strict=True):
        places, weights = one.integer()
        x = x.emit("resample", node.constant(places), node.constant(weights * np.int32(double)), axis=axis)
    made = node.constant(np.array(1 << 30, np.int32)), node.constant(np.array(2 * _BITS, np.int32))
    low, high = integer_range(node.to)
    return ordered(x.emit("doubling_requantize", *made, axis=0, zero_point=0, low=low, high=high, to=node.to))
