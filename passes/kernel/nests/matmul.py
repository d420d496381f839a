"""Matrix products on register tiles: the loop nest of every contraction without a window.

A tile of rows x columns registers is kept while the whole depth is added to it: for each step of the reduction the
rows' elements, each broadcast along the lanes, times the columns' registers (an outer product).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.ir import Attribute

from aotc.dialects.dtypes import byte_width
from aotc.dialects.graph.interfaces import AnchorOp, shape_of
from aotc.dialects.graph.loops import Reader, Writer
from aotc.dialects.graph.scalars import Scalar
from aotc.dialects.graph.schedule import Schedule
from aotc.dialects.graph.shapes import ceil_div
from aotc.passes.kernel.builders.tile_builder import NotTileable, Tile, TileBuilder
from aotc.passes.kernel.costs.register_tiles import Segment, segments
from aotc.passes.kernel.spatial_tiling import Box, Cutout, Strips, whole

LINE = 64
"""Bytes from one address that is asked for to the next: a line of every machine of the table that has vectors."""
SUMS = 8
"""Sums of a small tile that are added to in turn, so that a multiply-add need not wait for the one before: as many as
every machine of the table has under way."""


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


def cut_out_product(op: AnchorOp, box: Box, transposed: bool, matrix_rank: int) -> Cutout | None:
    """Rows of the product `op` of lhs [.., M, K] (`transposed`: [.., K, M]) and all of a matrix, for some batches.

    The batch dimensions of both operands broadcast, the last `matrix_rank` of rhs are the matrix; the result is
    [.., M, N].
    """
    lhs, rhs = op.operands
    *batch, rows, columns = box
    if columns != whole(op.results[0])[-1]:
        return None

    def batches(extents: Sequence[int]) -> Box:
        last = batch[len(batch) - len(extents) :]
        return tuple(range(1) if extent == 1 else axis for extent, axis in zip(extents, last, strict=True))

    outer = shape_of(rhs)[:-matrix_rank]
    matrix = whole(rhs)[-matrix_rank:]
    depth = whole(lhs)[-2 if transposed else -1]
    of_lhs = (depth, rows) if transposed else (rows, depth)
    return Cutout(op, ((*batches(shape_of(lhs)[:-2]), *of_lhs), (*batches(outer), *matrix)))


def product_strips(op: AnchorOp, schedule: Schedule) -> Strips:
    """Rows of a product [.., M, N], one batch at a time."""
    rank = len(shape_of(op.results[0]))
    return Strips(range(rank - 2), rank - 2, schedule.tile[0])


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
    b: TileBuilder, schedule: Schedule, dtype: Attribute, tile: Tile, depth: int, factors: Factors
) -> Scalar:
    """The sum of the products of `factors(k)` for k in 0..depth, as a tile.

    A small tile gets several accumulators, so that each addition need not wait for the one before.
    """
    chains = min(ceil_div(SUMS, tile.shape[0] * tile.shape[1]), depth)
    sums = reduction(b, schedule.unroll, depth, [b.splat(0, tile, dtype)] * chains, factors)
    while len(sums) > 1:
        half = ceil_div(len(sums), 2)
        sums = [b.add(*sums[i::half]) if i + half < len(sums) else sums[i] for i in range(half)]
    return sums[0]


def product_loops(
    b: TileBuilder,
    schedule: Schedule,
    dtype: Attribute,
    batch: Sequence[int],
    sizes: tuple[int, int, int],
    factors: Callable[[Place], Factors],
    store: Callable[[Place, Scalar], None],
) -> None:
    """A product of `sizes` (rows, columns, depth) for each index of `batch`; `store` gets each tile of sums once.

    Rows and columns are cut into tiles of `schedule.tile` and smaller ones for what is left. `factors` of a place
    gives the factors of each reduction step there.
    """
    if len(schedule.tile) != 2:
        raise NotTileable("a product needs a tile of rows and columns")
    rows, columns, depth = sizes
    height, width = schedule.tile
    wide = width * schedule.lanes

    def tile_at(outer: list[Scalar], row: Scalar, size: int, panel: Scalar, valid: int) -> None:
        partial = valid if valid % schedule.lanes else None
        tile = Tile((size, ceil_div(valid, schedule.lanes), schedule.lanes), partial)
        column = tile.index(b, panel * wide, {-2: schedule.lanes, -1: 1})
        place = Place(outer, tile, row, tile.index(b, row, {0: 1}), panel, column)
        store(place, accumulate(b, schedule, dtype, tile, depth, factors(place)))

    row_parts, column_parts = list(segments(rows, height)), list(segments(columns, wide))

    def at(outer: list[Scalar], r: Segment, row: Scalar, c: Segment, panel: Scalar) -> None:
        tile_at(outer, row * r.size + r.start, r.size, panel + c.start // wide, c.size)

    def over(parts: Sequence[Segment], body: Callable[[Segment, Scalar], None]) -> None:
        for part in parts:
            b.each(0, part.count, 1, lambda position, part=part: body(part, position))

    def by_columns(index: list[Scalar], c: Segment) -> None:
        over(row_parts, lambda r, row: at(index[:-1], r, row, c, index[-1]))

    def by_rows(index: list[Scalar], r: Segment) -> None:
        over(column_parts, lambda c, panel: at(index[:-1], r, index[-1], c, panel))

    parts, nest = (column_parts, by_columns) if schedule.order == "columns" else (row_parts, by_rows)
    for part in parts:
        b.for_each([*batch, part.count], lambda index, part=part: nest(index, part))


def stacked_products(
    b: TileBuilder,
    schedule: Schedule,
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
    if len(schedule.tile) != 2:
        raise NotTileable("a product needs a tile of rows and columns")
    count, rows, registers, depth = sizes
    height, width = schedule.tile

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
                b.each(r.start, stop, r.size, at)
            else:
                b.each_in_order(r.start, b.min(present, stop), r.size, at)

    def at(index: list[Scalar]) -> None:
        for c in segments(registers, width):
            stop = c.start + c.count * c.size
            b.each(c.start, stop, c.size, lambda column, c=c: over_rows(index[0], column, c.size))

    b.for_each([count], at)


def ask_for_next(
    b: TileBuilder,
    schedule: Schedule,
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
    share = ceil_div(columns * schedule.tile[0], rows)
    if not schedule.prefetch or share * width > 2 * LINE:
        return
    start = first * (depth * columns // rows) + k * share
    for offset in range(0, share, max(LINE // width, 1)):
        b.prefetch(read, [*following, b.index(0), start + offset])
