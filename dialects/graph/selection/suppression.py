"""Boxes that are left when those that overlap better ones are gone (non-maximum suppression)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import TensorType, f32, i1, i64
from xdsl.irdl import AttrSizedOperandSegments, irdl_op_definition, operand_def, opt_operand_def, result_def

from aotc.dialects.builder import INDEX, Builder, Reader, Scalar, Writer
from aotc.dialects.graph.checks import expect, expect_within
from aotc.dialects.graph.interfaces import LoopNestOp, shape_of
from aotc.dialects.graph.selection.heap import Heap, in_order, number_of, packed
from aotc.dialects.properties import int_prop, opt_bool_prop


@irdl_op_definition
class SuppressOp(LoopNestOp):
    """Of boxes [N, B, 4] with scores [N, C, B], for each batch and class the best ones that overlap no better one.

    A box is (y1, x1, y2, x2), corners in any order, or with `centered` (x, y, width, height). A class has at most
    `limit` boxes, and at most `most` [1] if that is given; only those with a score above `score_threshold`; one whose
    intersection with a better one is more than `overlap_threshold` (0) of their union is left out. Of equal scores the
    first is better. The result is selected [N * C * limit, 3], rows of batch, class and box, the classes in order, the
    boxes of each from the best on; and the count [].

    `queue` is a scratch buffer: a heap of boxes, an integer each that orders as their scores do, whose root is the best
    of those that are left, and from its end backwards the boxes that were chosen. A box that leaves the heap is
    compared with these alone.
    """

    name = "graph.suppress"
    boxes = operand_def(TensorType)
    scores = operand_def(TensorType)
    most = opt_operand_def(TensorType)
    overlap_threshold = opt_operand_def(TensorType)
    score_threshold = opt_operand_def(TensorType)
    limit = int_prop()
    centered = opt_bool_prop()
    COMPUTED: ClassVar[int | None] = 2
    selected = result_def(TensorType)
    count = result_def(TensorType)
    queue = result_def(TensorType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def infer_types(self) -> Sequence[TensorType]:
        thresholds = {"overlap_threshold": "1 f32", "score_threshold": "1 f32"}
        at = expect(self, boxes="N B 4 f32", scores="N C B f32", most="1 i64", **thresholds)
        expect_within(self, "limit", 0, at["B"])
        rows = at["N"] * at["C"] * self.limit
        return [TensorType(i64, [rows, 3]), TensorType(i64, []), TensorType(i64, [at["B"]])]

    def operations(self) -> int:
        batches, classes, boxes = shape_of(self.scores)
        return batches * classes * (boxes * boxes.bit_length() + self.limit**2 // 2)

    def loops(self, b: Builder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        batches, classes, boxes = shape_of(self.scores)
        limit = self.limit
        places = {value: place for place, value in enumerate([*self.operands, *self.scratch()])}
        first = [b.index(0)]
        given = limit if self.most is None else reads[places[self.most]](first)
        most = b.index(limit) if isinstance(given, int) else b.cast(b.min(b.max(given, 0), limit), INDEX)
        overlap = b.const(0, f32)
        if self.overlap_threshold is not None:
            overlap = reads[places[self.overlap_threshold]](first)
        threshold = None if self.score_threshold is None else reads[places[self.score_threshold]](first)

        def each(index: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
            batch, label = index

            def node(place: Scalar) -> list[Scalar]:
                return [reads[places[self.queue]]([place])]

            def put(place: Scalar, node: Sequence[Scalar]) -> None:
                writes[2]([place], node[0])

            def before(one: Sequence[Scalar], other: Sequence[Scalar]) -> Scalar:
                return b.compare("gt", one[0], other[0])

            def start(at: list[Scalar], size: list[Scalar]) -> list[Scalar]:
                score = reads[1]([batch, label, *at])

                def enter() -> list[Scalar]:
                    put(size[0], [packed(b, in_order(b, score), at[0])])
                    return [size[0] + 1]

                return enter() if threshold is None else b.when(b.compare("gt", score, threshold), enter, lambda: size)

            heap = Heap(b, node, put, before)
            (size,) = b.reduce([(0, boxes)], first, start)
            heap.order(size)

            def choose(state: list[Scalar]) -> list[Scalar]:
                size, chosen = state[0] - 1, state[1]
                best = node(first[0])
                box = number_of(b, best[0])
                b.only_when(b.compare("gt", size, 0), lambda: heap.sink(first[0], node(size), size))

                def covers(state: list[Scalar]) -> list[Scalar]:
                    better = number_of(b, *node(b.index(boxes - 1) - state[0]))
                    return [state[0] + 1, self._overlap(b, reads[0], batch, (better, box), overlap)]

                def is_open(state: list[Scalar]) -> Scalar:
                    return b.compare("lt", state[0], chosen) & ~state[1]

                _, covered = b.loop_while([first[0], b.const(0, i1)], is_open, covers)

                def take() -> list[Scalar]:
                    put(b.index(boxes - 1) - chosen, best)
                    for column, value in enumerate((batch, label, box)):
                        writes[0]([carried[0] + chosen, b.index(column)], b.cast(value, i64))
                    return [chosen + 1]

                return [size, *b.when(covered, lambda: [chosen], take)]

            def is_left(state: list[Scalar]) -> Scalar:
                return b.compare("gt", state[0], 0) & b.compare("lt", state[1], most)

            return [carried[0] + b.loop_while([size, first[0]], is_left, choose)[1]]

        (count,) = b.reduce([(0, batches), (0, classes)], [b.index(0)], each)
        empty = b.const(-1, i64)

        def pad(row: Scalar) -> None:
            for column in range(3):
                writes[0]([row, b.index(column)], empty)

        b.sequential_range(count, batches * classes * limit, 1, pad)
        writes[1]([], b.cast(count, i64))

    def _ends(self, b: Builder, read: Reader, batch: Scalar, box: Scalar, axis: int) -> tuple[Scalar, Scalar]:
        """The least and the greatest coordinate of a box along an axis."""
        first, second = (read([batch, box, b.index(column)]) for column in (axis, axis + 2))
        if self.centered:
            return first - second / 2.0, first + second / 2.0
        return _ordered(b, first, second)

    def _overlap(self, b: Builder, read: Reader, batch: Scalar, both: Sequence[Scalar], threshold: Scalar) -> Scalar:
        """Whether two boxes overlap by more than the threshold; boxes without area do not. Most have nothing in common
        along one axis."""

        def along(axis: int) -> tuple[list[Scalar], Scalar]:
            """The extents of both boxes, and of what they have in common."""
            (low, high), (least, greatest) = (self._ends(b, read, batch, box, axis) for box in both)
            return [high - low, greatest - least], _ordered(b, high, greatest)[0] - _ordered(b, low, least)[1]

        heights, common_height = along(0)

        def beside() -> list[Scalar]:
            widths, common_width = along(1)

            def more() -> list[Scalar]:
                areas = [height * width for height, width in zip(heights, widths, strict=True)]
                common = common_height * common_width
                real = b.compare("gt", areas[0], 0) & b.compare("gt", areas[1], 0) & b.compare("gt", common, 0)
                return [real & b.compare("gt", common / (areas[0] + areas[1] - common), threshold)]

            return b.when(b.compare("gt", common_width, 0), more, lambda: [b.const(0, i1)])

        return b.when(b.compare("gt", common_height, 0), beside, lambda: [b.const(0, i1)])[0]


def _ordered(b: Builder, one: Scalar, other: Scalar) -> tuple[Scalar, Scalar]:
    """The lesser and the greater of two, whatever NaN and the sign of zero may do: faster than IEEE 754's."""
    less = b.compare("lt", one, other)
    return b.select(less, one, other), b.select(less, other, one)
