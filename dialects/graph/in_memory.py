"""Scattering and selecting with working memory, in time that grows with the elements, not with a product.

These forms are what `assign-layouts` makes of the operations of `scatter`, element by element: they are scheduled, as
only scheduled kernels have working memory, but not on tiles.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from functools import reduce
from operator import and_

from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import OpResult
from xdsl.irdl import irdl_op_definition, result_def

from aotc.dialects.graph.builder import INDEX, Reader, Scalar, Writer
from aotc.dialects.graph.indexing import from_front
from aotc.dialects.graph.interfaces import element_type_of, shape_of
from aotc.dialects.graph.scattering import ScatteringElements, ScatteringSlices, ScatterOp, Selecting
from aotc.dialects.graph.schedules import Schedule
from aotc.dialects.graph.shapes import inside
from aotc.passes.kernel.builders.tile_builder import TileBuilder


class _ScatteringInMemory(ScatterOp, ABC):
    """With a second result of the type of the first, in which the updates are done."""

    result = result_def(TensorType)
    memory = result_def(TensorType)

    def infer_types(self) -> Sequence[TensorType]:
        return [*super().infer_types()] * 2

    def scratch(self) -> Sequence[OpResult]:
        return [self.memory]


@irdl_op_definition
class ScatterElementsInMemoryOp(_ScatteringInMemory, ScatteringElements):
    """As `scatter_elements`: x is copied to `memory`, updated there and written, a piece before `axis` at a time."""

    name = "graph.scatter_elements_in_memory"

    def tiled_loops(
        self, b: TileBuilder, reads: Sequence[Reader], writes: Sequence[Writer], schedule: Schedule
    ) -> None:
        x, indices, axis = shape_of(self.x), shape_of(self.indices), self.axis.value.data
        memory, remember = reads[-1], writes[1]

        def piece(outer: list[Scalar]) -> None:
            def over(extents: Sequence[int], body: Writer, read: Reader) -> None:
                b.sequential_for(extents, lambda inner: body([*outer, *inner], read([*outer, *inner])))

            def update(place: Sequence[Scalar], found: Scalar) -> None:
                where = from_front(b, found, x[axis])

                def then() -> None:
                    target = [*place[:axis], b.cast(where, INDEX), *place[axis + 1 :]]
                    remember(target, self.combine(b, memory(target), reads[2](place)))

                b.only_when(inside(b, where, x[axis]), then)

            def updates() -> None:
                over(indices[axis:], update, reads[1])

            over(x[axis:], remember, reads[0])
            pairs = zip(outer, indices, x, strict=False)
            tests = [b.compare("lt", i, covered) for i, covered, extent in pairs if covered < extent]
            if 0 not in indices:
                b.only_when(reduce(and_, tests), updates) if tests else updates()
            over(x[axis:], writes[0], memory)

        b.parallel_for(x[:axis], piece)


@irdl_op_definition
class ScatterNdInMemoryOp(_ScatteringInMemory, ScatteringSlices):
    """As `scatter_nd`: x is copied to `memory`, updated there in order and written."""

    name = "graph.scatter_nd_in_memory"

    def tiled_loops(
        self, b: TileBuilder, reads: Sequence[Reader], writes: Sequence[Writer], schedule: Schedule
    ) -> None:
        x, indices = shape_of(self.x), shape_of(self.indices)
        depth, memory, remember = indices[-1], reads[-1], writes[1]

        def update(at: list[Scalar]) -> None:
            where = [from_front(b, reads[1]([*at, b.index(k)]), x[k]) for k in range(depth)]
            target = [b.cast(place, INDEX) for place in where]

            def element(inner: list[Scalar]) -> None:
                place = [*target, *inner]
                remember(place, self.combine(b, memory(place), reads[2]([*at, *inner])))

            tests = (inside(b, i, extent) for i, extent in zip(where, x, strict=False))
            b.only_when(reduce(and_, tests), lambda: b.sequential_for(x[depth:], element))

        b.parallel_for(x, lambda index: remember(index, reads[0](index)))
        b.sequential_for(indices[:-1], update)
        b.parallel_for(x, lambda index: writes[0](index, memory(index)))


@irdl_op_definition
class TopKInMemoryOp(Selecting):
    """As `top_k`, by a heap: the worst of the best elements so far is at its root, and gives way to a better one.

    The heap of a line is a full binary tree of at least `k` nodes, element and index; index -1 is a free node, worse
    than any element. At the end the worst node is taken out again and again, and the largest index stands for what
    is better than any element: n + m log m steps for those m elements that get in.
    """

    name = "graph.top_k_in_memory"
    values = result_def(TensorType)
    positions = result_def(TensorType)
    heap = result_def(TensorType)
    indices = result_def(TensorType)

    @property
    def depth(self) -> int:
        """Levels of the tree."""
        return max(self.k.value.data.bit_length(), 1)

    def infer_types(self) -> Sequence[TensorType]:
        values, positions = super().infer_types()
        axis, shape = self.axis.value.data, list(values.get_shape())
        shape[axis] = 2**self.depth - 1
        return [values, positions, TensorType(element_type_of(self.x), shape), TensorType(i64, shape)]

    def scratch(self) -> Sequence[OpResult]:
        return [self.heap, self.indices]

    def tiled_loops(
        self, b: TileBuilder, reads: Sequence[Reader], writes: Sequence[Writer], schedule: Schedule
    ) -> None:
        x, axis, k = shape_of(self.x), self.axis.value.data, self.k.value.data
        size = 2**self.depth - 1
        last = b.const(2**63 - 1, i64)

        def line(outer: list[Scalar]) -> None:
            def at(place: Scalar) -> list[Scalar]:
                return [*outer[:axis], place, *outer[axis + 1 :]]

            def node(place: Scalar) -> list[Scalar]:
                return [reads[1](at(place)), reads[2](at(place))]

            def put(place: Scalar, what: Sequence[Scalar]) -> None:
                writes[2](at(place), what[0])
                writes[3](at(place), what[1])

            def worse(one: Sequence[Scalar], other: Sequence[Scalar]) -> Scalar:
                """Whether a node comes after another one; of nodes of one kind either may."""
                later = b.compare("gt", one[1], other[1])
                behind = b.compare(self.ahead, other[0], one[0])
                before = b.compare(self.ahead, one[0], other[0])
                among = behind | (later & b.compare("eq", before, False))
                among = among & b.compare("ne", one[1], last) & b.compare("ge", other[1], 0)
                return b.compare("lt", one[1], 0) | b.compare("eq", other[1], last) | among

            def sink(what: Sequence[Scalar]) -> None:
                """Put a node in the place of the root: nodes worse than it move up."""

                def level(_: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
                    (hole,) = carried
                    left, right = hole * 2 + 1, hole * 2 + 2
                    first, second = node(left), node(right)
                    is_left = worse(first, second)
                    child = [b.select(is_left, one, other) for one, other in zip(first, second, strict=True)]

                    def move() -> list[Scalar]:
                        put(hole, child)
                        return [b.select(is_left, left, right)]

                    return b.when(worse(child, what), move, lambda: [hole])

                (hole,) = b.reduce([(0, self.depth - 1)], [b.index(0)], level)
                put(hole, what)

            def start(place: Scalar) -> None:
                put(place, [b.const(0, element_type_of(self.x)), b.const(-1, i64)])

            def offer(place: Scalar) -> None:
                value, worst = reads[0](at(place)), node(b.index(0))
                better = b.compare("lt", worst[1], 0) | b.compare(self.ahead, value, worst[0])
                b.only_when(better, lambda: sink([value, b.cast(place, i64)]))

            def take(step: Scalar) -> None:
                rank = b.index(size - 1) - step
                worst = node(b.index(0))

                def then() -> None:
                    writes[0](at(rank), worst[0])
                    writes[1](at(rank), worst[1])

                b.only_when(b.compare("lt", rank, k), then)
                sink([worst[0], last])

            b.sequential_range(0, size, 1, start)
            b.sequential_range(0, x[axis], 1, offer)
            b.sequential_range(0, size, 1, take)

        if k:
            b.parallel_for([*x[:axis], 1, *x[axis + 1 :]], line)
