"""Keep what leaves say as votes, of 8 or 16 bits, where that is exact and smaller: each is a share of its leaf's votes.

The leaf of a random forest says which share of the samples that came to it had each class, divided by the number of
trees: a quotient of small numbers, which rounds to the same float when it is computed again.

Before:
```mlir
%t = graph.constant dense<[[0.25, 0.25], [0.5, 0.0], ..]> : tensor<100x2xf32>
%0 = graph.gather_sum %t, %leaves : (tensor<100x2xf32>, tensor<1x2xui8>) -> tensor<1x2xf32>
```
After:
```mlir
%t = graph.constant dense<[[1, 1], [1, 0], ..]> : tensor<100x2xui8>
%0 = graph.vote_sum %t, %leaves {targets = 2 : i64, divisor = 2 : i64} : (tensor<100x2xui8>, tensor<1x2xui8>) -> ..
```
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, ModuleOp, f32, i64
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from aotc.dialects.aot.contract import target_of
from aotc.dialects.constants import constant_op, key_of, known_array
from aotc.dialects.graph.compound.control_flow import graph_operations
from aotc.dialects.graph.interfaces import element_type_of, producer, shape_of
from aotc.dialects.graph.trees.leaf_sums import BYTE, MOST_EXACT, MOST_VOTES, GatherSumOp, VoteSumOp
from aotc.dialects.graph.trees.leaves import BranchingTreesOp, TreeLeavesOp
from aotc.machines.targets import core_of
from aotc.model.weight_store import Array, WeightStore


class CountVotesPass(ModulePass):
    name = "count-votes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not core_of(target_of(op)).scalars.fpu:  # dividing would be a call of hundreds of instructions
            return
        store = WeightStore.of(ctx)
        for each in graph_operations(op):
            if isinstance(each, GatherSumOp):
                _count(each, store)


def _count(op: GatherSumOp, store: WeightStore) -> None:
    table, trees = known_array(op.table, store), shape_of(op.indices)[1]
    if table is None or element_type_of(op.table) != f32:
        return
    votes = votes_of(table, trees)
    if votes is None:
        return
    found = _of_bytes(op, votes, store) or _Votes(votes.astype(np.uint16), op.indices, None, [])
    if found.table.nbytes + VoteSumOp.CODE > table.nbytes:
        return
    constant = constant_op(found.table, f"{key_of(op.table) or 'leaves'}_votes", store)
    new = VoteSumOp.get(constant.result, found.leaves, targets=table.shape[1], divisor=trees, wide=found.wide)
    added = [*found.added, constant, new]
    for each in added:
        each.location = op.location
    Rewriter.replace_op(op, added, new.results)


@dataclass(frozen=True)
class _Votes:
    """The table of a sum of votes, the numbers of its rows, and the operations that give these."""

    table: Array
    leaves: SSAValue
    wide: int | None
    added: Sequence[Operation]


def _of_bytes(op: GatherSumOp, votes: Array, store: WeightStore) -> _Votes | None:
    """Votes of 8 bits: what leaves with more than these hold takes two rows, behind the others, and other numbers. None
    where that is no smaller than 16 bits, or the leaves cannot be numbered anew."""
    wide = (votes >= BYTE).any(axis=1)
    if not wide.any():
        return _Votes(votes.astype(np.uint8), op.indices, None, [])
    few = len(votes) - int(wide.sum())
    numbers = np.where(wide, few + 2 * (np.cumsum(wide) - 1), np.cumsum(~wide) - 1)
    digits = np.stack([votes[wide] % BYTE, votes[wide] // BYTE], axis=1).reshape(-1, votes.shape[1])
    table = np.concatenate([votes[~wide], digits]).astype(np.uint8)
    if table.nbytes + VoteSumOp.WIDE_CODE > 2 * votes.size:
        return None
    added = _numbered(op.indices, numbers, len(table), store)
    return None if added is None else _Votes(table, added[-1].results[0], few, added)


def _numbered(leaves: SSAValue, numbers: Array, count: int, store: WeightStore) -> list[Operation] | None:
    """The walk that gives `leaves` with other `numbers` of them, below `count`; None where nothing known gives them, or
    something else reads them."""
    if not leaves.has_one_use():
        return None
    if (walk := producer(leaves, BranchingTreesOp)) is not None:
        nodes = len(walk.ints("features"))

        def renumbered(places: Sequence[int]) -> list[int]:
            return [place if place < nodes else nodes + int(numbers[place - nodes]) for place in places]

        children, roots = (renumbered(walk.ints(name)) for name in ("children", "roots"))
        new = walk.clone()
        new.properties["children"] = DenseArrayBase.from_list(i64, children)
        new.properties["roots"] = DenseArrayBase.from_list(i64, roots)
        new.properties["leaves"] = IntegerAttr(count, i64)
        return [new]
    if (walk := producer(leaves, TreeLeavesOp)) is None:
        return None
    nodes, added = shape_of(walk.features)[0], list[Operation]()
    for value in (walk.children, walk.roots):
        places = known_array(value, store)
        if places is None or nodes + count - 1 > np.iinfo(places.dtype).max:
            return None
        at = np.maximum(places.astype(np.int64) - nodes, 0)
        new = np.where(places < nodes, places, nodes + numbers[at]).astype(places.dtype)
        added.append(constant_op(new, key_of(value) or "places", store))
    operands = {walk.children: added[0].results[0], walk.roots: added[1].results[0]}
    new = walk.clone()
    new.operands = [operands.get(value, value) for value in walk.operands]
    new.properties["leaves"] = IntegerAttr(count, i64)
    return [*added, new]


def votes_of(shares: Array, trees: int) -> Array | None:
    """The votes [L, C] of which `shares` [L, T], f32, are exactly the shares in each row, divided by `trees`; None
    where there are none. C is T, or one more where votes are for none of the targets."""
    rows, targets = shares.shape
    votes = np.zeros([rows, targets + 1], np.int64)
    left = np.flatnonzero(np.isfinite(shares).all(axis=1) & (shares >= 0).all(axis=1))
    if len(left) < rows or trees > MOST_EXACT // MOST_VOTES:
        return None
    for total in range(1, MOST_VOTES + 1):
        wanted = shares[left]
        counts = np.rint(wanted.astype(np.float64) * (total * trees))
        again = counts.astype(np.float32) / np.float32(total * trees)
        same = (again == wanted).all(axis=1) & (counts.sum(axis=1) <= total)
        votes[left[same], :targets] = counts[same]
        votes[left[same], targets] = total - counts[same].sum(axis=1)
        left = left[~same]
        if not left.size:
            return votes[:, : targets + bool(votes[:, targets].any())]
    return None
