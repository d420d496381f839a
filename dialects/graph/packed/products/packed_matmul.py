"""Matrix products, those with a matrix packed into panels of columns, and the packing."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, TypeAlias

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, opt_result_def, result_def

from aotc.dialects.builder import Builder, Reader, Scalar
from aotc.dialects.dtypes import compute_type
from aotc.dialects.graph.interfaces import (
    ParallelOp,
    ShapeError,
    element_type_of,
    narrowest_element_type,
    shape_of,
)
from aotc.dialects.graph.packed.layout import Layout, Mode, blocks
from aotc.dialects.graph.schedules import check_partial_sums
from aotc.dialects.graph.shapes import broadcast, broadcast_index, ceil_div
from aotc.dialects.properties import int_prop, opt_bool_prop


def column_panels(rank: int, width: int, *, transposed: bool = False) -> Layout:
    """A matrix [.., K, N] (`transposed`: [.., N, K]) as panels of `width` columns: [.., ceil(N / width), K, width]."""
    row, column = (rank - 1, rank - 2) if transposed else (rank - 2, rank - 1)
    panel, lane = blocks(column, width)
    return Layout("columns", (*((Mode(dim),) for dim in range(rank - 2)), (panel,), (Mode(row),), (lane,)))


Elements: TypeAlias = Callable[[Scalar], Scalar]
"""The elements of a row or column, by their position along the reduction."""


class SizedProductOp(ParallelOp, ABC):
    """A product of matrices, for each index of batch dimensions."""

    @abstractmethod
    def sizes(self) -> tuple[tuple[int, ...], int, int, int]:
        """The batch shape, M, N and K; raises ShapeError."""

    def operations(self) -> int:
        batch, *sizes = self.sizes()
        return 2 * math.prod((*batch, *sizes))


class ProductOp(SizedProductOp, ABC):
    """lhs [.., M, K] times a matrix [K, N] for each index of the batch dimensions, which broadcast: [.., M, N].

    `transpose_lhs` says that lhs is stored [.., K, M].
    """

    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    transpose_lhs = opt_bool_prop()

    MATRIX_RANK: ClassVar[int]
    """How many dimensions of rhs, the last ones, are a matrix."""

    @abstractmethod
    def right(self, b: Builder, read: Reader, outer: Sequence[Scalar], column: Scalar) -> Elements:
        """A column of the matrix."""

    def infer_types(self) -> Sequence[TensorType]:
        batch, m, n, _ = self.sizes()
        return [TensorType(self.product_type(), [*batch, m, n])]

    def product_type(self) -> Attribute:
        """The result's element type; raises ShapeError."""
        return narrowest_element_type(self.lhs, self.rhs)

    def multiplied(self, b: Builder, *values: Scalar) -> list[Scalar]:
        """Elements of lhs and rhs as they are multiplied."""
        return list(values)

    def left(self, b: Builder, read: Reader, outer: Sequence[Scalar], row: Scalar) -> Elements:
        """A row of lhs."""
        batch = broadcast_index(b, outer, shape_of(self.lhs)[:-2])
        return lambda k: read([*batch, *((k, row) if self.transpose_lhs else (row, k))])

    def matrix(self, b: Builder, outer: Sequence[Scalar]) -> list[Scalar]:
        """The index of a matrix in rhs."""
        return broadcast_index(b, outer, shape_of(self.rhs)[: -self.MATRIX_RANK])

    def compute(self, b: Builder, index: list[Scalar], reads: Sequence[Reader]) -> Scalar:
        *outer, row, column = index
        left, right = self.left(b, reads[0], outer, row), self.right(b, reads[1], outer, column)

        def term(at: list[Scalar]) -> Scalar:
            x, y = self.multiplied(b, left(at[0]), right(at[0]))
            return x * y

        return b.sum([(0, self.sizes()[-1])], b.const(0, element_type_of(self.result)), term)


@irdl_op_definition
class PackedMatMulOp(ProductOp):
    """A product with matrices [.., K, `columns`] packed by `column_panels`.

    The optional result `partials` [M, width] is a scratch buffer for sums of one panel whose reduction is blocked
    (`kc` of its schedule).
    """

    name = "graph.packed_matmul"
    columns = int_prop()
    COMPUTED: ClassVar[int | None] = 1
    result = result_def(TensorType)
    partials = opt_result_def(TensorType)
    MATRIX_RANK: ClassVar[int] = 3

    def sizes(self) -> tuple[tuple[int, ...], int, int, int]:
        lhs, rhs = shape_of(self.lhs), shape_of(self.rhs)
        if len(lhs) < 2 or len(rhs) < 3:
            raise ShapeError(f"operands must be matrices or batches of them, found {list(lhs)} and {list(rhs)}")
        m, depth = reversed(lhs[-2:]) if self.transpose_lhs else lhs[-2:]
        columns = self.columns
        if rhs[-2] != depth or rhs[-3] != ceil_div(columns, rhs[-1]):
            raise ShapeError(f"{list(lhs)} and panels {list(rhs)} of {columns} columns do not multiply")
        return broadcast(lhs[:-2], rhs[:-3]), m, columns, depth

    def infer_types(self) -> Sequence[TensorType]:
        (result,) = super().infer_types()
        partials = TensorType(compute_type(result.element_type), [result.get_shape()[-2], shape_of(self.rhs)[-1]])
        return [result, partials][: len(self.results)]

    def verify_(self) -> None:
        super().verify_()
        check_partial_sums(self, self.partials)

    def right(self, b: Builder, read: Reader, outer: Sequence[Scalar], column: Scalar) -> Elements:
        width = b.index(shape_of(self.rhs)[-1])
        panel, lane = column / width, b.rem(column, width)
        matrix = self.matrix(b, outer)
        return lambda k: read([*matrix, panel, k, lane])
