"""When rows are computed: stages keep pace, so that between two of them there are as few rows as can be.

Each stage computes rows at a constant rate: what has half as many, computes one in two steps, so that nothing comes in
bursts that would have to wait. A stage is ahead of the ones that read it by as many steps as its rows take that a row
of theirs needs, and no more, unless it is ahead of what it reads, too: where its rows are smaller than those, they wait
in their place. (Static schedules of synchronous data flow; software pipelining.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from aotc.dialects.axis_reads import AxisReads
from aotc.dialects.graph.shapes import ceil_div
from aotc.passes.kernel.rolling.rings import Steps

_GRAIN = 64
"""Steps are divided into at most so many."""


@dataclass(frozen=True)
class Link:
    """Rows of another actor that an actor reads."""

    actor: int
    reads: AxisReads


@dataclass(frozen=True)
class Actor:
    """The rows that a stage computes."""

    rows: int
    size: int
    """Bytes of all rows."""
    links: tuple[Link, ...]


@dataclass(frozen=True)
class Advance:
    """After step k, max(k * slope + start, 0) // unit rows are computed, but no more than there are."""

    slope: int
    start: int
    unit: int

    def rows(self, step: Steps) -> Steps:
        """Those after a step."""
        return np.maximum(step * self.slope + self.start, 0) // self.unit


class Pace:
    """When each of some actors, which are in order, computes its rows."""

    def __init__(self, actors: Sequence[Actor], most: int = 1) -> None:
        """With at most so many rows of each in a step."""
        self._actors, self._most = actors, most
        self._readers: list[list[tuple[int, AxisReads]]] = [[] for _ in actors]
        for number, actor in enumerate(actors):
            for link in actor.links:
                self._readers[link.actor].append((number, link.reads))
        self._rates = self._found_rates()
        self._ahead: list[Fraction] = self._found_ahead()
        self._hasten()

    @cached_property
    def advances(self) -> list[Advance]:
        """For each actor, how many rows it has computed after each step."""
        both = list(zip(self._rates, self._ahead, strict=True))
        before = min(math.ceil(1 / rate - ahead) - 1 for rate, ahead in both)  # the last step without rows
        found: list[Advance] = []
        for rate, ahead in both:
            start = rate * (before + ahead)
            unit = math.lcm(rate.denominator, start.denominator)
            found.append(Advance(int(rate * unit), int(start * unit), unit))
        return found

    @cached_property
    def steps(self) -> int:
        """How many there are."""
        both = zip(self._actors, self.advances, strict=True)
        return max(ceil_div(actor.rows * each.unit - each.start, each.slope) for actor, each in both)

    @cached_property
    def progress(self) -> list[Steps]:
        """For each actor, how many rows are computed at first and after every step."""
        steps = np.arange(self.steps + 1)
        return [
            np.minimum(each.rows(steps), actor.rows) for actor, each in zip(self._actors, self.advances, strict=True)
        ]

    def _found_rates(self) -> list[Fraction]:
        """Rows in a step."""
        rates: dict[int, Fraction] = {}
        for root in reversed(range(len(self._actors))):
            if root in rates:
                continue
            together, pending = {root: Fraction(1)}, [root]
            while pending:
                number = pending.pop()
                near = [
                    (link.actor, Fraction(link.reads.stride, link.reads.per)) for link in self._actors[number].links
                ]
                near += [(other, Fraction(reads.per, reads.stride)) for other, reads in self._readers[number]]
                for other, factor in near:
                    if other not in together:
                        together[other] = together[number] * factor
                        pending.append(other)
            most = max(together.values()) / self._most
            rates |= {number: rate / most for number, rate in together.items()}
        return [rates[number] for number in range(len(self._actors))]

    def _least(self, reader: int, reads: AxisReads, actor: int, ahead: Fraction) -> Fraction:
        """How far ahead an actor must be that is read by one that is so far `ahead`."""
        return _ceil(_needed(self._actors[reader].rows, reads, self._rates[reader], self._rates[actor]) + ahead)

    def _behind(self, wanted: int) -> dict[int, Fraction]:
        """How far ahead all must be that an actor depends on, which is not ahead."""
        found = {wanted: Fraction(0)}
        for number in reversed(range(wanted + 1)):
            if number in found:
                for link in self._actors[number].links:
                    least = self._least(number, link.reads, link.actor, found[number])
                    found[link.actor] = max(found.get(link.actor, least), least)
        return found

    def _found_ahead(self) -> list[Fraction]:
        """By how many steps each actor is ahead of where it would compute the first row after one row's time."""
        ends = [number for number, readers in enumerate(self._readers) if not readers]
        chains = sorted((self._behind(end) for end in ends), key=lambda chain: -max(chain.values()))
        found: dict[int, Fraction] = {}
        for chain in chains:  # what is shared is computed when the first one needs it; others come as soon as they can
            spares = [found[number] - ahead for number, ahead in chain.items() if number in found]
            spare = _floor(min(spares, default=Fraction(0)))
            found = {number: ahead + spare for number, ahead in chain.items()} | found
        return [found[number] for number in range(len(self._actors))]

    def _hasten(self) -> None:
        """Let what would wait for its readers be computed as soon as it can be, where what it reads takes more memory
        in the meantime."""
        ahead = self._ahead
        for number, actor in enumerate(self._actors):
            leads = {link: self._least(number, link.reads, link.actor, ahead[number]) for link in actor.links}
            spare = _floor(min((ahead[link.actor] - lead for link, lead in leads.items()), default=Fraction(0)))
            if spare <= 0 or not self._readers[number]:
                continue
            gain = Fraction(0)
            for link, lead in leads.items():
                near = (
                    self._least(other, reads, link.actor, ahead[other]) - lead
                    for other, reads in self._readers[link.actor]
                    if other != number
                )
                gain += max(min(min(near, default=spare), spare), 0) * self._bytes(link.actor)
            if gain > spare * self._bytes(number):
                ahead[number] += spare

    def _bytes(self, number: int) -> Fraction:
        """Bytes that an actor adds to memory in a step."""
        return self._actors[number].size * self._rates[number] / self._actors[number].rows


@lru_cache(maxsize=4096)
def _needed(rows: int, reads: AxisReads, rate: Fraction, own: Fraction) -> Fraction:
    """How much further ahead an actor must be whose rate is `own` than one that computes `rows` of it at a `rate`."""
    both = {1, rows}  # what is needed grows steadily in between
    return max(Fraction(each * reads.stride + reads.lead, reads.per) / own - each / rate for each in both)


def _ceil(steps: Fraction) -> Fraction:
    return steps if steps.denominator <= _GRAIN else Fraction(math.ceil(steps * _GRAIN), _GRAIN)


def _floor(steps: Fraction) -> Fraction:
    return steps if steps.denominator <= _GRAIN else Fraction(math.floor(steps * _GRAIN), _GRAIN)
