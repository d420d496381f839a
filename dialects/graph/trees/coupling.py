"""Probabilities of classes from those of pairs of classes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from xdsl.dialects.builtin import TensorType, f32
from xdsl.irdl import irdl_op_definition, operand_def, result_def

from aotc.dialects.builder import Builder, Reader, Scalar, Writer
from aotc.dialects.graph.checks import expect
from aotc.dialects.graph.interfaces import LoopNestOp, ShapeError, element_type_of, shape_of

_ROUNDS = 100
_TOLERANCE = 0.005
"""Of the greatest deviation, to be divided by the number of classes: both as in LIBSVM."""

_MOST = 40
"""Classes; the rounds are written out for all pairs of them."""


@irdl_op_definition
class ProbabilityCouplingOp(LoopNestOp):
    """The probabilities [N, K] of K classes that agree best with those of pairs, [N, K * (K - 1) / 2].

    Pairs are in the order 01, 02, .., 12, ..; theirs is the probability of the first class if it is one of both.
    Gauss-Seidel rounds until the deviation is small, at most 100. (T. Wu, C. Lin, R. Weng: Probability Estimates for
    Multi-class Classification by Pairwise Coupling, JMLR 5, 2004, algorithm 2.)
    """

    name = "graph.probability_coupling"
    pairs = operand_def(TensorType)
    result = result_def(TensorType)

    def _classes(self) -> int:
        found = shape_of(self.pairs)
        count = next((k for k in range(2, _MOST + 1) if k * (k - 1) // 2 == found[1]), None)
        if count is None:
            raise ShapeError(f"pairs of 2 to {_MOST} classes must be [rows, K * (K - 1) / 2], found {list(found)}")
        return count

    def infer_types(self) -> Sequence[TensorType]:
        return [TensorType(f32, [expect(self, pairs="rows pairs f32")["rows"], self._classes()])]

    def loops(self, b: Builder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        count = self._classes()
        kind = element_type_of(self.pairs)
        numbers = {pair: number for number, pair in enumerate(combinations(range(count), 2))}
        zero = b.const(0, kind)

        def row(index: list[Scalar]) -> None:
            at = index[0]
            likely: dict[tuple[int, int], Scalar] = {}
            for (i, j), number in numbers.items():
                likely[i, j] = reads[0]([at, b.index(number)])
                likely[j, i] = 1 - likely[i, j]
            matrix: dict[tuple[int, int], Scalar] = {}
            for i in range(count):
                matrix[i, i] = zero
                for j in range(count):
                    if i != j:
                        matrix[i, i] = matrix[i, i] + likely[j, i] * likely[j, i]
                        matrix[i, j] = matrix[j, i] if j < i else -(likely[j, i] * likely[i, j])

            def step(_: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
                products = [zero] * count
                total, error = zero, zero
                for i in range(count):
                    for j in range(count):
                        products[i] = products[i] + matrix[i, j] * carried[j]
                    total = total + carried[i] * products[i]
                for each in products:
                    error = b.max(error, b.abs(each - total))

                def better() -> list[Scalar]:
                    found, sums, mean = list(carried), list(products), total
                    for i in range(count):
                        change = (mean - sums[i]) / matrix[i, i]
                        found[i] = found[i] + change
                        scale = change + 1
                        mean = (mean + change * (change * matrix[i, i] + sums[i] * 2)) / scale / scale
                        sums = [(each + change * matrix[i, j]) / scale for j, each in enumerate(sums)]
                        found = [each / scale for each in found]
                    return found

                return b.when(b.compare("lt", error, _TOLERANCE / count), lambda: carried, better)

            start = [b.const(1 / count, kind)] * count
            for i, value in enumerate(b.reduce([(0, _ROUNDS)], start, step)):
                writes[0]([at, b.index(i)], value)

        b.parallel_for([shape_of(self.pairs)[0], 1], row)
