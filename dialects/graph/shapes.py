"""Shape arithmetic shared by the graph operations."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_

from aotc.dialects.builder import Builder, Scalar
from aotc.dialects.graph.interfaces import ShapeError

CACHE_LINE = 64
"""Bytes of a cache line: scratch buffers are padded by them, and prefetches are one apart."""


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


def broadcast_index(b: Builder, index: Sequence[Scalar], shape: Sequence[int]) -> list[Scalar]:
    """The index into an operand of `shape` for element `index` of the broadcast result."""
    tail = index[len(index) - len(shape) :]
    return [b.index(0) if extent == 1 else i for i, extent in zip(tail, shape, strict=True)]


def ceil_div(a: int, divisor: int) -> int:
    """The least integer not below a / divisor: how many blocks of `divisor` hold `a`."""
    return -(-a // divisor)


@dataclass(frozen=True)
class Segment:
    """`count` tiles of `size`, the first one at `start`."""

    start: int
    count: int
    size: int

    @property
    def stop(self) -> int:
        """Where the last one ends."""
        return self.start + self.count * self.size


def segments(extent: int, size: int) -> Iterator[Segment]:
    """0..extent in tiles of `size`, then the tail in one smaller tile."""
    full, tail = divmod(extent, size)
    if full:
        yield Segment(0, full, size)
    if tail:
        yield Segment(full * size, 1, tail)


def ceil_div_index(a: Scalar, divisor: int) -> Scalar:
    """The same for an index a >= 0."""
    return (a + (divisor - 1)) / divisor


def normalize_axis(axis: int, rank: int) -> int:
    """`axis` counted from the front; raises ShapeError when it is not in [-rank, rank)."""
    if not -rank <= axis < rank:
        raise ShapeError(f"axis {axis} is out of range for rank {rank}")
    return axis + rank if axis < 0 else axis


def same_axis(source: Sequence[int], target: Sequence[int], axis: int) -> int | None:
    """The axis of `source` whose positions are those of the axis of `target`, another shape of the same elements in
    row-major order; None: there is none."""
    before, extent = math.prod(target[:axis]), target[axis]
    found = (own for own, each in enumerate(source) if each == extent and math.prod(source[:own]) == before)
    return next(found, None)


def require_axis(axis: int, rank: int) -> None:
    """Raise ShapeError unless `axis` is one of `rank` axes, counted from the front."""
    if not 0 <= axis < rank:
        raise ShapeError(f"axis {axis} is out of range for rank {rank}")


def inside(b: Builder, index: Scalar, extent: int) -> Scalar:
    """Whether a signed `index` is one of `extent` elements."""
    return b.compare("ge", index, 0) & b.compare("lt", index, extent)


def all_inside(b: Builder, index: Sequence[Scalar], shape: Sequence[int]) -> Scalar:
    """Whether signed indices are those of an element of a tensor of `shape`."""
    return reduce(and_, (inside(b, i, extent) for i, extent in zip(index, shape, strict=True)))


def linearize(b: Builder, index: Sequence[Scalar], shape: Sequence[int]) -> Scalar:
    """The row-major position of `index` in a tensor of `shape`."""
    position = b.index(0)
    for i, extent in zip(index, shape, strict=True):
        position = position * extent + i
    return position


def delinearize(b: Builder, position: Scalar, shape: Sequence[int]) -> list[Scalar]:
    """The index in a tensor of `shape` of its row-major position; the inverse of `linearize`."""
    index: list[Scalar] = []
    for axis, extent in reversed(list(enumerate(shape))):
        outermost = all(other == 1 for other in shape[:axis])
        index.append(b.index(0) if extent == 1 else position if outermost else b.rem(position, b.index(extent)))
        position = position if outermost else position / extent
    return index[::-1]
