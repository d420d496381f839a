"""From floats to integers, back, and from one scale to another."""

from __future__ import annotations

import numpy as np

from lite_reference.fixed import Array, clipped, quantized_multiplier, requantized, rounded
from lite_reference.nodes import Node, computes


@computes("QUANTIZE")
def quantize(node: Node) -> Array:
    """Floats: divided in float, ties away from 0. Integers: requantised in two roundings, scales divided in double."""
    x, to = node[0], node.out
    if x.dtype == "float32":
        return clipped(rounded(x.array / to.scale).astype(np.int64) + to.zero, to.dtype)
    factor = quantized_multiplier(float(x.scale) / float(to.scale))
    return clipped(requantized(x.centered, *factor) + to.zero, to.dtype)


@computes("DEQUANTIZE")
def dequantize(node: Node) -> Array:
    """Elements less the zero point times the scale, in float; float16 as it is."""
    if node[0].dtype == "float16":
        return node[0].array.astype(np.float32)
    return (node[0].centered * float(node[0].scale)).astype(np.float32)
