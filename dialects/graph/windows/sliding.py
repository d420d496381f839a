"""The sliding window of convolution and pooling: its arithmetic along one spatial axis.

Position p of the result sees the elements p * stride + tap * dilation - before of the operand, for tap in 0..size.
Those outside the operand (the padding) are left out by the bounds of the loop over taps: nothing is padded or tested.
With `ceil` a window may be larger than the padded operand: one that strides have room for begins, as in the standard.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aotc.dialects.builder import Builder, Scalar
from aotc.dialects.graph.interfaces import ShapeError
from aotc.dialects.graph.shapes import ceil_div, ceil_div_index


@dataclass(frozen=True)
class SlidingWindow:
    """A window of `size` taps over an axis of `extent` elements padded by `before` and `after`; negative: cropped."""

    extent: int
    size: int
    stride: int
    dilation: int
    before: int
    after: int
    ceil: bool = False
    """Whether a last, incomplete window counts; it must begin inside the operand or the padding before it."""

    @property
    def span(self) -> int:
        """From the first tap to the last, in elements."""
        return (self.size - 1) * self.dilation + 1

    @property
    def positions(self) -> int:
        """The extent of the result; raises ShapeError where not one window fits, or with `ceil` begins."""
        slack = self.extent + self.before + self.after - self.span
        count = ceil_div(slack, self.stride) + 1 if self.ceil else slack // self.stride + 1
        if count < 1:
            raise ShapeError(
                f"a window of {self.size} with dilation {self.dilation} spans {self.span} elements,"
                f" the padded operand has {self.extent + self.before + self.after}"
            )
        begins_outside = (count - 1) * self.stride >= self.extent + self.before
        return count - 1 if self.ceil and begins_outside else count

    @property
    def never_empty(self) -> bool:
        """Whether every position is known to see an element of the operand."""
        return self.dilation == 1 and max(self.before, self.after) < self.size

    def taps(self, b: Builder, position: Scalar) -> tuple[Scalar, Scalar]:
        """The range of taps that lie inside the operand; empty where the bounds have crossed."""
        start = position * self.stride
        first = b.index(0) if self.before <= 0 else ceil_div_index(b.max(self.before - start, 0), self.dilation)
        return first, self._below(b, start, self.extent)

    def padded_taps(self, b: Builder, position: Scalar) -> Scalar:
        """How many taps lie inside the operand or its padding (the others hang over, with `ceil`)."""
        return self._below(b, position * self.stride, self.extent + self.after)

    def source(self, position: Scalar, tap: Scalar) -> Scalar:
        """The element that `tap` sees at `position`."""
        return position * self.stride + tap * self.dilation - self.before

    def _below(self, b: Builder, start: Scalar, limit: int) -> Scalar:
        """The number of taps below element `limit` of the operand, for a window that starts at `start` - before."""
        last = (self.positions - 1) * self.stride - self.before
        if last + self.span <= limit:
            return b.index(self.size)
        room = (limit + self.before) - start
        if last >= limit:
            room = b.max(room, 0)
        return b.min(ceil_div_index(room, self.dilation), self.size)


def sliding_windows(
    extents: Sequence[int],
    sizes: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
    ceil: bool = False,
) -> list[SlidingWindow]:
    """One window per spatial axis, from the attributes as ONNX spells them (pads: all begins, then all ends)."""
    rank = len(extents)
    for name, values, count in (
        ("the kernel", sizes, rank),
        ("strides", strides, rank),
        ("pads", pads, 2 * rank),
        ("dilations", dilations, rank),
    ):
        if len(values) != count:
            raise ShapeError(f"{name} has {len(values)} values for {rank} spatial axes, expected {count}")
    if any(value < 1 for value in (*strides, *dilations, *sizes)):
        raise ShapeError("strides, dilations and kernel sizes must be positive")
    return [
        SlidingWindow(extent, size, stride, dilation, before, after, ceil)
        for extent, size, stride, dilation, before, after in zip(
            extents, sizes, strides, dilations, pads[:rank], pads[rank:], strict=True
        )
    ]
