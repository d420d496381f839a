"""Note on each kernel how many arithmetic operations it computes, and of what type most are (`GraphOp.operations`).

Before:
```mlir
func.func private @matmul_relu_0(%lhs: tensor<2x3xf32>, %rhs: tensor<3x4xf32>) -> .. attributes {aot.kernel} {
```
After:
```mlir
func.func private @matmul_relu_0(..) -> .. attributes {aot.operations = 56 : i64, aot.operation_type = "float32"} {
```
"""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from aotc.dialects.aot.contract import OPERATION_COUNT, OPERATION_TYPE, kernels
from aotc.dialects.dtypes import dtype_name
from aotc.dialects.graph.interfaces import GraphOp, element_type_of


class CountOperationsPass(ModulePass):
    name = "count-operations"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in [each for each in kernels(op) if not each.is_declaration]:
            counts = {each: each.operations() for each in kernel.body.block.ops if isinstance(each, GraphOp)}
            OPERATION_COUNT.set(kernel, sum(counts.values()))
            most = max(counts, key=lambda each: counts[each])
            if counts[most]:
                OPERATION_TYPE.set(kernel, dtype_name(element_type_of(most.operands[0])))
