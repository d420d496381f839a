"""Scatter and top-k with a scratch buffer: in time that grows with the number of elements, not with a product."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from operator import and_
from typing import ClassVar, TypeVar

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from aotc.dialects.builder import INDEX, Reader, Scalar, Writer
from aotc.dialects.graph.indexing import from_front
from aotc.dialects.graph.interfaces import AnchorOp, element_type_of, shape_of
from aotc.dialects.graph.scatter import (
    ScatterElementsInMemoryOp,
    ScatterElementsOp,
    ScatterNdInMemoryOp,
    ScatterNdOp,
    TopKInMemoryOp,
    TopKOp,
)
from aotc.dialects.graph.schedules import ScatterSchedule
from aotc.dialects.graph.shapes import inside
from aotc.machines.machine import Machine
from aotc.passes.kernel.layouts import Blocked, Layouts
from aotc.passes.kernel.nest import Nest
from aotc.passes.kernel.strategy import KernelStrategy, Strategies

Op = TypeVar("Op", bound=AnchorOp)

FEW_STEPS = 4
"""Up to this many steps for each element, a scratch buffer does not pay."""


class _WithScratch(KernelStrategy[Op]):
    """Lowers to another operation with the same operands and properties, and a scratch buffer."""

    SCHEDULES = (ScatterSchedule,)
    IN_MEMORY: ClassVar[type[AnchorOp]]

    def lay_out(self, op: Op, layouts: Layouts) -> SSAValue | Blocked | None:
        return layouts.rescheduled(op, self.IN_MEMORY)


def _schedule_if_many(steps: int) -> ScatterSchedule | None:
    """A schedule (of single elements) where the definition takes more than `FEW_STEPS` steps for each element; else
    None."""
    return ScatterSchedule(1) if steps > FEW_STEPS else None


class ScatterElementsStrategy(_WithScratch[ScatterElementsOp]):
    """Updates in place instead of a search for them."""

    IN_MEMORY = ScatterElementsInMemoryOp

    def schedule(self, op: ScatterElementsOp, machine: Machine) -> ScatterSchedule | None:
        return _schedule_if_many(shape_of(op.indices)[op.axis])


class ScatterNdStrategy(_WithScratch[ScatterNdOp]):
    """Updates in place instead of a search for them."""

    IN_MEMORY = ScatterNdInMemoryOp

    def schedule(self, op: ScatterNdOp, machine: Machine) -> ScatterSchedule | None:
        return _schedule_if_many(prod(shape_of(op.indices)[:-1]))


class TopKStrategy(_WithScratch[TopKOp]):
    """A heap instead of a search for each of the elements."""

    IN_MEMORY = TopKInMemoryOp

    def schedule(self, op: TopKOp, machine: Machine) -> ScatterSchedule | None:
        return _schedule_if_many(shape_of(op.x)[op.axis])


class ScatterElementsInMemoryStrategy(KernelStrategy[ScatterElementsInMemoryOp]):
    """The slices along the axes before `axis` are updated one at a time, each in its part of the buffer."""

    SCHEDULES = (ScatterSchedule,)

    def nest(self, nest: Nest[ScatterElementsInMemoryOp, ScatterSchedule]) -> None:
        op, b, reads = nest.op, nest.b, nest.reads
        x, indices, axis = shape_of(op.x), shape_of(op.indices), op.axis
        memory, remember = reads[-1], nest.writes[1]

        def piece(outer: list[Scalar]) -> None:
            def over(extents: Sequence[int], body: Writer, read: Reader) -> None:
                b.sequential_for(extents, lambda inner: body([*outer, *inner], read([*outer, *inner])))

            def update(place: Sequence[Scalar], found: Scalar) -> None:
                where = from_front(b, found, x[axis])

                def then() -> None:
                    target = [*place[:axis], b.cast(where, INDEX), *place[axis + 1 :]]
                    remember(target, op.combine(b, memory(target), reads[2](place)))

                b.only_when(inside(b, where, x[axis]), then)

            def updates() -> None:
                over(indices[axis:], update, reads[1])

            over(x[axis:], remember, reads[0])
            limits = zip(outer, indices, x, strict=False)
            tests = [b.compare("lt", i, covered) for i, covered, extent in limits if covered < extent]
            if 0 not in indices:
                b.only_when(reduce(and_, tests), updates) if tests else updates()
            over(x[axis:], nest.write, memory)

        b.parallel_for(x[:axis], piece)


class ScatterNdInMemoryStrategy(KernelStrategy[ScatterNdInMemoryOp]):
    """One update after the other, in order."""

    SCHEDULES = (ScatterSchedule,)

    def nest(self, nest: Nest[ScatterNdInMemoryOp, ScatterSchedule]) -> None:
        op, b, reads = nest.op, nest.b, nest.reads
        x, indices = shape_of(op.x), shape_of(op.indices)
        depth, memory, remember = indices[-1], reads[-1], nest.writes[1]

        def update(at: list[Scalar]) -> None:
            where = [from_front(b, reads[1]([*at, b.index(k)]), x[k]) for k in range(depth)]
            target = [b.cast(place, INDEX) for place in where]

            def element(inner: list[Scalar]) -> None:
                place = [*target, *inner]
                remember(place, op.combine(b, memory(place), reads[2]([*at, *inner])))

            tests = (inside(b, i, extent) for i, extent in zip(where, x, strict=False))
            b.only_when(reduce(and_, tests), lambda: b.sequential_for(x[depth:], element))

        b.parallel_for(x, lambda index: remember(index, reads[0](index)))
        b.sequential_for(indices[:-1], update)
        b.parallel_for(x, lambda index: nest.write(index, memory(index)))


class TopKInMemoryStrategy(KernelStrategy[TopKInMemoryOp]):
    """A heap of the best elements so far for each fiber."""

    SCHEDULES = (ScatterSchedule,)

    def nest(self, nest: Nest[TopKInMemoryOp, ScatterSchedule]) -> None:
        op, b, writes = nest.op, nest.b, nest.writes
        x, axis, k = shape_of(op.x), op.axis, op.k
        size = 2**op.depth - 1
        last = b.const(2**63 - 1, i64)

        def fiber(outer: list[Scalar]) -> None:
            heap = _Heap(nest, outer, last)

            def offer(place: Scalar) -> None:
                value, worst = nest.reads[0](heap.at(place)), heap.node(b.index(0))
                better = b.compare("lt", worst[1], 0) | op.precedes(b, value, worst[0])
                b.only_when(better, lambda: heap.sink([value, b.cast(place, i64)]))

            def take(step: Scalar) -> None:
                rank = b.index(size - 1) - step
                worst = heap.node(b.index(0))

                def then() -> None:
                    writes[0](heap.at(rank), worst[0])
                    writes[1](heap.at(rank), worst[1])

                b.only_when(b.compare("lt", rank, k), then)
                heap.sink([worst[0], last])

            b.sequential_range(0, size, 1, heap.clear)
            b.sequential_range(0, x[axis], 1, offer)
            b.sequential_range(0, size, 1, take)

        if k:
            b.parallel_for([*x[:axis], 1, *x[axis + 1 :]], fiber)


@dataclass(frozen=True)
class _Heap:
    """The best elements so far of one fiber of x, in two scratch buffers: a binary heap, the worst at its root.

    A node is a value and its place along the axis: -1 where nothing has been put yet, `last`, the greatest i64, where
    the element has been taken out.
    """

    nest: Nest[TopKInMemoryOp, ScatterSchedule]
    outer: Sequence[Scalar]
    """The index of the fiber; along the axis it does not count."""
    last: Scalar

    def at(self, place: Scalar) -> list[Scalar]:
        """The index of a place of the fiber."""
        axis = self.nest.op.axis
        return [*self.outer[:axis], place, *self.outer[axis + 1 :]]

    def node(self, number: Scalar) -> list[Scalar]:
        """A node, counted level by level from the root."""
        return [read(self.at(number)) for read in self.nest.reads[1:3]]

    def clear(self, number: Scalar) -> None:
        """Nothing has been put in a node yet."""
        b = self.nest.b
        self._put(number, [b.const(0, element_type_of(self.nest.op.x)), b.const(-1, i64)])

    def sink(self, what: Sequence[Scalar]) -> None:
        """Sift down: replace the root by a node; worse nodes move up."""
        b = self.nest.b

        def level(_: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
            (hole,) = carried
            left, right = hole * 2 + 1, hole * 2 + 2
            first, second = self.node(left), self.node(right)
            is_left = self._worse(first, second)
            child = [b.select(is_left, one, other) for one, other in zip(first, second, strict=True)]

            def move() -> list[Scalar]:
                self._put(hole, child)
                return [b.select(is_left, left, right)]

            return b.when(self._worse(child, what), move, lambda: [hole])

        (hole,) = b.reduce([(0, self.nest.op.depth - 1)], [b.index(0)], level)
        self._put(hole, what)

    def _put(self, number: Scalar, what: Sequence[Scalar]) -> None:
        for write, part in zip(self.nest.writes[2:], what, strict=True):
            write(self.at(number), part)

    def _worse(self, one: Sequence[Scalar], other: Sequence[Scalar]) -> Scalar:
        """Whether node `one` orders after node `other` in the heap; if they are equal, either result is right."""
        op, b, last = self.nest.op, self.nest.b, self.last
        later = b.compare("gt", one[1], other[1])
        behind = op.precedes(b, other[0], one[0])
        before = op.precedes(b, one[0], other[0])
        among = behind | (later & b.compare("eq", before, False))
        among = among & b.compare("ne", one[1], last) & b.compare("ge", other[1], 0)
        return b.compare("lt", one[1], 0) | b.compare("eq", other[1], last) | among


STRATEGIES: Strategies = {
    ScatterElementsOp: (ScatterElementsStrategy(),),
    ScatterNdOp: (ScatterNdStrategy(),),
    TopKOp: (TopKStrategy(),),
    ScatterElementsInMemoryOp: (ScatterElementsInMemoryStrategy(),),
    ScatterNdInMemoryOp: (ScatterNdInMemoryStrategy(),),
    TopKInMemoryOp: (TopKInMemoryStrategy(),),
}
