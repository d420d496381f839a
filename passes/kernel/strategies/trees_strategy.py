"""Decision trees: walks down several of them at a time, or all nodes of small ones, a tree in each lane."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from aotc.dialects.builder import INDEX, Scalar
from aotc.dialects.graph.interfaces import element_type_of, producer, shape_of
from aotc.dialects.graph.schedules import Schedule, TreeSchedule
from aotc.dialects.graph.shapes import ceil_div, segments
from aotc.dialects.graph.structure import ConstantOp
from aotc.dialects.graph.trees import packed
from aotc.dialects.graph.trees.leaves import TreeLeavesOp
from aotc.machines.machine import Core, Machine
from aotc.passes.kernel.builders.tiles import Tile
from aotc.passes.kernel.layouts import Layouts
from aotc.passes.kernel.nest import Nest
from aotc.passes.kernel.strategy import KernelStrategy, Prologue, Strategies

_SHARE = 4
"""One register of so many holds features: each two of them take two or more instructions for every node, and all stay
in registers."""
_NODES = 4
"""In one iteration of the loop over nodes."""
_ROWS = 64
"""Rows that go through a group of trees before the next group: its nodes stay in the first cache."""
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


def is_masked_best(op: TreeLeavesOp, machine: Machine) -> bool:
    """Whether masks are faster than walks: where trees are small, and registers hold all features."""
    lanes = machine.vector_bytes // 4
    copies = 1 if op.missing is None else 2
    few = copies * shape_of(op.x)[1] <= machine.registers // _SHARE * lanes
    return machine.picks and few and op.most is not None and 0 < op.most <= packed.MOST_NODES


def _in_groups(
    nest: Nest[packed.MaskedTreeLeavesOp | packed.PackedTreeLeavesOp, TreeSchedule],
    most: int,
    group: Callable[[Scalar, Scalar, int], None],
) -> None:
    """Some rows, then all trees for each of them, at most so many at a time: a row, the first tree, how many."""
    b, (rows, trees) = nest.b, nest.shape

    def block(row: Scalar, height: int) -> None:
        def at(first: Scalar, size: int) -> None:
            b.sequential_range(0, height, 1, lambda number: group(row + number, first, size))

        b.sequential_range(0, height, 1, lambda number: nest.op.prepare(b, nest.reads, nest.writes, row + number))
        b.sequential_segments(trees, most, at)

    b.parallel_segments(rows, nest.schedule.rows, block)


@dataclass(frozen=True)
class _MaskedNest(Nest[packed.MaskedTreeLeavesOp, TreeSchedule]):
    """As many trees at a time as there are lanes."""

    def emit(self) -> None:
        _in_groups(self, self.lanes, self._group)

    def _group(self, row: Scalar, first: Scalar, size: int) -> None:
        """`size` trees from `first` on, for one row of features."""
        b, op, schedule, (_, tables, _, bits) = self.b, self.op, self.schedule, self.reads
        tile = Tile((1, schedule.lanes))
        group, lane = first / b.index(schedule.lanes), tile.index(b, 0, {-1: 1})
        features = self._features(row)

        def ask(node: Scalar, carried: list[Scalar], count: int) -> list[Scalar]:
            (left,) = carried
            for number in range(count):
                place = (node + number) * packed.WORDS
                feature, key, mask = (tables([group, place + word, lane]) for word in range(packed.WORDS))
                ruled_out = b.compare("gt", self._picked(features, feature), key)
                left = b.select(ruled_out, left & mask, left)
            return [left]

        whole, steps = op.nodes - op.nodes % schedule.steps, schedule.steps
        found = b.loop(0, whole, steps, [b.splat(-1, tile, i32)], lambda node, left: ask(node, left, steps))
        (left,) = ask(b.index(whole), found, op.nodes - whole)
        self.writes[2]([row, lane], packed.first_leaf(b, left, b.bits_of))

        def leaf(place: Scalar) -> None:
            bit = b.cast(bits([row, place]), INDEX)
            number = tables([group, bit + packed.WORDS * op.nodes, place])
            self.write([row, first + place], b.cast(number, op.to))

        b.sequential_range(0, size, 1, leaf)

    def _features(self, row: Scalar) -> list[Scalar]:
        """All features of a row, in registers."""
        b, lanes = self.b, self.lanes
        found: list[Scalar] = []
        for part in segments(shape_of(self.op.keys)[1], lanes):
            for number in range(part.count):
                tile = Tile((1, lanes), part.size if part.size < lanes else None)
                found.append(self.reads[2]([row, tile.index(b, part.start + number * lanes, {-1: 1})]))
        return found

    def _picked(self, features: Sequence[Scalar], numbers: Scalar) -> Scalar:
        """The feature of each lane by its number: of each two registers, then of the right two."""
        b, both = self.b, 2 * self.lanes
        last = len(features) - 1
        found = [
            b.pick(features[first], features[min(first + 1, last)], numbers) for first in range(0, len(features), 2)
        ]
        chosen = found[0]
        for number, each in enumerate(found[1:], 1):
            chosen = b.select(b.compare("ge", numbers, number * both), each, chosen)
        return chosen


class MaskedTreesStrategy(KernelStrategy[packed.MaskedTreeLeavesOp]):
    """Features stay in registers, from which each lane picks the one that its tree asks for."""

    SCHEDULES = (TreeSchedule,)
    TILES = False
    PROLOGUES = (Prologue.STORED,)
    NEST = _MaskedNest

    def schedule(self, op: packed.MaskedTreeLeavesOp, machine: Machine) -> Schedule | None:
        lanes = shape_of(op.tables)[2]
        rows = min(_ROWS, max(shape_of(op.x)[0], 1))
        return TreeSchedule(lanes, rows, lanes, min(_NODES, op.nodes)) if 4 * lanes == machine.vector_bytes else None


class PackedWalkStrategy(KernelStrategy[packed.PackedTreeLeavesOp]):
    """Several trees at once: their walks overlap."""

    SCHEDULES = (TreeSchedule,)
    TILES = False
    PROLOGUES = (Prologue.STORED,)

    def nest(self, nest: Nest[packed.PackedTreeLeavesOp, TreeSchedule]) -> None:
        """Groups of trees, whose steps are written one after the other."""
        op, b, schedule = nest.op, nest.b, nest.schedule

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

        _in_groups(nest, schedule.trees, group)

    def schedule(self, op: packed.PackedTreeLeavesOp, machine: Machine) -> Schedule | None:
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
            masks = layouts.add(packed.PackTreeMasksOp.get(*tables[:3], op.roots, op.missing, **options))
            trees, to = shape_of(op.roots)[0], element_type_of(op.roots)
            return layouts.add(packed.MaskedTreeLeavesOp.get(op.x, masks, trees=trees, to=to, missing=missing))
        nodes = layouts.add(packed.PackTreesOp.get(*tables, features=shape_of(op.x)[1], leaves=op.leaves))
        inner = shape_of(op.features)[0]
        return layouts.add(
            packed.PackedTreeLeavesOp.get(op.x, nodes, op.roots, depth=op.depth, inner=inner, missing=missing)
        )


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
    packed.MaskedTreeLeavesOp: (MaskedTreesStrategy(),),
    TreeLeavesOp: (WalkStrategy(), BranchesStrategy()),
    packed.PackedTreeLeavesOp: (PackedWalkStrategy(),),
}
