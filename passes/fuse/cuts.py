"""Cuts of kernels in order into those that are computed together: the cheapest ones within a peak of memory.

Where a result trails an operand it begins below it, and the next one that trails this result begins below that: memory
above them is not free for what trails. So a chain of them needs more than each of its parts, and a cut is known by its
cost and by the bytes that lie above its last result (labels of a shortest path with a resource, of which those that
others are better than in both are dropped).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

ALIGNMENT = 16
"""Buffers begin at multiples of this many bytes."""


@dataclass(frozen=True)
class Trail:
    """A result that begins at least `below` bytes below an operand, which kernel `born` computes; sizes in bytes."""

    born: int
    operand: int
    below: int
    result: int


@dataclass(frozen=True)
class Part:
    """Kernels `start` to before `stop`, which are computed row by row, or one as it is."""

    start: int
    stop: int
    peak: int
    """Bytes of buffers while they run."""
    cost: float
    """Instructions beside those of each kernel alone."""
    rolls: bool = False
    trail: Trail | None = None
    """The largest result that trails what is before these kernels, where the peak counts both as little more than the
    larger one."""


@dataclass(frozen=True)
class _Cut:
    """Kernels up to one in parts."""

    cost: float
    above: int
    """Bytes above the last result that trails, beside itself."""
    part: Part | None = None
    """The last one."""
    before: _Cut | None = None

    def and_then(self, part: Part, peak: float) -> _Cut | None:
        """This cut and one more part; None where there is less memory than that."""
        above, trail = 0, part.trail
        if trail is not None:
            linked = self.part is not None and trail.born >= self.part.start
            end = (self.above if linked else 0) + trail.operand + trail.below
            if end > peak:
                return None
            above = max(end - trail.result, 0)
        return None if part.peak > peak else _Cut(self.cost + part.cost, above, part, self)


def cheapest(parts: Sequence[Part], count: int, peak: float) -> list[Part] | None:
    """The parts of the cut of least cost of `count` kernels, of some that are in order of what follows them, within a
    peak; None where there is none."""
    best: list[list[_Cut]] = [[_Cut(0.0, 0)], *([] for _ in range(count))]
    for part in parts:
        if part.peak > peak:
            continue
        others = best[part.stop]
        for cut in best[part.start]:
            new = cut.and_then(part, peak)
            if new is not None and not any(each.cost <= new.cost and each.above <= new.above for each in others):
                others[:] = [each for each in others if each.cost < new.cost or each.above < new.above]
                others.append(new)
    cut = min(best[count], key=lambda each: each.cost, default=None)
    if cut is None:
        return None
    found: list[Part] = []
    while cut is not None and cut.part is not None:
        found.append(cut.part)
        cut = cut.before
    return found[::-1]


def cost_of(cut: Sequence[Part] | None) -> float:
    """Instructions of the parts of a cut; of none, infinite."""
    return math.inf if cut is None else sum(part.cost for part in cut)


def least_peak(parts: Sequence[Part], count: int, most: float = math.inf) -> float:
    """The least peak of all cuts of `count` kernels into some parts of at most that cost; infinite where there is
    none."""

    def fits(size: float) -> bool:
        cut = cheapest(parts, count, size)
        return cut is not None and cost_of(cut) <= most

    if not fits(math.inf):
        return math.inf
    size = max((part.peak for part in parts), default=0) + ALIGNMENT
    while not fits(size):  # more lies above chains
        size *= 2
    sizes = range(0, size + ALIGNMENT, ALIGNMENT)
    return sizes[bisect_left(sizes, True, key=fits)]
