"""Sums of products of integers, at the scale of the result: what layers and products of matrices compute."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from aotc.dialects.dtypes import element_type
from aotc.frontend.emitter import Tensor
from aotc.frontend.tflite.arithmetic import Multiplier, wrapped
from aotc.frontend.tflite.node import Node
from aotc.model.weight_store import Array

Product: TypeAlias = Callable[[Tensor, SSAValue | None, int], Tensor]
"""Sums in i32 of the products of a first operand less a zero point, beginning with another operand or nothing."""

_INT32 = 2
"""The number of that element type in the schema."""
_HALF = 8
"""The bits of half a number of 16."""


def layer(
    node: Node,
    product: Product,
    x: Tensor,
    weights: Array,
    *,
    first: int = 0,
    bias: int = 2,
    has_borders: bool = True,
    in_double: bool = False,
) -> Tensor:
    """The result of a layer of `x`, the input at `first`, and the bias at another place. `weights`, i64, have the
    outputs along the first axis, the result has them along the second.

    What all sums of a channel take off for the zero point of `x` is in what they begin with, unless the image
    `has_borders`, where some elements of a window are outside. Sums are rescaled as integers, or as f64.
    """
    start = None if node.value(bias) is None else node.array(bias, "the bias").astype(np.int64)
    point, is_short = node.input_quantization(first)[1], x.dtype == np.int16
    if point and not has_borders:
        less = weights.sum(1) * point
        start, point = -less if start is None else start - less, 0
    if not (is_short and _is_wide(node, bias)):
        sums = product(x, None if start is None else node.constant(wrapped(start).astype(np.int32)), point)
        if in_double:
            return node.requantized_in_double(sums, _quotient(node, first))
        return node.requantized(sums, multiplier(node, first), axis=1)
    sums, most = _wide_sums(node, product, x, weights, start)
    return node.requantized_once(sums, multiplier(node, first), most, axis=1)


def _is_wide(node: Node, bias: int) -> bool:
    """Whether sums of 16-bit numbers are in i64: unless the bias, or what one would be, is i32."""
    found = node.value(bias)
    return node.option("QuantizedBiasType") != _INT32 if found is None else found.tensor.dtype != "int32"


def _wide_sums(node: Node, product: Product, x: Tensor, weights: Array, start: Array | None) -> tuple[Tensor, Array]:
    """Sums of 16-bit numbers, in i32 where the weights leave no others, and how great they may be: else those of
    their halves, added in i64."""
    sizes = np.abs(weights).sum(1)
    begins = np.zeros_like(sizes) if start is None else start
    most = (sizes << 15) + np.abs(begins)
    if int(most.max(initial=0)) < 1 << 31:
        return product(x, None if start is None else node.constant(begins.astype(np.int32)), 0), most
    if int(sizes.max()) < 1 << 16:
        sums = product(x, None, 0).cast(i64)
    else:
        fits = int(sizes.max()) < 1 << 31 - _HALF
        node.require(fits, "too-large", f"magnitudes of weights of a channel make {int(sizes.max())}")
        high = x.emit("shift_right", x.scalar(_HALF)).cast(element_type("int8"))
        low = x.emit("and", x.scalar((1 << _HALF) - 1)).cast(element_type("uint8"))
        sums = product(high, None, 0).cast(i64) * (1 << _HALF) + product(low, None, 0).cast(i64)
    behind = [1] * (len(sums.shape) - 2)
    return (sums if start is None else sums + Tensor(node, node.constant(start.reshape(-1, *behind)))), most


def multiplier(node: Node, first: int = 0) -> Multiplier:
    """The scales of sums over that of the result; the first factor is the input at `first`, the other input 1."""
    return Multiplier.of(_quotient(node, first))


def _quotient(node: Node, first: int) -> Array:
    (given, _), (result, _) = node.input_quantization(first), node.quantization(node.results[0])
    weights = node.declared(1).tensor.quantization
    if weights is None:
        node.fail("unsupported-type", "the weights have no scale", "their integers must stand for real numbers")
    real = np.float64(given) * weights.scales.astype(np.float64) / np.float64(result)
    return real.reshape(()) if weights.is_single else real
