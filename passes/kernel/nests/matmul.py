"""Matrix products on register tiles: the loop nest of every contraction without a window.

A tile of rows x columns registers is kept while the whole depth is added to it: for each step of the reduction the
rows' elements, each broadcast along the lanes, times the columns' registers (an outer product).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.ir import Attribute

from aotc.dialects.builder import Reader, Scalar, Writer
from aotc.dialects.dtypes import byte_width
from aotc.dialects.graph.schedules import MatmulSchedule
from aotc.dialects.graph.shapes import LINE, Segment, ceil_div, segments
from aotc.passes.kernel.builders.tile_builder import Tile, TileBuilder
from aotc.passes.kernel.costs.register_tiles import LATENCY, MULTIPLIERS


@dataclass(frozen=True)
class Place:
    """Where a tile is: the batch index, its rows and columns as indices of the tile, and the columns' panel."""

    outer: list[Scalar]
    tile: Tile
    first: Scalar
    """The first of the rows."""
    row: Scalar
    panel: Scalar
    column: Scalar


Factors: TypeAlias = Callable[[Scalar], tuple[Scalar, Scalar]]
"""The two factors of a reduction step."""


@dataclass(frozen=True)
class Block:
    """Neighbouring steps of a reduction: `size` from `start` on."""

    start: Scalar
    size: int
    is_first: Scalar | bool
    """Whether there are none before; only known when the kernel runs where one loop has the first block and others."""
    is_last: bool


def for_blocks(b: TileBuilder, depth: int, size: int, body: Callable[[Block], None]) -> None:
    """`body` for 0..depth in blocks of `size`, in order; the last one, which may be smaller, is no part of the loop."""
    before = (depth - 1) // size
    if before:

        def at(number: Scalar) -> None:
            body(Block(number * size, size, b.compare("eq", number, 0) if before > 1 else True, is_last=False))

        b.sequential_range(0, before, 1, at)
    body(Block(b.index(before * size), depth - before * size, is_first=before == 0, is_last=True))


@dataclass(frozen=True)
class PartialSums:
    """The scratch buffer in which the sums of a panel are between two blocks of a reduction."""

    read: Reader
    write: Writer

    def loaded(self, b: TileBuilder, block: Block, at: Sequence[Scalar], initial: Callable[[], Scalar]) -> Scalar:
        """The sums of the blocks before `block`; `initial` where there are none."""
        if isinstance(block.is_first, bool):
            return initial() if block.is_first else self.read(at)
        return b.when(block.is_first, lambda: [initial()], lambda: [self.read(at)])[0]

    def added(self, b: TileBuilder, block: Block, at: Sequence[Scalar], total: Scalar) -> Scalar:
        """`total`, which is the sum of `block`, and the sums of the blocks before."""
        if isinstance(block.is_first, bool):
            return total if block.is_first else b.add(self.read(at), total)
        return b.when(block.is_first, lambda: [total], lambda: [b.add(self.read(at), total)])[0]


def reduction(b: TileBuilder, unroll: int, depth: int, sums: list[Scalar], factors: Factors) -> list[Scalar]:
    """`sums` plus the products of `factors(k)` for k in 0..depth, dealt out among them in turn."""
    step = max(unroll, len(sums))
    whole = depth - depth % step

    def body(k: Scalar, sums: list[Scalar], steps: int = step) -> list[Scalar]:
        for offset in range(steps):
            x, y = factors(b.add(k, b.index(offset)))
            sums[offset % len(sums)] = b.fma(x, y, sums[offset % len(sums)])
        return sums

    sums = b.loop(0, whole, step, sums, body)
    return body(b.index(whole), sums, depth - whole) if whole < depth else sums


def accumulate(
    b: TileBuilder, schedule: MatmulSchedule, dtype: Attribute, tile: Tile, depth: int, factors: Factors
) -> Scalar:
    """The sum of the products of `factors(k)` for k in 0..depth, as a register tile.

    A small tile gets several accumulators, so that each addition need not wait for the one before.
    """
    chains = min(ceil_div(LATENCY * MULTIPLIERS, tile.shape[0] * tile.shape[1]), depth)
    sums = reduction(b, schedule.unroll, depth, [b.splat(0, tile, dtype)] * chains, factors)
    while len(sums) > 1:
        half = ceil_div(len(sums), 2)
        sums = [b.add(*sums[i::half]) if i + half < len(sums) else sums[i] for i in range(half)]
    return sums[0]


def product_loops(
    b: TileBuilder,
    schedule: MatmulSchedule,
    dtype: Attribute,
    batch: Sequence[int],
    sizes: tuple[int, int, int],
    factors: Callable[[Place], Factors],
    store: Callable[[Place, Scalar], None],
    partials: PartialSums | None = None,
) -> None:
    """A product of `sizes` (rows, columns, depth) for each index of `batch`; `store` gets each tile of sums once.

    Rows and columns are cut into tiles of `schedule.mr` x `schedule.nr` registers, and smaller ones at the tails.
    `factors` of a place gives the factors of each reduction step there. With `partials` the reduction of a panel is
    done in blocks of `schedule.kc` steps, each of them for all rows, one panel after the other:

        for each panel:  for each KC steps:  for each MR rows:  a register tile
    """
    rows, columns, depth = sizes
    height, width = schedule.mr, schedule.nr
    wide = width * schedule.lanes
    block = Block(b.index(0), depth, is_first=True, is_last=True)

    def tile_at(outer: list[Scalar], row: Scalar, size: int, panel: Scalar, valid: int, block: Block = block) -> None:
        partial = valid if valid % schedule.lanes else None
        tile = Tile((size, ceil_div(valid, schedule.lanes), schedule.lanes), partial)
        column = tile.index(b, panel * wide, {-2: schedule.lanes, -1: 1})
        place = Place(outer, tile, row, tile.index(b, row, {0: 1}), panel, column)
        steps = factors(place)
        if partials is None:
            store(place, accumulate(b, schedule, dtype, tile, depth, steps))
            return
        total = accumulate(b, schedule, dtype, tile, block.size, lambda k: steps(block.start + k))
        at = [place.row, tile.index(b, 0, {-2: schedule.lanes, -1: 1})]
        total = partials.added(b, block, at, total)
        if block.is_last:
            store(place, total)
        else:
            partials.write(at, total)

    def panel_in_blocks(index: list[Scalar], c: Segment) -> None:
        *outer, panel = index

        def add(block: Block) -> None:
            for r in row_parts:

                def at(row: Scalar, r: Segment = r) -> None:
                    tile_at(outer, row * r.size + r.start, r.size, panel + c.start // wide, c.size, block)

                b.parallel_range(0, r.count, 1, at)

        for_blocks(b, depth, schedule.kc or depth, add)

    row_parts, column_parts = list(segments(rows, height)), list(segments(columns, wide))

    def at(outer: list[Scalar], r: Segment, row: Scalar, c: Segment, panel: Scalar) -> None:
        tile_at(outer, row * r.size + r.start, r.size, panel + c.start // wide, c.size)

    def over(parts: Sequence[Segment], body: Callable[[Segment, Scalar], None]) -> None:
        for part in parts:
            b.parallel_range(0, part.count, 1, lambda position, part=part: body(part, position))

    def by_columns(index: list[Scalar], c: Segment) -> None:
        over(row_parts, lambda r, row: at(index[:-1], r, row, c, index[-1]))

    def by_rows(index: list[Scalar], r: Segment) -> None:
        over(column_parts, lambda c, panel: at(index[:-1], r, index[-1], c, panel))

    if partials is not None:
        for part in column_parts:
            b.sequential_for([*batch, part.count], lambda index, part=part: panel_in_blocks(index, part))
        return
    parts, nest = (column_parts, by_columns) if schedule.order == "columns" else (row_parts, by_rows)
    for part in parts:
        b.parallel_for([*batch, part.count], lambda index, part=part: nest(index, part))


def stacked_products(
    b: TileBuilder,
    schedule: MatmulSchedule,
    dtype: Attribute,
    panel: Scalar,
    sizes: tuple[int, int, int, int],
    left: Reader,
    weight: Reader,
    panel_width: int,
    write: Writer,
    present: Scalar | None = None,
) -> None:
    """`count` products of `sizes` (count, rows, registers, depth) with a panel of each of as many right matrices.

    `left` is read at product, row, k; `weight` at panel, product, k, column, of the `panel_width` columns of a panel as
    many as `registers` have. `write` gets the results at product, row, column. No more than `present` rows are needed.
    """
    count, rows, registers, depth = sizes
    height, width = schedule.mr, schedule.nr

    def product(number: Scalar, row: Scalar, height: int, column: Scalar, width: int) -> None:
        tile = Tile((height, width, schedule.lanes))
        across = tile.index(b, column * schedule.lanes, {1: schedule.lanes, 2: 1})
        down = tile.index(b, row, {0: 1})

        def factors(k: Scalar) -> tuple[Scalar, Scalar]:
            share, shape = (rows, byte_width(dtype)), (depth, panel_width)
            ask_for_next(b, schedule, weight, [panel, number + 1], row, share, shape, k)
            return left([number, down, k]), weight([panel, number, k, across])

        write([number, down, across], accumulate(b, schedule, dtype, tile, depth, factors))

    def over_rows(number: Scalar, column: Scalar, width: int) -> None:
        for r in segments(rows, height):

            def at(row: Scalar, size: int = r.size) -> None:
                product(number, row, size, column, width)

            stop = r.start + r.count * r.size
            if present is None:
                b.parallel_range(r.start, stop, r.size, at)
            else:
                b.sequential_range(r.start, b.min(present, stop), r.size, at)

    def at(index: list[Scalar]) -> None:
        for c in segments(registers, width):
            stop = c.start + c.count * c.size
            b.parallel_range(c.start, stop, c.size, lambda column, c=c: over_rows(index[0], column, c.size))

    b.parallel_for([count], at)


def ask_for_next(
    b: TileBuilder,
    schedule: MatmulSchedule,
    read: Reader,
    following: Sequence[Scalar],
    first: Scalar,
    sizes: tuple[int, int],
    shape: Sequence[int],
    k: Scalar,
) -> None:
    """At step `k` of a tile of rows from `first` on, ask for some of the next panel, where the schedule says so.

    `read` with the indices `following` is that panel, of `shape` (depth, columns); `sizes` are the rows that are
    multiplied with this one and the bytes of an element. Each row of tiles asks for its share of it; so few rows that
    this were more than two lines in a step, as in a strip, do not.
    """
    (rows, width), (depth, columns) = sizes, shape
    share = ceil_div(columns * schedule.mr, rows)
    if not schedule.prefetch or share * width > 2 * LINE:
        return
    start = first * (depth * columns // rows) + k * share
    for offset in range(0, share, max(LINE // width, 1)):
        b.prefetch(read, [*following, b.index(0), start + offset])
