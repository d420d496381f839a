"""Costs of sums of products of 8-bit integers: a machine as its dot product makes it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from aotc.dialects.graph.shapes import ceil_div
from aotc.machines.machine import Machine


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
    return steps * (dot.cycles + dot.widening_cycles + dot.move_cycles + dot.sign_cycles)


def depthwise_pair_cycles(machine: Machine, taps: Sequence[int]) -> float | None:
    """The same by products of two taps in a column, of elements that neighbouring positions share; None: there is no
    instruction for these."""
    if (cycles := machine.dot.pair_cycles) is None:
        return None
    *before, rows, across = (1, *taps)
    return math.prod(before) * ceil_div(rows, 2) * (across * cycles + machine.dot.move_cycles)
