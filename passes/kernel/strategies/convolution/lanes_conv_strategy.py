"""Convolution in groups of few channels: windows over the NCHWc layout, each group within a block."""

from __future__ import annotations

from aotc.dialects.graph.convolution import ConvOp
from aotc.dialects.graph.interfaces import element_type_of, shape_of
from aotc.dialects.graph.movement import ReshapeOp, TransposeOp
from aotc.dialects.graph.packed.channels import Channels
from aotc.dialects.graph.packed.convolution.within_lanes import BlockedDepthwiseConvOp, BlockedLanesConvOp
from aotc.dialects.graph.schedules import Schedule, WindowSchedule
from aotc.machines.machine import Machine
from aotc.passes.kernel.costs.lanes import lanes_of_products
from aotc.passes.kernel.costs.window_cost import window_schedule
from aotc.passes.kernel.layouts import Blocked, Layouts
from aotc.passes.kernel.strategies.convolution.conv_strategy import (
    ConvolutionStrategy,
    is_within_blocks,
    packed_bias,
    window_properties,
)


class LanesConvStrategy(ConvolutionStrategy[ConvOp]):
    """Lowers to `graph.blocked_depthwise_conv` where each channel is a group, else to `graph.blocked_lanes_conv`."""

    SCHEDULES = (WindowSchedule,)

    def schedule(self, op: ConvOp, machine: Machine) -> Schedule | None:
        kind = element_type_of(op.x)
        lanes = lanes_of_products(machine, kind)
        return window_schedule(machine, kind, lanes) if is_within_blocks(op, lanes) else None

    def lower(self, op: ConvOp, layouts: Layouts, schedule: WindowSchedule) -> Blocked | None:
        return _depthwise(op, layouts, schedule) if op.is_depthwise else _groups(op, layouts, schedule)


def _groups(op: ConvOp, layouts: Layouts, schedule: WindowSchedule) -> Blocked:
    dense = Channels.of([shape_of(op.x)[1]], schedule.lanes)  # so that no group is in two blocks
    axes = range(len(shape_of(op.weight)))
    inputs_first = layouts.add(TransposeOp.get(op.weight, permutation=[1, 0, *axes[2:]]))
    conv = BlockedLanesConvOp.get(
        layouts.pack(op.x, dense),
        layouts.pack(inputs_first, dense),
        packed_bias(op, layouts, dense),
        **window_properties(op),
    )
    return Blocked(layouts.scheduled(conv, schedule), dense)


def _depthwise(op: ConvOp, layouts: Layouts, schedule: WindowSchedule) -> Blocked:
    x = layouts.blocked(op.x, schedule.lanes)
    channels, _, *kernel = shape_of(op.weight)
    plain = layouts.add(ReshapeOp.get(op.weight, shape=[1, channels, *kernel]))
    packed = layouts.pack(plain, x.channels)
    conv = BlockedDepthwiseConvOp.get(
        x.value,
        layouts.add(ReshapeOp.get(packed, shape=shape_of(packed)[1:])),
        packed_bias(op, layouts, x.channels),
        **window_properties(op),
    )
    return Blocked(layouts.scheduled(conv, schedule), x.channels)
