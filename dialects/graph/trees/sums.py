"""Sums of rows that are picked from a table, as leaves of trees are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import reduce
from typing import ClassVar

from xdsl.dialects.builtin import I64, IntegerAttr, IntegerType, TensorType, f32, i32
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from aotc.dialects.builder import Builder, Reader, Scalar, Writer
from aotc.dialects.dtypes import ELEMENT_TYPES, compute_type
from aotc.dialects.graph.elementwise import Domain
from aotc.dialects.graph.indexing import clamped, require_indices
from aotc.dialects.graph.interfaces import LoopNestOp, ShapeError, element_type_of, shape_of
from aotc.dialects.graph.quantized.flip import UI8

_MOST_SUMS = 8
"""That a processor without vectors keeps in registers."""
UI16 = ELEMENT_TYPES["uint16"]
MOST_VOTES = {UI8: 255, UI16: 4095}
"""Of a leaf, by the type that they are kept in."""
MOST_EXACT = 2**24
"""Up to which f32 has all integers."""


class PickedSumOp(LoopNestOp, ABC):
    """result[n, t] = the sum over r, in order, of what row indices[n, r] of a table says of t.

    Indices are clamped as those of `gather`. A row is found once for all its elements, or for eight of them at a time.
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
        """What a row says of the t in `columns`."""

    def infer_types(self) -> Sequence[TensorType]:
        table, indices = shape_of(self.table), shape_of(self.indices)
        if len(table) != 2 or len(indices) != 2 or not table[0]:
            raise ShapeError(f"table and indices must be matrices, found {list(table)} and {list(indices)}")
        require_indices(self.indices)
        return [TensorType(self.check_table(), [indices[0], self.width])]

    def operations(self) -> int:
        rows, picked = shape_of(self.indices)
        return rows * picked * self.width

    def loops(self, b: Builder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        (rows, picked), extent, width = shape_of(self.indices), shape_of(self.table)[0], self.width
        zero = b.const(0, compute_type(element_type_of(self.result)))

        def row(index: list[Scalar]) -> None:
            for first in range(0, width, _MOST_SUMS):
                columns = [b.index(column) for column in range(first, min(first + _MOST_SUMS, width))]

                def add(at: list[Scalar], sums: list[Scalar], columns: list[Scalar] = columns) -> list[Scalar]:
                    place = clamped(b, reads[1]([index[0], at[0]]), extent)
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
    """

    name = "graph.vote_sum"
    targets = prop_def(IntegerAttr[I64])
    divisor = prop_def(IntegerAttr[I64])
    CODE: ClassVar[int] = 128
    """Bytes of code that dividing takes, about."""

    @property
    def width(self) -> int:
        return self.targets.value.data

    def check_table(self) -> Attribute:
        kind, columns = element_type_of(self.table), shape_of(self.table)[1]
        most = MOST_VOTES.get(kind) if isinstance(kind, IntegerType) else None
        if most is None or columns not in (self.width, self.width + 1):
            raise ShapeError(f"the table has {columns} columns of {kind}, not {self.width} or one more of ui8 or ui16")
        if not 0 < self.divisor.value.data * most < MOST_EXACT:
            raise ShapeError(f"the divisor {self.divisor.value.data} times {most} votes is not an exact f32")
        return f32

    def said(self, b: Builder, read: Reader, row: Scalar, columns: Sequence[Scalar]) -> list[Scalar]:
        votes = [b.cast(read([row, b.index(column)]), i32) for column in range(shape_of(self.table)[1])]
        cast = b.cast(reduce(b.add, votes) * self.divisor.value.data, f32)
        return [b.cast(votes[int(column.constant or 0)], f32) / cast for column in columns]
