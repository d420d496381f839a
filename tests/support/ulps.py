"""Errors in units of the last place, and samples of all floats."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
CHUNK = 1 << 20


def chunks(step: int) -> Iterator[Array]:
    """The floats whose bits are multiples of `step`, `CHUNK` at a time."""
    for start in range(0, 2**32, CHUNK * step):
        bits = (start + np.arange(CHUNK, dtype=np.uint64) * np.uint64(step)).astype(np.uint32)
        yield bits.view(np.float32)


def errors(found: Array, exact: Array) -> Array:
    """|found - exact| in ulp of exact; infinite where a NaN, an infinity or the sign of a zero is not as it should."""
    rounded = exact.astype(np.float32)
    _, exponent = np.frexp(np.minimum(np.abs(exact), float(np.finfo(np.float32).max)))
    spacing = np.ldexp(1.0, np.maximum(exponent, -125) - 24)
    error = np.abs(found - exact) / spacing
    special = ~np.isfinite(rounded) | ~np.isfinite(found)
    same = (found == rounded) | (np.isnan(found) & np.isnan(rounded))
    error[special] = np.where(same[special], 0.0, np.inf)
    error[(np.signbit(found) != np.signbit(exact)) & ~np.isnan(exact)] = np.inf
    return error
