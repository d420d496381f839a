"""Walks down decision trees: several trees at a time, until all of them are at a leaf."""

from __future__ import annotations

import math
from functools import reduce

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from aotc.dialects.builder import Scalar
from aotc.dialects.graph.interfaces import element_type_of, producer, shape_of
from aotc.dialects.graph.schedules import Schedule, TreeSchedule
from aotc.dialects.graph.shapes import ceil_div
from aotc.dialects.graph.structure import ConstantOp
from aotc.dialects.graph.trees.leaves import TreeLeavesOp
from aotc.dialects.graph.trees.packed import MaskedTreeLeavesOp, PackedTreeLeavesOp, PackTreeMasksOp, PackTreesOp
from aotc.machines.machine import Core, Machine
from aotc.passes.kernel.layouts import Layouts
from aotc.passes.kernel.nest import Nest
from aotc.passes.kernel.strategies.trees.masks_strategy import is_masked_best
from aotc.passes.kernel.strategy import KernelStrategy, Prologue, Strategies

_TREES = 12
"""Walks that keep a core busy while each waits: a step takes some 20 cycles, and a tenth of that in instructions."""
_STEPS = 2
_STEP = 2
"""Cycles of a step of one walk beside others."""
_BRANCH = 5
"""Instructions of a node that is a branch: its feature and threshold, a comparison with its flags, a jump."""
_MOST_BRANCHES = 4096
"""Nodes: a branch takes two to three times the memory of a row of the tables, and a third of the instructions."""
_MOST_NESTED = 32
"""Levels of branches that every C compiler takes, with those around them (C99 has 127)."""
_ROWS = 64
"""Rows that walk down a group of trees before the next group: its nodes stay in the first cache."""


def _walk_down(nest: Nest[PackedTreeLeavesOp, TreeSchedule]) -> None:
    """Groups of trees, whose steps are written one after the other."""
    op, b, schedule, (rows, trees) = nest.op, nest.b, nest.schedule, nest.shape

    def group(row: Scalar, first: Scalar, size: int) -> None:
        walk = op.walker(b, nest.reads, row)

        def on(nodes: list[Scalar]) -> list[Scalar]:
            for _ in range(schedule.steps):
                nodes = [walk.step(node) for node in nodes]
            return nodes

        def unless_done(_: list[Scalar], nodes: list[Scalar]) -> list[Scalar]:
            return b.when(walk.goes_on(reduce(b.min, nodes)), lambda: on(nodes), lambda: nodes)

        places = [first + number for number in range(size)]
        rounds = ceil_div(op.depth, schedule.steps)
        nodes = b.reduce([(0, rounds)], [walk.root(place) for place in places], unless_done)
        for place, node in zip(places, nodes, strict=True):
            nest.write([row, place], walk.leaf(node))

    def block(row: Scalar, height: int) -> None:
        def at(first: Scalar, size: int) -> None:
            b.sequential_range(0, height, 1, lambda number: group(row + number, first, size))

        b.sequential_range(0, height, 1, lambda number: op.prepare(b, nest.reads, nest.writes, row + number))
        b.sequential_segments(trees, schedule.trees, at)

    b.parallel_segments(rows, schedule.rows, block)


class PackedWalkStrategy(KernelStrategy[PackedTreeLeavesOp]):
    """Several trees at once: their walks overlap."""

    SCHEDULES = (TreeSchedule,)
    TILES = False
    PROLOGUES = (Prologue.STORED,)

    def nest(self, nest: Nest[PackedTreeLeavesOp, TreeSchedule]) -> None:
        _walk_down(nest)

    def schedule(self, op: PackedTreeLeavesOp, machine: Machine) -> Schedule | None:
        rows, trees = (max(extent, 1) for extent in shape_of(op.result))
        return TreeSchedule(1, min(_ROWS, rows), min(_TREES, trees), min(_STEPS, max(op.depth, 1)))


def _steps(op: TreeLeavesOp) -> int:
    """The most nodes that all walks ask."""
    return math.prod(shape_of(op.result)) * op.depth


class WalkStrategy(KernelStrategy[TreeLeavesOp]):
    """Where processors have vectors, and features are f32, trees are packed."""

    SCHEDULES = (TreeSchedule,)

    def schedule(self, op: TreeLeavesOp, machine: Machine) -> Schedule | None:
        if element_type_of(op.x) != f32:
            return None
        if is_masked_best(op, machine):
            return TreeSchedule(machine.vector_bytes // 4, 1, 1, 1, packed=True, masks=True)
        return TreeSchedule(1, 1, 1, 1, packed=True)

    def cost(self, op: TreeLeavesOp, schedule: TreeSchedule, machine: Machine) -> float:
        return _steps(op) * _STEP

    def lower(self, op: TreeLeavesOp, layouts: Layouts, schedule: TreeSchedule) -> SSAValue | None:
        if not schedule.packed:
            return None
        tables = op.features, op.thresholds, op.children, op.missing
        if any(value is not None and producer(value, ConstantOp) is None for value in tables):
            return None
        missing = op.missing is not None
        if schedule.masks and op.most is not None and producer(op.roots, ConstantOp) is not None:
            options = {"features": shape_of(op.x)[1], "nodes": op.most, "lanes": schedule.lanes}
            masks = layouts.add(PackTreeMasksOp.get(*tables[:3], op.roots, op.missing, **options))
            trees, to = shape_of(op.roots)[0], element_type_of(op.roots)
            layouts.add(MaskedTreeLeavesOp.get(op.x, masks, trees=trees, to=to, missing=missing))
            return layouts.added[-1].results[0]
        nodes = layouts.add(PackTreesOp.get(*tables, features=shape_of(op.x)[1], leaves=op.leaves))
        inner = shape_of(op.features)[0]
        layouts.add(PackedTreeLeavesOp.get(op.x, nodes, op.roots, depth=op.depth, inner=inner, missing=missing))
        return layouts.added[-1].results[0]


class BranchesStrategy(KernelStrategy[TreeLeavesOp]):
    """Without vectors, trees may be branches: `branch-trees` makes code of them."""

    ON_VECTORS = False
    SCHEDULES = (TreeSchedule,)

    def schedule(self, op: TreeLeavesOp, core: Core) -> Schedule | None:
        few = shape_of(op.features)[0] <= _MOST_BRANCHES and op.depth <= _MOST_NESTED
        return TreeSchedule(1, 1, 1, 1, branches=True) if few and not core.small else None

    def cost(self, op: TreeLeavesOp, schedule: TreeSchedule, core: Core) -> float:
        return _steps(op) * _BRANCH


STRATEGIES: Strategies = {
    TreeLeavesOp: (WalkStrategy(), BranchesStrategy()),
    PackedTreeLeavesOp: (PackedWalkStrategy(),),
}
