"""Orders of tasks: of small programs none needs less memory than the one that is found."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from typing import Any

import pytest

from aotc.passes.memory.planner import schedule
from aotc.passes.memory.planner.program import Access, Program, Role, Storage, Task
from aotc.passes.memory.planner.schedule import least_memory_order


def peak(program: Program, order: Sequence[int]) -> int:
    """The most bytes of the arena that are alive at a task, where a result takes the memory of an operand that dies."""
    users = [[at for at, n in enumerate(order) if s in program.tasks[n].storages] for s in range(len(program.storages))]
    spans: dict[int, tuple[int, int]] = {}
    for s, (storage, at) in enumerate(zip(program.storages, users, strict=True)):
        if storage.role is Role.ARENA and at:
            spans[s] = (-1 if storage.from_start else at[0], len(order) if storage.to_end else at[-1])
    most = sum(program.storages[s].size for s, (first, _) in spans.items() if first < 0)
    for now, number in enumerate(order):
        live = {s for s, (first, last) in spans.items() if first <= now <= last}
        dying, born = ({s for s in live if spans[s][end] == now} for end in (1, 0))
        free, new = dying - born, set(born)
        for result, operand in program.tasks[number].in_place:
            if operand in free and result in new:
                live.discard(result)
                new.discard(result)
                free.discard(operand)
        most = max(most, sum(program.storages[s].size for s in live))
    return most


def orders(program: Program) -> list[tuple[int, ...]]:
    """All that are valid."""
    before = program.predecessors()
    count = range(len(program.tasks))
    return [
        order
        for order in itertools.permutations(count)
        if all(order.index(i) < order.index(n) for n in count for i in before[n])
    ]


def drawn(rng: random.Random) -> Program:
    """A program of five tasks, with results that several read, in place, in outputs and at both ends of time."""
    roles = (Role.ARENA, Role.ARENA, Role.ARENA, Role.ARENA, Role.FIXED, Role.OUTPUT)
    storages = [
        Storage(rng.randrange(1, 9), rng.choice(roles), from_start=rng.random() < 0.15, to_end=rng.random() < 0.15)
        for _ in range(8)
    ]
    whole = [Access(s, 0, storage.size) for s, storage in enumerate(storages)]
    tasks: list[Task] = []
    for number in range(5):
        reads, writes = rng.sample(range(min(2 + number, 7)), rng.randrange(1, 3)), [2 + number]
        if rng.random() < 0.3:
            writes.append(rng.randrange(2 + number))
        pairs = tuple((w, r) for w in writes for r in reads if rng.random() < 0.7)
        tasks.append(Task(tuple(whole[i] for i in reads), tuple(whole[i] for i in writes), pairs))
    return Program(tuple(storages), tuple(tasks))


@pytest.mark.parametrize("seed", range(8))
def test_no_order_needs_less(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(12):
        program = drawn(rng)
        valid = orders(program)
        found = tuple(least_memory_order(program))
        assert found in valid
        assert peak(program, found) == min(peak(program, order) for order in valid)


def _program(*tasks: tuple[str, str]) -> Program:
    """Tasks that read and write storages of 8 bytes each: `x` is an input, `y` and further ones are outputs."""
    names = sorted({name for task in tasks for name in "".join(task)})
    roles = [Role.FIXED if name == "x" else Role.OUTPUT if name >= "y" else Role.ARENA for name in names]
    read, written = ([tuple(Access(names.index(name), 0, 8) for name in task[end]) for task in tasks] for end in (0, 1))
    return Program(tuple(Storage(8, role) for role in roles), tuple(map(Task, read, written)))


def test_of_equal_orders_the_given_one() -> None:
    assert list(least_memory_order(_program(("x", "a"), ("x", "b"), ("ab", "y")))) == [0, 1, 2]


@pytest.mark.parametrize(
    ("program", "expansions", "tried"),
    [
        # what costs nothing is done without asking what else there is: 5 + 4 + .. + 1
        (_program(*(("x", name) for name in "yz{|}")), 128, 15),
        # of the three sets of one task the first alone goes on to two, which are as many as allowed
        (_program(("x", "a"), ("x", "b"), ("x", "c"), ("abc", "y")), 2, 3 + 2 + 2 + 1),
        (_program(("x", "a"), ("x", "b"), ("x", "c"), ("abc", "y")), 3, 3 + 4 + 3 + 1),
    ],
)
def test_so_many_orders_are_begun(
    program: Program, expansions: int, tried: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    count, extend = list[int](), schedule._Search.extend  # pyright: ignore[reportPrivateUsage]

    def counted(search: Any, state: Any, number: int) -> Any:
        count.append(number)
        return extend(search, state, number)

    monkeypatch.setattr(schedule._Search, "extend", counted)  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(schedule, "EXPANSIONS", expansions)
    least_memory_order(program)
    assert len(count) == tried
