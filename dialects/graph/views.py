"""Which values of the entry are views of others."""

from __future__ import annotations

import math

from xdsl.ir import Operation, OpResult, SSAValue

from aotc.dialects.graph.interfaces import AnchorOp, ElementOp, GraphOp, shape_of


def is_view(op: Operation) -> bool:
    """Whether `op` only gives another shape to a run of its first operand's elements."""
    return isinstance(op, GraphOp) and op.view_offset() is not None


def is_join(op: Operation) -> bool:
    """Whether the result of `op` is nothing but its operands one after the other."""
    return isinstance(op, GraphOp) and op.part_offsets() is not None


def is_kernel(op: Operation) -> bool:
    """Whether `op` computes something of its own: it becomes a kernel, alone or in a group."""
    return isinstance(op, ElementOp | AnchorOp) and not is_view(op)


def viewed_whole(value: SSAValue) -> SSAValue:
    """The value whose elements, all of them, `value` is another shape of; `value` itself where it is no view."""
    while isinstance(value, OpResult) and is_view(value.op):
        source = value.op.operands[0]
        if math.prod(shape_of(source)) != math.prod(shape_of(value)):
            break
        value = source
    return value
