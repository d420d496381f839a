"""The determinant of a matrix."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.irdl import irdl_op_definition

from aotc.dialects.builder import Scalar
from aotc.dialects.graph.interfaces import shape_of
from aotc.dialects.graph.matrices.elimination import EliminationOp, Matrix


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
