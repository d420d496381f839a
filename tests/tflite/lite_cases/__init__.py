"""Small models for every operator of TFLite Micro's resolver: rows of tables, each with a name that seeds its numbers.

`CASES` has all of them by name.
"""

from __future__ import annotations

from lite_cases import arithmetic, curves, pools, products, quantization, reductions
from lite_cases.case import Case

CASES: dict[str, Case] = {}
for _family in (products, arithmetic, pools, curves, quantization, reductions):
    for _case in _family.cases():
        assert _case.name not in CASES, _case.name
        CASES[_case.name] = _case

__all__ = ["CASES", "Case"]
