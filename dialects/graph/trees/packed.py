"""Decision trees packed for fast walks: what a step reads lies together, and leaves lead to themselves.

Floats are compared as integers, which takes a quarter of the time: the bits of a float, the lower ones turned round if
it is negative, are in the order of the numbers (H. S. Warren, Hacker's Delight, section 17.3). Then NaN has a place in
the order, too: below all numbers in one copy of the features, above them in the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import TensorType, i32
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, result_def

from aotc.dialects.builder import INDEX, Builder, Reader, Scalar, Writer
from aotc.dialects.graph.checks import expect, expect_within
from aotc.dialects.graph.interfaces import Array, ConstantPackerOp, LoopNestOp, element_type_of, shape_of
from aotc.dialects.graph.trees.leaves import Walk
from aotc.dialects.properties import int_prop, opt_bool_prop

_WORDS = 4
_LEAST, _GREATEST = -(2**31), 2**31 - 1
"""The keys of NaN."""
_LOWER_BITS = 2**31 - 1


def keys_of(numbers: Array) -> Array:
    """i32 in the order of f32 numbers, of which -0 and 0 are equal; NaN is the least."""
    bits = np.ascontiguousarray(numbers + np.float32(0)).view(np.int32)
    return np.where(np.isnan(numbers), np.int32(_LEAST), bits ^ ((bits >> 31) & _LOWER_BITS)).astype(np.int32)


def write_keys(b: Builder, read: Reader, write: Writer, row: Scalar, count: int, keys: int) -> None:
    """Emit the keys of a row of `count` features: one copy of them, or two, in which NaN is above and below all."""

    def feature(number: Scalar) -> None:
        value = read([row, number])
        bits = b.bitcast(value + 0.0, i32)
        key = bits ^ (b.shift_right(bits, b.const(31, i32)) & _LOWER_BITS)
        known = b.compare("eq", value, value)
        for first, missing in zip(range(0, keys, count), (_GREATEST, _LEAST), strict=False):
            write([row, number + first], b.select(known, key, missing))

    b.sequential_range(0, count, 1, feature)


@irdl_op_definition
class PackTreesOp(ConstantPackerOp):
    """The tables of `tree_leaves` as one, [M + leaves, 4] of i32: feature, key of the threshold, both children.

    Where `missing` holds, the feature is that of the second copy, in which NaN is below all numbers. `features` is how
    many there are. Leaves have rows whose children are themselves.
    """

    name = "graph.pack_trees"
    tested = operand_def(TensorType)
    thresholds = operand_def(TensorType)
    children = operand_def(TensorType)
    missing = opt_operand_def(TensorType)
    features = int_prop()
    leaves = int_prop()
    result = result_def(TensorType)

    def infer_types(self) -> Sequence[TensorType]:
        expect_within(self, "leaves", 1)
        at = expect(self, tested="nodes", thresholds="nodes f32", children="nodes 2")
        return [TensorType(i32, [at["nodes"] + self.leaves, _WORDS])]

    def evaluate(self, operands: Sequence[Array]) -> Sequence[Array]:
        tested, thresholds, children, *missing = operands
        total, count = shape_of(self.result)[0], len(tested)
        found = np.zeros([total, _WORDS], np.int32)
        found[:, 2:] = np.arange(total)[:, None]
        found[:count, 0] = tested
        if missing:
            found[:count, 0] += missing[0] * self.features
        found[:count, 1] = keys_of(thresholds)
        found[:count, 2:] = children
        return [found]


@irdl_op_definition
class PackedTreeLeavesOp(LoopNestOp):
    """As `tree_leaves`, on `nodes` as `pack_trees` makes them, of which the first `inner` are no leaves.

    `keys` is a scratch buffer for the features of each row as integers: one copy, or two with `missing`.
    """

    name = "graph.packed_tree_leaves"
    x = operand_def(TensorType)
    nodes = operand_def(TensorType)
    roots = operand_def(TensorType)
    depth = int_prop()
    inner = int_prop()
    missing = opt_bool_prop()
    COMPUTED: ClassVar[int | None] = 1
    result = result_def(TensorType)
    keys = result_def(TensorType)

    def infer_types(self) -> Sequence[TensorType]:
        at = expect(self, x="rows features f32", nodes=f"nodes {_WORDS} i32", roots="trees integer")
        expect_within(self, "inner", 1, at["nodes"] - 1)
        expect_within(self, "depth", 0)
        result = TensorType(element_type_of(self.roots), [at["rows"], at["trees"]])
        return [result, TensorType(i32, [at["rows"], self.copies * at["features"]])]

    @property
    def copies(self) -> int:
        """How many copies of the features there are."""
        return 2 if self.missing else 1

    def loops(self, b: Builder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        def row(index: list[Scalar]) -> None:
            walk = self.walker(b, reads, index[0])
            self.prepare(b, reads, writes, index[0])

            def tree(number: Scalar) -> None:
                (node,) = b.reduce([(0, self.depth)], [walk.root(number)], lambda _, at: [walk.step(at[0])])
                writes[0]([index[0], number], walk.leaf(node))

            b.sequential_range(0, shape_of(self.roots)[0], 1, tree)

        b.parallel_for([shape_of(self.x)[0], 1], row)

    def prepare(self, b: Builder, reads: Sequence[Reader], writes: Sequence[Writer], row: Scalar) -> None:
        """Emit the keys of a row."""
        write_keys(b, reads[0], writes[1], row, shape_of(self.x)[1], shape_of(self.keys)[1])

    def walker(self, b: Builder, reads: Sequence[Reader], row: Scalar) -> Walk:
        """The walk of one row of x, whose keys are there, to be written with `b`."""
        return _PackedWalk(self, b, reads, row)


class _PackedWalk(Walk):
    def __init__(self, op: PackedTreeLeavesOp, b: Builder, reads: Sequence[Reader], row: Scalar) -> None:
        super().__init__(b, row, reads[3], reads[2], op.inner, element_type_of(op.result))
        self._words = reads[1]

    def step(self, node: Scalar) -> Scalar:
        b = self._b
        feature, threshold = (self._words([node, b.index(number)]) for number in range(2))
        answer = self.answer(self.feature(b.cast(feature, INDEX)), threshold, None)
        return b.cast(self._words([node, answer + 2]), INDEX)
