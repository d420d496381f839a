"""Channels of convolutions that have one result whatever their operand: all weights are 0, or too little for a step.

Models have a large number for such a channel's bias and a tiny one for its scale, which no shift that is right for the
other channels makes an integer.
"""

from __future__ import annotations

import numpy as np

from aotc.dialects.constants import computed_array, key_of
from aotc.dialects.graph.convolution import ConvOp
from aotc.dialects.graph.interfaces import Array, producer, shape_of
from aotc.dialects.graph.quantized.requantization import RequantizeOp
from aotc.passes.graph.quantization.accumulators import range_of
from aotc.passes.graph.quantization.integer_sums import CHANNEL_AXIS, Constants

_EXACT = 1 << 24
"""Sums below it are what they are in f32."""


def settle_constant_channels(op: RequantizeOp, multiplier: Array, constants: Constants) -> bool:
    """Give constant channels of the convolution that `op` alone reads weights of 0, the greatest multiplier of all
    others and a bias for which results are the same; says whether there are any."""
    conv, store = producer(op.x, ConvOp), constants.store
    if conv is None or not conv.result.has_one_use() or multiplier.ndim != 1 or op.axis != CHANNEL_AXIS:
        return False
    weight = computed_array(conv.weight, store)
    bias = np.zeros(multiplier.size, np.int32) if conv.bias is None else computed_array(conv.bias, store)
    ends = (
        range_of(conv, op.axis, len(shape_of(op.x)), store) if conv.sums_integers and not conv.zero_points[1] else None
    )
    if weight is None or bias is None or ends is None:
        return False
    least, greatest = (end + bias.astype(np.int64) for end in ends)
    result = _rounded(least, multiplier, op)
    fits = np.maximum(np.abs(least), np.abs(greatest)) < 2**31
    constant = fits & (result == _rounded(greatest, multiplier, op))
    typical = np.float32(0.5) if constant.all() else multiplier[~constant].max()
    sums = np.rint(result / np.float64(typical)).astype(np.int64)
    constant &= (np.abs(sums) < _EXACT) & (_rounded(sums, typical, op) == result)
    if not constant.any():
        return False
    zeroed = np.where(constant.reshape(-1, *[1] * (weight.ndim - 1)), np.zeros((), weight.dtype), weight)
    conv.operands[1] = constants.of(zeroed, key_of(conv.weight) or "weight")
    if conv.bias is not None:
        place = list(conv.operands).index(conv.bias)
        conv.operands[place] = constants.of(
            np.where(constant, sums, bias).astype(np.int32), key_of(conv.bias) or "bias"
        )
    op.operands[1] = constants.of(np.where(constant, typical, multiplier), "multiplier")
    return True


def _rounded(sums: Array, multiplier: Array | np.float32, op: RequantizeOp) -> Array:
    """The integers of sums less the zero point, clamped."""
    return np.clip(np.rint(sums.astype(np.float32) * multiplier), *op.range).astype(np.int64)
