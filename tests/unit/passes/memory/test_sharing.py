"""Which storages share memory, in the arena and in outputs; and into which gap a buffer goes."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from aotc.passes.memory.planner.placement import Buffer, Placement, Problem, _fill, validate  # pyright: ignore[reportPrivateUsage]
from aotc.passes.memory.planner.plan import MemoryPlan, plan_memory
from aotc.passes.memory.planner.program import Access, Program, Role, Storage, Task

ROLES = {"x": Role.FIXED, "y": Role.OUTPUT, "z": Role.OUTPUT, "s": Role.STATE}


def planned(sizes: dict[str, int], tasks: str, in_place: bool = True) -> tuple[MemoryPlan, dict[str, str], int]:
    """Of tasks as `x>a a>b! ..`, in the order given: `ab>c` reads a and b, `!` lets c take the memory of any of them,
    and `+` in front says that the task is pushed.
    With the plan, in which output each storage is that lies in one, and the bytes of the arena."""
    names = list(sizes)
    whole = [Access(number, 0, size) for number, size in enumerate(sizes.values())]
    steps: list[Task] = []
    for step in tasks.split():
        reads, writes = step.strip("+!").split(">")
        read, written = ([names.index(name) for name in each] for each in (reads, writes))
        pairs = tuple((result, operand) for result in written for operand in read) if step.endswith("!") else ()
        touched = (tuple(whole[i] for i in places) for places in (read, written))
        steps.append(Task(*touched, in_place=pairs, pushed=step.startswith("+")))
    storages = tuple(Storage(size, ROLES.get(name, Role.ARENA)) for name, size in sizes.items())
    plan = plan_memory(Program(storages, tuple(steps)), 1, "given", in_place)
    hosts = {names[s]: names[block.host] for block in plan.hosted for s in block.storages if block.host is not None}
    return plan, hosts, plan.placement.peak


@pytest.mark.parametrize(
    ("sizes", "tasks", "hosts", "peak"),
    [
        # y is read by nothing and written by nothing
        ({"x": 8, "a": 9, "y": 9, "z": 8}, "x>a a>z", {}, 9),
        # a is read where y is written
        ({"x": 8, "a": 9, "y": 9}, "x>a a>y", {}, 9),
        # y is written before a dies, z after that
        ({"x": 8, "a": 9, "b": 1, "y": 9, "z": 9}, "x>a a>y a>b b>z", {"a": "z"}, 1),
        # both would do
        ({"x": 8, "a": 9, "b": 1, "y": 9, "z": 9}, "x>a a>b b>yz", {"a": "y"}, 1),
        # one of two that live together
        ({"x": 8, "a": 9, "b": 8, "c": 1, "y": 9}, "x>a x>b ab>c c>y", {"a": "y"}, 9),
        # both, one after the other
        ({"x": 8, "a": 9, "b": 1, "c": 9, "d": 1, "y": 9}, "x>a a>b b>c c>d d>y", {"a": "y", "c": "y"}, 1),
        # that would leave the arena as large as it is
        ({"x": 8, "a": 5, "b": 1, "c": 9, "y": 9}, "x>a a>b b>c c>y", {}, 10),
        # a alone makes it smaller
        ({"x": 8, "a": 9, "b": 10, "c": 1, "d": 2, "e": 1, "y": 9}, "x>a a>b b>c c>d d>e ce>y", {"a": "y"}, 11),
        # z has a chain from the start, which is nothing to y
        ({"x": 8, "b": 7, "z": 7, "a": 9, "c": 1, "y": 9}, "x>b b>z! x>a a>c c>y", {"b": "z", "a": "y"}, 1),
        # y has one itself: before it a fits in there
        ({"x": 8, "a": 9, "c": 1, "b": 9, "y": 9}, "x>a a>c c>b b>y!", {"b": "y", "a": "y"}, 1),
        ({"x": 8, "b": 9, "a": 9, "c": 1, "y": 9}, "x>b x>a a>c bc>y!", {"b": "y"}, 10),
        # a, and what is read with it, stays from one run to the next; b does not, nor do those before
        ({"x": 8, "a": 9, "b": 9, "c": 1, "y": 9}, "+x>a a>b b>c c>y", {"b": "y"}, 9),
        ({"x": 8, "a": 9, "b": 1, "c": 1, "y": 9}, "x>a +xa>b b>c c>y", {}, 10),
        ({"x": 8, "a": 9, "b": 1, "c": 1, "y": 9}, "x>a a>b +xb>c c>y", {"a": "y"}, 2),
        # nor is y written over a while it does
        ({"x": 8, "a": 9, "y": 9}, "+x>a a>y!", {}, 9),
        ({"x": 8, "a": 9, "b": 9, "y": 9}, "+x>a a>b b>y!", {"b": "y"}, 9),
        # larger than the output
        ({"x": 8, "a": 9, "b": 1, "y": 8}, "x>a a>b b>y", {}, 10),
    ],
)
def test_outputs_are_memory_before_they_are_written(
    sizes: dict[str, int], tasks: str, hosts: dict[str, str], peak: int
) -> None:
    assert planned(sizes, tasks)[1:] == (hosts, peak)


def test_nothing_is_shared_unless_that_is_wanted() -> None:
    plan, hosts, _ = planned({"x": 8, "a": 9, "s": 3, "y": 1}, "x>a a>s s>y", in_place=False)
    assert [block.storages for block in plan.blocks] == [(1,), (2,)] and hosts == {}


def test_a_result_takes_the_memory_of_one_operand() -> None:
    plan, _, peak = planned({"x": 8, "a": 9, "b": 9, "c": 9, "y": 1}, "x>a x>b ab>c! c>y")
    assert [block.storages for block in plan.blocks] == [(1, 3), (2,)] and peak == 18


def test_parts_of_several_storages_are_apart() -> None:
    assert Access(0, 0, 8).overlaps(Access(0, 7, 9)) and not Access(0, 0, 8).overlaps(Access(1, 0, 8))


STACK = ((0, 1), (0, 0))
"""Lifetimes of what bounds gaps, and of what leaves one."""


@pytest.mark.parametrize(
    ("gaps", "first", "best"),
    [((32, 16, 48), 16, 64), ((32, 16, 16), 16, 64), ((16, 32), 16, 16), ((0, 8, 8), 48, 48)],
)
def test_the_first_gap_and_the_tightest(gaps: Sequence[int], first: int, best: int) -> None:
    """Of bounds of 16 with gaps between them, one below the first."""
    for base, has_bottom in ((0, True), (-16, False)):
        rows = [Buffer("bottom", 16, *STACK[0])] if has_bottom else []
        for gap in gaps:
            rows += [Buffer("gap", gap, *STACK[1]), Buffer("bound", 16, *STACK[0])]
        rows.append(Buffer("last", 16, 1, 1))
        problem = Problem(rows, 1)
        end = sum(row.size for row in rows[:-1])
        for best_fit, wanted in ((False, first), (True, best)):
            found = _fill(problem, range(len(rows)), None, best_fit)
            assert found is not None
            assert found[-1] == (wanted + base if max(gaps) >= 16 else end)


@pytest.mark.parametrize(("limit", "fits"), [(17, True), (16, False)])
def test_no_buffer_ends_at_the_limit(limit: int, fits: bool) -> None:
    assert (_fill(Problem([Buffer("b", 16, 0, 0)], 1), [0], limit) is not None) == fits


def test_no_offset_is_below_the_arena() -> None:
    with pytest.raises(ValueError, match="outside"):
        validate([Buffer("b", 16, 0, 0)], Placement((-16,), 16, 16, 16))
