"""Convolution to few output channels: the lanes hold input channels, along which inner products are summed up, or
positions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from xdsl.ir import SSAValue

from aotc.dialects.dtypes import byte_width
from aotc.dialects.graph.convolution import ConvolutionOp, ConvOp, ConvTransposeOp
from aotc.dialects.graph.interfaces import element_type_of, shape_of
from aotc.dialects.graph.movement import PadOp, ReshapeOp, SliceOp, TransposeOp
from aotc.dialects.graph.packed.channels import Channels
from aotc.dialects.graph.packed.convolution.within_lanes import (
    NarrowConvolutionOp,
    NarrowConvOp,
    NarrowConvTransposeOp,
)
from aotc.dialects.graph.schedules import InnerProductSchedule, PositionsSchedule, Schedule
from aotc.dialects.graph.shapes import ceil_div
from aotc.dialects.graph.windows.sliding import SlidingWindow
from aotc.machines.machine import Machine
from aotc.passes.kernel.builders.tiles import NotVectorizable
from aotc.passes.kernel.costs.conv_cost import (
    copy_cycles,
    narrow_cycles,
    narrow_schedule,
    positions_cycles,
    positions_schedule,
)
from aotc.passes.kernel.costs.lanes import lanes_of_products
from aotc.passes.kernel.layouts import Layouts
from aotc.passes.kernel.nest import Nest
from aotc.passes.kernel.nests.convolution.narrow_conv_nest import narrow_nest, positions_nest
from aotc.passes.kernel.strategies.convolution.conv_strategy import (
    ConvolutionStrategy,
    taps_of,
    weight_by_outputs,
    window_properties,
)
from aotc.passes.kernel.strategy import KernelStrategy, Prologue


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
        lengths = [_length(window) for window in windows]
        weight, taps = op.weight, along.size
        if along.stride > 1:
            taps = _whole_taps(along)
            lengths[-1] = (along.positions - 1) * along.stride + taps
            weight = _padded(weight, [0] * len(windows), [*op.kernel()[:-1], taps], layouts)
        x = _padded(op.x, [window.before for window in windows], lengths, layouts)
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
    """The least estimated cycles with input channels or positions in the lanes; infinite where neither has a
    schedule."""
    found = [(each, schedule) for each in _FEW_OUTPUTS if (schedule := each.schedule(op, machine)) is not None]
    return min((each.cost(op, schedule, machine) for each, schedule in found), default=math.inf)


def _are_read_as_they_lie(windows: Sequence[SlidingWindow]) -> bool:
    """Whether no window has padding, and those along the last axis are one element apart."""
    return windows[-1].stride == 1 and all(window.before == window.after == 0 for window in windows)


def _whole_taps(window: SlidingWindow) -> int:
    """The taps of a window, with those of weight 0 that make all residues equally many."""
    return ceil_div(window.size, window.stride) * window.stride


def _length(window: SlidingWindow) -> int:
    """The elements that windows read along an axis, with its padding."""
    return (window.positions - 1) * window.stride + window.span


def _padded(x: SSAValue, before: Sequence[int], lengths: Sequence[int], layouts: Layouts) -> SSAValue:
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
    """x [N, C, spatial.., L * stride] as [N, C * stride, spatial.., L]: every stride-th element along the last axis is
    a channel."""
    if stride == 1:
        return x
    images, channels, *outer, last = shape_of(x)
    split = layouts.add(ReshapeOp.get(x, shape=[images, channels, *outer, last // stride, stride]))
    axes = [0, 1, len(outer) + 3, *range(2, len(outer) + 3)]
    turned = layouts.add(TransposeOp.get(split, permutation=axes))
    return layouts.add(ReshapeOp.get(turned, shape=[images, channels * stride, *outer, last // stride]))
