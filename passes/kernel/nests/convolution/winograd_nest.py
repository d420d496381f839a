"""The loops of `winograd_conv` on register tiles: a block of rows of tiles after the other, in three stages.

    for each block of rows of tiles (of all images and planes, counted through):
      for each segment of the window, block of channels, row, tile:
                                                     transform the operand's n x n elements into `transformed`
      for each panel of the weight:
        of integers:                                   transform the panel into `filters`
        for each of the n * n products, tile of registers:   a product of matrices into `products`
        for each block of channels of the panel, row, tile:  transform n x n products, write m x m results

The buffers of a block stay in L2, the weight is read once for each block, in the order of memory. Parts of the
rows, and of the panels of these, have buffers of their own and may be computed at the same time.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from itertools import groupby
from math import prod
from operator import and_

from aotc.dialects.aot.tiles import tile_shape
from aotc.dialects.builder import Reader, Scalar, Writer, linear_combinations
from aotc.dialects.graph.packed.channels import BlockStrip, Channels
from aotc.dialects.graph.packed.winograd.winograd_axes import ABSENT, EXACT, Axis
from aotc.dialects.graph.packed.winograd.winograd_conv import WinogradConvOp, WinogradSizes, divided
from aotc.dialects.graph.schedules import MatmulSchedule
from aotc.dialects.graph.shapes import Segment, ceil_div, segments
from aotc.mathematics.linear_combinations import Sum
from aotc.mathematics.winograd_transforms import TAPS
from aotc.passes.kernel.builders.tiles import NotVectorizable, Tile
from aotc.passes.kernel.nest import Nest
from aotc.passes.kernel.nests.products.matmul_nest import (
    PLAIN,
    Products,
    Share,
    batched_matmul,
    for_common,
    in_part,
    share_of,
)


def alike(axis: Axis, segment: int) -> list[tuple[range, range]]:
    """The tiles along an axis as strips of equal ones: (tiles, which elements exist of those a segment sees)."""
    extent, count = axis.window.extent, axis.transforms.inputs

    def elements_of(tile: int) -> range:
        start = tile * axis.tile_stride + segment * axis.segment_stride - axis.window.before
        first = min(max(-start, 0), count)
        return range(first, max(min(extent - start, count), first))

    strips: list[tuple[range, range]] = []
    for elements, tiles in groupby(range(axis.tiles), elements_of):
        strip = list(tiles)
        strips.append((range(strip[0], strip[-1] + 1), elements))
    return strips


@dataclass(frozen=True)
class WinogradNest(Nest[WinogradConvOp, MatmulSchedule]):
    """The loops of a `winograd_conv`; scratch buffers: the transformed operand, products, and of integers filters."""

    first: Scalar
    """In the scratch buffers the first of the products of the part that is being written."""
    first_filter: Scalar
    """The same in that of filters."""

    @cached_property
    def sizes(self) -> WinogradSizes:
        """Those of the operation."""
        return self.op.sizes

    @cached_property
    def combine(self) -> Sum[Scalar]:
        """Writes linear combinations."""
        return linear_combinations(self.b)

    @cached_property
    def scratch(self) -> Sequence[Reader]:
        """Readers of the scratch buffers."""
        return self.reads[len(self.op.operands) :]

    def emit(self) -> None:
        sizes = self.sizes
        if self.lanes != sizes.block:
            raise NotVectorizable("the blocks of channels are not vector registers")

        def part(index: list[Scalar]) -> None:
            row, panel = index
            part = row * sizes.panel_parts + panel
            within = replace(self, first=part * sizes.products)
            if self.writes[3:]:
                within = replace(within, first_filter=part * sizes.filters)
            rows = share_of(self.b, row, sizes.all_rows, sizes.row_parts)
            within._write_part(rows, share_of(self.b, panel, sizes.panels, sizes.panel_parts))

        self.b.parallel_for([sizes.row_parts, sizes.panel_parts], part)

    def _write_part(self, rows: Share, share: Share) -> None:
        """A share of the rows of tiles, block after block, and of each a share of the panels."""
        b, sizes = self.b, self.sizes
        channels = sizes.channels
        most = ceil_div(sizes.all_rows, sizes.row_parts)
        # padding lanes behind the last channel may be written: nothing reads them, but where another segment follows
        exact_lanes = channels.has_padding or prod(sizes.segments) > 1
        whole = channels if exact_lanes else Channels.of([channels.blocks * self.lanes], self.lanes)
        panel_blocks = sizes.width // self.lanes
        panels = list(segments(ceil_div(sizes.outputs, self.lanes), panel_blocks))
        exact = rows.size is not None and rows.size % sizes.tile_rows == 0
        end = None if exact else rows.high

        def block(number: Scalar) -> None:
            start = rows.low + number * sizes.tile_rows
            for strip in whole.strips:
                for part in segments(strip.count, self.sizes.types.group):
                    for across in range(self.sizes.columns.segments):
                        counts = *sizes.segments[:-1], strip.number, part.count
                        self._for_rows(start, end, counts, partial(self._transform_row, strip, part, across))
            tiles = (
                b.index(sizes.block_tiles)
                if exact
                else b.min((rows.high - start) * self.sizes.columns.tiles, sizes.block_tiles)
            )

            def panel(number: Scalar, part: Segment) -> None:
                for write in self.writes[3:]:
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
        counts: Sequence[int],
        body: Callable[[list[Scalar], list[Scalar], Scalar], None],
    ) -> None:
        """`body(index, where, first)` for each index below `counts` and each row of tiles of the block.

        `where` is the image, the places along the outer axes and the row; `first` is the number in the block of the
        first tile of the row. Rows from `end` on are left out; None: no block has any.
        """
        b, step = self.b, self.sizes.tile_rows

        def at(index: list[Scalar]) -> None:
            *outer, number = index
            place = start + number
            where = self._unravelled(place, [*self.sizes.planes, self.sizes.rows.tiles])

            def within() -> None:
                body(outer, where, number * self.sizes.columns.tiles)

            if end is None:
                within()
            else:
                b.only_when(b.compare("lt", place, end), within)

        b.parallel_for([*counts, step], at)

    def _unravelled(self, place: Scalar, counts: Sequence[int]) -> list[Scalar]:
        """The index of element number `place` of an array of these extents."""
        b, index = self.b, list[Scalar]()
        for number, count in reversed(list(enumerate(counts))):
            if count == 1:
                index.insert(0, b.index(0))
            elif prod(counts[:number]) == 1:
                index.insert(0, place)
            else:
                index.insert(0, b.rem(place, b.index(count)))
                place = place / count
        return index

    # The operand

    def _transform_row(
        self, strip: BlockStrip, part: Segment, across: int, index: list[Scalar], where: list[Scalar], first: Scalar
    ) -> None:
        """Transform as many neighbouring blocks of channels as `part` has at once, in a row of tiles, of segment
        `across` of the columns."""
        b, sizes, f = self.b, self.sizes, self.sizes.columns.transforms
        *segment, time, neighbour = index
        block, channel = strip.place(time, neighbour * part.size + part.start)
        number = b.index(0)
        for place, count in zip((*segment, b.index(across)), sizes.segments, strict=True):
            number = number * count + place
        channel = channel if prod(sizes.segments) == 1 else number * sizes.channels.count + channel
        valid = None if strip.channels == self.lanes else strip.channels
        blocks = [block + each for each in range(part.size)]
        for tiles, elements in alike(self.sizes.columns, across):

            def transform(tile: Scalar, elements: range = elements) -> None:
                column = tile * self.sizes.columns.tile_stride + (
                    across * self.sizes.columns.segment_stride + elements.start - self.sizes.columns.window.before
                )
                for i, fiber in enumerate(self._transformed_fibers(blocks, where, segment, column, elements)):
                    registers = Tile((f.inputs, 1, part.size * self.lanes), valid)
                    product = registers.index(b, self.first + i * f.inputs, {0: 1})
                    lane = registers.index(b, channel, {-1: 1})
                    self.writes[1]([product, first + tile, lane], self._joined(fiber, 0))

            b.parallel_range(tiles.start, tiles.stop, 1, transform)

    def _transformed_fibers(
        self, blocks: Sequence[Scalar], where: list[Scalar], segment: list[Scalar], column: Scalar, elements: range
    ) -> Iterator[list[Scalar]]:
        """The transformed elements of a tile, fiber by fiber; the first that exists is in `column`.

        The columns are transformed one after the other, then the fibers, so that few elements are in registers at once.
        The zero point is subtracted from what is transformed, of which it changes little.
        """
        f = self.sizes.rows.transforms
        fibers = [self._fiber(blocks, where, segment, column, i, elements) for i in range(f.inputs)]
        columns = zip(*(self._split(fiber, 1) for fiber in fibers), strict=True)
        down = [f.transform_input(each, self.combine) for each in columns]
        for i, fiber in enumerate(zip(*down, strict=True)):
            found = self.sizes.columns.transforms.transform_input(fiber, self.combine)
            yield [self._less_zero_point(value, i, j) for j, value in enumerate(found)]

    def _less_zero_point(self, value: Scalar, i: int, j: int) -> Scalar:
        """Transformed element i, j less what it is for a tile of zero points."""
        if not (point := self.sizes.zero_point):
            return value
        down, across = self.sizes.rows.transforms, self.sizes.columns.transforms
        assert isinstance(down, EXACT) and isinstance(across, EXACT)
        factor = down.input_sums[i] * across.input_sums[j]
        return value - point * factor if factor else value

    def _fiber(
        self,
        blocks: Sequence[Scalar],
        where: list[Scalar],
        segment: list[Scalar],
        column: Scalar,
        fiber: int,
        elements: range,
    ) -> Scalar:
        """A fiber of elements of a tile of the operand, its zero point where there are none: [1, n, lanes] with the
        lanes of one block or two."""
        b, lanes = self.b, len(blocks) * self.lanes
        fiber_tile = Tile((1, self.sizes.columns.transforms.inputs, lanes))
        zeros = b.splat(self.sizes.zero_point, fiber_tile, self.sizes.types.factors)
        (image, *tiles), axes = where, (*self.sizes.outer, self.sizes.rows)
        places: list[Scalar] = []
        tests: list[Scalar] = []
        for axis, tile, part in zip(axes, tiles, segment, strict=True):
            offset = (fiber if axis is self.sizes.rows else 0) - axis.window.before
            first, across = offset, (axis.segments - 1) * axis.segment_stride
            last = first + (axis.tiles - 1) * axis.tile_stride + across
            if first >= axis.window.extent or last < 0:
                return zeros
            place = tile * axis.tile_stride + offset
            if axis.segments > 1:
                place = place + part * axis.segment_stride
            if first < 0:
                tests.append(b.compare("ge", place, 0))
            if last >= axis.window.extent:
                tests.append(b.compare("lt", place, axis.window.extent))
            places.append(place)
        if not elements:
            return zeros

        def read() -> list[Scalar]:
            tile = Tile((1, len(elements), self.lanes))
            place = [*self._present(places), tile.index(b, column, {1: 1}), tile.index(b, 0, {-1: 1})]
            part, *others = (self.reads[0]([image, block, *place]) for block in blocks)
            for other in others:
                part = b.shuffle(part, other, range(lanes))
            if self.sizes.types.group > 1:
                part = b.cast(part, self.sizes.types.factors)
            return [b.replace(part, zeros, [0, elements.start])]

        return b.when(reduce(and_, tests), read, lambda: [zeros])[0] if tests else read()[0]

    def _present(self, places: list[Scalar]) -> list[Scalar]:
        """Places along the outer axes and the rows, without those where there is one axis."""
        return [] if self.sizes.rows is ABSENT else places

    # The weight

    def _transform_filters(self, panel: Scalar, write: Writer) -> None:
        """A panel of a weight of integers, a pair of channels of a block of outputs at a time."""
        b, types, down, across = self.b, self.sizes.types, self.sizes.rows.transforms, self.sizes.columns.transforms
        lanes = self.lanes * types.group
        assert isinstance(down, EXACT) and isinstance(across, EXACT)

        def at(index: list[Scalar]) -> None:
            step, column = index
            columns: list[list[Scalar]] = []
            for j in range(TAPS):
                taps = Tile((TAPS, 1, lanes))
                place = [b.index(0), taps.index(b, 0, {0: 1}), b.index(j), step]
                fiber = self.reads[1]([panel, *place, taps.index(b, column * lanes, {-1: 1})])
                columns.append(down.transform_filter(self._split(b.cast(fiber, types.factors), 0), self.combine))
            number = 0
            for row in zip(*columns, strict=True):
                for value in across.transform_filter(row, self.combine):
                    register = Tile((1, 1, lanes))
                    write([self.first_filter + number, step, register.index(b, column * lanes, {-1: 1})], value)
                    number += 1

        b.parallel_for([ceil_div(self.sizes.channels.count, types.group), self.sizes.width // self.lanes], at)

    # Matrix products

    def _multiply(self, panel: Scalar, count: int, tiles: Scalar) -> None:
        """The products of the block's first `tiles` tiles with the first `count` blocks of a panel of the weight."""
        sizes = (self.sizes.products, self.sizes.block_tiles, count, self.sizes.steps)

        def transformed(index: Sequence[Scalar]) -> Scalar:
            return self.scratch[2]([self.first_filter + self._filter(index[1]), *index[2:]])

        weight = transformed if self.scratch[2:] else self.reads[1]
        operands = in_part(self.scratch[0], self.first), weight, self.sizes.width
        write = in_part(self.writes[2], self.first)
        products = PLAIN if self.sizes.types.group == 1 else Products(self.sizes.types.group)
        batched_matmul(self.b, self.schedule, self.sizes.types.sums, panel, sizes, *operands, write, tiles, products)

    def _filter(self, product: Scalar) -> Scalar:
        """The number of the filter of a product: along an axis the last ones may have one and the same."""
        down, across = self.sizes.rows.transforms, self.sizes.columns.transforms
        assert isinstance(down, EXACT) and isinstance(across, EXACT)
        if self.sizes.filters == self.sizes.products:
            return product
        b, *last = self.b, down.filter_numbers[-1], across.filter_numbers[-1]
        columns = b.index(across.inputs)
        row, column = b.min(product / columns, last[0]), b.min(b.rem(product, columns), last[1])
        return row * (last[1] + 1) + column

    # The result

    def _store_row(self, panel: Scalar, index: list[Scalar], where: list[Scalar], first: Scalar) -> None:
        (block,) = index
        for tiles, results in self._result_strips():

            def store(tile: Scalar, results: int = results) -> None:
                self._store_tile(panel, block, where, tile, results, first + tile)

            self.b.parallel_range(tiles.start, tiles.stop, 1, store)

    def _result_strips(self) -> list[tuple[range, int]]:
        """The tiles of a row in strips with the same number of result columns."""
        count, size = self.sizes.columns.tiles, self.sizes.columns.transforms.outputs
        tail = self.sizes.columns.window.positions % size
        strips = [(range(count - (1 if tail else 0)), size), (range(count - 1, count), tail)]
        return [strip for strip in strips if strip[0] and strip[1]]

    def _store_tile(
        self, panel: Scalar, channel_block: Scalar, where: list[Scalar], column: Scalar, columns: int, number: Scalar
    ) -> None:
        b, down, across = self.b, self.sizes.rows.transforms, self.sizes.columns.transforms
        image, *planes, row = where
        tile = Tile((down.inputs, 1, self.lanes))
        lane = tile.index(b, channel_block * self.lanes, {-1: 1})
        sides: list[list[Scalar]] = []
        for j in range(across.inputs):
            product = tile.index(b, self.first + j, {0: across.inputs})
            sides.append(down.transform_output(self._split(self.scratch[1]([product, number, lane]), 0), self.combine))
        fibers: list[Scalar] = []
        for fiber, multiple in zip(zip(*sides, strict=True), down.multiples, strict=True):
            found = zip(across.transform_output(fiber, self.combine), across.multiples, strict=True)
            fibers.append(self._joined([divided(b, value, multiple * each) for value, each in found][:columns], 1))
        values = self._joined(fibers, 0)

        def write(rows: int) -> list[Scalar]:
            block = panel * (self.sizes.width // self.lanes) + channel_block
            tile = Tile((rows, columns, self.lanes))
            value = b.slice(values, [0, 0], [rows, columns])
            if (bias := self.reader(self.op.bias)) is not None:
                value = value + bias([tile.index(b, block * self.lanes, {-1: 1})])
            places = self._present([*planes, tile.index(b, row * down.outputs, {0: 1})])
            places.append(tile.index(b, column * across.outputs, {1: 1}))
            self.write([image, block, *places, tile.index(b, 0, {-1: 1})], value)
            return []

        tail = self.sizes.rows.window.positions % down.outputs
        if tail == 0:
            write(down.outputs)
        else:
            last = b.compare("eq", row, self.sizes.rows.tiles - 1)
            b.when(last, lambda: write(tail), lambda: write(down.outputs))

    # Tiles of values

    def _split(self, grid: Scalar, axis: int) -> list[Scalar]:
        """The slices of extent 1 of a tile along axis 0 or 1."""
        sizes = list(tile_shape(grid.ssa)[:2])
        count, sizes[axis] = sizes[axis], 1
        return [self.b.slice(grid, [place if axis == each else 0 for each in (0, 1)], sizes) for place in range(count)]

    def _joined(self, parts: Sequence[Scalar], axis: int) -> Scalar:
        """A tile from slices along axis 0 or 1."""
        sizes = list(tile_shape(parts[0].ssa)[:2])
        sizes[axis] = len(parts)
        whole = self.b.splat(0, Tile((*sizes, tile_shape(parts[0].ssa)[-1])), parts[0].dtype)
        for place, part in enumerate(parts):
            whole = self.b.replace(part, whole, [place if axis == each else 0 for each in (0, 1)])
        return whole
