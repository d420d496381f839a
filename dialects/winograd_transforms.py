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
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np

from aotc.dialects.graph.interfaces import Array
from aotc.dialects.linear_combinations import Sum, Value, terms

TAPS = 3
"""Taps of the filter along an axis."""

_PAIRS = {2: (Fraction(1),), 4: (Fraction(3, 4), Fraction(3, 2))}
"""For each output tile the points beside 0, each also negated."""

OUTPUT_TILES = tuple(_PAIRS)


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
    def weight_matrix(self) -> Array:
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

    def transform_filter(self, taps: Sequence[Value], total: Sum[Value], scale: int) -> list[Value]:
        """`scale` times G g, for 3 taps."""
        rows = [*(self._weight_row(point) for point in self.points), [Fraction(0), Fraction(0), Fraction(1)]]
        return [total(terms([scale * entry for entry in row], taps)) for row in rows]

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
class Untransformed:
    """F(1, 1), which transforms nothing: one result of one tap, and the only product."""

    outputs: int = 1
    inputs: int = 1

    @property
    def weight_matrix(self) -> Array:
        """[[1]] in float64."""
        return np.ones((1, 1))

    def transform_input(self, values: Sequence[Value], total: Sum[Value]) -> list[Value]:
        """The value."""
        return list(values)

    transform_output = transform_input

    def transform_filter(self, taps: Sequence[Value], total: Sum[Value], scale: int) -> list[Value]:
        """`scale` times the tap."""
        return [total(terms([Fraction(scale)], taps))]


@cache
def transforms(output_tile: int) -> Transforms:
    """F(`output_tile`, 3); KeyError for one that is not in OUTPUT_TILES."""
    pairs = _PAIRS[output_tile]
    return Transforms(output_tile, (Fraction(0), *(point for pair in pairs for point in (pair, -pair))))
