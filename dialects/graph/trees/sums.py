"""Sums of rows that are picked from a table, as leaves of trees are."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, result_def

from aotc.dialects.builder import Builder, Reader, Scalar, Writer
from aotc.dialects.graph.elementwise import Domain
from aotc.dialects.graph.indexing import clamped, require_indices
from aotc.dialects.graph.interfaces import LoopNestOp, ShapeError, element_type_of, shape_of

_MOST_SUMS = 8
"""That a processor without vectors keeps in registers."""


@irdl_op_definition
class GatherSumOp(LoopNestOp):
    """result[n, t] = the sum of table[indices[n, r], t] over r, in order; indices are clamped as those of `gather`.

    A row is found once for all its elements, or for eight of them at a time. (PyTorch's EmbeddingBag.)
    """

    name = "graph.gather_sum"
    table = operand_def(TensorType)
    indices = operand_def(TensorType)
    result = result_def(TensorType)

    def infer_types(self) -> Sequence[TensorType]:
        table, indices, kind = shape_of(self.table), shape_of(self.indices), element_type_of(self.table)
        if len(table) != 2 or len(indices) != 2 or not table[0]:
            raise ShapeError(f"table and indices must be matrices, found {list(table)} and {list(indices)}")
        require_indices(self.indices)
        Domain.FLOAT.require(kind, "the table")
        return [TensorType(kind, [indices[0], table[1]])]

    def operations(self) -> int:
        rows, picked = shape_of(self.indices)
        return rows * picked * shape_of(self.table)[1]

    def loops(self, b: Builder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        (rows, picked), (extent, width) = shape_of(self.indices), shape_of(self.table)
        zero = b.const(0, element_type_of(self.table))

        def row(index: list[Scalar]) -> None:
            for first in range(0, width, _MOST_SUMS):
                columns = [b.index(column) for column in range(first, min(first + _MOST_SUMS, width))]

                def add(at: list[Scalar], sums: list[Scalar], columns: list[Scalar] = columns) -> list[Scalar]:
                    place = clamped(b, reads[1]([index[0], at[0]]), extent)
                    return [total + reads[0]([place, column]) for total, column in zip(sums, columns, strict=True)]

                for column, total in zip(columns, b.reduce([(0, picked)], [zero] * len(columns), add), strict=True):
                    writes[0]([index[0], column], total)

        b.parallel_for([rows, 1], row)
