"""Decision trees packed for fast walks, or for none.

What a step of a walk reads lies together, and leaves lead to themselves. Floats are compared as integers, which takes a
quarter of the time: the bits of a float, the lower ones turned round if it is negative, are in the order of the numbers
(H. S. Warren, Hacker's Delight, section 17.3). Then NaN has a place in the order, too: below all numbers in one copy of
the features, above them in the other.

In small trees every node is asked, and says which leaves it rules out: one whose answer is no, so that its second child
follows, rules out the leaves below its first one. If leaves are numbered from the first children to the second ones,
then the walk ends at the first leaf that no node rules out. (C. Lucchese et al.: QuickScorer, SIGIR 2015,
doi:10.1145/2766462.2767733.) Nothing waits for anything before it, and as many trees are asked at a time as a vector
register has lanes.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import IntegerType, TensorType, f32, i32
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, prop_def, result_def

from aotc.dialects.builder import INDEX, Builder, Reader, Scalar, Writer
from aotc.dialects.graph.checks import expect, expect_within
from aotc.dialects.graph.interfaces import Array, ConstantPackerOp, LoopNestOp, ShapeError, element_type_of, shape_of
from aotc.dialects.graph.shapes import ceil_div
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


class KeyedTreesOp(LoopNestOp, ABC):
    """A walk on the features, its first operand, as integers: its second result is a scratch buffer for those of each
    row, one copy of them, or two with `missing`, in which NaN is above and below all."""

    missing = opt_bool_prop()
    COMPUTED: ClassVar[int | None] = 1

    @property
    def copies(self) -> int:
        """How many copies of the features there are."""
        return 2 if self.missing else 1

    def prepare(self, b: Builder, reads: Sequence[Reader], writes: Sequence[Writer], row: Scalar) -> None:
        """Emit the keys of a row."""
        count = shape_of(self.operands[0])[1]

        def feature(number: Scalar) -> None:
            value = reads[0]([row, number])
            bits = b.bitcast(value + 0.0, i32)
            key = bits ^ (b.shift_right(bits, b.const(31, i32)) & _LOWER_BITS)
            known = b.compare("eq", value, value)
            for first, missing in zip(range(0, self.copies * count, count), (_GREATEST, _LEAST), strict=False):
                writes[1]([row, number + first], b.select(known, key, missing))

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
class PackedTreeLeavesOp(KeyedTreesOp):
    """As `tree_leaves`, on `nodes` as `pack_trees` makes them, of which the first `inner` are no leaves.

    `keys` is a scratch buffer for the features of each row as integers: one copy, or two with `missing`.
    """

    name = "graph.packed_tree_leaves"
    x = operand_def(TensorType)
    nodes = operand_def(TensorType)
    roots = operand_def(TensorType)
    depth = int_prop()
    inner = int_prop()
    result = result_def(TensorType)
    keys = result_def(TensorType)

    def infer_types(self) -> Sequence[TensorType]:
        at = expect(self, x="rows features f32", nodes=f"nodes {_WORDS} i32", roots="trees integer")
        expect_within(self, "inner", 1, at["nodes"] - 1)
        expect_within(self, "depth", 0)
        result = TensorType(element_type_of(self.roots), [at["rows"], at["trees"]])
        return [result, TensorType(i32, [at["rows"], self.copies * at["features"]])]

    def loops(self, b: Builder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        def row(index: list[Scalar]) -> None:
            walk = self.walker(b, reads, index[0])
            self.prepare(b, reads, writes, index[0])

            def tree(number: Scalar) -> None:
                (node,) = b.reduce([(0, self.depth)], [walk.root(number)], lambda _, at: [walk.step(at[0])])
                writes[0]([index[0], number], walk.leaf(node))

            b.sequential_range(0, shape_of(self.roots)[0], 1, tree)

        b.parallel_for([shape_of(self.x)[0], 1], row)

    def walker(self, b: Builder, reads: Sequence[Reader], row: Scalar) -> Walk:
        """The walk of one row of x, whose keys are there, to be written with `b`."""
        return _PackedWalk(b, row, reads[3], reads[2], reads[1:2], self.inner, element_type_of(self.result))


class _PackedWalk(Walk):
    def step(self, node: Scalar) -> Scalar:
        b = self.b
        feature, threshold = (self.tables[0]([node, b.index(number)]) for number in range(2))
        answer = self.answer(self.feature(b.cast(feature, INDEX)), threshold, None)
        return b.cast(self.tables[0]([node, answer + 2]), INDEX)


MOST_NODES = 31
"""Of a tree: its leaves are bits of 32."""
WORDS = 3
"""Rows of a table for each node: feature, key of the threshold, mask of the leaves that are left if the answer is no.
Behind them are the numbers of the leaves."""
_NEVER = 2**31 - 1
"""A key that none is greater than."""
_EXPONENT, _BIAS = 23, 127
"""Where a float has its exponent, and that of 1."""


def table_rows(nodes: int) -> int:
    """The rows of the table of trees of so many nodes."""
    return WORDS * nodes + nodes + 1


@irdl_op_definition
class PackTreeMasksOp(ConstantPackerOp):
    """The tables of `tree_leaves` for trees of at most `nodes` nodes, `lanes` side by side: [groups, rows, lanes] of
    i32.

    `features` is how many there are; nodes where `missing` holds ask for that of the second copy, in which NaN is below
    all numbers.
    """

    name = "graph.pack_tree_masks"
    tested = operand_def(TensorType)
    thresholds = operand_def(TensorType)
    children = operand_def(TensorType)
    roots = operand_def(TensorType)
    missing = opt_operand_def(TensorType)
    features = int_prop()
    nodes = int_prop()
    lanes = int_prop()
    result = result_def(TensorType)

    def infer_types(self) -> Sequence[TensorType]:
        expect_within(self, "nodes", 1, MOST_NODES)
        expect_within(self, "lanes", 1)
        at = expect(self, tested="nodes", thresholds="nodes f32", children="nodes 2", roots="trees")
        return [TensorType(i32, [ceil_div(at["trees"], self.lanes), table_rows(self.nodes), self.lanes])]

    def evaluate(self, operands: Sequence[Array]) -> Sequence[Array]:
        tested, thresholds, children, roots, *missing = operands
        groups, rows, lanes = shape_of(self.result)
        nodes = self.nodes
        tested = tested.astype(np.int32)
        if missing:
            tested = tested + missing[0] * np.int32(self.features)
        keys = keys_of(thresholds)
        found = np.zeros([groups * lanes, rows], np.int32)
        found[:, 1 : WORDS * nodes : WORDS] = _NEVER
        for tree, root in enumerate(roots.tolist()):
            asked, numbers = _ordered(children, root)
            if len(asked) > nodes:
                raise ShapeError(f"a tree has {len(asked)} nodes, not {nodes} at most")
            for place, (node, first, end) in enumerate(asked):
                ruled_out = ((1 << (end - first)) - 1) << first
                mask = np.array(~ruled_out & 0xFFFFFFFF, np.uint32).astype(np.int32)
                found[tree, WORDS * place : WORDS * place + WORDS] = tested[node], keys[node], mask
            found[tree, WORDS * nodes : WORDS * nodes + len(numbers)] = numbers
        return [np.ascontiguousarray(found.reshape(groups, lanes, rows).swapaxes(1, 2))]


def _ordered(children: Array, root: int) -> tuple[list[tuple[int, int, int]], list[int]]:
    """The nodes of a tree, each with the first leaf below its first child and the first one behind these; the numbers
    of all leaves in order."""
    count = len(children)
    asked: list[tuple[int, int, int]] = []
    numbers: list[int] = []

    def visit(node: int) -> None:
        if node >= count:
            numbers.append(node - count)
            return
        place, first = len(asked), len(numbers)
        asked.append((node, first, first))
        yes, no = children[node].tolist()
        visit(yes)
        asked[place] = node, first, len(numbers)
        visit(no)

    visit(root)
    return asked, numbers


def first_leaf(b: Builder, left: Scalar, bits_of: Callable[[Scalar], Scalar]) -> Scalar:
    """The number of the lowest bit of `left`, which has one: the exponent of that bit as a float. `bits_of` has the
    bits of an f32 as an i32."""
    lowest = left & (b.const(0, i32) - left)
    exponent = b.shift_right(bits_of(b.cast(lowest, f32)), b.const(_EXPONENT, i32)) & 0xFF
    return exponent - _BIAS


@irdl_op_definition
class MaskedTreeLeavesOp(KeyedTreesOp):
    """As `tree_leaves` of `trees` trees, on `tables` as `pack_tree_masks` makes them; the result is of the type `to`.

    `keys` is a scratch buffer for the features of each row as integers, one copy, or two with `missing`; `bits` one for
    the numbers of bits that stand for leaves.
    """

    name = "graph.masked_tree_leaves"
    x = operand_def(TensorType)
    tables = operand_def(TensorType)
    trees = int_prop()
    to = prop_def(Attribute)
    result = result_def(TensorType)
    keys = result_def(TensorType)
    bits = result_def(TensorType)

    def infer_types(self) -> Sequence[TensorType]:
        expect(self, x="rows features f32", tables="groups words lanes+ i32")
        x, tables, trees = shape_of(self.x), shape_of(self.tables), self.trees
        if ceil_div(trees, tables[2]) != tables[0] or table_rows(self.nodes) != tables[1]:
            raise ShapeError(f"{trees} trees of {self.nodes} nodes do not have tables {list(tables)}")
        if not isinstance(self.to, IntegerType):
            raise ShapeError(f"leaves are numbered by integers, not {self.to}")
        keys, bits = TensorType(i32, [x[0], self.copies * x[1]]), TensorType(i32, [x[0], tables[2]])
        return [TensorType(self.to, [x[0], trees]), keys, bits]

    @property
    def nodes(self) -> int:
        """The most nodes of a tree."""
        return (shape_of(self.tables)[1] - 1) // (WORDS + 1)

    def operations(self) -> int:
        rows, trees = shape_of(self.result)
        return rows * trees * self.nodes

    def loops(self, b: Builder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        _, tables, keys, _ = reads
        lanes = shape_of(self.tables)[2]

        def bits_of(number: Scalar) -> Scalar:
            return b.bitcast(number, i32)

        def row(index: list[Scalar]) -> None:
            self.prepare(b, reads, writes, index[0])

            def tree(number: Scalar) -> None:
                group, lane = number / b.index(lanes), b.rem(number, b.index(lanes))

                def ask(at: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
                    feature, key, mask = (tables([group, at[0] * WORDS + word, lane]) for word in range(WORDS))
                    ruled_out = b.compare("gt", keys([index[0], b.cast(feature, INDEX)]), key)
                    return [b.select(ruled_out, carried[0] & mask, carried[0])]

                (left,) = b.reduce([(0, self.nodes)], [b.const(-1, i32)], ask)
                bit = b.cast(first_leaf(b, left, bits_of), INDEX)
                writes[0]([index[0], number], b.cast(tables([group, bit + WORDS * self.nodes, lane]), self.to))

            b.sequential_range(0, self.trees, 1, tree)

        b.parallel_for([shape_of(self.x)[0], 1], row)
