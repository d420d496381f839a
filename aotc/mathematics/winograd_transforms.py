"""The matrices of Winograd's minimal filtering F(m, 3), exact, and sums of products with their symmetry.

F(m, 3) computes m results of a filter of 3 taps with n = m + 2 products: y = A (G g * B d), for a filter g, n inputs d
(S. Winograd, Arithmetic Complexity of Computations, 1980; A. Lavin and S. Gray, arXiv:1509.09308, for convolution in
two dimensions). The matrices come from n - 1 interpolation points and infinity (Cook-Toom). The points are 0 and pairs
+-p: rows of B and columns of A of such a pair differ in the sign of every other entry, and are computed together.

The points decide the error. Greatest error over greatest result, f32 against float64, 64 channels, mean of three runs:

| F(2, 3) | 0, +-1 | 2.9e-7 (as much as a direct sum of products) |
| F(4, 3) | 0, +-1, +-2 | 5.3e-6 |
| F(4, 3) | 0, +-1/2, +-1 | 5.1e-6 |
| F(4, 3) | 0, +-3/4, +-3/2 | 1.5e-6 |

All entries of A and B are exact in f32 for these points.

Of integers, with the points 0, +-1, +-2 and modulo 2^32, F(4, 3) is exact (`ExactTransforms`). With the rows of G taken
times 24, -6, -6, 24, 24, 6 all matrices are of integers, and results are multiples of the sums, 24, 12, 6 and 6 times
as great along each axis (of F(2, 3): rows times 2, results twice as great). The sums of the magnitudes of a row are at
most 10 for B and 7 for G (4 and 3 of F(2, 3)): in two dimensions elements within 255 become at most 25,500 in
magnitude and weights within 128 at most 6,272, which are i16. Products and their sums wrap in 32 bits: they are right
modulo 2^32. There the odd factor of a multiple, 3 or in two dimensions 9, has an inverse; what remains, the sum times
2^k, where k is at most 3 along an axis, is the sum shifted by k bits, as long as that is less than 2^(31 - k) in
magnitude (`ExactTransforms.shift`). (D. Meng and J. Brothers, arXiv:1901.01965, have exact transforms with other
points.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import lcm
from typing import Any

import numpy as np

from aotc.mathematics.linear_combinations import Sum, Value, terms

TAPS = 3
"""Taps of the filter along an axis."""

_PAIRS = {2: (Fraction(1),), 4: (Fraction(3, 4), Fraction(3, 2))}
"""For each output tile the points beside 0, each also negated."""

OUTPUT_TILES = tuple(_PAIRS)

_EXACT_PAIRS = {2: (Fraction(1),), 4: (Fraction(1), Fraction(2))}
"""The same of integers."""

_EXACT_SCALES = {2: (2, 2, 2), 4: (24, -6, 24, 6)}
"""Of integers, what the rows of G are taken times: the row of the point 0, of each pair, of infinity."""

_BITS = 32
"""Of the sums of products of integers."""


def _product(roots: Sequence[Fraction]) -> list[Fraction]:
    """The coefficients of the polynomial with these roots and leading coefficient 1, of x^0 first."""
    result = [Fraction(1)]
    for root in roots:
        result = [high - root * low for high, low in zip([Fraction(0), *result], [*result, Fraction(0)], strict=True)]
    return result


@dataclass(frozen=True)
class Transforms:
    """F(m, 3): the points, 0 first, then each pair p, -p; the point at infinity comes last and is not among them."""

    outputs: int
    points: tuple[Fraction, ...]

    @property
    def inputs(self) -> int:
        """n = m + 2: products, and inputs that m results see."""
        return self.outputs + TAPS - 1

    @property
    def taps(self) -> int:
        """Of the filter."""
        return TAPS

    @property
    def multiples(self) -> list[int]:
        """How many times greater each of the m results is than the sum."""
        return [1] * self.outputs

    @property
    def filter_numbers(self) -> list[int]:
        """Of each product, the number of its filter among those of `transform_filter`: each has its own."""
        return list(range(self.inputs))

    @property
    def weight_matrix(self) -> np.ndarray[Any, Any]:
        """G [n, 3] in float64."""
        rows = [self._weight_row(point) for point in self.points]
        return np.array([[float(entry) for entry in row] for row in [*rows, [0, 0, 1]]])

    def _weight_row(self, point: Fraction) -> list[Fraction]:
        scale = Fraction(1)
        for other in self.points:
            scale *= point - other if other != point else 1
        return [point**power / scale for power in range(TAPS)]

    def input_row(self, point: Fraction | None) -> list[Fraction]:
        """The row of B [n, n] for a point (None: infinity): the polynomial that is zero at all the others."""
        row = _product([other for other in self.points if other != point])
        return row + [Fraction(0)] * (self.inputs - len(row))

    def transform_input(self, values: Sequence[Value], total: Sum[Value]) -> list[Value]:
        """B d, for n values d.

        The rows of a pair are e + p o and e - p o: e of the values of one parity, o of the others.
        """
        assert len(values) == self.inputs

        result = [total(terms(self.input_row(self.points[0]), values))]
        for point in self.points[1::2]:
            row, mirrored = self.input_row(point), self.input_row(-point)
            even = [(a + c) / 2 for a, c in zip(row, mirrored, strict=True)]
            odd = [(a - c) / (2 * point) for a, c in zip(row, mirrored, strict=True)]
            e, o = total(terms(even, values)), total(terms(odd, values))
            result += [total([(Fraction(1), e), (point, o)]), total([(Fraction(1), e), (-point, o)])]
        return [*result, total(terms(self.input_row(None), values))]

    def transform_output(self, values: Sequence[Value], total: Sum[Value]) -> list[Value]:
        """A v, for n values v.

        Even rows take the sum of the two values of a pair, odd rows their difference.
        """
        assert len(values) == self.inputs
        one = Fraction(1)
        parity: tuple[list[tuple[Fraction, Value]], list[tuple[Fraction, Value]]] = ([], [])
        for number, point in enumerate(self.points[1::2]):
            plus, minus = values[2 * number + 1 : 2 * number + 3]
            parity[0].append((point, total([(one, plus), (one, minus)])))
            parity[1].append((point, total([(one, plus), (-one, minus)])))
        result: list[Value] = []
        for row in range(self.outputs):
            entries = [(point**row, value) for point, value in parity[row % 2]]
            if row == 0:
                entries.insert(0, (one, values[0]))
            if row == self.outputs - 1:
                entries.append((one, values[-1]))
            result.append(total(entries))
        return result


@dataclass(frozen=True)
class ExactTransforms(Transforms):
    """F(m, 3) of integers: G with rows taken times `scales`, and A of the multiples of results that are integers."""

    scales: tuple[int, ...]
    """The factors of the rows of G: of the point 0, of each pair, of infinity."""

    @property
    def multiples(self) -> list[int]:
        """How many times greater each of the m results is than the sum."""
        return [lcm(*(entry.denominator for entry in row)) for row in self._result_rows()]

    @property
    def shift(self) -> int:
        """The greatest power of two in the `multiples`: by how many bits results are greater than sums at most."""
        return max(power_of_two(multiple) for multiple in self.multiples)

    def _result_rows(self) -> list[list[Fraction]]:
        """The rows of A: the factor of the point 0, of each pair (of the sum or the difference of its two values), of
        infinity; what they give is the sum."""
        first, *pairs, last = (Fraction(1, scale) for scale in self.scales)
        rows = [
            [Fraction(0), *(point**row * factor for point, factor in zip(self.points[1::2], pairs, strict=True))]
            for row in range(self.outputs)
        ]
        for row in rows:
            row.append(Fraction(0))
        rows[0][0], rows[-1][-1] = first, last
        return rows

    @property
    def input_sums(self) -> list[int]:
        """B d for n values d of 1: not 0 for the point 1 only, because the polynomials of all others are 0 there."""
        return [int(sum(self.input_row(point))) for point in (*self.points, None)]

    def transform_input(self, values: Sequence[Value], total: Sum[Value]) -> list[Value]:
        """B d, for n values d.

        With two pairs p, -p and q, -q the polynomials of the point 0 and of infinity are made of those of the latter,
        with e = x^4 - p^2 x^2 and o = x^3 - p^2 x: e + q^2 (p^2 - x^2), and x^5 - p^2 x^3 - q^2 o.
        """
        if len(self.points) != 5:
            return super().transform_input(values, total)
        one, p, q = Fraction(1), self.points[1], self.points[3]
        result = super().transform_input(values, total)
        e, o = (total([(one, values[4 - k]), (-p * p, values[2 - k])]) for k in (0, 1))
        low = total([(p * p, values[0]), (-one, values[2])])
        high = total([(one, values[5]), (-p * p, values[3])])
        return [total([(one, e), (q * q, low)]), *result[1:-1], total([(one, high), (-q * q, o)])]

    def transform_filter(self, taps: Sequence[Value], total: Sum[Value]) -> list[Value]:
        """G g, for 3 taps: the rows of a pair p, -p are f (g0 + p^2 g2 + p g1) and f (g0 + p^2 g2 - p g1)."""
        first, *pairs, last = self.scales
        result = [total(terms([first * self._weight_row(self.points[0])[0], 0, 0], taps))]
        for point, scale in zip(self.points[1::2], pairs, strict=True):
            row = [scale * entry for entry in self._weight_row(point)]
            even, odd = total(terms([row[0], 0, row[2]], taps)), total(terms([0, row[1], 0], taps))
            result += [total([(Fraction(1), even), (Fraction(sign), odd)]) for sign in (1, -1)]
        return [*result, total(terms([0, 0, last], taps))]

    def transform_output(self, values: Sequence[Value], total: Sum[Value]) -> list[Value]:
        """A v, for n values v: the `multiples` of m results."""
        one, result = Fraction(1), list[Value]()
        first, *inner, last = values
        both = [
            [total([(one, plus), (sign * one, minus)]) for plus, minus in zip(inner[::2], inner[1::2], strict=True)]
            for sign in (1, -1)
        ]
        for number, (row, multiple) in enumerate(zip(self._result_rows(), self.multiples, strict=True)):
            result.append(total(terms([multiple * entry for entry in row], [first, *both[number % 2], last])))
        return result


def power_of_two(number: int) -> int:
    """How often 2 divides a positive number."""
    return (number & -number).bit_length() - 1


def inverse_of_odd(number: int) -> int:
    """The inverse of the odd factor of a number modulo 2^32, as a signed integer of 32 bits."""
    inverse = pow(number >> power_of_two(number), -1, 1 << _BITS)
    return inverse - (inverse >> (_BITS - 1) << _BITS)


@dataclass(frozen=True)
class Untransformed:
    """F(1, 1), which transforms nothing: one result of one tap, and the only product."""

    outputs: int = 1
    inputs: int = 1
    taps: int = 1

    @property
    def multiples(self) -> list[int]:
        """The result is the sum."""
        return [1]

    @property
    def weight_matrix(self) -> np.ndarray[Any, Any]:
        """[[1]] in float64."""
        return np.ones((1, 1))

    def transform_input(self, values: Sequence[Value], total: Sum[Value]) -> list[Value]:
        """The value."""
        return list(values)

    transform_output = transform_input


@cache
def transforms(output_tile: int) -> Transforms:
    """F(`output_tile`, 3); KeyError for one that is not in OUTPUT_TILES."""
    return Transforms(output_tile, _points(_PAIRS[output_tile]))


@cache
def exact_transforms(output_tile: int) -> ExactTransforms:
    """F(`output_tile`, 3) of integers; KeyError for one that is not in OUTPUT_TILES."""
    return ExactTransforms(output_tile, _points(_EXACT_PAIRS[output_tile]), _EXACT_SCALES[output_tile])


def _points(pairs: Sequence[Fraction]) -> tuple[Fraction, ...]:
    return (Fraction(0), *(point for pair in pairs for point in (pair, -pair)))
