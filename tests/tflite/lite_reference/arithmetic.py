"""Sums, differences and products of two tensors that are broadcast."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lite_reference.fixed import Array, scaled, wide, wrapped
from lite_reference.nodes import Node, activated, computes, integer_range, real_activated


def _on_one_scale(node: Node, function: Callable[[Array, Array], Array]) -> Array:
    """A function of two inputs, each shifted left by 20 bits (15 of 16) and scaled to twice the greater scale, and the
    result scaled back: three requantisations, each in two roundings; scales are divided in double."""
    left, scales = 15 if node.out.dtype == "int16" else 20, [float(node[k].scale) for k in (0, 1)]
    twice = 2 * max(scales)
    a, b = (scaled(wide(node[k].centered) << left, scales[k] / twice) for k in (0, 1))
    last = twice / ((1 << left) * float(node.out.scale))
    return activated(node, scaled(wrapped(function(a, b)), last) + node.out.zero)


@computes("ADD")
def add(node: Node) -> Array:
    """Plain int32 wraps and has no activation, whatever the node says."""
    a, b = node[0], node[1]
    if a.dtype == "float32":
        return real_activated(node, a.array + b.array)
    if a.dtype == "int32":
        return wrapped(wide(a.array) + b.array).astype(np.int32)
    return _on_one_scale(node, np.add)


@computes("SUB")
def sub(node: Node) -> Array:
    """As a sum, but plain int32 has an activation."""
    a, b = node[0], node[1]
    if a.dtype == "float32":
        return real_activated(node, a.array - b.array)
    if a.dtype == "int32":
        range_ = integer_range(node.option("fused_activation_function", "NONE"))
        return np.clip(wrapped(wide(a.array) - b.array), *range_).astype(np.int32)
    return _on_one_scale(node, np.subtract)


@computes("MUL")
def mul(node: Node) -> Array:
    """Products of what lies above the zero points, requantised once, in two roundings; scales multiply in double."""
    a, b = node[0], node[1]
    if a.dtype == "float32":
        return real_activated(node, a.array * b.array)
    if a.dtype == "int32":
        range_ = integer_range(node.option("fused_activation_function", "NONE"))
        return np.clip(wrapped(wide(a.array) * b.array), *range_).astype(np.int32)
    real = float(a.scale) * float(b.scale) / float(node.out.scale)
    return activated(node, scaled(a.centered * b.centered, real) + node.out.zero)
