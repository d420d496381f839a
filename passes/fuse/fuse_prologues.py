"""Compute the operands of an anchor where it reads them, if they are read once or cheap, instead of storing them.

Dequantised and cast weights stay narrow in memory this way. What several anchors read, each of them computes. A
vectorised anchor takes in what its strategy admits (`KernelStrategy.prologue`) and what is vectorizable where its nest
reads, if loads remain contiguous along the lanes.

Before:
```mlir
%w = graph.dequantize %q, %scale {to = f32} : (tensor<8x4xi8>, tensor<f32>) -> tensor<8x4xf32>
%0 = graph.matmul %x, %w : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
```
After:
```mlir
%0 = graph.fused (%a = %q : tensor<8x4xi8>, %b = %x : tensor<2x8xf32>) -> (tensor<2x4xf32>) {
  %1 = graph.constant dense<0.5> : tensor<f32>
  %2 = graph.dequantize %a, %1 {to = f32} : (tensor<8x4xi8>, tensor<f32>) -> tensor<8x4xf32>
  %3 = graph.matmul %b, %2 : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  graph.yield %3 : tensor<2x4xf32>
}
```
"""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from aotc.dialects.graph.compound.control_flow import graph_blocks
from aotc.dialects.graph.interfaces import AnchorOp
from aotc.dialects.graph.structure import FusedOp
from aotc.model.weight_store import WeightStore
from aotc.passes.fuse.fusion_policy import FusingPass
from aotc.passes.fuse.growing import Growth, has_producers
from aotc.passes.fuse.vectorizable import VectorForms


class FuseProloguesPass(FusingPass):
    name = "fuse-prologues"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        forms = VectorForms(WeightStore.of(ctx))
        for block in graph_blocks(op):
            position = {each: number for number, each in enumerate(block.ops)}
            for root in reversed(list(position)):
                if isinstance(root, AnchorOp | FusedOp) and has_producers(root):
                    Growth(root, position, self, several_outputs=False, forms=forms).grow()
