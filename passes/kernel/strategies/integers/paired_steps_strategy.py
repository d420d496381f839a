"""Convolution of 8-bit integers with a constant weight, two steps at a time where that is exact (`paired_dot_conv`).

x is padded in memory: then all positions see all taps, and steps are paired freely across channels and taps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, DenseIntOrFPElementsAttr, IntegerType, TensorType
from xdsl.ir import SSAValue

from aotc.dialects.graph.convolution import ConvOp
from aotc.dialects.graph.interfaces import Array, element_type_of, shape_of
from aotc.dialects.graph.movement import PadOp, ReshapeOp
from aotc.dialects.graph.packed.convolution.blocked_conv import weight_panels
from aotc.dialects.graph.packed.integers.dot_products import GROUP
from aotc.dialects.graph.packed.integers.paired_steps import PairedDotConvOp, PairStepsOp
from aotc.dialects.graph.quantized.bytes import UI8
from aotc.dialects.graph.schedules import PairedSchedule
from aotc.dialects.graph.shapes import ceil_div
from aotc.dialects.graph.structure import ConstantOp
from aotc.machines.machine import Machine
from aotc.mathematics.step_pairing import pair_steps
from aotc.passes.kernel.builders.tiles import NotVectorizable
from aotc.passes.kernel.costs.conv_cost import copy_cycles
from aotc.passes.kernel.costs.paired_steps_cost import PanelSteps, paired_cycles, paired_schedule
from aotc.passes.kernel.layouts import Blocked, Layouts
from aotc.passes.kernel.nest import Nest
from aotc.passes.kernel.nests.convolution.paired_steps_nest import PairedDotNest
from aotc.passes.kernel.strategies.convolution.conv_strategy import ConvolutionStrategy, positions_of, result_channels
from aotc.passes.kernel.strategies.integers.dot_conv_strategy import is_unfolded, operand_of, starting_sums, sums_bytes
from aotc.passes.kernel.strategy import KernelStrategy, Prologue

_MOST_SAMPLED = 6
"""Panels whose steps are paired to estimate how many of all are."""


@dataclass(frozen=True)
class Proposal:
    """A schedule, and its estimated cycles."""

    schedule: PairedSchedule
    cycles: float


def proposal(op: ConvOp, weight: Array, machine: Machine) -> Proposal | None:
    """The best schedule in pairs of a convolution with this weight; None where the machine, or a strategy, has none."""
    if machine.dot.pairs is None or not sums_bytes(op) or op.groups > 1:
        return None
    lanes = machine.vector_bytes // GROUP
    positions, panels = positions_of(op), ceil_div(len(weight), lanes)
    if 0 in (*positions, *weight.shape) or min(op.ints("pads")) < 0:
        return None
    panel_steps = _steps(op, weight, lanes)
    images, operand = shape_of(op.x)[0], math.prod(shape_of(op.x))
    padding = copy_cycles(machine, operand) if _is_padded(op) else 0
    found: list[Proposal] = []
    for unsigned in (False, True):
        steps = _paired(panel_steps, plain=unsigned)
        schedule = paired_schedule(machine, positions, panels, steps, unsigned=unsigned)
        assert schedule is not None
        cycles = images * paired_cycles(machine, schedule, positions, panels, steps) + padding
        found.append(Proposal(schedule, cycles))
    return min(found, key=lambda each: each.cycles)


def _is_padded(op: ConvOp) -> bool:
    return any(op.ints("pads"))


def _steps(op: ConvOp, weight: Array, lanes: int) -> Array:
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
    """Lowers to `graph.paired_dot_conv`. `pair-steps` proposes the schedule, since that depends on the weight."""

    SCHEDULES = (PairedSchedule,)
    SUMS_INTEGERS = True

    def lower(self, op: ConvOp, layouts: Layouts, schedule: PairedSchedule) -> Blocked | None:
        lanes, results = schedule.lanes, result_channels(op, layouts, schedule.lanes)
        x, (weight, _, properties) = operand_of(op, layouts, lanes)
        strides, pads, dilations = (_numbers(properties[name]) for name in ("strides", "pads", "dilations"))
        half = len(pads) // 2
        padded = _padded(x.value, pads, op.zero_points[0], layouts)
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


def _padded(x: SSAValue, pads: Sequence[int], fill: int, layouts: Layouts) -> SSAValue:
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

    def nest(self, nest: Nest[PairedDotConvOp, PairedSchedule]) -> None:
        if nest.shape[-1] != nest.schedule.lanes:
            raise NotVectorizable("the panels do not fit the schedule")
        PairedDotNest.of(nest).emit()
