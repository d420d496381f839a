"""Windows over plain tensors: neighbouring positions along the last axis lie in the lanes.

What the positions of a tile read of a row is loaded once. Elements that are a stride apart become registers of their
own, a phase, so that what a tap reads is these, some lanes further on; where that is padding, an element that changes
nothing. Where parts of a window may be reduced first, the rows of a window are, and then the taps along the last axis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, reduce
from typing import TypeAlias, cast

from aotc.dialects.builder import Scalar
from aotc.dialects.graph.interfaces import element_type_of, shape_of
from aotc.dialects.graph.schedules import PositionsSchedule
from aotc.dialects.graph.shapes import ceil_div
from aotc.dialects.graph.windows.pooling import WindowOp, product
from aotc.dialects.graph.windows.sliding import SlidingWindow
from aotc.passes.kernel.builders.tiles import NotVectorizable, Tile
from aotc.passes.kernel.costs.window_cost import Stretch, stretches
from aotc.passes.kernel.nest import Nest

Lanes: TypeAlias = "Sequence[tuple[int, int] | None]"
"""For each lane of a register, a register and a lane of it; None: any."""


class WindowRowsNest(Nest[WindowOp, PositionsSchedule]):
    """The nest over [N, C, positions..]."""

    def run(self) -> None:
        """Emit it; every position is finished once."""
        if self.op.neutral is None or len(shape_of(self.op.x)) != 2 + self.op.rank:
            raise NotVectorizable("nothing stands for padding, or channels are in the lanes")

        def row(index: list[Scalar]) -> None:
            for each in stretches(self.along, self.schedule.nr * self.lanes, self.lanes):
                end = each.start + each.count * each.size
                self.b.sequential_range(
                    each.start, end, each.size, lambda position, each=each: self._tile([*index, position], each)
                )

        self.b.parallel_for(self.shape[:-1], row)

    @cached_property
    def windows(self) -> Sequence[SlidingWindow]:
        """The window along each axis."""
        return self.op.windows()

    @property
    def along(self) -> SlidingWindow:
        """That along the last one."""
        return self.windows[-1]

    @cached_property
    def _neutral(self) -> Scalar:
        """A register of elements that change nothing."""
        assert self.op.neutral is not None
        return self.b.splat(self.op.neutral, Tile((1, self.lanes)), element_type_of(self.op.x))

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
            first, *others = self._seen(rows[0], each)
            found = reduce(combined, others, [first])
        else:
            start = [b.splat(value, tile) for value in op.initial(b)]
            found = b.reduce(bounds, start, lambda taps, now: reduce(combined, self._seen(read(taps), each), now))
        last = tile.index(b, index[-1], {0: self.lanes, 1: 1})
        self.write([*index[:-1], last], op.finish(b, lambda: self._counts(index, each), found))

    def _of(self, elements: int) -> Tile:
        """Registers of neighbouring elements, at least one."""
        lanes = self.lanes
        return Tile((max(ceil_div(elements, lanes), 1), lanes), elements if elements % lanes else None)

    def _reader(self, index: Sequence[Scalar], each: Stretch) -> Callable[[list[Scalar]], Scalar]:
        """What a tile reads of the row that the taps along the other axes see."""
        b, source = self.b, self._of(each.elements)
        start = self.along.source(index[-1], b.index(0)) + each.first
        last = source.index(b, start, {0: self.lanes, 1: 1})

        def read(taps: list[Scalar]) -> Scalar:
            if each.elements == 0:
                return self._neutral
            seen = (w.source(p, tap) for w, p, tap in zip(self.windows, index[2:-1], taps, strict=False))
            return b.splat(self.reads[0]([*index[:2], *seen, last]), source)

        return read

    def _seen(self, row: Scalar, each: Stretch) -> list[Scalar]:
        """What each tap along the last axis reads at the positions of a tile, of what the tile reads of a row."""
        count, b, lanes = ceil_div(each.size, self.lanes), self.b, self.lanes
        places = [divmod(tap * self.along.dilation, self.along.stride) for tap in range(self.along.size)]
        most = {phase: further for further, phase in places}  # of which the last is the greatest
        phases = {phase: self._phase(row, each, phase, further) for phase, further in most.items()}

        def seen(further: int, phase: int) -> Scalar:
            first, lane = divmod(further, lanes)
            value = b.slice(phases[phase], [first], [count])
            if lane == 0:
                return value
            return b.shuffle(value, b.slice(phases[phase], [first + 1], [count]), range(lane, lane + lanes))

        return [seen(*place) for place in places]

    def _phase(self, row: Scalar, each: Stretch, phase: int, further: int) -> Scalar:
        """The elements that taps of a phase read, up to one so many strides further."""
        lanes, registers = self.lanes, max(ceil_div(each.elements, self.lanes), 1)

        def place(number: int) -> tuple[int, int] | None:
            element = number * self.along.stride + phase - each.first
            if 0 <= element < each.elements:
                return divmod(element, lanes)
            return (registers, number % lanes) if number < each.size + further else None

        count = ceil_div(each.size, lanes) + ceil_div(further, lanes)
        found = [self.b.slice(row, [register], [1]) for register in range(registers)]
        wanted = [[place(register * lanes + lane) for lane in range(lanes)] for register in range(count)]
        return self._gathered([*found, self._neutral], wanted)

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

    def _counts(self, index: Sequence[Scalar], each: Stretch) -> Scalar:
        """How many taps count for each position of a tile: one number, or a tile where it varies."""
        b, op, lanes = self.b, self.op, self.lanes
        rows = product(b, [op.counted(b, w, p) for w, p in zip(self.windows[:-1], index[2:-1], strict=True)])
        places = range(each.start, each.start + each.size)
        columns = [cast(int, op.counted(b, self.along, b.index(place)).constant) for place in places]
        numbers = {column: number for number, column in enumerate(dict.fromkeys(columns))}
        counts = [b.cast(rows * column, element_type_of(op.x)) for column in numbers]
        if len(counts) == 1:
            return counts[0]
        found = [b.splat(count, Tile((1, lanes))) for count in counts]
        given = [(numbers[column], place % lanes) for place, column in enumerate(columns)]
        return self._gathered(found, [given[start : start + lanes] for start in range(0, len(given), lanes)])
