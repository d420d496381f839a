"""Small models for every operator of TFLite Micro's resolver: rows of tables, each with a name that seeds its numbers.

`CASES` has all of them by name.
"""

from __future__ import annotations

from lite_cases import (
    arithmetic,
    control,
    curves,
    detection,
    formats,
    movement,
    networks,
    pools,
    products,
    quantization,
    recurrent,
    reductions,
    resizing,
    signal,
)
from lite_cases.case import Case

CASES: dict[str, Case] = {}
_FAMILIES = (
    products,
    arithmetic,
    pools,
    curves,
    quantization,
    reductions,
    recurrent,
    resizing,
    movement,
    control,
    signal,
    detection,
    networks,
    formats,
)
for _family in _FAMILIES:
    for _case in _family.cases():
        assert _case.name not in CASES, _case.name
        CASES[_case.name] = _case

__all__ = ["CASES", "Case"]
