"""The base class of strategies whose nests work on register tiles MR x NR."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

from aotc.dialects.graph.schedules import MatmulSchedule, Schedule
from aotc.machines.machine import Machine
from aotc.passes.kernel.strategy import KernelStrategy, Op


class RegisterTileStrategy(KernelStrategy[Op]):
    """Sums of products on register tiles, as a `MatmulSchedule` says."""

    SCHEDULES: ClassVar[tuple[type[Schedule], ...]] = (MatmulSchedule,)

    def candidates(self, op: Op, schedule: MatmulSchedule, machine: Machine) -> Iterator[Schedule]:
        """Other tiles of about the same size, the other order, other unrolling, all lines at once, with and without
        prefetching."""
        for mr, nr in tiles_near(schedule.mr, schedule.nr, machine.registers):
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


def tiles_near(mr: int, nr: int, registers: int) -> list[tuple[int, int]]:
    """Tiles near mr x nr whose accumulators, a row of vectors and a broadcast fit the registers."""
    found: set[tuple[int, int]] = set()
    for width in {nr // 2, nr - 1, nr, nr + 1, 2 * nr} - {0}:
        most = (registers - 1) // width - 1
        found |= {(height, width) for height in (most, most - 1, mr, mr - 1, mr + 1) if 1 <= height <= most}
    return sorted(found - {(mr, nr)})
