"""The positions of windows along an axis: which see the same taps, which taps lie outside, loops over both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from aotc.dialects.aot import LANES, STRIP, WORD
from aotc.dialects.builder import Number, Scalar
from aotc.dialects.graph.shapes import ceil_div
from aotc.dialects.graph.windows.sliding import SlidingWindow
from aotc.passes.kernel.builders.tile_builder import TileBuilder
from aotc.passes.kernel.nest import Row

Span: TypeAlias = "tuple[Scalar, Scalar]"
"""A range of taps or elements."""
Neighbours: TypeAlias = "Callable[[Scalar, int, Span], None]"
"""The work for some neighbouring positions: the first one, how many there are, and their taps."""

MOST_CUT = 8
"""The most positions with a cut window that get code of their own."""
MOST_SHARED = 4
"""Cut windows share code where they are fewer than one of this many."""
MOST_UNROLLED = 5
"""The most taps of a window that are written one by one."""


@dataclass(frozen=True)
class Stretch:
    """Positions `low` to `high` of an axis that see the same `taps`."""

    low: int
    high: int
    taps: tuple[int, int]


def stretches(window: SlidingWindow) -> list[Stretch]:
    """All positions of an axis in order, neighbours with the same taps together; empty ranges of taps are (0, 0)."""
    found: list[Stretch] = []
    for position in range(window.positions):
        start = position * window.stride - window.before
        low = max(ceil_div(-start, window.dilation), 0)
        high = min(ceil_div(window.extent - start, window.dilation), window.size)
        taps = (low, high) if low < high else (0, 0)
        if found and found[-1].taps == taps:
            found[-1] = Stretch(found[-1].low, position + 1, taps)
        else:
            found.append(Stretch(position, position + 1, taps))
    return found


def _either(b: TileBuilder, condition: Scalar, then: Callable[[], None], otherwise: Callable[[], None]) -> None:
    """A conditional without results."""

    def side(write: Callable[[], None]) -> list[Scalar]:
        write()
        return []

    b.when(condition, lambda: side(then), lambda: side(otherwise))


@dataclass(frozen=True)
class Axis:
    """The positions of an axis, in parts that have code of their own."""

    window: SlidingWindow
    parts: tuple[Stretch, ...]
    """Those with known taps."""
    rest: tuple[tuple[int, int], ...]
    """Ranges of those whose taps are computed."""

    @staticmethod
    def of(window: SlidingWindow, *, specialized: bool, each_cut: bool) -> Axis:
        """With `specialized`, positions that see the whole window have code of their own; with `each_cut`, so have the
        others, for every distance from a border, unless they are many."""
        found = stretches(window)
        whole = [part for part in found if part.taps == (0, window.size)]
        cut = [part for part in found if part.taps != (0, window.size)]
        if not cut:
            return Axis(window, tuple(whole), ())
        if specialized and each_cut and sum(part.high - part.low for part in cut) <= MOST_CUT:
            return Axis(window, tuple(found), ())
        if not specialized or not whole:
            return Axis(window, (), ((0, window.positions),))
        ranges = ((0, whole[0].low), (whole[-1].high, window.positions))
        return Axis(window, tuple(whole), tuple((low, high) for low, high in ranges if low < high))

    @property
    def is_static(self) -> bool:
        """Whether the taps of all positions are known."""
        return not self.rest

    def within(self, b: TileBuilder, row: Row, body: Neighbours) -> None:
        """Loops over some positions: together where they see the whole window, else one at a time."""
        end = row.place + row.count if row.end is None else row.end
        whole = next((part for part in self.parts if part.taps == (0, self.window.size)), None)

        def one(at: Scalar, parts: Sequence[Stretch]) -> None:
            if not parts:
                body(at, 1, self.window.taps(b, at))
                return
            part, *others = parts
            taps = b.index(part.taps[0]), b.index(part.taps[1])
            if not others:
                body(at, 1, taps)
                return
            _either(b, b.compare("lt", at, part.high), lambda: body(at, 1, taps), lambda: one(at, others))

        def each() -> None:
            parts = self.parts if self.is_static else ()
            b.sequential_range(row.place, b.min(end, row.place + row.count), 1, lambda at: one(at, parts))

        if whole is None or row.count == 1:
            each()
            return
        fits = b.compare("le", row.place + row.count, end if self.is_whole else b.min(end, whole.high))
        if whole.low:
            fits = fits & b.compare("ge", row.place, whole.low)
        taps = b.index(0), b.index(self.window.size)
        _either(b, fits, lambda: body(row.place, row.count, taps), each)

    @property
    def is_whole(self) -> bool:
        """Whether all positions see the whole window."""
        return self.is_static and len(self.parts) == 1

    def over(self, b: TileBuilder, count: int, body: Neighbours) -> None:
        """Loops over all positions, `count` at a time where their taps are known, else one at a time."""
        for part in self.parts:
            taps = b.index(part.taps[0]), b.index(part.taps[1])
            full = part.low + (part.high - part.low) // count * count
            b.parallel_range(part.low, full, count, lambda at, taps=taps: body(at, count, taps))
            if full < part.high:
                body(b.index(full), part.high - full, taps)
        if not self.rest:
            return
        (first, end), *others = self.rest
        total = sum(high - low for low, high in self.rest)

        def one(number: Scalar) -> None:
            at = number + first if first else number
            if others:  # a second range, behind the whole windows
                gap = others[0][0] - end
                at = at + b.select(b.compare("lt", number, end - first), b.index(0), gap)
            body(at, 1, self.window.taps(b, at))

        b.parallel_range(0, total, 1, one)


def last_axis(window: SlidingWindow, *, specialized: bool, word: int, channels: int) -> Axis:
    """The last axis of a convolution with the channels last: code for each cut window where these are many of all, or
    where words of `word` elements, or strips, are cut, whose elements must then be known."""
    cut = sum(part.high - part.low for part in stretches(window) if part.taps != (0, window.size))
    each_cut = MOST_SHARED * cut > window.positions or word in (STRIP, LANES) or (word == WORD and channels % WORD != 0)
    return Axis.of(window, specialized=specialized, each_cut=each_cut)


def over_taps(
    b: TileBuilder,
    bounds: Sequence[Span],
    sums: Sequence[Scalar],
    body: Callable[[list[Scalar], list[Scalar]], list[Scalar]],
    most: int = MOST_UNROLLED,
) -> list[Scalar]:
    """Loops over taps that carry sums, outermost first; the inner ones of known numbers are written one by one, as long
    as they are at most `most`."""
    written, unrolled = 1, len(bounds)
    for low, high in reversed(bounds):
        if low.constant is None or high.constant is None:
            break
        written *= int(high.constant - low.constant)
        if written > most:
            break
        unrolled -= 1

    def nest(taps: list[Scalar], now: list[Scalar]) -> list[Scalar]:
        if len(taps) == len(bounds):
            return body(taps, now)
        low, high = bounds[len(taps)]
        if len(taps) < unrolled:
            return b.loop(low, high, 1, now, lambda tap, carried: nest([*taps, tap], carried))
        for tap in range(int(cast(Number, low.constant)), int(cast(Number, high.constant))):
            now = nest([*taps, b.index(tap)], now)
        return now

    return nest([], list(sums))


def is_whole(bounds: Sequence[Span], extents: Sequence[int]) -> bool:
    """Whether these are all taps of a window."""
    return all(
        (low.constant, high.constant) == (0, extent) for (low, high), extent in zip(bounds, extents, strict=True)
    )


def over_outside(
    b: TileBuilder,
    bounds: Sequence[Span],
    extents: Sequence[int],
    sums: Sequence[Scalar],
    body: Callable[[list[Scalar], list[Scalar]], list[Scalar]],
) -> list[Scalar]:
    """Loops over the taps of a window of `extents` that are not within `bounds`, which carry sums."""
    whole = [(low.constant, high.constant) == (0, extent) for (low, high), extent in zip(bounds, extents, strict=True)]

    def nest(taps: list[Scalar], now: list[Scalar]) -> list[Scalar]:
        axis = len(taps)
        if all(whole[axis:]):
            return now
        low, high = bounds[axis]
        if not whole[axis]:
            first, last = b.min(low, extents[axis]), high  # of a window that sees nothing they are equal
            rest = [(0, extent) for extent in extents[axis + 1 :]]

            def left_out(number: Scalar, carried: list[Scalar]) -> list[Scalar]:
                tap = number + b.select(b.compare("lt", number, first), b.index(0), last - first)
                return b.reduce(rest, carried, lambda inner, carried: body([*taps, tap, *inner], carried))

            if first.constant is None or last.constant is None:
                now = b.loop(0, first + (b.index(extents[axis]) - last), 1, now, left_out)
            else:
                for tap in (*range(int(first.constant)), *range(int(last.constant), extents[axis])):
                    each = [*taps, b.index(tap)]
                    now = b.reduce(rest, now, lambda inner, carried, each=each: body([*each, *inner], carried))
        if all(whole[axis + 1 :]):
            return now
        if low.constant is None or high.constant is None:
            return b.loop(low, high, 1, now, lambda tap, carried: nest([*taps, tap], carried))
        for tap in range(int(low.constant), int(high.constant)):
            now = nest([*taps, b.index(tap)], now)
        return now

    return nest([], list(sums))
