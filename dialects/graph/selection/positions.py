"""Where a tensor is not zero."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import TensorType, i1, i64
from xdsl.irdl import irdl_op_definition, operand_def, result_def

from aotc.dialects.builder import Builder, Reader, Scalar, Writer
from aotc.dialects.graph.interfaces import Array, LoopNestOp, element_type_of, shape_of
from aotc.dialects.graph.shapes import delinearize


@irdl_op_definition
class NonZeroOp(LoopNestOp):
    """The indices of the elements of x that are not zero, in row-major order, a column each: indices [rank, elements]
    and count []. NaN is not zero."""

    name = "graph.non_zero"
    x = operand_def(TensorType)
    indices = result_def(TensorType)
    count = result_def(TensorType)

    def infer_types(self) -> Sequence[TensorType]:
        shape = shape_of(self.x)
        return [TensorType(i64, [len(shape), math.prod(shape)]), TensorType(i64, [])]

    def evaluate(self, operands: Sequence[Array]) -> Sequence[Array] | None:
        """The same by numpy: extents depend on it, and loops take 100 us for each element."""
        (x,) = operands
        found = np.array(np.nonzero(x.reshape(x.shape or (1,))), np.int64)[: x.ndim]
        indices = np.full(shape_of(self.indices), -1, np.int64)
        count = int(np.count_nonzero(x))
        indices[:, :count] = found
        return [indices, np.array(count, np.int64)]

    def loops(self, b: Builder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        shape = shape_of(self.x)
        size = math.prod(shape)

        def step(at: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
            index = delinearize(b, at[0], shape)
            value = reads[0](index)
            found = value if element_type_of(self.x) == i1 else b.compare("ne", value, 0)

            def write() -> None:
                for axis, i in enumerate(index):
                    writes[0]([b.index(axis), carried[0]], b.cast(i, i64))

            b.only_when(found, write)
            return [b.select(found, carried[0] + 1, carried[0])]

        (count,) = b.reduce([(0, size)], [b.index(0)], step)
        none = b.const(-1, i64)

        def pad(place: Scalar) -> None:
            for axis in range(len(shape)):
                writes[0]([b.index(axis), place], none)

        b.sequential_range(count, size, 1, pad)
        writes[1]([], b.cast(count, i64))
