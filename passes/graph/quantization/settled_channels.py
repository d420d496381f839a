"""Multipliers and biases of requantised convolutions that have a power of two in common, for the same results.

Models have a large number for the bias of a channel whose weights are little or nothing, and a tiny one for its scale,
which no shift that is right for the other channels makes an integer. Such channels have one result, or few, whatever is
read, and at what sums they change is all that matters.
"""

import numpy as np

from aotc.dialects.constants import computed_array, key_of
from aotc.dialects.graph.convolution import ConvOp
from aotc.dialects.graph.interfaces import Array, producer, shape_of
from aotc.dialects.graph.quantized.requantization import RequantizeOp
from aotc.passes.graph.quantization.accumulators import range_of
from aotc.passes.graph.quantization.integer_sums import CHANNEL_AXIS
from aotc.passes.graph.rewriting import Constants

MANTISSA = 24
"""Bits of an f32."""
FACTOR_BITS = 31
"""Bits of a multiplier that is an integer."""
_NEAR = np.array([0, 1, -1, 2, -2, 3, -3, 4, -4, 5, -5, 6, -6, 7, -7, 8, -8])
"""Multipliers that are tried, in units of the last bit: with each, results change at other fractions of a sum."""


def settled_channels(op: RequantizeOp, multiplier: Array, constants: Constants) -> Array | None:
    """The multipliers of the convolution that `op` alone reads, and which now has weights and biases for them; None
    where it keeps its own.

    A constant channel, all of whose weights are 0 or too little to change the result, has weights of 0 and the greatest
    multiplier of all others.
    """
    conv, store = producer(op.x, ConvOp), constants.store
    if conv is None or not conv.result.has_one_use() or multiplier.ndim != 1 or op.axis != CHANNEL_AXIS:
        return None
    weight = computed_array(conv.weight, store)
    bias = np.zeros(multiplier.size, np.int32) if conv.bias is None else computed_array(conv.bias, store)
    ends = (
        range_of(conv, op.axis, len(shape_of(op.x)), store) if conv.sums_integers and not conv.zero_points[1] else None
    )
    if weight is None or bias is None or ends is None:
        return None
    least, greatest = (end + bias.astype(np.int64) for end in ends)
    result = _rounded(least, multiplier, op)
    fits = np.maximum(np.abs(least), np.abs(greatest)) < 2**31
    constant = fits & (result == _rounded(greatest, multiplier, op))
    typical = np.float32(0.5) if constant.all() else multiplier[~constant].max()
    sums = np.rint(result / np.float64(typical)).astype(np.int64)
    constant &= (np.abs(sums) < 1 << MANTISSA) & (_rounded(sums, typical, op) == result)
    settled, biases = np.where(constant, typical, multiplier), np.where(constant, sums, bias)
    shift = FACTOR_BITS - int(np.frexp(typical)[1])
    scaled = np.ldexp(settled.astype(np.float64), shift)
    for channel in np.flatnonzero(fits & (scaled != np.rint(scaled)) & (conv.bias is not None)):
        found = _refitted(least[channel], greatest[channel], multiplier[channel], typical, shift, op)
        if found is not None:
            settled[channel], biases[channel] = found[0], bias[channel] + found[1]
    if not bool((constant | (settled != multiplier)).any()):
        return None
    zeroed = np.where(constant.reshape(-1, *[1] * (weight.ndim - 1)), np.zeros((), weight.dtype), weight)
    conv.operands[1] = constants.of(zeroed, key_of(conv.weight) or "weight")
    if conv.bias is not None:
        place = list(conv.operands).index(conv.bias)
        conv.operands[place] = constants.of(biases.astype(np.int32), key_of(conv.bias) or "bias")
    op.operands[1] = constants.of(settled, "multiplier")
    return settled


def _refitted(
    least: np.int64, greatest: np.int64, multiplier: np.float32, most: np.float32, shift: int, op: RequantizeOp
) -> tuple[np.float32, int] | None:
    """A multiplier of at most `most` that is an integer over 2^shift, and what is added to all sums from `least` to
    `greatest` so that it gives the same results; None where none is found."""
    first, last = _rounded(np.array([least, greatest]), multiplier, op)
    if first == last:
        return None
    results = np.arange(first, last)
    below, above = np.full(results.shape, least), np.full(results.shape, greatest)
    while bool((above - below > 1).any()):  # the first sums of which results are greater than those
        middle = (below + above) // 2
        is_above = _rounded(middle, multiplier, op) > results
        below, above = np.where(is_above, below, middle), np.where(is_above, middle, above)
    sums = np.concatenate([[least], below, above, [greatest]])  # results between two of them are the same
    expected = _rounded(sums, multiplier, op)
    number = results.size // 2
    change, result = above[number], results[number] + 0.5
    slope = min(float(most) / 2, 0.9 / max(greatest - change, change - least, 1)) if results.size == 1 else multiplier
    factor = np.rint(np.ldexp(np.float64(np.float32(slope)), shift))
    for new in np.ldexp(np.maximum(factor + _NEAR, 1), -shift).astype(np.float32):
        for added in np.rint(result / new).astype(np.int64) - change + np.arange(-1, 2):
            moved = sums + added
            if np.abs(moved).max() < 1 << MANTISSA and bool((_rounded(moved, new, op) == expected).all()):
                return new, int(added)
    return None


def _rounded(sums: Array, multiplier: Array | np.float32, op: RequantizeOp) -> Array:
    """The integers of sums less the zero point, clamped."""
    return np.clip(np.rint(sums.astype(np.float32) * multiplier), *op.range).astype(np.int64)
