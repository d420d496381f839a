"""The inverse of a matrix."""

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
class InverseOp(LoopNestOp):
    """The inverses of the matrices x [.., n, n], by Gauss-Jordan elimination with partial pivoting in `memory`
    [.., n, 2 n], a scratch buffer; of a singular one they are no numbers."""

    name = "graph.inverse"
    x = operand_def(TensorType)
    result = result_def(TensorType)
    memory = result_def(TensorType)

    def infer_types(self) -> Sequence[TensorType]:
        x, kind = shape_of(self.x), element_type_of(self.x)
        if len(x) < 2 or x[-1] != x[-2]:
            raise ShapeError(f"x must be square matrices, found {list(x)}")
        Domain.FLOAT.require(kind, "x")
        return [TensorType(kind, x), TensorType(compute_type(kind), [*x[:-1], 2 * x[-1]])]

    def scratch(self) -> Sequence[OpResult]:
        return [self.memory]

    def operations(self) -> int:
        *batch, size, _ = shape_of(self.x)
        return 2 * math.prod(batch) * size**3

    def loops(self, b: Builder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        *batch, size, _ = shape_of(self.x)
        kind = compute_type(element_type_of(self.x))
        zero, one = b.const(0, kind), b.const(1, kind)

        def matrix(outer: list[Scalar]) -> None:
            def read(row: Scalar, column: Scalar) -> Scalar:
                return reads[1]([*outer, row, column])

            def write(row: Scalar, column: Scalar, value: Scalar) -> None:
                writes[1]([*outer, row, column], value)

            def begin(at: list[Scalar]) -> None:
                row, column = at
                write(row, column, reads[0]([*outer, row, column]))
                write(row, column + size, b.select(b.compare("eq", row, column), one, zero))

            def step(at: list[Scalar]) -> None:
                (k,) = at

                best = pivot_row(b, read, k, size)
                pivot = read(best, k)

                def swap(column: Scalar) -> None:
                    upper, lower = read(k, column), read(best, column)
                    write(best, column, upper)
                    write(k, column, lower / pivot)

                # what lies before column k is zero in these rows and is not read again
                b.sequential_range(k, 2 * size, 1, swap)

                def eliminate(row: Scalar) -> None:
                    factor = b.select(b.compare("eq", row, k), zero, read(row, k))
                    b.sequential_range(
                        k + 1,
                        2 * size,
                        1,
                        lambda column: write(row, column, read(row, column) - factor * read(k, column)),
                    )

                b.sequential_range(0, size, 1, eliminate)

            b.sequential_for([size, size], begin)
            b.sequential_for([size], step)
            b.sequential_for([size, size], lambda at: writes[0]([*outer, *at], read(at[0], at[1] + size)))

        b.parallel_for(batch, matrix)
