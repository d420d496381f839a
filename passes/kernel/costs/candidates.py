"""Schedules near one that a cost model chose, for a search that measures them."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from aotc.dialects.graph import schedules
from aotc.machines.machine import Machine

MOST_AT_ONCE = 8
"""The most rows, or rows times registers, to compute at once: more hide no more latency."""


def near(schedule: schedules.Schedule, machine: Machine) -> Iterable[schedules.Schedule]:
    """Schedules near `schedule`, by its kind; none where that has no others."""
    match schedule:
        case schedules.MatmulSchedule():
            return _near_product(schedule, machine)
        case schedules.FewBitsSchedule():  # panels of other widths, more words at once
            widths = {schedule.nr // 2, schedule.nr + 1, 2 * schedule.nr} - {0}
            return (*_each(schedule, nr=widths), *_each(schedule, unroll={1, 2, 4} - {schedule.unroll}))
        case schedules.InnerProductSchedule():  # fewer positions: half as many, repeatedly
            counts = (schedule.lanes >> halvings for halvings in range(schedule.lanes.bit_length()))
            return _each(schedule, positions=(count for count in counts if count != schedule.positions))
        case schedules.PositionsSchedule():  # other tiles of about the same size
            tiles = _tiles(schedule.mr, schedule.nr, machine.registers)
            return (replace(schedule, mr=mr, nr=nr) for mr, nr in tiles)
        case schedules.RowSchedule() if schedule.rows * schedule.stages > 1:
            sizes = _others((schedule.stages, schedule.rows))
            return (replace(schedule, stages=stages, rows=rows) for stages, rows in sizes)
        case schedules.ResampleSchedule():
            sizes = _others((schedule.rows, schedule.registers))
            return (replace(schedule, rows=rows, registers=registers) for rows, registers in sizes)
        case schedules.RowSchedule() | schedules.ElementwiseSchedule():
            return _each(schedule, registers=_counts(machine, schedule.registers))
        case schedules.WindowSchedule():
            return _each(schedule, positions=_counts(machine, schedule.positions))
        case _:
            return ()


def _each(schedule: Any, **fields: Iterable[int]) -> Iterator[Any]:
    """The schedule with each of the values of a field."""
    return (replace(schedule, **{name: value}) for name, values in fields.items() for value in values)


def _counts(machine: Machine, given: int) -> Iterator[int]:
    """The numbers of registers that a tile of one axis may have, except `given`."""
    return (count for count in (1, 2, 3, 4, 6, 8, 12) if count < machine.registers and count != given)


def _others(given: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """Two powers of two with a limited product, except `given`."""
    sizes = ((first, second) for first in (1, 2, 4, 8) for second in (1, 2, 4, 8))
    return (size for size in sizes if size[0] * size[1] <= MOST_AT_ONCE and size != given)


def _tiles(mr: int, nr: int, registers: int) -> list[tuple[int, int]]:
    """Tiles near mr x nr whose accumulators, a row of vectors and a broadcast fit the registers."""
    found: set[tuple[int, int]] = set()
    for width in {nr // 2, nr - 1, nr, nr + 1, 2 * nr} - {0}:
        most = (registers - 1) // width - 1
        found |= {(height, width) for height in (most, most - 1, mr, mr - 1, mr + 1) if 1 <= height <= most}
    return sorted(found - {(mr, nr)})


def _near_product(schedule: schedules.MatmulSchedule, machine: Machine) -> Iterator[schedules.MatmulSchedule]:
    """Other tiles of about the same size, the other order, other unrolling, all rows at once, the other prefetching."""
    for mr, nr in _tiles(schedule.mr, schedule.nr, machine.registers):
        yield replace(schedule, mr=mr, nr=nr)
    order = "rows" if schedule.order == "columns" else "columns"
    yield replace(schedule, order=order, prefetch=False, kc=None, mc=None)
    if schedule.mc is not None:
        yield replace(schedule, mc=None)
    for unroll in (1, 2, 4, 8):
        if unroll != schedule.unroll:
            yield replace(schedule, unroll=unroll)
    if schedule.order == "columns":
        yield replace(schedule, prefetch=not schedule.prefetch)
