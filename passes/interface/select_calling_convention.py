"""Record how the entry and the operators are called, from the options; the passes that follow obey.

`select-calling-convention{interface-api=micro workspace=caller}`:
```mlir
builtin.module attributes {aot.name = "kws"} {
  func.func @main(%x: memref<8xf32>, ...) attributes {aot.entry} { ... }
  func.func private @relu_0(%x: memref<8xf32>, ...) attributes {aot.kernel} { ... }
}
```
becomes
```mlir
builtin.module attributes {aot.name = "kws", aot.interface = "micro", aot.workspace = "caller", ..} {
  func.func @main(...) attributes {aot.entry, aot.resource_handle, aot.convention = #aot<convention micro>} { ... }
  func.func private @relu_0(...) attributes {aot.kernel, aot.convention = #aot<convention unpacked>} { ... }
}
```
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, UnitAttr
from xdsl.passes import ModulePass

from aotc.dialects.aot import Convention, ConventionAttr
from aotc.model.conventions import Conventions
from aotc.passes.interface.signature import TENSORS, entry, kernels
from aotc.passes.loops.split_parallel_loops import threads_of

_ENTRY = {"c": Convention.C, "micro": Convention.MICRO, "packed": Convention.PACKED_ENTRY}


@dataclass(frozen=True)
class SelectCallingConventionPass(ModulePass):
    """See the module."""

    name = "select-calling-convention"

    interface_api: str = "c"
    operator_api: str = "unpacked"
    runtime: str = "c"
    workspace: str = "internal"
    weights: str = "embedded"
    linkable: bool = True
    operator_arguments: str = "tensors"
    resource_handle: bool = False
    """Give a `c` entry a last argument that reaches every operator; `micro` and `packed` always have it."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        main = entry(op)
        Conventions(
            self.interface_api,
            self.operator_api,
            self.runtime,
            self.workspace,
            self.weights,
            self.linkable,
            self.operator_arguments,
            "workspace" if TENSORS in main.attributes else "caller",
            threads_of(op) > 1,
        ).check()
        op.attributes |= {
            "aot.interface": StringAttr(self.interface_api),
            "aot.workspace": StringAttr(self.workspace),
            "aot.weights": StringAttr(self.weights),
        }
        if self.operator_arguments != "tensors":
            op.attributes["aot.operator_arguments"] = StringAttr(self.operator_arguments)
        main.attributes["aot.convention"] = ConventionAttr(_ENTRY[self.interface_api])
        if self.resource_handle or self.interface_api != "c":
            main.attributes["aot.resource_handle"] = UnitAttr()
        for kernel in kernels(op):
            kernel.attributes["aot.convention"] = ConventionAttr(Convention(self.operator_api))
