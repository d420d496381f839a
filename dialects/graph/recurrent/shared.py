"""Weights of 24 bits: a matrix whose panels are eight registers wide in seven, which a step reads in less time.

Elements are integers times a power of two, 2^exponent. Of the eight registers of a row of a panel the first three hold
integers of 32 bits, of which the upper 24 are those of an element and the lower 8 are free; the fourth register is what
the lower bits of the three make together: ((a * 2^8 + b) * 2^8 + c) * 2^8, which wraps. The lower bits of c are its
second byte, those of b then make the third one right, whatever c adds to it, those of a the last one: so three shifts
and two additions are enough, and no bits are masked. The other four registers are f32 as they were, divided by the
power of two.

Converting an integer to f32 rounds it to 24 bits. With what packing rounds, an element of the first four registers is
at most 1.5 * 2^-24 of the power of two away, which is less than twice the greatest element.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import frexp
from typing import Final

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute

from aotc.dialects.graph.interfaces import ShapeError

REGISTERS: Final = 8
"""Of a row of a panel."""
SHARED: Final = 4
"""The first ones, of integers."""
WORDS: Final = SHARED - 1
"""The registers in memory that these take."""
STORED: Final = REGISTERS - 1
"""The registers in memory of a row."""
MADE: Final = 5
"""Operations that make the fourth one of the first three."""
BYTE: Final = 8
"""Bits that are free."""
_BITS: Final = 31
"""Of a number beside its sign."""
_POWERS: Final = range(-64, _BITS + 1)
"""Of two, for the greatest element: with others the rest could round when it is divided, or sums overflow."""


def is_shared(shape: Sequence[int], columns: int, depth: int) -> bool:
    """Whether [columns, k] is of this shape in panels of eight registers in seven."""
    if len(shape) != 3 or shape[2] % STORED:
        return False
    return shape[0] * shape[2] // STORED * REGISTERS == columns and shape[1] == depth


def check_shared(shared: bool, kinds: Sequence[Attribute]) -> None:
    """Raise ShapeError where the matrices of a layer cannot be packed so."""
    if shared and list(kinds) != [i32]:
        raise ShapeError("with an exponent there is one weight, of i32")


def exponent_of(matrix: NDArray[np.float32], lanes: int) -> int | None:
    """The exponent for a matrix [columns, k] in panels of registers of `lanes`; None where its columns are no whole
    panels, or where one of integers has a norm below the power of two: rounding could change it by more than its own
    elements were rounded."""
    if len(matrix) % (REGISTERS * lanes):
        return None
    greatest = float(np.abs(matrix).max(initial=0))
    power = frexp(greatest)[1] if np.isfinite(greatest) else _POWERS.stop
    if power not in _POWERS:
        return None
    shared = matrix.reshape(-1, REGISTERS, lanes, matrix.shape[1])[:, :SHARED].astype(np.float64)
    return power - _BITS if bool((np.linalg.norm(shared, axis=-1) >= 2.0**power).all()) else None


def shared_panels(matrix: NDArray[np.float32], exponent: int, lanes: int) -> NDArray[np.int32]:
    """A matrix [columns, k] as panels of integers [columns / (8 * lanes), k, 7 * lanes]."""
    depth = matrix.shape[1]
    rows = np.ldexp(matrix.astype(np.float64), -exponent).reshape(-1, REGISTERS, lanes, depth).transpose(0, 3, 1, 2)
    last = np.clip(np.rint(rows[:, :, WORDS] / 2**BYTE), -(2**23), 2**23 - 1).astype(np.int64)
    c = _nearest(rows[:, :, 2], last)
    b = _nearest(rows[:, :, 1], (last >> BYTE) - (c >> BYTE))
    a = _nearest(rows[:, :, 0], ((last << BYTE) - (b << 2 * BYTE) - (c << BYTE)) >> 3 * BYTE)
    words = np.stack([a, b, c], axis=2).astype(np.int32)
    others = rows[:, :, SHARED:].astype(np.float32).view(np.int32)
    return np.ascontiguousarray(np.concatenate([words, others], axis=2).reshape(-1, depth, STORED * lanes))


def _nearest(numbers: NDArray[np.float64], low: NDArray[np.int64]) -> NDArray[np.int64]:
    """The integers next to `numbers` that have the lower bits of `low`."""
    low = low & (2**BYTE - 1)
    found = np.rint((numbers - low) / 2**BYTE).astype(np.int64) * 2**BYTE + low
    over = (found > 2**_BITS - 1).astype(np.int64) - (found < -(2**_BITS)).astype(np.int64)
    return found - over * 2**BYTE
