"""How often items occur in a row in sequences of items (n-grams)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType, f32, i1, i64
from xdsl.irdl import irdl_op_definition, operand_def

from aotc.dialects.builder import INDEX, Builder, Reader, Scalar
from aotc.dialects.graph.checks import expect, expect_within
from aotc.dialects.graph.interfaces import ParallelOp, shape_of
from aotc.dialects.properties import int_prop


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
