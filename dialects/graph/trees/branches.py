"""Decision trees as code: every node is a branch."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import I64, DenseArrayBase, IntegerAttr, IntegerType, TensorType, f64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def

from aotc.dialects.builder import Builder, Reader, Scalar, Writer
from aotc.dialects.dtypes import is_encoded, is_float
from aotc.dialects.graph.interfaces import LoopNestOp, ShapeError, element_type_of, shape_of
from aotc.dialects.graph.trees.leaves import check_sizes

MOST_ALONE = 64
"""Trees that have a kernel each, where a single row goes down them: in one, compilers thread jumps of a tree into the
next, which takes code."""


@irdl_op_definition
class BranchingTreesOp(LoopNestOp):
    """As `tree_leaves`, with the tables as properties: numbers that stand in the code of the kernel.

    `children` has both of each node, one after the other; `missing` the nodes at which NaN goes to the first.
    """

    name = "graph.branching_trees"
    x = operand_def(TensorType)
    features = prop_def(DenseArrayBase)
    thresholds = prop_def(DenseArrayBase.constr(f64))
    children = prop_def(DenseArrayBase)
    roots = prop_def(DenseArrayBase)
    missing = opt_prop_def(DenseArrayBase)
    leaves = prop_def(IntegerAttr[I64])
    to = prop_def(Attribute)
    result = result_def(TensorType)

    def infer_types(self) -> Sequence[TensorType]:
        x, features, children = shape_of(self.x), self.ints("features"), self.ints("children")
        count, leaves = len(features), self.leaves.value.data
        if len(x) != 2 or any(not 0 <= feature < x[1] for feature in features):
            raise ShapeError(f"x must be [rows, features] with all features that are asked for, found {list(x)}")
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
        return [TensorType(self.to, [x[0], len(self.ints("roots"))])]

    def loops(self, b: Builder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
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

        def row(index: list[Scalar]) -> None:
            for tree, root in enumerate(self.ints("roots")):
                writes[0]([index[0], b.index(tree)], walk(index[0], root))

        b.parallel_for([shape_of(self.x)[0], 1], row)


def _number(threshold: float, kind: Attribute) -> int | float:
    return threshold if is_float(kind) else int(threshold)
