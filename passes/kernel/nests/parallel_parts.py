"""Parts of a kernel that may be computed at the same time, each with scratch buffers of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from aotc.dialects.builder import Scalar
from aotc.passes.kernel.builders.tile_builder import TileBuilder

T = TypeVar("T")


@dataclass(frozen=True)
class Share:
    """The share of 0..`count` that belongs to a part, as a half-open range; shares differ by one at most."""

    count: int
    low: Scalar
    high: Scalar
    size: int | None
    """None where not all shares are equal."""


def share_of(b: TileBuilder, number: Scalar, count: int, parts: int) -> Share:
    """The share of part `number` of `parts`."""
    if parts == 1:
        return Share(count, b.index(0), b.index(count), count)
    size = None if count % parts else count // parts
    if size is None:
        return Share(count, number * count / parts, (number + 1) * count / parts, size)
    return Share(count, number * size, (number + 1) * size, size)


def for_common(b: TileBuilder, share: Share, low: int, high: int, body: Callable[[Scalar], None]) -> None:
    """`body` for what a share and the range `low`..`high` have in common, in order."""
    if share.size == share.count:
        b.sequential_range(low, high, 1, body)
    elif share.size is not None and (low, high) == (0, share.count):
        b.sequential_range(0, share.size, 1, lambda place: body(share.low + place))
    elif low < high:
        b.sequential_range(b.max(share.low, low), b.min(share.high, high), 1, body)


def in_part(access: Callable[..., T], first: Scalar) -> Callable[..., T]:
    """A reader or writer of the part of a buffer that begins at `first` along its first axis."""
    if first.constant == 0:
        return access

    def at(index: Sequence[Scalar], *value: Scalar) -> T:
        return access([index[0] + first, *index[1:]], *value)

    return at
