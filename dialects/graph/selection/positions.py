"""Where a tensor is not zero, where its distinct rows are, and how often runs of items (n-grams) occur."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import TensorType, f32, i1, i64
from xdsl.irdl import irdl_op_definition, operand_def, result_def

from aotc.dialects.arrays import ranked
from aotc.dialects.builder import INDEX, Builder, Reader, Scalar, Writer
from aotc.dialects.dtypes import is_float
from aotc.dialects.graph.checks import expect, expect_within
from aotc.dialects.graph.interfaces import Array, LoopNestOp, ParallelOp, element_type_of, shape_of
from aotc.dialects.graph.shapes import delinearize
from aotc.dialects.properties import int_prop, opt_bool_prop


@irdl_op_definition
class NonZeroOp(LoopNestOp):
    """The indices of the elements of x that are not zero, in row-major order, a column each: indices [rank, elements]
    and count []. NaN is not zero."""

    name = "graph.non_zero"
    x = operand_def(TensorType)
    indices = result_def(TensorType)
    count = result_def(TensorType)

    def infer_types(self) -> Sequence[TensorType]:
        shape = shape_of(self.x)
        return [TensorType(i64, [len(shape), math.prod(shape)]), TensorType(i64, [])]

    def evaluate(self, operands: Sequence[Array]) -> Sequence[Array] | None:
        """The same by numpy: extents depend on it, and loops take 100 us for each element."""
        (x,) = operands
        found = np.array(np.nonzero(x.reshape(x.shape or (1,))), np.int64)[: x.ndim]
        indices = np.full(shape_of(self.indices), -1, np.int64)
        count = int(np.count_nonzero(x))
        indices[:, :count] = found
        return [indices, np.array(count, np.int64)]

    def loops(self, b: Builder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        shape = shape_of(self.x)
        size = math.prod(shape)

        def step(at: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
            index = delinearize(b, at[0], shape)
            value = reads[0](index)
            found = value if element_type_of(self.x) == i1 else b.compare("ne", value, 0)

            def write() -> None:
                for axis, i in enumerate(index):
                    writes[0]([b.index(axis), carried[0]], b.cast(i, i64))

            b.only_when(found, write)
            return [b.select(found, carried[0] + 1, carried[0])]

        (count,) = b.reduce([(0, size)], [b.index(0)], step)
        none = b.const(-1, i64)

        def pad(place: Scalar) -> None:
            for axis in range(len(shape)):
                writes[0]([b.index(axis), place], none)

        b.sequential_range(count, size, 1, pad)
        writes[1]([], b.cast(count, i64))


@dataclass(frozen=True)
class _Rows:
    """The rows of x, which can be compared."""

    b: Builder
    read: Reader
    columns: int

    def order(self, one: Scalar, other: Scalar) -> Scalar:
        """-1, 0 or 1: how two rows are ordered, by the first column in which they differ."""
        b = self.b

        def step(at: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
            a, c = (self.read([row, at[0]]) for row in (one, other))
            if a.dtype == i1:
                a, c = b.cast(a, i64), b.cast(c, i64)
            less, greater = b.compare("lt", a, c), b.compare("gt", a, c)
            if is_float(a.dtype):
                nan_a, nan_c = b.compare("ne", a, a), b.compare("ne", c, c)
                less, greater = less | (nan_c & ~nan_a), greater | (nan_a & ~nan_c)
            here = b.select(less, b.const(-1, i64), b.select(greater, b.const(1, i64), 0))
            return [b.select(b.compare("eq", carried[0], 0), here, carried[0])]

        return b.reduce([(0, self.columns)], [b.const(0, i64)], step)[0]


@irdl_op_definition
class UniqueOp(LoopNestOp):
    """The distinct rows of x [n, m]: of each the first index (`indices` [n]), for each row of x its place among them
    (`inverse` [n]), how often each is there (`counts` [n]), and their count [].

    They are in the order of their first indices, or with `sorted` lexicographic. NaN equals NaN and is greater than any
    number. The time grows with n * n.
    """

    name = "graph.unique"
    x = operand_def(TensorType)
    sorted = opt_bool_prop()
    indices = result_def(TensorType)
    inverse = result_def(TensorType)
    counts = result_def(TensorType)
    count = result_def(TensorType)

    def infer_types(self) -> Sequence[TensorType]:
        return [*[TensorType(i64, [expect(self, x="n m")["n"]])] * 3, TensorType(i64, [])]

    def evaluate(self, operands: Sequence[Array]) -> Sequence[Array] | None:
        """The same by sorting: extents depend on it, and loops take 2 s for 100 rows."""
        (x,) = operands
        if not x.size:
            return None
        columns = np.stack([ranked(column) for column in x.T], axis=1)
        _, first, inverse, counts = np.unique(columns, True, True, True, axis=0)
        if not self.sorted:
            found = np.argsort(first)
            first, counts, inverse = first[found], counts[found], np.argsort(found)[inverse.reshape(-1)]
        padding = (0, len(x) - len(first))
        padded = [np.pad(each, padding, constant_values=-1) for each in (first, counts)]
        results = [padded[0], inverse.reshape(-1), padded[1], np.array(len(first))]
        return [each.astype(np.int64) for each in results]

    def loops(self, b: Builder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        size = shape_of(self.x)[0]
        rows = _Rows(b, reads[0], shape_of(self.x)[1])
        finish = self._in_order(b, rows, writes) if self.sorted else self._as_found(b, rows, writes)
        none = b.const(-1, i64)

        def pad(place: Scalar) -> None:
            writes[0]([place], none)
            writes[2]([place], none)

        b.sequential_range(finish, size, 1, pad)
        writes[3]([], b.cast(finish, i64))

    def _as_found(self, b: Builder, rows: _Rows, writes: Sequence[Writer]) -> Scalar:
        """Each row that is like none before it is a new one."""
        size = shape_of(self.x)[0]

        def step(at: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
            (row,) = at

            def same(other: list[Scalar], known: list[Scalar]) -> list[Scalar]:
                return [known[0] | b.compare("eq", rows.order(other[0], row), 0)]

            (known,) = b.reduce([(0, row)], [b.const(0, i1)], same)
            b.only_when(~known, lambda: self._write(b, rows, writes, carried[0], row))
            return [b.select(known, carried[0], carried[0] + 1)]

        return b.reduce([(0, size)], [b.index(0)], step)[0]

    def _in_order(self, b: Builder, rows: _Rows, writes: Sequence[Writer]) -> Scalar:
        """Again and again the least of those greater than the last."""
        size = shape_of(self.x)[0]
        none = b.index(-1)

        def step(at: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
            count, last = carried

            def least(other: list[Scalar], best: list[Scalar]) -> list[Scalar]:
                (row,) = other
                started, found = b.compare("ge", last, 0), b.compare("ge", best[0], 0)
                left = b.when(started, lambda: [b.compare("lt", rows.order(last, row), 0)], lambda: [b.const(1, i1)])[0]
                better = b.when(
                    found, lambda: [b.compare("lt", rows.order(row, best[0]), 0)], lambda: [b.const(1, i1)]
                )[0]
                return [b.select(left & better, row, best[0])]

            def search() -> list[Scalar]:
                return b.reduce([(0, size)], [none], least)

            going = b.compare("eq", count, b.cast(at[0], i64))
            (row,) = b.when(going, search, lambda: [none])
            found = b.compare("ge", row, 0)
            b.only_when(found, lambda: self._write(b, rows, writes, at[0], row))
            return [b.select(found, count + 1, count), b.select(found, row, last)]

        count, _ = b.reduce([(0, size)], [b.const(0, i64), none], step)
        return b.cast(count, INDEX)

    def _write(self, b: Builder, rows: _Rows, writes: Sequence[Writer], place: Scalar, row: Scalar) -> None:
        """Emit what there is to say of the distinct row number `place`, which is there from `row` on."""
        writes[0]([place], b.cast(row, i64))

        def step(at: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
            equal = b.compare("eq", rows.order(at[0], row), 0)
            b.only_when(equal, lambda: writes[1](at, b.cast(place, i64)))
            return [b.select(equal, carried[0] + 1, carried[0])]

        start = row if not self.sorted else b.index(0)
        (count,) = b.reduce([(start, shape_of(self.x)[0])], [b.const(0, i64)], step)
        writes[2]([place], count)


@irdl_op_definition
class CountGramsOp(ParallelOp):
    """How often each of `grams` [G, L] occurs along the last axis of x [.., n]: result [.., G], as f32.

    A gram is the first `lengths` [G] of its row. Its items may be up to `skips` items apart, all of them equally far; a
    single item counts once.
    """

    name = "graph.count_grams"
    x = operand_def(TensorType)
    grams = operand_def(TensorType)
    lengths = operand_def(TensorType)
    skips = int_prop()

    def infer_types(self) -> Sequence[TensorType]:
        at = expect(self, x=".. n index", grams="G L i64", lengths="G i64")
        expect_within(self, "skips", 0)
        return [TensorType(f32, [*shape_of(self.x)[:-1], at["G"]])]

    def operations(self) -> int:
        return math.prod(shape_of(self.result)) * shape_of(self.x)[-1] * (1 + self.skips)

    def compute(self, b: Builder, index: list[Scalar], reads: Sequence[Reader]) -> Scalar:
        items = shape_of(self.x)[-1]
        *outer, gram = index
        length = reads[2]([gram])
        distances = b.cast(b.select(b.compare("gt", length, 1), b.const(1 + self.skips, i64), 1), INDEX)

        def term(at: list[Scalar]) -> Scalar:
            distance, first = at[0] + 1, at[1]
            last = b.cast(first, i64) + (length - 1) * b.cast(distance, i64)
            fits = b.compare("lt", last, items)

            def matches() -> list[Scalar]:
                def item(place: list[Scalar], same: list[Scalar]) -> list[Scalar]:
                    found = b.cast(reads[0]([*outer, first + place[0] * distance]), i64)
                    return [same[0] & b.compare("eq", found, reads[1]([gram, place[0]]))]

                (same,) = b.reduce([(0, b.cast(length, INDEX))], [b.const(1, i1)], item)
                return [b.select(same, b.const(1, f32), 0.0)]

            return b.when(fits, matches, lambda: [b.const(0, f32)])[0]

        return b.sum([(0, distances), (0, items)], b.const(0, f32), term)
