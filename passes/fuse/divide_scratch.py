"""Give parts of operations scratch buffers of their own, so that threads compute them without waiting for each other.

Whether that pays, and what the parts are, is known to the strategy (`KernelStrategy.parts`). Before, with
`divide-scratch{target=x86-64-v3 threads=2}`:
```mlir
%0, %1, %2 = graph.winograd_conv %x, %w {..}
    : .. -> (tensor<1x8x56x56x8xf32>, tensor<36x29x72xf32>, tensor<36x29x16xf32>)
```
After:
```mlir
%0, %1, %2 = graph.winograd_conv %x, %w {.., row_parts = 2 : i64}
    : .. -> (tensor<1x8x56x56x8xf32>, tensor<72x29x72xf32>, tensor<72x29x16xf32>)
```
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from aotc.dialects.attributes import to_attribute
from aotc.passes.kernel.model_weights import machine_for
from aotc.passes.kernel.strategy import is_vectorized, strategy_of


@dataclass(frozen=True)
class DivideScratchPass(ModulePass):
    name = "divide-scratch"

    threads: int = 1

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = machine_for(op)
        if machine is None or machine.threads is None:
            return
        for each in op.walk():
            if not is_vectorized(each):
                continue
            parts = strategy_of(each).parts(each, machine, self.threads)
            if several := {name: to_attribute(count) for name, count in parts.items() if count > 1}:
                each.properties |= several
                each.refine()
