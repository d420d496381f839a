"""Results that trail operands: by how many bytes, and where the planner puts them."""

from __future__ import annotations

import random

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.func import Func
from xdsl.parser import Parser

from aotc.dialects.aot import AOT
from aotc.dialects.graph import GRAPH
from aotc.dialects.graph.compound.rolled import RolledOp
from aotc.passes.fuse.reads import trailing
from aotc.passes.fuse.roll_rows import RollRowsPass
from aotc.passes.memory.planner.placement import PORTFOLIO, Buffer, Placement, place, validate
from aotc.passes.memory.planner.plan import plan_memory
from aotc.passes.memory.planner.program import Access, Program, Role, Storage, Task

ROW = 8 * 4
"""Bytes of a row of the pictures below."""


def pool(name: str, operand: str, rows: int, size: int, stride: int, pad: int) -> tuple[str, int]:
    """A group with a window over `size` rows of `operand`, and how many rows it has."""
    count = (rows + 2 * pad - size) // stride + 1
    x, y = (f"tensor<1x1x{extent}x8x4xi8>" for extent in (rows, count))
    attributes = (
        f"kernel = array<i64: {size}, 1>, strides = array<i64: {stride}, 1>, pads = array<i64: {pad}, 0, {pad}, 0>"
    )
    text = f"""{name} = graph.fused (%a = {operand} : {x}) -> ({y}) attributes {{roll = 0 : i64}} {{
      %p = graph.max_pool %a {{{attributes}, dilations = array<i64: 1, 1>}} : ({x}) -> {y}
      graph.yield %p : {y}
    }}"""
    return text, count


def distances(body: str, result: str, rows: int, count: int) -> list[list[int]]:
    """How far a result of `count` rows trails a picture %x of `rows` in the kernel that computes it."""
    x, y = (f"tensor<1x1x{extent}x8x4xi8>" for extent in (rows, count))
    context = Context()
    for dialect in (Builtin, Func, AOT, GRAPH):
        context.load_dialect(dialect)
    entry = f"func.func @main(%x: {x}) -> {y} attributes {{aot.entry}} {{ {body}\n func.return {result} : {y} }}"
    module = Parser(context, entry).parse_module()
    RollRowsPass().apply(context, module)
    (rolled,) = (op for op in module.walk() if isinstance(op, RolledOp))
    assert rolled.parent is not None
    return [list(each) for each in trailing(rolled.parent, rolled.results[:1])]


@pytest.mark.parametrize(
    ("size", "stride", "pad", "needed"),
    [(1, 1, 0, 1), (3, 1, 1, 2), (5, 1, 2, 3), (3, 1, 0, 1), (2, 2, 0, 1), (3, 2, 1, 1)],
)
def test_a_window_is_written_behind_what_it_reads(size: int, stride: int, pad: int, needed: int) -> None:
    """One row, that which is written, and those above it that the next ones see."""
    text, count = pool("%0", "%x", 12, size, stride, pad)
    assert distances(text, "%0", 12, count) == [[needed * ROW]]


def test_stages_between_give_way() -> None:
    """A row of the second window comes a row behind the first one's, and that sees a row above its own."""
    first, rows = pool("%0", "%x", 12, 3, 1, 1)
    second, count = pool("%1", "%0", rows, 3, 1, 1)
    assert distances(f"{first}\n{second}", "%1", 12, count) == [[0]]


def test_what_is_read_at_any_time_is_apart() -> None:
    """The first row is read for the last one, too."""
    x, from_below = "tensor<1x1x12x8x4xi8>", "starts = array<i64: 0, 0, 11, 0, 0>, steps = array<i64: 1, 1, -1, 1, 1>"
    text = f"""%0 = graph.fused (%a = %x : {x}) -> ({x}) attributes {{roll = 0 : i64}} {{
      %r = graph.slice %a {{{from_below}, shape = array<i64: 1, 1, 12, 8, 4>}} : ({x}) -> {x}
      %s = graph.add %a, %r : ({x}, {x}) -> {x}
      graph.yield %s : {x}
    }}"""
    assert distances(text, "%0", 12, 12) == [[-1]]


def chain(*distances: int, size: int = 64) -> Program:
    """Storages in a row, each of which trails the one before."""
    count = len(distances) + 1
    storages = tuple(Storage(size, Role.ARENA) for _ in range(count))
    accesses = [Access(number, 0, size) for number in range(count)]
    tasks = [Task((), (accesses[0],))]
    for number, distance in enumerate(distances):
        trails = ((number + 1, number, distance),) if distance < size else ()
        tasks.append(Task((accesses[number],), (accesses[number + 1],), trails=trails))
    return Program(storages, tuple(tasks))


def test_a_chain_takes_all_distances() -> None:
    plan = plan_memory(chain(16, 16, 16), 16, "given")
    assert plan.placement.peak == 64 + 3 * 16 and plan.placement.lower_bound == 64 + 16
    assert plan_memory(chain(16, 64, 16), 16, "given").placement.peak == 128
    assert plan_memory(chain(16, 16, 16), 16, "given", in_place=False).placement.peak == 128


def test_only_the_last_reader_is_overwritten() -> None:
    """The first storage is read again later, so that the second one is apart from it."""
    program = chain(16)
    again = Task((Access(0, 0, 64), Access(1, 0, 64)), ())
    assert plan_memory(Program(program.storages, (*program.tasks, again)), 16, "given").placement.peak == 128


def test_a_placement_keeps_distances() -> None:
    """Whatever lives together is apart, or one trails the other; nothing else is valid."""
    rng = random.Random(3)
    for _ in range(30):
        buffers: list[Buffer] = []
        trails: dict[tuple[int, int], int] = {}
        for number in range(rng.randrange(2, 9)):
            buffers.append(Buffer(f"chain {number}", rng.randrange(16, 200), number, number + 1))
            if number and rng.random() < 0.8:
                trails[number, number - 1] = rng.randrange(0, 64)
        for _ in range(rng.randrange(0, 4)):
            first = rng.randrange(len(buffers))
            buffers.append(Buffer("other", rng.randrange(16, 100), first, first + rng.randrange(3)))
        found, apart = place(buffers, 16, trails=trails), place(buffers, 16)
        assert found.lower_bound <= found.peak <= apart.peak
        validate(buffers, found, trails)


@pytest.mark.parametrize("seed", [2, 14, 20, 29, 48])
def test_orders_are_tried(seed: int) -> None:
    """Pictures in a row, each of which trails the one before, with rings beside them: no fixed order is the best."""
    rng, buffers, trails = random.Random(seed), list[Buffer](), dict[tuple[int, int], int]()
    before = 0
    for step in range(7):
        buffers.append(Buffer("picture", rng.randrange(8, 40), step, step + 1))
        if step:
            trails[len(buffers) - 1, before] = rng.randrange(0, 6)
        before = len(buffers) - 1
        buffers += [Buffer("ring", rng.randrange(1, 20), step, step) for _ in range(2)]
    found, fixed = place(buffers, 1, trails=trails), place(buffers, 1, PORTFOLIO[:-1], trails=trails)
    assert found.peak == found.lower_bound < fixed.peak


def test_a_distance_is_a_condition() -> None:
    buffers = [Buffer("operand", 64, 0, 1), Buffer("result", 64, 1, 2)]
    validate(buffers, Placement((16, 0), 80, 64, 16), {(1, 0): 16})
    for offsets, distance in (((16, 0), 17), ((0, 16), 16)):
        with pytest.raises(ValueError, match="overlap"):
            validate(buffers, Placement(offsets, 80, 64, 16), {(1, 0): distance})
