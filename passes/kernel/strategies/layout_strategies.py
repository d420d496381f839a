"""Operations that are computed alike wherever elements lie, or that move them, in the NCHWc layout."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate

import numpy as np
from xdsl.ir import SSAValue

from aotc.dialects.graph.conversion import AffineOp
from aotc.dialects.graph.elementwise import BroadcastOp
from aotc.dialects.graph.indexing import GatherOp
from aotc.dialects.graph.interfaces import GraphOp, producer, shape_of
from aotc.dialects.graph.movement import ConcatOp, PadOp, ReshapeOp, SliceOp, TransposeOp
from aotc.dialects.graph.packed.channels import Channels
from aotc.dialects.graph.quantized.bytes import LookupOp
from aotc.dialects.graph.quantized.requantization import DoublingRequantizeOp, FixedRequantizeOp, RequantizeOp
from aotc.passes.kernel.layouts import Blocked, ChannelsOf, Layouts, concatenated, is_compact
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

    def on_blocks(self, op: AffineOp) -> Mapping[str, object] | None:
        return {} if shape_of(op.scale) in ((), (1,)) else None


class ReshapeLayout(KernelStrategy[ReshapeOp]):
    """Spatial axes may change while N and C stay; channels that were split are merged again."""

    def lay_out(self, op: ReshapeOp, layouts: Layouts) -> Blocked | None:
        x, target = layouts.computed(op.x), op.ints("shape")
        if x is None:
            maker = producer(op.x, GraphOp)
            return None if maker is None else strategy_of(maker).lay_out_reshaped(maker, layouts, target)
        if target[:2] != shape_of(op.x)[:2]:
            return None
        blocked = shape_of(x.value)
        return layouts.copied_on_blocks(op, x, shape=[*blocked[:2], *target[2:], blocked[-1]])


class TransposeLayout(KernelStrategy[TransposeOp]):
    """Between two reshapes, a channel shuffle."""

    def lay_out_reshaped(self, op: TransposeOp, layouts: Layouts, shape: Sequence[int]) -> Blocked | None:
        """The axes that channels were split into are permuted, which moves channels to other lanes."""
        split = producer(op.x, ReshapeOp)
        x = None if split is None else layouts.computed(split.x)
        if split is None or x is None or shape_of(split.x) != tuple(shape) or 0 in shape:
            return None
        extents, permutation = split.ints("shape"), op.ints("permutation")
        sizes = accumulate(extents[1:], lambda count, extent: count * extent)
        axes = next((axis for axis, size in enumerate(sizes, 2) if size == shape[1]), None)
        if axes is None or extents[0] != shape[0] or permutation[0] != 0:
            return None
        if permutation[axes:] != tuple(range(axes, len(extents))):
            return None
        order = np.arange(shape[1]).reshape(extents[1:axes]).transpose([axis - 1 for axis in permutation[1:axes]])
        channels = Channels.of([shape[1]], x.channels.lanes)
        return Blocked(layouts.regroup([x], order.ravel().tolist(), channels), channels)


class SliceLayout(KernelStrategy[SliceOp]):
    """A slice of channels that begins a block is a view; others are moved into new blocks."""

    def lay_out(self, op: SliceOp, layouts: Layouts) -> Blocked | None:
        x = layouts.computed(op.x)
        starts, steps, shape = list(op.ints("starts")), list(op.ints("steps")), list(op.ints("shape"))
        if x is None or 0 in shape:
            return None
        lanes = x.channels.lanes
        cut = x.channels.cut(starts[1], shape[1]) if steps[1] == 1 or shape[1] == 1 else None
        if cut is None:
            chosen = range(starts[1], starts[1] + shape[1] * steps[1], steps[1])
            cut = 0, Channels.of([shape[1]], lanes)
            x = Blocked(layouts.regroup([x], chosen, cut[1]), cut[1])
        starts[1], steps[1], shape[1] = cut[0], 1, cut[1].blocks
        if (*shape, lanes) == shape_of(x.value) and all(step == 1 for step in steps):
            return Blocked(x.value, cut[1])
        sliced = layouts.copied(op, [x.value], starts=[*starts, 0], steps=[*steps, 1], shape=[*shape, lanes])
        return Blocked(sliced, cut[1])

    def block_starts(self, op: SliceOp, channels_of: ChannelsOf) -> Iterable[int]:
        is_strip = op.ints("steps")[1:2] == (1,) and 0 not in op.ints("shape")
        return [op.ints("starts")[1]] if is_strip else ()


class ConcatLayout(KernelStrategy[ConcatOp]):
    """Concatenation along the channels puts blocks side by side; where that leaves many padding lanes, channels are
    moved."""

    def lay_out(self, op: ConcatOp, layouts: Layouts) -> Blocked | None:
        channels = layouts.channels_of(*op.parts)
        if channels is None:
            return None
        if op.axis != 1:
            return Blocked(layouts.copied(op, [layouts.pack(part, channels) for part in op.parts]), channels)
        parts = [layouts.blocked(part, channels.lanes) for part in op.parts if shape_of(part)[1] > 0]
        joined = concatenated([part.channels for part in parts])
        if is_compact(joined):
            return Blocked(layouts.copied(op, [part.value for part in parts]), joined)
        dense = Channels.of([joined.count], joined.lanes)
        return Blocked(layouts.regroup(parts, range(joined.count), dense), dense)


class PadLayout(KernelStrategy[PadOp]):
    """Spatial axes are padded block by block; padding of channels needs a plain tensor."""

    def on_blocks(self, op: PadOp) -> Mapping[str, object] | None:
        pads, rank = op.ints("pads"), len(shape_of(op.x))
        return None if pads[1] or pads[1 + rank] else {"pads": [*pads[:rank], 0, *pads[rank:], 0]}


class GatherLayout(KernelStrategy[GatherOp]):
    """A gather along a spatial axis gathers from every block."""

    def on_blocks(self, op: GatherOp) -> Mapping[str, object] | None:
        return None if op.axis < 2 else {}


class RequantizeLayout(KernelStrategy[RequantizeOp | FixedRequantizeOp | DoublingRequantizeOp]):
    """With one factor, or one for each channel: with all channels in one block a vector along its lanes, else packed
    as x is."""

    def lay_out(self, op: RequantizeOp | FixedRequantizeOp | DoublingRequantizeOp, layouts: Layouts) -> Blocked | None:
        factor, *shift = op.operands[1:]
        x, axis, shape = layouts.computed(op.x), op.axis % len(shape_of(op.x)), shape_of(op.x)
        if x is None:
            return None
        if shape_of(factor) in ((), (1,)):
            return layouts.copied_on_blocks(op, x, factor, *shift)
        if axis != 1 or len(shape_of(factor)) > 1:
            return None
        if x.channels.blocks == 1 and x.channels.lanes == shape[1]:
            return layouts.copied_on_blocks(op, x, factor, *shift, axis=len(shape_of(x.value)) - 1)
        if shift:
            return None
        column = layouts.add(ReshapeOp.get(factor, shape=[1, shape[1], *[1] * len(shape[2:])]))
        return layouts.copied_on_blocks(op, x, layouts.pack(column, x.channels))


class LookupLayout(KernelStrategy[LookupOp]):
    """A table has no axes."""

    def on_blocks(self, op: LookupOp) -> Mapping[str, object] | None:
        return {}


STRATEGIES: Strategies = {
    BroadcastOp: (PointwiseLayout(),),
    AffineOp: (AffineLayout(),),
    ReshapeOp: (ReshapeLayout(),),
    TransposeOp: (TransposeLayout(),),
    SliceOp: (SliceLayout(),),
    ConcatOp: (ConcatLayout(),),
    PadOp: (PadLayout(),),
    GatherOp: (GatherLayout(),),
    RequantizeOp: (RequantizeLayout(),),
    FixedRequantizeOp: (RequantizeLayout(),),
    DoublingRequantizeOp: (RequantizeLayout(),),
    LookupOp: (LookupLayout(),),
}
