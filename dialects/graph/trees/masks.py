"""Small decision trees without walks: every node is asked, and says which leaves it rules out.

A node whose answer is no, so that its second child follows, rules out the leaves below its first one. If leaves are
numbered from the first children to the second ones, then the walk ends at the first leaf that no node rules out.
(C. Lucchese et al.: QuickScorer, SIGIR 2015, doi:10.1145/2766462.2767733.) Nothing waits for anything before it, and as
many trees are asked at a time as a vector register has lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import IntegerType, TensorType, f32, i32
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, prop_def, result_def

from aotc.dialects.builder import INDEX, Builder, Reader, Scalar, Writer
from aotc.dialects.graph.checks import expect, expect_within
from aotc.dialects.graph.interfaces import Array, ConstantPackerOp, LoopNestOp, ShapeError, shape_of
from aotc.dialects.graph.shapes import ceil_div
from aotc.dialects.graph.trees.packed import keys_of, write_keys
from aotc.dialects.properties import int_prop, opt_bool_prop

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
class MaskedTreeLeavesOp(LoopNestOp):
    """As `tree_leaves` of `trees` trees, on `tables` as `pack_tree_masks` makes them; the result is of the type `to`.

    `keys` is a scratch buffer for the features of each row as integers, one copy, or two with `missing`; `bits` one for
    the numbers of bits that stand for leaves.
    """

    name = "graph.masked_tree_leaves"
    x = operand_def(TensorType)
    tables = operand_def(TensorType)
    trees = int_prop()
    to = prop_def(Attribute)
    missing = opt_bool_prop()
    COMPUTED: ClassVar[int | None] = 1
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
        copies = 2 if self.missing else 1
        keys, bits = TensorType(i32, [x[0], copies * x[1]]), TensorType(i32, [x[0], tables[2]])
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

    def prepare(self, b: Builder, reads: Sequence[Reader], writes: Sequence[Writer], row: Scalar) -> None:
        """Emit the keys of a row."""
        write_keys(b, reads[0], writes[1], row, shape_of(self.x)[1], shape_of(self.keys)[1])
