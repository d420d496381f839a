"""Convolution to few output channels: inner products along the lanes, which hold input channels."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import ClassVar

from xdsl.ir import SSAValue

from aotc.dialects.builder import Reader, Writer
from aotc.dialects.graph.convolution import ConvolutionOp, ConvTransposeOp
from aotc.dialects.graph.interfaces import element_type_of, shape_of
from aotc.dialects.graph.packed.channels import Channels
from aotc.dialects.graph.packed.narrow import NarrowConvolutionOp, NarrowConvOp, NarrowConvTransposeOp
from aotc.dialects.graph.schedules import InnerProductSchedule, Schedule, schedule_of
from aotc.machines.machine import Machine
from aotc.passes.kernel.builders.tile_builder import TileBuilder
from aotc.passes.kernel.costs.conv import narrow_cycles, narrow_schedule
from aotc.passes.kernel.costs.lanes import lanes_of_products
from aotc.passes.kernel.layouts import Layouts
from aotc.passes.kernel.nests.narrow_conv import narrow_nest
from aotc.passes.kernel.strategies.conv import ConvolutionStrategy, taps_of, weight_by_outputs, window_properties
from aotc.passes.kernel.strategy import KernelStrategy, Prologue


class NarrowConvStrategy(ConvolutionStrategy[ConvolutionOp]):
    """Lowers to `graph.narrow_conv` or `graph.narrow_conv_transpose`, where output channels would leave most lanes
    empty."""

    SCHEDULES: ClassVar[tuple[type[Schedule], ...]] = (InnerProductSchedule,)

    def schedule(self, op: ConvolutionOp, machine: Machine) -> Schedule | None:
        channels, outputs = shape_of(op.x)[1], shape_of(op.result)[1]
        return narrow_schedule(machine, element_type_of(op.x), channels, outputs, math.prod(taps_of(op)), op.groups)

    def cost(self, op: ConvolutionOp, schedule: InnerProductSchedule, machine: Machine) -> float:
        images, outputs, *positions = shape_of(op.result)
        channels, taps = shape_of(op.x)[1], math.prod(taps_of(op))
        return images * math.prod(positions) * narrow_cycles(machine, schedule.lanes, channels, outputs, taps)

    def candidates(self, op: ConvolutionOp, schedule: InnerProductSchedule, machine: Machine) -> Iterator[Schedule]:
        """Fewer positions: half as many, repeatedly."""
        counts = (schedule.lanes >> halvings for halvings in range(schedule.lanes.bit_length()))
        return (replace(schedule, positions=count) for count in counts if count != schedule.positions)

    def lay_out(self, op: ConvolutionOp, layouts: Layouts) -> SSAValue | None:
        schedule = schedule_of(op)
        if not isinstance(schedule, InnerProductSchedule):
            return None
        weight = weight_by_outputs(op, layouts)
        dense = Channels.of([shape_of(op.x)[1]], schedule.lanes)
        narrow = NarrowConvTransposeOp if isinstance(op, ConvTransposeOp) else NarrowConvOp
        operands = layouts.pack(op.x, dense), layouts.pack(weight, dense), op.bias
        return layouts.scheduled(narrow.get(*operands, **window_properties(op)), schedule)


class NarrowConvolutionStrategy(KernelStrategy[NarrowConvolutionOp]):
    """`graph.narrow_conv` and `graph.narrow_conv_transpose`."""

    SCHEDULES: ClassVar[tuple[type[Schedule], ...]] = (InnerProductSchedule,)

    def schedule(self, op: NarrowConvolutionOp, machine: Machine) -> Schedule | None:
        lanes = shape_of(op.x)[-1]
        fits = lanes == lanes_of_products(machine, element_type_of(op.x))
        return InnerProductSchedule(lanes, lanes) if fits else None

    def prologue(self, op: NarrowConvolutionOp, operand: int) -> Prologue:
        return Prologue.STORED

    def nest(
        self,
        op: NarrowConvolutionOp,
        b: TileBuilder,
        reads: Sequence[Reader],
        writes: Sequence[Writer],
        schedule: InnerProductSchedule,
    ) -> None:
        narrow_nest(op, b, reads, writes, schedule)
