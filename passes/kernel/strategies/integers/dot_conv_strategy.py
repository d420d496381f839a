"""Convolution of 8-bit integers in the NCHWc layout: dot products of four neighbouring input channels at a time.

The loop nest is that of direct convolution, on register tiles of MR positions times NR vectors of output channels.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from xdsl.dialects.builtin import i8, i32
from xdsl.ir import SSAValue

from aotc.dialects.graph.convolution import ConvOp
from aotc.dialects.graph.interfaces import element_type_of, shape_of
from aotc.dialects.graph.movement import ReshapeOp, TransposeOp
from aotc.dialects.graph.packed.channels import Channels
from aotc.dialects.graph.packed.convolution.blocked_conv import weight_panels
from aotc.dialects.graph.packed.integers.dot_products import (
    GROUP,
    BlockedDotConvOp,
    UnfoldTapsOp,
    ZeroPointBiasOp,
)
from aotc.dialects.graph.quantized.bytes import UI8
from aotc.dialects.graph.schedules import MatmulSchedule, Schedule
from aotc.dialects.graph.shapes import ceil_div
from aotc.machines.machine import Machine
from aotc.passes.kernel.builders.tiles import NotVectorizable
from aotc.passes.kernel.costs.conv_cost import conv_cycles, conv_schedule
from aotc.passes.kernel.costs.dot_cost import dot_machine
from aotc.passes.kernel.layouts import Blocked, Layouts, block_depth
from aotc.passes.kernel.nest import Nest
from aotc.passes.kernel.nests.convolution.conv_nest import ConvNest
from aotc.passes.kernel.nests.products.matmul_nest import Products
from aotc.passes.kernel.strategies.convolution.conv_strategy import (
    ConvolutionStrategy,
    positions_of,
    result_channels,
    taps_of,
    window_properties,
)
from aotc.passes.kernel.strategies.integers.depthwise_taps import sums_neighbours
from aotc.passes.kernel.strategy import KernelStrategy, Prologue

Window: TypeAlias = "tuple[SSAValue, Sequence[int], Mapping[str, object]]"
"""Of a convolution: the weight, the spatial extents of x, and the properties of the window."""


def sums_bytes(op: ConvOp) -> bool:
    """Whether products are of 8-bit integers and constant weights with sign and without zero point."""
    kinds = element_type_of(op.x), element_type_of(op.weight)
    return (
        op.sums_integers
        and kinds in ((i8, i8), (UI8, i8))
        and op.zero_points[1] == 0
        and Layouts.is_constant(op.weight)
        and (op.bias is None or Layouts.is_constant(op.bias))
    )


def starting_sums(
    op: ConvOp, layouts: Layouts, channels: Channels, window: Window | None = None, complement: bool = False
) -> SSAValue:
    """First addends of sums, by the taps that a position sees, with an element for each lane; of `op` as it is, or as
    `window` says; with `complement`, of sums of complements, too."""
    weight, extents, properties = window or (op.weight, op.spatial(), window_properties(op))
    table = layouts.add(
        ZeroPointBiasOp.get(
            weight, op.bias, zero_point=op.zero_points[0], extents=extents, complement=complement, **properties
        )
    )
    *cases, outputs = shape_of(table)
    rows = layouts.add(ReshapeOp.get(table, shape=[math.prod(cases), outputs]))
    packed = layouts.pack(rows, channels)
    return layouts.add(ReshapeOp.get(packed, shape=[*cases, math.prod(shape_of(packed)[1:])]))


def complements(x: SSAValue, layouts: Layouts) -> bool:
    """Whether x is multiplied with magnitudes of weights, its complement with those of negative ones."""
    machine = layouts.machine
    return machine is not None and machine.dot.complements and element_type_of(x) == i8


def is_unfolded(op: ConvOp) -> bool:
    """Whether the taps of a window along the last axis are better unfolded to channels, of which groups of four are
    multiplied at once: there are fewer channels, and a quarter of the work or more is saved."""
    channels, size = shape_of(op.x)[1], op.kernel()[-1]
    few = op.groups == 1 and channels < GROUP and op.ints("dilations")[-1] == 1
    return few and GROUP * ceil_div(channels * size, GROUP) <= (GROUP - 1) * size


def unfolded(op: ConvOp, layouts: Layouts) -> tuple[Blocked, Window]:
    """The operand of `op` with unfolded taps, and the convolution that remains."""
    *outer, last = op.windows()
    outputs, channels, *taps = shape_of(op.weight)
    properties = {"size": last.size, "stride": last.stride, "before": last.before, "after": last.after}
    x = layouts.add(UnfoldTapsOp.get(op.x, **properties, fill=op.zero_points[0]))
    order = [0, 1, len(taps) + 1, *range(2, len(taps) + 1)]
    columns = layouts.add(TransposeOp.get(op.weight, permutation=order))
    weight = layouts.add(ReshapeOp.get(columns, shape=[outputs, channels * last.size, *taps[:-1], 1]))
    window = {
        "strides": [*(each.stride for each in outer), 1],
        "pads": [*(each.before for each in outer), 0, *(each.after for each in outer), 0],
        "dilations": [*(each.dilation for each in outer), 1],
    }
    lanes = Channels.of([channels * last.size], shape_of(x)[-1])
    return Blocked(x, lanes), (weight, [*op.spatial()[:-1], last.positions], window)


def operand_of(op: ConvOp, layouts: Layouts, lanes: int) -> tuple[Blocked, Window]:
    """The operand of `op` in blocks, with unfolded taps where these are better, and the convolution that remains."""
    if is_unfolded(op):
        return unfolded(op, layouts)
    window: Window = op.weight, op.spatial(), window_properties(op)
    computed, channels = layouts.computed(op.x), shape_of(op.x)[1]
    if computed is not None and (op.groups == 1 or not computed.channels.has_padding):
        return computed, window
    few = ceil_div(channels, GROUP) * GROUP  # as many groups of four as there are
    dense = Channels.of([channels], few if op.groups == 1 and few < lanes else lanes)
    return Blocked(layouts.pack(op.x, dense), dense), window


class DotConvStrategy(ConvolutionStrategy[ConvOp]):
    """Lowers to `graph.blocked_dot_conv`."""

    SCHEDULES = (MatmulSchedule,)
    SUMS_INTEGERS = True

    def schedule(self, op: ConvOp, machine: Machine) -> Schedule | None:
        if not sums_bytes(op) or sums_neighbours(op, machine):
            return None
        operand, channels = ceil_div(math.prod(shape_of(op.x)), GROUP), self._steps(op)
        outputs, positions, taps = shape_of(op.result)[1], positions_of(op), self._taps(op)
        return conv_schedule(dot_machine(machine), i32, operand, positions, outputs, channels, taps, op.groups)

    def cost(self, op: ConvOp, schedule: MatmulSchedule, machine: Machine) -> float:
        images, outputs = shape_of(op.x)[0], shape_of(op.result)[1]
        return images * conv_cycles(
            dot_machine(machine), schedule, positions_of(op), outputs, self._steps(op), self._taps(op), op.groups
        )

    @staticmethod
    def _steps(op: ConvOp) -> int:
        """Groups of channels; of several groups of the convolution, channels."""
        channels = shape_of(op.x)[1]
        if is_unfolded(op):
            return ceil_div(channels * op.kernel()[-1], GROUP)
        return ceil_div(channels, GROUP) if op.groups == 1 else channels

    @staticmethod
    def _taps(op: ConvOp) -> Sequence[int]:
        return [*op.kernel()[:-1], 1] if is_unfolded(op) else taps_of(op)

    def lower(self, op: ConvOp, layouts: Layouts, schedule: MatmulSchedule) -> Blocked | None:
        lanes = schedule.lanes
        x, window = operand_of(op, layouts, lanes)
        channels = x.channels.count
        results = result_channels(op, layouts, lanes)
        width, channels_read = schedule.nr * lanes, x.channels
        inputs, outputs = channels // op.groups, results.count // op.groups
        depth = block_depth(op.groups, inputs, outputs, width, channels_read.lanes)
        weight = layouts.spread(layouts.spread(window[0], 1, channels_read), 0, results)
        panels = weight_panels(len(shape_of(weight)), width, depth, op.groups)
        complement = complements(op.x, layouts)
        conv = BlockedDotConvOp.get(
            x.value,
            layouts.packed(weight, panels.interleaved(GROUP)),
            starting_sums(op, layouts, results, window, complement),
            **window[2],
            complement=complement,
            group=op.group,
            channels=channels,
            parts=channels_read.parts if channels_read.has_padding else None,
            outputs=results.slots,
            block=lanes,
        )
        return Blocked(layouts.scheduled(conv, schedule), results)


class BlockedDotConvStrategy(KernelStrategy[BlockedDotConvOp]):
    """`graph.blocked_dot_conv`."""

    SCHEDULES = (MatmulSchedule,)
    PROLOGUES = (Prologue.STORED,)

    def schedule(self, op: BlockedDotConvOp, machine: Machine) -> Schedule | None:
        operand = ceil_div(math.prod(shape_of(op.x)), GROUP)
        outputs, channels, groups = op.outputs, op.channels, op.group
        steps = ceil_div(channels, GROUP) if groups == 1 else channels
        return conv_schedule(dot_machine(machine), i32, operand, positions_of(op), outputs, steps, op.kernel(), groups)

    def nest(self, nest: Nest[BlockedDotConvOp, MatmulSchedule]) -> None:
        op, lanes = nest.op, nest.op.block
        if nest.lanes != lanes or nest.schedule.nr * lanes != op.width:
            raise NotVectorizable("the blocks and panels do not fit the schedule")
        products = Products(GROUP, narrow_pairs=op.narrow, complement=op.complement)
        ConvNest.of(nest, dtype=i8, products=products, edges=op.edges()).emit()
