"""Recurrent layers on register tiles: products of a state with packed weights, and gates of many units at once.

The steps follow each other, so nothing is repeated that could be done for several of them: a step streams each matrix
once, panel by panel, back and forth, for all rows of a tile, with the sums of a panel in registers. Sums go through a
scratch buffer as small as a row of the batch, so that gates are computed in vectors of units whatever their number is.

Where the schedule says so, a step also multiplies inputs of later steps, on register tiles of AHEAD steps: one tile is
summed up while BESIDE panels of the weight for the state are read, a few vectors of these for each vector of the tile's
weight. So what waits for the weight and what waits for the multipliers are done at the same time. The last steps, which
have no later ones, multiply the first states in the same way, for the layer that follows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute

from aotc.dialects.builder import Reader, Scalar, Writer
from aotc.dialects.graph.recurrent.rows import Factors, Inputs, Row, Rows, Unit, fourth
from aotc.dialects.graph.recurrent.shared import REGISTERS, SHARED, WORDS
from aotc.dialects.graph.schedules import MatmulSchedule, RecurrenceSchedule
from aotc.dialects.graph.shapes import Segment, segments
from aotc.passes.kernel.builders.tile_builder import TileBuilder
from aotc.passes.kernel.builders.tiles import NotVectorizable, Tile
from aotc.passes.kernel.costs.recurrent_cost import Blocks, blocks_of, steps_beside
from aotc.passes.kernel.nests.products.matmul_nest import SUMS, Products, StepFactors, accumulate


class TileRows(Rows):
    """MR rows at a time, or one where each takes steps of its own."""

    def __init__(self, b: TileBuilder, schedule: RecurrenceSchedule, kind: Attribute) -> None:
        """`kind` is the type that is computed with."""
        super().__init__(b)
        self.tiles = b
        self.schedule = schedule
        self.kind = kind

    def for_each(self, batch: int, single: bool, body: Callable[[Row], None]) -> None:
        most = 1 if single else self.schedule.mr
        self.tiles.parallel_segments(batch, most, lambda first, rows: body(_TileRow(self, first, rows)))


class _TileRow(Row):
    def __init__(self, batch: TileRows, first: Scalar, rows: int) -> None:
        super().__init__(batch, first)
        self._batch = batch
        self._rows = rows

        self._beside: _Beside | None = None
        """The inputs that are multiplied beside what the step that is written does."""

    def _for_columns(self, columns: int, registers: int, body: Callable[[Tile, Scalar, int], None]) -> None:
        """`body` for tiles of `registers` columns, given their first column."""
        b, lanes = self._batch.tiles, self._batch.schedule.lanes
        for part in segments(columns, registers * lanes):
            tile = Tile.of(self._rows, part.size, lanes)
            b.sequential_range(part.start, part.stop, part.size, lambda first, tile=tile: body(tile, first, lanes))

    def for_units(self, units: int, body: Unit) -> None:
        b = self._batch.tiles
        if self._batch.kind != f32:  # of other types there are no activations of tiles

            def one(row: Scalar) -> None:
                b.sequential_range(0, units, 1, lambda unit: body(self.first + row, unit))

            b.sequential_range(0, self._rows, 1, one)
            return

        def tiles(tile: Tile, first: Scalar, lanes: int) -> None:
            body(tile.index(b, self.first, {0: 1}), tile.index(b, first, {-2: lanes, -1: 1}))

        self._for_columns(units, self._batch.schedule.units, tiles)

    def extremes(self, units: int, dtype: Attribute, read: Reader) -> tuple[Scalar, Scalar]:
        b, lanes = self._batch.tiles, self._batch.schedule.lanes
        low = high = b.const(0, dtype)
        for part in segments(units, SUMS * lanes):
            tile = Tile.of(self._rows, part.size, lanes)

            def extend(first: Scalar, ends: list[Scalar], tile: Tile = tile) -> list[Scalar]:
                x = read([tile.index(b, self.first, {0: 1}), tile.index(b, first, {-2: lanes, -1: 1})])
                return [b.min(ends[0], x), b.max(ends[1], x)]  # lanes that are not in memory are 0

            zeros = [b.splat(0, tile, dtype)] * 2
            ends = b.loop(part.start, part.stop, part.size, zeros, extend)
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
        b, schedule = self._batch.tiles, self._batch.schedule
        width = schedule.nr * schedule.lanes
        (first, *more), shape, depth = factors, factors[0].shape, factors[0].depth
        if more or start is not None:
            raise NotVectorizable("the inputs are multiplied in each step")
        products = Products(first.group, first.narrow)
        if len(shape) != 3 or first.width != width:
            raise NotVectorizable("the weight is not packed into panels of the width of the register tile")
        left, weight = first.left, self._shared(first) if first.shared else first.weight
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

            def step_factors(k: Scalar, present: int | None = None) -> tuple[Scalar, Scalar]:
                wide = products.tile(tile, present)
                row, within = wide.index(b, self.first, {0: 1}), wide.index(b, 0, {-2: lanes * group, -1: 1})
                if schedule.turned and present is None:
                    k = turned(k, rows - 1)
                return left([row, k * group]), weight([panel, k, within])

            total = accumulate(b, tiled, dtype, tile, rows, step_factors, products)
            if depth % group:
                total = products.add(b, *step_factors(b.index(rows), depth % group), total)
            write([tile.index(b, self.first, {0: 1}), tile.index(b, first, {-2: lanes, -1: 1})], total)

        beside, done = self._beside, 0
        if beside is not None:
            done = columns // width // beside.panels * beside.panels

            def panels(number: Scalar) -> tuple[StepFactors, Callable[[Scalar], None]]:
                panel = turned(number * width, last) / b.index(width)
                within = beside.state.index(b, 0, {-2: schedule.lanes, -1: 1})
                row = beside.state.index(b, self.first, {0: 1})

                def store(total: Scalar) -> None:
                    column = beside.state.index(b, panel * width, {-2: schedule.lanes, -1: 1})
                    write([row, column], total)

                def factors(k: Scalar) -> tuple[Scalar, Scalar]:
                    if schedule.turned:
                        k = turned(k, depth - 1)
                    return left([row, k]), weight([panel, k, within])

                return factors, store

            beside.multiply(done // beside.panels, depth, panels)
        self._for_columns(
            columns - done * width, schedule.nr, lambda tile, at, lanes: tiles(tile, at + done * width, lanes)
        )

    def _shared(self, factors: Factors) -> Reader:
        """Rows of panels of eight registers in seven."""
        b, lanes = self._batch.tiles, factors.lanes

        def stored(panel: Scalar, k: Scalar, first: int, registers: int) -> Scalar:
            within = Tile((1, registers, lanes)).index(b, first * lanes, {-2: lanes, -1: 1})
            return factors.weight([panel, k, within])

        def row(index: Sequence[Scalar]) -> Scalar:
            panel, k, _ = index
            words = stored(panel, k, 0, WORDS)
            parts = [b.slice(words, [0, register], [1, 1]) for register in range(WORDS)]
            whole = b.splat(0, Tile((1, REGISTERS, lanes)), f32)
            whole = b.replace(b.cast(words, f32), whole, [0, 0])
            whole = b.replace(b.cast(fourth(b, *parts), f32), whole, [0, WORDS])
            return b.replace(b.from_bits(stored(panel, k, WORDS, REGISTERS - SHARED)), whole, [0, SHARED])

        return row

    def emit(
        self,
        steps: int,
        columns: int,
        inputs: Inputs | None,
        following: Inputs | None,
        dtype: Attribute,
        step: Callable[[Scalar], None],
    ) -> None:
        b, schedule = self._batch.tiles, self._batch.schedule
        of_state = columns // (schedule.nr * schedule.lanes)
        """The panels that a step reads of the weight for the state."""
        blocks = Blocks(0, 0, 0, 0)
        if inputs is not None:
            across, rows, panels = schedule.across, schedule.ahead, schedule.beside
            if rows is None or across is None or panels is None or inputs.shape[2] != across * schedule.lanes:
                raise NotVectorizable(
                    "the weight of the inputs is not packed into panels of the width of the register tile"
                )
            blocks = blocks_of(steps, rows, steps_beside(of_state, inputs.shape[0], panels), inputs.first)
            for part in segments(blocks.first - inputs.first, rows):

                def before(index: list[Scalar], part: Segment = part) -> None:
                    tile = self._input_tile(inputs, part.size, dtype)
                    tile.sum_up(index[0], index[1] * part.size + (part.start + inputs.first))

                b.sequential_for([inputs.shape[0], part.count], before)
            self._busy(0, inputs, blocks, of_state, panels, dtype, step)
        done = blocks.count * blocks.during
        if following is None:
            b.sequential_range(done, steps, 1, step)
            return
        panels = schedule.following
        if panels is None or following.shape[2] % schedule.lanes:
            raise NotVectorizable("the schedule has no tile of products for the following layer")
        during = steps_beside(of_state, following.shape[0], panels)
        if done + during > steps or following.end > steps - during:
            raise NotVectorizable("there are too few steps to multiply states for the following layer beside")
        b.sequential_range(done, steps - during, 1, step)
        self._busy(steps - during, following, Blocks(0, following.end, 1, during), of_state, panels, dtype, step)

    def _input_tile(self, inputs: Inputs, rows: int, dtype: Attribute) -> _InputTile:
        lanes = self._batch.schedule.lanes
        return _InputTile(self._batch.tiles, inputs, Tile((rows, inputs.shape[2] // lanes, lanes)), self.first, dtype)

    def _busy(
        self,
        low: int,
        inputs: Inputs,
        blocks: Blocks,
        of_state: int,
        panels: int,
        dtype: Attribute,
        step: Callable[[Scalar], None],
    ) -> None:
        """`step` for the numbers from `low` on in which blocks of inputs are multiplied, each tile beside `panels` of
        the `of_state` of a step."""
        b, schedule = self._batch.tiles, self._batch.schedule

        def one(number: Scalar) -> None:
            during, made = b.index(blocks.during), number - low if low else number
            block, start = made / during, b.rem(made, during) * (of_state // panels)
            first = block * blocks.size + blocks.first
            state = Tile((1, schedule.nr, schedule.lanes))
            tile = self._input_tile(inputs, blocks.size, dtype)
            self._beside = _Beside(tile, first, start, inputs.shape[0] - 1, panels, state)
            step(number)
            self._beside = None

        b.sequential_range(low, low + blocks.count * blocks.during, 1, one)


@dataclass(frozen=True)
class _InputTile:
    """A register tile of products of the inputs of some steps."""

    b: TileBuilder
    inputs: Inputs
    tile: Tile
    row: Scalar
    dtype: Attribute

    def start(self, panel: Scalar) -> Scalar:
        """The sums before all products."""
        given = self.inputs.start
        if given is None:
            return self.b.splat(0, self.tile, self.dtype)
        return self.b.splat(given([self._column(panel)]), self.tile)

    def factors(self, panel: Scalar, step: Scalar, k: Scalar) -> tuple[Scalar, Scalar]:
        """Of the inputs of steps from `step` on."""
        lanes = self.tile.shape[-1]
        within = self.tile.index(self.b, 0, {-2: lanes, -1: 1})
        left = self.inputs.left([self.tile.index(self.b, step, {0: 1}), self.row, k])
        return left, self.inputs.weight([panel, k, within])

    def store(self, panel: Scalar, step: Scalar, total: Scalar) -> None:
        self.inputs.write([self.tile.index(self.b, step, {0: 1}), self.row, self._column(panel)], total)

    def sum_up(self, panel: Scalar, step: Scalar) -> None:
        """All of the tile."""

        def add(k: Scalar, sums: list[Scalar]) -> list[Scalar]:
            return [self.b.fma(*self.factors(panel, step, k), sums[0])]

        (total,) = self.b.loop(0, self.inputs.shape[1], 1, [self.start(panel)], add)
        self.store(panel, step, total)

    def _column(self, panel: Scalar) -> Scalar:
        _, across, lanes = self.tile.shape
        return self.tile.index(self.b, panel * (across * lanes), {-2: lanes, -1: 1})


@dataclass(frozen=True)
class _Beside:
    """Tiles of inputs, from the panel `start` up to the `last` one, each summed up while `panels` of the weight for the
    state are: the inputs of steps from `first` on."""

    inputs: _InputTile
    first: Scalar
    start: Scalar
    last: int
    panels: int
    state: Tile
    """The register tile of a panel of the weight for the state."""

    def multiply(
        self, count: int, depth: int, panels: Callable[[Scalar], tuple[StepFactors, Callable[[Scalar], None]]]
    ) -> None:
        """`count` tiles, beside products of the state of `depth`; `panels` gives their factors, and stores them.

        The last tile may be summed up again.
        """
        b, inputs = self.inputs.b, self.inputs
        of_inputs = inputs.inputs.shape[1]
        together = of_inputs // self.panels
        """Steps of the inputs' reduction beside a panel, each with `several` of the state's."""
        several = depth // together

        def add(of: StepFactors, k: Scalar, total: Scalar) -> Scalar:
            return b.fma(*of(k), total)

        def one(number: Scalar) -> None:
            column = b.min(self.start + number, b.index(self.last))

            def of_tile(k: Scalar) -> tuple[Scalar, Scalar]:
                return inputs.factors(column, self.first, k)

            def panel(place: Scalar, sums: list[Scalar]) -> list[Scalar]:
                of_state, store = panels(number * self.panels + place)

                def both(k: Scalar, totals: list[Scalar]) -> list[Scalar]:
                    given, state = totals
                    given = add(of_tile, place * together + k, given)
                    for each in range(several):
                        state = add(of_state, k * several + each, state)
                    return [given, state]

                zero = b.splat(0, self.state, inputs.dtype)
                given, state = b.loop(0, together, 1, [sums[0], zero], both)
                (state,) = b.loop(together * several, depth, 1, [state], lambda k, sums: [add(of_state, k, sums[0])])
                store(state)
                return [given]

            sums = b.loop(0, self.panels, 1, [inputs.start(column)], panel)
            (total,) = b.loop(together * self.panels, of_inputs, 1, sums, lambda k, sums: [add(of_tile, k, sums[0])])
            inputs.store(column, self.first, total)

        b.sequential_range(0, count, 1, one)
