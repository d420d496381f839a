"""Say which positions operations read along an axis at places that are constant, as those of a resize: `reads`.

Before:
```mlir
%p = graph.constant dense<[0, 0, 1, 1]> : tensor<4xi64>
%0 = graph.gather %x, %p {axis = 1} : (tensor<1x2x8xi8>, tensor<4xi64>) -> tensor<1x4x8xi8>
```
After: position p reads the one that is p / 2.
```mlir
%0 = graph.gather %x, %p {axis = 1, reads = array<i64: 1, 2, 0, 0>} : (..) -> tensor<1x4x8xi8>
```
"""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument
from xdsl.passes import ModulePass

from aotc.dialects.aot.contract import entries
from aotc.dialects.constants import known_array
from aotc.dialects.graph.indexing import PlacedOp
from aotc.dialects.graph.structure import FusedOp
from aotc.model.weight_store import WeightStore


class NotePlacesPass(ModulePass):
    name = "note-places"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        store = WeightStore.of(ctx)
        for placed in (each for entry in entries(op) for each in entry.walk()):
            if isinstance(placed, PlacedOp):
                (places, _), group = placed.placed(), placed.parent_op()
                if isinstance(places, BlockArgument) and isinstance(group, FusedOp):
                    places = group.inputs[places.index]
                if (known := known_array(places, store)) is not None and known.size:
                    placed.note_reads(known)
