"""Shift constant weights that do not fit i8, so that dot products of 8-bit integers can multiply them.

Weights of uint8 less their zero point lie between -255 and 255, those of one output channel within a span of 255: less
the middle of that span they fit i8. What they are less contributes itself times the sum of what the channel's weights
see, which is the same sum for all output channels of a group: that of a convolution with ones.

Before, where the weights of all channels are from -100 to 155:
```mlir
%1 = graph.conv %x, %w {accumulator = i32, ..} : (tensor<1x16x8x8xui8>, tensor<64x16x3x3xi16>) -> tensor<1x64x6x6xi32>
```
After:
```mlir
%s = graph.conv %x, %ones {accumulator = i32, ..} : (.., tensor<1x16x3x3xi8>) -> tensor<1x1x6x6xi32>
%c = graph.conv %x, %v {accumulator = i32, ..} : (.., tensor<64x16x3x3xi8>) -> tensor<1x64x6x6xi32>
%m = graph.mul %s, %middles : (tensor<1x1x6x6xi32>, tensor<64x1x1xi32>) -> tensor<1x64x6x6xi32>
%1 = graph.add %c, %m
```
"""

from collections.abc import Sequence

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i8
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from aotc.dialects.aot.contract import target_of
from aotc.dialects.constants import constant_op, key_of, known_array
from aotc.dialects.graph.accumulation import integer_sums
from aotc.dialects.graph.convolution import ConvOp
from aotc.dialects.graph.elementwise import AddOp, MulOp
from aotc.dialects.graph.interfaces import GraphOp, element_type_of
from aotc.dialects.graph.matrices.matmul import MatMulOp
from aotc.dialects.graph.packed.integers.channels_last import FEW_BITS
from aotc.dialects.graph.quantized.bytes import UI8
from aotc.machines.machine import Machine
from aotc.machines.targets import core_of
from aotc.model.weight_store import WeightStore

_LEAST, _MOST = np.iinfo(np.int8).min, np.iinfo(np.int8).max


class CenterWeightsPass(ModulePass):
    name = "center-weights"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        core = core_of(target_of(op))
        if not isinstance(core, Machine) and not core.quads:
            return
        store = WeightStore.of(ctx)
        for each in integer_sums(op):
            if isinstance(each, ConvOp | MatMulOp):
                kinds = (i8,) if isinstance(core, Machine) else (i8, *FEW_BITS)
                _center(each, kinds, store)


def _center(op: ConvOp | MatMulOp, kinds: Sequence[Attribute], store: WeightStore) -> None:
    """Shift the weights of `op`, unless they have one of some types, as kernels take them."""
    kind, known = element_type_of(op.operands[1]), known_array(op.operands[1], store)
    if element_type_of(op.operands[0]) not in (i8, UI8) or known is None or (kind in kinds and not op.zero_points[1]):
        return
    if not known.size or (isinstance(op, MatMulOp) and known.ndim != 2):
        return
    values = op.factor_array(1, known)
    axes = (-1 if op.transpose_rhs else -2,) if isinstance(op, MatMulOp) else tuple(range(1, values.ndim))
    low, high = values.min(axis=axes, keepdims=True), values.max(axis=axes, keepdims=True)
    if int((high - low).max()) > _MOST - _LEAST:
        return
    middle = np.where((low >= _LEAST) & (high <= _MOST), 0, (low + high + 1) // 2)
    centered = constant_op((values - middle).astype(np.int8), f"{key_of(op.operands[1]) or 'weight'}_centered", store)
    constants = [centered]
    made: list[GraphOp] = [_multiplying(op, centered.result, *op.operands[2:])]
    if middle.any():
        channels = middle.reshape([-1, *(1 for _ in values.shape[2:])])
        constants += [
            constant_op(np.ones(_ones_shape(op, middle.shape, values.shape), np.int8), "ones", store),
            constant_op(channels.astype(np.int32), "middles", store),
        ]
        sums = _multiplying(op, constants[1].result)
        more = MulOp.get(sums.results[0], constants[2].result)
        made = [sums, more, *made, AddOp.get(made[0].results[0], more.result)]
    for each in (*constants, *made):
        each.location = op.location
    Rewriter.insert_op([*constants, *made], InsertPoint.before(op))
    Rewriter.replace_op(op, [], made[-1].results)


def _multiplying(op: ConvOp | MatMulOp, weight: SSAValue, *starts: SSAValue) -> GraphOp:
    """`op` with a weight that has no zero point, and sums that begin with `starts`."""
    given = {name: value for name, value in op.properties.items() if name != op.ZERO_POINTS[1]}
    return type(op).get(op.operands[0], weight, *starts, **given)


def _ones_shape(op: ConvOp | MatMulOp, channels: Sequence[int], weight: Sequence[int]) -> Sequence[int]:
    """The shape of weights that sum up what `weight` sees, for each output channel of several groups, else once."""
    if isinstance(op, ConvOp) and op.groups > 1:
        return weight
    return [1 if count > 1 else extent for count, extent in zip(channels, weight, strict=True)]
