"""Write decision trees as branches where their schedule says so: what a node asks stands in the code.

Before:
```mlir
%f = graph.constant dense<1> : tensor<1xui8>
%t = graph.constant dense<0.5> : tensor<1xf32>
..
%0 = graph.tree_leaves %x, %f, %t, %c, %r {schedule = #graph.tree_schedule<.., branches>, ..} : ..
```
After:
```mlir
%0 = graph.branching_trees %x {features = array<i64: 1>, thresholds = array<f64: 0.5>, ..} : (tensor<1x4xf32>) -> ..
```
"""

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from aotc.dialects.aot.contract import entries
from aotc.dialects.constants import known_array
from aotc.dialects.graph.interfaces import element_type_of
from aotc.dialects.graph.schedules import TreeSchedule, schedule_of
from aotc.dialects.graph.trees.leaves import BranchingTreesOp, TreeLeavesOp
from aotc.model.weight_store import Array, WeightStore


class BranchTreesPass(ModulePass):
    name = "branch-trees"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        store = WeightStore.of(ctx)
        for entry in entries(op):
            for each in list(entry.body.block.ops):
                if isinstance(each, TreeLeavesOp):
                    _branch(each, store)


def _branch(op: TreeLeavesOp, store: WeightStore) -> None:
    schedule = schedule_of(op)
    if not isinstance(schedule, TreeSchedule) or not schedule.branches:
        return
    tables = [known_array(value, store) for value in op.operands[1:]]
    known = [table for table in tables if table is not None]
    if len(known) < len(tables):
        return
    features, thresholds, children, roots, *missing = known
    if not _can_branch(features, thresholds, children, roots):
        return
    nodes = _below(children, roots)
    places = np.full(len(features) + op.leaves, -1, np.int64)
    places[nodes] = np.arange(len(nodes))
    places[len(features) :] = np.arange(op.leaves) + len(nodes)
    new = BranchingTreesOp.get(
        op.x,
        features=features[nodes].tolist(),
        thresholds=[float(each) for each in thresholds[nodes].tolist()],
        children=places[children[nodes].reshape(-1)].tolist(),
        roots=places[roots].tolist(),
        missing=np.flatnonzero(missing[0][nodes]).tolist() if missing else None,
        leaves=op.leaves,
        to=element_type_of(op.result),
    )
    new.location = op.location
    Rewriter.replace_op(op, new)


def _below(children: Array, roots: Array) -> Array:
    """The nodes of the trees with these roots, ascending."""
    count, found, front = len(children), [np.zeros(0, np.int64)], roots.astype(np.int64)
    while (front := front[front < count]).size:
        found.append(front)
        front = children[front].reshape(-1).astype(np.int64)
    return np.sort(np.concatenate(found))


def _can_branch(features: Array, thresholds: Array, children: Array, roots: Array) -> bool:
    """Whether all thresholds are numbers that can be written, and nodes are trees, of which none is behind its child:
    shared nodes would be written as often as there are ways to them."""
    count = len(features)
    reached = np.concatenate([children.reshape(-1), roots]).astype(np.int64)
    in_order = bool((children > np.arange(count)[:, None]).all())
    once = bool((np.bincount(reached[reached < count], minlength=1) < 2).all())
    return in_order and once and bool(np.isfinite(thresholds).all())
