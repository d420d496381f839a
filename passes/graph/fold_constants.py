"""Compute what depends on constants only, where that makes the model no larger; forget what nothing needs any more.

Before:
```mlir
%0 = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
%1 = graph.add %0, %0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
```
After:
```mlir
%1 = graph.constant dense<[2.0, 4.0]> : tensor<2xf32>
```
Operations that order weights for kernels are always done, also on what is computed from constants: int8 weights of a
model that is computed in f32 on vectors become f32.
"""

from collections import Counter
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from aotc.dialects.aot.contract import arguments_of, entries
from aotc.dialects.attributes import nested
from aotc.dialects.constants import constant_op, folded, key_of, packed_later, weight_keys
from aotc.dialects.graph.compound.control_flow import graph_blocks
from aotc.dialects.graph.interfaces import GraphOp
from aotc.dialects.graph.structure import ConstantOp
from aotc.model.weight_store import WeightStore
from aotc.passes.graph.rewriting import erase_unused_constants


@dataclass(frozen=True)
class FoldConstantsPass(ModulePass):
    name = "fold-constants"

    quantized: bool = True
    """Whether to dequantise constants, too: not before `raise-quantization`, which computes with what is stored."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        store = WeightStore.of(ctx)
        # attributes name arrays, too: those of the module a self-test's values, of its entry the first ones of states
        named = {text.data for text in nested(DictionaryAttr(op.attributes)) if isinstance(text, StringAttr)}
        named |= {key for main in entries(op) for each in arguments_of(main) if (key := each.initial) is not None}
        names = Counter(each.key for each in op.walk() if isinstance(each, ConstantOp))
        names.update(named)
        for block in graph_blocks(op):
            for each in list(block.ops):
                if not isinstance(each, GraphOp):
                    continue
                if not self.quantized and each.operand_quantization() is not None:
                    continue
                name = next((key for value in each.operands if (key := key_of(value)) is not None), "constant")
                later = packed_later(each, name, store)
                values = folded(each, store) if later is None else [later]
                if values is not None:
                    constants = [constant_op(value, name, store) for value in values]
                    for constant in constants:
                        constant.location = each.location
                    names.update(constant.key for constant in constants)
                    read = {value.owner for value in each.operands}
                    Rewriter.replace_op(each, constants, [constant.result for constant in constants])
                    for constant in read:
                        if isinstance(constant, ConstantOp) and constant.result.first_use is None:
                            _erase(constant, names, store)
            erase_unused_constants(block)
        store.begin()
        store.discard(set(store) - weight_keys(op) - named)


def _erase(constant: ConstantOp, names: Counter[str | None], store: WeightStore) -> None:
    """Erase a constant that nothing reads, and forget its array if nothing else `names` that: weights are large, and
    what is made of them takes its place."""
    key = constant.key
    constant.detach()
    constant.erase()
    names[key] -= 1
    if key is not None and not names[key]:
        store.discard([key])
