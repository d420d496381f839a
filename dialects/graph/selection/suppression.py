"""Boxes that are left when those that overlap better ones are gone (non-maximum suppression)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import TensorType, f32, i1, i64
from xdsl.irdl import AttrSizedOperandSegments, irdl_op_definition, operand_def, opt_operand_def, result_def

from aotc.dialects.builder import INDEX, Builder, Reader, Scalar, Writer
from aotc.dialects.graph.checks import expect, expect_within
from aotc.dialects.graph.interfaces import LoopNestOp, shape_of
from aotc.dialects.properties import int_prop, opt_bool_prop


@irdl_op_definition
class SuppressOp(LoopNestOp):
    """Of boxes [N, B, 4] with scores [N, C, B], for each batch and class the best ones that overlap no better one.

    A box is (y1, x1, y2, x2), corners in any order, or with `centered` (x, y, width, height). A class has at most
    `limit` boxes, and at most `most` [1] if that is given; only those with a score above `score_threshold`; one whose
    intersection with a better one is more than `overlap_threshold` (0) of their union is left out. Of equal scores the
    first is better. The result is selected [N * C * limit, 3], rows of batch, class and box, the classes in order, the
    boxes of each from the best on; and the count []. `alive` is a scratch buffer.
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
    alive = result_def(TensorType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def infer_types(self) -> Sequence[TensorType]:
        thresholds = {"overlap_threshold": "1 f32", "score_threshold": "1 f32"}
        at = expect(self, boxes="N B 4 f32", scores="N C B f32", most="1 i64", **thresholds)
        expect_within(self, "limit", 0, at["B"])
        rows = at["N"] * at["C"] * self.limit
        return [TensorType(i64, [rows, 3]), TensorType(i64, []), TensorType(i1, [at["B"]])]

    def operations(self) -> int:
        batches, classes, boxes = shape_of(self.scores)
        return batches * classes * boxes * self.limit

    def loops(self, b: Builder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        batches, classes, boxes = shape_of(self.scores)
        limit = self.limit
        places = {value: place for place, value in enumerate([*self.operands, *self.scratch()])}
        first = [b.index(0)]
        read_alive, write_alive = reads[places[self.alive]], writes[2]
        given = limit if self.most is None else reads[places[self.most]](first)
        most = b.index(limit) if isinstance(given, int) else b.cast(b.min(b.max(given, 0), limit), INDEX)
        overlap = b.const(0, f32)
        if self.overlap_threshold is not None:
            overlap = reads[places[self.overlap_threshold]](first)
        threshold = None if self.score_threshold is None else reads[places[self.score_threshold]](first)
        none = b.index(-1)

        def each(index: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
            batch, label = index

            def start(box: Scalar) -> None:
                score = reads[1]([batch, label, box])
                write_alive([box], b.const(1, i1) if threshold is None else b.compare("gt", score, threshold))

            b.sequential_range(0, boxes, 1, start)

            def choose(_: list[Scalar], counts: list[Scalar]) -> list[Scalar]:
                def better(at: list[Scalar], best: list[Scalar]) -> list[Scalar]:
                    score = reads[1]([batch, label, at[0]])
                    greater = b.compare("lt", best[0], 0) | b.compare("gt", score, best[1])
                    taken = read_alive(at) & greater
                    return [b.select(taken, at[0], best[0]), b.select(taken, score, best[1])]

                box, _score = b.reduce([(0, boxes)], [none, b.const(0, f32)], better)
                found = b.compare("ge", box, 0)

                def take() -> None:
                    for column, value in enumerate((batch, label, box)):
                        writes[0]([counts[0], b.index(column)], b.cast(value, i64))
                    chosen = self._corners(b, reads[0], batch, box)

                    def drop(other: Scalar) -> None:
                        near = self._overlap(b, chosen, self._corners(b, reads[0], batch, other), overlap)
                        gone = near | b.compare("eq", other, box)
                        b.only_when(gone, lambda: write_alive([other], b.const(0, i1)))

                    b.sequential_range(0, boxes, 1, drop)

                b.only_when(found, take)
                return [b.select(found, counts[0] + 1, counts[0])]

            return b.reduce([(0, most)], carried, choose)

        (count,) = b.reduce([(0, batches), (0, classes)], [b.index(0)], each)
        empty = b.const(-1, i64)

        def pad(row: Scalar) -> None:
            for column in range(3):
                writes[0]([row, b.index(column)], empty)

        b.sequential_range(count, batches * classes * limit, 1, pad)
        writes[1]([], b.cast(count, i64))

    def _corners(self, b: Builder, read: Reader, batch: Scalar, box: Scalar) -> list[Scalar]:
        """The least and the greatest coordinate along each axis, one axis after the other."""
        one, two, three, four = (read([batch, box, b.index(column)]) for column in range(4))
        if self.centered:
            half = [three / 2.0, four / 2.0]
            return [one - half[0], one + half[0], two - half[1], two + half[1]]
        return [b.min(one, three), b.max(one, three), b.min(two, four), b.max(two, four)]

    def _overlap(self, b: Builder, one: Sequence[Scalar], other: Sequence[Scalar], threshold: Scalar) -> Scalar:
        """Whether two boxes overlap by more than the threshold; boxes without area do not."""
        sides = [b.min(one[i + 1], other[i + 1]) - b.max(one[i], other[i]) for i in (0, 2)]
        common = b.max(sides[0], 0.0) * b.max(sides[1], 0.0)
        areas = [(box[1] - box[0]) * (box[3] - box[2]) for box in (one, other)]
        real = b.compare("gt", areas[0], 0) & b.compare("gt", areas[1], 0) & b.compare("gt", common, 0)
        return real & b.compare("gt", common / (areas[0] + areas[1] - common), threshold)
