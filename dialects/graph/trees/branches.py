"""Decision trees as code: every node is a branch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, IntegerType, TensorType, f64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def

from aotc.dialects.builder import INDEX, Builder, Reader, Scalar
from aotc.dialects.dtypes import is_encoded, is_float
from aotc.dialects.graph.checks import expect
from aotc.dialects.graph.interfaces import ElementOp, Fusion, ShapeError, element_type_of
from aotc.dialects.graph.trees.leaves import check_sizes
from aotc.dialects.properties import int_prop


@irdl_op_definition
class BranchingTreesOp(ElementOp):
    """As `tree_leaves`, with the tables as properties: numbers that stand in the code of the kernel.

    `children` has both of each node, one after the other; `missing` the nodes at which NaN goes to the first. The code
    finds a tree by halving; compilers are not told that one comes after the other, or they would write a tree once for
    each answer that the tree before it has had.
    """

    name = "graph.branching_trees"
    FUSION: ClassVar[Fusion] = Fusion.INJECTIVE
    BRANCHES: ClassVar[bool] = True
    x = operand_def(TensorType)
    features = prop_def(DenseArrayBase)
    thresholds = prop_def(DenseArrayBase.constr(f64))
    children = prop_def(DenseArrayBase)
    roots = prop_def(DenseArrayBase)
    missing = opt_prop_def(DenseArrayBase)
    leaves = int_prop()
    to = prop_def(Attribute)

    def infer_types(self) -> Sequence[TensorType]:
        at, features, children = expect(self, x="rows features"), self.ints("features"), self.ints("children")
        count, leaves = len(features), self.leaves
        if any(not 0 <= feature < at["features"] for feature in features):
            raise ShapeError(f"x must have all features that are asked for, found {at['features']}")
        if is_encoded(element_type_of(self.x)):
            raise ShapeError(f"{element_type_of(self.x)} cannot be compared")
        if len(self.thresholds) != count or len(children) != 2 * count:
            raise ShapeError(f"{count} nodes have {len(self.thresholds)} thresholds and {len(children)} children")
        check_sizes(0, leaves)
        # A child comes after its node, so that every walk ends.
        if any(not node < child < count + leaves for node in range(count) for child in children[2 * node :][:2]):
            raise ShapeError("a child is a leaf, or a node after its parent")
        if any(not 0 <= root < count + leaves for root in self.ints("roots")):
            raise ShapeError("a root does not exist")
        if not isinstance(self.to, IntegerType):
            raise ShapeError(f"leaves are numbered by integers, not {self.to}")
        return [TensorType(self.to, [at["rows"], len(self.ints("roots"))])]

    def element(self, b: Builder, index: Sequence[Scalar], reads: Sequence[Reader]) -> Scalar:
        features, children = self.ints("features"), self.ints("children")
        thresholds = [float(value) for value in self.thresholds.get_values()]
        missing = set(self.ints("missing")) if self.missing is not None else set[int]()
        kind = element_type_of(self.x)

        def walk(row: Scalar, node: int) -> Scalar:
            if node >= len(features):
                return b.const(node - len(features), self.to)
            value = reads[0]([row, b.index(features[node])])
            first = b.compare("le", value, b.const(_number(thresholds[node], kind), value.dtype))
            if node in missing:
                first = first | b.compare("ne", value, value)
            yes, no = children[2 * node : 2 * node + 2]
            return b.when(first, lambda: [walk(row, yes)], lambda: [walk(row, no)])[0]

        def among(roots: Sequence[int], tree: Scalar, first: int) -> Scalar:
            """The leaf of the tree of this number, which begins at one of the roots; that of the first is `first`."""
            if len(roots) == 1:
                return b.opaque(b.cast(walk(index[0], roots[0]), INDEX))
            half = len(roots) // 2
            lower = b.compare("lt", tree, first + half)
            return b.when(
                lower, lambda: [among(roots[:half], tree, first)], lambda: [among(roots[half:], tree, first + half)]
            )[0]

        roots = self.ints("roots")
        if index[1].constant is not None:
            return walk(index[0], roots[int(index[1].constant)])

        return b.cast(among(roots, b.opaque(index[1]), 0), self.to)


def _number(threshold: float, kind: Attribute) -> int | float:
    return threshold if is_float(kind) else int(threshold)
