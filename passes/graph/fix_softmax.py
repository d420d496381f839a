"""Compute softmax of quantised tensors in integers, with exponentials from a table: for cores on which floats are slow,
or missing.

The exponential of the distance from the greatest integer of a row is one of at most 256; what these add up to divides
each of them exactly. The logarithm of softmax, and scales of 1 and more, stay as they are.

Before:
```mlir
%0 = graph.dequantize %x, %scale, %zero {to = f32, ..} : (tensor<1x4xi8>, tensor<f32>, tensor<i8>) -> tensor<1x4xf32>
%1 = graph.softmax %0 {axes = array<i64: 1>} : (tensor<1x4xf32>) -> tensor<1x4xf32>
%2 = graph.quantize %1, %s, %z {to = i8, ..} : (tensor<1x4xf32>, tensor<f32>, tensor<i8>) -> tensor<1x4xi8>
```
After:
```mlir
%2 = graph.fixed_softmax %x, %table {axes = array<i64: 1>, accumulator = i32, factor = 1 : i64, shift = 8 : i64,
    zero_point = -128 : i64, low = -128 : i64, high = 127 : i64, to = i8}
    : (tensor<1x4xi8>, tensor<203xi32>) -> tensor<1x4xi8>
```
"""

from __future__ import annotations

import math

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from aotc.dialects.dtypes import integer_range
from aotc.dialects.graph.compound.control_flow import graph_blocks
from aotc.dialects.graph.conversion import DequantizeOp, QuantizeOp
from aotc.dialects.graph.interfaces import producer
from aotc.dialects.graph.normalization import SoftmaxOp
from aotc.dialects.graph.quantized.softmax import FixedSoftmaxOp
from aotc.model.locations import fuse_locations
from aotc.model.weight_store import WeightStore
from aotc.passes.graph.quantization.chains import is_byte
from aotc.passes.graph.quantization.exponentials import exponentials
from aotc.passes.graph.quantization.integer_sums import Constants
from aotc.passes.graph.quantization.real_values import dequantized, quantization


class FixSoftmaxPass(ModulePass):
    name = "fix-softmax"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        store = WeightStore.of(ctx)
        for block in graph_blocks(op):
            constants = Constants(block, store)
            for each in list(block.ops):
                if isinstance(each, QuantizeOp):
                    _fix(each, constants)


def _fix(op: QuantizeOp, constants: Constants) -> None:
    target, softmax = quantization(op, constants.store), producer(op.x, SoftmaxOp)
    if target is None or softmax is None or softmax.log:
        return
    source = dequantized(softmax.x, constants.store)
    if source is None or source.scale is None or not is_byte(source.value):
        return
    found = exponentials(float(source.scale), float(target.scale), math.prod(softmax.row_extents()))
    if found is None:
        return
    low, high = integer_range(target.kind)
    new = FixedSoftmaxOp.get(
        source.value,
        constants.of(found.table, "exponentials"),
        axes=softmax.axes,
        accumulator=found.accumulator,
        factor=found.factor,
        shift=found.shift,
        zero_point=target.zero_point,
        low=low,
        high=high,
        to=target.kind,
    )
    inner = producer(softmax.x, DequantizeOp)
    assert inner is not None
    new.location = fuse_locations(each.location for each in (inner, softmax, op))
    new.result.name_hint = op.result.name_hint
    Rewriter.replace_op(op, [new])
