"""An exact search for offsets within a capacity: branch and bound over the skyline of what is placed.

Time is divided into sections, in each of which the same buffers live. The skyline is how high each section is filled.
Where it has a valley, sections of one height between higher ones, what lies on the floor at a corner of the valley
begins (or ends) just there and fits between the walls, or nothing does, and the section loses the height to the next
floor that something may have. So of all corners the one with the fewest choices comes first; one without a choice is
none. A section loses no more than capacity less what lives there. Where nothing that is left crosses from one section
to the next, both sides are solved by themselves. States that failed are not tried again.

Valleys are those of "bottom-left" packing (S. Martello, M. Monaci and D. Vigo, An exact approach to the strip-packing
problem, 2003), sections, division and canonical solutions those of MiniMalloc (M. Moffitt, ASPLOS 2023). One order of
choices may take long where another is fast, so that several are tried, a bounded number of states each (C. Gomes,
B. Selman and H. Kautz, Boosting combinatorial search through randomization, 1998).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from random import Random
from typing import NamedTuple

NEVER = 1 << 62


@dataclass(frozen=True)
class Box:
    """`size` units that live in the sections `first` to `last`, both inclusive."""

    size: int
    first: int
    last: int


class _TooLong(Exception):
    """More states than allowed."""


class _Corner(NamedTuple):
    """An end of a valley, `low` to `high` in sections, at `floor`; the lower of its walls is `wall` high, and `boxes`
    are those that may lie on the floor."""

    section: int
    low: int
    high: int
    floor: int
    wall: int
    boxes: Sequence[int]


Preference = Callable[[int, int, int], tuple[int, int, int]]
"""The rank of a corner by its number of choices, what its section may still lose, and its floor: least first."""

PREFERENCES: tuple[Preference, ...] = (
    lambda choices, slack, floor: (choices + (slack > 0), slack, floor),
    lambda choices, slack, floor: (choices + (slack > 0), floor, slack),
    lambda choices, slack, floor: (floor, choices + (slack > 0), slack),
    lambda choices, slack, floor: (slack, choices, floor),
)


_Call = Generator["_Call", bool | None, bool]
"""A call that yields those it makes, is sent their results, and returns its own."""


class _Skyline:
    """The boxes that are placed, and the search for the rest."""

    def __init__(
        self, boxes: Sequence[Box], capacity: int, preference: Preference, ranks: Sequence[float], states: int
    ):
        sections = 1 + max(box.last for box in boxes)
        self.boxes = boxes
        self.offsets = [-1] * len(boxes)
        self.height = [0] * sections
        self.slack = [capacity] * sections
        self.living: list[list[int]] = [[] for _ in range(sections)]
        self.crossing = [0] * (sections + 1)
        """How many that are not placed live on both sides of the boundary before each section."""
        for i, box in enumerate(boxes):
            for section in range(box.first, box.last + 1):
                self.slack[section] -= box.size
                self.living[section].append(i)
                self.crossing[section] += section > box.first
        self.count = [len(living) for living in self.living]
        self.preference, self.ranks, self.states = preference, ranks, states
        self.placed = 0
        """A bit for each box."""
        self.failed: set[tuple[int, int, int, tuple[int, ...]]] = set()
        self.trail: list[tuple[int, int, int]] = []
        """All that was done, to be undone: a box or -1, a section, its height before."""

    def solve(self) -> bool:
        """Whether all fit. Raises _TooLong."""
        if min(self.slack) < 0:
            return False
        calls, fits = [self._divide(0, len(self.height))], None
        while calls:  # instead of recursion, which is as deep as there are boxes
            try:
                calls.append(calls[-1].send(fits))
                fits = None
            except StopIteration as done:
                calls.pop()
                fits = done.value
        return bool(fits)

    def _divide(self, low: int, high: int) -> _Call:
        """Place what lives in some sections, independent ranges of them one after the other, or leave all as it was;
        whether all fit."""
        mark, begin = len(self.trail), low
        ranges: list[tuple[int, int]] = []
        for section in range(low, high):
            if not self.crossing[section]:
                if begin < section:
                    ranges.append((begin, section))
                begin = section if self.count[section] else section + 1
        if begin < high:
            ranges.append((begin, high))
        if len(ranges) > 1:
            ranges.sort(key=lambda each: (min(self.slack[each[0] : each[1]]), each[1] - each[0]))
        for each in ranges:
            if not (yield self._fill(*each)):
                self._undo(mark)
                return False
        return True

    def _fill(self, low: int, high: int) -> _Call:
        mark = len(self.trail)
        corner = self._best_corner(low, high)
        if corner is None or (key := (low, high, self.placed, tuple(self.height[low:high]))) in self.failed:
            self._undo(mark)
            return False
        self.states -= 1
        if self.states < 0:
            raise _TooLong
        branch = len(self.trail)
        for i in self._distinct(corner.boxes):
            self._place(i, corner.floor)
            if (yield self._divide(low, high)):
                return True
            self._undo(branch)
        if self._lose(corner.section, self._next_floor(corner)) and (yield self._fill(low, high)):
            return True
        self._undo(mark)
        self.failed.add(key)
        return False

    def _best_corner(self, low: int, high: int) -> _Corner | None:
        """The one to go on with, once those without a choice are higher; None where a section loses too much."""
        while True:
            best, rank = None, (NEVER, NEVER, NEVER)
            for corner in self._corners(low, high):
                slack = self.slack[corner.section]
                if not corner.boxes:
                    if not self._lose(corner.section, self._next_floor(corner)):
                        return None
                    break
                if (own := self.preference(len(corner.boxes), slack, corner.floor)) < rank:
                    best, rank = corner, own
            else:
                return best

    def _corners(self, low: int, high: int) -> Iterator[_Corner]:
        height, boxes, offsets = self.height, self.boxes, self.offsets
        section = low
        while section < high:
            begin, floor = section, height[section]
            while section + 1 < high and height[section + 1] == floor:
                section += 1
            left = height[begin - 1] if begin > low else NEVER
            right = height[section + 1] if section + 1 < high else NEVER
            wall = min(left, right)
            if wall > floor:
                for end in (begin, section):
                    fits = [
                        i
                        for i in self.living[end]
                        if offsets[i] < 0 and boxes[i].first >= begin and boxes[i].last <= section
                    ]
                    yield _Corner(end, begin, section, floor, wall, fits)
            section += 1

    def _distinct(self, boxes: Sequence[int]) -> Iterator[int]:
        """Those of some boxes in order of rank, of equal ones the first."""
        given: set[Box] = set()
        for i in sorted(boxes, key=self.ranks.__getitem__):
            if self.boxes[i] not in given:
                given.add(self.boxes[i])
                yield i

    def _next_floor(self, corner: _Corner) -> int:
        """The least offset of what lies lowest in the section of a corner, if nothing lies on its floor."""
        least, inside = NEVER, [*map(self.boxes.__getitem__, self._inside(corner))]
        for i in self.living[corner.section]:
            if self.offsets[i] >= 0:
                continue
            box = self.boxes[i]
            if corner.low <= box.first and box.last <= corner.high:  # on something that lies beside the corner
                below = [each.size for each in inside if each.first <= box.last and box.first <= each.last]
                least = min(least, corner.wall, corner.floor + min(below, default=NEVER))
            else:
                least = min(least, max(self.height[box.first : box.last + 1]))
        return least

    def _inside(self, corner: _Corner) -> Iterator[int]:
        """The boxes within a valley that do not live in the section of the corner."""
        for section in range(corner.low, corner.high + 1):
            for i in self.living[section]:
                box = self.boxes[i]
                begins_here = box.first == section and box.last <= corner.high and self.offsets[i] < 0
                if begins_here and not box.first <= corner.section <= box.last:
                    yield i

    def _place(self, i: int, offset: int) -> None:
        box = self.boxes[i]
        self.trail.append((i, box.first, self.height[box.first]))
        self._set(i, offset, offset + box.size, -1)

    def _lose(self, section: int, height: int) -> bool:
        """Raise the floor of a section; whether that leaves room for what lives there."""
        if (lost := height - self.height[section]) > self.slack[section]:
            return False
        self.trail.append((-1, section, self.height[section]))
        self.slack[section] -= lost
        self.height[section] = height
        return True

    def _undo(self, mark: int) -> None:
        while len(self.trail) > mark:
            i, section, height = self.trail.pop()
            if i < 0:
                self.slack[section] += self.height[section] - height
                self.height[section] = height
            else:
                self._set(i, -1, height, 1)

    def _set(self, i: int, offset: int, height: int, count: int) -> None:
        box = self.boxes[i]
        for section in range(box.first, box.last + 1):
            self.height[section] = height
            self.count[section] += count
            self.crossing[section] += count * (section > box.first)
        self.offsets[i] = offset
        self.placed ^= 1 << i


def fit(boxes: Sequence[Box], capacity: int, states: int) -> Sequence[int] | None:
    """Offsets with which all boxes fit into `capacity`, or None where none were found: within so many `states` of the
    skyline in all, or because there are none."""
    if not boxes:
        return []
    random, left = Random(1), states
    lengths = [box.last - box.first + 1 for box in boxes]
    areas = [length * box.size for length, box in zip(lengths, boxes, strict=True)]
    orders = [[-length for length in lengths], [-box.size for box in boxes], [-area for area in areas], lengths]
    for number in count():
        order = orders[number // len(PREFERENCES) % len(orders)]
        turn = number // (len(PREFERENCES) * len(orders))
        noise = random.choice(NOISE) if turn % 2 else 0.0
        ranks = [rank * (1 + noise * random.random()) for rank in order]
        given = min(FIRST * GROWTH ** (turn // 2), left)
        found = _Skyline(boxes, capacity, PREFERENCES[number % len(PREFERENCES)], ranks, given)
        try:
            return found.offsets if found.solve() else None
        except _TooLong:
            left -= given
        if left <= 0:
            return None
    raise AssertionError("there is no end of tries")


FIRST = 500
"""The states of each try with an order and a preference, and then of each with ranks that are changed at random."""
GROWTH = 4
"""How many times as many each has when it comes to them again."""
NOISE = (0.1, 0.3, 1.0)
"""By how much ranks are changed."""
