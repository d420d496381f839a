"""Windows over plain tensors: neighbouring positions along the last axis lie in the lanes.

What the positions of a tile read of a row is loaded once. Elements that are a stride apart become registers of their
own, a residue, so that what a tap reads is these, some lanes further on; where that is padding, an element that changes
nothing. Where parts of a window may be reduced first, the rows of a window are, and then the taps along the last axis.
"""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, reduce
from typing import TypeAlias, cast

from aotc.dialects.builder import Number, Scalar
from aotc.dialects.graph.interfaces import element_type_of, shape_of
from aotc.dialects.graph.schedules import PositionsSchedule
from aotc.dialects.graph.shapes import ceil_div
from aotc.dialects.graph.vision.windows import FoldOp
from aotc.dialects.graph.windows.pooling import WindowOp, product
from aotc.dialects.graph.windows.sliding import Meeting, Residues, SlidingWindow
from aotc.passes.kernel.builders.tiles import NotVectorizable, Tile
from aotc.passes.kernel.costs.window_cost import Stretch, stretches
from aotc.passes.kernel.nest import Nest, Op

Lanes: TypeAlias = "Sequence[tuple[int, int] | None]"
"""For each lane of a register, a register and a lane of it; None: any."""


class _RowsNest(Nest[Op, PositionsSchedule]):
    """Rows of positions as tiles of registers, and what of a row of the operand meets them."""

    @abstractmethod
    def _neutral(self) -> Number:
        """An element that changes nothing."""

    def _sweep(self, window: SlidingWindow, body: Callable[[Scalar, Stretch], None]) -> None:
        """`body` at the first position of each tile of a row."""
        for each in stretches(window, self.schedule.nr * self.lanes, self.lanes):
            end = each.start + each.count * each.size
            self.b.sequential_range(each.start, end, each.size, lambda position, each=each: body(position, each))

    def _of(self, elements: int) -> Tile:
        """Registers of neighbouring elements, at least one."""
        lanes = self.lanes
        return Tile((max(ceil_div(elements, lanes), 1), lanes), elements if elements % lanes else None)

    def _along(self, tile: Tile, first: Scalar, stride: int = 1) -> Scalar:
        """The index of neighbours, or of every so many elements, from `first` on."""
        return tile.index(self.b, first, {0: self.lanes * stride, 1: stride})

    def _shifted(self, row: Scalar, each: Stretch, offset: int = 0, stride: int = 1, further: int = 0) -> Scalar:
        """Of the elements of a stretch those from `offset` on, every `stride`, for each position and some `further`."""
        lanes, registers = self.lanes, max(ceil_div(each.elements, self.lanes), 1)

        def place(number: int) -> tuple[int, int] | None:
            element = number * stride + offset - each.first
            if element in range(each.elements):
                return divmod(element, lanes)
            return (registers, number % lanes) if number < each.size + further else None

        count = ceil_div(each.size, lanes) + ceil_div(further, lanes)
        found = [self.b.slice(row, [register], [1]) for register in range(registers)]
        neutral = self.b.splat(self._neutral(), Tile((1, lanes)), element_type_of(self.op.operands[0]))
        wanted = [[place(register * lanes + lane) for lane in range(lanes)] for register in range(count)]
        return self._gathered([*found, neutral], wanted)

    def _gathered(self, found: Sequence[Scalar], wanted: Sequence[Lanes]) -> Scalar:
        """A tile of registers of lanes of those that were found."""
        b, first = self.b, found[-1]
        tile = b.splat(b.const(0, first.dtype), Tile((len(wanted), self.lanes)))
        for number, lanes in enumerate(wanted):
            moved: dict[int, list[tuple[int, int]]] = {}
            for to, place in enumerate(lanes):
                if place is not None:
                    moved.setdefault(place[0], []).append((to, place[1]))
            register = b.together([found[each] for each in moved], [*moved.values()]) if moved else first
            tile = b.replace(register, tile, [number])
        return tile


class WindowRowsNest(_RowsNest[WindowOp]):
    """The nest over [N, C, positions..]."""

    def emit(self) -> None:
        if self.op.neutral is None or len(shape_of(self.op.x)) != 2 + self.op.rank:
            raise NotVectorizable("nothing stands for padding, or channels are in the lanes")

        def row(index: list[Scalar]) -> None:
            self._sweep(self.windows[-1], lambda position, each: self._tile([*index, position], each))

        self.b.parallel_for(self.shape[:-1], row)

    def _neutral(self) -> Number:
        return cast("Number", self.op.neutral)

    @cached_property
    def windows(self) -> Sequence[SlidingWindow]:
        """The window along each axis."""
        return self.op.windows()

    def _tile(self, index: list[Scalar], each: Stretch) -> None:
        """The positions of a tile that begins at `index`."""
        b, op, read = self.b, self.op, self._reader(index, each)
        tile = self._of(each.size)
        bounds = [window.taps(b, p) for window, p in zip(self.windows[:-1], index[2:-1], strict=True)]

        def combined(found: list[Scalar], value: Scalar) -> list[Scalar]:
            return op.combine(b, [], value, found)

        if op.IN_PARTS:
            (least,) = op.initial(b)
            start = [b.splat(least, self._of(each.elements))]
            rows = b.reduce(bounds, start, lambda taps, found: combined(found, read(taps)))
            first, *others = self._by_tap(rows[0], each)
            found = reduce(combined, others, [first])
        else:
            start = [b.splat(value, tile) for value in op.initial(b)]
            found = b.reduce(bounds, start, lambda taps, now: reduce(combined, self._by_tap(read(taps), each), now))
        self.write([*index[:-1], self._along(tile, index[-1])], op.finish(b, lambda: self._counts(index, each), found))

    def _reader(self, index: Sequence[Scalar], each: Stretch) -> Callable[[list[Scalar]], Scalar]:
        """The elements that a tile reads of the row that the taps along the other axes see."""
        b, source = self.b, self._of(each.elements)
        last = self._along(source, self.windows[-1].source(index[-1], b.index(0)) + each.first)

        def read(taps: list[Scalar]) -> Scalar:
            if each.elements == 0:
                return b.splat(self._neutral(), source, element_type_of(self.op.x))
            sources = (w.source(p, tap) for w, p, tap in zip(self.windows, index[2:-1], taps, strict=False))
            return b.splat(self.reads[0]([*index[:2], *sources, last]), source)

        return read

    def _by_tap(self, row: Scalar, each: Stretch) -> list[Scalar]:
        """The elements that each tap along the last axis reads at a tile's positions, of those it reads of a row."""
        count, b, lanes, along = ceil_div(each.size, self.lanes), self.b, self.lanes, self.windows[-1]
        places = [divmod(tap * along.dilation, along.stride) for tap in range(along.size)]
        most = {residue: far for far, residue in places}  # of which the last is the greatest
        residues = {residue: self._shifted(row, each, residue, along.stride, far) for residue, far in most.items()}

        def shifted(further: int, residue: int) -> Scalar:
            first, lane = divmod(further, lanes)
            value = b.slice(residues[residue], [first], [count])
            if lane == 0:
                return value
            return b.shuffle(value, b.slice(residues[residue], [first + 1], [count]), range(lane, lane + lanes))

        return [shifted(*place) for place in places]

    def _counts(self, index: Sequence[Scalar], each: Stretch) -> Scalar:
        """How many taps count for each position of a tile: one number, or a tile where it varies."""
        b, op, lanes = self.b, self.op, self.lanes
        rows = product(b, [op.counted(b, w, p) for w, p in zip(self.windows[:-1], index[2:-1], strict=True)])
        places = range(each.start, each.start + each.size)
        columns = [cast(int, op.counted(b, self.windows[-1], b.index(place)).constant) for place in places]
        numbers = {column: number for number, column in enumerate(dict.fromkeys(columns))}
        counts = [b.cast(rows * column, element_type_of(op.x)) for column in numbers]
        if len(counts) == 1:
            return counts[0]
        found = [b.splat(count, Tile((1, lanes))) for count in counts]
        given = [(numbers[column], place % lanes) for place, column in enumerate(columns)]
        return self._gathered(found, [given[start : start + lanes] for start in range(0, len(given), lanes)])


class FoldRowsNest(_RowsNest[FoldOp]):
    """The nest over [N, C, image..]: along the last axis the positions of a residue are windows over columns, of which
    each tap has its own."""

    def emit(self) -> None:
        *others, last = self.op.axes()

        def row(index: list[Scalar]) -> None:
            meetings = [axis.meeting(self.b, place) for axis, place in zip(others, index[2:], strict=True)]
            for residues in last.residues():
                for number in range(residues.count):
                    one = replace(residues, start=residues.start + number, first_tap=residues.first_tap + number)
                    self._sweep(one.window, lambda at, each, one=one: self._tile(index, meetings, one, at, each))

        self.b.parallel_for(self.shape[:-1], row)

    def _neutral(self) -> Number:
        return 0

    def _tile(self, index: list[Scalar], meetings: Sequence[Meeting], one: Residues, at: Scalar, each: Stretch) -> None:
        """The positions from `at` on of a residue: sums in the order of the taps, which is not that of the columns."""
        b, op, window, tile = self.b, self.op, one.window, self._of(each.size)

        def add(steps: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
            hits = list(zip(meetings, steps, strict=True))
            taps, windows = [m.tap(step) for m, step in hits], [m.source(step) for m, step in hits]
            (total,) = carried
            for tap in reversed(range(window.size)):
                span = _read_by(window, tap, each)
                if span.elements == 0:
                    continue
                source = self._of(span.elements)
                columns = self._along(source, at + (span.first - window.before))
                number = b.index(one.first_tap + tap * one.tap_stride)
                row = self.reads[0](op.source(b, index, [*taps, number], [*windows, columns]))
                total = total + self._shifted(b.splat(row, source), span, tap * window.dilation)
            return [total]

        bounds = [(each.low, each.high) for each in meetings]
        (total,) = b.reduce(bounds, [b.splat(0, tile, element_type_of(op.result))], add)
        self.write([*index, self._along(tile, at * one.stride + one.start, one.stride)], total)


def _read_by(window: SlidingWindow, tap: int, each: Stretch) -> Stretch:
    """The elements that one tap reads at the positions of a tile."""
    first = tap * window.dilation
    if each.count > 1:
        return replace(each, first=first, elements=each.size)
    low = each.start + first - window.before
    begin = min(max(low, 0), window.extent)
    end = max(min(low + each.size, window.extent), begin)
    return replace(each, first=first + begin - low, elements=end - begin)
