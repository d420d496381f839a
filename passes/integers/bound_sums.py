"""Note of convolutions of 8-bit integers with a constant weight how wide the integers are that hold their sums.

An element less its zero point is between a <= 0 and b >= 0, and what lies outside of the image counts as 0. So the sum
of a channel is at most b times the sum of its positive weights plus -a times that of the magnitudes of its negative
ones, and at least the same with a and b exchanged, negated. Winograd's algorithm with large tiles is exact for sums of
few bits (`ExactTransforms`).

Before, with `bound-sums{target=x86-64-v3}`:
```mlir
%1 = graph.conv %x, %w {accumulator = i32, ..} : (tensor<1x512x7x7xui8>, tensor<512x512x3x3xi8>) -> ..
```
After:
```mlir
%1 = graph.conv %x, %w {accumulator = i32, sum_bits = 26 : i64, ..} : ..
```
"""

from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from aotc.dialects.aot.contract import target_of
from aotc.dialects.constants import computed_array
from aotc.dialects.dtypes import integer_range
from aotc.dialects.graph.accumulation import integer_sums
from aotc.dialects.graph.convolution import ConvOp
from aotc.dialects.graph.interfaces import element_type_of
from aotc.machines.targets import machine_of
from aotc.model.weight_store import WeightStore


class BoundSumsPass(ModulePass):
    name = "bound-sums"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine, store = machine_of(target_of(op)), WeightStore.of(ctx)
        if machine is None or machine.dot.pair_cycles is None:
            return
        for each in integer_sums(op):
            if isinstance(each, ConvOp) and (weight := computed_array(each.weight, store)) is not None:
                each.sum_bits = _bits(each, weight)


def _bits(op: ConvOp, weight: np.ndarray[Any, Any]) -> int:
    """The width, the sign included, of every sum of `op` without bias."""
    point, weight_point = op.zero_points
    low, high = integer_range(element_type_of(op.x))
    factors = weight.reshape(len(weight), -1).astype(np.int64) - weight_point
    signs = [np.maximum(each, 0).sum(axis=1) for each in (factors, -factors)]
    most = max(int(((high - point) * a + (point - low) * b).max(initial=0)) for a, b in (signs, signs[::-1]))
    return most.bit_length() + 1
