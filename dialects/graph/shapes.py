"""Shape arithmetic shared by the graph operations."""

from __future__ import annotations

from collections.abc import Sequence

from aotc.dialects.graph.interfaces import ShapeError
from aotc.dialects.graph.loops import LoopBuilder, Scalar


def broadcast(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The multidirectional (numpy) broadcast of `shapes`; raises ShapeError."""
    rank = max((len(shape) for shape in shapes), default=0)
    result = [1] * rank
    for shape in shapes:
        for axis, extent in enumerate(shape, start=rank - len(shape)):
            if extent != 1 and result[axis] not in (1, extent):
                raise ShapeError("shapes " + " and ".join(str(list(s)) for s in shapes) + " do not broadcast")
            if extent != 1:
                result[axis] = extent
    return tuple(result)


def broadcast_index(b: LoopBuilder, index: Sequence[Scalar], shape: Sequence[int]) -> list[Scalar]:
    """The index into an operand of `shape` for element `index` of the broadcast result."""
    tail = index[len(index) - len(shape) :]
    return [b.index(0) if extent == 1 else i for i, extent in zip(tail, shape, strict=True)]


def normalize_axis(axis: int, rank: int) -> int:
    """`axis` counted from the front; raises ShapeError when it is not in [-rank, rank)."""
    if not -rank <= axis < rank:
        raise ShapeError(f"axis {axis} is out of range for rank {rank}")
    return axis + rank if axis < 0 else axis
