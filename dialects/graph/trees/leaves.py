"""The walk from the roots of decision trees to their leaves: on tables, or as code in which every node is a branch.

What the leaves say, and how trees are put together, are other operations: a gather and a reduction.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, IntegerType, TensorType, f64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, opt_prop_def, prop_def

from aotc.dialects.builder import INDEX, Builder, Reader, Scalar
from aotc.dialects.dtypes import is_encoded, is_float
from aotc.dialects.graph.checks import expect
from aotc.dialects.graph.interfaces import ElementOp, Fusion, ShapeError, common_element_type, element_type_of, shape_of
from aotc.dialects.properties import int_prop, opt_int_prop


def check_sizes(depth: int, leaves: int) -> None:
    """Raise ShapeError for numbers that no tree has."""
    if depth < 0 or leaves < 1:
        raise ShapeError(f"depth must be at least 0 and leaves at least 1, found {depth} and {leaves}")


@irdl_op_definition
class TreeLeavesOp(ElementOp):
    """The leaf of each of R trees for each row of x: result[n, r] is its number.

    `x` [N, F] are features. A node m < M compares: if x[n, features[m]] <= thresholds[m], the walk goes on at
    children[m, 0], else at children[m, 1]; where `missing` [M] holds, a NaN goes to the first, too. Numbers from M on
    are leaves, the first of them is 0 in the result. The walk begins at roots[r] and comes to a leaf in at most `depth`
    steps; nodes may be shared. There are `leaves` leaves. `features`, `children` and `roots` are within their ranges,
    and no walk comes back to a node: they are not checked. No tree has more than `most` nodes, where that is known;
    then none are shared.
    """

    name = "graph.tree_leaves"
    FUSION: ClassVar[Fusion] = Fusion.INJECTIVE
    x = operand_def(TensorType)
    features = operand_def(TensorType)
    thresholds = operand_def(TensorType)
    children = operand_def(TensorType)
    roots = operand_def(TensorType)
    missing = opt_operand_def(TensorType)
    depth = int_prop()
    leaves = int_prop()
    most = opt_int_prop()

    def infer_types(self) -> Sequence[TensorType]:
        tables = {"thresholds": "nodes", "children": "nodes 2 index", "roots": "trees index", "missing": "nodes i1"}
        at = expect(self, x="rows features+", features="nodes+ index", **tables)
        if self.missing is not None and not is_float(element_type_of(self.x)):
            raise ShapeError("integers are never missing")
        if is_encoded(common_element_type(self.x, self.thresholds)):
            raise ShapeError(f"{element_type_of(self.x)} cannot be compared")
        check_sizes(self.depth, self.leaves)
        kind = common_element_type(self.children, self.roots)
        return [TensorType(kind, [at["rows"], at["trees"]])]

    def element(self, b: Builder, index: Sequence[Scalar], reads: Sequence[Reader]) -> Scalar:
        x, features, thresholds, children, roots, *missing = reads
        row, tree = index
        tables, nodes = (features, thresholds, children, *missing), shape_of(self.features)[0]
        walk = _TableWalk(b, row, x, roots, tables, nodes, element_type_of(self.result))

        (node,) = b.loop_while([walk.root(tree)], lambda at: walk.goes_on(at[0]), lambda at: [walk.step(at[0])])
        return walk.leaf(node)


@dataclass(frozen=True)
class Walk(ABC):
    """The walk of one row of features, while its loops are written; `tables` say where it goes."""

    b: Builder
    row: Scalar
    x: Reader
    roots: Reader
    tables: Sequence[Reader]
    nodes: int
    kind: Attribute

    def root(self, tree: Scalar) -> Scalar:
        """The index of the node or leaf that a tree begins with."""
        return self.b.cast(self.roots([tree]), INDEX)

    def goes_on(self, node: Scalar) -> Scalar:
        """Whether an index is that of a node, not of a leaf."""
        return self.b.compare("lt", node, self.nodes)

    @abstractmethod
    def step(self, node: Scalar) -> Scalar:
        """Where the walk goes from `node`: at a leaf it stays. No branch: processors guess half of them wrong."""

    def leaf(self, node: Scalar) -> Scalar:
        """The number of the leaf that a walk ended at."""
        number = node - self.nodes
        return replace(self.b.cast(number, self.kind), index=number)

    def feature(self, number: Scalar) -> Scalar:
        """A feature of the row."""
        return self.x([self.row, number])

    def answer(self, value: Scalar, threshold: Scalar, missing: Scalar | None) -> Scalar:
        """Which child it is: 0 or 1."""
        first = self.b.compare("le", value, threshold)
        if missing is not None:
            first = first | (missing & self.b.compare("ne", value, value))
        return self.b.select(first, self.b.index(0), 1)


class _TableWalk(Walk):
    def step(self, node: Scalar) -> Scalar:
        b = self.b
        features, thresholds, children, *missing = self.tables
        value = self.feature(b.cast(features([node]), INDEX))
        answer = self.answer(value, thresholds([node]), missing[0]([node]) if missing else None)
        return b.cast(children([node, answer]), INDEX)


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
