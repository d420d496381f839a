"""Numbers of parts, computed of others.

The same number is the same value wherever it is computed, so that what has as many parts is known to.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue

from aotc.dialects.graph.elementwise import AddOp, BinaryOp, MulOp
from aotc.frontend.onnx.node import Node


def multiple(node: Node, count: SSAValue, by: int) -> SSAValue:
    """A number of parts times a constant."""
    return _computed(node, MulOp, count, by)


def divided(node: Node, count: SSAValue, by: int) -> SSAValue | None:
    """A number of parts that was multiplied, divided again; None where it may leave a remainder."""
    op = count.owner
    if isinstance(op, MulOp) and (factor := _number(node, op.rhs)) is not None and factor > 0 and factor % by == 0:
        return op.lhs if factor == by else multiple(node, op.lhs, factor // by)
    return None


def sums(node: Node, counts: Sequence[SSAValue | int]) -> list[SSAValue]:
    """How many parts there are up to and including each of several lists, of fixed numbers or not."""
    first = counts[0]
    found = [node.constant(first, np.int64) if isinstance(first, int) else first]
    for each in counts[1:]:
        found.append(_computed(node, AddOp, found[-1], each))
    return found


def _computed(node: Node, kind: type[BinaryOp], count: SSAValue, by: SSAValue | int) -> SSAValue:
    """A count and another number, added or multiplied: what has been computed, where that is in the same block."""
    for use in count.uses:
        op = use.operation
        if isinstance(op, kind) and op.lhs is count and op.parent is count.owner.parent:
            same = _number(node, op.rhs) == by if isinstance(by, int) else op.rhs is by
            if same:
                return op.results[0]
    return node.emit(kind, count, node.constant(by, np.int64) if isinstance(by, int) else by)


def _number(node: Node, value: SSAValue) -> int | None:
    """A constant of rank 0."""
    known = node.known_value(value)
    return int(known) if known is not None and known.ndim == 0 else None
