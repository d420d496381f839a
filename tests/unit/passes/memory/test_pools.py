"""Which memory each buffer is in."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import pytest

from aotc.model.limits import Pool
from aotc.passes.memory.planner.placement import Buffer, place, validate
from aotc.passes.memory.planner.pools import Division, NoRoom, divide

FAST, SLOW = Pool("fast", 100, 1.0), Pool("slow", 1000, 4.0)


Sizes = Sequence[tuple[int, int, int]]
"""Of buffers: bytes, the first and the last task of their lives."""


def tried(
    sizes: Sizes, accesses: Sequence[float], pools: Sequence[Pool], pinned: Mapping[int, int] | None = None
) -> Division | NoRoom:
    buffers = [Buffer(str(number), *each) for number, each in enumerate(sizes)]
    return divide(buffers, pools, accesses, pinned or {}, place(buffers, 4), {})


def divided(
    sizes: Sizes, accesses: Sequence[float], pools: Sequence[Pool], pinned: Mapping[int, int] | None = None
) -> Division:
    """As `tried`, where all find room: that is so."""
    buffers = [Buffer(str(number), *each) for number, each in enumerate(sizes)]
    found = tried(sizes, accesses, pools, pinned)
    assert isinstance(found, Division)
    for number, (pool, placement) in enumerate(zip(pools, found.placements, strict=True)):
        there = [buffer for buffer, home in zip(buffers, found.pools, strict=True) if home == number]
        validate(there, placement)
        assert placement.peak <= pool.size
    return found


@pytest.mark.parametrize(
    ("sizes", "accesses", "pools"),
    [
        ([(60, 0, 1), (60, 0, 1)], [1, 2], (1, 0)),  # what is used more
        ([(60, 0, 1), (60, 0, 1)], [2, 1], (0, 1)),
        ([(60, 0, 1), (60, 2, 3)], [1, 2], (0, 0)),  # one after the other in the same bytes
        ([(80, 0, 1), (40, 0, 1), (40, 0, 1)], [90, 50, 50], (1, 0, 0)),  # where a byte is worth most
        ([(90, 0, 1), (4, 0, 1), (8, 0, 1)], [90, 5, 4], (0, 0, 1)),
        ([(200, 0, 1), (60, 0, 1)], [1000, 1], (1, 0)),  # it has no room for more
    ],
)
def test_the_most_used_are_in_the_fastest(
    sizes: list[tuple[int, int, int]], accesses: list[float], pools: tuple[int, ...]
) -> None:
    assert divided(sizes, accesses, (FAST, SLOW)).pools == pools
    other = divided(sizes, accesses, (SLOW, FAST))
    assert tuple(1 - number for number in other.pools) == pools, "whatever is named first"


def test_what_is_small_leaves_room_for_what_is_large() -> None:
    """The small ones are used most, but the large one has room in the first pool alone."""
    pools = Pool("a", 100, 1.0), Pool("b", 60, 2.0)
    assert divided([(20, 0, 0), (30, 0, 0), (90, 0, 0)], [90, 90, 1], pools).pools == (1, 1, 0)


def test_a_buffer_is_where_it_is_pinned() -> None:
    assert divided([(60, 0, 1), (60, 0, 1)], [1, 2], (FAST, SLOW), {0: 0, 1: 1}).pools == (0, 1)
    assert tried([(60, 0, 1), (60, 0, 1)], [1, 2], (FAST, SLOW), {0: 0, 1: 0}) == NoRoom([0, 1], FAST, 20)


def test_all_in_one_pool_is_a_solution() -> None:
    """Whatever orders find: offsets of one arena that fit a pool are taken."""
    rng = random.Random(3)
    for _ in range(20):
        sizes = [(rng.randrange(4, 60), first := rng.randrange(12), first + rng.randrange(5)) for _ in range(14)]
        peak = place([Buffer("", *each) for each in sizes], 4).peak
        divided(sizes, [1.0] * len(sizes), (Pool("small", 16), Pool("large", peak, 2.0)))


def test_so_many_bytes_more_are_enough_and_fewer_are_not() -> None:
    sizes, accesses = [(60, 0, 1), (60, 0, 1), (52, 0, 1)], [1.0, 2.0, 3.0]
    pools = Pool("a", 64), Pool("b", 56), Pool("c", 20)
    found = tried(sizes, accesses, pools)
    assert isinstance(found, NoRoom) and (found.missing, found.pool.name) == (40, "c")
    assert [sizes[number][0] for number in found.buffers] == [60]
    divided(sizes, accesses, (*pools[:2], Pool("c", 60)))
    assert isinstance(tried(sizes, accesses, (*pools[:2], Pool("c", 59))), NoRoom)


def test_a_result_trails_what_is_in_the_same_pool() -> None:
    """Both have room together only because one may lie over the other."""
    buffers = Buffer("a", 64, 0, 1), Buffer("b", 64, 1, 2)
    trails = {(1, 0): 16}
    whole = place(buffers, 4, trails=trails)
    slow, accesses = Pool("b", 200, 2.0), [1.0, 1.0]
    found = divide(buffers, (Pool("a", 80), slow), accesses, {}, whole, trails)
    assert isinstance(found, Division) and found.pools == (0, 0) and found.placements[0].peak == 80
    found = divide(buffers, (Pool("a", 79), slow), accesses, {}, whole, trails)
    assert isinstance(found, Division) and found.pools == (0, 1)
