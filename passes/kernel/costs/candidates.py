"""Schedules near one that a cost model chose, for a search that measures them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from aotc.dialects.graph.schedules import ElementwiseSchedule, ResampleSchedule, RowSchedule, WindowSchedule
from aotc.machines.machine import Machine

MOST_AT_ONCE = 8
"""The most rows, or rows times registers, to compute at once: more hide no more latency."""


def counts(machine: Machine, given: int) -> Iterator[int]:
    """The numbers of registers that a tile of one axis may have, except `given`."""
    return (count for count in (1, 2, 3, 4, 6, 8, 12) if count < machine.registers and count != given)


def _pairs(given: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """Pairs of powers of two with a limited product, except `given`."""
    sizes = ((first, second) for first in (1, 2, 4, 8) for second in (1, 2, 4, 8))
    return (pair for pair in sizes if pair[0] * pair[1] <= MOST_AT_ONCE and pair != given)


def row_candidates(schedule: RowSchedule, machine: Machine) -> Iterator[RowSchedule]:
    """Other numbers of rows computed at once; for one row, other numbers of registers in a step."""
    if schedule.rows * schedule.stages == 1:
        return (replace(schedule, registers=count) for count in counts(machine, schedule.registers))
    pairs = _pairs((schedule.stages, schedule.rows))
    return (replace(schedule, stages=stages, rows=rows) for stages, rows in pairs)


def window_candidates(schedule: WindowSchedule, machine: Machine) -> Iterator[WindowSchedule]:
    """Other numbers of neighbouring positions."""
    return (replace(schedule, positions=count) for count in counts(machine, schedule.positions))


def resample_candidates(schedule: ResampleSchedule) -> Iterator[ResampleSchedule]:
    """Other tiles of rows and registers."""
    pairs = _pairs((schedule.rows, schedule.registers))
    return (replace(schedule, rows=rows, registers=registers) for rows, registers in pairs)


def elementwise_candidates(schedule: ElementwiseSchedule, machine: Machine) -> Iterator[ElementwiseSchedule]:
    """Other numbers of registers."""
    return (replace(schedule, registers=count) for count in counts(machine, schedule.registers))
