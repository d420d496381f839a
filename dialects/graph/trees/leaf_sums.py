"""Sums of rows that are picked from a table, as leaves of trees are; probabilities of classes from those of any two."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import reduce
from itertools import combinations
from typing import ClassVar

from xdsl.dialects.builtin import TensorType, f32, i32
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, result_def

from aotc.dialects.builder import INDEX, Builder, Reader, Scalar, Writer
from aotc.dialects.dtypes import ELEMENT_TYPES, compute_type
from aotc.dialects.graph.checks import expect
from aotc.dialects.graph.elementwise import Domain
from aotc.dialects.graph.indexing import clamped
from aotc.dialects.graph.interfaces import LoopNestOp, ShapeError, element_type_of, producer, shape_of
from aotc.dialects.graph.quantized.bytes import UI8
from aotc.dialects.graph.trees.leaves import BranchingTreesOp, TreeLeavesOp
from aotc.dialects.properties import int_prop, opt_int_prop

_MOST_SUMS = 8
"""That a processor without vectors keeps in registers."""
UI16 = ELEMENT_TYPES["uint16"]
MOST_VOTES = 4095
"""Of a leaf."""
MOST_EXACT = 2**24
"""Up to which f32 has all integers."""
BYTE = 256


class PickedSumOp(LoopNestOp, ABC):
    """result[n, t] = the sum over r, in order, of what row indices[n, r] of a table says of t.

    Indices are clamped as those of `gather`, but for leaves of trees, which exist. A row is found once for all its
    elements, or for eight of them at a time.
    """

    table = operand_def(TensorType)
    indices = operand_def(TensorType)
    result = result_def(TensorType)

    @property
    @abstractmethod
    def width(self) -> int:
        """The number of t."""

    @abstractmethod
    def check_table(self) -> Attribute:
        """The element type of the result; raises ShapeError where the table does not fit."""

    @abstractmethod
    def said(self, b: Builder, read: Reader, row: Scalar, columns: Sequence[Scalar]) -> list[Scalar]:
        """The values of a row for the t in `columns`."""

    def infer_types(self) -> Sequence[TensorType]:
        at = expect(self, table="picked+ columns", indices="rows r index")
        return [TensorType(self.check_table(), [at["rows"], self.width])]

    def operations(self) -> int:
        rows, picked = shape_of(self.indices)
        return rows * picked * self.width

    def loops(self, b: Builder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        (rows, picked), extent, width = shape_of(self.indices), shape_of(self.table)[0], self.width
        walks = producer(self.indices, TreeLeavesOp) or producer(self.indices, BranchingTreesOp)
        exists = walks is not None and walks.leaves <= extent
        zero = b.const(0, compute_type(element_type_of(self.result)))

        def row(index: list[Scalar]) -> None:
            for first in range(0, width, _MOST_SUMS):
                columns = [b.index(column) for column in range(first, min(first + _MOST_SUMS, width))]

                def add(at: list[Scalar], sums: list[Scalar], columns: list[Scalar] = columns) -> list[Scalar]:
                    number = reads[1]([index[0], at[0]])
                    place = b.cast(number, INDEX) if exists else clamped(b, number, extent)
                    return [b.add(*each) for each in zip(sums, self.said(b, reads[0], place, columns), strict=True)]

                for column, total in zip(columns, b.reduce([(0, picked)], [zero] * len(columns), add), strict=True):
                    writes[0]([index[0], column], total)

        b.parallel_for([rows, 1], row)


@irdl_op_definition
class GatherSumOp(PickedSumOp):
    """A sum of elements of the table itself, of floats. (PyTorch's EmbeddingBag.)"""

    name = "graph.gather_sum"

    @property
    def width(self) -> int:
        return shape_of(self.table)[1]

    def check_table(self) -> Attribute:
        kind = element_type_of(self.table)
        Domain.FLOAT.require(kind, "the table")
        return kind

    def said(self, b: Builder, read: Reader, row: Scalar, columns: Sequence[Scalar]) -> list[Scalar]:
        return [read([row, column]) for column in columns]


@irdl_op_definition
class VoteSumOp(PickedSumOp):
    """A sum of shares of votes: the table has those, u8 or u16, for each of `targets`, and perhaps for none of them,
    behind.

    A row says votes[t] / (the sum of the row * `divisor`), an f32, which is rounded once. It has at most `MOST_VOTES`.
    From row `wide` of u8 on, where that is given, each second row has what the one before it says times 256, to be
    added to that; it has no number of its own.
    """

    name = "graph.vote_sum"
    targets = int_prop()
    divisor = int_prop()
    wide = opt_int_prop()
    CODE: ClassVar[int] = 128
    """Bytes of code that dividing takes, about."""
    WIDE_CODE: ClassVar[int] = 64
    """The same of adding wide rows."""

    @property
    def width(self) -> int:
        return self.targets

    def check_table(self) -> Attribute:
        kind, (rows, columns) = element_type_of(self.table), shape_of(self.table)
        if kind not in (UI8, UI16) or columns not in (self.width, self.width + 1):
            raise ShapeError(f"the table has {columns} columns of {kind}, not {self.width} or one more of ui8 or ui16")
        if not 0 < self.divisor * MOST_VOTES < MOST_EXACT:
            raise ShapeError(f"the divisor {self.divisor} times {MOST_VOTES} votes is not an exact f32")
        if self.wide is not None:
            wide = self.wide
            if kind != UI8 or not 0 <= wide < rows or (rows - wide) % 2:
                raise ShapeError(f"the last of {rows} rows of {kind} are no even number from {wide} on")
        return f32

    def said(self, b: Builder, read: Reader, row: Scalar, columns: Sequence[Scalar]) -> list[Scalar]:
        every = [b.index(column) for column in range(shape_of(self.table)[1])]

        def narrow(row: Scalar) -> list[Scalar]:
            return [b.cast(read([row, column]), i32) for column in every]

        votes = narrow(row)
        if self.wide is not None:
            low, is_wide = votes, b.compare("ge", row, self.wide)

            def both() -> list[Scalar]:
                return [each + high * BYTE for each, high in zip(low, narrow(row + 1), strict=True)]

            votes = b.when(is_wide, both, lambda: low)
        cast = b.cast(reduce(b.add, votes) * self.divisor, f32)
        return [b.cast(votes[int(column.constant or 0)], f32) / cast for column in columns]


_ROUNDS = 100
_TOLERANCE = 0.005
"""Of the greatest deviation, to be divided by the number of classes: both as in LIBSVM."""

_MOST = 40
"""Classes; the rounds are written out for all comparisons of two."""


@irdl_op_definition
class ProbabilityCouplingOp(LoopNestOp):
    """The probabilities [N, K] of K classes that agree best with those of any two, [N, K * (K - 1) / 2].

    Comparisons are in the order 01, 02, .., 12, ..; theirs is the probability of the first class if it is one of both.
    Gauss-Seidel rounds until the deviation is small, at most 100. (T. Wu, C. Lin, R. Weng: Probability Estimates for
    Multi-class Classification by Pairwise Coupling, JMLR 5, 2004, algorithm 2.)
    """

    name = "graph.probability_coupling"
    pairwise = operand_def(TensorType)
    result = result_def(TensorType)

    def _classes(self) -> int:
        found = shape_of(self.pairwise)
        count = next((k for k in range(2, _MOST + 1) if k * (k - 1) // 2 == found[1]), None)
        if count is None:
            raise ShapeError(f"two of 2 to {_MOST} classes each must be [rows, K * (K - 1) / 2], found {list(found)}")
        return count

    def infer_types(self) -> Sequence[TensorType]:
        return [TensorType(f32, [expect(self, pairwise="rows comparisons f32")["rows"], self._classes()])]

    def loops(self, b: Builder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        count = self._classes()
        kind = element_type_of(self.pairwise)
        numbers = {two: number for number, two in enumerate(combinations(range(count), 2))}
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

        b.parallel_for([shape_of(self.pairwise)[0], 1], row)
