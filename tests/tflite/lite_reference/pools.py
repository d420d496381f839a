"""Pools of windows; scales and zero points of input and output are the same."""

from __future__ import annotations

import numpy as np

from lite_reference.fixed import Array
from lite_reference.nodes import Node, activated, computes, real_activated
from lite_reference.products import windows


def _window(node: Node) -> tuple[int, int]:
    return node.option("filter_height"), node.option("filter_width")


def _counts(node: Node) -> Array:
    """Elements of each window that lie in the image."""
    inside = windows(np.ones((1, *node[0].array.shape[1:3], 1), np.int64), node, _window(node), 0)
    return inside.sum((3, 4))


@computes("AVERAGE_POOL_2D")
def average_pool_2d(node: Node) -> Array:
    """Sums of elements with their zero point, divided by what lies in the image, ties away from 0, not from the zero
    point."""
    x = node[0].array
    if node[0].dtype == "float32":
        sums = windows(x.astype(np.float64), node, _window(node), 0).sum((3, 4))
        return real_activated(node, (sums / _counts(node)).astype(np.float32))
    sums, counts = windows(x.astype(np.int64), node, _window(node), 0).sum((3, 4)), _counts(node)
    return activated(node, np.sign(sums) * ((np.abs(sums) + counts // 2) // counts))


@computes("MAX_POOL_2D")
def max_pool_2d(node: Node) -> Array:
    """The greatest of a window."""
    x = node[0].array
    least = -np.inf if x.dtype == np.float32 else np.iinfo(x.dtype).min
    most = windows(x, node, _window(node), least).max((3, 4)).astype(x.dtype)
    return real_activated(node, most) if x.dtype == np.float32 else activated(node, most)


@computes("L2_POOL_2D")
def l2_pool_2d(node: Node) -> Array:
    """The root of the mean of squares; of floats alone."""
    sums = windows(node[0].array.astype(np.float64) ** 2, node, _window(node), 0).sum((3, 4))
    return real_activated(node, np.sqrt(sums / _counts(node)).astype(np.float32))
