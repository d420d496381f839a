"""When rows are computed: never before what they need is there, and not much earlier than they are needed."""

import numpy as np
import pytest

from aotc.dialects.axis_reads import AxisReads
from aotc.passes.kernel.rolling.pace import Actor, Link, Pace

WINDOWS = (
    *((1, 1, 0, 0), (1, 1, -1, 1), (2, 1, -1, 1), (2, 1, 0, 1)),  # one by one, of three, every second one, of two
    *((1, 2, 0, 0), (1, 2, 0, 1), (5, 8, -3, 4), (1, 1, 2, 2)),  # twice each, transposed, resized, cropped
)
"""stride, per, low and high"""


def drawn(seed: int) -> list[Actor]:
    """Tasks that read some of those before, by any windows."""
    r = np.random.default_rng(seed)
    actors = [Actor(int(r.integers(8, 40)), 100, ())]
    for number in range(1, 9):
        links = []
        for other in {number - 1, int(r.integers(0, number))}:
            stride, per, low, high = WINDOWS[int(r.integers(0, len(WINDOWS)))]
            links.append(Link(other, AxisReads(2, stride, per, low, high)))
        rows = min(max(actors[link.actor].rows * link.reads.per // link.reads.stride, 1) for link in links)
        actors.append(Actor(rows, int(r.integers(1, 9)) * 50, tuple(links)))
    return actors


@pytest.mark.parametrize("seed", range(20))
def test_rows_are_there_when_they_are_needed(seed: int) -> None:
    actors = drawn(seed)
    pace = Pace(actors)
    for actor, made in zip(actors, pace.progress, strict=True):
        assert made[0] == 0 and made[-1] == actor.rows
        for link in actor.links:
            last = ((made - 1) * link.reads.stride + link.reads.high) // link.reads.per
            needed = np.where(made > 0, np.minimum(last + 1, actors[link.actor].rows), 0)
            assert (pace.progress[link.actor] >= needed).all()


def test_what_is_repeated_comes_at_half_the_pace() -> None:
    actors = [Actor(8, 8, ()), Actor(16, 16, (Link(0, AxisReads(2, 1, 2)),)), Actor(16, 16, (Link(1, AxisReads(2)),))]
    first, second, third = Pace(actors).progress
    assert second.tolist() == third.tolist() == list(range(17)) and first.tolist() == [(n + 1) // 2 for n in range(17)]


@pytest.mark.parametrize(("size", "waits"), [(10, True), (1000, False)])
def test_the_smaller_one_waits(size: int, waits: bool) -> None:
    """A sum of what eight windows of three rows behind each other make of x, and of another function of x."""
    actors = [Actor(40, 100, ())]
    actors += [Actor(40, 100, (Link(number, AxisReads(2, low=-1, high=1)),)) for number in range(8)]
    actors.append(Actor(40, size, (Link(0, AxisReads(2)),)))
    actors.append(Actor(40, 100, (Link(8, AxisReads(2)), Link(9, AxisReads(2)))))
    made = Pace(actors).progress
    assert (np.abs(made[9] - made[0]).max() == 0) == waits and (np.abs(made[9] - made[10]).max() == 0) != waits
