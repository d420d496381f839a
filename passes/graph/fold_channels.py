"""Leave out channels that are the same whatever the inputs, and those that nobody reads.

Between which integers each channel of a tensor is follows from weights, biases, ranges and clamps. One that has a
single value, as behind a relu of what is never positive, is no channel of the sums that read it: its value times the
weights goes into their bias. Weights that are 0 read nothing. What is not needed is computed by no operation on the way
that passes channels on one by one; sums of several channels need no weights for it. Results are the same bit for bit.

Before, where %1 is -128 in its channels 1 and 2:
```mlir
%0 = graph.conv %x, %w0, %b0 {..} : (tensor<1x3x8x8xi8>, tensor<4x3x1x1xi8>, tensor<4xi32>) -> tensor<1x4x8x8xi32>
%1 = graph.requantize %0, %m {zero_point = -128 : i64, ..} : (tensor<1x4x8x8xi32>, tensor<4xf32>) -> tensor<1x4x8x8xi8>
%2 = graph.conv %1, %w1, %b1 {..} : (tensor<1x4x8x8xi8>, tensor<8x4x1x1xi8>, tensor<8xi32>) -> tensor<1x8x8x8xi32>
```
After:
```mlir
%0 = graph.conv %x, %w0, %b0 {..} : (tensor<1x3x8x8xi8>, tensor<2x3x1x1xi8>, tensor<2xi32>) -> tensor<1x2x8x8xi32>
%1 = graph.requantize %0, %m {zero_point = -128 : i64, ..} : (tensor<1x2x8x8xi32>, tensor<2xf32>) -> tensor<1x2x8x8xi8>
%2 = graph.conv %1, %w1, %b1 {..} : (tensor<1x2x8x8xi8>, tensor<8x2x1x1xi8>, tensor<8xi32>) -> tensor<1x8x8x8xi32>
```
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, i64
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from aotc.dialects.aot.contract import FOLDED_CHANNELS
from aotc.dialects.constants import key_of, known_array
from aotc.dialects.graph.compound.control_flow import graph_blocks
from aotc.dialects.graph.convolution import ConvOp
from aotc.dialects.graph.elementwise import AddOp
from aotc.dialects.graph.interfaces import Array, GraphOp, shape_of
from aotc.dialects.graph.matrices.matmul import MatMulOp
from aotc.dialects.graph.movement import ReshapeOp
from aotc.model.locations import node_names
from aotc.model.metadata import FoldedChannels
from aotc.model.weight_store import WeightStore
from aotc.passes.graph.channels.flow import Passing, Sum, flows
from aotc.passes.graph.channels.intervals import Intervals
from aotc.passes.graph.channels.needs import Channels, Needs
from aotc.passes.graph.rewriting import Constants, erase_unused_constants


class FoldChannelsPass(ModulePass):
    name = "fold-channels"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        store, folded = WeightStore.of(ctx), list[FoldedChannels]()
        for block in graph_blocks(op):
            found, intervals = list(flows(block, store)), Intervals(store)
            for flow in found:
                intervals.add(flow)
            needs = Needs(block, found, intervals)
            if not all(channels.all() for channels in needs.needed.values()):
                folded += filter(None, (_noted(flow, needs) for flow in found))
                _Folder(block, needs, store).fold(found)
                erase_unused_constants(block)
        FOLDED_CHANNELS.set(op, folded or None)


def _noted(flow: Sum | Passing, needs: Needs) -> FoldedChannels | None:
    """The note of a sum some of whose channels are not needed."""
    needed = needs.needed[flow.op.results[0]]
    if not isinstance(flow, Sum) or needed.all():
        return None
    node = next(iter(node_names(flow.op.location)), flow.op.label)
    return FoldedChannels(node, int(np.count_nonzero(~needed)), len(needed))


class _Folder:
    """Makes the operations of a block anew, for the channels that are needed."""

    def __init__(self, block: Block, needs: Needs, store: WeightStore) -> None:
        self._needs = needs
        self._store = store
        self._constants = Constants(block, store)
        self._left: dict[SSAValue, Channels] = {}
        """Of each value that has fewer channels now, which ones."""

    def fold(self, found: Sequence[Sum | Passing]) -> None:
        for flow in found:
            needed = self._needs.needed[flow.op.results[0]]
            if all(value not in self._left for value in flow.op.operands) and needed.all():
                continue
            new = self._sum(flow, needed) if isinstance(flow, Sum) else self._passed(flow, needed)
            for each in new:
                each.location = flow.op.location
            Rewriter.insert_op(new, InsertPoint.before(flow.op))
            Rewriter.replace_op(flow.op, [], new[-1].results)
            if not needed.all():
                self._left[new[-1].results[0]] = needed

    def _sum(self, flow: Sum, needed: Channels) -> list[GraphOp]:
        op, inputs = flow.op, self._left.get(flow.x, np.ones(shape_of(flow.x)[flow.axis], np.bool_))
        constant, values = self._needs.constant[op]
        gone = constant & ~inputs
        bias = flow.bias
        if gone.any():
            bias = bias + (flow.factors[:, gone].sum(axis=2) @ values[gone]).astype(np.int32)
        if isinstance(op, ConvOp):
            weight = self._constant(flow.weight[needed][:, inputs], op.weight)
            given = [self._constant(bias[needed], op.bias or op.weight)] if op.bias is not None or bias.any() else []
            return [ConvOp.get(flow.x, weight, *given, **op.properties)]
        rows, columns = (needed, inputs) if op.transpose_rhs else (inputs, needed)
        new = MatMulOp.get(flow.x, self._constant(flow.weight[rows][:, columns], op.rhs), **op.properties)
        if not bias.any() or self._add_to_reader(op.result, bias):
            return [new]
        return [new, AddOp.get(new.result, self._constant(bias[needed], op.rhs))]

    def _add_to_reader(self, value: SSAValue, more: Array) -> bool:
        """Add to the constant that the only reader of a value adds to it; whether there is one."""
        reader = next(iter(value.uses)).operation if value.has_one_use() else None
        given = known_array(reader.rhs, self._store) if isinstance(reader, AddOp) and reader.lhs is value else None
        if reader is None or given is None or given.shape != more.shape:
            return False
        reader.operands[1] = self._constant(given + more, reader.operands[1])
        return True

    def _passed(self, flow: Passing, needed: Channels) -> list[GraphOp]:
        op = flow.op
        operands = list(op.operands)
        for place, axis in flow.constants.items():
            array = known_array(op.operands[place], self._store)
            assert array is not None
            operands[place] = self._constant(np.compress(needed, array, axis), op.operands[place])
        new = type(op).create(operands=operands, result_types=op.result_types, properties=dict(op.properties))
        count = int(np.count_nonzero(needed))
        if isinstance(new, ConvOp):
            new.group = count // flow.sources[0].spread
        if isinstance(new, ReshapeOp):
            shape = new.ints("shape")
            new.shape = DenseArrayBase.from_list(
                i64, [*shape[: flow.result_axis], count, *shape[flow.result_axis + 1 :]]
            )
        new.refine()
        return [new]

    def _constant(self, array: Array, like: SSAValue) -> SSAValue:
        return self._constants.of(array, key_of(like) or "constant")
