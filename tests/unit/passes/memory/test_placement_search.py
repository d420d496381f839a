"""The search for a smaller arena: better than all strategies, or what they found."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from contextlib import suppress

import pytest

from aotc.passes.memory.planner.placement import Buffer, Placement, place, search, validate
from aotc.passes.memory.planner.plan import plan_memory
from aotc.passes.memory.planner.program import Access, Program, Role, Storage, Task
from aotc.passes.memory.planner.skyline import PREFERENCES, Box, _Skyline, _TooLong, fit  # pyright: ignore[reportPrivateUsage]


def buffers(*rows: tuple[int, int, int]) -> list[Buffer]:
    return [Buffer(f"b{i}", size, first, last) for i, (size, first, last) in enumerate(rows)]


CLOSED = ((2, 4, 7), (5, 3, 4), (6, 5, 6), (6, 1, 3), (2, 2, 5), (6, 3, 6), (5, 4, 4))
"""Buffers that no strategy of the portfolio places in as few bytes as there can be."""


def test_a_search_closes_a_gap() -> None:
    rows = buffers(*CLOSED)
    placement = place(rows, alignment=1)
    found = search(rows, placement)
    assert (placement.peak, found.peak, found.lower_bound) == (21, 20, 20) and found == search(rows, placement)
    assert search(rows, placement, states=0) == placement and search(rows, found) == found
    assert search(rows, placement, enough=21) == placement and search(rows, placement, enough=20) == found


def test_a_search_is_never_worse() -> None:
    rng = random.Random(2)
    for _ in range(40):
        firsts = [rng.randrange(12) for _ in range(rng.randrange(0, 20))]
        rows = buffers(*((rng.randrange(0, 90), first, first + rng.randrange(6)) for first in firsts))
        placement = place(rows, 16)
        found = search(rows, placement, states=1 << 9)
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


def test_plans_are_searched_in_which_nothing_trails() -> None:
    """A result may trail one operand, and takes over another one, whose block it is in."""
    storages = tuple(Storage(size, Role.ARENA) for size in (*(size for size, _, _ in CLOSED), 0, 0, 0))
    used = [[i for i, (_, first, last) in enumerate(CLOSED) if first <= now <= last] for now in range(8)]
    taken, trailed, result = (Access(number, 0, 0) for number in range(len(CLOSED), len(storages)))
    steps = [Task((), tuple(Access(i, 0, storages[i].size) for i in each)) for each in used]
    steps.append(Task((), (taken, trailed)))
    over, behind = ((result.storage, taken.storage),), ((result.storage, trailed.storage, 0),)
    steps.append(Task((taken, trailed), (result,), over, behind))
    plan = plan_memory(Program(storages, tuple(steps)), 1, "given")
    assert plan.trails and not plan.trails_of_blocks and plan.placement.peak == 20


def _cut(sections: int, height: int, cuts: int, rng: random.Random) -> list[Box]:
    """A rectangle of memory and time cut into boxes: nothing is lost where all fit again."""
    pieces = [(0, sections, 0, height)]
    while len(pieces) < cuts:
        begin, end, low, high = pieces.pop(rng.randrange(len(pieces)))
        if end - begin > 1 and rng.random() < 0.5:
            at = rng.randrange(begin + 1, end)
            pieces += [(begin, at, low, high), (at, end, low, high)]
        elif high - low > 1:
            at = rng.randrange(low + 1, high)
            pieces += [(begin, end, low, at), (begin, end, at, high)]
        else:
            pieces.append((begin, end, low, high))
    rng.shuffle(pieces)
    return [Box(high - low, begin, end - 1) for begin, end, low, high in pieces]


def _overlaps(boxes: Sequence[Box], offsets: Sequence[int], capacity: int) -> bool:
    taken = [[False] * capacity for _ in range(1 + max(box.last for box in boxes))]
    for box, offset in zip(boxes, offsets, strict=True):
        for section in range(box.first, box.last + 1):
            units = taken[section][offset : offset + box.size]
            if len(units) < box.size or any(units):
                return True
            taken[section][offset : offset + box.size] = [True] * box.size
    return False


@pytest.mark.parametrize("seed", range(12))
def test_what_was_cut_without_loss_is_put_together_again(seed: int) -> None:
    rng = random.Random(seed)
    boxes = _cut(40, 1000, 40 + 4 * seed, rng)
    offsets = fit(boxes, 1000, states=1 << 14)
    assert offsets is not None and not _overlaps(boxes, offsets, 1000)
    assert fit(boxes, 999, states=1 << 14) is None


@pytest.mark.parametrize("seed", range(150))
def test_the_skyline_finds_what_all_orders_find(seed: int) -> None:
    """Of few boxes first fit in one of all orders gives the least capacity; the skyline needs no more and no less."""
    rng = random.Random(seed)
    firsts = [rng.randrange(6) for _ in range(6)]
    boxes = [Box(rng.randrange(1, 8), first, min(5, first + rng.randrange(4))) for first in firsts]
    shift = min(box.first for box in boxes)
    boxes = [Box(box.size, box.first - shift, box.last - shift) for box in boxes]
    rows = buffers(*((box.size, box.first, box.last) for box in boxes))
    least = min(_first_fit([rows[i] for i in order]) for order in itertools.permutations(range(6)))
    found = fit(boxes, least, states=1 << 12)
    assert found is not None and not _overlaps(boxes, found, least)
    assert fit(boxes, least - 1, states=1 << 12) is None


def _first_fit(rows: Sequence[Buffer]) -> int:
    placed: list[tuple[Buffer, int]] = []
    for row in rows:
        together = [(at, at + each.size) for each, at in placed if each.first <= row.last and row.first <= each.last]
        at = min(
            end
            for end in (0, *(end for _, end in together))
            if all(end + row.size <= a or b <= end for a, b in together)
        )
        placed.append((row, at))
    return max(at + row.size for row, at in placed)


def test_a_search_goes_on_between_the_bound_and_what_there_is() -> None:
    """The lower bound is 4 and cannot be met: 5 is found where strategies are given a placement of 9."""
    rows = buffers((2, 0, 1), (2, 1, 2), (2, 2, 3), (1, 0, 0), (2, 3, 3))
    wide = Placement((0, 2, 4, 6, 7), 9, 4, 1)
    validate(rows, wide)
    found = search(rows, wide)
    validate(rows, found)
    assert found.peak == min(_first_fit([rows[i] for i in order]) for order in itertools.permutations(range(5)))


def test_nothing_fits_nowhere_and_everywhere() -> None:
    assert fit([], 0, states=1) == [] and fit([Box(3, 0, 0)], 2, states=9) is None
    assert fit([Box(3, 0, 0)], 3, states=9) == [0] and fit([Box(3, 0, 0)], 3, states=0) is None


def test_states_that_the_search_looks_at() -> None:
    """Offsets where no box can lie are not tried, nor states that failed: there are as many as there were."""
    rng, states, fitting = random.Random(3), [0] * len(PREFERENCES), 0
    for number in range(24):
        cut = _cut(30, 200, 40, rng)
        boxes = [Box(box.size + (i < 1 + number % 3), box.first, box.last) for i, box in enumerate(cut)]
        if number % 2:  # two problems, one after the other
            boxes += [Box(box.size, box.first + 30, box.last + 30) for box in boxes]
        for column, preference in enumerate(PREFERENCES):
            skyline = _Skyline(boxes, 201, preference, [-box.size for box in boxes], 500)
            with suppress(_TooLong):
                fitting += skyline.solve()
            states[column] += 500 - skyline.states
    assert (fitting, states) == (61, [1896, 1896, 1585, 1923])


def test_the_first_try_has_boxes_in_order_of_their_time() -> None:
    boxes = _cut(30, 200, 40, random.Random(0))
    first = _Skyline(boxes, 210, PREFERENCES[0], [box.first - box.last for box in boxes], 500)
    assert first.solve() and fit(boxes, 210, 500) == first.offsets


def test_as_many_states_as_are_allowed() -> None:
    boxes = [Box(2, 0, 1), Box(1, 0, 0), Box(1, 1, 1)]
    skyline = _Skyline(boxes, 3, PREFERENCES[0], [0, 0, 0], 9)
    assert skyline.solve()
    used = 9 - skyline.states
    assert _Skyline(boxes, 3, PREFERENCES[0], [0, 0, 0], used).solve()
    with pytest.raises(_TooLong):
        _Skyline(boxes, 3, PREFERENCES[0], [0, 0, 0], used - 1).solve()
