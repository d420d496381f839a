"""Make one table of what a graph computes between an integer of 8 bits and the next quantisation.

A chain of functions, element by element, of one tensor of i8 or ui8 is a function of 256 arguments: it is evaluated for
all of them, as constants are folded, and becomes `graph.lookup`. For cores without vectors; on vectors the functions
are computed in registers.

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

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from aotc.dialects.graph.compound.control import graph_blocks
from aotc.dialects.graph.conversion import QuantizeOp
from aotc.dialects.graph.quantized.lookup import LookupOp
from aotc.model.locations import fuse_locations
from aotc.model.weights import WeightStore
from aotc.passes.graph.quantization.chains import Chain
from aotc.passes.graph.quantization.sums import Constants


@dataclass(frozen=True)
class TabulateQuantizedPass(ModulePass):
    """Make one table of what a graph computes between an integer of 8 bits and the next quantisation."""

    name = "tabulate-quantized"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        store = WeightStore.of(ctx)
        for block in graph_blocks(op):
            constants = Constants(block, store)
            for each in reversed(list(block.ops)):
                if isinstance(each, QuantizeOp) and isinstance(each.to, IntegerType) and each.result.uses:
                    _tabulate(each, constants)


def _tabulate(op: QuantizeOp, constants: Constants) -> None:
    chain = Chain(constants.store)
    if not chain.take(op) or (source := chain.source) is None:
        return
    table = chain.table(op.result)
    if table is None:
        return
    new = LookupOp.get(source, constants.of(table, "table"))
    new.location = fuse_locations(each.location for each in chain.ops)
    new.result.name_hint = op.result.name_hint
    Rewriter.replace_op(op, [new])
