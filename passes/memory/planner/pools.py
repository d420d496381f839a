"""Which of several memories each buffer is in: the most used ones in the fastest, as far as they fit.

What a buffer costs in a pool is its accesses times the cycles of one there. Buffers are taken in one order after the
other, and each goes into the fastest pool that has room for it beside those that are there; of all orders in which all
find room the cheapest is taken (a greedy solution of the multiple knapsack problem, which is NP-hard by itself, and
whose knapsacks are arenas here). If everything fits one pool, that is a solution, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from aotc.model.limits import Pool
from aotc.passes.memory.planner.placement import (
    EFFORT,
    PORTFOLIO,
    Buffer,
    Placement,
    Trails,
    place,
    search,
    validate,
)
from aotc.passes.memory.planner.placement import (
    Problem as PlacementProblem,
)
from aotc.passes.memory.planner.plan import MemoryPlan


@dataclass(frozen=True)
class Division:
    """For each buffer its pool, by number; for each pool the placement of its buffers, in their order."""

    pools: tuple[int, ...]
    placements: tuple[Placement, ...]


@dataclass(frozen=True)
class NoRoom:
    """Buffers that find no room, by number, however they are divided; a pool that would have to be so many bytes
    larger."""

    buffers: Sequence[int]
    pool: Pool
    missing: int


@dataclass
class _Arena:
    """The buffers that are in one pool so far, by number, and where."""

    pool: Pool
    capacity: int
    offsets: dict[int, int] = field(default_factory=dict[int, int])


class _Division:
    """The way to a division of buffers, each with its accesses, and the pool that it must be in."""

    def __init__(
        self,
        buffers: Sequence[Buffer],
        pools: Sequence[Pool],
        accesses: Sequence[float],
        pinned: Mapping[int, int],
        alignment: int,
        trails: Trails,
    ) -> None:
        self.problem = PlacementProblem(buffers, alignment, trails)
        self.pools, self.accesses, self.pinned, self.trails = pools, accesses, pinned, trails
        self.fastest = sorted(range(len(pools)), key=lambda number: (pools[number].speed, number))
        self.effort = 0
        """The overlaps that may be looked at to place buffers anew, before the order at hand gives that up."""

    def divided(self, more: Mapping[int, int]) -> list[_Arena] | tuple[int, ...]:
        """The cheapest division, of pools with so many bytes `more`, by number; the buffers without room in the order
        that has fewest bytes of them where there is none."""
        best: list[_Arena] | None = None
        left: tuple[int, ...] = ()
        for order in ORDERS:
            arenas, without = self._filled(order, more)
            if without:
                if not left or self._bytes(without) < self._bytes(left):
                    left = without
            elif best is None or self._cost(arenas) < self._cost(best):
                best = arenas
        return left if best is None else best

    def _filled(self, order: Order, more: Mapping[int, int]) -> tuple[list[_Arena], tuple[int, ...]]:
        """Each buffer in the fastest pool with room for it; those that find none."""
        self.effort = EFFORT // len(ORDERS)
        arenas = [_Arena(pool, pool.size + more.get(number, 0)) for number, pool in enumerate(self.pools)]
        ranked = sorted(range(len(self.accesses)), key=lambda i: (i not in self.pinned, *order(self, i), i))
        left: list[int] = []
        for i in ranked:
            allowed = [self.pinned[i]] if i in self.pinned else self.fastest
            if not any(self._add(arenas[number], i) for number in allowed):
                left.append(i)
        return arenas, tuple(left)

    def _add(self, arena: _Arena, i: int) -> bool:
        """Whether a buffer finds room in an arena: in a gap, or where all are placed anew."""
        problem, size = self.problem, self.problem.buffers[i].size
        taken: list[tuple[int, int]] = []
        for other in problem.neighbours[i]:
            if (start := arena.offsets.get(other)) is not None:
                taken.append((start - problem.below(i, other), start + problem.below(other, i)))
        top = 0
        for low, high in sorted(taken):
            if low >= top:
                break
            top = max(top, high)
        if top + size <= arena.capacity:
            arena.offsets[i] = top
            return True
        if size > arena.capacity:
            return False
        numbers = [*arena.offsets, i]
        found = self._placed(numbers, arena.capacity)
        if found is not None:
            arena.offsets = dict(zip(numbers, found, strict=True))
        return found is not None

    def _placed(self, numbers: Sequence[int], capacity: int) -> Sequence[int] | None:
        """Offsets of some buffers within a capacity; None where none are found."""
        problem = PlacementProblem(
            [self.problem.buffers[i] for i in numbers], self.problem.alignment, self.among(numbers)
        )
        if problem.lower_bound > capacity:
            return None
        for strategy in PORTFOLIO:
            if self.effort < 0:
                return None
            self.effort -= sum(map(len, problem.neighbours))
            if (found := strategy(problem, capacity + 1)) is not None:
                return found
        return None

    def among(self, numbers: Sequence[int]) -> Trails:
        """Which of some buffers trail which, by their places among these."""
        places = {number: place for place, number in enumerate(numbers)}
        return {
            (places[one], places[other]): distance
            for (one, other), distance in self.trails.items()
            if one in places and other in places
        }

    def _bytes(self, numbers: Sequence[int]) -> int:
        return sum(self.problem.buffers[i].size for i in numbers)

    def _cost(self, arenas: Sequence[_Arena]) -> float:
        return sum(arena.pool.speed * self.accesses[i] for arena in arenas for i in arena.offsets)


Order = Callable[[_Division, int], tuple[float, ...]]
"""The sort key of buffer i: pools are filled in ascending order of it."""

ORDERS: tuple[Order, ...] = (
    lambda d, i: (-d.accesses[i] / max(d.problem.sizes[i], 1),),
    lambda d, i: (-d.accesses[i],),
    lambda d, i: (-d.problem.sizes[i], -d.accesses[i]),
    lambda d, i: (-d.problem.pressure[i], -d.problem.sizes[i]),
)
"""Where a byte is worth most first; what is used most; what is large; what lives where most is alive."""


def divide(
    buffers: Sequence[Buffer],
    pools: Sequence[Pool],
    accesses: Sequence[float],
    pinned: Mapping[int, int],
    whole: Placement,
    trails: Trails,
) -> Division | NoRoom:
    """The pool and the offset of each buffer, of which some are `pinned` to a pool by number; `whole` is a placement of
    all of them in one arena."""
    division = _Division(buffers, pools, accesses, pinned, whole.alignment, trails)
    for number, pool in enumerate(pools):
        own = [i for i, home in pinned.items() if home == number]
        alone = place([buffers[i] for i in own], whole.alignment, trails=division.among(own))
        if alone.peak > pool.size:
            return NoRoom(own, pool, alone.peak - pool.size)
    found = division.divided({})
    if not isinstance(found, list):
        found = _in_one(division, whole)
    if found is None:
        return _missing(division)
    homes = {i: number for number, arena in enumerate(found) for i in arena.offsets}
    placements: list[Placement] = []
    for arena in found:
        numbers = sorted(arena.offsets)
        some, among = [buffers[i] for i in numbers], division.among(numbers)
        placements.append(_smallest(some, [arena.offsets[i] for i in numbers], whole.alignment, among))
    return Division(tuple(homes[i] for i in range(len(buffers))), tuple(placements))


def _in_one(division: _Division, whole: Placement) -> list[_Arena] | None:
    """Everything in the fastest pool that has room for it; None where there is none, or where that is not allowed."""
    for number in division.fastest:
        if whole.peak <= division.pools[number].size and not {*division.pinned.values()} - {number}:
            arenas = [_Arena(pool, pool.size) for pool in division.pools]
            arenas[number].offsets = dict(enumerate(whole.offsets))
            return arenas
    return None


def _smallest(buffers: Sequence[Buffer], offsets: Sequence[int], alignment: int, trails: Trails) -> Placement:
    """The smallest arena for buffers that have a place each in one."""
    problem = PlacementProblem(buffers, alignment, trails)
    given = Placement(tuple(offsets), problem.peak(offsets), problem.lower_bound, alignment)
    validate(buffers, given, trails)
    if not buffers or given.optimal:
        return given
    other = place(buffers, alignment, trails=trails)
    best = min(given, other, key=lambda each: each.peak)
    return best if problem.trails else search(buffers, best)


def _missing(division: _Division) -> NoRoom:
    """The buffers that find no room, and the pool of which fewest bytes are missing."""
    left = division.divided({})
    assert isinstance(left, tuple)
    missing = [_more(division, number) for number in range(len(division.pools))]
    least = min(range(len(missing)), key=lambda number: (missing[number], -division.pools[number].size))
    return NoRoom(left, division.pools[least], missing[least])


def _more(division: _Division, number: int) -> int:
    """How many bytes more of a pool are enough."""
    unit = division.problem.alignment
    few, many = 0, -(-sum(division.problem.sizes) // unit)
    while many - few > 1:
        middle = (few + many) // 2
        if isinstance(division.divided({number: middle * unit}), list):
            many = middle
        else:
            few = middle
    return many * unit


def in_pools(
    plan: MemoryPlan, pools: Sequence[Pool], accesses: Mapping[int, float], pinned: Mapping[int, int]
) -> MemoryPlan | NoRoom:
    """The plan of one arena with each block in a pool, by the bytes that are accessed of its storages; some blocks are
    `pinned` to a pool by their numbers."""
    buffers = [block.buffer for block in plan.blocks]
    counts = [sum(accesses[storage] for storage in block.storages) for block in plan.blocks]
    division = divide(buffers, pools, counts, pinned, plan.placement, plan.trails_of_blocks)
    if isinstance(division, NoRoom):
        return division
    places = [iter(placement.offsets) for placement in division.placements]
    offsets = tuple(next(places[number]) for number in division.pools)
    peak, bound = (sum(getattr(each, name) for each in division.placements) for name in ("peak", "lower_bound"))
    homes = {s: home for block, home in zip(plan.blocks, division.pools, strict=True) for s in block.storages}
    return replace(
        plan,
        placement=Placement(offsets, peak, bound, plan.placement.alignment),
        trails={trail: below for trail, below in plan.trails.items() if homes.get(trail[0]) == homes.get(trail[1])},
        pools=tuple(pools[number].name for number in division.pools),
        arenas={pool.name: placement for pool, placement in zip(pools, division.placements, strict=True)},
    )
