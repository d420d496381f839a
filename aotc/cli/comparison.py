"""Comparing outputs with a reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from aotc.dialects.dtypes import number_kind

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Comparison:
    """How one output tensor compares with its reference."""

    name: str
    ok: bool
    max_difference: float
    tolerance: float
    """The largest absolute difference allowed: rtol * max|reference| + atol, 1 for integers, 0 for booleans and text.
    """
    mismatch: str = ""

    @property
    def excess(self) -> float:
        """The difference as a multiple of the tolerance."""
        return float("inf") if self.mismatch or not self.tolerance else self.max_difference / self.tolerance

    def line(self) -> str:
        """One line for people."""
        verdict = "ok" if self.ok else "DIFFERS"
        return f"{self.name}: {verdict}, " + (
            self.mismatch or f"max difference {self.max_difference:.3g} (allowed {self.tolerance:.3g})"
        )


def compare(name: str, actual: Array, reference: Array, *, rtol: float, atol: float, exact: bool = False) -> Comparison:
    """Compare `actual` with `reference` of the same shape; NaN equals NaN, infinities must agree exactly.

    Floats may differ by `rtol * max|finite reference| + atol`; integers by one unit (a rounding boundary of
    quantisation that float evaluation order may cross); booleans not at all, nor what is to be `exact`, as labels.
    """
    if actual.shape != reference.shape or actual.dtype != reference.dtype:
        what = f"{actual.dtype} {list(actual.shape)}, expected {reference.dtype} {list(reference.shape)}"
        return Comparison(name, False, float("inf"), 0.0, what)
    if not reference.size:
        return Comparison(name, True, 0.0, 0.0)
    kind = number_kind(reference.dtype)
    wide_actual, wide_reference = (array.astype(np.float64) for array in (actual, reference))
    finite = np.isfinite(wide_reference)
    if kind == "b" or exact:
        tolerance = 0.0
    elif kind in "iu":
        tolerance = 1.0
    else:
        tolerance = rtol * float(np.abs(wide_reference[finite]).max(initial=0.0)) + atol
    same_special = bool(np.array_equal(wide_actual[~finite], wide_reference[~finite], equal_nan=True))
    difference = float(np.abs(wide_actual[finite] - wide_reference[finite]).max(initial=0.0))
    mismatch = "" if same_special else "infinities or NaNs differ"
    return Comparison(name, same_special and difference <= tolerance, difference, tolerance, mismatch)
