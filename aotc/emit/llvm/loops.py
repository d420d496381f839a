"""Which loops of a model LLVM has to make fast."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import VectorType
from xdsl.dialects.scf import ForOp, WhileOp
from xdsl.ir import Operation


def has_scalar_loops(functions: Iterable[Operation]) -> bool:
    """Whether some innermost loop of functions, in the `interface` phase, works on single elements."""
    return any(_search(function)[2] for function in functions)


def _search(op: Operation) -> tuple[bool, bool, bool]:
    """Whether there are loops, vectors, and innermost loops without vectors in an operation."""
    loops = scalar = False
    vectors = any(type(result.type) is VectorType for result in op.results)
    for region in op.regions:
        for block in region.blocks:
            for each in block.ops:
                if each.regions:
                    inside = _search(each)
                    loops, vectors, scalar = loops | inside[0], vectors | inside[1], scalar | inside[2]
                elif not vectors:
                    vectors = any(type(value.type) is VectorType for value in (*each.results, *each.operands))
    if isinstance(op, ForOp | WhileOp):
        scalar |= not loops and not vectors
        loops = True
    return loops, vectors, scalar
