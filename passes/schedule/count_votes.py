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

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from aotc.dialects.constants import constant_op, key_of, known_array
from aotc.dialects.dtypes import numpy_dtype
from aotc.dialects.graph.compound.control import graph_operations
from aotc.dialects.graph.interfaces import element_type_of, shape_of
from aotc.dialects.graph.quantized.flip import UI8
from aotc.dialects.graph.trees.sums import MOST_EXACT, MOST_VOTES, UI16, GatherSumOp, VoteSumOp
from aotc.machines.targets import core_of
from aotc.model.weights import Array, WeightStore


@dataclass(frozen=True)
class CountVotesPass(ModulePass):
    """Keep what leaves say as votes, of 8 or 16 bits each, where that is exact and smaller: each is a share of its
    leaf's votes."""

    name = "count-votes"

    target: str = "host"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not core_of(self.target).scalars.fpu:  # dividing would be a call of hundreds of instructions
            return
        store = WeightStore.of(ctx)
        for each in graph_operations(op):
            if isinstance(each, GatherSumOp):
                _count(each, store)


def _count(op: GatherSumOp, store: WeightStore) -> None:
    table, trees = known_array(op.table, store), shape_of(op.indices)[1]
    if table is None or element_type_of(op.table) != f32:
        return
    found = votes_of(table, trees)
    if found is None or found.nbytes + VoteSumOp.CODE > table.nbytes:
        return
    constant = constant_op(found, f"{key_of(op.table) or 'leaves'}_votes", store)
    new = VoteSumOp.get(constant.result, op.indices, targets=table.shape[1], divisor=trees)
    for each in (constant, new):
        each.location = op.location
    Rewriter.replace_op(op, [constant, new])


def votes_of(shares: Array, trees: int) -> Array | None:
    """The votes [L, C], u8 or u16, of which `shares` [L, T], f32, are exactly the shares in each row, divided by
    `trees`; None where there are none. C is T, or one more where votes are for none of the targets."""
    rows, targets = shares.shape
    votes = np.zeros([rows, targets + 1], np.int64)
    left = np.flatnonzero(np.isfinite(shares).all(axis=1) & (shares >= 0).all(axis=1))
    if len(left) < rows:
        return None
    kind, most = UI8, MOST_VOTES[UI8]
    for total in range(1, MOST_VOTES[UI16] + 1):
        if total > most:
            kind, most = UI16, MOST_VOTES[UI16]
        if trees * most >= MOST_EXACT:
            return None
        wanted = shares[left]
        counts = np.rint(wanted.astype(np.float64) * (total * trees))
        again = counts.astype(np.float32) / np.float32(total * trees)
        same = (again == wanted).all(axis=1) & (counts.sum(axis=1) <= total)
        votes[left[same], :targets] = counts[same]
        votes[left[same], targets] = total - counts[same].sum(axis=1)
        left = left[~same]
        if not left.size:
            return votes[:, : targets + bool(votes[:, targets].any())].astype(numpy_dtype(kind))
    return None
