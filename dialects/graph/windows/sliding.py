"""The windows of convolution and pooling, and of transposed convolution: their arithmetic along one spatial axis.

Position p of the result sees the elements p * stride + tap * dilation - before of the operand, for tap in 0..size.
Those outside the operand (the padding) are left out by the bounds of the loop over taps: nothing is padded or tested.
With `ceil` a window may be larger than the padded operand: one that strides have room for begins, as in the standard.
Positions inside see the same taps, each one at an end others (`Edges`).

Of a transposed convolution, element h of the operand and tap k of the kernel contribute to position
h * stride + k * dilation - before of the result. Positions that are a multiple of `stride` apart use the same taps: the
positions fall into `stride` residues, and within a residue a transposed convolution is a convolution of stride 1 with a
subset of the taps, equally spaced and reversed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from aotc.dialects.axis_reads import AxisReads
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
    def inside(self) -> float:
        """The share of the taps of all positions that are inside of the operand."""
        starts = (position * self.stride - self.before for position in range(self.positions))
        places = (start + tap * self.dilation for start in starts for tap in range(self.size))
        return sum(0 <= place < self.extent for place in places) / (self.positions * self.size)

    @property
    def never_empty(self) -> bool:
        """Whether every position is known to see an element of the operand."""
        return self.dilation == 1 and max(self.before, self.after) < self.size

    def taps(self, b: Builder, position: Scalar) -> tuple[Scalar, Scalar]:
        """The range of taps that lie inside the operand; empty where the bounds have crossed."""
        start = position * self.stride
        first = b.index(0) if self.before <= 0 else ceil_div_index(b.max(self.before - start, 0), self.dilation)
        return first, self._below(b, start, self.extent)

    def reads(self, axis: int) -> AxisReads:
        """The elements that positions see, along an axis of the operand."""
        return AxisReads(axis, self.stride, 1, -self.before, self.span - 1 - self.before)

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


def check_counts(rank: int, pads: Sequence[int], others: Mapping[str, Sequence[int]]) -> None:
    """Raise ShapeError unless there are two pads for each axis, and one of all others, by name."""
    for name, values in {**others, "pads": pads}.items():
        if len(values) != (count := rank * (1 + (name == "pads"))):
            raise ShapeError(f"{name} has {len(values)} values for {rank} spatial axes, expected {count}")


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
    check_counts(rank, pads, {"the kernel": sizes, "strides": strides, "dilations": dilations})
    if any(value < 1 for value in (*strides, *dilations, *sizes)):
        raise ShapeError("strides, dilations and kernel sizes must be positive")
    return [
        SlidingWindow(*axis, ceil=ceil)
        for axis in zip(extents, sizes, strides, dilations, pads[:rank], pads[rank:], strict=True)
    ]


@dataclass(frozen=True)
class Edges:
    """`positions`, of which those before `begin` and from `end` on miss taps; numbers of their cases, in order.

    begin + 1 + positions - end cases where some positions see all taps, else one for each position.
    """

    positions: int
    begin: int
    end: int

    @staticmethod
    def of(window: SlidingWindow) -> Edges:
        """The cases of a window."""
        begin = max(ceil_div(window.before, window.stride), 0)
        end = (window.extent + window.before - window.span) // window.stride + 1
        if begin >= min(end, window.positions):
            return Edges(window.positions, window.positions, window.positions)
        return Edges(window.positions, begin, min(end, window.positions))

    @property
    def count(self) -> int:
        """How many cases there are."""
        return self.begin + (self.begin < self.end) + self.positions - self.end

    def case_of(self, position: int) -> int:
        """The case of a position that is known."""
        return min(position, self.begin) + max(position - self.end + 1, 0)

    def case(self, b: Builder, position: Scalar) -> Scalar:
        """The case of a position."""
        if position.constant is not None:
            return b.index(self.case_of(int(position.constant)))
        if self.count == 1:
            return b.index(0)
        at = b.min(position, self.begin)
        return at if self.end == self.positions else at + b.max(position - (self.end - 1), 0)

    def position(self, b: Builder, case: Scalar) -> Scalar:
        """A position of a case."""
        skipped = self.end - 1 - self.begin
        return case if skipped <= 0 else b.select(b.compare("gt", case, self.begin), case + skipped, case)

    def position_of(self, case: int) -> int:
        """A position of a case that is known."""
        return case + max(self.end - 1 - self.begin, 0) * (case > self.begin)


@dataclass(frozen=True)
class Meeting:
    """Elements and taps that meet at one result position: step s joins
    element `first_source - s * source_step` with tap `first_tap + s * tap_step`, for s in low..high."""

    low: Scalar
    high: Scalar
    first_tap: Scalar
    tap_stride: int
    first_source: Scalar
    source_stride: int

    def tap(self, step: Scalar) -> Scalar:
        """The tap of a step."""
        return self.first_tap + step * self.tap_stride

    def source(self, step: Scalar) -> Scalar:
        """The element of a step."""
        return self.first_source - step * self.source_stride


@dataclass(frozen=True)
class Residues:
    """`count` neighbouring residues: sliding windows that see the same elements with neighbouring taps.

    Position q of `window` is, in residue j of these, position `start` + j + q * `stride` of the result; its tap k is
    tap `first_tap` + j + k * `tap_stride` of the kernel. A convolution is one such residue.
    """

    window: SlidingWindow
    start: int = 0
    stride: int = 1
    first_tap: int = 0
    tap_stride: int = 1
    count: int = 1


@dataclass(frozen=True)
class TransposedWindow:
    """A kernel of `size` taps, every `dilation`, moved by `stride` for each of `extent` elements.

    `before` and `after` are cropped from the result, `more` positions are added to its end.
    """

    extent: int
    size: int
    stride: int
    dilation: int
    before: int
    after: int
    more: int

    @property
    def positions(self) -> int:
        """The extent of the result; negative where cropping leaves nothing."""
        full = (self.extent - 1) * self.stride + (self.size - 1) * self.dilation + 1
        return full + self.more - self.before - self.after

    def reads(self, axis: int) -> AxisReads:
        """The elements that positions see, along an axis of the operand."""
        span = (self.size - 1) * self.dilation
        return AxisReads(axis, 1, self.stride, self.before - span + self.stride - 1, self.before)

    def meeting(self, b: Builder, position: Scalar) -> Meeting:
        """Solve h * stride + k * dilation = position + before for 0 <= h < extent, 0 <= k < size.

        Divided by g = gcd(stride, dilation) it says k = first_tap modulo stride / g, from which h follows.
        """
        divisor = math.gcd(self.stride, self.dilation)
        tap_stride, source_stride = self.stride // divisor, self.dilation // divisor
        target = position + self.before
        reduced = target / divisor
        first_tap = b.rem(reduced * pow(source_stride, -1, tap_stride), b.index(tap_stride))
        room = b.max(reduced - first_tap * source_stride + tap_stride, 0) / tap_stride  # first_source + 1, or 0
        low = ceil_div_index(b.max(room - self.extent, 0), source_stride)
        high = b.min(ceil_div_index(room, source_stride), (self.size + tap_stride - 1 - first_tap) / tap_stride)
        if divisor > 1:
            high = b.select(b.compare("eq", b.rem(target, b.index(divisor)), 0), high, 0)
        return Meeting(low, high, first_tap, tap_stride, room - 1, source_stride)

    def residues(self) -> list[Residues]:
        """All positions of the result, residue by residue; residues that are alike are one entry."""
        together: list[Residues] = []
        for new in filter(None, map(self._residue, range(self.stride))):
            last = together[-1] if together else new
            start, first_tap = last.start + last.count, last.first_tap + last.count
            if new == replace(last, start=start, first_tap=first_tap, count=1):
                together[-1] = replace(last, count=last.count + 1)
            else:
                together.append(new)
        return together

    def _residue(self, residue: int) -> Residues | None:
        """The positions p with p + before = residue modulo stride, if there are any."""
        low = ceil_div(self.before - residue, self.stride)
        count = (self.positions - 1 + self.before - residue) // self.stride + 1 - low
        if count <= 0:
            return None
        divisor = math.gcd(self.stride, self.dilation)
        tap_stride, source_stride = self.stride // divisor, self.dilation // divisor
        tap, missing = residue // divisor * pow(source_stride, -1, tap_stride) % tap_stride, residue % divisor
        size = 0 if missing else max(ceil_div(self.size - tap, tap_stride), 0)
        # The last tap of a residue sees the earliest element, so the window begins with it.
        ahead = 0 if missing else (size - 1) * source_stride - (residue - tap * self.dilation) // self.stride - low
        unpadded = SlidingWindow(self.extent, size, 1, source_stride, ahead, 0)
        after = count - 1 + unpadded.span - self.extent - ahead
        window = SlidingWindow(self.extent, size, 1, source_stride, ahead, after)
        last_tap = tap + tap_stride * (size - 1)
        return Residues(window, low * self.stride + residue - self.before, self.stride, last_tap, -tap_stride)


def transposed_windows(
    extents: Sequence[int],
    sizes: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
    output_padding: Sequence[int],
) -> list[TransposedWindow]:
    """One window per spatial axis, from the attributes as ONNX spells them; raises ShapeError."""
    rank = len(extents)
    names = {"the kernel": sizes, "strides": strides, "dilations": dilations, "output_padding": output_padding}
    check_counts(rank, pads, names)
    if any(value < 1 for value in (*strides, *dilations)):
        raise ShapeError("strides and dilations must be positive")
    if any(value < 0 for value in (*pads, *output_padding)):
        raise ShapeError(f"pads {list(pads)} and output_padding {list(output_padding)} must not be negative")
    windows = [
        TransposedWindow(*axis)
        for axis in zip(extents, sizes, strides, dilations, pads[:rank], pads[rank:], output_padding, strict=True)
    ]
    if any(window.positions < 0 for window in windows):
        raise ShapeError(f"pads {list(pads)} leave nothing of the result")
    return windows
