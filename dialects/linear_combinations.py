"""Sums of multiples by exact constants, of which algorithms are made that multiply less and add more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeVar

from aotc.dialects.builder import Builder, Scalar
from aotc.dialects.dtypes import is_float

Value = TypeVar("Value")
Sum = Callable[[Sequence[tuple[Fraction, Value]]], Value]
"""Computes the sum of factor * value over at least one term; no factor is 0."""


def terms(factors: Sequence[Fraction | float], values: Sequence[Value]) -> list[tuple[Fraction, Value]]:
    """What a sum with these factors is made of."""
    return [(Fraction(factor), value) for factor, value in zip(factors, values, strict=True) if factor]


def sums(b: Builder) -> Sum[Scalar]:
    """Sums of multiples of scalars or tiles; of integers by integers."""

    def number(factor: Fraction, value: Scalar) -> Scalar:
        return b.const(float(factor) if is_float(value.dtype) else int(factor), value.dtype)

    def total(terms: Sequence[tuple[Fraction, Scalar]]) -> Scalar:
        (factor, value), *rest = sorted(terms, key=lambda term: term[0] != 1)
        result = value if factor == 1 else value * number(factor, value)
        for factor, value in rest:
            if abs(factor) == 1:
                result = result + value if factor > 0 else result - value
            else:
                result = b.fma(value, number(factor, value), result)
        return result

    return total
