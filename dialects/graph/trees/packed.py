"""Decision trees packed for fast walks: what a step reads lies together, and leaves lead to themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects.arith import BitcastOp
from xdsl.dialects.builtin import I64, BoolAttr, Float32Type, IntegerAttr, IntegerType, TensorType, f32, i32
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, opt_prop_def, prop_def, result_def

from aotc.dialects.builder import INDEX, Builder, Reader, Scalar, Writer
from aotc.dialects.graph.interfaces import Array, GraphOp, LoopNestOp, ShapeError, element_type_of, shape_of
from aotc.dialects.graph.trees.leaves import Walk, check_sizes

_WORDS = 4
_MISSING = 31
"""The bit of the feature's word that says where a NaN goes."""


@irdl_op_definition
class PackTreesOp(GraphOp):
    """The tables of `tree_leaves` as one, [M + leaves, 4] of i32: feature, bits of the threshold, both children.

    With `missing`, bit 31 of the feature's word is its element. Leaves have rows whose children are themselves.
    """

    name = "graph.pack_trees"
    ORDERS_WEIGHTS: ClassVar[bool] = True
    features = operand_def(TensorType)
    thresholds = operand_def(TensorType)
    children = operand_def(TensorType)
    missing = opt_operand_def(TensorType)
    leaves = prop_def(IntegerAttr[I64])
    result = result_def(TensorType)

    def infer_types(self) -> Sequence[TensorType]:
        count = shape_of(self.features)[0]
        if not isinstance(element_type_of(self.thresholds), Float32Type):
            raise ShapeError(f"thresholds must be f32, found {element_type_of(self.thresholds)}")
        return [TensorType(i32, [count + self.leaves.value.data, _WORDS])]

    def evaluate(self, operands: Sequence[Array]) -> Sequence[Array] | None:
        features, thresholds, children, *missing = operands
        total = shape_of(self.result)[0]
        found = np.zeros([total, _WORDS], np.int32)
        found[:, 2:] = np.arange(total)[:, None]
        count = len(features)
        found[:count, 0] = features
        if missing:
            found[:count, 0] |= missing[0].astype(np.int32) << _MISSING
        found[:count, 1] = np.ascontiguousarray(thresholds).view(np.int32)
        found[:count, 2:] = children
        return [found]


@irdl_op_definition
class PackedTreeLeavesOp(LoopNestOp):
    """As `tree_leaves`, on `nodes` as `pack_trees` makes them, of which the first `inner` are no leaves."""

    name = "graph.packed_tree_leaves"
    x = operand_def(TensorType)
    nodes = operand_def(TensorType)
    roots = operand_def(TensorType)
    depth = prop_def(IntegerAttr[I64])
    inner = prop_def(IntegerAttr[I64])
    missing = opt_prop_def(BoolAttr)
    result = result_def(TensorType)

    def infer_types(self) -> Sequence[TensorType]:
        x, nodes, inner = shape_of(self.x), shape_of(self.nodes), self.inner.value.data
        if len(x) != 2 or element_type_of(self.x) != f32:
            raise ShapeError(f"x must be [rows, features] of f32, found {self.x.type}")
        if len(nodes) != 2 or nodes[1] != _WORDS or element_type_of(self.nodes) != i32:
            raise ShapeError(f"nodes must be [nodes, {_WORDS}] of i32, found {self.nodes.type}")
        if not 0 < inner < nodes[0]:
            raise ShapeError(f"inner must be between 0 and {nodes[0]}, found {inner}")
        if len(shape_of(self.roots)) != 1 or not isinstance(element_type_of(self.roots), IntegerType):
            raise ShapeError(f"roots must be [trees] of integers, found {self.roots.type}")
        check_sizes(self.depth.value.data, nodes[0] - inner)
        return [TensorType(element_type_of(self.roots), [x[0], shape_of(self.roots)[0]])]

    def loops(self, b: Builder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        def each(index: list[Scalar]) -> None:
            row, tree = index
            walk = self.walker(b, reads, row)
            (node,) = b.reduce([(0, self.depth.value.data)], [walk.root(tree)], lambda _, at: [walk.step(at[0])])
            writes[0](index, walk.leaf(node))

        b.parallel_for(shape_of(self.result), each)

    def walker(self, b: Builder, reads: Sequence[Reader], row: Scalar) -> Walk:
        """The walk of one row of x, to be written with `b`."""
        return _PackedWalk(self, b, reads, row)


class _PackedWalk(Walk):
    def __init__(self, op: PackedTreeLeavesOp, b: Builder, reads: Sequence[Reader], row: Scalar) -> None:
        super().__init__(b, row, reads[0], reads[2], op.inner.value.data, element_type_of(op.result))
        self._words = reads[1]
        self._has_missing = op.missing is not None

    def step(self, node: Scalar) -> Scalar:
        b = self._b

        def word(number: Scalar) -> Scalar:
            return self._words([node, number])

        feature, missing = word(b.index(0)), None
        if self._has_missing:
            missing = b.compare("lt", feature, 0)
            feature = feature & (2**_MISSING - 1)
        threshold = b.scalar(b.insert(BitcastOp(word(b.index(1)).ssa, f32)), f32)
        answer = self.answer(self.feature(b.cast(feature, INDEX)), threshold, missing)
        return b.cast(word(answer + 2), INDEX)
