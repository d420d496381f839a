"""Convolution of 8-bit integers in the NCHWc layout: dot products of four neighbouring input channels at a time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, DenseIntOrFPElementsAttr, IntegerType, TensorType, i8, i32
from xdsl.ir import SSAValue

from aotc.dialects.builder import Scalar
from aotc.dialects.graph.convolution import ConvOp
from aotc.dialects.graph.interfaces import Array, element_type_of, shape_of
from aotc.dialects.graph.movement import PadOp, ReshapeOp, TransposeOp
from aotc.dialects.graph.packed.channels import Channels
from aotc.dialects.graph.packed.convolution.blocked_conv import weight_panels
from aotc.dialects.graph.packed.integers.dot_products import GROUP, BlockedDotConvOp, UnfoldTapsOp, ZeroPointBiasOp
from aotc.dialects.graph.packed.integers.paired_steps import PairedDotConvOp, PairStepsOp
from aotc.dialects.graph.quantized.bytes import UI8
from aotc.dialects.graph.schedules import ElementwiseSchedule, MatmulSchedule, PairedSchedule, Schedule
from aotc.dialects.graph.shapes import ceil_div
from aotc.dialects.graph.structure import ConstantOp
from aotc.dialects.graph.windows.sliding import Edges
from aotc.machines.machine import Machine
from aotc.mathematics.step_pairing import pair_steps
from aotc.passes.kernel.builders.tiles import NotVectorizable, Tile
from aotc.passes.kernel.costs.conv_cost import conv_cycles, conv_schedule, copy_cycles
from aotc.passes.kernel.costs.dot_cost import (
    PanelSteps,
    depthwise_cycles,
    depthwise_pair_cycles,
    dot_machine,
    paired_cycles,
    paired_schedule,
)
from aotc.passes.kernel.layouts import Blocked, Layouts, block_depth
from aotc.passes.kernel.nest import Nest
from aotc.passes.kernel.nests.convolution.conv_nest import ConvNest, PairedDotNest
from aotc.passes.kernel.nests.convolution.window_nest import MOST_UNROLLED
from aotc.passes.kernel.nests.products.matmul_nest import Products
from aotc.passes.kernel.strategies.conv_strategy import (
    ConvolutionStrategy,
    positions_of,
    result_channels,
    taps_of,
    window_properties,
)
from aotc.passes.kernel.strategy import Choice, KernelStrategy, Prologue, Strategies


def has_neighbouring_taps(op: ConvOp) -> bool:
    """Whether `op` is depthwise and its taps along the last axis see neighbouring elements."""
    return op.is_depthwise and op.ints("dilations")[-1] == 1


def sums_neighbours(op: ConvOp, machine: Machine) -> bool:
    """Whether `op` is computed in this way, or by pairs."""
    return has_neighbouring_taps(op) or is_paired(op, machine)


def is_paired(op: ConvOp, machine: Machine) -> bool:
    """Whether taps in the same column of two rows are better multiplied at once than neighbouring ones of a row, if
    `machine` multiplies pairs of 16 bits, and the taps of a row are few enough to be written one by one."""
    cycles = depthwise_pair_cycles(machine, op.kernel())
    if cycles is None or not op.is_depthwise or op.kernel()[-1] > MOST_UNROLLED:
        return False
    return not has_neighbouring_taps(op) or cycles < depthwise_cycles(machine, op.kernel(), GROUP)


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


def is_unfolded(op: ConvOp) -> bool:
    """Whether the taps of a window along the last axis are better unfolded to channels, of which groups of four are
    multiplied at once: of fewer channels than that, where a quarter of the work or more is saved."""
    channels, size = shape_of(op.x)[1], op.kernel()[-1]
    saves = GROUP * ceil_div(channels * size, GROUP) <= (GROUP - 1) * size
    return saves and op.groups == 1 and op.ints("dilations")[-1] == 1


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
    if computed is not None and op.groups == 1:
        return computed, window
    few = min(ceil_div(channels, GROUP) * GROUP, lanes)  # as many groups of four as there are
    dense = Channels.of([channels], few if op.groups == 1 else lanes)
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
        complement = layouts.complements(op.x)
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


_MOST_SAMPLED = 6
"""Panels whose steps are paired to estimate how many of all are."""


def proposal(op: ConvOp, weight: Array, machine: Machine) -> Choice | None:
    """The best schedule in pairs of a convolution with this weight; None where the machine, or a strategy, has none."""
    if machine.dot.pairs is None or not sums_bytes(op) or op.groups > 1:
        return None
    lanes = machine.vector_bytes // GROUP
    positions, panels = positions_of(op), ceil_div(len(weight), lanes)
    if 0 in (*positions, *weight.shape) or min(op.ints("pads")) < 0:
        return None
    panel_steps = _panel_steps(op, weight, lanes)
    images, operand = shape_of(op.x)[0], math.prod(shape_of(op.x))
    padding = copy_cycles(machine, operand) if any(op.ints("pads")) else 0
    found: list[Choice] = []
    for unsigned in (False, True):
        steps = _paired(panel_steps, plain=unsigned)
        schedule = paired_schedule(machine, positions, panels, steps, unsigned=unsigned)
        assert schedule is not None
        cycles = images * paired_cycles(machine, schedule, positions, panels, steps) + padding
        found.append(Choice(schedule, cycles))
    return min(found, key=lambda each: each.cycles)


def _panel_steps(op: ConvOp, weight: Array, lanes: int) -> Array:
    """The steps of some panels: [panels, steps, lanes, 4]."""
    outputs, channels, *taps = weight.shape
    if is_unfolded(op):  # the taps of the last axis are channels
        weight = np.moveaxis(weight, -1, 2).reshape(outputs, channels * taps[-1], -1)
    else:
        weight = weight.reshape(outputs, channels, -1)
    panels = ceil_div(outputs, lanes)
    whole = np.zeros((panels * lanes, ceil_div(weight.shape[1], GROUP) * GROUP, weight.shape[2]), np.int8)
    whole[:outputs, : weight.shape[1]] = weight
    split = whole.reshape(panels, lanes, -1, GROUP, weight.shape[2])
    steps = split.transpose(0, 2, 4, 1, 3).reshape(panels, -1, lanes, GROUP)
    return steps[:: ceil_div(panels, _MOST_SAMPLED)]


def _paired(panels: Array, *, plain: bool) -> PanelSteps:
    pairings = pair_steps(panels, plain=plain)
    first, second = (
        sum(getattr(each, name) for each in pairings) / len(pairings) for name in ("plain", "complemented")
    )
    return PanelSteps(first, second, panels.shape[1] - 2 * (first + second))


class PairedConvStrategy(ConvolutionStrategy[ConvOp]):
    """Lowers to `graph.paired_dot_conv`. `pair-steps` proposes the schedule, since that depends on the weight.

    x is padded in memory: then all positions see all taps, and steps are paired freely across channels and taps.
    """

    SCHEDULES = (PairedSchedule,)
    SUMS_INTEGERS = True

    def lower(self, op: ConvOp, layouts: Layouts, schedule: PairedSchedule) -> Blocked | None:
        lanes, results = schedule.lanes, result_channels(op, layouts, schedule.lanes)
        x, (weight, _, properties) = operand_of(op, layouts, lanes)
        strides, pads, dilations = (_numbers(properties[name]) for name in ("strides", "pads", "dilations"))
        half = len(pads) // 2
        padded = _padded_with(x.value, pads, op.zero_points[0], layouts)
        *spatial, depth = shape_of(padded)[2:]
        spread = layouts.spread(layouts.spread(weight, 1, x.channels), 0, results)
        panels = weight_panels(len(shape_of(spread)), lanes, depth)
        whole = {"strides": strides, "pads": [0] * len(pads), "dilations": dilations}
        start = starting_sums(op, layouts, results, (weight, spatial, whole))
        pitches = [math.prod(spatial[axis:]) * depth for axis in range(half + 1)]
        taps = [pitch * dilation for pitch, dilation in zip(pitches[1:], dilations, strict=True)]
        pairs = PairStepsOp.get(
            layouts.packed(spread, panels.interleaved(GROUP)),
            layouts.add(ReshapeOp.get(start, shape=[math.prod(shape_of(start))])),
            pitches=[pitches[0], *taps, GROUP],
            unsigned=element_type_of(padded) == UI8,
        )
        layouts.add(pairs)
        products = shape_of(op.x)[1] * math.prod(op.kernel())
        conv = PairedDotConvOp.get(padded, *pairs.results, strides=strides, extents=op.extents(), products=products)
        return Blocked(layouts.scheduled(conv, schedule), results)


def _numbers(value: object) -> list[int]:
    """Of a property of a window."""
    return list(value.get_values()) if isinstance(value, DenseArrayBase) else list(cast("Sequence[int]", value))


def _padded_with(x: SSAValue, pads: Sequence[int], fill: int, layouts: Layouts) -> SSAValue:
    """x [N, blocks, spatial.., lanes] with `fill` around its spatial axes."""
    if not any(pads):
        return x
    half = len(pads) // 2
    kind = cast(IntegerType, element_type_of(x))
    value = layouts.add(ConstantOp(DenseIntOrFPElementsAttr.from_list(TensorType(kind, []), [fill])))
    return layouts.add(PadOp.get(x, value, pads=[0, 0, *pads[:half], 0, 0, 0, *pads[half:], 0], mode="constant"))


class PairedDotConvStrategy(KernelStrategy[PairedDotConvOp]):
    """`graph.paired_dot_conv`."""

    SCHEDULES = (PairedSchedule,)
    PROLOGUES = (Prologue.STORED,)
    NEST = PairedDotNest


class UnfoldTapsStrategy(KernelStrategy[UnfoldTapsOp]):
    """Where no tap is outside, those that see neighbouring elements are moved as registers of fewer and fewer lanes."""

    SCHEDULES = (ElementwiseSchedule,)
    PROLOGUES = (Prologue.MOVED,)

    def schedule(self, op: UnfoldTapsOp, machine: Machine) -> ElementwiseSchedule:
        return ElementwiseSchedule(min(_power_of_two(op.size), machine.vector_bytes), 1)

    def nest(self, nest: Nest[UnfoldTapsOp, ElementwiseSchedule]) -> None:
        op, b, window, edges = nest.op, nest.b, nest.op.window(), Edges.of(nest.op.window())
        tiles, first = dict[int, Tile](), 0
        while first < op.size:
            tiles[first] = Tile((min(nest.lanes, _power_of_two(op.size - first)),))
            first += tiles[first].shape[0]

        def whole(index: Sequence[Scalar]) -> None:
            batch, _, *rows, position = index
            for channel in range(shape_of(op.x)[1]):
                for tap, tile in tiles.items():
                    at = tile.index(b, window.source(position, b.index(tap)), {0: 1})
                    lane = tile.index(b, channel * op.size + tap, {0: 1})
                    nest.write([*index, lane], nest.reads[0]([batch, b.index(channel), *rows, at]))
            op.write_padding(b, nest.write, index)

        def cut(index: Sequence[Scalar]) -> None:
            op.unfold(b, nest.reads[0], nest.write, index)

        def row(index: Sequence[Scalar]) -> None:
            b.parallel_range(0, edges.begin, 1, lambda at: cut([*index, at]))
            b.parallel_range(edges.begin, edges.end, 1, lambda at: whole([*index, at]))
            b.parallel_range(edges.end, edges.positions, 1, lambda at: cut([*index, at]))

        b.parallel_for(nest.shape[:-2], row)


def _power_of_two(number: int) -> int:
    """The greatest one that is not above a number."""
    return 1 << (number.bit_length() - 1)


STRATEGIES: Strategies = {
    UnfoldTapsOp: (UnfoldTapsStrategy(),),
    ConvOp: (DotConvStrategy(), PairedConvStrategy()),
    BlockedDotConvOp: (BlockedDotConvStrategy(),),
    PairedDotConvOp: (PairedDotConvStrategy(),),
}
