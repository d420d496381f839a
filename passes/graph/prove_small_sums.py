"""Mark requantisations as TFLite rounds them whose sums are known to be below 2^30 in magnitude: then nothing is lost
where a sum is doubled, or where half a unit is added to a product before it is shifted, which takes fewer instructions.

Before, where no sum is above 4 * 127 * 127:
```mlir
%1 = graph.doubling_requantize %0, %factor, %shift {low = -128 : i64, high = 127 : i64, to = i8} : (tensor<1x8xi32>, ..)
```
After:
```mlir
%1 = graph.doubling_requantize %0, %factor, %shift {low = -128 : i64, high = 127 : i64, small, to = i8} : (..)
```
"""

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from aotc.dialects.constants import computed_array
from aotc.dialects.graph.elementwise import AddOp, BinaryOp, SubOp
from aotc.dialects.graph.interfaces import producer
from aotc.dialects.graph.quantized.requantization import DoublingRequantizeOp
from aotc.model.weight_store import WeightStore
from aotc.passes.graph.quantization.accumulators import greatest_of
from aotc.passes.graph.rewriting import with_constants

_SMALL, _MOST_SHIFT = 1 << 30, 30


class ProveSmallSumsPass(ModulePass):
    name = "prove-small-sums"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for each, constants in with_constants(op, ctx, DoublingRequantizeOp):
            shift = computed_array(each.shift, constants.store)
            if shift is not None and int(shift.max(initial=0)) <= _MOST_SHIFT:
                each.small = _greatest(each.x, each.axis, constants.store) < _SMALL


def _greatest(value: SSAValue, axis: int, store: WeightStore) -> int:
    """The greatest magnitude of sums: of products, or of two terms that are rescaled to i32."""
    both = producer(value, BinaryOp)
    if isinstance(both, AddOp | SubOp):
        terms = [producer(each, DoublingRequantizeOp) for each in (both.lhs, both.rhs)]
        if all(term is not None and term.is_whole for term in terms):
            return sum(_greatest(term.x, term.axis, store) + 1 for term in terms if term is not None)
    return int(np.max(greatest_of(value, axis, store)))
