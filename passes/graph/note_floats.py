"""Note on the module which nodes of the model compute with dequantised numbers: what of a quantised model stays in
floats.

Before:
```mlir
builtin.module {
  %0 = graph.dequantize %x, %scale {..} : (tensor<1x4xi8>, tensor<f32>) -> tensor<1x4xf32> loc("dq")
  %1 = graph.softmax %0 {..} : (tensor<1x4xf32>) -> tensor<1x4xf32> loc("Softmax_0")
```
After:
```mlir
builtin.module attributes {aot.in_floats = ["Softmax_0"]} {
```
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from aotc.dialects.aot.contract import IN_FLOATS
from aotc.dialects.graph.compound.control_flow import graph_operations
from aotc.dialects.graph.conversion import DequantizeOp
from aotc.dialects.graph.interfaces import GraphOp, producer
from aotc.dialects.graph.quantized.requantization import RequantizeOp
from aotc.model.locations import node_names


@dataclass(frozen=True)
class NoteFloatsPass(ModulePass):
    name = "note-floats"

    requantization: bool = False
    """Whether requantisations count: where kernels are not written for vectors, those that are not in fixed point."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        found: list[str] = []
        for each in graph_operations(op):
            if not isinstance(each, GraphOp):
                continue
            is_rounded = self.requantization and isinstance(each, RequantizeOp)
            if is_rounded or any(producer(value, DequantizeOp) for value in each.operands):
                found += node_names(each.location)
        IN_FLOATS.set(op, list(dict.fromkeys(found)) or None)
