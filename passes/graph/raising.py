"""Replacing several operations by one: shared by the passes that raise functions and normalisations."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.rewriter import Rewriter

from aotc.dialects.graph.interfaces import GraphOp
from aotc.model.locations import fuse_locations


def put_in_place(new: GraphOp, ops: Sequence[GraphOp]) -> None:
    """Replace `ops`, the last one first, by `new`; those whose results have other uses stay."""
    last, *others = ops
    new.location = fuse_locations(op.location for op in reversed(ops))
    Rewriter.replace_op(last, new)
    for op in others:
        if not any(result.uses for result in op.results):
            Rewriter.erase_op(op)
