"""Depthwise convolution in the NCHWc layout, and convolution in groups of neighbouring lanes of a block."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from aotc.dialects.builder import Scalar
from aotc.dialects.graph.convolution import ConvOp
from aotc.dialects.graph.interfaces import element_type_of, shape_of
from aotc.dialects.graph.movement import ReshapeOp, TransposeOp
from aotc.dialects.graph.packed.channels import Channels
from aotc.dialects.graph.packed.convolution.within_lanes import (
    BlockedDepthwiseConvOp,
    BlockedLanesConvOp,
    LanesConvolutionOp,
)
from aotc.dialects.graph.packed.integers.dot_products import (
    BlockedDotDepthwiseConvOp,
    BlockedPairDepthwiseConvOp,
    DepthwiseSumsOp,
    row_groups,
)
from aotc.dialects.graph.schedules import Schedule, WindowSchedule
from aotc.machines.machine import Machine
from aotc.passes.kernel.costs.lanes import lanes_of_products
from aotc.passes.kernel.costs.window_cost import window_schedule
from aotc.passes.kernel.layouts import Blocked, Layouts
from aotc.passes.kernel.nest import Nest
from aotc.passes.kernel.nests.convolution.dot_depthwise_nest import DotDepthwiseNest, PairDepthwiseNest
from aotc.passes.kernel.nests.convolution.window_nest import Part, WindowNest, WindowReduction
from aotc.passes.kernel.spatial_tiling import Box, SpatialTiling, TiledImplementation, tiled_windows, window_tiling
from aotc.passes.kernel.strategies import conv_strategy, dot_conv_strategy
from aotc.passes.kernel.strategy import KernelStrategy, Prologue, Strategies


class DepthwiseStrategy(KernelStrategy[LanesConvolutionOp]):
    """A register of sums for each position; in groups, one pass over the taps for each input channel of a group."""

    SCHEDULES = (WindowSchedule,)
    PROLOGUES = (Prologue.STORED,)

    def schedule(self, op: LanesConvolutionOp, machine: Machine) -> WindowSchedule | None:
        return window_schedule(machine, element_type_of(op.x), shape_of(op.x)[-1])

    def spatial_tiling(self, op: LanesConvolutionOp, schedule: WindowSchedule) -> SpatialTiling | None:
        return window_tiling(op, schedule)

    def tiled_implementation(self, op: LanesConvolutionOp, box: Box) -> TiledImplementation | None:
        return tiled_windows(op, op.windows(), box)

    def nest(self, nest: Nest[LanesConvolutionOp, WindowSchedule]) -> None:
        shape = shape_of(nest.op.x)
        WindowNest(
            nest.b, nest.schedule, shape[:2], nest.op.windows(), shape[-1], nest.reads[0], _ChannelSums(nest)
        ).emit()


@dataclass(frozen=True)
class _ChannelSums(WindowReduction):
    nest: Nest[LanesConvolutionOp, WindowSchedule]
    number: int = 0
    """The input channel, within each group, that this pass adds."""

    def passes(self) -> Sequence[WindowReduction]:
        return [replace(self, number=number) for number in range(self.nest.op.per_group)]

    def view(self, value: Scalar) -> Scalar:
        if (per_group := self.nest.op.per_group) == 1:
            return value
        return self.nest.b.shuffle(value, value, [lane - lane % per_group + self.number for lane in range(self.lanes)])

    @property
    def lanes(self) -> int:
        """Of a block."""
        return shape_of(self.nest.op.x)[-1]

    def initial(self, part: Part) -> list[Scalar]:
        if self.nest.op.bias is None:
            return [self.nest.b.splat(0, part.tile, element_type_of(self.nest.op.result))]
        return [self.nest.b.splat(self.nest.reads[2](self.nest.op.bias_index(part.index)), part.tile)]

    def step(self, part: Part, taps: list[Scalar], value: Scalar, carried: list[Scalar]) -> list[Scalar]:
        index = self.nest.op.weight_index(part.index[1], taps, part.index[-1], self.nest.b.index(self.number))
        return [self.nest.b.fma(value, self.nest.reads[1](index), carried[0])]

    def finish(self, part: Part, carried: list[Scalar]) -> None:
        self.nest.writes[0](part.index, carried[0])


class LanesConvStrategy(conv_strategy.ConvolutionStrategy[ConvOp]):
    """Lowers to `graph.blocked_depthwise_conv` where each channel is a group, else to `graph.blocked_lanes_conv`."""

    SCHEDULES = (WindowSchedule,)

    def schedule(self, op: ConvOp, machine: Machine) -> Schedule | None:
        kind = element_type_of(op.x)
        lanes = lanes_of_products(machine, kind)
        return window_schedule(machine, kind, lanes) if conv_strategy.is_within_blocks(op, lanes) else None

    def lower(self, op: ConvOp, layouts: Layouts, schedule: WindowSchedule) -> Blocked | None:
        return _depthwise(op, layouts, schedule) if op.is_depthwise else _groups(op, layouts, schedule)


def _groups(op: ConvOp, layouts: Layouts, schedule: WindowSchedule) -> Blocked:
    dense = Channels.of([shape_of(op.x)[1]], schedule.lanes)  # so that no group is in two blocks
    axes = range(len(shape_of(op.weight)))
    inputs_first = layouts.add(TransposeOp.get(op.weight, permutation=[1, 0, *axes[2:]]))
    conv = BlockedLanesConvOp.get(
        layouts.pack(op.x, dense),
        layouts.pack(inputs_first, dense),
        conv_strategy.packed_bias(op, layouts, dense),
        **conv_strategy.window_properties(op),
    )
    return Blocked(layouts.scheduled(conv, schedule), dense)


def _depthwise(op: ConvOp, layouts: Layouts, schedule: WindowSchedule) -> Blocked:
    x = layouts.blocked(op.x, schedule.lanes)
    weight, bias = _packed_kernels(op, layouts, x.channels), conv_strategy.packed_bias(op, layouts, x.channels)
    conv = BlockedDepthwiseConvOp.get(x.value, weight, bias, **conv_strategy.window_properties(op))
    return Blocked(layouts.scheduled(conv, schedule), x.channels)


def _packed_kernels(op: ConvOp, layouts: Layouts, channels: Channels) -> SSAValue:
    """The weight of a depthwise convolution, with the kernels of the channels of each block in its lanes."""
    count, _, *kernel = shape_of(op.weight)
    packed = layouts.pack(layouts.add(ReshapeOp.get(op.weight, shape=[1, count, *kernel])), channels)
    return layouts.add(ReshapeOp.get(packed, shape=shape_of(packed)[1:]))


Sums = TypeVar("Sums", bound=DepthwiseSumsOp)


class DotDepthwiseStrategy(conv_strategy.ConvolutionStrategy[ConvOp]):
    """Lowers to `graph.blocked_dot_depthwise_conv`, or `graph.blocked_pair_depthwise_conv`."""

    SCHEDULES = (WindowSchedule,)
    SUMS_INTEGERS = True

    def schedule(self, op: ConvOp, machine: Machine) -> Schedule | None:
        if not (dot_conv_strategy.sums_bytes(op) and dot_conv_strategy.sums_neighbours(op, machine)):
            return None
        return window_schedule(machine, i32, lanes_of_products(machine, i32))

    def lower(self, op: ConvOp, layouts: Layouts, schedule: WindowSchedule) -> Blocked | None:
        x = layouts.blocked(op.x, schedule.lanes)
        weight = _packed_kernels(op, layouts, x.channels)
        start, window = dot_conv_strategy.starting_sums(op, layouts, x.channels), conv_strategy.window_properties(op)
        conv: DepthwiseSumsOp
        if layouts.machine is not None and dot_conv_strategy.is_paired(op, layouts.machine):
            conv = BlockedPairDepthwiseConvOp.get(x.value, weight, start, **window)
        else:
            rows = layouts.packed(weight, row_groups(len(shape_of(weight))))
            conv = BlockedDotDepthwiseConvOp.get(x.value, rows, start, **window, taps_across=op.kernel()[-1])
        return Blocked(layouts.scheduled(conv, schedule), x.channels)


class _SumsStrategy(KernelStrategy[Sums]):
    """A vector register of sums of integers for each position."""

    SCHEDULES = (WindowSchedule,)
    PROLOGUES = (Prologue.STORED,)

    def schedule(self, op: Sums, machine: Machine) -> WindowSchedule | None:
        return window_schedule(machine, i32, shape_of(op.x)[-1])


class BlockedDotDepthwiseStrategy(_SumsStrategy[BlockedDotDepthwiseConvOp]):
    """`graph.blocked_dot_depthwise_conv`."""

    NEST = DotDepthwiseNest


class BlockedPairDepthwiseStrategy(_SumsStrategy[BlockedPairDepthwiseConvOp]):
    """`graph.blocked_pair_depthwise_conv`."""

    NEST = PairDepthwiseNest


STRATEGIES: Strategies = {
    ConvOp: (LanesConvStrategy(), DotDepthwiseStrategy()),
    LanesConvolutionOp: (DepthwiseStrategy(),),
    BlockedDotDepthwiseConvOp: (BlockedDotDepthwiseStrategy(),),
    BlockedPairDepthwiseConvOp: (BlockedPairDepthwiseStrategy(),),
}
