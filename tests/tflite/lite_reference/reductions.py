"""Sums, means and extremes along axes."""

from __future__ import annotations

import numpy as np

from lite_reference.fixed import Array, clipped, quantized_multiplier, requantized, wrapped
from lite_reference.nodes import Node, computes


def _axes(node: Node) -> tuple[int, ...]:
    rank = node[0].array.ndim
    return tuple(sorted({int(axis) % rank for axis in np.atleast_1d(node[1].array)})) if rank else ()


@computes("MEAN", "SUM")
def mean(node: Node) -> Array:
    """Sums less the zero points, requantised. The factor of a mean is divided by the number of elements as integers,
    cut off, after a left shift by that number's bits, at most 32 and 31 more than the factor's own shift."""
    axes, x = _axes(node), node[0]
    count = int(np.prod([x.array.shape[axis] for axis in axes], dtype=np.int64))
    is_mean = node.operator.code == "MEAN"
    if x.dtype == "float32":
        sums = x.array.astype(np.float64).sum(axes)
        return np.asarray(sums / count if is_mean else sums, np.float32)
    multiplier, shift = quantized_multiplier(float(x.scale) / float(node.out.scale))
    if is_mean:
        more = min(count.bit_length() - 1, 32, 31 + shift)
        multiplier, shift = (multiplier << more) // count, shift - more
    out = requantized(wrapped(x.centered.sum(axes)), multiplier, shift) + node.out.zero
    return np.asarray(clipped(out, node.out.dtype))


@computes("REDUCE_MAX")
def reduce_max(node: Node) -> Array:
    """The greatest along axes."""
    return np.asarray(node[0].array.max(_axes(node)))


@computes("REDUCE_MIN")
def reduce_min(node: Node) -> Array:
    """The least along axes."""
    return np.asarray(node[0].array.min(_axes(node)))


@computes("REDUCE_ALL")
def reduce_all(node: Node) -> Array:
    """Whether all along axes are true."""
    return np.asarray(node[0].array.all(_axes(node)))
