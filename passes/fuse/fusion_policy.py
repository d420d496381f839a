"""The cost model of fusion: every threshold and decision of the fusion passes; `groups` makes the groups."""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Operation
from xdsl.passes import ModulePass

from aotc.dialects.graph.interfaces import AnchorOp, ElementOp, bytes_of
from aotc.passes.fuse.groups import is_single_constant
from aotc.passes.kernel.scalar_cost import CHEAP, element_cost

FREE = 2
"""Arithmetic operations worth repeating at every read to save a kernel: two additions, a relu, any transpose."""


def buffers(ops: Sequence[Operation]) -> int:
    """The number of buffers that a kernel of `ops` reads and writes, its result included."""
    inside = {result for op in ops for result in op.results}
    read = {operand for op in ops for operand in op.operands}
    return sum(not is_single_constant(value) for value in read - inside) + 1


@dataclass(frozen=True)
class FusingPass(ModulePass):
    """Options of passes that fuse: how large kernels may get."""

    most_operations: int = 32
    """Of a group, so that a kernel fits on a screen."""
    most_buffers: int = 12
    """That a kernel reads and writes, for each anchor in it."""

    def has_room(self, kernel: Sequence[Operation], count: int) -> bool:
        """Whether a kernel, groups included, may have `count` buffers: more with anchors, whose stages take turns."""
        anchors = sum(isinstance(op, AnchorOp) and not op.regions for outer in kernel for op in outer.walk())
        return count <= self.most_buffers * max(anchors, 1)


def recomputing_cost(op: ElementOp) -> int:
    """The cost of one more read of the result if it is recomputed: arithmetic, and loads beyond the one it replaces."""
    loads = sum(not is_single_constant(operand) for operand in op.operands)
    return element_cost(op) + max(loads - 1, 0)


def widens(op: ElementOp) -> bool:
    """Whether the result takes more memory than the operands: a dequantisation, a widening cast, a broadcast.

    Constants of a single element take none: they are part of the kernel.
    """
    return bytes_of(op.results[0]) > sum(
        bytes_of(operand) for operand in op.operands if not is_single_constant(operand)
    )


def may_recompute(op: ElementOp, already: int) -> bool:
    """Whether to evaluate `op` at every read, `already` being the cost of what is between it and the reader.

    An operation without cost, a movement, is always admitted below something that is recomputed: a transpose below a
    dequantisation.
    """
    cost = recomputing_cost(op)
    return cost == 0 or already + cost <= (CHEAP if widens(op) else FREE)


def may_duplicate(op: ElementOp) -> bool:
    """Whether several groups may each compute a copy of `op`."""
    return widens(op) and recomputing_cost(op) <= CHEAP
