"""Data movement in the NCHWc layout: views of blocks where possible, else channels moved to other lanes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate

import numpy as np

from aotc.dialects.graph.indexing import GatherOp
from aotc.dialects.graph.interfaces import GraphOp, producer, shape_of
from aotc.dialects.graph.movement import ConcatOp, PadOp, ReshapeOp, SliceOp, TransposeOp
from aotc.dialects.graph.packed.channels import Channels
from aotc.passes.kernel.layouts import Blocked, ChannelsOf, Layouts, concatenated, is_compact
from aotc.passes.kernel.strategy import KernelStrategy, Strategies, strategy_of


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

    def lay_out(self, op: PadOp, layouts: Layouts) -> Blocked | None:
        x, pads, rank = layouts.computed(op.x), op.ints("pads"), len(shape_of(op.x))
        if x is None or pads[1] or pads[1 + rank]:
            return None
        return layouts.copied_on_blocks(op, x, *op.operands[1:], pads=[*pads[:rank], 0, *pads[rank:], 0])


class GatherLayout(KernelStrategy[GatherOp]):
    """A gather along a spatial axis gathers from every block."""

    def lay_out(self, op: GatherOp, layouts: Layouts) -> Blocked | None:
        x = layouts.computed(op.x)
        return None if x is None or op.axis < 2 else layouts.copied_on_blocks(op, x, op.indices)


STRATEGIES: Strategies = {
    ReshapeOp: (ReshapeLayout(),),
    TransposeOp: (TransposeLayout(),),
    SliceOp: (SliceLayout(),),
    ConcatOp: (ConcatLayout(),),
    PadOp: (PadLayout(),),
    GatherOp: (GatherLayout(),),
}
