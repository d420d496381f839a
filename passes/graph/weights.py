"""Constants in passes: names for new ones, and erasing unused ones."""

from __future__ import annotations

from xdsl.ir import Block

from aotc.dialects.constants import key_of
from aotc.dialects.graph.interfaces import GraphOp
from aotc.dialects.graph.structure import ConstantOp


def constant_name(op: GraphOp) -> str:
    """The key for a constant made of `op`: that of a constant it reads, else `constant`."""
    keys = [key for operand in op.operands if (key := key_of(operand)) is not None]
    return keys[0] if keys else "constant"


def erase_unused_constants(block: Block) -> None:
    """Erase the constants of `block` that nothing reads."""
    for op in list(block.ops):
        if isinstance(op, ConstantOp) and op.result.first_use is None:
            op.detach()
            op.erase()
