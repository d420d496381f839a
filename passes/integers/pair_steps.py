"""Choose the convolutions of 8-bit integers whose constant weights allow two steps to be added in 16 bits, where that
is fastest.

What the bounds are says `aotc/mathematics/step_pairing.py`. How many steps have a partner depends on the weights,
which is why the schedule is chosen here; whether activations should lose their sign is part of it, and `flip-signs`
obeys it.

Before, with `pair-steps{target=x86-64-v3}`:
```mlir
%0 = graph.conv %x, %w {accumulator = i32, ..} : (tensor<1x256x14x14xi8>, tensor<64x256x1x1xi8>) -> ..
```
After:
```mlir
%0 = graph.conv %x, %w {accumulator = i32, ..,
    schedule = #graph.paired_schedule<lanes = 8, mr = 7, order = columns, unsigned>} : ..
```
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from aotc.dialects.constants import computed_array
from aotc.dialects.graph.compound.control_flow import graph_operations
from aotc.dialects.graph.convolution import ConvOp
from aotc.dialects.graph.schedules import ScheduleAttr
from aotc.machines.machine import Machine
from aotc.machines.tuning_table import TuningTable
from aotc.model.weight_store import WeightStore
from aotc.passes.kernel.model_weights import machine_for
from aotc.passes.kernel.strategies.dot_conv_strategy import proposal
from aotc.passes.kernel.strategy import least_cycles, measured_algorithm, measured_schedule


@dataclass(frozen=True)
class PairStepsPass(ModulePass):
    name = "pair-steps"

    table: str = ""
    """A file of measured decisions (`aotc.machines.tuning_table`), which take precedence."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine, store = machine_for(op), WeightStore.of(ctx)
        if machine is None or machine.dot.pairs is None:
            return
        table = TuningTable.read(self.table) if self.table else TuningTable()
        for each in graph_operations(op):
            if not isinstance(each, ConvOp) or not each.sums_integers or ScheduleAttr.KEY in each.attributes:
                continue
            if measured_algorithm(table, ctx, each) is None and measured_schedule(table, ctx, each) is None:
                _choose(each, machine, store)


def _choose(op: ConvOp, machine: Machine, store: WeightStore) -> None:
    weight = computed_array(op.weight, store)
    found = None if weight is None else proposal(op, weight, machine)
    if found is not None and found.cycles < least_cycles(op, machine):
        op.attributes[ScheduleAttr.KEY] = ScheduleAttr.of(found.schedule)
