"""Choose how every kernel is computed on the vector registers of a target, or in those of a core that has none.

For an anchor its strategies propose one each (`KernelStrategy.schedule`), and the cheapest is taken. A kernel without
one, which `outline-kernels` makes of elementwise operations and data movement, gets a schedule as a function. What has
a schedule keeps it. On a core without vectors that of a node whose form is small (`aot.forms`) is for small code.

Before, with `choose-schedule{target=x86-64-v4}`:
```mlir
%0 = graph.softmax %x {axis = 1 : i64} : (tensor<8x64xf32>) -> tensor<8x64xf32>
func.func private @relu_0(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {aot.kernel} {...}
```
After:
```mlir
%0 = graph.softmax %x {axis = 1 : i64, schedule = #graph.row_schedule<lanes = 16, registers = 1, ..>}
    : (tensor<8x64xf32>) -> tensor<8x64xf32>
func.func private @relu_0(..) attributes {aot.schedule = #graph.elementwise_schedule<lanes = 16, registers = 4>} {..}
```
"""

from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.passes import ModulePass

from aotc.dialects.aot.contract import FORMS, SCHEDULE, form_of, is_kernel, target_of
from aotc.dialects.graph.interfaces import AnchorOp, GraphOp, element_type_of
from aotc.dialects.graph.schedules import Schedule, ScheduleAttr
from aotc.machines.machine import Machine
from aotc.machines.targets import core_of
from aotc.machines.tuning_table import TuningTable
from aotc.model.locations import node_names
from aotc.passes.kernel.costs.lanes import elementwise_schedule
from aotc.passes.kernel.model_weights import read_bytes
from aotc.passes.kernel.strategy import choose_schedule, keeps_packed, measured_schedule


@dataclass(frozen=True)
class ChooseSchedulePass(ModulePass):
    name = "choose-schedule"

    size: bool = False
    """Whether code is to be small; matters without vectors only."""
    table: str = ""
    """A file of measured decisions (`aotc.machines.tuning_table`), which take precedence."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        core, forms = replace(core_of(target_of(op)), small=self.size), FORMS.get(op)
        if isinstance(core, Machine):
            core = core.with_weights(read_bytes(op))
        table = TuningTable.read(self.table) if self.table else TuningTable()
        for each in op.walk():
            if isinstance(each, GraphOp) and ScheduleAttr.KEY not in each.attributes:
                measured = None
                if isinstance(each, AnchorOp) and not keeps_packed(each, core):
                    measured = measured_schedule(table, ctx, each)
                if measured is not None:
                    each.attributes[ScheduleAttr.KEY] = measured
                else:
                    small = self.size or form_of(forms, node_names(each.location)) == "small"
                    _set_schedule(each, ScheduleAttr.KEY, choose_schedule(each, replace(core, small=small)))
            elif isinstance(core, Machine) and isinstance(each, FuncOp) and SCHEDULE not in each.attributes:
                _set_schedule(each, SCHEDULE, _elementwise_schedule(each, core))


def _set_schedule(op: GraphOp | FuncOp, key: str, schedule: Schedule | None) -> None:
    if schedule is not None:
        op.attributes[key] = ScheduleAttr.of(schedule)


def _elementwise_schedule(function: FuncOp, machine: Machine) -> Schedule | None:
    """The schedule of a kernel without an anchor."""
    end = None if function.is_declaration else function.body.block.last_op
    if not is_kernel(function) or not isinstance(end, ReturnOp):
        return None
    if any(isinstance(op, AnchorOp) for op in function.body.block.ops):
        return None
    return elementwise_schedule(machine, map(element_type_of, (*function.body.block.args, *end.operands)))
