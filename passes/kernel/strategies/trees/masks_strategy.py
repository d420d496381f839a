"""Trees whose nodes are all asked, as many trees at a time as a register has lanes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import i32

from aotc.dialects.builder import INDEX, Scalar
from aotc.dialects.graph.interfaces import shape_of
from aotc.dialects.graph.schedules import Schedule, TreeSchedule
from aotc.dialects.graph.shapes import segments
from aotc.dialects.graph.trees.leaves import TreeLeavesOp
from aotc.dialects.graph.trees.packed import MOST_NODES, WORDS, MaskedTreeLeavesOp, first_leaf
from aotc.machines.machine import Machine
from aotc.passes.kernel.builders.tiles import Tile
from aotc.passes.kernel.nest import Nest
from aotc.passes.kernel.strategy import KernelStrategy, Prologue, Strategies

_SHARE = 4
"""One register of so many holds features: each two of them take two or more instructions for every node, and all stay
in registers."""
_NODES = 4
"""In one iteration of the loop over nodes."""
_ROWS = 64
"""Rows that go through a group of trees before the next group: its table stays in the first cache."""


def is_masked_best(op: TreeLeavesOp, machine: Machine) -> bool:
    """Whether masks are faster than walks: where trees are small, and registers hold all features."""
    lanes = machine.vector_bytes // 4
    copies = 1 if op.missing is None else 2
    few = copies * shape_of(op.x)[1] <= machine.registers // _SHARE * lanes
    return machine.picks and few and op.most is not None and 0 < op.most <= MOST_NODES


class MaskedTreesStrategy(KernelStrategy[MaskedTreeLeavesOp]):
    """Features stay in registers, from which each lane picks the one that its tree asks for."""

    SCHEDULES = (TreeSchedule,)
    TILES = False
    PROLOGUES = (Prologue.STORED,)

    def schedule(self, op: MaskedTreeLeavesOp, machine: Machine) -> Schedule | None:
        lanes = shape_of(op.tables)[2]
        rows = min(_ROWS, max(shape_of(op.x)[0], 1))
        return TreeSchedule(lanes, rows, lanes, min(_NODES, op.nodes)) if 4 * lanes == machine.vector_bytes else None

    def nest(self, nest: Nest[MaskedTreeLeavesOp, TreeSchedule]) -> None:
        _MaskedNest.of(nest).emit()


@dataclass(frozen=True)
class _MaskedNest(Nest[MaskedTreeLeavesOp, TreeSchedule]):
    """The loops of groups of trees, while they are written."""

    def emit(self) -> None:
        """Some rows, then all trees for each of them, as many at a time as there are lanes."""
        b, op, schedule = self.b, self.op, self.schedule

        def block(row: Scalar, height: int) -> None:
            def at(first: Scalar, size: int) -> None:
                b.sequential_range(0, height, 1, lambda number: self._group(row + number, first, size))

            b.sequential_range(0, height, 1, lambda number: op.prepare(b, self.reads, self.writes, row + number))
            b.sequential_segments(op.trees, schedule.lanes, at)

        b.parallel_segments(shape_of(op.x)[0], schedule.rows, block)

    def _group(self, row: Scalar, first: Scalar, size: int) -> None:
        """`size` trees from `first` on, for one row of features."""
        b, op, schedule, (_, tables, _, bits) = self.b, self.op, self.schedule, self.reads
        tile = Tile((1, schedule.lanes))
        group, lane = first / b.index(schedule.lanes), tile.index(b, 0, {-1: 1})
        features = self._features(row)

        def ask(node: Scalar, carried: list[Scalar], count: int) -> list[Scalar]:
            (left,) = carried
            for number in range(count):
                place = (node + number) * WORDS
                feature, key, mask = (tables([group, place + word, lane]) for word in range(WORDS))
                ruled_out = b.compare("gt", self._picked(features, feature), key)
                left = b.select(ruled_out, left & mask, left)
            return [left]

        whole, steps = op.nodes - op.nodes % schedule.steps, schedule.steps
        found = b.loop(0, whole, steps, [b.splat(-1, tile, i32)], lambda node, left: ask(node, left, steps))
        (left,) = ask(b.index(whole), found, op.nodes - whole)
        self.writes[2]([row, lane], first_leaf(b, left, b.bits_of))

        def leaf(place: Scalar) -> None:
            bit = b.cast(bits([row, place]), INDEX)
            number = tables([group, bit + WORDS * op.nodes, place])
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


STRATEGIES: Strategies = {MaskedTreeLeavesOp: (MaskedTreesStrategy(),)}
