"""Make one table of what a graph computes between an integer of 8 bits and the next quantisation.

A chain of functions, element by element, of one tensor of i8 or ui8 is a function of 256 arguments: it is evaluated for
all of them, as constants are folded, and becomes `graph.lookup`. On vectors only where these permute bytes, and where
the function takes longer than that; else it is computed in registers.

Before:
```mlir
%0 = graph.dequantize %x, %scale, %zero {to = f32, ..} : (tensor<1x4xi8>, tensor<f32>, tensor<i8>) -> tensor<1x4xf32>
%1 = graph.sigmoid %0 : (tensor<1x4xf32>) -> tensor<1x4xf32>
%2 = graph.mul %0, %1 : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
%3 = graph.quantize %2, %s, %z {to = i8, ..} : (tensor<1x4xf32>, tensor<f32>, tensor<i8>) -> tensor<1x4xi8>
```
After:
```mlir
%3 = graph.lookup %x, %table : (tensor<1x4xi8>, tensor<256xi8>) -> tensor<1x4xi8>
```
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from aotc.dialects.aot.contract import target_of
from aotc.dialects.dtypes import byte_width
from aotc.dialects.graph.compound.control_flow import graph_blocks
from aotc.dialects.graph.conversion import QuantizeOp
from aotc.dialects.graph.quantized.bytes import LookupOp
from aotc.machines.machine import Machine
from aotc.machines.targets import machine_of
from aotc.model.locations import fuse_locations
from aotc.model.weight_store import WeightStore
from aotc.passes.graph.quantization.chains import Chain
from aotc.passes.graph.rewriting import Constants


@dataclass(frozen=True)
class TabulateQuantizedPass(ModulePass):
    name = "tabulate-quantized"

    vectors: bool = False
    """Whether tables are to be in vector registers of the target; if not, elements are looked up one by one."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        store = WeightStore.of(ctx)
        machine = machine_of(target_of(op)) if self.vectors else None
        if machine is not None and not machine.lookup.name:
            return
        for block in graph_blocks(op):
            constants = Constants(block, store)
            for each in reversed(list(block.ops)):
                if isinstance(each, QuantizeOp) and isinstance(each.to, IntegerType) and each.result.uses:
                    _tabulate(each, constants, machine)


def _tabulate(op: QuantizeOp, constants: Constants, machine: Machine | None) -> None:
    chain = Chain(constants.store)
    if not chain.take(op) or (source := chain.source) is None:
        return
    if machine is not None and (len(chain.ops) < machine.lookup.fewest_operations or byte_width(op.to) > 1):
        return
    table = chain.table(op.result)
    if table is None:
        return
    registers = {} if machine is None else {"width": machine.vector_bytes, "row": machine.lookup.row}
    new = LookupOp.get(source, constants.of(table, "table"), **registers)
    new.location = fuse_locations(each.location for each in chain.ops)
    Rewriter.replace_op(op, new)
