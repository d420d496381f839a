"""Note on each kernel how many arithmetic operations it is about, for a profile (see `GraphOp.operations`).

Before:
```mlir
func.func private @matmul_relu_0(%lhs: tensor<2x3xf32>, %rhs: tensor<3x4xf32>) -> .. attributes {aot.kernel} {
```
After:
```mlir
func.func private @matmul_relu_0(..) -> tensor<2x4xf32> attributes {aot.kernel, aot.operations = 56 : i64} {
```
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from aotc.dialects.aot.contract import OPERATION_COUNT, kernels
from aotc.dialects.graph.interfaces import GraphOp


@dataclass(frozen=True)
class CountOperationsPass(ModulePass):
    """Note on each kernel how many arithmetic operations it computes."""

    name = "count-operations"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in [each for each in kernels(op) if not each.is_declaration]:
            count = sum(each.operations() for each in kernel.body.block.ops if isinstance(each, GraphOp))
            OPERATION_COUNT.set(kernel, count)
