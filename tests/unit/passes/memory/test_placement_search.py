"""The search for a smaller arena: better than all strategies, or what they found."""

from __future__ import annotations

import random

from aotc.passes.memory.planner.placement import Buffer, place, search, validate
from aotc.passes.memory.planner.plan import plan_memory
from aotc.passes.memory.planner.program import Access, Program, Role, Storage, Task


def buffers(*rows: tuple[int, int, int]) -> list[Buffer]:
    return [Buffer(f"b{i}", size, first, last) for i, (size, first, last) in enumerate(rows)]


CLOSED = ((2, 4, 7), (5, 3, 4), (6, 5, 6), (6, 1, 3), (2, 2, 5), (6, 3, 6), (5, 4, 4))
"""Buffers that no strategy of the portfolio places in as few bytes as there can be, and swaps do."""


def test_a_search_closes_a_gap() -> None:
    rows = buffers(*CLOSED)
    placement = place(rows, alignment=1)
    found = search(rows, placement)
    assert (placement.peak, found.peak, found.lower_bound) == (21, 20, 20) and found == search(rows, placement)
    assert search(rows, placement, effort=0) == placement and search(rows, found) == found


def test_a_search_is_never_worse() -> None:
    rng = random.Random(2)
    for _ in range(40):
        firsts = [rng.randrange(12) for _ in range(rng.randrange(0, 20))]
        rows = buffers(*((rng.randrange(0, 90), first, first + rng.randrange(6)) for first in firsts))
        placement = place(rows, 16)
        found = search(rows, placement, effort=1 << 12)
        validate(rows, found)
        assert found == placement or found.peak < placement.peak


def test_plans_are_searched_unless_threads_write_where_they_wrote() -> None:
    storages = tuple(Storage(size, Role.ARENA) for size, _, _ in CLOSED)
    used = [[i for i, (_, first, last) in enumerate(CLOSED) if first <= now <= last] for now in range(8)]
    steps = tuple(Task((), tuple(Access(i, 0, storages[i].size) for i in each)) for each in used)
    program = Program(storages, steps)
    assert plan_memory(program, 1, "given").placement.peak == 20
    shared = plan_memory(program, 1, "given", threads=2)
    assert shared.placement == place([block.buffer for block in shared.blocks], 1, threads=2)
    assert shared.placement.peak > 20
