"""Convolution and transposed convolution.

Every result element accumulates in a register, in index order, in the compute type of its elements (f16 and bf16 in
f32; integers wrap).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import I64, IntegerAttr, TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, prop_def

from aotc.dialects.graph.interfaces import (
    ShapeError,
    common_element_type,
    element_type_of,
    shape_of,
)
from aotc.dialects.graph.loops import LoopBuilder, Reader, Writer
from aotc.dialects.graph.movement import ReshapeOp, TransposeOp
from aotc.dialects.graph.packed.channels import Blocked, Channels, ChannelsOf
from aotc.dialects.graph.packed.conv import (
    BlockedConvolutionOp,
    BlockedConvOp,
    BlockedConvTransposeOp,
    PackConvWeightOp,
)
from aotc.dialects.graph.packed.grouped import block_depth
from aotc.dialects.graph.packed.narrow import (
    NarrowConvolutionOp,
    NarrowConvOp,
    NarrowConvTransposeOp,
)
from aotc.dialects.graph.packed.window import BlockedDepthwiseConvOp, BlockedLanesConvOp
from aotc.dialects.graph.packed.winograd import WinogradConvOp, WinogradWeightOp
from aotc.dialects.graph.packed.winograd_transforms import TAPS
from aotc.dialects.graph.scalars import Scalar
from aotc.dialects.graph.schedule import Machine, Schedule, schedule_of
from aotc.dialects.graph.shapes import ceil_div
from aotc.dialects.graph.structure import ConstantOp
from aotc.dialects.graph.windows.axes import ConvolutionalOp, SlidingAxes, TransposedAxes, check_bias
from aotc.passes.kernel.costs.conv import conv_schedule, narrow_cycles, narrow_schedule
from aotc.passes.kernel.costs.lanes import lanes_of, lanes_of_products
from aotc.passes.kernel.costs.windows import window_schedule
from aotc.passes.kernel.costs.winograd import (
    ConvolutionSizes,
    WinogradAttr,
    choose_winograd,
    winograd_choices,
    winograd_cycles,
    winograd_schedule,
)

if TYPE_CHECKING:
    from aotc.passes.kernel.layouts import Layouts


class ConvolutionOp(ConvolutionalOp, ABC):
    """x [N, C, spatial...], a weight [.., .., kernel...], and optionally a bias [M]."""

    group = prop_def(IntegerAttr[I64])

    @property
    def groups(self) -> int:
        """The number of groups of channels that do not see each other."""
        return self.group.value.data

    def spatial(self) -> tuple[int, ...]:
        return shape_of(self.x)[2:]

    def kernel(self) -> tuple[int, ...]:
        return shape_of(self.weight)[2:]

    @abstractmethod
    def output_shape(self) -> tuple[int, ...]:
        """The result's shape; raises ShapeError."""

    def infer_types(self) -> Sequence[TensorType]:
        x, weight = shape_of(self.x), shape_of(self.weight)
        if len(x) < 3 or len(weight) != len(x):
            raise ShapeError(f"operand and weight must have one rank of at least 3, found {list(x)} and {list(weight)}")
        if self.groups < 1:
            raise ShapeError(f"group must be positive, found {self.groups}")
        shape = self.output_shape()
        check_bias(self.bias, shape[1])
        return [TensorType(common_element_type(*self.operands), shape)]

    @abstractmethod
    def group_channels(self) -> tuple[int, int]:
        """How many channels of x, and of the result, a group has."""

    @abstractmethod
    def weight_place(self, b: LoopBuilder, output: Scalar, first: Scalar) -> Callable[[Scalar], list[Scalar]]:
        """Where the weight of each channel of a group, of which `first` is the first, is for the channel `output`."""

    def loops(self, b: LoopBuilder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        inputs, outputs = self.group_channels()

        def body(index: list[Scalar]) -> None:
            batch, output, *position = index
            first = b.index(0) if self.groups == 1 else output / outputs * inputs
            weight_place = self.weight_place(b, output, first)
            axes = self.taps(b, position)

            def step(at: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
                channel, *steps = at
                seen = [axis.at(k) for axis, k in zip(axes, steps, strict=True)]
                x = reads[0]([batch, first + channel, *(place for place, _ in seen)])
                return [carried[0] + x * reads[1]([*weight_place(channel), *(tap for _, tap in seen)])]

            bounds = [(0, inputs), *((axis.low, axis.high) for axis in axes)]
            writes[0](index, b.reduce(bounds, [self.initial(b, reads, [output])], step)[0])

        b.for_each(shape_of(self.result), body)

    def _schedule_on(self, machine: Machine, extents: Sequence[int], taps: Sequence[int]) -> Schedule | None:
        """The schedule where `taps` meet at each of `extents` positions; one number of registers is
        that of the narrow form."""
        kind, x, outputs = element_type_of(self.x), shape_of(self.x), shape_of(self.result)[1]
        channels, operand = x[1], math.prod(x)
        narrow = narrow_schedule(machine, kind, channels, outputs, math.prod(taps), self.groups)
        return narrow or conv_schedule(machine, kind, operand, extents, outputs, channels, taps, self.groups)

    def _lay_out_as(
        self,
        layouts: Layouts,
        schedule: Schedule,
        weight: SSAValue,
        blocked: type[BlockedConvolutionOp],
        narrow: type[NarrowConvolutionOp],
        **properties: object,
    ) -> SSAValue | Blocked:
        """The operation as `blocked` or `narrow`, on `weight` [M, C / group, kernel...]; the former reads few channels
        where they lie."""
        lanes, channels = schedule.lanes, shape_of(self.x)[1]
        window = {"strides": self.strides, "pads": self.pads, "dilations": self.dilations, **properties}
        if len(schedule.tile) == 1:
            dense = Channels.of([channels], lanes)
            conv = narrow.get(layouts.pack(self.x, dense), layouts.pack(weight, dense), self.bias, **window)
            return layouts.scheduled(conv, schedule)
        computed, dense = layouts.computed(self.x), Channels.of([channels], lanes)
        if computed is not None and (self.groups == 1 or not computed.channels.has_gaps):
            x = computed
        elif channels < lanes and self.groups == 1:
            x = Blocked(self.x, Channels.of([channels], channels))
        else:
            x = Blocked(layouts.pack(self.x, dense), dense)
        results = self._results(layouts, lanes)
        width, held, depth = schedule.tile[1] * lanes, x.channels, channels
        if x.value is not self.x:
            inputs, outputs = channels // self.groups, results.count // self.groups
            depth = block_depth(self.groups, inputs, outputs, width, held.lanes)
        weight = layouts.spread(layouts.spread(weight, 1, held), 0, results)
        conv = blocked.get(
            x.value,
            layouts.add(PackConvWeightOp.get(weight, width=width, depth=depth, group=self.groups)),
            self._packed_bias(layouts, results),
            **window,
            group=self.group,
            channels=channels,
            parts=held.parts if held.has_gaps else None,
            outputs=results.slots,
            block=lanes,
        )
        return Blocked(layouts.scheduled(conv, schedule), results)

    def _results(self, layouts: Layouts, lanes: int) -> Channels:
        """Where output channels are to be; a lane that belongs to none is computed as one whose weights are 0."""
        if self.groups > 1:
            return Channels.of([shape_of(self.result)[1]], lanes)
        return layouts.wanted(self.result, lanes)

    def _packed_bias(self, layouts: Layouts, channels: Channels) -> SSAValue | None:
        return None if self.bias is None else layouts.pack_vector(self.bias, channels)


@irdl_op_definition
class ConvOp(SlidingAxes, ConvolutionOp):
    """Convolution (a cross-correlation); the weight is [M, C / group, kernel...]."""

    name = "graph.conv"

    def output_shape(self) -> tuple[int, ...]:
        x, weight = shape_of(self.x), shape_of(self.weight)
        if x[1] != weight[1] * self.groups:
            raise ShapeError(f"{x[1]} channels, but the weight takes {weight[1]} in each of {self.groups} group(s)")
        if weight[0] % self.groups:
            raise ShapeError(f"{weight[0]} output channels do not divide into {self.groups} groups")
        return (x[0], weight[0], *self.extents())

    def operations(self) -> int:
        return 2 * math.prod(shape_of(self.result)) * math.prod(shape_of(self.weight)[1:])

    def group_channels(self) -> tuple[int, int]:
        outputs, inputs = shape_of(self.weight)[:2]
        return inputs, outputs // self.groups

    def weight_place(self, b: LoopBuilder, output: Scalar, first: Scalar) -> Callable[[Scalar], list[Scalar]]:
        return lambda channel: [output, channel]

    def schedule_on(self, machine: Machine) -> Schedule | None:
        """That of `graph.blocked_conv`, which `assign-layouts` makes of it; where each channel is a group, that of
        `graph.blocked_depthwise_conv`, and of groups of few channels that of `graph.blocked_lanes_conv`."""
        kind = element_type_of(self.x)
        if isinstance(algorithm := self.attributes.get(self.ALGORITHM), WinogradAttr):
            return winograd_schedule(machine, kind, self._sizes(), algorithm)
        lanes = lanes_of_products(machine, kind)
        if self.is_depthwise or self._groups_are_lanes(lanes):
            return window_schedule(machine, kind, lanes)
        return self._schedule_on(machine, shape_of(self.result)[2:], shape_of(self.weight)[2:])

    @property
    def is_depthwise(self) -> bool:
        """Whether each channel is a group, with one output channel."""
        outputs, channels = shape_of(self.weight)[:2]
        return channels == 1 and outputs == self.groups > 1

    def _groups_are_lanes(self, lanes: int) -> bool:
        """Whether groups have as many output as input channels, a few that divide a block of `lanes`."""
        outputs, inputs = shape_of(self.weight)[:2]
        return outputs == self.groups * inputs and 1 < inputs < lanes and lanes % inputs == 0

    def lay_out(self, layouts: Layouts) -> SSAValue | Blocked | None:
        """A blocked convolution; few channels are read where they lie, more are packed."""
        if (schedule := schedule_of(self)) is None:
            return None
        if self.is_depthwise:
            return self._lay_out_depthwise(layouts, schedule)
        if self.groups > 1 and len(schedule.tile) == 1:
            return self._lay_out_lanes(layouts, schedule)
        if isinstance(algorithm := self.attributes.get(self.ALGORITHM), WinogradAttr):
            return self._lay_out_winograd(layouts, schedule, algorithm)
        return self._lay_out_as(layouts, schedule, self.weight, BlockedConvOp, NarrowConvOp)

    def block_starts(self, channels_of: ChannelsOf) -> Iterable[int] | None:
        return None if self.is_depthwise else ()

    def algorithm_on(self, machine: Machine) -> Attribute | None:
        """Winograd's minimal filtering, where that takes less time."""
        if not self._is_winograd():
            return None
        kind, sizes = element_type_of(self.x), self._sizes()
        chosen = choose_winograd(machine, kind, sizes)
        if chosen and narrow_schedule(machine, kind, sizes.channels, sizes.outputs, TAPS**2, self.groups):
            cycles = narrow_cycles(machine, lanes_of(machine, kind), sizes.channels, sizes.outputs, TAPS**2)
            if cycles * sizes.positions < winograd_cycles(machine, sizes, chosen.output_tile.data):
                return None
        return chosen

    def algorithms_on(self, machine: Machine) -> Sequence[Attribute]:
        return winograd_choices(machine, element_type_of(self.x), self._sizes()) if self._is_winograd() else ()

    def _is_winograd(self) -> bool:
        """Whether taps and strides are those that Winograd is for; the weight must be constant."""
        taps, once = shape_of(self.weight)[2:], (1, 1)
        if taps != (TAPS, TAPS) or self.groups > 1 or self.ints("strides") != once or self.ints("dilations") != once:
            return False
        return isinstance(self.weight.owner, ConstantOp)

    def _sizes(self) -> ConvolutionSizes:
        images, outputs, rows, columns = shape_of(self.result)
        return ConvolutionSizes(images, shape_of(self.x)[1], outputs, rows, columns)

    def _lay_out_winograd(self, layouts: Layouts, schedule: Schedule, algorithm: WinogradAttr) -> Blocked:
        output_tile, width = algorithm.output_tile.data, schedule.tile[1] * schedule.lanes
        x, results = layouts.blocked(self.x, schedule.lanes), self._results(layouts, schedule.lanes)
        weight = layouts.spread(self.weight, 0, results)
        conv = WinogradConvOp.get(
            x.value,
            layouts.add(WinogradWeightOp.get(weight, output_tile=output_tile, width=width)),
            self._packed_bias(layouts, results),
            pads=self.pads,
            channels=x.channels.count,
            parts=x.channels.parts if x.channels.has_gaps else None,
            outputs=results.slots,
            output_tile=output_tile,
            tile_rows=algorithm.tile_rows.data,
        )
        return Blocked(layouts.scheduled(conv, schedule), results)

    def _lay_out_lanes(self, layouts: Layouts, schedule: Schedule) -> Blocked:
        dense = Channels.of([shape_of(self.x)[1]], schedule.lanes)  # so that no group is in two blocks
        axes = range(len(shape_of(self.weight)))
        inputs_first = layouts.add(TransposeOp.get(self.weight, permutation=[1, 0, *axes[2:]]))
        conv = BlockedLanesConvOp.get(
            layouts.pack(self.x, dense),
            layouts.pack(inputs_first, dense),
            self._packed_bias(layouts, dense),
            strides=self.strides,
            pads=self.pads,
            dilations=self.dilations,
        )
        return Blocked(layouts.scheduled(conv, schedule), dense)

    def _lay_out_depthwise(self, layouts: Layouts, schedule: Schedule) -> Blocked:
        x = layouts.blocked(self.x, schedule.lanes)
        channels, _, *kernel = shape_of(self.weight)
        plain = layouts.add(ReshapeOp.get(self.weight, shape=[1, channels, *kernel]))
        packed = layouts.pack(plain, x.channels)
        conv = BlockedDepthwiseConvOp.get(
            x.value,
            layouts.add(ReshapeOp.get(packed, shape=shape_of(packed)[1:])),
            self._packed_bias(layouts, x.channels),
            strides=self.strides,
            pads=self.pads,
            dilations=self.dilations,
        )
        return Blocked(layouts.scheduled(conv, schedule), x.channels)


@irdl_op_definition
class ConvTransposeOp(TransposedAxes, ConvolutionOp):
    """Transposed convolution: element h meets tap k at result h * stride + k * dilation - before.

    The weight is [C, M / group, kernel...]; the result has `output_padding` more elements at the end of each axis.
    """

    name = "graph.conv_transpose"

    def output_shape(self) -> tuple[int, ...]:
        x, weight = shape_of(self.x), shape_of(self.weight)
        if x[1] != weight[0]:
            raise ShapeError(f"{x[1]} channels, but the weight takes {weight[0]}")
        if x[1] % self.groups:
            raise ShapeError(f"{x[1]} channels do not divide into {self.groups} groups")
        return (x[0], weight[1] * self.groups, *self.extents())

    def operations(self) -> int:
        return 2 * math.prod(shape_of(self.x)) * math.prod(shape_of(self.weight)[1:])

    def group_channels(self) -> tuple[int, int]:
        inputs, outputs = shape_of(self.weight)[:2]
        return inputs // self.groups, outputs

    def weight_place(self, b: LoopBuilder, output: Scalar, first: Scalar) -> Callable[[Scalar], list[Scalar]]:
        within = output if self.groups == 1 else b.rem(output, b.index(self.group_channels()[1]))
        return lambda channel: [first + channel, within]

    def schedule_on(self, machine: Machine) -> Schedule | None:
        """That of `graph.blocked_conv_transpose`, which `assign-layouts` makes of it."""
        windows = self.windows()
        taps = [ceil_div(window.size, window.stride) for window in windows]
        longest = max((phases.window.positions for phases in windows[-1].phases()), default=0)
        return self._schedule_on(machine, [*shape_of(self.result)[2:-1], longest], taps)

    def lay_out(self, layouts: Layouts) -> SSAValue | Blocked | None:
        """A blocked transposed convolution, on the weight with output channels first."""
        if (schedule := schedule_of(self)) is None:
            return None
        inputs, outputs, *kernel = shape_of(self.weight)
        split = layouts.add(ReshapeOp.get(self.weight, shape=[self.groups, inputs // self.groups, outputs, *kernel]))
        turned = layouts.add(TransposeOp.get(split, permutation=[0, 2, 1, *range(3, 3 + len(kernel))]))
        shape = [self.groups * outputs, inputs // self.groups, *kernel]
        weight = layouts.add(ReshapeOp.get(turned, shape=shape))
        forms = BlockedConvTransposeOp, NarrowConvTransposeOp
        return self._lay_out_as(layouts, schedule, weight, *forms, output_padding=self.output_padding)
