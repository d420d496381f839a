"""Images of another size."""

from __future__ import annotations

import numpy as np

from lite_reference.fixed import Array, rounded
from lite_reference.nodes import Node, computes


def _cut(a: Array, b: int) -> Array:
    """A quotient cut off towards 0."""
    return np.sign(a) * (np.abs(a) // b)


def _between(node: Node, axis: int) -> tuple[Array, Array, Array]:
    """For each place of the output the two rows it lies between, and 1024ths of the way."""
    size, out = node[0].array.shape[axis], node.shape[axis]
    scale = ((size << 10) + out // 2) // out
    if node.option("align_corners", False) and out > 1:
        scale = (((size - 1) << 10) + (out - 1) // 2) // (out - 1)
    place = np.arange(out) * scale
    if node.option("half_pixel_centers", False):
        place = place + scale // 2 - (1 << 9)
    low = np.maximum(_cut(place, 1 << 10), 0)
    return low, np.minimum(_cut(place + 1023, 1 << 10), size - 1), place - (low << 10)


def _real_between(node: Node, axis: int) -> tuple[Array, Array, Array]:
    """The same, and the fraction of the way in float32."""
    size, out = node[0].array.shape[axis], node.shape[axis]
    corners = node.option("align_corners", False) and out > 1
    scale = np.float32(size - 1) / np.float32(out - 1) if corners else np.float32(size) / np.float32(out)
    place = np.arange(out, dtype=np.float32)
    half = np.float32(0.5)
    place = (place + half) * scale - half if node.option("half_pixel_centers", False) else place * scale
    low = np.maximum(np.floor(place), 0).astype(np.int64)
    return low, np.minimum(np.ceil(place), size - 1).astype(np.int64), place - low.astype(np.float32)


@computes("RESIZE_BILINEAR")
def resize_bilinear(node: Node) -> Array:
    """int8: places in 1024ths, products in 2 ** 20ths, ties away from 0."""
    x, is_real = node[0].array, node[0].dtype == "float32"
    whole = np.float32(1) if is_real else 1 << 10
    (top, bottom, down), (left, right, along) = (
        (_real_between if is_real else _between)(node, 1),
        (_real_between if is_real else _between)(node, 2),
    )
    down, along = down[:, None, None], along[None, :, None]
    x = x if is_real else x.astype(np.int64)
    total = (
        x[:, top][:, :, left] * (whole - down) * (whole - along)
        + x[:, bottom][:, :, left] * down * (whole - along)
        + x[:, top][:, :, right] * (whole - down) * along
        + x[:, bottom][:, :, right] * down * along
    )
    if is_real:
        return total.astype(np.float32)
    return _cut(total + np.where(total > 0, 1 << 19, -(1 << 19)), 1 << 20).astype(node[0].dtype)


@computes("RESIZE_NEAREST_NEIGHBOR")
def resize_nearest_neighbor(node: Node) -> Array:
    """Places in float32: cut off, or with aligned corners rounded, ties away from 0."""
    places: list[Array] = []
    for axis in (1, 2):
        size, out = node[0].array.shape[axis], node.shape[axis]
        corners = node.option("align_corners", False)
        scale = (
            np.float32(size - 1) / np.float32(out - 1) if corners and out > 1 else np.float32(size) / np.float32(out)
        )
        half = np.float32(0.5 if node.option("half_pixel_centers", False) else 0)
        place = (np.arange(out, dtype=np.float32) + half) * scale
        place = (rounded(place) if corners else np.floor(place)).astype(np.int64)
        places.append(np.clip(place, 0, size - 1))
    return node[0].array[:, places[0]][:, :, places[1]]
