"""Mark requantisations whose constant multipliers are below 1 in magnitude: no product leaves the range of i32.

The sums are i32, at most 2^31 in magnitude, and a float below 1 is at most 1 - 2^-24: their product is at most 2^31 -
2^7, which is a float. So where processors round floats to i32 before they clamp, as x86 does, nothing overflows.

Before:
```mlir
%1 = graph.requantize %0, %m {low = 0 : i64, high = 255 : i64, to = ui8} : (tensor<..xi32>, tensor<..xf32>) -> ..
```
After:
```mlir
%1 = graph.requantize %0, %m {low = 0 : i64, high = 255 : i64, fractions, to = ui8} : (tensor<..xi32>, ..) -> ..
```
"""

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from aotc.dialects.constants import known_array
from aotc.dialects.graph.quantized.requantization import RequantizeOp
from aotc.model.weight_store import WeightStore


class ProveFractionsPass(ModulePass):
    name = "prove-fractions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        store = WeightStore.of(ctx)
        for each in op.walk():
            if isinstance(each, RequantizeOp):
                multiplier = known_array(each.multiplier, store)
                if multiplier is not None and bool(np.all(np.abs(multiplier) < 1)):  # not where one is NaN
                    each.fractions = True
