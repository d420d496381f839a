"""The product that a recurrent layer's inputs have been multiplied by, for all steps at once."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from aotc.dialects.graph.elementwise import AddOp
from aotc.dialects.graph.interfaces import producer, shape_of
from aotc.dialects.graph.matmul import MatMulOp
from aotc.dialects.graph.movement import ReshapeOp


@dataclass(frozen=True)
class Projection:
    """The product of rows of inputs, one for each line of each step, and a matrix; a bias is added."""

    rows: SSAValue
    weight: SSAValue
    bias: SSAValue | None


def projection(x: SSAValue) -> Projection | None:
    """The product that `x` is for several steps, if nothing else reads it."""
    reshaped = producer(x, ReshapeOp)
    if reshaped is None or shape_of(x)[0] < 2 or not x.has_one_use():
        return None
    total, bias = reshaped.x, None
    if (added := producer(total, AddOp)) is not None and total.has_one_use():
        total, bias = added.lhs, added.rhs
    product = producer(total, MatMulOp)
    if product is None or not total.has_one_use() or (bias is not None and shape_of(bias) != shape_of(x)[2:]):
        return None
    matrices = len(shape_of(product.lhs)) == len(shape_of(product.rhs)) == 2
    plain = product.flag("transpose_rhs") and not product.flag("transpose_lhs")
    return Projection(product.lhs, product.rhs, bias) if matrices and plain else None
