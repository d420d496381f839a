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
A kernel from outside that is linked is unpacked whatever the others are, and one that is not can only be packed.
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from aotc.dialects.aot import Convention, contract
from aotc.model.conventions import Conventions


@dataclass(frozen=True)
class SelectCallingConventionPass(ModulePass):
    name = "select-calling-convention"

    interface_api: str = "c"
    operator_api: str = "unpacked"
    runtime: str = "c"
    workspace: str = "internal"
    weights: str = "embedded"
    operator_arguments: str = "tensors"
    resource_handle: bool = False
    """Give a `c` entry a last argument that reaches every operator; `micro` and `packed` always have it."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        main = contract.entry(op)
        Conventions(
            self.interface_api,
            self.operator_api,
            self.runtime,
            self.workspace,
            self.weights,
            not any(map(_is_by_name, contract.kernels(op))),
            self.operator_arguments,
            "workspace" if contract.has_tensors_in_workspace(main) else "caller",
            contract.threads_of(op) > 1,
        ).check()
        contract.INTERFACE.set(op, self.interface_api)
        contract.WORKSPACE.set(op, self.workspace)
        contract.WEIGHTS.set(op, self.weights)
        contract.OPERATOR_ARGUMENTS.set(op, None if self.operator_arguments == "tensors" else self.operator_arguments)
        contract.CONVENTION.set(main, Convention.of_entry(self.interface_api))
        if self.resource_handle or self.interface_api != "c":
            contract.RESOURCE_HANDLE.set(main)
        for kernel in contract.kernels(op):
            linked = contract.EXTERNAL.get(kernel) is not None and not _is_by_name(kernel)
            contract.CONVENTION.set(kernel, Convention.UNPACKED if linked else Convention(self.operator_api))


def _is_by_name(kernel: FuncOp) -> bool:
    external = contract.EXTERNAL.get(kernel)
    return external is not None and external.by_name
