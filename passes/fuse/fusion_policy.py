"""When fusing pays: every number and judgement of the fusion passes, apart from how groups are made."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from aotc.dialects.dtypes import byte_width
from aotc.dialects.graph.interfaces import AnchorOp, ElementOp, element_type_of, shape_of
from aotc.passes.fuse.cost import element_cost
from aotc.passes.fuse.groups import is_single_constant

MAX_OPERATIONS = 32
"""The most operations of a group: a kernel should fit on a screen."""

MAX_BUFFERS = 12
"""The most buffers a kernel reads and writes for each anchor in it."""

CHEAP = 12
"""Arithmetic operations worth repeating at every read to keep a tensor narrow in memory: a dequantisation."""

FREE = 2
"""Arithmetic operations worth repeating at every read to save a kernel: two additions, a relu, any transpose."""


def buffers(ops: Sequence[Operation]) -> int:
    """How many buffers a kernel of `ops` takes, its result's included."""
    inside = {result for op in ops for result in op.results}
    read = {operand for op in ops for operand in op.operands}
    return sum(not is_single_constant(value) for value in read - inside) + 1


def most_buffers(ops: Sequence[Operation]) -> int:
    """How many buffers a kernel of `ops`, with all they contain, may take: stages take turns."""
    anchors = sum(isinstance(op, AnchorOp) and not op.regions for outer in ops for op in outer.walk())
    return MAX_BUFFERS * max(anchors, 1)


def recomputing_cost(op: ElementOp) -> int:
    """What a further read of the result costs if it is recomputed: arithmetic, and loads beyond the one it replaces."""
    loads = sum(not is_single_constant(operand) for operand in op.operands)
    return element_cost(op) + max(loads - 1, 0)


def widens(op: ElementOp) -> bool:
    """Whether the result takes more memory than the operands: a dequantisation, a cast up, a broadcast.

    Constants that stand in the kernel take none.
    """
    return _bytes(op.results[0]) > sum(_bytes(operand) for operand in op.operands if not is_single_constant(operand))


def may_recompute(op: ElementOp, already: int) -> bool:
    """Whether to evaluate `op` at every read, `already` being the cost of what is between it and the reader.

    What costs nothing, a movement, adds nothing to what is recomputed anyway: a transpose below a dequantisation.
    """
    cost = recomputing_cost(op)
    return cost == 0 or already + cost <= (CHEAP if widens(op) else FREE)


def may_duplicate(op: ElementOp) -> bool:
    """Whether several groups may each compute `op` for themselves."""
    return widens(op) and recomputing_cost(op) <= CHEAP


def _bytes(value: SSAValue) -> int:
    return math.prod(shape_of(value)) * byte_width(element_type_of(value))
