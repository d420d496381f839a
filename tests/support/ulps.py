"""Errors in units of the last place, and samples of all floats."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
CHUNK = 1 << 16
"""Floats that are looked at together: what is computed of them stays in a cache of the processor."""


def chunks(step: int) -> Iterator[Array]:
    """The floats whose bits are multiples of `step`, `CHUNK` at a time."""
    for start in range(0, 2**32, CHUNK * step):
        bits = (start + np.arange(CHUNK, dtype=np.uint64) * np.uint64(step)).astype(np.uint32)
        yield bits.view(np.float32)


def errors(found: Array, exact: Array) -> Array:
    """|found - exact| in ulp of exact; infinite where a NaN, an infinity or the sign of a zero is not as it should.

    `found` is f32, `exact` f64; the ulp is that of the f32 of the same exponent, and no smaller than the least
    subnormal one nor greater than that of the greatest finite one.
    """
    exponent = np.clip(exact.view(np.int64) >> 52 & 0x7FF, 1023 - 126, 1023 + 127)
    spacing = (exponent - 23 << 52).view(np.float64)
    rounded = exact.astype(np.float32)
    error = np.abs(found - exact) / spacing
    special = ~(np.isfinite(rounded) & np.isfinite(found))
    if special.any():
        ours, theirs = found[special], rounded[special]
        error[special] = np.where((ours == theirs) | (np.isnan(ours) & np.isnan(theirs)), 0.0, np.inf)
    error[(np.signbit(found) != np.signbit(exact)) & ~np.isnan(exact)] = np.inf
    return error
