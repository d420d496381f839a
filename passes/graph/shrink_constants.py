"""Replace constants whose elements are all equal by single elements where an operation broadcasts them.

A single element stands in the kernel itself, and neutral ones, as a zero point of 0, then go with `canonicalize`.

Before:
```mlir
%0 = graph.constant dense<2.0> : tensor<128xf32>
%1 = graph.mul %x, %0 : (tensor<4x128xf32>, tensor<128xf32>) -> tensor<4x128xf32>
```
After:
```mlir
%0 = graph.constant dense<2.0> : tensor<f32>
%1 = graph.mul %x, %0 : (tensor<4x128xf32>, tensor<f32>) -> tensor<4x128xf32>
```
"""

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from aotc.dialects.constants import constant_op, known_array
from aotc.dialects.graph.compound.control_flow import graph_blocks
from aotc.dialects.graph.interfaces import ElementOp, ShapeError
from aotc.dialects.graph.structure import ConstantOp
from aotc.model.weight_store import Array, WeightStore
from aotc.passes.graph.rewriting import erase_unused_constants


class ShrinkConstantsPass(ModulePass):
    name = "shrink-constants"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        store = WeightStore.of(ctx)
        for block in graph_blocks(op):
            for each in list(block.ops):
                if isinstance(each, ElementOp):
                    _shrink_operands(each, store)
            erase_unused_constants(block)


def _shrink_operands(op: ElementOp, store: WeightStore) -> None:
    """Give `op` single elements for its uniform operands if its result keeps its type: all of them or none."""
    elements: dict[int, ConstantOp] = {}
    for place in op.single_elements():
        array = known_array(op.operands[place], store)
        if array is not None and array.size > 1 and _is_uniform(array):
            elements[place] = constant_op(array.reshape(-1)[0], "constant", store)
    if not elements:
        return
    new = op.clone()
    for place, element in elements.items():
        new.operands[place] = element.result
    try:
        is_same = not new.refine()
    except ShapeError:
        is_same = False
    if not is_same:
        new.erase()
    else:
        for element in elements.values():
            element.location = op.location
        Rewriter.insert_op(list(elements.values()), InsertPoint.before(op))
        Rewriter.replace_op(op, new)


def _is_uniform(array: Array) -> bool:
    """Whether all elements are the same bits: zeros of one sign, NaNs of one kind."""
    if array.strides == (0,) * array.ndim:
        return True
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8).reshape(array.size, array.itemsize)
    return bool((flat[-1] == flat[0]).all() and (flat == flat[0]).all())
