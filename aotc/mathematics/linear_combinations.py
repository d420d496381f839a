"""Sums of multiples by exact constants, of which algorithms are made that multiply less and add more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeVar

Value = TypeVar("Value")
Sum = Callable[[Sequence[tuple[Fraction, Value]]], Value]
"""Computes the sum of factor * value over at least one term; no factor is 0."""


def terms(factors: Sequence[Fraction | float], values: Sequence[Value]) -> list[tuple[Fraction, Value]]:
    """The terms of a sum with these factors."""
    return [(Fraction(factor), value) for factor, value in zip(factors, values, strict=True) if factor]
