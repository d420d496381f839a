"""Mark dot products of 8-bit integers whose constant weights keep the products of all neighbours in 16 bits.

Some processors add two products of neighbours in 16 bits, and saturate. With unsigned activations, at most 255, that is
exact only where the weights of one sign in each pair add up to 128 or less; with signed ones, at most 128 in magnitude,
where no weight is -128.

Before:
```mlir
%1 = graph.blocked_dot_conv %x, %w, %bias {..} : (tensor<..xui8>, tensor<..xi8>, tensor<..xi32>) -> ..
```
After:
```mlir
%1 = graph.blocked_dot_conv %x, %w, %bias {narrow, ..} : (tensor<..xui8>, tensor<..xi8>, tensor<..xi32>) -> ..
```
"""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from aotc.dialects.constants import known_array
from aotc.dialects.graph.packed.integers.dot_products import DotOp, is_narrow
from aotc.dialects.graph.quantized.bytes import UI8
from aotc.model.weight_store import WeightStore


class ProveNarrowPairsPass(ModulePass):
    name = "prove-narrow-pairs"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        store = WeightStore.of(ctx)
        for each in op.walk():
            if isinstance(each, DotOp) and not each.complement:
                weight = known_array(each.operands[1], store)
                if weight is not None and is_narrow(weight, unsigned=each.left_type == UI8):
                    each.narrow = True
