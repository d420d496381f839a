"""Tables of exponentials for softmax in integers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Attribute

from aotc.dialects.graph.interfaces import Array

_BITS = 30
"""Of the greatest exponential in a table, where an accumulator has room."""
_LEAST_BITS = 24
"""Of it in i32; rows that are longer have sums in i64."""


@dataclass(frozen=True)
class Exponentials:
    """The numbers of a `graph.fixed_softmax`."""

    table: Array
    """i32: round(e^(-k input_scale) * 2^bits) for k = 0, 1, .., while that is not 0."""
    factor: int
    shift: int
    """The scale of the result is factor / 2^shift."""
    accumulator: Attribute


def exponentials(input_scale: float, scale: float, count: int) -> Exponentials | None:
    """For rows of `count` integers, to be quantised by `scale`; None for one that is not below 1.

    An entry is off by at most a half, a sum of them by half of `count`. So a quotient differs from softmax by at most
    (count + 1) / 2^(bits + 1), and the result is the rounded one unless softmax / scale is as near as that, times
    1 / scale, to the middle between two integers.
    """
    mantissa, exponent = math.frexp(scale)
    factor = int(mantissa * 2**24)
    zeros = (factor & -factor).bit_length() - 1
    factor, shift = factor >> zeros, 24 - zeros - exponent
    if not 0 < shift - (factor.bit_length() - 1) <= 31 or count < 1:
        return None
    # the sum times the factor, doubled, is less than 2^31 or 2^63
    room = 30 - factor.bit_length() - math.ceil(math.log2(count))
    accumulator, bits = (i32, room) if room >= _LEAST_BITS else (i64, min(room + 32, _BITS))
    if bits < _LEAST_BITS:
        return None
    values = np.rint(np.exp(-np.arange(256) * input_scale) * 2.0**bits).astype(np.int64)
    return Exponentials(values[values > 0].astype(np.int32), factor, shift, accumulator)
