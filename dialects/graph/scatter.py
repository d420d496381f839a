"""Scatter and top-k, with and without a scratch buffer.

A negative index counts from the end; a write outside the operand is dropped. Without a buffer, each result element
searches for the updates of its index, in their order: nothing is written twice, so the loops over the result are
parallel. With a buffer (`scatter_elements_in_memory`, `top_k_in_memory`) the work grows with the number of elements,
not with a product. Kernel strategies choose that form and use the buffer; the loops here, which define both forms, do
without it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import reduce
from math import prod
from operator import and_
from typing import ClassVar

from xdsl.dialects.builtin import IntegerType, StringAttr, TensorType, i1, i32, i64
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from aotc.dialects.builder import Builder, Reader, Scalar, ScalarLike, Writer
from aotc.dialects.dtypes import byte_width, is_float, is_narrow_float, is_unsigned
from aotc.dialects.graph.checks import expect_choice
from aotc.dialects.graph.indexing import from_front, require_covered, require_indices
from aotc.dialects.graph.interfaces import LoopNestOp, ShapeError, common_element_type, element_type_of, shape_of
from aotc.dialects.graph.selection.heap import in_order
from aotc.dialects.graph.shapes import require_axis
from aotc.dialects.properties import int_prop, opt_bool_prop


class ScatterOp(LoopNestOp, ABC):
    """x with `updates` combined into it; `reduction` "none" replaces, and the last of several updates wins."""

    x = operand_def(TensorType)
    indices = operand_def(TensorType)
    updates = operand_def(TensorType)
    reduction = prop_def(StringAttr)

    @abstractmethod
    def check(self) -> None:
        """Raise ShapeError where the shapes of the operands do not fit."""

    def infer_types(self) -> Sequence[TensorType]:
        expect_choice(self, "reduction", ("none", "add", "mul", "max", "min"))
        common_element_type(self.x, self.updates)
        require_indices(self.indices)
        self.check()
        return [TensorType(element_type_of(self.x), shape_of(self.x))]

    def overwrites(self) -> Mapping[int, int]:
        return {0: 0}

    def combine(self, b: Builder, old: Scalar, update: Scalar) -> Scalar:
        """One update of an element."""
        boolean = old.dtype == i1
        match self.reduction.data:
            case "add":
                return old | update if boolean else old + update
            case "mul":
                return old & update if boolean else old * update
            case "max":
                return b.max(old, update)
            case "min":
                return b.min(old, update)
            case _:
                return update

    def updated(self, b: Builder, old: Scalar, update: Scalar) -> Scalar:
        """One update of an element, rounded as memory would hold it before the next one."""
        kind, value = element_type_of(self.x), self.combine(b, old, update)
        return b.cast(value, kind) if is_narrow_float(kind) else value


class ScatteringElements(ScatterOp, ABC):
    """Element by element along `axis`: result[i... with i[axis] = indices[i...]] takes updates[i...]."""

    axis = int_prop()

    def check(self) -> None:
        x, indices, axis = shape_of(self.x), shape_of(self.indices), self.axis
        require_axis(axis, len(x))
        if len(x) != len(indices) or indices != shape_of(self.updates):
            raise ShapeError(
                f"indices {list(indices)} and updates {list(shape_of(self.updates))} must have one shape,"
                f" of the rank of {list(x)}"
            )
        if 0 not in indices:
            require_covered(x, indices, axis)

    def loops(self, b: Builder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        x, indices, axis = shape_of(self.x), shape_of(self.indices), self.axis

        def body(index: list[Scalar]) -> None:
            tests = [
                b.compare("lt", i, covered)
                for a, (i, covered, extent) in enumerate(zip(index, indices, x, strict=True))
                if a != axis and covered < extent
            ]
            count: ScalarLike = b.select(reduce(and_, tests), b.index(indices[axis]), 0) if tests else indices[axis]
            target = b.cast(index[axis], i64)

            def step(at: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
                place = [*index[:axis], at[0], *index[axis + 1 :]]
                meets = b.compare("eq", from_front(b, reads[1](place), x[axis]), target)
                return b.when(meets, lambda: [self.updated(b, carried[0], reads[2](place))], lambda: carried)

            writes[0](index, b.reduce([(0, count)], [reads[0](index)], step)[0])

        if 0 in indices:
            b.parallel_for(x, lambda index: writes[0](index, reads[0](index)))
        else:
            b.parallel_for(x, body)


class ScatteringSlices(ScatterOp, ABC):
    """Whole slices at index tuples: result[indices[i..., :]..., s...] takes updates[i..., s...]."""

    def check(self) -> None:
        x, indices, updates = shape_of(self.x), shape_of(self.indices), shape_of(self.updates)
        if not x or not indices or not 1 <= indices[-1] <= len(x):
            raise ShapeError(f"the last axis of {list(indices)} must hold tuples that index {list(x)}")
        expected = (*indices[:-1], *x[indices[-1] :])
        if updates != expected:
            raise ShapeError(f"updates must have shape {list(expected)}, found {list(updates)}")

    def loops(self, b: Builder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        x, indices = shape_of(self.x), shape_of(self.indices)
        depth = indices[-1]

        def body(index: list[Scalar]) -> None:
            target = [b.cast(i, i64) for i in index[:depth]]

            def step(at: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
                found = [from_front(b, reads[1]([*at, b.index(k)]), x[k]) for k in range(depth)]
                meets = reduce(and_, (b.compare("eq", f, t) for f, t in zip(found, target, strict=True)))
                update = [*at, *index[depth:]]
                return b.when(meets, lambda: [self.updated(b, carried[0], reads[2](update))], lambda: carried)

            bounds = [(0, extent) for extent in indices[:-1]]
            writes[0](index, b.reduce(bounds, [reads[0](index)], step)[0])

        b.parallel_for(x, body)


class Selecting(LoopNestOp, ABC):
    """The `k` greatest elements along `axis` (the least with `smallest`), in order, and their i64 indices.

    Of equal elements the one with the lower index comes first. NaN is greater than any number, and NaNs are equal.
    """

    x = operand_def(TensorType)
    k = int_prop()
    axis = int_prop()
    smallest = opt_bool_prop()

    def infer_types(self) -> Sequence[TensorType]:
        x, axis, k = shape_of(self.x), self.axis, self.k
        require_axis(axis, len(x))
        if not 0 <= k <= x[axis]:
            raise ShapeError(f"there are no {k} elements along axis {axis} of {list(x)}")
        shape = [*x[:axis], k, *x[axis + 1 :]]
        return [TensorType(element_type_of(self.x), shape), TensorType(i64, shape)]

    def precedes(self, b: Builder, one: Scalar, other: Scalar) -> Scalar:
        """Whether an element comes before another whatever their indices."""
        lesser, greater = (one, other) if self.smallest else (other, one)
        before = b.compare("lt", lesser, greater)
        if not is_float(one.dtype):
            return before
        return before | (b.compare("ne", greater, greater) & b.compare("eq", lesser, lesser))

    def loops(self, b: Builder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        x, axis, k = shape_of(self.x), self.axis, self.k
        none, zero = b.index(-1), b.const(0, element_type_of(self.x))

        def body(outer: list[Scalar]) -> None:
            def at(position: Scalar) -> list[Scalar]:
                return [*outer[:axis], position, *outer[axis + 1 :]]

            def rank(ranks: list[Scalar], last: list[Scalar]) -> list[Scalar]:
                last_value, last_place = last

                def scan(places: list[Scalar], best: list[Scalar]) -> list[Scalar]:
                    (place,) = places
                    value = reads[0](at(place))
                    later = b.compare("gt", place, last_place) & ~self.precedes(b, value, last_value)
                    left = b.compare("lt", last_place, 0) | self.precedes(b, last_value, value) | later
                    better = left & (b.compare("lt", best[1], 0) | self.precedes(b, value, best[0]))
                    return [b.select(better, value, best[0]), b.select(better, place, best[1])]

                value, place = b.reduce([(0, x[axis])], [zero, none], scan)
                writes[0](at(ranks[0]), value)
                writes[1](at(ranks[0]), b.cast(place, i64))
                return [value, place]

            b.reduce([(0, k)], [zero, none], rank)

        b.parallel_for([*x[:axis], 1, *x[axis + 1 :]], body)


@irdl_op_definition
class ScatterElementsOp(ScatteringElements):
    """Element by element along `axis`, without a scratch buffer."""

    name = "graph.scatter_elements"
    result = result_def(TensorType)


@irdl_op_definition
class ScatterNdOp(ScatteringSlices):
    """Whole slices at index tuples, without a scratch buffer."""

    name = "graph.scatter_nd"
    result = result_def(TensorType)


@irdl_op_definition
class TopKOp(Selecting):
    """The `k` greatest elements along `axis`, without a scratch buffer: in k * n steps."""

    name = "graph.top_k"
    values = result_def(TensorType)
    positions = result_def(TensorType)


class _ScatteringInMemory(ScatterOp, ABC):
    """With a second result of the type of the first, in which the updates are done."""

    COMPUTED: ClassVar[int | None] = 1
    result = result_def(TensorType)
    memory = result_def(TensorType)

    def infer_types(self) -> Sequence[TensorType]:
        return [*super().infer_types()] * 2


@irdl_op_definition
class ScatterElementsInMemoryOp(_ScatteringInMemory, ScatteringElements):
    """As `scatter_elements`: x is copied to `memory`, updated there and written, one slice of the axes before `axis` at
    a time."""

    name = "graph.scatter_elements_in_memory"


@irdl_op_definition
class ScatterNdInMemoryOp(_ScatteringInMemory, ScatteringSlices):
    """As `scatter_nd`: x is copied to `memory`, updated there in order and written.

    Where updates replace slices of four bytes and more, `memory` is i32 instead, for each slice the number of the last
    update, or -1; all slices are then written once.
    """

    name = "graph.scatter_nd_in_memory"

    @property
    def numbers_updates(self) -> bool:
        """Whether `memory` has numbers of updates."""
        kept = prod(shape_of(self.x)[shape_of(self.indices)[-1] :]) * byte_width(element_type_of(self.x))
        return self.reduction.data == "none" and kept >= byte_width(i32)

    def infer_types(self) -> Sequence[TensorType]:
        result, memory = super().infer_types()
        if self.numbers_updates:
            memory = TensorType(i32, shape_of(self.x)[: shape_of(self.indices)[-1]])
        return [result, memory]


@irdl_op_definition
class TopKInMemoryOp(Selecting):
    """As `top_k`, by a heap for each fiber: the worst of the best elements so far is at its root, and is replaced by a
    better one.

    A node is an integer that orders as the element does, and its index. That takes n + m log k steps, where m elements
    enter the heap.
    """

    name = "graph.top_k_in_memory"
    COMPUTED: ClassVar[int | None] = 2
    values = result_def(TensorType)
    positions = result_def(TensorType)
    keys = result_def(TensorType)
    indices = result_def(TensorType)

    @property
    def key_type(self) -> IntegerType:
        """The signed integers that elements are ordered by."""
        return i64 if byte_width(element_type_of(self.x)) == 8 else i32

    def infer_types(self) -> Sequence[TensorType]:
        values, positions = super().infer_types()
        return [values, positions, TensorType(self.key_type, values.get_shape()), positions]

    def key(self, b: Builder, value: Scalar) -> Scalar:
        """The integer of an element: less where the element comes later, equal where only indices decide."""
        kind, least = self.key_type, -(2 ** (8 * byte_width(self.key_type) - 1))
        if is_float(value.dtype):
            is_number = b.compare("eq", value, value)
            ordered = b.select(is_number, in_order(b, value), b.const(~least, kind))
        elif is_unsigned(value.dtype) and byte_width(value.dtype) == byte_width(kind):
            ordered = b.bitcast(value, kind) ^ least
        else:
            ordered = b.cast(value, kind)
        return ordered ^ -1 if self.smallest else ordered
