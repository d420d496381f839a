"""In which order the tasks of a program run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from aotc.passes.memory.planner.program import Program, Role

Scheduler = Callable[[Program], Sequence[int]]
"""A valid order of the program's tasks."""


def given_order(program: Program) -> Sequence[int]:
    """The order the program came in."""
    return range(len(program.tasks))


EXPANSIONS = 128
"""Partial schedules that are extended for each task; more finds better orders of wide graphs and takes longer."""


@dataclass(frozen=True, slots=True)
class _State:
    """A set of tasks that have run, as a bit mask, with the cheapest way found to run exactly those: the bytes that are
    alive after them, and at most, are counted from those before the first."""

    done: int
    live: int
    peak: int
    task: int
    parent: _State | None

    def order(self) -> list[int]:
        tasks: list[int] = []
        state = self
        while state.parent is not None:
            tasks.append(state.task)
            state = state.parent
        return tasks[::-1]


class _Search:
    def __init__(self, program: Program) -> None:
        self.program = program
        before_each = program.predecessors()
        self.predecessors = [sum(1 << i for i in before) for before in before_each]
        self.successors: list[list[int]] = [[] for _ in program.tasks]
        for number, before in enumerate(before_each):
            for i in before:
                self.successors[i].append(number)
        self.users = [0] * len(program.storages)
        for number, task in enumerate(program.tasks):
            for storage in task.storages:
                self.users[storage] |= 1 << number
        self.arena = [[s for s in task.storages if program.storages[s].role is Role.ARENA] for task in program.tasks]

    def extend(self, state: _State, number: int) -> _State:
        """Run one more task: its new storages join the living ones, and what nobody needs any more leaves."""
        storages, users, done = self.program.storages, self.users, state.done
        after = done | 1 << number
        born = {s for s in self.arena[number] if not users[s] & done and not storages[s].from_start}
        dead = {s for s in self.arena[number] if not users[s] & ~after and not storages[s].to_end}
        during = state.live + sum(storages[s].size for s in born)
        live = during - sum(storages[s].size for s in dead)
        free = dead - born
        for result, operand in self.program.tasks[number].in_place:
            if operand in free and result in born:
                during -= storages[result].size
                born.discard(result)
                free.discard(operand)
        for result, operand, distance in self.program.tasks[number].trails:
            if operand in free and result in born:
                during -= max(min(storages[operand].size, storages[result].size - distance), 0)
                born.discard(result)
                free.discard(operand)
        return _State(after, live, max(state.peak, during), number, state)

    def ready(self, state: _State, candidates: tuple[int, ...]) -> tuple[int, ...]:
        """The tasks that may run next, given those that could before the last one ran."""
        new = [n for n in self.successors[state.task] if not self.predecessors[n] & ~state.done]
        return tuple(sorted({*candidates, *new} - {state.task}))


def least_memory_order(program: Program) -> Sequence[int]:
    """An order with few bytes alive at once: a beam search over the sets of tasks that have run.

    Of two ways to run the same set only the one with the lower peak is kept, so the result is exact as long as no more
    than EXPANSIONS candidates arise at a task. Ties prefer the given order.
    """
    search = _Search(program)
    roots = tuple(n for n, before in enumerate(search.predecessors) if not before)
    beam: list[tuple[_State, tuple[int, ...]]] = [(_State(0, 0, 0, -1, None), roots)]
    for _ in program.tasks:
        best: dict[int, tuple[_State, tuple[int, ...]]] = {}
        expansions = 0
        for state, ready in beam:
            candidates = [search.extend(state, number) for number in ready]
            # A task that raises neither the peak nor the live bytes can only help whatever comes next.
            free = [c for c in candidates if c.peak == state.peak and c.live <= state.live]
            for candidate in free[:1] or candidates:
                known = best.get(candidate.done)
                if known is None or candidate.peak < known[0].peak:
                    best[candidate.done] = (candidate, ready)
            expansions += len(candidates)
            if expansions >= EXPANSIONS:
                break
        ranked = sorted(best.values(), key=lambda entry: (entry[0].peak, entry[0].live))
        beam = [(state, search.ready(state, ready)) for state, ready in ranked]
    return beam[0][0].order()


SCHEDULERS: dict[str, Scheduler] = {"given": given_order, "least-memory": least_memory_order}
"""Ways to order a program, the preferred one at equal memory first."""
