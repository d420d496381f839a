"""The loops of `winograd_conv` on register tiles: a block of rows of tiles after the other, in three stages.

    for each block of rows of tiles (of all images, counted through):
      for each block of channels, row, tile:         transform the operand's n x n elements into `transformed`
      for each panel of the weight:
        of integers:                                   transform the panel into `filters`
        for each of the n * n products, tile of registers:   a product of matrices into `products`
        for each block of channels of the panel, row, tile:  transform n x n products, write m x m results

The buffers of a block stay in L2, the weight is read once for each block, in the order of memory. Parts of the
rows, and of the panels of these, have buffers of their own and may be computed at the same time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby

from aotc.dialects.aot.tiles import tile_shape
from aotc.dialects.builder import Reader, Scalar, Writer
from aotc.dialects.graph.packed.channels import BlockRun, Channels
from aotc.dialects.graph.packed.winograd import WEIGHT_SCALE, WinogradSizes
from aotc.dialects.graph.schedules import MatmulSchedule
from aotc.dialects.graph.shapes import Segment, ceil_div, segments
from aotc.dialects.graph.windows.sliding import SlidingWindow
from aotc.dialects.linear_combinations import sums
from aotc.dialects.winograd_transforms import TAPS, Transforms
from aotc.passes.kernel.builders.tile_builder import NotVectorizable, Tile, TileBuilder
from aotc.passes.kernel.nests.matmul import PLAIN, Products, batched_matmul
from aotc.passes.kernel.nests.parts import Share, for_common, in_part, share_of


def alike(window: SlidingWindow, f: Transforms) -> list[tuple[range, range, int]]:
    """The tiles along an axis as runs of equal ones: (tiles, which of the n elements exist, how many results exist)."""

    def seen(tile: int) -> tuple[range, int]:
        start = tile * f.outputs - window.before
        first = min(max(-start, 0), f.inputs)
        last = max(min(window.extent - start, f.inputs), first)
        return range(first, last), min(window.positions - tile * f.outputs, f.outputs)

    runs: list[tuple[range, range, int]] = []
    for (elements, results), tiles in groupby(range(ceil_div(window.positions, f.outputs)), seen):
        run = list(tiles)
        runs.append((range(run[0], run[-1] + 1), elements, results))
    return runs


class WinogradKernel:
    """Writes the loops of one `winograd_conv`."""

    def __init__(
        self,
        sizes: WinogradSizes,
        b: TileBuilder,
        reads: Sequence[Reader],
        writes: Sequence[Writer],
        schedule: MatmulSchedule,
    ) -> None:
        """`reads`: operand, weight, perhaps bias, and what is written but the result; `writes`: result, transformed
        operand, products, of integers filters."""
        if schedule.lanes != sizes.block:
            raise NotVectorizable("the blocks of channels are not vector registers")
        self._sizes, self._b, self._schedule = sizes, b, schedule
        self._types = sizes.types
        self._lanes, self._f, self._sum = sizes.block, sizes.transforms, sums(b)
        self._write, self._write_transformed, self._write_products, *self._write_filters = writes
        given = len(reads) - len(writes) + 1
        self._x, self._weight, *self._bias = reads[:given]
        self._transformed, self._products, *self._filters = reads[given:]
        self._first = b.index(0)
        """In the scratch buffers the first of the n * n products of the part that is being written."""

    def run(self) -> None:
        """Emit the loops."""
        sizes = self._sizes

        def part(index: list[Scalar]) -> None:
            row, panel = index
            self._first = (row * sizes.panel_parts + panel) * self._f.inputs**2
            rows = share_of(self._b, row, sizes.all_rows, sizes.row_parts)
            self._write_part(rows, share_of(self._b, panel, sizes.panels, sizes.panel_parts))

        self._b.parallel_for([sizes.row_parts, sizes.panel_parts], part)

    def _write_part(self, rows: Share, share: Share) -> None:
        """A share of the rows of tiles, block after block, and of each a share of the panels."""
        b, sizes = self._b, self._sizes
        channels = sizes.channels
        most = ceil_div(sizes.all_rows, sizes.row_parts)
        # padding lanes behind the last channel may be written: nothing reads them
        whole = channels if channels.has_padding else Channels.of([channels.blocks * self._lanes], self._lanes)
        panel_blocks = sizes.width // self._lanes
        panels = list(segments(ceil_div(sizes.outputs, self._lanes), panel_blocks))
        exact = rows.size is not None and rows.size % sizes.tile_rows == 0
        end = None if exact else rows.high

        def block(number: Scalar) -> None:
            start = rows.low + number * sizes.tile_rows
            for run in whole.runs:
                self._for_rows(start, end, (run.number, run.count), partial(self._transform_row, run))
            tiles = (
                b.index(sizes.block_tiles) if exact else b.min((rows.high - start) * sizes.tiles[1], sizes.block_tiles)
            )

            def panel(number: Scalar, part: Segment) -> None:
                for write in self._write_filters:
                    self._transform_filters(number, write)
                self._multiply(number, part.size, tiles)
                self._for_rows(start, end, (part.size,), partial(self._store_row, number))

            for part in panels:
                first = part.start // panel_blocks
                for_common(b, share, first, first + part.count, partial(panel, part=part))

        b.sequential_range(0, ceil_div(most, sizes.tile_rows), 1, block)

    def _for_rows(
        self,
        start: Scalar,
        end: Scalar | None,
        channel_blocks: Sequence[int],
        body: Callable[[list[Scalar], Scalar, Scalar, Scalar], None],
    ) -> None:
        """`body(channel_block, image, row, first)` for each channel block and each row of tiles of the block.

        `first` is the number in the block of the first tile of the row. Rows from `end` on are left out; None: no block
        has any.
        """
        b, step = self._b, self._sizes.tile_rows
        images, (rows, columns) = self._sizes.images, self._sizes.tiles

        def at(index: list[Scalar]) -> None:
            *channel_block, number = index
            place = start + number
            image, row = (b.index(0), place) if images == 1 else (place / rows, b.rem(place, b.index(rows)))

            def within() -> None:
                body(channel_block, image, row, number * columns)

            if end is None:
                within()
            else:
                b.only_when(b.compare("lt", place, end), within)

        b.parallel_for([*channel_blocks, step], at)

    def _for_tiles(self, tiles: range, body: Callable[[Scalar], None]) -> None:
        self._b.parallel_range(tiles.start, tiles.stop, 1, body)

    # The operand

    def _transform_row(
        self, run: BlockRun, channel_block: list[Scalar], image: Scalar, row: Scalar, first: Scalar
    ) -> None:
        block, channel = run.place(*channel_block)
        valid = None if run.channels == self._lanes else run.channels
        for tiles, elements, _ in alike(self._sizes.columns, self._f):

            def transform(tile: Scalar, elements: range = elements) -> None:
                for j, values in enumerate(self._transformed_tile(block, image, row, tile, elements)):
                    registers = Tile((self._f.inputs, 1, self._lanes), valid)
                    product = registers.index(self._b, self._first + j, {0: self._f.inputs})
                    lane = registers.index(self._b, channel, {-1: 1})
                    self._write_transformed([product, first + tile, lane], values)

            self._for_tiles(tiles, transform)

    def _transformed_tile(
        self, channel_block: Scalar, image: Scalar, row: Scalar, column: Scalar, elements: range
    ) -> list[Scalar]:
        f = self._f
        lines = [self._line(channel_block, image, row, column, i, elements) for i in range(f.inputs)]
        grid = self._joined(f.transform_input(lines, self._sum), 0)
        return list(f.transform_input(self._split(grid, 1), self._sum))

    def _line(
        self, channel_block: Scalar, image: Scalar, row: Scalar, column: Scalar, line: int, elements: range
    ) -> Scalar:
        """A line of elements of a tile of the operand, zero where there are none: [1, n, lanes]."""
        b, f, window = self._b, self._f, self._sizes.rows
        zeros = b.splat(0, Tile((1, f.inputs, self._lanes)), self._types.factors)
        first, last = line - window.before, line - window.before + (self._sizes.tiles[0] - 1) * f.outputs
        if not elements or first >= window.extent or last < 0:
            return zeros
        place = row * f.outputs + (line - window.before)

        def read() -> list[Scalar]:
            tile = Tile((1, len(elements), self._lanes))
            across = tile.index(b, column * f.outputs + (elements.start - self._sizes.columns.before), {1: 1})
            part = self._x([image, channel_block, place, across, tile.index(b, 0, {-1: 1})])
            if self._types.group > 1:
                part = b.cast(part, self._types.factors)
            if self._sizes.zero_point:
                part = part - self._sizes.zero_point
            return [b.replace(part, zeros, [0, elements.start])]

        tests: list[Scalar] = []
        if first < 0:
            tests.append(b.compare("ge", place, 0))
        if last >= window.extent:
            tests.append(b.compare("lt", place, window.extent))
        if not tests:
            return read()[0]
        return b.when(tests[0] if len(tests) == 1 else tests[0] & tests[1], read, lambda: [zeros])[0]

    # The weight

    def _transform_filters(self, panel: Scalar, write: Writer) -> None:
        """A panel of a weight of integers, a pair of channels of a block of outputs at a time."""
        b, f, types = self._b, self._f, self._types
        lanes = self._lanes * types.group

        def transform(values: Sequence[Scalar]) -> list[Scalar]:
            return f.transform_filter(values, self._sum, WEIGHT_SCALE)

        def at(index: list[Scalar]) -> None:
            step, column = index
            columns: list[list[Scalar]] = []
            for j in range(TAPS):
                taps = Tile((TAPS, 1, lanes))
                place = [b.index(0), taps.index(b, 0, {0: 1}), b.index(j), step]
                line = self._weight([panel, *place, taps.index(b, column * lanes, {-1: 1})])
                columns.append(transform(self._split(b.cast(line, types.factors), 0)))
            for i, row in enumerate(zip(*columns, strict=True)):
                for j, value in enumerate(transform(row)):
                    register = Tile((1, 1, lanes))
                    number = self._first + (i * f.inputs + j)
                    write([number, step, register.index(b, column * lanes, {-1: 1})], value)

        b.parallel_for([ceil_div(self._sizes.channels.count, types.group), self._sizes.width // self._lanes], at)

    # Matrix products

    def _multiply(self, panel: Scalar, count: int, tiles: Scalar) -> None:
        """The products of the block's first `tiles` tiles with the first `count` blocks of a panel of the weight."""
        sizes = (self._f.inputs**2, self._sizes.block_tiles, count, self._sizes.channels.count)

        def transformed(index: Sequence[Scalar]) -> Scalar:
            return self._filters[0]([self._first + index[1], *index[2:]])

        weight = transformed if self._filters else self._weight
        operands = in_part(self._transformed, self._first), weight, self._sizes.width
        write = in_part(self._write_products, self._first)
        products = PLAIN if self._types.group == 1 else Products(self._types.group)
        batched_matmul(self._b, self._schedule, self._types.sums, panel, sizes, *operands, write, tiles, products)

    # The result

    def _store_row(self, panel: Scalar, channel_block: list[Scalar], image: Scalar, row: Scalar, first: Scalar) -> None:
        for tiles, results in self._result_runs():
            self._for_tiles(
                tiles,
                lambda tile, results=results: self._store_tile(
                    panel, channel_block[0], image, row, tile, results, first + tile
                ),
            )

    def _result_runs(self) -> list[tuple[range, int]]:
        """The tiles of a row in runs with the same number of result columns."""
        count, size = self._sizes.tiles[1], self._f.outputs
        tail = self._sizes.columns.positions % size
        runs = [(range(count - (1 if tail else 0)), size), (range(count - 1, count), tail)]
        return [run for run in runs if run[0] and run[1]]

    def _store_tile(
        self,
        panel: Scalar,
        channel_block: Scalar,
        image: Scalar,
        row: Scalar,
        column: Scalar,
        columns: int,
        number: Scalar,
    ) -> None:
        b, f = self._b, self._f
        tile = Tile((f.inputs, f.inputs, self._lanes))
        product = tile.index(b, self._first, {0: f.inputs, 1: 1})
        lane = tile.index(b, channel_block * self._lanes, {-1: 1})
        grid = self._products([product, number, lane])
        lines = f.transform_output(self._split(grid, 0), self._sum)
        sides = f.transform_output(self._split(self._joined(lines, 0), 1), self._sum)[:columns]
        values = self._joined(sides, 1)

        def write(rows: int) -> list[Scalar]:
            block = panel * (self._sizes.width // self._lanes) + channel_block
            tile = Tile((rows, columns, self._lanes))
            value = b.slice(values, [0, 0], [rows, columns])
            if self._types.shift:
                value = b.shift_right(value, b.const(self._types.shift, self._types.sums))
            for bias in self._bias:
                value = value + bias([tile.index(b, block * self._lanes, {-1: 1})])
            down, across = tile.index(b, row * f.outputs, {0: 1}), tile.index(b, column * f.outputs, {1: 1})
            self._write([image, block, down, across, tile.index(b, 0, {-1: 1})], value)
            return []

        tail = self._sizes.rows.positions % f.outputs
        if tail == 0:
            write(f.outputs)
        else:
            last = b.compare("eq", row, self._sizes.tiles[0] - 1)
            b.when(last, lambda: write(tail), lambda: write(f.outputs))

    # Tiles of values

    def _split(self, grid: Scalar, axis: int) -> list[Scalar]:
        """The slices of extent 1 of a tile along axis 0 or 1."""
        sizes = list(tile_shape(grid.ssa)[:2])
        count, sizes[axis] = sizes[axis], 1
        return [self._b.slice(grid, [place if axis == each else 0 for each in (0, 1)], sizes) for place in range(count)]

    def _joined(self, parts: Sequence[Scalar], axis: int) -> Scalar:
        """A tile from slices along axis 0 or 1."""
        sizes = list(tile_shape(parts[0].ssa)[:2])
        sizes[axis] = len(parts)
        whole = self._b.splat(0, Tile((*sizes, self._lanes)), parts[0].dtype)
        for place, part in enumerate(parts):
            whole = self._b.replace(part, whole, [place if axis == each else 0 for each in (0, 1)])
        return whole
