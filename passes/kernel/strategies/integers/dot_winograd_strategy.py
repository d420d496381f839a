"""Winograd's minimal filtering of 8-bit integers, exact: `graph.winograd_conv` on a weight that is transformed when it
is used.

Where a dot product of four 8-bit integers takes several instructions, one of two 16-bit integers takes less than half
of them, so that 2.25 times fewer multiplications are worth the transforms.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute

from aotc.dialects.graph.convolution import ConvOp
from aotc.dialects.graph.interfaces import shape_of
from aotc.dialects.graph.packed.convolution.blocked_conv import weight_panels
from aotc.dialects.graph.packed.winograd.winograd_axes import INNER
from aotc.dialects.graph.packed.winograd.winograd_conv import PAIR, WinogradConvOp, most_sum_bits, sum_bits_of
from aotc.dialects.graph.schedules import MatmulSchedule, Schedule, WinogradAttr
from aotc.dialects.graph.shapes import ceil_div
from aotc.dialects.graph.structure import ConstantOp
from aotc.machines.machine import Machine
from aotc.mathematics.strided_transforms import STRIDE
from aotc.mathematics.winograd_transforms import TAPS
from aotc.passes.kernel.costs.dot_cost import pair_machine
from aotc.passes.kernel.costs.winograd_cost import (
    ConvolutionSizes,
    winograd_choices,
    winograd_cycles,
    winograd_schedule,
)
from aotc.passes.kernel.layouts import Blocked, Layouts
from aotc.passes.kernel.strategies.convolution.conv_strategy import ConvolutionStrategy, packed_bias, result_channels
from aotc.passes.kernel.strategies.integers.dot_conv_strategy import DotConvStrategy, sums_bytes

_DIRECT = DotConvStrategy()


class WinogradDotStrategy(ConvolutionStrategy[ConvOp]):
    """`graph.conv` of 8-bit integers, 3 x 3 taps, strides of 1 or 2, with a constant weight, where its `algorithm` says
    so."""

    SCHEDULES = (MatmulSchedule,)
    SUMS_INTEGERS = True
    ALGORITHMS = (WinogradAttr,)

    def algorithm(self, op: ConvOp, machine: Machine) -> Attribute | None:
        """Winograd's minimal filtering where that is faster."""
        pairs, direct = pair_machine(machine), _DIRECT.schedule(op, machine)
        if pairs is None or not isinstance(direct, MatmulSchedule):
            return None
        least, chosen = machine.winograd.most_time * _DIRECT.cost(op, direct, machine), None
        for each in self.algorithms(op, machine):
            if (cycles := winograd_cycles(pairs, _sizes(op), each.output_tile.data)) < least:
                least, chosen = cycles, each
        return chosen

    def algorithms(self, op: ConvOp, machine: Machine) -> Sequence[WinogradAttr]:
        pairs = pair_machine(machine)
        if pairs is None or not sums_bytes(op) or not _is_applicable(op):
            return ()
        bits = sum_bits_of(shape_of(op.x)[1]) if op.sum_bits is None else op.sum_bits
        found = winograd_choices(pairs, i32, _sizes(op))
        return [each for each in found if bits <= most_sum_bits(each.output_tile.data, op.ints("strides"))]

    def schedule(self, op: ConvOp, machine: Machine) -> Schedule | None:
        algorithm, pairs = op.attributes.get(op.ALGORITHM), pair_machine(machine)
        if not isinstance(algorithm, WinogradAttr) or pairs is None or not sums_bytes(op):
            return None
        return winograd_schedule(pairs, i32, _sizes(op), algorithm)

    def cost(self, op: ConvOp, schedule: MatmulSchedule, machine: Machine) -> float:
        algorithm = op.attributes[op.ALGORITHM]
        assert isinstance(algorithm, WinogradAttr)
        return winograd_cycles(pair_machine(machine) or machine, _sizes(op), algorithm.output_tile.data)

    def lower(self, op: ConvOp, layouts: Layouts, schedule: MatmulSchedule) -> Blocked | None:
        algorithm = op.attributes.get(op.ALGORITHM)
        if not isinstance(algorithm, WinogradAttr):
            return None
        x, results = layouts.blocked(op.x, schedule.lanes), result_channels(op, layouts, schedule.lanes)
        tile, width = algorithm.output_tile.data, schedule.nr * schedule.lanes
        weight = layouts.spread(op.weight, 0, results)
        panels = weight_panels(4, width, ceil_div(x.channels.count, PAIR) * PAIR)
        conv = WinogradConvOp.get(
            x.value,
            layouts.packed(weight, panels.interleaved(PAIR)),
            packed_bias(op, layouts, results),
            strides=None if set(op.ints("strides")) == {1} else op.strides,
            pads=op.pads,
            channels=x.channels.count,
            parts=x.channels.parts if x.channels.has_padding else None,
            outputs=results.slots,
            x_zero_point=op.zero_points[0] or None,
            sum_bits=op.sum_bits,
            output_tile=tile,
            tile_rows=algorithm.tile_rows.data,
            filters=True,
        )
        return Blocked(layouts.scheduled(conv, schedule), results)


def _is_applicable(op: ConvOp) -> bool:
    """Whether both axes of a window of 3 x 3 taps may be transformed."""
    return (
        op.groups == 1
        and isinstance(op.weight.owner, ConstantOp)
        and shape_of(op.weight)[2:] == (TAPS,) * INNER
        and set(op.ints("strides")) <= {1, STRIDE}
        and set(op.ints("dilations")) == {1}
    )


def _sizes(op: ConvOp) -> ConvolutionSizes:
    images, outputs, rows, columns = shape_of(op.result)
    down, across = op.ints("strides")
    return ConvolutionSizes(images, shape_of(op.x)[1], outputs, rows, columns, PAIR, strides=(down, across))
