"""Where buffers of known size and lifetime go in one arena, so that it is as small as possible.

This is dynamic storage allocation (NP-hard). A portfolio of strategies runs until one reaches the lower bound, the most
bytes alive at once; the best valid placement wins, and an exact search makes it better. Pure Python, deterministic.

Of several threads each computes its part of every buffer, the first one the lowest. Buffers that use the same memory
one after the other then have the same middle, where that takes little more of it: a thread writes where it wrote
before, which its core has in a cache, and takes nothing from other cores, which costs as much as reading them there.

One that is written while another is read may trail it: begin so many bytes below it that it is written only where the
other has been read, although both live then (vMCU, MLSys 2024; DMO, arXiv:2010.01668).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from aotc.passes.memory.planner.skyline import Box, fit


@dataclass(frozen=True)
class Buffer:
    """`size` bytes that live from task `first` to task `last`, both inclusive."""

    name: str
    size: int
    first: int
    last: int

    def __post_init__(self) -> None:
        if self.size < 0 or self.first > self.last:
            raise ValueError(f"buffer {self.name!r}: size {self.size}, lifetime {self.first}..{self.last}")


Trails = Mapping[tuple[int, int], int]
"""For some buffers, by number, that live together and others: how many bytes below the other the first one may begin,
although it ends above that; more is allowed, too."""


@dataclass(frozen=True)
class Placement:
    """Offsets in bytes, one for each buffer, multiples of `alignment`; nothing can need less than `lower_bound`."""

    offsets: tuple[int, ...]
    peak: int
    lower_bound: int
    alignment: int

    @property
    def optimal(self) -> bool:
        """Whether the peak is known to be the smallest possible."""
        return self.peak == self.lower_bound


class Problem:
    """The buffers prepared for strategies: sizes rounded up to the alignment, and who lives together with whom."""

    def __init__(self, buffers: Sequence[Buffer], alignment: int, trails: Trails | None = None) -> None:
        if alignment < 1:
            raise ValueError(f"the alignment is {alignment}, it must be at least 1")
        self.buffers = tuple(buffers)
        self.alignment = alignment
        self.sizes = tuple(-(-buffer.size // alignment) * alignment for buffer in buffers)
        """Bytes each buffer keeps others away from; only the topmost one may do without its padding."""
        distances = {trail: -(-max(bytes, 0) // alignment) * alignment for trail, bytes in (trails or {}).items()}
        self.trails = {trail: bytes for trail, bytes in distances.items() if bytes < self.sizes[trail[0]]}
        self.neighbours: list[list[int]] = [[] for _ in buffers]
        """For each buffer those that live at a common task."""
        self.pressure: list[int] = [0] * len(self.buffers)
        """For each buffer the most bytes alive at any task of its life."""
        self.lower_bound = 0
        self._sweep()

    def _sweep(self) -> None:
        """Walk the tasks where something starts; only there can the live bytes reach a maximum."""
        alive: list[int] = []
        by_start = sorted(range(len(self.buffers)), key=lambda i: self.buffers[i].first)
        position = 0
        while position < len(by_start):
            task = self.buffers[by_start[position]].first
            alive = [i for i in alive if self.buffers[i].last >= task]
            while position < len(by_start) and self.buffers[by_start[position]].first == task:
                new = by_start[position]
                for other in alive:
                    self.neighbours[new].append(other)
                    self.neighbours[other].append(new)
                alive.append(new)
                position += 1
            living = {*alive}
            live = sum(self.sizes[i] for i in alive)
            live -= sum(self.shared(*trail) for trail in self.trails if living.issuperset(trail))
            padding = max(self.sizes[i] - self.buffers[i].size for i in alive)
            self.lower_bound = max(self.lower_bound, live - padding)
            for i in alive:
                self.pressure[i] = max(self.pressure[i], live)

    def below(self, i: int, other: int) -> int:
        """How many bytes buffer i must begin below another one with which it lives, if it does not lie above it."""
        return self.trails.get((i, other), self.sizes[i])

    def shared(self, i: int, other: int) -> int:
        """The most bytes that buffer i can have in common with one that it trails."""
        return min(self.sizes[other], self.sizes[i] - self.trails[i, other])

    def peak(self, offsets: Sequence[int]) -> int:
        """Bytes an arena with these offsets needs."""
        return max((offset + b.size for offset, b in zip(offsets, self.buffers, strict=True)), default=0)


Strategy = Callable[[Problem, int | None], Sequence[int] | None]
"""Offsets whose peak is below the limit (None: no limit), or None where the strategy finds none."""

Order = Callable[[Problem, int], tuple[int, ...]]
"""The sort key of buffer i: a greedy strategy places buffers in ascending order of it."""


def _greedy(order: Order, best_fit: bool = False, *, falling: bool = False) -> Strategy:
    """Place one buffer after another into the lowest gap (or the tightest one) its placed neighbours leave; `falling`:
    the highest one, where buffers trail others."""

    def strategy(problem: Problem, limit: int | None) -> Sequence[int] | None:
        if falling and not problem.trails:
            return None
        sequence = sorted(range(len(problem.buffers)), key=lambda i: (*order(problem, i), i))
        return _fill(problem, sequence, limit, best_fit, falling=falling)

    return strategy


def _fill(
    problem: Problem, sequence: Sequence[int], limit: int | None, best_fit: bool = False, *, falling: bool = False
) -> list[int] | None:
    """Offsets of buffers that are placed in `sequence`; None where one ends at the limit or beyond.

    `falling`: offsets are counted from the end of the arena, so that a row of buffers each of which trails the one
    before has room for all distances.
    """
    offsets = [-1] * len(problem.buffers)
    taken: list[list[tuple[int, int]]] = [[] for _ in problem.buffers]  # the offsets between two that each cannot have
    for i in sequence:
        chosen, tightest, top = -1, -1, 0
        for low, high in sorted(taken[i]):
            room = low - top
            if room >= 0 and (chosen < 0 or room < tightest):
                chosen, tightest = top, room
                if not best_fit:
                    break
            top = max(top, high)
        if chosen < 0:
            chosen = top
        if limit is not None and chosen + problem.buffers[i].size >= limit:
            return None
        offsets[i] = chosen
        for other in problem.neighbours[i]:
            if offsets[other] < 0:
                below, above = problem.below(other, i), problem.below(i, other)
                if falling:  # the same differences of ends, the other way round
                    more = problem.sizes[i] - problem.sizes[other]
                    below, above = above - more, below + more
                taken[other].append((chosen - below, chosen + above))
    if falling:
        end = max((offset + size for offset, size in zip(offsets, problem.sizes, strict=True)), default=0)
        offsets = [end - offset - size for offset, size in zip(offsets, problem.sizes, strict=True)]
    return offsets


TRIES = 300
"""How many orders are tried from each first one where buffers trail others."""
FIRST_ORDERS = ("size", "pressure", "time", "size", "pressure", "time")
"""The orders that these begin with."""


def _try_orders(problem: Problem, limit: int | None) -> Sequence[int] | None:
    """Place buffers in orders in which two change places, where that makes the arena no larger (hill climbing, as in
    TVM's unified static memory planner), from several orders on."""
    random, best = Random(1), None
    for first in FIRST_ORDERS if problem.trails else ():
        found = _climb(problem, ORDERS[first], random)
        if limit is None or problem.peak(found) < limit:
            best, limit = found, problem.peak(found)
        if limit == problem.lower_bound:
            break
    return best


def _climb(problem: Problem, first: Order, random: Random) -> Sequence[int]:
    """The best placement that is found from an order on."""
    order = sorted(range(len(problem.buffers)), key=lambda i: (*first(problem, i), i))
    best = _fill(problem, order, None, falling=True)
    assert best is not None
    for _ in range(TRIES):
        if (peak := problem.peak(best)) == problem.lower_bound:
            break
        changed, one, other = list(order), random.randrange(len(order)), random.randrange(len(order))
        changed[one], changed[other] = changed[other], changed[one]
        offsets = _fill(problem, changed, peak + 1, falling=True)
        if offsets is not None:
            best, order = offsets, changed
    return best


def _span(problem: Problem, i: int) -> int:
    return problem.buffers[i].last - problem.buffers[i].first + 1


ORDERS: dict[str, Order] = {
    "size": lambda p, i: (-p.sizes[i], p.buffers[i].first),
    "size, longest first": lambda p, i: (-p.sizes[i], -_span(p, i)),
    "area": lambda p, i: (-p.sizes[i] * _span(p, i), -p.sizes[i]),
    "pressure": lambda p, i: (-p.pressure[i], -p.sizes[i], p.buffers[i].first),
    "pressure, area": lambda p, i: (-p.pressure[i], -p.sizes[i] * _span(p, i)),
    "time": lambda p, i: (p.buffers[i].first, -p.sizes[i]),
    "reverse time": lambda p, i: (-p.buffers[i].last, -p.sizes[i]),
    "span": lambda p, i: (-_span(p, i), -p.sizes[i]),
    "conflicts": lambda p, i: (-len(p.neighbours[i]), -p.sizes[i]),
    "weighted conflicts": lambda p, i: (-sum(p.sizes[j] for j in p.neighbours[i]), -p.sizes[i]),
}
"""Greedy orders by name, the ones most often right first."""

PORTFOLIO: tuple[Strategy, ...] = (
    *(_greedy(order, best) for best in (False, True) for order in ORDERS.values()),
    *(_greedy(order, falling=True) for order in ORDERS.values()),
    _try_orders,
)
"""The heuristics, tried in this order until the lower bound is reached."""


class Tenants:
    """Lifetimes that do not overlap, in order."""

    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._lasts: list[int] = []

    def add(self, first: int, last: int) -> bool:
        """Take in a lifetime if it overlaps none that is there; says whether it does not."""
        place = bisect_left(self._lasts, first)  # those before it end before
        if place < len(self._firsts) and self._firsts[place] <= last:
            return False
        self._firsts.insert(place, first)
        self._lasts.insert(place, last)
        return True


EFFORT = 1 << 20
"""The most overlaps of buffers alive together that the strategies of a placement look at, beyond those of the first."""


GROWTH = 1.25
"""How much larger than the best the arena of several threads may be, so that each of them writes where it wrote."""


def place(
    buffers: Sequence[Buffer],
    alignment: int = 16,
    portfolio: Sequence[Strategy] = PORTFOLIO,
    effort: int = EFFORT,
    threads: int = 1,
    trails: Trails | None = None,
) -> Placement:
    """The best placement that the portfolio finds within `effort`, or for several `threads` a centred one that is not
    much larger; checked against the raw lifetimes before it is returned."""
    problem = Problem(buffers, alignment, trails)
    best: Sequence[int] | None = None
    peak: int | None = None
    count = sum(map(len, problem.neighbours))
    for strategy in portfolio[: 1 + effort // max(count, 1)]:
        offsets = strategy(problem, peak)
        if offsets is not None:
            best, peak = offsets, problem.peak(offsets)
            if peak == problem.lower_bound:
                break
    if best is None:
        raise ValueError("no strategy of the portfolio gave a placement")
    peak = problem.peak(best)
    if threads > 1:
        offsets = _centred(problem)
        if problem.peak(offsets) <= GROWTH * peak:
            best, peak = offsets, problem.peak(offsets)
    placement = Placement(tuple(best), peak, problem.lower_bound, alignment)
    validate(buffers, placement, trails)
    return placement


STATES = 1 << 12
"""The states of the skyline that a search looks at for one size of the arena."""
SIZES = 4
"""The most sizes that it tries beside the lower bound."""


def search(
    buffers: Sequence[Buffer], placement: Placement, states: int = STATES, sizes: int = SIZES, enough: int = 0
) -> Placement:
    """The smallest placement that fits the lower bound, or a size between that and a given one: the exact search of
    `skyline`, within so many `states` each; else the given one. A size that is `enough` is the first one to be tried,
    and nothing smaller is looked for."""
    problem, best, alignment = Problem(buffers, placement.alignment), placement, placement.alignment
    boxes = _boxes(problem)
    low = high = -(-max(placement.lower_bound, enough) // alignment)  # in units of the alignment, as all sizes are
    for _ in range(1 + sizes):
        if low * alignment >= best.peak:
            break
        found = fit(boxes, high, states)
        if found is None:
            low = high + 1
        else:
            offsets = tuple(offset * alignment for offset in found)
            if (peak := problem.peak(offsets)) < best.peak:
                best = Placement(offsets, peak, problem.lower_bound, alignment)
        high = (low + -(-best.peak // alignment) - 1) // 2
    validate(buffers, best)
    return best


def _boxes(problem: Problem) -> list[Box]:
    """The buffers as the skyline has them, in units of the alignment: a section for each of the largest sets that live
    together."""
    tasks = sorted({task for buffer in problem.buffers for task in (buffer.first, buffer.last)})
    sections: list[frozenset[int]] = []
    for task in tasks:
        living = frozenset(i for i, buffer in enumerate(problem.buffers) if buffer.first <= task <= buffer.last)
        if sections and living.issubset(sections[-1]):
            continue
        if sections and sections[-1].issubset(living):
            sections.pop()
        sections.append(living)
    found = [[number for number, living in enumerate(sections) if i in living] for i in range(len(problem.buffers))]
    sizes = (size // problem.alignment for size in problem.sizes)
    return [Box(size, own[0], own[-1]) for size, own in zip(sizes, found, strict=True)]


def _centred(problem: Problem) -> Sequence[int]:
    """Piles of buffers that live one after the other, largest first, each in the middle of the one at the bottom."""
    piles: list[tuple[Tenants, list[int]]] = []
    for i in sorted(range(len(problem.buffers)), key=lambda i: (-problem.sizes[i], problem.buffers[i].first, i)):
        first, last = problem.buffers[i].first, problem.buffers[i].last
        for tenants, pile in piles:
            if tenants.add(first, last):
                pile.append(i)
                break
        else:
            piles.append((Tenants(), [i]))
            piles[-1][0].add(first, last)
    offsets = [0] * len(problem.buffers)
    base = 0
    for _, pile in piles:
        size = problem.sizes[pile[0]]
        for i in pile:
            offsets[i] = base + (size - problem.sizes[i]) // 2 // problem.alignment * problem.alignment
        base += size
    return offsets


def validate(buffers: Sequence[Buffer], placement: Placement, trails: Trails | None = None) -> None:
    """Raise ValueError unless all offsets are aligned, inside the arena, and no two living buffers share a byte but
    where one trails the other."""
    alive, allowed = list[int](), trails or {}
    for i in sorted(range(len(buffers)), key=lambda i: buffers[i].first):
        buffer, offset = buffers[i], placement.offsets[i]
        if offset < 0 or offset % placement.alignment or offset + buffer.size > placement.peak:
            raise ValueError(f"{buffer.name} at {offset} is misaligned or outside the arena")
        alive = [other for other in alive if buffers[other].last >= buffer.first]
        for other in alive:
            other_buffer, start = buffers[other], placement.offsets[other]
            ways = [(start - offset, (i, other)), (offset - start, (other, i))]
            trailing = any(trail in allowed and below >= max(allowed[trail], 0) for below, trail in ways)
            if not trailing and offset < start + other_buffer.size and start < offset + buffer.size:
                raise ValueError(f"{buffer.name} at {offset} and {other_buffer.name} at {start} overlap")
        alive.append(i)
