"""Recurrent layers on register tiles: products of a state with packed weights, and gates of many units at once.

The steps follow each other, so nothing is repeated that could be done for several of them: a step streams each matrix
once, panel by panel, back and forth, for all lines of a tile, with the sums of a panel in registers. Sums go through a
scratch buffer as small as a line of the batch, so that gates are computed in vectors of units whatever their number is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute

from aotc.dialects.builder import Reader, Scalar, Writer
from aotc.dialects.graph.recurrent.lines import Factors, Line, Lines, Unit
from aotc.dialects.graph.schedules import MatmulSchedule, RecurrenceSchedule
from aotc.dialects.graph.shapes import ceil_div, segments
from aotc.passes.kernel.builders.tile_builder import NotVectorizable, Tile, TileBuilder
from aotc.passes.kernel.nests.matmul import SUMS, Products, accumulate


class TileLines(Lines):
    """MR lines at a time, or one where each takes steps of its own."""

    def __init__(self, b: TileBuilder, schedule: RecurrenceSchedule, kind: Attribute) -> None:
        """`kind` is the type that is computed with."""
        self.b = b
        self.schedule = schedule
        self.kind = kind

    def for_each(self, batch: int, single: bool, body: Callable[[Line], None]) -> None:
        for part in segments(batch, 1 if single else self.schedule.mr):
            high = part.start + part.count * part.size

            def at(first: Scalar, rows: int = part.size) -> None:
                body(_TileLine(self, first, rows))

            self.b.parallel_range(part.start, high, part.size, at)


class _TileLine(Line):
    def __init__(self, lines: TileLines, first: Scalar, rows: int) -> None:
        super().__init__(first)
        self._lines = lines
        self._rows = rows

    def _for_columns(self, columns: int, registers: int, body: Callable[[Tile, Scalar, int], None]) -> None:
        """`body` for tiles of `registers` columns, given their first column."""
        b, lanes = self._lines.b, self._lines.schedule.lanes
        for part in segments(columns, registers * lanes):
            tile = Tile((self._rows, ceil_div(part.size, lanes), lanes), part.size if part.size % lanes else None)
            high = part.start + part.count * part.size
            b.sequential_range(part.start, high, part.size, lambda first, tile=tile: body(tile, first, lanes))

    def for_units(self, units: int, body: Unit) -> None:
        b = self._lines.b
        if self._lines.kind != f32:  # of other types there are no activations of tiles

            def line(row: Scalar) -> None:
                b.sequential_range(0, units, 1, lambda unit: body(self.first + row, unit))

            b.sequential_range(0, self._rows, 1, line)
            return

        def tiles(tile: Tile, first: Scalar, lanes: int) -> None:
            body(tile.index(b, self.first, {0: 1}), tile.index(b, first, {-2: lanes, -1: 1}))

        self._for_columns(units, self._lines.schedule.units, tiles)

    def extremes(self, units: int, dtype: Attribute, read: Reader) -> tuple[Scalar, Scalar]:
        b, lanes = self._lines.b, self._lines.schedule.lanes
        low = high = b.const(0, dtype)
        for part in segments(units, SUMS * lanes):
            tile = Tile((self._rows, ceil_div(part.size, lanes), lanes), part.size if part.size % lanes else None)

            def extend(first: Scalar, ends: list[Scalar], tile: Tile = tile) -> list[Scalar]:
                x = read([tile.index(b, self.first, {0: 1}), tile.index(b, first, {-2: lanes, -1: 1})])
                return [b.min(ends[0], x), b.max(ends[1], x)]  # lanes that are not in memory are 0

            zeros = [b.splat(0, tile, dtype)] * 2
            ends = b.loop(part.start, part.start + part.count * part.size, part.size, zeros, extend)
            low, high = b.min(low, b.total("min", ends[0])), b.max(high, b.total("max", ends[1]))
        return low, high

    def add(
        self, factors: Factors, columns: Sequence[Scalar], sums: Sequence[Scalar], dtype: Attribute
    ) -> list[Scalar]:
        raise NotVectorizable("the inputs are multiplied in each step")

    def multiply(
        self,
        step: Scalar,
        factors: Sequence[Factors],
        columns: int,
        dtype: Attribute,
        write: Writer,
        start: Reader | None = None,
    ) -> None:
        b, schedule = self._lines.b, self._lines.schedule
        width = schedule.nr * schedule.lanes
        (first, *more), shape, depth = factors, factors[0].shape, factors[0].depth
        if more or start is not None:
            raise NotVectorizable("the inputs are multiplied in each step")
        products = Products(first.group, first.narrow)
        if len(shape) != 3 or shape[2] != width * products.group:
            raise NotVectorizable("the weight is not packed into panels of the width of the register tile")
        left, weight = first.left, first.weight
        tiled = MatmulSchedule(schedule.lanes, schedule.mr, schedule.nr, schedule.unroll)
        last = columns // width * width - width
        """The first column of the last whole panel."""

        is_even = b.compare("eq", b.rem(step, b.index(2)), 0)

        def turned(number: Scalar, most: int) -> Scalar:
            """Panels, or the rows of one, in one order at even steps and in the other at odd ones: what a step reads
            last is still in the cache, of a matrix larger than that, too, and the next one reads it first."""
            return b.select(is_even, number, b.index(most) - number)

        def tiles(tile: Tile, first: Scalar, lanes: int) -> None:
            if last > 0 and tile.shape[-2] * lanes == width and tile.valid is None:
                first = turned(first, last)
            panel, group = first / b.index(width), products.group
            rows = depth // group

            def pair(k: Scalar, present: int | None = None) -> tuple[Scalar, Scalar]:
                wide = products.tile(tile, present)
                row, within = wide.index(b, self.first, {0: 1}), wide.index(b, 0, {-2: lanes * group, -1: 1})
                if schedule.turned and present is None:
                    k = turned(k, rows - 1)
                return left([row, k * group]), weight([panel, k, within])

            total = accumulate(b, tiled, dtype, tile, rows, pair, products)
            if depth % group:
                total = products.add(b, *pair(b.index(rows), depth % group), total)
            write([tile.index(b, self.first, {0: 1}), tile.index(b, first, {-2: lanes, -1: 1})], total)

        self._for_columns(columns, schedule.nr, tiles)
