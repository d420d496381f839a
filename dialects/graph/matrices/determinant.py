"""The determinant of a matrix."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import OpResult
from xdsl.irdl import irdl_op_definition, operand_def, result_def

from aotc.dialects.builder import Builder, Reader, Scalar, Writer
from aotc.dialects.dtypes import compute_type
from aotc.dialects.graph.elementwise import Domain
from aotc.dialects.graph.interfaces import LoopNestOp, ShapeError, element_type_of, shape_of
from aotc.dialects.graph.matrices.pivoting import pivot_row


@irdl_op_definition
class DeterminantOp(LoopNestOp):
    """The determinants of the matrices x [.., n, n], by Gaussian elimination with partial pivoting in `memory`, a
    scratch buffer."""

    name = "graph.determinant"
    x = operand_def(TensorType)
    result = result_def(TensorType)
    memory = result_def(TensorType)

    def infer_types(self) -> Sequence[TensorType]:
        x, kind = shape_of(self.x), element_type_of(self.x)
        if len(x) < 2 or x[-1] != x[-2]:
            raise ShapeError(f"x must be square matrices, found {list(x)}")
        Domain.FLOAT.require(kind, "x")
        return [TensorType(kind, x[:-2]), TensorType(compute_type(kind), x)]

    def scratch(self) -> Sequence[OpResult]:
        return [self.memory]

    def operations(self) -> int:
        *batch, size, _ = shape_of(self.x)
        return 2 * math.prod(batch) * size**3 // 3

    def loops(self, b: Builder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        *batch, size, _ = shape_of(self.x)
        kind = compute_type(element_type_of(self.x))
        zero = b.const(0, kind)

        def matrix(outer: list[Scalar]) -> None:
            def read(row: Scalar, column: Scalar) -> Scalar:
                return reads[1]([*outer, row, column])

            def write(row: Scalar, column: Scalar, value: Scalar) -> None:
                writes[1]([*outer, row, column], value)

            b.sequential_for([size, size], lambda at: write(at[0], at[1], reads[0]([*outer, *at])))

            def step(at: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
                (k,) = at

                best = pivot_row(b, read, k, size)
                pivot = read(best, k)

                def swap(column: Scalar) -> None:
                    upper, lower = read(k, column), read(best, column)
                    write(k, column, lower)
                    write(best, column, upper)

                b.sequential_range(k, size, 1, swap)
                singular = b.compare("eq", pivot, 0)

                def eliminate(row: Scalar) -> None:
                    factor = b.select(singular, zero, read(row, k) / b.select(singular, b.const(1, kind), pivot))
                    b.sequential_range(
                        k + 1, size, 1, lambda column: write(row, column, read(row, column) - factor * read(k, column))
                    )

                b.sequential_range(k + 1, size, 1, eliminate)
                swapped = b.compare("ne", best, k)
                return [b.select(swapped, -carried[0], carried[0]) * pivot]

            writes[0](outer, b.reduce([(0, size)], [b.const(1, kind)], step)[0])

        b.parallel_for(batch, matrix)
