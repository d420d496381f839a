"""The arithmetic of TensorFlow Lite's reference kernels on integers of 16 bits: functions by a table, and sums of 64
bits that are rescaled.

The table has the logistic function of i / 24 in 65536ths, for i of 0 to 255.
"""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import i32, i64

from aotc.dialects.dtypes import element_type
from aotc.frontend.emitter import Tensor
from aotc.frontend.tflite import fixed_point
from aotc.frontend.tflite.arithmetic import Multiplier
from aotc.model.weight_store import Array

_ONE_MORE = (
    4, 8, 12, 14, 15, 16, 17, 19, 20, 21, 22, 25, 27, 28, 29, 30, 31, 33, 34, 35, 37, 39, 40, 41, 43, 44, 45, 46, 49,
    50, 54, 62, 63, 64, 66, 82, 86, 93, 100, 103, 112, 116, 135, 255,
)  # fmt: skip
"""Where the kernels' table has one more than the nearest number."""


def _table(last: int) -> tuple[Array, Array]:
    """The entries, the last one given, and how far each is from the next."""
    table = np.round(65536 / (1 + np.exp(-np.arange(256) / 24))).astype(np.int32)
    table[list(_ONE_MORE)] += 1
    return np.append(table[:-1], last).astype(np.int32), np.append(np.diff(table), 0).astype(np.int32)


def _between(x: Tensor, bits: int, last: int) -> Tensor:
    """The table for the size of an i32, in which the last `bits` are the way from one entry to the next."""
    size = x.emit("abs")
    index = fixed_point.right(size, bits).at_most(255).cast(element_type("uint8"))
    entry, slope = (index.emit("lookup", x.node.constant(each)) for each in _table(last))
    return fixed_point.left(entry, bits) + size.emit("and", size.scalar((1 << bits) - 1)) * slope


def logistic(x: Tensor) -> Tensor:
    """The logistic function of i32 in units of 1 / (24 * 512): 15 bits of fraction, as i32."""
    found, tie = _between(x, 9, 0xFFFE), 1 << 9
    return fixed_point.right((x >= 0).choose(found + tie, (1 << 25) + tie - 1 - found), 10)


def tanh(x: Tensor) -> Tensor:
    """The hyperbolic tangent, in the same way."""
    found, half, tie = _between(x, 8, 0xFFFF), 1 << 23, 1 << 7
    return fixed_point.right((x >= 0).choose(found - half + tie, half + tie - 1 - found), 8)


def requantized(sums: Tensor, by: Multiplier, *, axis: int = -1) -> Tensor:
    """i64 of at most 48 bits times real numbers, one or one for each index of an axis, of 15 bits: rounded once, the
    middle up; as i32, which wraps (`MultiplyByQuantizedMultiplier` of an int64)."""
    shape = [1] * len(sums.shape) if by.factors.ndim else []
    if shape:
        shape[axis] = -1
    factors = np.where(by.factors < 0x7FFF0000, (by.factors + (1 << 15)) >> 16, 0x7FFF)
    shifts = 15 - by.exponents
    factor, half, shift = (
        Tensor(sums.node, sums.node.constant(each.reshape(shape)))
        for each in (factors, np.int64(1) << (shifts - 1), shifts)
    )
    return fixed_point.right(sums * factor + half, shift).cast(i32)


def products(x: Tensor, weight: Array, start: Array) -> Tensor:
    """Rows of i16 times those of a matrix of i8 [columns, inputs], plus i64 [columns]; i64."""
    node, sums = x.node, None
    for first in range(0, weight.shape[1], _MOST_TERMS):
        part = weight[:, first : first + _MOST_TERMS]
        rows = x
        if part.shape[1] < weight.shape[1]:
            rows = x.emit("slice", starts=[0, first], steps=[1, 1], shape=[x.shape[0], part.shape[1]])
        found = rows.emit("matmul", node.constant(part), transpose_rhs=True, accumulator=i32).cast(i64)
        sums = found if sums is None else sums + found
    return sums + node.constant(start)


_MOST_TERMS = 511
"""Products of 16 and 8 bits whose sum 32 bits hold."""
