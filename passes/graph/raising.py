"""One operation in place of several: what passes that raise models to fewer operations have in common."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.rewriter import Rewriter

from aotc.dialects.graph.interfaces import GraphOp
from aotc.model.locations import fuse_locations


def put_in_place(new: GraphOp, ops: Sequence[GraphOp]) -> None:
    """Let `new` compute what `ops`, the last one first, do; those whose results something else reads, too, stay."""
    last, *others = ops
    new.location = fuse_locations(op.location for op in reversed(ops))
    Rewriter.replace_op(last, new)
    for op in others:
        if not any(result.uses for result in op.results):
            op.detach()
            op.erase()
