"""Make weights that are too small for a normal float zero: x86 takes a hundred times as long to multiply or add them.

Training with weight decay leaves channels that nothing depends on with such weights, half of a layer and more. They
count for nothing beside the others: a tensor that has no element much larger stays as it is.

Before, where elements of `w` are below 2^-126:
```mlir
%0 = graph.conv %x, %w {..} : (tensor<1x64x9x9xf32>, tensor<32x64x3x3xf32>) -> tensor<1x32x7x7xf32>
```
After, where these are 0:
```mlir
%0 = graph.conv %x, %w_flushed {..} : (tensor<1x64x9x9xf32>, tensor<32x64x3x3xf32>) -> tensor<1x32x7x7xf32>
```
"""

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from aotc.dialects.constants import constant_op, key_of, known_array
from aotc.dialects.dtypes import without_subnormals
from aotc.dialects.graph.compound.control_flow import graph_operations
from aotc.dialects.graph.convolution import ConvolutionOp
from aotc.dialects.graph.elementwise import AddOp
from aotc.dialects.graph.matrices.matmul import MatMulOp
from aotc.dialects.graph.structure import ConstantOp
from aotc.model.weight_store import WeightStore


class FlushSubnormalsPass(ModulePass):
    name = "flush-subnormals"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        store = WeightStore.of(ctx)
        flushed: dict[SSAValue, SSAValue] = {}
        for each in graph_operations(op):
            if isinstance(each, ConvolutionOp | MatMulOp | AddOp):
                for position, value in enumerate(each.operands):
                    if value not in flushed:
                        flushed[value] = _flushed(value, store)
                    each.operands[position] = flushed[value]


def _flushed(value: SSAValue, store: WeightStore) -> SSAValue:
    """A constant without subnormal elements, where `value` is one that has some; else `value`."""
    array = known_array(value, store)
    if array is None or array.dtype != np.float32 or (normal := without_subnormals(array)) is None:
        return value
    constant = constant_op(normal, f"{key_of(value) or 'weight'}_flushed", store)
    owner = value.owner
    assert isinstance(owner, ConstantOp)
    constant.location = owner.location
    Rewriter.insert_op(constant, InsertPoint.after(owner))
    return constant.result
