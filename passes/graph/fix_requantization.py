"""Requantise in fixed point, where that gives the same results: for cores on which floats are slow, or missing.

The multiplier of a requantisation is an f32, so an integer over a power of two, and the range of its sums follows from
the weights: that is enough to decide by integers what floats round to. Where multipliers of channels are too different
for one power of two, or nothing is known of the range, the requantisation stays as it is. Channels that have one result
whatever their operand may have any multiplier.

With `doubling` it is TFLite's instead where all multipliers are less than 1: the product is rounded twice, so that a
result may be another integer next to it, which is nearly as close.

Before:
```mlir
%1 = graph.requantize %0, %multiplier {axis = 1 : i64, zero_point = 3 : i64, low = -128 : i64, high = 127 : i64,
    to = i8} : (tensor<1x6x8xi32>, tensor<6xf32>) -> tensor<1x6x8xi8>
```
After:
```mlir
%1 = graph.fixed_requantize %0, %factors {axis = 1 : i64, shift = 40 : i64, most = 98304 : i64, guard = 1 : i64,
    up = 4 : i64, zero_point = 3 : i64, low = -128 : i64, high = 127 : i64, to = i8}
    : (tensor<1x6x8xi32>, tensor<6xi32>) -> tensor<1x6x8xi8>
```
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from aotc.dialects.aot.contract import target_of
from aotc.dialects.constants import computed_array
from aotc.dialects.graph.compound.control_flow import graph_blocks
from aotc.dialects.graph.interfaces import Array
from aotc.dialects.graph.quantized.requantization import DoublingRequantizeOp, FixedRequantizeOp, RequantizeOp
from aotc.machines.targets import core_of
from aotc.model.weight_store import WeightStore
from aotc.passes.graph.quantization.accumulators import greatest_of
from aotc.passes.graph.quantization.constant_channels import settle_constant_channels
from aotc.passes.graph.quantization.fixed_point import doubled, fixed_point
from aotc.passes.graph.quantization.integer_sums import Constants


@dataclass(frozen=True)
class FixRequantizationPass(ModulePass):
    name = "fix-requantization"

    doubling: bool = False
    """Whether results may be those of TFLite's fixed-point arithmetic."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        store, long_multiply = WeightStore.of(ctx), core_of(target_of(op)).long_multiply
        for block in graph_blocks(op):
            constants = Constants(block, store)
            for each in list(block.ops):
                if isinstance(each, RequantizeOp):
                    self._fix(each, constants, long_multiply)

    def _fix(self, op: RequantizeOp, constants: Constants, long_multiply: bool) -> None:
        """`long_multiply`: whether the core has products of 64 bits; if not, those of 32 bits are preferred."""
        multiplier = computed_array(op.multiplier, constants.store)
        if multiplier is None or not bool((np.isfinite(multiplier) & (multiplier > 0)).all()):
            return
        new = _doubling(op, multiplier, constants) if self.doubling else None
        if new is None:
            new = _exact(op, multiplier, constants, long_multiply)
        if new is None and settle_constant_channels(op, multiplier, constants):
            settled = computed_array(op.multiplier, constants.store)
            assert settled is not None
            new = _exact(op, settled, constants, long_multiply)
        if new is None:
            return
        new.location = op.location
        new.result.name_hint = op.result.name_hint
        Rewriter.replace_op(op, [new])


def _exact(op: RequantizeOp, multiplier: Array, constants: Constants, long_multiply: bool) -> FixedRequantizeOp | None:
    most = greatest_of(op.x, op.axis, constants.store)
    if multiplier.size == 1:
        most = most.max(initial=0)
    multipliers, greatest = np.broadcast_arrays(np.atleast_1d(multiplier), np.atleast_1d(most))
    found = fixed_point(multipliers, greatest, *op.range, long_multiply=long_multiply)
    if found is None:
        return None
    factors = found.factors[:1].reshape(()) if multiplier.size == 1 else found.factors
    return FixedRequantizeOp.get(
        op.x,
        constants.of(factors, "factors"),
        axis=op.axis,
        shift=found.shift,
        most=found.most,
        guard=found.guard,
        up=found.up,
        drop=found.drop,
        split=found.split,
        zero_point=op.zero_point,
        low=op.low,
        high=op.high,
        to=op.to,
    )


def _doubling(op: RequantizeOp, multiplier: Array, constants: Constants) -> DoublingRequantizeOp | None:
    found = doubled(multiplier)
    if found is None:
        return None
    return DoublingRequantizeOp.get(
        op.x,
        constants.of(found[0], "factors"),
        constants.of(found[1], "shifts"),
        axis=op.axis,
        zero_point=op.zero_point,
        low=op.low,
        high=op.high,
        to=op.to,
    )
