"""Comparisons, extremes, logic, selection, and quotients and squares of two tensors."""

from __future__ import annotations

import numpy as np

from lite_reference.fixed import (
    Array,
    clipped,
    divide_by_power,
    high_product,
    leading_zeros,
    quantized_multiplier,
    reciprocal,
    scaled,
    wide,
    wrapped,
)
from lite_reference.nodes import Node, activated, computes, integer_range, real_activated

_COMPARISONS = {
    "EQUAL": np.equal, "NOT_EQUAL": np.not_equal, "GREATER": np.greater, "GREATER_EQUAL": np.greater_equal,
    "LESS": np.less, "LESS_EQUAL": np.less_equal, "MAXIMUM": np.maximum, "MINIMUM": np.minimum,
    "LOGICAL_AND": np.logical_and, "LOGICAL_OR": np.logical_or,
}  # fmt: skip


@computes("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL")
def compare(node: Node) -> Array:
    """int8: each side shifted left by 8 bits and times its scale, rounded twice, so near numbers may be equal."""
    a, b = node[0], node[1]
    function = _COMPARISONS[node.operator.code]
    if a.dtype != "int8" or not a.is_quantized:
        return function(a.array, b.array)
    sides = (scaled(each.centered << 8, float(each.scale)) for each in (a, b))
    return function(*sides)


@computes("MAXIMUM", "MINIMUM", "LOGICAL_AND", "LOGICAL_OR")
def extreme(node: Node) -> Array:
    """Of elements as they are; scales are not looked at."""
    return _COMPARISONS[node.operator.code](node[0].array, node[1].array)


@computes("SELECT_V2")
def select_v2(node: Node) -> Array:
    """One of two tensors by a third."""
    return np.where(node[0].array, node[1].array, node[2].array)


@computes("ARG_MAX", "ARG_MIN")
def arg_extreme(node: Node) -> Array:
    """The first place of the greatest or least."""
    function = np.argmax if node.operator.code == "ARG_MAX" else np.argmin
    return np.asarray(function(node[0].array, axis=int(node[1].array.reshape(-1)[0])), np.int32)


@computes("SQUARED_DIFFERENCE")
def squared_difference(node: Node) -> Array:
    """Both inputs shifted left by 7 bits (0 of 16), scaled to twice the greater scale, subtracted, squared, scaled."""
    a, b = node[0], node[1]
    if not a.is_quantized:
        difference = a.array - b.array
        return difference * difference
    left = 7 if a.dtype == "int8" else 0
    twice = 2.0 * max(float(a.scale), float(b.scale))
    difference = wrapped(np.subtract(*(scaled(each.centered << left, float(each.scale) / twice) for each in (a, b))))
    last = twice * twice / float(np.float32(1 << (2 * left)) * node.out.scale)
    return clipped(scaled(wrapped(difference * difference), last) + node.out.zero, node.out.dtype)


@computes("DIV")
def div(node: Node) -> Array:
    """int8: the reciprocal by Newton's method, times the number shifted left as far as it goes. int32: cut off."""
    a, b = node[0], node[1]
    if a.dtype == "float32":
        return real_activated(node, a.array / b.array)
    if a.dtype == "int32":
        quotient = np.sign(a.array) * np.sign(b.array) * (np.abs(wide(a.array)) // np.abs(wide(b.array)))
        return np.clip(quotient, *integer_range(node.option("fused_activation_function", "NONE"))).astype(np.int32)
    sign = np.where(b.centered < 0, -1, 1)
    above, below = np.broadcast_arrays(a.centered * sign, b.centered * sign)
    inverse, over = reciprocal(below, 31)
    headroom = leading_zeros(np.where(above < 0, ~above, above)) - 1
    multiplier, shift = quantized_multiplier(float(a.scale) / (float(b.scale) * float(node.out.scale)))
    quotient = high_product(above << headroom, inverse)
    right, fine = -(shift - over - headroom), high_product(quotient, multiplier)
    # Undefined beyond 31, where quotients are near 0; x86 shifts by the low 5 bits, and a mask of ones rounds up.
    found = np.where(right > 31, (fine >> (right & 31)) + (fine > (fine < 0) - 1), divide_by_power(fine, right & 31))
    return activated(node, found + node.out.zero)


@computes("FLOOR_DIV")
def floor_div(node: Node) -> Array:
    """Of floats alone, divided in double."""
    return np.floor(node[0].array.astype(np.float64) / node[1].array).astype(np.float32)


@computes("FLOOR_MOD")
def floor_mod(node: Node) -> Array:
    """fmod, moved to the sign of the divisor; of floats alone."""
    a, b = np.broadcast_arrays(node[0].array, node[1].array)
    rest = np.fmod(a, b)
    return np.where((rest != 0) & ((b < 0) != (rest < 0)), rest + b, rest)
