"""Multiply the inputs of a recurrent layer within it, as its schedule says.

Without vectors each step multiplies its own: the products of all steps are most of the memory that such a layer takes.
Their weight is then read in every step, which costs a core without vectors little: it has few registers to share what
it reads among steps. On vectors the inputs of several steps are multiplied while the weight for the state of earlier
ones is read, where the schedule says so; their weight is packed here.

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
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from aotc.dialects.graph.compound.control import graph_operations
from aotc.dialects.graph.interfaces import shape_of
from aotc.dialects.graph.movement import ReshapeOp
from aotc.dialects.graph.packed.matmul import PackColumnsOp
from aotc.dialects.graph.recurrent.recurrence import RecurrenceOp
from aotc.dialects.graph.schedules import RecurrenceSchedule, ScheduleAttr, SumsSchedule, schedule_of
from aotc.passes.kernel.projections import projection


@dataclass(frozen=True)
class ProjectInputsPass(ModulePass):
    """Multiply the inputs of a recurrent layer within it, as its schedule says."""

    name = "project-inputs"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for each in graph_operations(op):
            if isinstance(each, RecurrenceOp) and each.input_weight is None:
                schedule = schedule_of(each)
                if isinstance(schedule, SumsSchedule):
                    _project(each)
                elif isinstance(schedule, RecurrenceSchedule) and schedule.across is not None:
                    _project(each, schedule.across * schedule.lanes)


def _project(op: RecurrenceOp, width: int | None = None) -> None:
    """Give the layer its inputs; the weight in panels of `width`, if that is given."""
    found = projection(op.x)
    if found is None:
        return
    inputs = ReshapeOp.get(found.rows, shape=[*op.sizes[:2], shape_of(found.rows)[1]])
    added: list[Operation] = [inputs]
    weight = found.weight
    if width is not None:
        packed = PackColumnsOp.get(weight, width=width, transpose=True)
        added.append(packed)
        weight = packed.result
    new = op.with_inputs(inputs.result, weight, found.bias)
    new.attributes[ScheduleAttr.KEY] = op.attributes[ScheduleAttr.KEY]
    for each in (*added, new):
        each.location = op.location
    Rewriter.insert_op(added, InsertPoint.before(op))
    Rewriter.replace_op(op, new)
