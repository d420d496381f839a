"""Functions of two quantised numbers in integers, with proof: all their values are tried."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from aotc.dialects.graph.interfaces import Array

_BITS = 31
"""Of sums, beside the sign."""
_LIMIT = 1 << _BITS
_NEAR = 2.0**-8
"""Sums that are further from the middle between two integers are on the same side of it with all factors tried."""
_AROUND = 6
"""How far from the nearest one factors are tried: a plane of 256 x 256 points leaves them free by some units."""


@dataclass(frozen=True)
class Numbers:
    """All that an operand may be."""

    values: Array
    """f32."""
    integers: Array | None = None
    """i64, where values are (integer - zero_point) * scale, rounded; None: any function of something."""
    zero_point: int = 0
    scale: float = 1.0

    def negated(self) -> Numbers:
        """As what is subtracted is added."""
        return replace(self, values=-self.values, scale=-self.scale)


class Terms(NamedTuple):
    """The numbers of an operand in a sum of integers."""

    values: Array
    """i64, one for each number: integers near to number / scale * 2^shift."""
    factor: int | None = None
    """They are (integer - zero point) * factor; None: they are a table."""
    distance: int = 0
    """Of the factor from the nearest one."""


@dataclass(frozen=True)
class FixedSum:
    """clamp(((left term + right term + offset) >> shift) + zero_point), as `graph.fixed_add` has it."""

    left: Terms
    right: Terms
    offset: int
    shift: int
    even: bool
    zero_point: int

    def agrees(self, sums: Array, wanted: Array, low: int, high: int) -> bool:
        """Whether sums of terms become `wanted`, with a clamp to low..high, and none leaves an i32."""
        sums = sums + self.offset
        if self.even:
            sums = sums + ((sums >> self.shift) & 1) + ((1 << self.shift - 1) - 1)
        fits = sums.min(initial=0) >= -_LIMIT and sums.max(initial=0) < _LIMIT
        return bool(fits and (np.clip((sums >> self.shift) + self.zero_point, low, high) == wanted).all())


def fixed_sum(left: Numbers, right: Numbers, wanted: Array, scale: float, zero_point: int) -> FixedSum | None:
    """Numbers that give `wanted`, integers [left, right], clamped to the least and greatest of them.

    They are about (left + right) / scale + zero_point, however floats round that. Multiples of integers are tried
    first, then tables; rounding down what an offset is added to, then rounding to even. None: no such sum is as good,
    as where errors of floats say to which side those in the middle between two integers go.
    """
    reals = [operand.values.astype(np.float64) / scale for operand in (left, right)]
    low, high = int(wanted.min()), int(wanted.max())
    most = sum(float(np.abs(each).max()) for each in reals) + abs(zero_point) + 2
    shift = _BITS - int(np.ceil(np.log2(most)))
    if shift < 2:
        return None
    exact = reals[0][:, None] + reals[1][None, :]
    near = np.nonzero(np.abs(np.abs(exact - np.rint(exact)) - 0.5) < _NEAR)
    tables = [[Terms(np.rint(np.ldexp(real, shift)).astype(np.int64))] for real in reals]
    multiples = [
        list(_multiples(operand, scale, shift)) or table for operand, table in zip((left, right), tables, strict=True)
    ]
    for (ones, others), even in itertools.product((multiples, tables), (False, True)):
        for one, other in sorted(itertools.product(ones, others), key=lambda two: two[0].distance + two[1].distance):
            some, goal = one.values[near[0]] + other.values[near[1]], wanted[near]
            offset = 0 if even else _offset(some, goal, low, high, shift, zero_point)
            if offset is None:
                continue
            found = FixedSum(one, other, offset, shift, even, zero_point if even else 0)
            if found.agrees(some, goal, low, high):
                whole = one.values[:, None] + other.values[None, :]
                if found.agrees(whole, wanted, low, high):
                    return found
    return None


def _multiples(operand: Numbers, scale: float, shift: int) -> Iterator[Terms]:
    if operand.integers is None:
        return
    nearest = round(operand.scale / scale * 2.0**shift)
    for factor in range(nearest - _AROUND, nearest + _AROUND + 1):
        yield Terms((operand.integers - operand.zero_point) * factor, factor, abs(factor - nearest))


def _offset(sums: Array, wanted: Array, low: int, high: int, shift: int, zero_point: int) -> int | None:
    """The numbers to add to `sums` so that they are `wanted` << shift and something, clamped: the nearest that there is
    to the zero point and a half."""
    far = 1 << 62
    least = np.where(wanted == low, -far, (wanted << shift) - sums).max(initial=-far)
    most = np.where(wanted == high, far, (wanted + 1 << shift) - 1 - sums).min(initial=far)
    nearest = (zero_point << shift) + (1 << shift - 1)
    return None if least > most else min(max(nearest, int(least)), int(most))


def product_multiplier(products: Array, wanted: Array, multiplier: float) -> np.float32 | None:
    """The f32 next to `multiplier` by which products of integers are `wanted`, clamped to the least and greatest, as
    `graph.requantize` computes it; None where there is none.
    """
    low, high, nearest = wanted.min(), wanted.max(), np.float32(multiplier)
    down, up = np.nextafter(nearest, np.float32(0)), np.nextafter(nearest, np.float32(np.inf))
    for each in (nearest, down, up):
        if bool((np.clip(np.rint(products.astype(np.float32) * each), low, high) == wanted).all()):
            return np.float32(each)
    return None
