"""Choose faster algorithms, where some suit the vectors of a target, for operations that may round differently.

The strategies of an operation say what is faster (`KernelStrategy.algorithm`) and what that does to its error; with
`accuracy=strict` nothing is chosen.

Before, with `choose-algorithms{target=x86-64-v4}`:
```mlir
%0 = graph.conv %x, %w {pads = array<i64: 1, 1, 1, 1>, ..} : (tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32>) -> ..
```
After:
```mlir
%0 = graph.conv %x, %w {.., algorithm = #graph.winograd<output_tile = 4, tile_rows = 2>} : ..
```
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from aotc.dialects.graph.interfaces import AnchorOp
from aotc.dialects.graph.schedules import ScheduleAttr
from aotc.machines.tuning_table import TuningTable
from aotc.passes.kernel.model_weights import machine_for
from aotc.passes.kernel.strategy import choose_algorithm, keeps_packed, measured_algorithm


@dataclass(frozen=True)
class ChooseAlgorithmsPass(ModulePass):
    name = "choose-algorithms"

    accuracy: str = "fast"
    """`fast`: errors up to 1e-4 of the greatest result are allowed; `strict`: every sum is computed as it is
    written."""

    table: str = ""
    """A file of measured decisions (`aotc.machines.tuning_table`), which take precedence."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.accuracy not in ("fast", "strict"):
            raise PassFailedException(f"the accuracy is fast or strict, found {self.accuracy}")
        machine = machine_for(op)
        if machine is None or self.accuracy == "strict":
            return
        table = TuningTable.read(self.table) if self.table else TuningTable()
        for each in op.walk():
            if not isinstance(each, AnchorOp):
                continue
            decided = {AnchorOp.ALGORITHM, ScheduleAttr.KEY} & each.attributes.keys()  # a schedule is for an algorithm
            if decided or keeps_packed(each, machine):
                continue
            algorithm = measured_algorithm(table, ctx, each) or choose_algorithm(each, machine)
            if isinstance(algorithm, Attribute):
                each.attributes[AnchorOp.ALGORITHM] = algorithm
