"""Minimal filtering of integers with 3 taps and a stride of 2, exact: as F(m, 3), whose results are two elements apart.

Result i sees elements 2 i, 2 i + 1 and 2 i + 2. Those of even number meet the first and the last tap, each with two
neighbouring results: F(m, 2), which takes m + 1 products for 2 m. Those of odd number meet the tap in between, with one
result each, and are not transformed. So 2 m + 1 elements take 2 m + 1 products for m results instead of 3 m, in two
dimensions 25 for 36 (m = 2) or 81 for 144 (m = 4), with m + 2 different filters along an axis.

F(2, 2) has the points 0, 1 and infinity, and matrices of -1, 0 and 1. F(4, 2) has the points 0, 1, -1, 2 and infinity;
the rows of G are taken times 6, -6, -6, 6 and 6, so that all matrices are of integers, those of the result small, and
results are 6 times the sums. Of odd elements the filter is the tap times 6. Sums of the magnitudes of a row are at most
6 in both: in two dimensions elements within 255 become at most 9,180 and weights within 128 at most 4,608, which are
i16. As with a stride of 1 products and sums wrap in 32 bits, and 36 is 9, which has an inverse modulo 2^32, times 2^2.
(Points and matrices as in `winograd_transforms`; the decomposition of a stride into residues is that of transposed
convolutions.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from aotc.mathematics.linear_combinations import Sum, Value
from aotc.mathematics.winograd_transforms import TAPS, power_of_two

STRIDE = 2
"""Elements from one result to the next."""

_ONE, _TWO = Fraction(1), Fraction(2)


@dataclass(frozen=True)
class StridedTransforms:
    """3 taps with a stride of 2, for 2 or 4 results; of the products those of even elements come first."""

    outputs: int
    taps: int = TAPS

    @property
    def inputs(self) -> int:
        """n = 2 m + 1: products, and inputs that m results see."""
        return STRIDE * self.outputs + 1

    @property
    def multiples(self) -> list[int]:
        """How many times greater each of the m results is than the sum."""
        return [1 if self.outputs == 2 else 6] * self.outputs

    @property
    def shift(self) -> int:
        """The power of two in the `multiples`."""
        return power_of_two(self.multiples[0])

    @property
    def filter_numbers(self) -> list[int]:
        """Of each product, the number of its filter among those of `transform_filter`."""
        return [min(number, self.outputs + 1) for number in range(self.inputs)]

    @property
    def input_sums(self) -> list[int]:
        """The transform of n values of 1: those of the point 1, and odd ones, are not 0."""
        return [0, 1 if self.outputs == 2 else -2] + [0] * (self.outputs - 1) + [1] * self.outputs

    def transform_input(self, values: Sequence[Value], total: Sum[Value]) -> list[Value]:
        """For n values: the transformed even ones, then the odd ones."""
        assert len(values) == self.inputs
        even, odd = values[::2], values[1::2]

        def less(a: Value, b: Value, factor: Fraction = _ONE) -> Value:
            return total([(_ONE, a), (-factor, b)])

        if self.outputs == 2:
            first, middle, last = even
            return [less(first, middle), middle, less(last, middle), *odd]
        e0, e1, e2, e3, e4 = even
        across = less(e3, e1)
        low = total([(_ONE, across), (_TWO, less(e0, e2))])
        plus = less(across, total([(_ONE, e1), (_ONE, e2)]))
        minus = total([(_ONE, less(e3, e2)), (_TWO, less(e1, e2))])
        return [low, plus, minus, across, less(less(e4, e2), across, _TWO), *odd]

    def transform_filter(self, taps: Sequence[Value], total: Sum[Value]) -> list[Value]:
        """For 3 taps: m + 1 filters of even elements, then that of odd ones."""
        first, middle, last = taps
        if self.outputs == 2:
            return [first, total([(_ONE, first), (_ONE, last)]), last, middle]
        a, c = (total([(Fraction(3), tap)]) for tap in (first, last))
        mirrored = total([(_ONE, first), (-_ONE, last)])
        double = total([(_ONE, first), (_TWO, last)])
        return [
            a,
            total([(_ONE, a), (_ONE, c)]),
            mirrored,
            double,
            total([(_TWO, c)]),
            total([(Fraction(6), middle)]),
        ]

    def transform_output(self, values: Sequence[Value], total: Sum[Value]) -> list[Value]:
        """For n products: the `multiples` of m results."""
        assert len(values) == self.inputs
        even, odd = values[: self.outputs + 1], values[self.outputs + 1 :]
        if self.outputs == 2:
            return [total([(_ONE, even[1]), (_ONE, outer), (_ONE, o)]) for outer, o in zip(even[::2], odd, strict=True)]
        low, plus, minus, double, high = even
        both, between = total([(_ONE, plus), (_ONE, minus)]), total([(_ONE, minus), (-_ONE, plus)])
        shared = [(-_ONE, both), (_ONE, between)] * 2
        ends = [[(_ONE, low)], [], [], [(_ONE, high)]]
        return [
            total([(_ONE, o), *end, common, (Fraction(1 << power), double)])
            for power, (o, end, common) in enumerate(zip(odd, ends, shared, strict=True))
        ]
