"""Sums of products in the registers of a core without vectors: some positions times some outputs at once.

Each element that is loaded is multiplied by the weights of all outputs of the tile, each weight with the elements of
all its positions, so that a step of P x Q sums takes P + Q loads. Bytes are loaded as words of four where the core
multiplies and adds two products of 16 bits at once; the zero point is then added on the way, for nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TypeAlias, cast

from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute

from aotc.dialects.aot import RUN, WORD
from aotc.dialects.builder import Reader, Scalar, Writer
from aotc.dialects.dtypes import is_unsigned
from aotc.dialects.graph.packed.interleaved import Interleaving
from aotc.dialects.graph.schedules import SumsSchedule
from aotc.dialects.graph.shapes import ceil_div
from aotc.dialects.graph.windows.sliding import SlidingWindow
from aotc.passes.kernel.builders.tile_builder import TileBuilder
from aotc.passes.kernel.builders.word_builder import RunIndex, WordBuilder, WordIndex

Place: TypeAlias = "Callable[[Scalar], list[Scalar]]"
"""The index of an element of an operand, by its number along the reduction."""


@dataclass(frozen=True)
class Operand:
    """One of the two operands of the products."""

    read: Reader
    dtype: Attribute
    zero_point: int = 0

    def element(self, b: TileBuilder, index: Sequence[Scalar], summed: Attribute) -> Scalar:
        """An element, as it is multiplied."""
        value = b.cast(self.read(index), summed)
        return value - self.zero_point if self.zero_point else value

    def halves(self, b: WordBuilder, index: Sequence[Scalar]) -> tuple[Scalar, Scalar]:
        """Of the word at an index, the elements 0 and 2, then 1 and 3, as they are multiplied."""
        word = self.read([*index[:-1], WordIndex.of(index[-1])])
        low = -self.zero_point & 0xFFFF
        added = b.const(low | low << 16, i32) if low else None
        even, odd = (b.widen(word, added, odd=odd, unsigned=is_unsigned(self.dtype)) for odd in (False, True))
        return even, odd


@dataclass(frozen=True)
class Products:
    """Adds products of x with interleaved weights to sums, in the order [position, output]."""

    b: TileBuilder
    schedule: SumsSchedule
    x: Operand
    weight: Operand
    summed: Attribute
    """The type of the sums."""
    order: Interleaving
    aligned: bool = True
    """Whether cut runs begin and end with whole words."""

    def add(
        self, sums: Sequence[Scalar], places: Sequence[Place], row: Scalar, span: tuple[Scalar, Scalar]
    ) -> list[Scalar]:
        """The sums with the products of the elements from span[0] to span[1] of a run of x, for each of `places`.

        `row` is where the row of weights of this block of outputs begins.
        """
        b, word, unroll = self.b, self.schedule.word, self.schedule.unroll
        low, high = span
        if low.constant is None or high.constant is None:
            if word == 1:
                return b.loop(low, high, 1, sums, lambda at, now: self._single(now, places, row, at))
            if self.aligned and word == WORD:
                return b.loop(low, high, word, sums, lambda at, now: self._words(now, places, row, at))
            whole = b.compare("eq", high - low, self.order.run)
            return b.when(
                whole,
                lambda: self.add(sums, places, row, (b.index(0), b.index(self.order.run))),
                lambda: b.loop(low, high, 1, sums, lambda at, now: self._single(now, places, row, at)),
            )
        first, last = int(low.constant), int(high.constant)
        if word == RUN:
            return self._runs(list(sums), places, row, (first, last))
        begin = min(ceil_div(first, word) * word, last)
        end = max(min(last, self.order.whole) // word * word, begin)
        if word == 1:
            begin, end = first, max(last, first)
        now = list(sums)
        for at in range(first, begin):
            now = self._single(now, places, row, b.index(at))
        step = self._words if word > 1 else self._single
        stride = word * unroll
        rolled = begin + (end - begin) // stride * stride
        if rolled > begin + 2 * stride:

            def body(at: Scalar, now: list[Scalar]) -> list[Scalar]:
                for offset in range(0, stride, word):
                    now = step(now, places, row, at + offset)
                return now

            now = b.loop(begin, rolled, stride, now, body)
        else:
            rolled = begin
        for at in range(rolled, end, word):
            now = step(now, places, row, b.index(at))
        for at in range(end, last):
            now = self._single(now, places, row, b.index(at))
        return now

    def _runs(self, now: list[Scalar], places: Sequence[Place], row: Scalar, span: tuple[int, int]) -> list[Scalar]:
        """The products of elements span[0] to span[1], a run of each position at a time, of one output."""
        b, (first, last) = cast(WordBuilder, self.b), span

        def step(at: Scalar, now: Sequence[Scalar], count: int) -> list[Scalar]:
            weight, added = self.weight.read([RunIndex.of(row + at)]), -self.x.zero_point
            runs = [self.x.read([*index[:-1], RunIndex.of(index[-1])]) for index in (place(at) for place in places)]
            return [b.run_dot(x, weight, total, count=count, added=added) for x, total in zip(runs, now, strict=True)]

        whole = first + max(last - first, 0) // RUN * RUN
        looped = whole if whole > first + 2 * RUN else first
        if looped > first:
            now = b.loop(first, looped, RUN, now, lambda at, now: step(at, now, RUN))
        for at in range(looped, whole, RUN):
            now = step(b.index(at), now, RUN)
        return step(b.index(whole), now, last - whole) if whole < last else now

    def _single(self, sums: Sequence[Scalar], places: Sequence[Place], row: Scalar, at: Scalar) -> list[Scalar]:
        """The products of one element of each position."""
        b, now = self.b, list(sums)
        width = len(now) // len(places)
        factors = [self.x.element(b, place(at), self.summed) for place in places]
        for column in range(width):
            if at.constant is not None:
                where = row + self.order.within(width, column, int(at.constant))
            elif (word := self.schedule.word) == 1:
                where = row + at * width + column
            else:  # a run of whole words, as `Interleaving.within` has it
                where = row + (at + at / word * ((width - 1) * word)) + column * word
            weight = self.weight.element(b, [where], self.summed)
            for number, factor in enumerate(factors):
                slot = number * width + column
                now[slot] = b.fma(factor, weight, now[slot])
        return now

    def _words(self, sums: Sequence[Scalar], places: Sequence[Place], row: Scalar, at: Scalar) -> list[Scalar]:
        """The products of four elements of each position."""
        b, now = cast(WordBuilder, self.b), list(sums)
        width = len(now) // len(places)
        factors = [self.x.halves(b, place(at)) for place in places]
        for column in range(width):
            halves = self.weight.halves(b, [row + at * width + column * self.schedule.word])
            for which, weight in enumerate(halves):
                for number, factor in enumerate(factors):
                    slot = number * width + column
                    now[slot] = b.word_dot(factor[which], weight, now[slot])
        return now

    def blocks(self, body: Callable[[Scalar, int], None]) -> None:
        """Loops over the blocks of outputs: `body` gets the first output of a block and how many there are."""
        order = self.order
        self.b.parallel_range(0, order.full, order.columns, lambda output: body(output, order.columns))
        if order.full < order.outputs:
            body(self.b.index(order.full), order.outputs - order.full)

    def start(self, bias: Reader | None, output: Scalar, width: int, positions: int) -> list[Scalar]:
        """What the sums of a tile begin with."""
        b = self.b
        if bias is None:
            return [b.const(0, self.summed)] * (width * positions)
        return [bias([output + column]) for column in range(width)] * positions


# --- positions along an axis -----------------------------------------------------------------------------------------

Span: TypeAlias = "tuple[Scalar, Scalar]"
"""A range of taps or elements."""
Neighbours: TypeAlias = "Callable[[Scalar, int, Span], None]"
"""What is done for some neighbouring positions: the first one, how many there are, and their taps."""

MOST_CUT = 8
"""The most positions with a cut window that get code of their own."""
MOST_SHARED = 4
"""Cut windows share code where they are fewer than one of this many."""
MOST_UNROLLED = 12
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
    where words of `word` elements, or runs, are cut, whose elements must then be known."""
    cut = sum(part.high - part.low for part in stretches(window) if part.taps != (0, window.size))
    each_cut = MOST_SHARED * cut > window.positions or word == RUN or (word == WORD and channels % WORD != 0)
    return Axis.of(window, specialized=specialized, each_cut=each_cut)


def over_taps(
    b: TileBuilder,
    bounds: Sequence[Span],
    sums: Sequence[Scalar],
    body: Callable[[list[Scalar], list[Scalar]], list[Scalar]],
) -> list[Scalar]:
    """Loops over taps that carry sums, outermost first; the inner ones of known numbers are written one by one, as long
    as they are few."""
    written, unrolled = 1, len(bounds)
    for low, high in reversed(bounds):
        if low.constant is None or high.constant is None:
            break
        written *= int(high.constant - low.constant)
        if written > MOST_UNROLLED:
            break
        unrolled -= 1

    def nest(taps: list[Scalar], now: list[Scalar]) -> list[Scalar]:
        if len(taps) == len(bounds):
            return body(taps, now)
        low, high = bounds[len(taps)]
        if len(taps) < unrolled or low.constant is None or high.constant is None:
            return b.loop(low, high, 1, now, lambda tap, carried: nest([*taps, tap], carried))
        for tap in range(int(low.constant), int(high.constant)):
            now = nest([*taps, b.index(tap)], now)
        return now

    return nest([], list(sums))


# --- nests -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ConvSums:
    """Convolution with the channels last: x [N, spatial.., W * C], result [N, 1, spatial.., M]."""

    products: Products
    result: Sequence[int]
    kernel: Sequence[int]
    channels: int
    groups: int
    windows: Sequence[SlidingWindow]
    axis: Axis
    """The last one."""
    bias: Reader | None
    write: Writer

    def run(self) -> None:
        b = self.products.b

        def outer(index: list[Scalar]) -> None:
            def across(first: Scalar, count: int, taps: Span) -> None:
                self.products.blocks(lambda output, width: self._tile(index, first, count, taps, output, width))

            self.axis.over(b, self.products.schedule.positions, across)

        b.parallel_for([self.result[0], *self.result[2:-2]], outer)

    def _tile(self, index: Sequence[Scalar], first: Scalar, count: int, taps: Span, output: Scalar, width: int) -> None:
        b, order, last = self.products.b, self.products.order, self.windows[-1]
        batch, *position = index
        runs, inputs = last.dilation == 1 and self.groups == 1, self.channels // self.groups
        step, shift = last.stride * self.channels, last.before * self.channels
        base = first * step + (output / (order.outputs // self.groups) * inputs if self.groups > 1 else 0)

        def add(at: list[Scalar], now: list[Scalar]) -> list[Scalar]:
            seen = [window.source(p, tap) for window, p, tap in zip(self.windows, position, at, strict=False)]
            row, span = b.index(0), (taps[0] * self.channels, taps[1] * self.channels)
            for tap, extent in zip(at, self.kernel, strict=False):
                row = row * extent + tap
            moved = base
            if not runs:
                moved, span = base + at[-1] * (last.dilation * self.channels), (b.index(0), b.index(inputs))
            begin = output * order.depth + row * (order.run * width)

            def place(number: int) -> Place:
                return lambda e: [batch, *seen, _sum(moved, e, number * step - shift)]

            return self.products.add(now, [place(number) for number in range(count)], begin, span)

        bounds = [w.taps(b, p) for w, p in zip(self.windows[:-1], position, strict=True)]
        sums = self.products.start(self.bias, output, width, count)
        sums = b.reduce([*bounds, *([] if runs else [taps])], sums, add)
        for slot, (number, column) in enumerate(product(range(count), range(width))):
            self.write([batch, b.index(0), *position, first + number, output + column], sums[slot])


def _sum(moved: Scalar, element: Scalar, distance: int) -> Scalar:
    """moved + element + distance, with one addition of what is constant."""
    if element.constant is not None:
        return moved + (int(element.constant) + distance)
    return moved + element + distance


@dataclass(frozen=True)
class MatMulSums:
    """A product of lhs [.., K] with interleaved weights: [.., M]."""

    products: Products
    rows: Sequence[int]
    bias: Reader | None
    write: Writer

    def run(self) -> None:
        b, count = self.products.b, self.products.schedule.positions
        *outer, rows = self.rows or (1,)
        full = rows // count * count

        def at(index: list[Scalar]) -> None:
            b.parallel_range(0, full, count, lambda row: self._rows(index, row, count))
            if full < rows:
                self._rows(index, b.index(full), rows - full)

        b.parallel_for(outer, at)

    def _rows(self, index: list[Scalar], first: Scalar, count: int) -> None:
        b, products = self.products.b, self.products
        depth = products.order.depth
        rows = [[*index, first + number] if self.rows else [] for number in range(count)]

        def tile(output: Scalar, width: int) -> None:
            places: list[Place] = [lambda e, row=row: [*row, e] for row in rows]
            sums = products.start(self.bias, output, width, count)
            sums = products.add(sums, places, output * depth, (b.index(0), b.index(depth)))
            for slot, (row, column) in enumerate(product(rows, range(width))):
                self.write([*row, output + column], sums[slot])

        products.blocks(tile)


@dataclass(frozen=True)
class DepthwiseSums:
    """Convolution of each channel with a kernel of its own: x [N, 1, spatial.., C], weight [kernel.., C]."""

    b: TileBuilder
    schedule: SumsSchedule
    x: Operand
    weight: Operand
    summed: Attribute
    result: Sequence[int]
    windows: Sequence[SlidingWindow]
    bias: Reader | None
    write: Writer

    def run(self) -> None:
        specialized = self.schedule.specialized
        *outer, last = self.windows

        def rows(index: list[Scalar]) -> None:
            bounds = [window.taps(self.b, at) for window, at in zip(outer[:-1], index[1:], strict=True)]
            if not outer:
                self._columns(index, [], Axis.of(last, specialized=specialized, each_cut=True))
                return

            def row(at: Scalar, _: int, taps: Span) -> None:
                whole = taps[0].constant is not None
                axis = Axis.of(last, specialized=specialized and whole, each_cut=True)
                self._columns([*index, at], [*bounds, taps], axis)

            Axis.of(outer[-1], specialized=specialized, each_cut=False).over(self.b, 1, row)

        self.b.parallel_for([self.result[0], *self.result[2:-3]], rows)

    def _columns(self, index: list[Scalar], bounds: list[Span], axis: Axis) -> None:
        b, channels, width = self.b, self.result[-1], self.schedule.columns
        full = channels // width * width

        def across(first: Scalar, count: int, taps: Span) -> None:
            spans = [*bounds, taps]
            b.parallel_range(0, full, width, lambda c: self._tile(index, first, count, spans, c, width))
            b.parallel_range(full, channels, 1, lambda c: self._tile(index, first, count, spans, c, 1))

        axis.over(b, self.schedule.positions, across)

    def _tile(
        self, index: Sequence[Scalar], first: Scalar, count: int, spans: Sequence[Span], channel: Scalar, width: int
    ) -> None:
        b, last = self.b, self.windows[-1]
        batch, *position = index
        zero, words = b.index(0), self.schedule.word > 1 and width == self.schedule.word

        def step(at: list[Scalar], now: list[Scalar]) -> list[Scalar]:
            *outer, tap = at
            seen = [window.source(p, k) for window, p, k in zip(self.windows, position, outer, strict=False)]
            places = [
                [batch, zero, *seen, _sum(first * last.stride, tap * last.dilation, number * last.stride - last.before)]
                for number in range(count)
            ]
            add = self._words if words else self._singles
            return add(now, places, [*outer, tap], channel, width)

        start = [b.const(0, self.summed) if self.bias is None else self.bias([channel + c]) for c in range(width)]
        sums = over_taps(b, spans, start * count, step)
        for slot, (number, column) in enumerate(product(range(count), range(width))):
            self.write([batch, zero, *position, first + number, channel + column], sums[slot])

    def _singles(
        self, now: list[Scalar], places: list[list[Scalar]], taps: list[Scalar], channel: Scalar, width: int
    ) -> list[Scalar]:
        b, sums = self.b, list(now)
        for column in range(width):
            weight = self.weight.element(b, [*taps, channel + column], self.summed)
            for number, place in enumerate(places):
                slot = number * width + column
                sums[slot] = b.fma(self.x.element(b, [*place, channel + column], self.summed), weight, sums[slot])
        return sums

    def _words(
        self, now: list[Scalar], places: list[list[Scalar]], taps: list[Scalar], channel: Scalar, width: int
    ) -> list[Scalar]:
        b, sums = cast(WordBuilder, self.b), list(now)
        weights = self.weight.halves(b, [*taps, channel])
        for number, place in enumerate(places):
            factors = self.x.halves(b, [*place, channel])
            for which, part in product((0, 1), (0, 1)):
                slot = number * width + 2 * part + which
                sums[slot] = b.fma(b.half(factors[which], part), b.half(weights[which], part), sums[slot])
        return sums
