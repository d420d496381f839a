"""Resampling: every element a weighted sum of elements from places along one axis."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def

from aotc.dialects.builder import INDEX, Builder, Reader, Scalar
from aotc.dialects.graph.checks import expect
from aotc.dialects.graph.interfaces import ParallelOp, common_element_type, element_type_of, shape_of
from aotc.dialects.graph.shapes import require_axis
from aotc.dialects.properties import int_prop


@irdl_op_definition
class ResampleOp(ParallelOp):
    """Weighted sums along `axis`: result[a..., n, b...] = sum over t of x[a..., places[n, t], b...] * weights[n, t].

    The `places` (i64) must lie inside x.
    """

    name = "graph.resample"
    x = operand_def(TensorType)
    places = operand_def(TensorType)
    weights = operand_def(TensorType)
    axis = int_prop()

    def infer_types(self) -> Sequence[TensorType]:
        x, axis = shape_of(self.x), self.axis
        require_axis(axis, len(x))
        at = expect(self, places="n t i64", weights="n t")
        return [TensorType(common_element_type(self.x, self.weights), [*x[:axis], at["n"], *x[axis + 1 :]])]

    def operations(self) -> int:
        return 2 * math.prod(shape_of(self.result)) * shape_of(self.places)[1]

    def compute(self, b: Builder, index: list[Scalar], reads: Sequence[Reader]) -> Scalar:
        axis, taps = self.axis, shape_of(self.places)[1]

        def term(at: list[Scalar]) -> Scalar:
            tap = [index[axis], at[0]]
            x = reads[0]([*index[:axis], b.cast(reads[1](tap), INDEX), *index[axis + 1 :]])
            return x * reads[2](tap)

        return b.sum([(0, taps)], b.const(0, element_type_of(self.result)), term)
