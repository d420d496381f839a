"""Costs of sums of products of 8-bit integers: a machine as its dot product makes it, or two steps at once."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import f32

from aotc.dialects.graph.schedules import PairedSchedule
from aotc.dialects.graph.shapes import ceil_div, segments
from aotc.machines.machine import Machine
from aotc.passes.kernel.costs.lanes import lanes_of


def dot_machine(machine: Machine) -> Machine:
    """The machine whose multiply-add is the dot product of `machine`, less the registers that widened factors take."""
    dot = machine.dot
    tiles = replace(
        machine.tiles,
        multipliers=1 / dot.cycles,
        load_cycles=machine.tiles.load_cycles + dot.widening_cycles,
        busy_results=dot.busy_sums,
        column_cycles=dot.weight_cycles,
        column_registers=1 + dot.weight_registers,
    )
    return replace(machine, registers=machine.registers - dot.registers, tiles=tiles)


def pair_machine(machine: Machine) -> Machine | None:
    """The machine whose multiply-add is the sum of two products of 16-bit integers; None: it has no such instruction.

    The products take a register before they are added.
    """
    if (cycles := machine.dot.pair_cycles) is None:
        return None
    tiles = replace(machine.tiles, multipliers=1 / cycles, busy_results=machine.dot.busy_sums)
    return replace(machine, registers=machine.registers - 1, tiles=tiles)


def depthwise_cycles(machine: Machine, taps: Sequence[int], group: int) -> float:
    """Of one register of sums of a depthwise convolution by products of `group` neighbouring taps."""
    dot, steps = machine.dot, math.prod(taps[:-1]) * ceil_div(taps[-1], group)
    return steps * (dot.cycles + dot.widening_cycles + _move_cycles(machine) + dot.sign_cycles)


def depthwise_pair_cycles(machine: Machine, taps: Sequence[int]) -> float | None:
    """By products of two taps in a column, of elements that neighbouring positions share; None: no instruction does."""
    if (cycles := machine.dot.pair_cycles) is None:
        return None
    *before, rows, across = (1, *taps)
    return math.prod(before) * ceil_div(rows, 2) * (across * cycles + _move_cycles(machine))


def _move_cycles(machine: Machine) -> float:
    """To bring the elements of a step side by side, where neighbours in memory are of other lanes: two shuffles."""
    return 2 / machine.issue


@dataclass(frozen=True)
class PanelSteps:
    """How many pairs of each kind, and steps that are alone, the panels have on average."""

    plain: float
    complemented: float
    alone: float

    @property
    def count(self) -> float:
        """All of them."""
        return 2 * (self.plain + self.complemented) + self.alone


def paired_schedule(
    machine: Machine, extents: Sequence[int], panels: int, steps: PanelSteps, *, unsigned: bool
) -> PairedSchedule | None:
    """The schedule of a convolution to `panels` registers of outputs, with positions of `extents`; None where the
    machine does not add two steps at once.

    What a tile reads of x stays in L1 for all panels, which are streamed, where they come from L3 or nearer.
    """
    if machine.dot.pairs is None:
        return None
    most = machine.registers - machine.dot.pairs.registers
    heights = {ceil_div(extents[-1], ceil_div(extents[-1], limit)) for limit in range(1, most + 1)}
    height = min(heights, key=lambda mr: _row_cycles(machine, mr, extents[-1], steps, unsigned))
    matrix = steps.count * panels * machine.vector_bytes
    order = "rows" if matrix <= machine.l3 * machine.shares.weights else "columns"
    return PairedSchedule(lanes_of(machine, f32), height, order, unsigned)


def paired_cycles(
    machine: Machine, schedule: PairedSchedule, extents: Sequence[int], panels: int, steps: PanelSteps
) -> float:
    """Estimated cycles of one core for one image of a convolution as in `paired_schedule`, with `schedule`."""
    *outer, row = extents
    return math.prod(outer) * panels * _row_cycles(machine, schedule.mr, row, steps, schedule.unsigned)


def _row_cycles(machine: Machine, height: int, row: int, steps: PanelSteps, unsigned: bool) -> float:
    return sum(part.count * _tile_cycles(machine, part.size, steps, unsigned) for part in segments(row, height))


def _tile_cycles(machine: Machine, rows: int, steps: PanelSteps, unsigned: bool) -> float:
    costs, dot, pairs = machine.tiles, machine.dot, machine.dot.pairs
    assert pairs is not None
    weight = dot.weight_cycles + (pairs.flip_cycles if unsigned else 0)
    stalls = costs.stall_cycles * max(dot.busy_sums - rows, 0)
    near = steps.count * machine.vector_bytes < machine.l1 * machine.shares.resident  # and what is read of x, beside it
    fetched = 0 if near else machine.vector_bytes / machine.bandwidths.l2

    def cycles(count: float, of_result: float, taken: int, weight: float) -> float:
        """Of a loop that takes `taken` steps at once: each loads its elements of the rows, weights, and their place."""
        loads = taken * (rows + 2)
        longest = max(rows * of_result + stalls, costs.load_factor * loads / costs.loads)
        each = longest + costs.load_cycles * loads + taken * (weight + fetched)
        return count * each + pairs.loop_cycles * (count > 0)

    return (
        cycles(steps.plain, pairs.plain, 2, 0)
        + cycles(steps.complemented, pairs.complemented, 2, weight)
        + cycles(steps.alone, dot.cycles, 1, weight)
        + costs.start_cycles
    )
