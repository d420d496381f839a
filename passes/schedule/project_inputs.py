"""Multiply the inputs of a recurrent layer in each of its steps where it is scheduled without vectors.

The products of all steps are most of the memory that such a layer takes. Their weight is then read in every step, which
costs a core without vectors little: it has few registers to share what it reads among steps.

Before:
```mlir
%0 = graph.matmul %rows, %w {transpose_rhs = true} : (tensor<10x8xf32>, tensor<256x8xf32>) -> tensor<10x256xf32>
%1 = graph.add %0, %bias : (tensor<10x256xf32>, tensor<256xf32>) -> tensor<10x256xf32>
%2 = graph.reshape %1 {shape = array<i64: 10, 1, 256>} : (tensor<10x256xf32>) -> tensor<10x1x256xf32>
%y, .. = graph.lstm %2, %r {.., schedule = #graph.sums_schedule<..>} : (tensor<10x1x256xf32>, tensor<256x64xf32>) -> ..
```
After:
```mlir
%0 = graph.reshape %rows {shape = array<i64: 10, 1, 8>} : (tensor<10x8xf32>) -> tensor<10x1x8xf32>
%y, .. = graph.lstm %0, %r, %w, %bias {.., schedule = #graph.sums_schedule<..>} : (tensor<10x1x8xf32>, ..) -> ..
```
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from aotc.dialects.graph.compound.control import graph_operations
from aotc.dialects.graph.elementwise import AddOp
from aotc.dialects.graph.interfaces import producer, shape_of
from aotc.dialects.graph.matmul import MatMulOp
from aotc.dialects.graph.movement import ReshapeOp
from aotc.dialects.graph.recurrent.recurrence import RecurrenceOp
from aotc.dialects.graph.schedules import ScheduleAttr, SumsSchedule, schedule_of


@dataclass(frozen=True)
class ProjectInputsPass(ModulePass):
    """Multiply the inputs of a recurrent layer in each of its steps where it is scheduled without vectors."""

    name = "project-inputs"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for each in graph_operations(op):
            if isinstance(each, RecurrenceOp) and isinstance(schedule_of(each), SumsSchedule):
                _project(each)


@dataclass(frozen=True)
class _Projection:
    """The product of rows of inputs, one for each line of each step, and a matrix; a bias is added."""

    rows: SSAValue
    weight: SSAValue
    bias: SSAValue | None


def _project(op: RecurrenceOp) -> None:
    found = _projection(op.x)
    if found is None or op.input_weight is not None:
        return
    inputs = ReshapeOp.get(found.rows, shape=[*op.sizes[:2], shape_of(found.rows)[1]])
    new = op.with_inputs(inputs.result, found.weight, found.bias)
    new.attributes[ScheduleAttr.KEY] = op.attributes[ScheduleAttr.KEY]
    inputs.location = new.location = op.location
    Rewriter.insert_op(inputs, InsertPoint.before(op))
    Rewriter.replace_op(op, new)


def _projection(x: SSAValue) -> _Projection | None:
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
    return _Projection(product.lhs, product.rhs, bias) if matrices and plain else None
