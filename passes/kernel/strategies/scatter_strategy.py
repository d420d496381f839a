"""Scatter and top-k with a scratch buffer: in time that grows with the number of elements, not with a product."""

from collections.abc import Callable, Sequence
from functools import reduce
from math import prod
from operator import and_
from typing import Any

from xdsl.dialects.builtin import i32, i64
from xdsl.ir import SSAValue

from aotc.dialects.builder import INDEX, Reader, Scalar, Writer
from aotc.dialects.graph import scatter
from aotc.dialects.graph.indexing import from_front
from aotc.dialects.graph.interfaces import AnchorOp, shape_of
from aotc.dialects.graph.schedules import ScatterSchedule, schedule_of
from aotc.dialects.graph.selection.heap import Heap
from aotc.dialects.graph.shapes import delinearize, inside, linearize
from aotc.machines.machine import Machine
from aotc.passes.kernel.layouts import Blocked, Layouts
from aotc.passes.kernel.nest import Nest
from aotc.passes.kernel.strategy import KernelStrategy, Strategies

FEW_STEPS = 4
"""Up to this many steps for each element, a scratch buffer does not pay."""
AT_A_TIME = 16
"""Elements of which the greatest is compared with the worst of those in a heap: most are none."""


class InMemoryStrategy(KernelStrategy[AnchorOp]):
    """Lowers to another operation with the same operands and properties, and a scratch buffer, where the definition
    takes more than `FEW_STEPS` steps for each element: updates in place, or a heap, instead of a search for each."""

    SCHEDULES = (ScatterSchedule,)

    def __init__(self, in_memory: type[AnchorOp], steps: Callable[[Any], int]) -> None:
        self._in_memory, self._steps = in_memory, steps

    def schedule(self, op: AnchorOp, machine: Machine) -> ScatterSchedule | None:
        return ScatterSchedule(1) if self._steps(op) > FEW_STEPS else None

    def lay_out(self, op: AnchorOp, layouts: Layouts) -> SSAValue | Blocked | None:
        if (schedule := schedule_of(op)) is None:
            return None
        return layouts.scheduled(self._in_memory.get(*op.operands, **op.properties), schedule)


class ScatterElementsInMemoryStrategy(KernelStrategy[scatter.ScatterElementsInMemoryOp]):
    """The slices along the axes before `axis` are updated one at a time, each in its part of the buffer."""

    SCHEDULES = (ScatterSchedule,)

    def nest(self, nest: Nest[scatter.ScatterElementsInMemoryOp, ScatterSchedule]) -> None:
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


class ScatterNdInMemoryStrategy(KernelStrategy[scatter.ScatterNdInMemoryOp]):
    """One update after the other, in order; or the number of each, then all slices."""

    SCHEDULES = (ScatterSchedule,)

    def nest(self, nest: Nest[scatter.ScatterNdInMemoryOp, ScatterSchedule]) -> None:
        op, b, reads = nest.op, nest.b, nest.reads
        x, indices = shape_of(op.x), shape_of(op.indices)
        depth, memory, remember = indices[-1], reads[-1], nest.writes[1]

        def over(update: Callable[[list[Scalar], list[Scalar]], None]) -> None:
            """All updates whose slice there is, in order."""

            def one(at: list[Scalar]) -> None:
                where = [from_front(b, reads[1]([*at, b.index(k)]), x[k]) for k in range(depth)]
                tests = (inside(b, i, extent) for i, extent in zip(where, x, strict=False))
                b.only_when(reduce(and_, tests), lambda: update(at, [b.cast(place, INDEX) for place in where]))

            b.sequential_for(indices[:-1], one)

        def combine(at: list[Scalar], target: list[Scalar]) -> None:
            def element(inner: list[Scalar]) -> None:
                place = [*target, *inner]
                remember(place, op.combine(b, memory(place), reads[2]([*at, *inner])))

            b.sequential_for(x[depth:], element)

        def write(target: list[Scalar]) -> None:
            number = memory(target)
            is_updated = b.compare("ge", number, 0)

            def from_update() -> None:
                at = delinearize(b, b.cast(number, INDEX), indices[:-1])
                b.sequential_for(x[depth:], lambda inner: nest.write([*target, *inner], reads[2]([*at, *inner])))

            def as_it_was() -> None:
                b.sequential_for(x[depth:], lambda inner: nest.write([*target, *inner], reads[0]([*target, *inner])))

            b.only_when(is_updated, from_update)
            b.only_when(~is_updated, as_it_was)

        if op.numbers_updates:
            b.parallel_for(x[:depth], lambda index: remember(index, b.const(-1, i32)))
            over(lambda at, target: remember(target, b.cast(linearize(b, at, indices[:-1]), i32)))
            b.parallel_for(x[:depth], write)
        else:
            b.parallel_for(x, lambda index: remember(index, reads[0](index)))
            over(combine)
            b.parallel_for(x, lambda index: nest.write(index, memory(index)))


class TopKInMemoryStrategy(KernelStrategy[scatter.TopKInMemoryOp]):
    """A heap of the best elements so far for each fiber."""

    SCHEDULES = (ScatterSchedule,)

    def nest(self, nest: Nest[scatter.TopKInMemoryOp, ScatterSchedule]) -> None:
        op, b, writes = nest.op, nest.b, nest.writes
        x, axis, k = shape_of(op.x), op.axis, op.k
        root, size = b.index(0), b.index(k)

        def worse(one: Sequence[Scalar], other: Sequence[Scalar]) -> Scalar:
            later = b.compare("eq", one[0], other[0]) & b.compare("gt", one[1], other[1])
            return b.compare("lt", one[0], other[0]) | later

        def fiber(outer: list[Scalar]) -> None:
            def at(place: Scalar) -> list[Scalar]:
                return [*outer[:axis], place, *outer[axis + 1 :]]

            def put(place: Scalar, node: Sequence[Scalar]) -> None:
                for write, value in zip(writes[2:], node, strict=True):
                    write(at(place), value)

            heap = Heap(b, lambda place: [read(at(place)) for read in nest.reads[1:]], put, worse)

            def element(place: Scalar) -> list[Scalar]:
                return [op.key(b, nest.reads[0](at(place))), b.cast(place, i64)]

            def offer(place: Scalar) -> None:
                found = element(place)
                # of equal ones this is the later
                better = b.compare("gt", found[0], heap.node(root)[0])
                b.only_when(better, lambda: heap.sink(root, found, size))

            def offer_all(first: Scalar, count: int) -> None:
                def greatest(at: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
                    return [b.max(carried[0], element(first + at[0])[0])]

                (most,) = b.reduce([(1, count)], [element(first)[0]], greatest)
                better = b.compare("gt", most, heap.node(root)[0])
                b.only_when(better, lambda: b.sequential_range(first, first + count, 1, offer))

            def take(turn: Scalar) -> None:
                last = b.index(k - 1) - turn
                _, place = heap.node(root)
                b.only_when(b.compare("gt", last, 0), lambda: heap.sink(root, heap.node(last), last))
                writes[0](at(last), nest.reads[0](at(b.cast(place, INDEX))))
                writes[1](at(last), place)

            b.sequential_range(0, k, 1, lambda place: put(place, element(place)))
            heap.order(size)
            b.sequential_segments(x[axis] - k, AT_A_TIME, lambda at, count: offer_all(at + k, count))
            b.sequential_range(0, k, 1, take)

        if k:
            b.parallel_for([*x[:axis], 1, *x[axis + 1 :]], fiber)


STRATEGIES: Strategies = {
    scatter.ScatterElementsOp: (
        InMemoryStrategy(scatter.ScatterElementsInMemoryOp, lambda op: shape_of(op.indices)[op.axis]),
    ),
    scatter.ScatterNdOp: (InMemoryStrategy(scatter.ScatterNdInMemoryOp, lambda op: prod(shape_of(op.indices)[:-1])),),
    scatter.TopKOp: (InMemoryStrategy(scatter.TopKInMemoryOp, lambda op: shape_of(op.x)[op.axis]),),
    scatter.ScatterElementsInMemoryOp: (ScatterElementsInMemoryStrategy(),),
    scatter.ScatterNdInMemoryOp: (ScatterNdInMemoryStrategy(),),
    scatter.TopKInMemoryOp: (TopKInMemoryStrategy(),),
}
