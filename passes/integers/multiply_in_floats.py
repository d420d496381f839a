"""Multiply two activations of 8-bit integers in f32 where their sums are exact in it.

Dot products of bytes have one factor that is constant, and packed for them. For two that are not, there are the
register tiles of floats: every integer up to 2^24 in magnitude is an f32, so sums that stay below it are exact in any
order. Others stay integers.

Before:
```mlir
%1 = graph.matmul %x, %y {accumulator = i32, lhs_zero_point = 3 : i64} : (tensor<8x64xi8>, tensor<64x8xi8>) -> ..
```
After:
```mlir
%2 = graph.cast %x {to = f32}
%3 = graph.sub %2, %three
%4 = graph.cast %y {to = f32}
%5 = graph.matmul %3, %4 : (tensor<8x64xf32>, tensor<64x8xf32>) -> tensor<8x8xf32>
%1 = graph.cast %5 {to = i32}
```
"""

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32, i32
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from aotc.dialects.aot.contract import target_of
from aotc.dialects.constants import constant_op, known_array
from aotc.dialects.dtypes import integer_range
from aotc.dialects.graph.accumulation import integer_sums
from aotc.dialects.graph.conversion import CastOp
from aotc.dialects.graph.elementwise import SubOp
from aotc.dialects.graph.interfaces import GraphOp, element_type_of
from aotc.dialects.graph.matrices.matmul import MatMulOp
from aotc.machines.targets import machine_of
from aotc.model.weight_store import WeightStore

EXACT = 1 << np.finfo(np.float32).nmant + 1
"""Every integer of at most this magnitude is an f32."""


class MultiplyInFloatsPass(ModulePass):
    name = "multiply-in-floats"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if machine_of(target_of(op)) is None:
            return
        store = WeightStore.of(ctx)
        for each in integer_sums(op):
            if isinstance(each, MatMulOp) and _is_exact(each, store):
                _multiply(each, store)


def _is_exact(op: MatMulOp, store: WeightStore) -> bool:
    """Whether no factor is constant, and no sum of products can leave the integers that are exact in f32."""
    if any(known_array(value, store) is not None for value in op.operands):
        return False
    most = op.sizes()[-1]
    for value, point in zip(op.operands, op.zero_points, strict=True):
        low, high = integer_range(element_type_of(value))
        most *= max(high - point, point - low)
    return most <= EXACT


def _multiply(op: MatMulOp, store: WeightStore) -> None:
    made: list[GraphOp] = []

    def factor(value: SSAValue, point: int) -> SSAValue:
        made.append(CastOp.get(value, to=f32))
        if point:
            zero_point = constant_op(np.array(point, np.float32), "zero_point", store)
            made.extend((zero_point, SubOp.get(made[-1].results[0], zero_point.result)))
        return made[-1].results[0]

    factors = [factor(value, point) for value, point in zip(op.operands, op.zero_points, strict=True)]
    made.append(MatMulOp.get(*factors, transpose_lhs=op.transpose_lhs, transpose_rhs=op.transpose_rhs))
    made.append(CastOp.get(made[-1].results[0], to=i32))
    for each in made:
        each.location = op.location
    Rewriter.insert_op(made, InsertPoint.before(op))
    Rewriter.replace_op(op, [], made[-1].results)
