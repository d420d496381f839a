"""Convolution and transposed convolution.

Every result element accumulates in a register, in index order, in the compute type of its elements (f16 and bf16 in
f32; integers wrap).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import I64, DenseArrayBase, IntegerAttr, TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, prop_def, result_def

from aotc.dialects.graph.blocked import (
    BlockedConvolutionOp,
    BlockedConvOp,
    BlockedConvTransposeOp,
    PackConvWeightOp,
    conv_schedule,
)
from aotc.dialects.graph.blocked_window import BlockedDepthwiseConvOp, PackDepthwiseWeightOp
from aotc.dialects.graph.interfaces import (
    AnchorOp,
    ShapeError,
    common_element_type,
    element_type_of,
    shape_of,
)
from aotc.dialects.graph.loops import LoopBuilder, Reader, Scalar, Writer
from aotc.dialects.graph.movement import ReshapeOp, TransposeOp
from aotc.dialects.graph.narrow import (
    NarrowConvolutionOp,
    NarrowConvOp,
    NarrowConvTransposeOp,
    narrow_cycles,
    narrow_schedule,
)
from aotc.dialects.graph.schedule import Machine, Schedule, ScheduleAttr, schedule_of
from aotc.dialects.graph.sliding import SlidingWindow, sliding_windows
from aotc.dialects.graph.structure import ConstantOp
from aotc.dialects.graph.transposed import TransposedWindow, transposed_windows
from aotc.dialects.graph.window_tiles import window_schedule
from aotc.dialects.graph.winograd import WinogradConvOp, WinogradWeightOp
from aotc.dialects.graph.winograd_choice import (
    ConvolutionSizes,
    WinogradAttr,
    choose_winograd,
    winograd_choices,
    winograd_cycles,
    winograd_schedule,
)
from aotc.dialects.graph.winograd_transforms import TAPS

if TYPE_CHECKING:
    from aotc.dialects.graph.layouts import Layouts


class ConvolutionOp(AnchorOp, ABC):
    """x [N, C, spatial...], a weight, and optionally a bias [M] that the sum starts with."""

    x = operand_def(TensorType)
    weight = operand_def(TensorType)
    bias = opt_operand_def(TensorType)
    strides = prop_def(DenseArrayBase)
    pads = prop_def(DenseArrayBase)
    """All begins, then all ends."""
    dilations = prop_def(DenseArrayBase)
    group = prop_def(IntegerAttr[I64])
    result = result_def(TensorType)

    @property
    def groups(self) -> int:
        """The number of groups of channels that do not see each other."""
        return self.group.value.data

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
        if self.bias is not None and shape_of(self.bias) != (shape[1],):
            raise ShapeError(f"the bias of {shape[1]} channels has shape {list(shape_of(self.bias))}")
        return [TensorType(common_element_type(*self.operands), shape)]

    def _schedule_on(self, machine: Machine, extents: Sequence[int], taps: Sequence[int]) -> Schedule | None:
        """The schedule where `taps` meet at each of `extents` positions; one number of registers is
        that of the narrow form."""
        kind, channels, outputs = element_type_of(self.x), shape_of(self.x)[1], shape_of(self.result)[1]
        narrow = narrow_schedule(machine, kind, channels, outputs, math.prod(taps), self.groups)
        return narrow or conv_schedule(machine, kind, extents, outputs, channels, taps, self.groups)

    def _lay_out_as(
        self,
        layouts: Layouts,
        schedule: Schedule,
        weight: SSAValue,
        blocked: type[BlockedConvolutionOp],
        narrow: type[NarrowConvolutionOp],
        **properties: object,
    ) -> SSAValue:
        """The operation as `blocked` or `narrow`, on `weight` [M, C / group, kernel...]; the former reads few channels
        where they lie."""
        lanes, channels, outputs = schedule.lanes, shape_of(self.x)[1], shape_of(weight)[0]
        window = {"strides": self.strides, "pads": self.pads, "dilations": self.dilations, **properties}
        if len(schedule.tile) == 1:
            conv = narrow.get(layouts.pack(self.x, lanes), layouts.pack(weight, lanes), self.bias, **window)
            conv.attributes[ScheduleAttr.KEY] = ScheduleAttr.of(schedule)
            return layouts.add(conv)
        x = layouts.computed(self.x)
        if x is None:
            x = self.x if channels < lanes and self.groups == 1 else layouts.pack(self.x, lanes)
        width, held = schedule.tile[1] * lanes, shape_of(x)[-1] if x is not self.x else channels
        conv = blocked.get(
            x,
            layouts.add(PackConvWeightOp.get(weight, width=width, depth=held, group=self.groups)),
            None if self.bias is None else layouts.pack_vector(self.bias, lanes),
            **window,
            group=self.group,
            channels=channels,
            outputs=outputs,
            block=lanes,
        )
        conv.attributes[ScheduleAttr.KEY] = ScheduleAttr.of(schedule)
        return layouts.add(conv)

    def _initial(self, b: LoopBuilder, reads: Sequence[Reader], channel: Scalar) -> Scalar:
        return b.const(0, element_type_of(self.result)) if self.bias is None else reads[2]([channel])


@irdl_op_definition
class ConvOp(ConvolutionOp):
    """Convolution (a cross-correlation); the weight is [M, C / group, kernel...]."""

    name = "graph.conv"

    def windows(self) -> list[SlidingWindow]:
        """The window along each spatial axis; raises ShapeError."""
        return sliding_windows(
            shape_of(self.x)[2:],
            shape_of(self.weight)[2:],
            self.ints("strides"),
            self.ints("pads"),
            self.ints("dilations"),
        )

    def output_shape(self) -> tuple[int, ...]:
        x, weight = shape_of(self.x), shape_of(self.weight)
        if x[1] != weight[1] * self.groups:
            raise ShapeError(f"{x[1]} channels, but the weight takes {weight[1]} in each of {self.groups} group(s)")
        if weight[0] % self.groups:
            raise ShapeError(f"{weight[0]} output channels do not divide into {self.groups} groups")
        return (x[0], weight[0], *(window.positions for window in self.windows()))

    def operations(self) -> int:
        return 2 * math.prod(shape_of(self.result)) * math.prod(shape_of(self.weight)[1:])

    def loops(self, b: LoopBuilder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        out_channels, in_channels = shape_of(self.weight)[:2]
        windows = self.windows()

        def body(index: list[Scalar]) -> None:
            batch, out_channel, *position = index
            first = b.index(0)
            if self.groups > 1:
                first = out_channel / (out_channels // self.groups) * in_channels

            def step(at: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
                channel, *taps = at
                source = [w.source(p, tap) for w, p, tap in zip(windows, position, taps, strict=True)]
                x = reads[0]([batch, first + channel, *source])
                return [carried[0] + x * reads[1]([out_channel, channel, *taps])]

            bounds = [w.taps(b, p) for w, p in zip(windows, position, strict=True)]
            initial = self._initial(b, reads, out_channel)
            (total,) = b.reduce([(0, in_channels), *bounds], [initial], step)
            writes[0](index, total)

        b.for_each(shape_of(self.result), body)

    def schedule_on(self, machine: Machine) -> Schedule | None:
        """That of `graph.blocked_conv`, which `assign-layouts` makes of it; where each channel is a group, that of
        `graph.blocked_depthwise_conv`."""
        kind = element_type_of(self.x)
        if isinstance(algorithm := self.attributes.get(self.ALGORITHM), WinogradAttr):
            return winograd_schedule(machine, kind, self._sizes(), algorithm)
        if self.is_depthwise:
            return window_schedule(machine, kind, machine.lanes_of_products(kind))
        return self._schedule_on(machine, shape_of(self.result)[2:], shape_of(self.weight)[2:])

    @property
    def is_depthwise(self) -> bool:
        """Whether each channel is a group, with one output channel."""
        outputs, channels = shape_of(self.weight)[:2]
        return channels == 1 and outputs == self.groups > 1

    def lay_out(self, layouts: Layouts) -> SSAValue | None:
        """A blocked convolution; few channels are read where they lie, more are packed."""
        if (schedule := schedule_of(self)) is None:
            return None
        if self.is_depthwise:
            return self._lay_out_depthwise(layouts, schedule)
        if isinstance(algorithm := self.attributes.get(self.ALGORITHM), WinogradAttr):
            return self._lay_out_winograd(layouts, schedule, algorithm)
        return self._lay_out_as(layouts, schedule, self.weight, BlockedConvOp, NarrowConvOp)

    def algorithm_on(self, machine: Machine) -> Attribute | None:
        """Winograd's minimal filtering, where that takes less time."""
        if not self._is_winograd():
            return None
        kind, sizes = element_type_of(self.x), self._sizes()
        chosen = choose_winograd(machine, kind, sizes)
        if chosen and narrow_schedule(machine, kind, sizes.channels, sizes.outputs, TAPS**2, self.groups):
            cycles = narrow_cycles(machine.lanes(kind), sizes.channels, sizes.outputs, TAPS**2)
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

    def _lay_out_winograd(self, layouts: Layouts, schedule: Schedule, algorithm: WinogradAttr) -> SSAValue:
        output_tile, width = algorithm.output_tile.data, schedule.tile[1] * schedule.lanes
        conv = WinogradConvOp.get(
            layouts.pack(self.x, schedule.lanes),
            layouts.add(WinogradWeightOp.get(self.weight, output_tile=output_tile, width=width)),
            None if self.bias is None else layouts.pack_vector(self.bias, schedule.lanes),
            pads=self.pads,
            channels=shape_of(self.x)[1],
            outputs=shape_of(self.weight)[0],
            output_tile=output_tile,
            tile_rows=algorithm.tile_rows.data,
        )
        conv.attributes[ScheduleAttr.KEY] = ScheduleAttr.of(schedule)
        return layouts.add(conv)

    def _lay_out_depthwise(self, layouts: Layouts, schedule: Schedule) -> SSAValue:
        conv = BlockedDepthwiseConvOp.get(
            layouts.pack(self.x, schedule.lanes),
            layouts.add(PackDepthwiseWeightOp.get(self.weight, block=schedule.lanes)),
            None if self.bias is None else layouts.pack_vector(self.bias, schedule.lanes),
            strides=self.strides,
            pads=self.pads,
            dilations=self.dilations,
        )
        conv.attributes[ScheduleAttr.KEY] = ScheduleAttr.of(schedule)
        return layouts.add(conv)


@irdl_op_definition
class ConvTransposeOp(ConvolutionOp):
    """Transposed convolution: element h meets tap k at result h * stride + k * dilation - before.

    The weight is [C, M / group, kernel...]; the result has `output_padding` more elements at the end of each axis.
    """

    name = "graph.conv_transpose"
    output_padding = prop_def(DenseArrayBase)

    def windows(self) -> list[TransposedWindow]:
        """The window along each spatial axis; raises ShapeError."""
        names = ("strides", "pads", "dilations", "output_padding")
        given = (self.ints(name) for name in names)
        return transposed_windows(shape_of(self.x)[2:], shape_of(self.weight)[2:], *given)

    def output_shape(self) -> tuple[int, ...]:
        x, weight = shape_of(self.x), shape_of(self.weight)
        if x[1] != weight[0]:
            raise ShapeError(f"{x[1]} channels, but the weight takes {weight[0]}")
        if x[1] % self.groups:
            raise ShapeError(f"{x[1]} channels do not divide into {self.groups} groups")
        return (x[0], weight[1] * self.groups, *(window.positions for window in self.windows()))

    def operations(self) -> int:
        return 2 * math.prod(shape_of(self.x)) * math.prod(shape_of(self.weight)[1:])

    def loops(self, b: LoopBuilder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        weight = shape_of(self.weight)
        in_channels, out_channels = weight[0] // self.groups, weight[1]
        windows = self.windows()

        def body(index: list[Scalar]) -> None:
            batch, out_channel, *position = index
            first, channel_of_group = b.index(0), out_channel
            if self.groups > 1:
                first = out_channel / out_channels * in_channels
                channel_of_group = b.rem(out_channel, b.index(out_channels))
            meetings = [window.meeting(b, p) for window, p in zip(windows, position, strict=True)]

            def step(at: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
                channel, *steps = at
                taps = [m.tap(s) for m, s in zip(meetings, steps, strict=True)]
                source = [m.source(s) for m, s in zip(meetings, steps, strict=True)]
                x_value = reads[0]([batch, first + channel, *source])
                return [carried[0] + x_value * reads[1]([first + channel, channel_of_group, *taps])]

            initial = self._initial(b, reads, out_channel)
            (total,) = b.reduce([(0, in_channels), *((m.low, m.high) for m in meetings)], [initial], step)
            writes[0](index, total)

        b.for_each(shape_of(self.result), body)

    def schedule_on(self, machine: Machine) -> Schedule | None:
        """That of `graph.blocked_conv_transpose`, which `assign-layouts` makes of it."""
        windows = self.windows()
        taps = [-(-window.size // window.stride) for window in windows]
        longest = max((phases.window.positions for phases in windows[-1].phases()), default=0)
        return self._schedule_on(machine, [*shape_of(self.result)[2:-1], longest], taps)

    def lay_out(self, layouts: Layouts) -> SSAValue | None:
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
