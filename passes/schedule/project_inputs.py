"""Multiply the inputs of a recurrent layer within it, as its schedule says.

Without vectors each step multiplies its own: the products of all steps are most of the memory that such a layer takes.
Their weight is then read in every step, which costs a core without vectors little: it has few registers to share what
it reads among steps. On vectors the inputs of several steps are multiplied while the weight for the state of earlier
ones is read, where the schedule says so; their weight is packed here. Where another layer's states are the inputs,
that one multiplies the first of them, if its own schedule says so.

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

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, OpResult
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from aotc.dialects.graph.compound.control_flow import graph_operations
from aotc.dialects.graph.interfaces import shape_of
from aotc.dialects.graph.movement import ReshapeOp
from aotc.dialects.graph.packed.pack import pack
from aotc.dialects.graph.packed.products.packed_matmul import column_panels
from aotc.dialects.graph.recurrent.recurrence import RecurrenceOp
from aotc.dialects.graph.schedules import RecurrenceSchedule, ScheduleAttr, SumsSchedule, schedule_of
from aotc.passes.kernel.projections import preceding, projection


class ProjectInputsPass(ModulePass):
    name = "project-inputs"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for each in graph_operations(op):
            if isinstance(each, RecurrenceOp) and each.input_weight is None:
                schedule = schedule_of(each)
                if isinstance(schedule, SumsSchedule):
                    _project(each)
                elif isinstance(schedule, RecurrenceSchedule) and schedule.across is not None:
                    _project(each, schedule.across * schedule.lanes)
        for each in graph_operations(op):
            if isinstance(each, RecurrenceOp) and each.ahead and each.begun is None:
                _begin(each)


def _project(op: RecurrenceOp, width: int | None = None) -> None:
    """Give the layer its inputs; the weight in panels of `width`, if that is given."""
    found = projection(op.x)
    if found is None:
        return
    inputs = ReshapeOp.get(found.rows, shape=[*op.sizes[:2], shape_of(found.rows)[1]])
    added: list[Operation] = [inputs]
    weight = found.weight
    if width is not None:
        packed = pack(weight, column_panels(2, width, transposed=True))
        added.append(packed)
        weight = packed.result
    for each in added:
        each.location = op.location
    Rewriter.insert_op(added, InsertPoint.before(op))
    _replace(op, op.changed({"x": inputs.result, "input_weight": weight, "input_bias": found.bias}))


def _begin(op: RecurrenceOp) -> None:
    """Let the layer before, if its schedule says so, begin the products of the layer's inputs."""
    if (before := preceding(op)) is None:
        return
    schedule = schedule_of(before)
    if not isinstance(schedule, RecurrenceSchedule) or schedule.leading is None:
        return
    assert op.input_weight is not None
    for value in (op.input_weight, op.input_bias):  # constants
        if value is not None:
            _move_before(value.owner, before)
    weights = {"following_weight": op.input_weight, "following_bias": op.input_bias}
    new = before.changed(weights, leading=schedule.leading, following=True)
    assert new.following is not None
    results = [result for result in new.results if result is not new.following]
    _replace(before, new, results)
    _replace(op, op.changed({"begun": new.following}))


def _move_before(op: Operation | Block, place: Operation) -> None:
    """Move a constant, which may be packed."""
    assert isinstance(op, Operation)
    for operand in op.operands:
        _move_before(operand.owner, place)
    if place.is_before_in_block(op):
        op.detach()
        Rewriter.insert_op(op, InsertPoint.before(place))


def _replace(op: RecurrenceOp, new: RecurrenceOp, results: Sequence[OpResult] | None = None) -> None:
    """Put a layer in the place of another one, of the same schedule."""
    new.attributes[ScheduleAttr.KEY] = op.attributes[ScheduleAttr.KEY]
    new.location = op.location
    Rewriter.replace_op(op, new, results)
