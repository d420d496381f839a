"""Depthwise convolution of 8-bit integers in the NCHWc layout: dot products of four neighbouring taps, or of two."""

from __future__ import annotations

from typing import TypeVar

from xdsl.dialects.builtin import i32

from aotc.dialects.graph.convolution import ConvOp
from aotc.dialects.graph.interfaces import shape_of
from aotc.dialects.graph.movement import ReshapeOp
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
from aotc.passes.kernel.strategies.convolution.conv_strategy import ConvolutionStrategy, window_properties
from aotc.passes.kernel.strategies.integers.depthwise_taps import is_paired, sums_neighbours
from aotc.passes.kernel.strategies.integers.dot_conv_strategy import starting_sums, sums_bytes
from aotc.passes.kernel.strategy import KernelStrategy, Prologue

Sums = TypeVar("Sums", bound=DepthwiseSumsOp)


class DotDepthwiseStrategy(ConvolutionStrategy[ConvOp]):
    """Lowers to `graph.blocked_dot_depthwise_conv`, or `graph.blocked_pair_depthwise_conv`."""

    SCHEDULES = (WindowSchedule,)
    SUMS_INTEGERS = True

    def schedule(self, op: ConvOp, machine: Machine) -> Schedule | None:
        if not (sums_bytes(op) and sums_neighbours(op, machine)):
            return None
        return window_schedule(machine, i32, lanes_of_products(machine, i32))

    def lower(self, op: ConvOp, layouts: Layouts, schedule: WindowSchedule) -> Blocked | None:
        x = layouts.blocked(op.x, schedule.lanes)
        channels, _, *kernel = shape_of(op.weight)
        packed = layouts.pack(layouts.add(ReshapeOp.get(op.weight, shape=[1, channels, *kernel])), x.channels)
        weight = layouts.add(ReshapeOp.get(packed, shape=shape_of(packed)[1:]))
        start, window = starting_sums(op, layouts, x.channels), window_properties(op)
        conv: DepthwiseSumsOp
        if layouts.machine is not None and is_paired(op, layouts.machine):
            conv = BlockedPairDepthwiseConvOp.get(x.value, weight, start, **window)
        else:
            rows = layouts.packed(weight, row_groups(len(shape_of(weight))))
            conv = BlockedDotDepthwiseConvOp.get(x.value, rows, start, **window, taps_across=kernel[-1])
        return Blocked(layouts.scheduled(conv, schedule), x.channels)


class DepthwiseSumsStrategy(KernelStrategy[Sums]):
    """A vector register of sums for each position."""

    SCHEDULES = (WindowSchedule,)
    PROLOGUES = (Prologue.STORED,)

    def schedule(self, op: Sums, machine: Machine) -> WindowSchedule | None:
        return window_schedule(machine, i32, shape_of(op.x)[-1])


class BlockedDotDepthwiseStrategy(DepthwiseSumsStrategy[BlockedDotDepthwiseConvOp]):
    """`graph.blocked_dot_depthwise_conv`."""

    def nest(self, nest: Nest[BlockedDotDepthwiseConvOp, WindowSchedule]) -> None:
        DotDepthwiseNest.of(nest).emit()


class BlockedPairDepthwiseStrategy(DepthwiseSumsStrategy[BlockedPairDepthwiseConvOp]):
    """`graph.blocked_pair_depthwise_conv`."""

    def nest(self, nest: Nest[BlockedPairDepthwiseConvOp, WindowSchedule]) -> None:
        PairDepthwiseNest.of(nest).emit()
