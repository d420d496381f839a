"""Matrix multiplication, which adds up as `convolution` does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition

from aotc.dialects.arrays import scaled
from aotc.dialects.builder import Builder, Reader, Scalar
from aotc.dialects.graph.accumulation import AccumulatingOp
from aotc.dialects.graph.interfaces import Array, ChannelWeightsOp, ShapeError, element_type_of, shape_of
from aotc.dialects.graph.packed.products.packed_matmul import Elements, ProductOp
from aotc.dialects.graph.shapes import broadcast
from aotc.dialects.properties import opt_bool_prop, opt_int_prop


@irdl_op_definition
class MatMulOp(ProductOp, ChannelWeightsOp, AccumulatingOp):
    """A product with matrices rhs [..., K, N]; `transpose_rhs` says that they are stored [..., N, K]."""

    name = "graph.matmul"
    transpose_rhs = opt_bool_prop()
    lhs_zero_point = opt_int_prop()
    rhs_zero_point = opt_int_prop()
    ZERO_POINTS: ClassVar[tuple[str, str]] = ("lhs_zero_point", "rhs_zero_point")
    MATRIX_RANK: ClassVar[int] = 2
    CHANNELS: ClassVar[int] = -1

    def contracted_axes(self) -> tuple[int, int] | None:
        lhs, rhs = len(shape_of(self.lhs)), len(shape_of(self.rhs))
        return lhs - (2 if self.transpose_lhs else 1), rhs - (1 if self.transpose_rhs else 2)

    def scaled_weight(self, weight: Array, factors: Array) -> Array:
        factors = factors[:, None] if self.transpose_rhs else factors
        return scaled(weight, factors, element_type_of(self.result))

    def sizes(self) -> tuple[tuple[int, ...], int, int, int]:
        lhs, rhs = shape_of(self.lhs), shape_of(self.rhs)
        if len(lhs) < 2 or len(rhs) < 2:
            raise ShapeError(f"operands must be matrices or batches of them, found {list(lhs)} and {list(rhs)}")
        m, k = reversed(lhs[-2:]) if self.transpose_lhs else lhs[-2:]
        depth, n = reversed(rhs[-2:]) if self.transpose_rhs else rhs[-2:]
        if k != depth:
            raise ShapeError(f"{list(lhs)} and {list(rhs)} do not multiply: inner dimensions are {k} and {depth}")
        return broadcast(lhs[:-2], rhs[:-2]), m, n, k

    def product_type(self) -> Attribute:
        return self.summed_type()

    def multiplied(self, b: Builder, *values: Scalar) -> list[Scalar]:
        return self.factors(b, *values)

    def right(self, b: Builder, read: Reader, outer: Sequence[Scalar], column: Scalar) -> Elements:
        matrix = self.matrix(b, outer)
        return lambda k: read([*matrix, *((column, k) if self.transpose_rhs else (k, column))])
