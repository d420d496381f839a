"""Join elementwise operations and data movement into groups of one loop nest, with several results where they align.

A concatenation whose parts can be written in place takes in nothing: its other parts would then be copied.

Before:
```mlir
%0 = graph.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
%1 = graph.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
%2 = graph.add %1, %y : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
```
After:
```mlir
%2 = graph.fused (%a = %x : tensor<4x8xf32>, %b = %y : tensor<8x4xf32>) -> (tensor<8x4xf32>) {
  %3 = graph.exp %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %4 = graph.transpose %3 {permutation = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %5 = graph.add %4, %b : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  graph.yield %5 : tensor<8x4xf32>
}
```
"""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from aotc.dialects.graph.compound.control_flow import graph_blocks
from aotc.dialects.graph.interfaces import is_join
from aotc.passes.fuse.fusion_policy import FusingPass
from aotc.passes.fuse.groups import sort_operations
from aotc.passes.fuse.growing import Growth, is_fusible


class FuseElementwisePass(FusingPass):
    name = "fuse-elementwise"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for block in graph_blocks(op):
            position = {each: number for number, each in enumerate(block.ops)}
            for root in reversed(list(position)):
                if root.parent is block and is_fusible(root) and not is_join(root):
                    Growth(root, position, self, several_outputs=True).grow()
            sort_operations(block)
