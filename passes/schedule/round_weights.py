"""Round half of the weight for the state of a recurrent layer to 24 bits, so that a step reads less.

A step waits for that weight; a processor that does more than multiply-adds meanwhile reads seven registers of it and
makes eight (`dialects/graph/recurrent/shared.py`). It is done where the schedule has panels of eight, the steps are
those of one row, and every column that is rounded is so long, as a vector, that what changes is within the rounding
of floats.

Before:
```mlir
%y, .. = graph.rnn %x, %r {schedule = #graph.recurrence_schedule<..>, ..} : (.., tensor<256x256xf32>) -> ..
```
After:
```mlir
%y, .. = graph.rnn %x, %r_shared {exponent = -35, schedule = .., ..} : (.., tensor<2x256x112xi32>) -> ..
```
"""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from aotc.dialects.aot.contract import target_of
from aotc.dialects.constants import constant_op, key_of, known_array
from aotc.dialects.graph.compound.control_flow import graph_operations
from aotc.dialects.graph.recurrent.recurrence import RecurrenceOp
from aotc.dialects.graph.recurrent.shared import REGISTERS, exponent_of, shared_panels
from aotc.dialects.graph.schedules import RecurrenceSchedule, schedule_of
from aotc.machines.machine import Machine
from aotc.machines.targets import machine_of
from aotc.model.weight_store import WeightStore
from aotc.passes.kernel.costs.recurrent_cost import shares_registers
from aotc.passes.kernel.projections import single


class RoundWeightsPass(ModulePass):
    name = "round-weights"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if (machine := machine_of(target_of(op))) is None:
            return
        store = WeightStore.of(ctx)
        for each in graph_operations(op):
            if isinstance(each, RecurrenceOp):
                _round(each, machine, store)


def _round(op: RecurrenceOp, machine: Machine, store: WeightStore) -> None:
    schedule, matrix = schedule_of(op), known_array(op.weight, store)
    if not isinstance(schedule, RecurrenceSchedule) or schedule.nr != REGISTERS or matrix is None or not single(op):
        return
    if matrix.ndim != 2 or not shares_registers(machine, matrix.nbytes):
        return
    exponent = exponent_of(matrix, schedule.lanes)
    if exponent is None:
        return
    panels = shared_panels(matrix, exponent, schedule.lanes)
    constant = constant_op(panels, f"{key_of(op.weight) or 'weight'}_shared", store)
    constant.location = op.location
    Rewriter.insert_op(constant, InsertPoint.before(op))
    op.operands[op.operands.index(op.weight)] = constant.result
    op.exponent = exponent
