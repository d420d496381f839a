"""Say on the module what it is compiled for, as `aotc compile --target` does.

Before:
```mlir
builtin.module attributes {aot.name = "kws"} {
```
`attach-target{target="cortex-m4"}`:
```mlir
builtin.module attributes {aot.name = "kws", aot.target = "cortex-m4"} {
```
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from aotc.dialects.aot.contract import TARGET
from aotc.machines.targets import core_of


@dataclass(frozen=True)
class AttachTargetPass(ModulePass):
    name = "attach-target"

    target: str
    """In the syntax of `--target`."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        core_of(self.target)  # raises UsageError where there is no such target
        TARGET.set(op, self.target)
