"""The walk from the roots of decision trees to their leaves, on tables.

What the leaves say, and how trees are put together, are other operations: a gather and a reduction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import I64, IntegerAttr, IntegerType, TensorType
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, prop_def, result_def

from aotc.dialects.builder import INDEX, Builder, Reader, Scalar
from aotc.dialects.dtypes import is_encoded, is_float
from aotc.dialects.graph.indexing import require_indices
from aotc.dialects.graph.interfaces import (
    Array,
    ElementOp,
    Fusion,
    ShapeError,
    common_element_type,
    element_type_of,
    shape_of,
)


@irdl_op_definition
class TreeLeavesOp(ElementOp):
    """The leaf of each of R trees for each row of x: result[n, r] is its number.

    `x` [N, F] are features. A node m < M compares: if x[n, features[m]] <= thresholds[m], the walk goes on at
    children[m, 0], else at children[m, 1]; where `missing` [M] holds, a NaN goes to the first, too. Numbers from M on
    are leaves, the first of them is 0 in the result. The walk begins at roots[r] and takes at most `depth` steps; nodes
    may be shared. `features`, `children` and `roots` are within their ranges: they are not checked.
    """

    name = "graph.tree_leaves"
    x = operand_def(TensorType)
    features = operand_def(TensorType)
    thresholds = operand_def(TensorType)
    children = operand_def(TensorType)
    roots = operand_def(TensorType)
    missing = opt_operand_def(TensorType)
    depth = prop_def(IntegerAttr[I64])
    result = result_def(TensorType)
    FUSION: ClassVar[Fusion] = Fusion.INJECTIVE

    def infer_types(self) -> Sequence[TensorType]:
        x, nodes = shape_of(self.x), shape_of(self.features)
        if len(x) != 2 or len(nodes) != 1 or not x[1] or not nodes[0]:
            raise ShapeError(f"x must be [rows, features] and features [nodes], found {list(x)} and {list(nodes)}")
        if shape_of(self.thresholds) != nodes or shape_of(self.children) != (*nodes, 2):
            raise ShapeError(
                f"thresholds and children of {nodes[0]} nodes must be {list(nodes)} and {[*nodes, 2]},"
                f" found {list(shape_of(self.thresholds))} and {list(shape_of(self.children))}"
            )
        if self.missing is not None:
            if shape_of(self.missing) != nodes or element_type_of(self.missing) != IntegerType(1):
                raise ShapeError(f"missing must be {list(nodes)} of i1, found {self.missing.type}")
            if not is_float(element_type_of(self.x)):
                raise ShapeError("integers are never missing")
        if len(shape_of(self.roots)) != 1:
            raise ShapeError(f"roots must be [trees], found {list(shape_of(self.roots))}")
        for value in (self.features, self.children, self.roots):
            require_indices(value)
        if is_encoded(common_element_type(self.x, self.thresholds)):
            raise ShapeError(f"{element_type_of(self.x)} cannot be compared")
        if self.depth.value.data < 0:
            raise ShapeError(f"depth is {self.depth.value.data}")
        kind = common_element_type(self.children, self.roots)
        return [TensorType(kind, [x[0], shape_of(self.roots)[0]])]

    def evaluate(self, operands: Sequence[Array]) -> Sequence[Array] | None:
        x, features, thresholds, children, roots = operands[:5]
        count, row = len(features), np.arange(len(x))[:, None]
        node = np.broadcast_to(roots.astype(np.int64), shape_of(self.result))
        for _ in range(self.depth.value.data):
            at = np.minimum(node, count - 1)
            value = x[row, features[at].astype(np.int64)]
            first = value <= thresholds[at]
            if self.missing is not None:
                first |= operands[5][at] & (value != value)
            node = np.where(node < count, children[at, np.where(first, 0, 1)], node)
        return [(node - count).astype(roots.dtype)]

    def element(self, b: Builder, index: Sequence[Scalar], reads: Sequence[Reader]) -> Scalar:
        row, tree = index
        x, features, thresholds, children, roots, *missing = reads
        count = shape_of(self.features)[0]
        zero, one, last = b.index(0), b.index(1), b.index(count - 1)

        def step(_: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
            (node,) = carried
            # No branch: processors guess half of those of a tree wrong.
            inside = b.compare("le", node, last)
            at = b.select(inside, node, last)
            value = x([row, b.cast(features([at]), INDEX)])
            first = b.compare("le", value, thresholds([at]))
            if missing:
                first = first | (missing[0]([at]) & b.compare("ne", value, value))
            following = b.cast(children([at, b.select(first, zero, one)]), INDEX)
            return [b.select(inside, following, node)]

        root = b.cast(roots([tree]), INDEX)
        (node,) = b.reduce([(0, self.depth.value.data)], [root], step)
        return b.cast(node - count, element_type_of(self.result))
