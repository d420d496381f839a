"""Sums of products in the registers of a core without vectors: some positions times some outputs at once.

Each element that is loaded is multiplied by the weights of all outputs of the tile, each weight with the elements of
all its positions, so that a step of P x Q sums takes P + Q loads. Bytes are loaded as words of four where the core
multiplies and adds two products of 16 bits at once; the zero point is then added on the way, for nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TypeAlias, TypeVar, cast

from xdsl.dialects.builtin import i16, i32
from xdsl.ir import Attribute

from aotc.dialects.aot import LANES, QUAD, STRIP, WORD
from aotc.dialects.builder import Reader, Scalar, Writer
from aotc.dialects.dtypes import is_unsigned
from aotc.dialects.graph.accumulation import AccumulatingOp
from aotc.dialects.graph.interfaces import element_type_of
from aotc.dialects.graph.packed.integers.channels_last import NIBBLE, InterleavedMatMulOp, InterleavedOp
from aotc.dialects.graph.packed.layout import Layout
from aotc.dialects.graph.schedules import SumsSchedule
from aotc.dialects.graph.shapes import ceil_div
from aotc.passes.kernel.builders.tile_builder import TileBuilder
from aotc.passes.kernel.builders.tiles import Tile
from aotc.passes.kernel.builders.word_builder import QuadBuilder, WordBuilder, WordIndex
from aotc.passes.kernel.nest import Nest

Sum = TypeVar("Sum", bound=AccumulatingOp)
Interleaved = TypeVar("Interleaved", bound=InterleavedOp)

Place: TypeAlias = "Callable[[Scalar], list[Scalar]]"
"""The index of an element of an operand, by its number along the reduction."""
StripStep: TypeAlias = "Callable[[Scalar, Sequence[Scalar], int, list[Scalar]], list[Scalar]]"
"""The step at an element with registers of weights of outputs from there on, so many bytes each: sums to sums."""


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

    def word(self, index: Sequence[Scalar]) -> Scalar:
        """The word at an index."""
        return self.read([*index[:-1], WordIndex.of(index[-1])])

    def halves(self, b: WordBuilder, index: Sequence[Scalar]) -> tuple[Scalar, Scalar]:
        """Of the word at an index, the elements 0 and 2, then 1 and 3, as they are multiplied."""
        return self.halves_of(b, self.word(index))

    def halves_of(self, b: WordBuilder, word: Scalar) -> tuple[Scalar, Scalar]:
        """The elements 0 and 2, then 1 and 3, of a word."""
        low = -self.zero_point & 0xFFFF
        added = b.const(low | low << 16, i32) if low else None
        even, odd = (b.widen(word, added, odd=odd, unsigned=is_unsigned(self.dtype)) for odd in (False, True))
        return even, odd


@dataclass(frozen=True)
class SumsNest(Nest[Sum, SumsSchedule]):
    """Sums of products of two operands in registers, perhaps of another one that sums start with."""

    def _operand(self, place: int) -> Operand:
        return Operand(self.reads[place], element_type_of(self.op.operands[place]), self.op.zero_points[place])

    @cached_property
    def x(self) -> Operand:
        """The first operand."""
        return self._operand(0)

    @cached_property
    def weight(self) -> Operand:
        """The second operand."""
        return self._operand(1)

    @cached_property
    def bias(self) -> Reader | None:
        """The first addend of sums; None: nothing."""
        return self.reads[2] if self.op.operands[2:] else None

    @cached_property
    def summed(self) -> Attribute:
        """The type of the sums."""
        return element_type_of(self.op.results[0])


@dataclass(frozen=True)
class InterleavedNest(SumsNest[Interleaved]):
    """Adds products of x with interleaved weights to sums, in the order [position, output].

    Where weights of two outputs are in a byte, both are multiplied as they lie in a byte's upper half, so that sums are
    16 times what they stand for; what they start with is added in the end.
    """

    @cached_property
    def order(self) -> Layout:
        """Of the weights."""
        return self.op.order

    @cached_property
    def plain(self) -> tuple[int, int, int]:
        """Operands in that order: outputs, rows of weights of an output, weights of a row."""
        return self.op.plain

    @property
    def aligned(self) -> bool:
        """Whether cut strips begin and end with whole words."""
        return True

    @property
    def row(self) -> int:
        """The weights of a row."""
        return self.plain[2]

    @property
    def depth(self) -> int:
        """The weights of an output."""
        return math.prod(self.plain[1:])

    def stored(self, width: int) -> int:
        """The bytes that a step of the reduction has for `width` outputs."""
        return ceil_div(width, 2) if self.op.paired else width

    def begin(self, output: Scalar, row: Scalar | None, width: int) -> Scalar:
        """Where a row of weights of the block of `width` outputs begins that starts with `output`."""
        first = (output / 2 if self.op.paired else output) * self.depth
        return first if row is None else first + row * (self.row * self.stored(width))

    def add(
        self, sums: Sequence[Scalar], places: Sequence[Place], row: Scalar, span: tuple[Scalar, Scalar]
    ) -> list[Scalar]:
        """The sums with the products of the elements from span[0] to span[1] of a strip of x, for each of `places`.

        `row` is where the row of weights of this block of outputs begins.
        """
        b, word, unroll = self.b, self.schedule.word, self.schedule.unroll
        low, high = span
        if word == LANES:
            return self._along_strips(list(sums), row, span, len(sums) // len(places), self._dots(places))
        if low.constant is None or high.constant is None:
            if word == 1:
                return b.loop(low, high, 1, sums, lambda at, now: self._single(now, places, row, at))
            if self.aligned and word == WORD:
                return b.loop(low, high, word, sums, lambda at, now: self._words(now, places, row, at))
            whole = b.compare("eq", high - low, self.row)
            return b.when(
                whole,
                lambda: self.add(sums, places, row, (b.index(0), b.index(self.row))),
                lambda: b.loop(low, high, 1, sums, lambda at, now: self._single(now, places, row, at)),
            )
        first, last = int(low.constant), int(high.constant)
        if word == STRIP:
            return self._strips(list(sums), places, row, (first, last))
        begin = min(ceil_div(first, word) * word, last)
        end = max(min(last, self.row) // word * word, begin)
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

    def _both(self, weights: Iterable[Scalar]) -> Iterator[Scalar]:
        """The weights of each output, 16 times, from words of four bytes of two, or registers of them."""
        b = self.b
        for byte in weights:
            if not self.op.paired:
                yield byte
                continue
            mask = b.const(-0x0F0F0F10, byte.dtype) if self.schedule.word == WORD else b.const(-16, byte.dtype)
            shifted = b.shift_left(byte, b.const(NIBBLE, byte.dtype))
            yield from (shifted & mask if self.schedule.word == WORD else shifted, byte & mask)

    def _strips(self, now: list[Scalar], places: Sequence[Place], row: Scalar, span: tuple[int, int]) -> list[Scalar]:
        """The products of elements span[0] to span[1], a strip of each position at a time, of one output."""
        b, (first, last) = cast(WordBuilder, self.b), span

        def step(at: Scalar, now: Sequence[Scalar], count: int) -> list[Scalar]:
            if count == 1:
                return self._single(now, places, row, at)
            weight = self._halves(self.weight, [row + at], count)
            strips = [self._halves(self.x, place(at), count) - self.x.zero_point for place in places]
            return [b.lane_dot(x, weight, total) for x, total in zip(strips, now, strict=True)]

        whole = first + max(last - first, 0) // STRIP * STRIP
        looped = whole if whole > first + 2 * STRIP else first
        if looped > first:
            now = b.loop(first, looped, STRIP, now, lambda at, now: step(at, now, STRIP))
        for at in range(looped, whole, STRIP):
            now = step(b.index(at), now, STRIP)
        return step(b.index(whole), now, last - whole) if whole < last else now

    def add_weights(self, sums: Sequence[Scalar], row: Scalar, span: tuple[Scalar, Scalar]) -> list[Scalar]:
        """The sums with the weights of the elements from span[0] to span[1] of a strip, one sum for each output."""
        b = cast(WordBuilder, self.b)

        def step(at: Scalar, weights: Sequence[Scalar], count: int, now: list[Scalar]) -> list[Scalar]:
            return [b.instruction("vaddva.s8", weight, total) for weight, total in zip(weights, now, strict=True)]

        return self._along_strips(list(sums), row, span, len(sums), step)

    def _dots(self, places: Sequence[Place]) -> StripStep:
        """The step that multiplies a strip of each position by that of each output."""
        b = cast(WordBuilder, self.b)

        def step(at: Scalar, weights: Sequence[Scalar], count: int, now: list[Scalar]) -> list[Scalar]:
            strips = [self._register(self.x, place(at), count) for place in places]
            terms = zip(product(strips, weights), now, strict=True)
            return [b.lane_dot(x, weight, total) for (x, weight), total in terms]

        return step

    def _halves(self, operand: Operand, index: Sequence[Scalar], count: int) -> Scalar:
        """`count` bytes from an index on in a register, each in 16 bits."""
        return self.b.cast(self._register(operand, index, count, STRIP), i16)

    def _register(self, operand: Operand, index: Sequence[Scalar], count: int, size: int = LANES) -> Scalar:
        """`count` bytes from an index on in a register of `size`, zeros behind them."""
        lanes = Tile((size,), count if count < size else None)
        return operand.read([*index[:-1], lanes.index(self.b, index[-1], {-1: 1})])

    def _along_strips(
        self, now: list[Scalar], row: Scalar, span: tuple[Scalar, Scalar], width: int, step: StripStep
    ) -> list[Scalar]:
        """Goes through the strips of elements span[0] to span[1] of the `width` outputs of a block."""
        b, strip, (low, high), stored = self.b, self.row, span, self.stored(width)

        def whole(at: Scalar, now: list[Scalar]) -> list[Scalar]:
            begin = row + at * stored
            weights = [self._register(self.weight, [begin + column * LANES], LANES) for column in range(stored)]
            return step(at, list(self._both(weights))[:width], LANES, now)

        if low.constant is None or high.constant is None:
            return b.loop(low, high, LANES, now, whole)
        at, last, stride = int(low.constant), int(high.constant), LANES * self.schedule.unroll

        def part(at: int, now: list[Scalar]) -> tuple[int, list[Scalar]]:
            """Of the strip that `at` is in; and where the next one begins."""
            first = at // LANES * LANES
            length = min(LANES, strip - first)
            begin, end = row + (first * stored + at - first), min(first + length, last)
            weights = [self._register(self.weight, [begin + column * length], end - at) for column in range(stored)]
            return end, step(b.index(at), list(self._both(weights))[:width], end - at, now)

        while at < last and at % LANES:
            at, now = part(at, now)
        looped = at + max(last - at, 0) // stride * stride
        if looped > at + stride:

            def body(at: Scalar, now: list[Scalar]) -> list[Scalar]:
                for offset in range(0, stride, LANES):
                    now = whole(at + offset, now)
                return now

            now, at = b.loop(at, looped, stride, now, body), looped
        while at < last:
            at, now = part(at, now)
        return now

    def _single(self, sums: Sequence[Scalar], places: Sequence[Place], row: Scalar, at: Scalar) -> list[Scalar]:
        """The products of one element of each position."""
        b, now = self.b, list(sums)
        width = len(now) // len(places)
        stored = self.stored(width)
        factors = [self.x.element(b, place(at), self.summed) for place in places]
        weights: list[Scalar] = []
        for column in range(stored):
            if at.constant is not None:
                (within,) = self.order.place(b, [b.index(column), b.index(0), at], (stored, 1, self.row))
                where = row + within
            elif (word := self.schedule.word) == 1:
                where = row + at * stored + column
            else:  # a strip of whole words, as the layout has it
                where = row + (at + at / word * ((stored - 1) * word)) + column * word
            weights.append(self.weight.element(b, [where], self.summed))
        for column, weight in enumerate(self._single_weights(weights, width)):
            for number, factor in enumerate(factors):
                slot = number * width + column
                now[slot] = b.fma(factor, weight, now[slot])
        return now

    def _single_weights(self, weights: Sequence[Scalar], width: int) -> list[Scalar]:
        """The weights of `width` outputs, or 16 times them, from elements."""
        b, found = self.b, list[Scalar]()
        if not self.op.paired:
            return list(weights)
        for byte in weights:
            top = b.shift_left(byte, b.const(32 - NIBBLE, i32))
            found += [b.shift_right(top, b.const(32 - 2 * NIBBLE, i32)), byte & -16]
        return found[:width]

    def _words(self, sums: Sequence[Scalar], places: Sequence[Place], row: Scalar, at: Scalar) -> list[Scalar]:
        """The products of four elements of each position."""
        b, now = cast(WordBuilder, self.b), list(sums)
        width = len(now) // len(places)
        factors = [self.x.halves(b, place(at)) for place in places]
        stored, size = self.stored(width), self.schedule.word
        words = (self.weight.word([row + at * stored + column * size]) for column in range(stored))
        for column, word in zip(range(width), self._both(words), strict=False):
            for which, weight in enumerate(self.weight.halves_of(b, word)):
                for number, factor in enumerate(factors):
                    slot = number * width + column
                    now[slot] = b.instruction("smlad", factor[which], weight, now[slot])
        return now

    def blocks(self, body: Callable[[Scalar, int], None]) -> None:
        """Loops over the blocks of outputs: `body` gets the first output of a block and how many there are."""
        columns = self.order.block(0) * (2 if self.op.paired else 1)
        full = self.op.outputs // columns * columns
        self.b.parallel_range(0, full, columns, lambda output: body(output, columns))
        if full < self.op.outputs:
            body(self.b.index(full), self.op.outputs - full)

    def start(self, output: Scalar, width: int, positions: int) -> list[Scalar]:
        """The first addends of a tile's sums; those that `finish` makes quads of have none."""
        b, bias = self.b, self.bias
        if bias is None or self.op.paired or self._makes_quads(width):
            return [b.const(0, self.summed)] * (width * positions)
        return [bias([output + column]) for column in range(width)] * positions

    def finish(
        self, sums: Sequence[Scalar], place: Callable[[Scalar, Scalar], list[Scalar]], output: Scalar, width: int
    ) -> None:
        """Write the sums of a tile of `width` outputs; place(number, output) is the index of one at a position."""
        b, bias = self.b, self.bias
        if self.op.paired:
            sums = [b.shift_right(each, b.const(NIBBLE, self.summed)) for each in sums]
            if bias is not None and not self._makes_quads(width):
                sums = [each + bias([output + slot % width]) for slot, each in enumerate(sums)]
        if self.schedule.rolled and len(sums) > 1:
            write_rolled(b, sums, width, lambda number, column: place(number, output + column), self.write)
            return
        for first in range(0, len(sums), width):
            part, number = sums[first : first + width], b.index(first // width)
            if self._makes_quads(width) and isinstance(b, QuadBuilder):
                lanes = Tile((QUAD,)).index(b, output, {-1: 1})
                value = b.quad(part)
                self.write(place(number, lanes), value if bias is None else value + bias([lanes]))
                continue
            for column, value in enumerate(part):
                self.write(place(number, output + column), value)

    def _makes_quads(self, width: int) -> bool:
        return self.schedule.lanes == QUAD == width and isinstance(self.b, QuadBuilder)


def write_rolled(
    b: TileBuilder, sums: Sequence[Scalar], width: int, place: Callable[[Scalar, Scalar], list[Scalar]], write: Writer
) -> None:
    """Write sums in the order [position, column] to place(position, column), in a loop."""
    value = b.listed(sums)

    def position(number: Scalar) -> None:
        b.sequential_range(0, width, 1, lambda column: write(place(number, column), value(number * width + column)))

    b.sequential_range(0, len(sums) // width, 1, position)


def sum_of(moved: Scalar, element: Scalar, distance: int) -> Scalar:
    """moved + element + distance, with one addition of what is constant."""
    if element.constant is not None:
        return moved + (int(element.constant) + distance)
    return moved + element + distance


@dataclass(frozen=True)
class MatMulSums(InterleavedNest[InterleavedMatMulOp]):
    """A product of lhs [.., K] with interleaved weights: [.., M]."""

    def emit(self) -> None:
        b, count = self.b, self.schedule.positions
        *outer, rows = self.shape[:-1] or (1,)
        full = rows // count * count

        def at(index: list[Scalar]) -> None:
            b.parallel_range(0, full, count, lambda row: self._rows(index, row, count))
            if full < rows:
                self._rows(index, b.index(full), rows - full)

        b.parallel_for(outer, at)

    def _rows(self, index: list[Scalar], first: Scalar, count: int) -> None:
        b, depth, extents = self.b, self.depth, self.shape[:-1]
        rows = [[*index, first + number] if extents else [] for number in range(count)]

        def tile(output: Scalar, width: int) -> None:
            places: list[Place] = [lambda e, row=row: [*row, e] for row in rows]
            sums = self.start(output, width, count)
            sums = self.add(sums, places, self.begin(output, None, width), (b.index(0), b.index(depth)))
            self.finish(sums, lambda n, o: [*index, first + n, o] if extents else [o], output, width)

        self.blocks(tile)
