"""Pointwise operations in the NCHWc layout: they compute each element alike wherever it lies."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from xdsl.ir import SSAValue

from aotc.dialects.graph.conversion import AffineOp
from aotc.dialects.graph.elementwise import BroadcastOp
from aotc.dialects.graph.interfaces import GraphOp, producer, shape_of
from aotc.dialects.graph.movement import ReshapeOp
from aotc.passes.kernel.layouts import Blocked, ChannelsOf, Layouts
from aotc.passes.kernel.strategy import KernelStrategy, Strategies, strategy_of


class PointwiseLayout(KernelStrategy[BroadcastOp]):
    """In the layout of the operand that takes the fewest blocks; operands that broadcast become parameters in that
    layout."""

    def lay_out(self, op: BroadcastOp, layouts: Layouts) -> Blocked | None:
        shape = shape_of(op.results[0])
        whole = [value for value in op.operands if shape_of(value) == shape]
        channels = layouts.channels_of(*whole)
        if channels is None:
            return None
        if len(set(whole)) == 1:
            channels = layouts.compacted(whole[0], op.results[0])
        operands = [layouts.pack_parameter(value, shape, channels) for value in op.operands]
        return Blocked(layouts.copied(op, operands), channels)

    def lay_out_reshaped(self, op: BroadcastOp, layouts: Layouts, shape: Sequence[int]) -> Blocked | None:
        """In the layout of the operand that does not broadcast; parameters of groups of channels are repeated for each
        channel."""
        own = shape_of(op.results[0])
        if min(len(own), len(shape)) < 2 or 0 in own or own[0] != shape[0] or shape[1] % own[1]:
            return None
        whole = [value for value in op.operands if shape_of(value) == own]
        maker = producer(whole[0], GraphOp) if len(whole) == 1 else None
        ones = [1] * len(own[2:])
        for value in op.operands:
            extents = [1] * (len(own) - len(shape_of(value))) + [*shape_of(value)]
            if value not in whole and extents not in ([1, 1, *ones], [1, *own[1:2], *ones]):
                return None
        if maker is None or (x := strategy_of(maker).lay_out_reshaped(maker, layouts, shape)) is None:
            return None

        def parameter(value: SSAValue) -> SSAValue:
            if math.prod(shape_of(value)) == 1:
                return value
            column = layouts.add(ReshapeOp.get(value, shape=[1, own[1], *ones]))
            return layouts.per_channel(column, shape, x.channels)

        operands = [x.value if value in whole else parameter(value) for value in op.operands]
        return Blocked(layouts.copied(op, operands), x.channels)

    def block_starts(self, op: BroadcastOp, channels_of: ChannelsOf) -> Iterable[int] | None:
        shape = shape_of(op.results[0])
        channels = channels_of(*(value for value in op.operands if shape_of(value) == shape))
        return None if channels is None else channels.starts


class AffineLayout(KernelStrategy[AffineOp]):
    """Quantisation and dequantisation with one scale for the tensor; with a scale for each channel they stay on plain
    tensors."""

    def lay_out(self, op: AffineOp, layouts: Layouts) -> Blocked | None:
        x = layouts.computed(op.x)
        if x is None or shape_of(op.scale) not in ((), (1,)):
            return None
        return layouts.copied_on_blocks(op, x, *op.operands[1:])


STRATEGIES: Strategies = {
    BroadcastOp: (PointwiseLayout(),),
    AffineOp: (AffineLayout(),),
}
