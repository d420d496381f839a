"""Splitting of index spaces, against counting."""

from __future__ import annotations

import itertools
import random

import pytest

from aotc.passes.kernel.builders.space_builder import Affine, Loop, Refinement, Space, Term, divided, is_natural

Point = tuple[int, ...]


def value(form: Affine, at: dict[Loop, int]) -> int:
    return form.constant + sum(factor * at[term] for term, factor in form.factors.items() if isinstance(term, Loop))


def positions(space: Space) -> list[dict[Loop, int]]:
    ranges = [range(loop.extent) for loop in space.loops]
    return [dict(zip(space.loops, point, strict=True)) for point in itertools.product(*ranges)]


def points(space: Space) -> list[Point]:
    return [tuple(value(form, at) for form in space.index) for at in positions(space)]


@pytest.mark.parametrize("refinement", [(0, 1, False), (0, 6, False), (1, 3, True), (1, 4, True), (0, 6, True)])
def test_a_split_space_has_the_same_points_in_order(refinement: tuple[int, int, bool]) -> None:
    space = Space.of((7, 1, 9))
    axis, size, periodic = refinement
    parts = space.refined(Refinement(space.loops[axis], size, periodic))
    together = [point for part in parts for point in points(part)]
    assert sorted(together) == points(space)
    if axis == 0:
        assert together == points(space)


def forms() -> list[tuple[Space, Affine]]:
    """Random forms of up to three loops."""
    source = random.Random(5)
    found: list[tuple[Space, Affine]] = []
    for _ in range(300):
        space = Space.of(tuple(source.choice((2, 3, 5, 8, 16)) for _ in range(source.choice((1, 2, 3)))))
        factors: dict[Term, int] = {loop: source.choice((-8, -4, -1, 1, 2, 4, 8, 16)) for loop in space.loops}
        found.append((space, Affine(source.randint(-20, 20), factors)))
    return found


def settled(space: Space, form: Affine, by: int) -> int:
    """Split until quotients and remainders are forms; check these and return in how many spaces they are none."""
    found = divided(form, by)
    if isinstance(found, Refinement):
        tracked = Space(space.loops, (*space.index, form))
        return sum(settled(Space(part.loops, part.index[:-1]), part.index[-1], by) for part in tracked.refined(found))
    if found is None:
        return 1
    for at in positions(space):
        assert (value(found[0], at), value(found[1], at)) == divmod(value(form, at), by)
    return 0


@pytest.mark.parametrize("by", [1, 4, 7, 16])
def test_quotients_and_remainders(by: int) -> None:
    for space, form in forms():
        settled(space, form, by)


def test_what_becomes_affine() -> None:
    space = Space.of((5, 48))
    row, column = space.loops
    assert settled(space, Affine(3, {column: 1}), 16) == 0
    assert settled(space, Affine(0, {row: 48, column: 1}), 48) == 0
    assert settled(space, Affine(0, {row: 48, column: 1}), 16) == 0
    assert settled(space, Affine(47, {column: -1}), 16) == 0
    assert settled(space, Affine(0, {row: 48, column: 1}), 7) > 0


def test_signs() -> None:
    for space, form in forms():
        pending, rounds = [Space(space.loops, (form,))], 0
        while pending and rounds < 1000:
            part = pending.pop()
            rounds += 1
            found = is_natural(part.index[0])
            if isinstance(found, Refinement):
                pending += part.refined(found)
            else:
                assert all((point[0] >= 0) == found for point in points(part))
        assert not pending


def test_a_condition_on_one_index_takes_two_spaces() -> None:
    space = Space.of((40,))
    found = is_natural(Affine(-17, {space.loops[0]: 1}))
    assert isinstance(found, Refinement)
    assert [part.loops[0].extent for part in space.refined(found)] == [17, 23]


def test_runs_of_a_loop_are_two_loops_and_a_tail() -> None:
    space = Space.of((10,))
    parts = space.refined(Refinement(space.loops[0], 4, periodic=True))
    assert [[loop.extent for loop in part.loops] for part in parts] == [[2, 4], [2]]
