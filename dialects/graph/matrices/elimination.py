"""Gaussian elimination with partial pivoting: determinants and inverses of matrices."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, result_def

from aotc.dialects.builder import Builder, Reader, Scalar, Writer
from aotc.dialects.dtypes import compute_type
from aotc.dialects.graph.checks import expect
from aotc.dialects.graph.interfaces import LoopNestOp, element_type_of, shape_of

Column: TypeAlias = "Callable[[Scalar], None]"
"""Emits what is done with a column, or with several neighbouring ones."""
Columns: TypeAlias = "Callable[[int, int, Scalar, Column], None]"
"""Emits the loop over the columns from `low` to `end`, of which those before `first` do not matter."""


class EliminationOp(LoopNestOp, ABC):
    """A function of the square matrices x [.., n, n], by elimination in `memory`, a scratch buffer of as many rows."""

    x = operand_def(TensorType)
    COMPUTED: ClassVar[int | None] = 1
    result = result_def(TensorType)
    memory = result_def(TensorType)

    def infer_types(self) -> Sequence[TensorType]:
        expect(self, x=".. n n float")
        x, kind = shape_of(self.x), element_type_of(self.x)
        shape, width = self.extents(x)
        return [TensorType(kind, shape), TensorType(compute_type(kind), [*x[:-1], width])]

    def loops(self, b: Builder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        def columns(low: int, end: int, first: Scalar, body: Column) -> None:
            b.sequential_range(first, end, 1, body)

        self.nest(b, reads, writes, columns)

    def nest(self, b: Builder, reads: Sequence[Reader], writes: Sequence[Writer], columns: Columns) -> None:
        """Emit the whole nest, whose inner loops `columns` writes."""
        *batch, _, _ = shape_of(self.x)
        b.parallel_for(batch, lambda outer: self.eliminate(Matrix(self, b, reads, writes, outer, columns)))

    @abstractmethod
    def extents(self, x: Sequence[int]) -> tuple[Sequence[int], int]:
        """The shape of the result, and the columns of `memory`, for matrices of shape `x`."""

    @abstractmethod
    def eliminate(self, matrix: Matrix) -> None:
        """Emit the elimination of one matrix."""


@dataclass(frozen=True)
class Matrix:
    """One matrix in `memory`, while the loops of its elimination are written."""

    op: EliminationOp
    b: Builder
    reads: Sequence[Reader]
    writes: Sequence[Writer]
    outer: Sequence[Scalar]
    columns: Columns

    @property
    def size(self) -> int:
        """Its rows."""
        return shape_of(self.op.x)[-1]

    @property
    def kind(self) -> Attribute:
        """The element type of `memory`."""
        return compute_type(element_type_of(self.op.x))

    def given(self, row: Scalar, column: Scalar) -> Scalar:
        """An element of x."""
        return self.reads[0]([*self.outer, row, column])

    def read(self, row: Scalar, column: Scalar) -> Scalar:
        """An element of `memory`."""
        return self.reads[1]([*self.outer, row, column])

    def write(self, row: Scalar, column: Scalar, value: Scalar) -> None:
        """Store an element to `memory`."""
        self.writes[1]([*self.outer, row, column], value)

    def give(self, index: Sequence[Scalar], value: Scalar) -> None:
        """Store an element of the result."""
        self.writes[0]([*self.outer, *index], value)

    def copy(self, row: Scalar) -> None:
        """Copy a row of x to `memory`."""
        first = self.b.index(0)
        self.columns(0, self.size, first, lambda column: self.write(row, column, self.given(row, column)))

    def swap(self, low: int, end: int, first: Scalar, k: Scalar, other: Scalar, divisor: Scalar | None = None) -> None:
        """Swap rows `k` and `other` in the columns from `first` on; what comes to row `k` is divided by `divisor`."""

        def swap(column: Scalar) -> None:
            upper, lower = self.read(k, column), self.read(other, column)
            self.write(other, column, upper)
            self.write(k, column, lower if divisor is None else lower / divisor)

        self.columns(low, end, first, swap)

    def subtract(self, low: int, end: int, first: Scalar, k: Scalar, row: Scalar, factor: Scalar) -> None:
        """Subtract `factor` times row `k` from another row in the columns from `first` on."""

        def subtract(column: Scalar) -> None:
            self.write(row, column, self.read(row, column) - factor * self.read(k, column))

        self.columns(low, end, first, subtract)

    def pivot_row(self, k: Scalar) -> Scalar:
        """The row from `k` on whose element in column `k` is greatest in magnitude, the first of these."""
        b = self.b

        def greater(row: list[Scalar], best: list[Scalar]) -> list[Scalar]:
            value = b.abs(self.read(row[0], k))
            better = b.compare("gt", value, best[1])
            return [b.select(better, row[0], best[0]), b.select(better, value, best[1])]

        return b.reduce([(k + 1, self.size)], [k, b.abs(self.read(k, k))], greater)[0]


@irdl_op_definition
class DeterminantOp(EliminationOp):
    """The determinants of the matrices x [.., n, n], by Gaussian elimination with partial pivoting in `memory`, a
    scratch buffer."""

    name = "graph.determinant"

    def extents(self, x: Sequence[int]) -> tuple[Sequence[int], int]:
        return x[:-2], x[-1]

    def operations(self) -> int:
        *batch, size, _ = shape_of(self.x)
        return 2 * math.prod(batch) * size**3 // 3

    def eliminate(self, matrix: Matrix) -> None:
        b, size = matrix.b, matrix.size
        zero, one = b.const(0, matrix.kind), b.const(1, matrix.kind)

        def step(at: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
            (k,) = at
            best = matrix.pivot_row(k)
            pivot = matrix.read(best, k)
            matrix.swap(0, size, k, k, best)
            singular = b.compare("eq", pivot, 0)
            divisor = b.select(singular, one, pivot)

            def clear(row: Scalar) -> None:
                factor = b.select(singular, zero, matrix.read(row, k) / divisor)
                matrix.subtract(0, size, k + 1, k, row, factor)

            b.sequential_range(k + 1, size, 1, clear)
            swapped = b.compare("ne", best, k)
            return [b.select(swapped, -carried[0], carried[0]) * pivot]

        b.sequential_range(0, size, 1, matrix.copy)
        matrix.give([], b.reduce([(0, size)], [one], step)[0])


@irdl_op_definition
class InverseOp(EliminationOp):
    """The inverses of the matrices x [.., n, n], by Gauss-Jordan elimination with partial pivoting in `memory`
    [.., n, 2 n], a scratch buffer; of a singular one they are no numbers."""

    name = "graph.inverse"

    def extents(self, x: Sequence[int]) -> tuple[Sequence[int], int]:
        return x, 2 * x[-1]

    def operations(self) -> int:
        *batch, size, _ = shape_of(self.x)
        return 2 * math.prod(batch) * size**3

    def eliminate(self, matrix: Matrix) -> None:
        b, size = matrix.b, matrix.size
        zero, one = b.const(0, matrix.kind), b.const(1, matrix.kind)
        right = b.index(size)

        def begin(row: Scalar) -> None:
            matrix.copy(row)
            matrix.columns(size, 2 * size, right, lambda column: matrix.write(row, column, zero))
            matrix.write(row, row + size, one)

        def step(k: Scalar) -> None:
            best = matrix.pivot_row(k)
            pivot = matrix.read(best, k)
            # what lies before column k is zero in these rows and is not read again
            matrix.swap(0, size, k, k, best, pivot)
            matrix.swap(size, 2 * size, right, k, best, pivot)

            def clear(row: Scalar) -> None:
                factor = b.select(b.compare("eq", row, k), zero, matrix.read(row, k))
                matrix.subtract(0, size, k + 1, k, row, factor)
                matrix.subtract(size, 2 * size, right, k, row, factor)

            b.sequential_range(0, size, 1, clear)

        def end(row: Scalar) -> None:
            first = b.index(0)
            matrix.columns(0, size, first, lambda column: matrix.give([row, column], matrix.read(row, column + size)))

        for each in (begin, step, end):
            b.sequential_range(0, size, 1, each)
