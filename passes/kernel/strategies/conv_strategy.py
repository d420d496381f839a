"""Direct convolution in the NCHWc layout; to few output channels with input channels or positions in the lanes.

A register tile is MR neighbouring positions along the last axis times NR vectors of output channels.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from xdsl.ir import SSAValue

from aotc.dialects.dtypes import byte_width
from aotc.dialects.graph.convolution import ConvolutionOp, ConvOp, ConvTransposeOp
from aotc.dialects.graph.interfaces import element_type_of, shape_of
from aotc.dialects.graph.movement import PadOp, ReshapeOp, SliceOp, TransposeOp
from aotc.dialects.graph.packed.channels import Channels
from aotc.dialects.graph.packed.convolution.blocked_conv import (
    BlockedConvolutionOp,
    BlockedConvOp,
    BlockedConvTransposeOp,
    weight_panels,
)
from aotc.dialects.graph.packed.convolution.within_lanes import NarrowConvolutionOp, NarrowConvOp, NarrowConvTransposeOp
from aotc.dialects.graph.schedules import InnerProductSchedule, MatmulSchedule, PositionsSchedule, Schedule
from aotc.dialects.graph.shapes import ceil_div
from aotc.dialects.graph.windows.axes import ConvolutionalOp
from aotc.dialects.graph.windows.sliding import SlidingWindow
from aotc.machines.machine import Machine
from aotc.passes.kernel.builders.tiles import NotVectorizable
from aotc.passes.kernel.costs.conv_cost import (
    conv_cycles,
    conv_schedule,
    copy_cycles,
    narrow_cycles,
    narrow_schedule,
    positions_cycles,
    positions_schedule,
)
from aotc.passes.kernel.costs.lanes import lanes_of_products
from aotc.passes.kernel.layouts import Blocked, ChannelsOf, Layouts, block_depth
from aotc.passes.kernel.nest import Nest
from aotc.passes.kernel.nests.convolution.conv_nest import ConvNest
from aotc.passes.kernel.nests.convolution.window_nest import narrow_nest, positions_nest
from aotc.passes.kernel.spatial_tiling import Box, SpatialTiling, TiledImplementation, tiled_windows, window_tiling
from aotc.passes.kernel.strategy import KernelStrategy, Prologue, Strategies

Convolution = TypeVar("Convolution", bound=ConvolutionOp)
BlockedConvolution = TypeVar("BlockedConvolution", bound=BlockedConvolutionOp)


class ConvolutionStrategy(KernelStrategy[Convolution]):
    """The base of all strategies for `graph.conv` and `graph.conv_transpose`."""

    def block_starts(self, op: Convolution, channels_of: ChannelsOf) -> Iterable[int] | None:
        return None if isinstance(op, ConvOp) and op.is_depthwise else ()


def positions_of(op: ConvolutionalOp) -> list[int]:
    """The positions along each spatial axis that register tiles cover; along the last axis, those of a residue."""
    longest = max((part.window.positions for part in op.residues()[-1]), default=0)
    return [*op.extents()[:-1], longest]


def taps_of(op: ConvolutionOp) -> Sequence[int]:
    """The number of taps, along each spatial axis, that contribute to a position of the result."""
    if isinstance(op, ConvTransposeOp):
        return [ceil_div(window.size, window.stride) for window in op.windows()]
    return op.kernel()


def is_within_blocks(op: ConvolutionOp, lanes: int) -> bool:
    """Whether no output channel reads an input channel of another block: groups have as many output as input channels,
    a number that divides `lanes`."""
    if not isinstance(op, ConvOp):
        return False
    outputs, inputs = shape_of(op.weight)[:2]
    return outputs == op.groups * inputs > inputs and inputs < lanes and lanes % inputs == 0


def weight_by_outputs(op: ConvolutionOp, layouts: Layouts) -> SSAValue:
    """The weight as [M, C / group, kernel..]."""
    if not isinstance(op, ConvTransposeOp):
        return op.weight
    inputs, outputs, *kernel = shape_of(op.weight)
    split = layouts.add(ReshapeOp.get(op.weight, shape=[op.groups, inputs // op.groups, outputs, *kernel]))
    turned = layouts.add(TransposeOp.get(split, permutation=[0, 2, 1, *range(3, 3 + len(kernel))]))
    return layouts.add(ReshapeOp.get(turned, shape=[op.groups * outputs, inputs // op.groups, *kernel]))


def window_properties(op: ConvolutionOp) -> dict[str, object]:
    """The properties that describe the window: strides, pads, dilations."""
    more = {"output_padding": op.output_padding} if isinstance(op, ConvTransposeOp) else {}
    return {"strides": op.strides, "pads": op.pads, "dilations": op.dilations, **more}


def result_channels(op: ConvolutionOp, layouts: Layouts, lanes: int) -> Channels:
    """The lanes of the output channels; a padding lane is computed as a channel whose weights are 0."""
    if op.groups > 1:
        return Channels.of([shape_of(op.result)[1]], lanes)
    return layouts.channels_for_readers(op.result, lanes)


def packed_bias(op: ConvolutionOp, layouts: Layouts, channels: Channels) -> SSAValue | None:
    """The bias with an element for each lane."""
    return None if op.bias is None else layouts.pack_vector(op.bias, channels)


class DirectConvStrategy(ConvolutionStrategy[ConvolutionOp]):
    """Lowers to `graph.blocked_conv` or `graph.blocked_conv_transpose`; a tensor of few channels is read as it lies.

    Convolutions in groups, of few channels, or of channels with padding lanes between them do not block the reduction.
    """

    SCHEDULES = (MatmulSchedule,)
    BROADCASTS = True

    def schedule(self, op: ConvolutionOp, machine: Machine) -> Schedule | None:
        """None where an inner product along the lanes, or windows within blocks, are better."""
        kind, channels, outputs, taps = element_type_of(op.x), shape_of(op.x)[1], shape_of(op.result)[1], taps_of(op)
        if is_within_blocks(op, lanes_of_products(machine, kind)):
            return None
        if narrow_schedule(machine, kind, channels, outputs, math.prod(taps), op.groups):
            return None
        operand = math.prod(shape_of(op.x))
        return conv_schedule(machine, kind, operand, positions_of(op), outputs, channels, taps, op.groups)

    def cost(self, op: ConvolutionOp, schedule: MatmulSchedule, machine: Machine) -> float:
        images, channels, outputs = *shape_of(op.x)[:2], shape_of(op.result)[1]
        return images * conv_cycles(machine, schedule, positions_of(op), outputs, channels, taps_of(op), op.groups)

    def lower(self, op: ConvolutionOp, layouts: Layouts, schedule: MatmulSchedule) -> SSAValue | Blocked | None:
        weight = weight_by_outputs(op, layouts)
        lanes, channels = schedule.lanes, shape_of(op.x)[1]
        computed, dense = layouts.computed(op.x), Channels.of([channels], lanes)
        if computed is not None and op.groups == 1:
            x = computed
        elif channels < lanes and op.groups == 1:
            x = Blocked(op.x, Channels.of([channels], channels))
        else:
            x = Blocked(layouts.pack(op.x, dense), dense)
        results = result_channels(op, layouts, lanes)
        width, channels_read, depth = schedule.nr * lanes, x.channels, channels
        if x.value is not op.x:
            inputs, outputs = channels // op.groups, results.count // op.groups
            depth = block_depth(op.groups, inputs, outputs, width, channels_read.lanes)
        if op.groups > 1 or channels_read.has_padding or x.value is op.x:
            schedule = replace(schedule, kc=None)
        weight = layouts.spread(layouts.spread(weight, 1, channels_read), 0, results)
        blocked = BlockedConvTransposeOp if isinstance(op, ConvTransposeOp) else BlockedConvOp
        conv = blocked.get(
            x.value,
            layouts.packed(weight, weight_panels(len(shape_of(weight)), width, depth, op.groups)),
            packed_bias(op, layouts, results),
            **window_properties(op),
            group=op.group,
            channels=channels,
            parts=channels_read.parts if channels_read.has_padding else None,
            outputs=results.slots,
            block=lanes,
            partials=schedule.kc is not None,
        )
        return Blocked(layouts.scheduled(conv, schedule), results)


class BlockedConvolutionStrategy(KernelStrategy[BlockedConvolution]):
    """`graph.blocked_conv_transpose`, and all but the spatial tiling of `graph.blocked_conv`."""

    SCHEDULES = (MatmulSchedule,)
    PROLOGUES = (Prologue.STORED,)

    def schedule(self, op: BlockedConvolution, machine: Machine) -> Schedule | None:
        kind, operand = element_type_of(op.x), math.prod(shape_of(op.x))
        outputs, channels, groups = op.outputs, op.channels, op.group
        return conv_schedule(machine, kind, operand, positions_of(op), outputs, channels, op.kernel(), groups)

    def cost(self, op: BlockedConvolution, schedule: MatmulSchedule, machine: Machine) -> float:
        images, outputs, channels = shape_of(op.x)[0], op.outputs, op.channels
        groups = op.group
        return images * conv_cycles(machine, schedule, positions_of(op), outputs, channels, op.kernel(), groups)

    def nest(self, nest: Nest[BlockedConvolution, MatmulSchedule]) -> None:
        lanes = nest.op.block
        if nest.lanes != lanes or nest.schedule.nr != nest.op.width // lanes:
            raise NotVectorizable("the blocks and panels do not fit the schedule")
        ConvNest.of(nest, dtype=element_type_of(nest.op.result)).emit()


class BlockedConvStrategy(BlockedConvolutionStrategy[BlockedConvOp]):
    """`graph.blocked_conv`."""

    def tiled_implementation(self, op: BlockedConvOp, box: Box) -> TiledImplementation | None:
        return None if op.scratch() else tiled_windows(op, op.windows(), box)

    def spatial_tiling(self, op: BlockedConvOp, schedule: MatmulSchedule) -> SpatialTiling | None:
        return None if op.scratch() else window_tiling(op, schedule)


class NarrowConvStrategy(ConvolutionStrategy[ConvolutionOp]):
    """Lowers to `graph.narrow_conv` or `graph.narrow_conv_transpose`, where output channels would leave most lanes
    empty."""

    SCHEDULES = (InnerProductSchedule,)

    def schedule(self, op: ConvolutionOp, machine: Machine) -> Schedule | None:
        channels, outputs = shape_of(op.x)[1], shape_of(op.result)[1]
        return narrow_schedule(machine, element_type_of(op.x), channels, outputs, math.prod(taps_of(op)), op.groups)

    def cost(self, op: ConvolutionOp, schedule: InnerProductSchedule, machine: Machine) -> float:
        images, outputs, *positions = shape_of(op.result)
        channels, taps = shape_of(op.x)[1], math.prod(taps_of(op))
        return images * math.prod(positions) * narrow_cycles(machine, schedule.lanes, channels, outputs, taps)

    def lower(self, op: ConvolutionOp, layouts: Layouts, schedule: InnerProductSchedule) -> SSAValue | None:
        weight = weight_by_outputs(op, layouts)
        dense = Channels.of([shape_of(op.x)[1]], schedule.lanes)
        narrow = NarrowConvTransposeOp if isinstance(op, ConvTransposeOp) else NarrowConvOp
        operands = layouts.pack(op.x, dense), layouts.pack(weight, dense), op.bias
        return layouts.scheduled(narrow.get(*operands, **window_properties(op)), schedule)


class NarrowConvolutionStrategy(KernelStrategy[NarrowConvolutionOp]):
    """`graph.narrow_conv` and `graph.narrow_conv_transpose`."""

    SCHEDULES = (InnerProductSchedule,)
    PROLOGUES = (Prologue.STORED,)

    def schedule(self, op: NarrowConvolutionOp, machine: Machine) -> Schedule | None:
        lanes = shape_of(op.x)[-1]
        fits = lanes == lanes_of_products(machine, element_type_of(op.x))
        return InnerProductSchedule(lanes, lanes) if fits else None

    def nest(self, nest: Nest[NarrowConvolutionOp, InnerProductSchedule]) -> None:
        narrow_nest(nest)


class PositionsConvStrategy(ConvolutionStrategy[ConvOp]):
    """Positions along the last axis in the lanes, of a plain tensor that is padded before. Where windows are several
    elements apart, the elements that are so far apart become a channel, of the weight too."""

    SCHEDULES = (PositionsSchedule,)

    def schedule(self, op: ConvOp, machine: Machine) -> Schedule | None:
        """None where there are groups, of which a tensor in blocks has several in its lanes."""
        *_, along = op.windows()
        if op.groups > 1 or (along.stride > 1 and along.dilation > 1):
            return None
        outputs, *summed = shape_of(op.weight)
        return positions_schedule(machine, element_type_of(op.x), along.positions, outputs, math.prod(summed))

    def cost(self, op: ConvOp, schedule: PositionsSchedule, machine: Machine) -> float:
        images, channels = shape_of(op.x)[:2]
        *outer, along = op.windows()
        depth = channels * math.prod(window.size for window in outer) * _whole_taps(along)
        sums = images * positions_cycles(machine, schedule, op.extents(), shape_of(op.weight)[0], depth)
        elements = math.prod(shape_of(op.x))
        if along.stride > 1:
            return sums + elements  # which are moved one by one
        lies_as_read = channels < schedule.lanes and _are_read_as_they_lie(op.windows())
        return sums + (0 if lies_as_read else copy_cycles(machine, elements * byte_width(element_type_of(op.x))))

    def lower(self, op: ConvOp, layouts: Layouts, schedule: PositionsSchedule) -> SSAValue | None:
        windows = op.windows()
        if _are_read_as_they_lie(windows):
            return None
        *outer, along = windows
        lengths = [(window.positions - 1) * window.stride + window.span for window in windows]
        weight, taps = op.weight, along.size
        if along.stride > 1:
            taps = _whole_taps(along)
            lengths[-1] = (along.positions - 1) * along.stride + taps
            weight = _cut_or_padded(weight, [0] * len(windows), [*op.kernel()[:-1], taps], layouts)
        x = _cut_or_padded(op.x, [window.before for window in windows], lengths, layouts)
        x, weight = (_residues(each, along.stride, layouts) for each in (x, weight))
        conv = ConvOp.get(
            x,
            weight,
            op.bias,
            strides=[*(window.stride for window in outer), 1],
            pads=[0] * (2 * len(windows)),
            dilations=[window.dilation for window in windows],
            group=op.group,
        )
        return layouts.scheduled(conv, schedule)

    def nest(self, nest: Nest[ConvOp, PositionsSchedule]) -> None:
        if not _are_read_as_they_lie(nest.op.windows()):
            raise NotVectorizable("x is neither padded nor divided into residues")
        positions_nest(nest)


_FEW_OUTPUTS: Sequence[KernelStrategy[Any]] = (NarrowConvStrategy(), PositionsConvStrategy())


def cycles_of_few_outputs(op: ConvOp, machine: Machine) -> float:
    """The least estimated cycles with input channels or positions in the lanes; infinite without a schedule."""
    found = [(each, schedule) for each in _FEW_OUTPUTS if (schedule := each.schedule(op, machine)) is not None]
    return min((each.cost(op, schedule, machine) for each, schedule in found), default=math.inf)


def _are_read_as_they_lie(windows: Sequence[SlidingWindow]) -> bool:
    """Whether no window has padding, and those along the last axis are one element apart."""
    return windows[-1].stride == 1 and all(window.before == window.after == 0 for window in windows)


def _whole_taps(window: SlidingWindow) -> int:
    """The taps of a window, with those of weight 0 that make all residues equally many."""
    return ceil_div(window.size, window.stride) * window.stride


def _cut_or_padded(x: SSAValue, before: Sequence[int], lengths: Sequence[int], layouts: Layouts) -> SSAValue:
    """x [N, C, spatial..] with so many zeros before each spatial axis (negative: elements fewer), then zeros or fewer
    elements at its end, up to a length."""
    rank, spatial = len(shape_of(x)), shape_of(x)[2:]
    starts = [max(-each, 0) for each in before]
    begins = [max(each, 0) for each in before]
    counts = [
        min(extent - start, length - begin)
        for extent, start, begin, length in zip(spatial, starts, begins, lengths, strict=True)
    ]
    if tuple(counts) != spatial:
        shape = [*shape_of(x)[:2], *counts]
        x = layouts.add(SliceOp.get(x, starts=[0, 0, *starts], steps=[1] * rank, shape=shape))
    ends = [length - begin - count for begin, count, length in zip(begins, counts, lengths, strict=True)]
    if any(begins) or any(ends):
        x = layouts.add(PadOp.get(x, None, pads=[0, 0, *begins, 0, 0, *ends], mode="constant"))
    return x


def _residues(x: SSAValue, stride: int, layouts: Layouts) -> SSAValue:
    """x [N, C, spatial.., L * stride] as [N, C * stride, spatial.., L]: every stride-th element is a channel."""
    if stride == 1:
        return x
    images, channels, *outer, last = shape_of(x)
    split = layouts.add(ReshapeOp.get(x, shape=[images, channels, *outer, last // stride, stride]))
    axes = [0, 1, len(outer) + 3, *range(2, len(outer) + 3)]
    turned = layouts.add(TransposeOp.get(split, permutation=axes))
    return layouts.add(ReshapeOp.get(turned, shape=[images, channels * stride, *outer, last // stride]))


STRATEGIES: Strategies = {
    ConvOp: (DirectConvStrategy(), NarrowConvStrategy(), PositionsConvStrategy()),
    ConvTransposeOp: (DirectConvStrategy(), NarrowConvStrategy()),
    BlockedConvOp: (BlockedConvStrategy(),),
    BlockedConvTransposeOp: (BlockedConvolutionStrategy(),),
    NarrowConvolutionOp: (NarrowConvolutionStrategy(),),
}
