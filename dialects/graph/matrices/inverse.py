"""The inverse of a matrix."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.irdl import irdl_op_definition

from aotc.dialects.builder import Scalar
from aotc.dialects.graph.interfaces import shape_of
from aotc.dialects.graph.matrices.elimination import EliminationOp, Matrix


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
