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
from aotc.dialects.graph.builder import Reader, Scalar, Writer
from aotc.dialects.graph.interfaces import AnchorOp, shape_of
from aotc.dialects.graph.schedules import MatmulSchedule, Order
from aotc.dialects.graph.shapes import ceil_div
from aotc.machines.machine import Machine
from aotc.passes.kernel.builders.tile_builder import Tile, TileBuilder
from aotc.passes.kernel.costs.register_tiles import LATENCY, MULTIPLIERS, Segment, register_tile, segments
from aotc.passes.kernel.spatial_tiling import Box, SpatialTiling, TiledImplementation, whole

LINE = 64
"""Bytes of a line of a cache."""
UNROLL = 2
"""Reduction steps in one iteration: enough to hide the loop, few enough that nothing is spilled."""


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


MOST_LINES = 1.2
"""That are asked for in a reduction step. Measured, everything out of the caches, lines -> times as fast:
128 x 768 x 3072 0.2 -> 1.06, 32 x 768 x 3072 0.8 -> 1.14, 16 x 768 x 768 1.5 -> 0.89; Winograd, 128 -> 32 channels,
14 x 14 1.0 -> 1.6, 128 -> 128, 28 x 28 1.1 -> 1.04, 256 -> 256, 14 x 14 1.5 -> 0.95."""


def product_schedule(
    machine: Machine, dtype: Attribute, rows: int, columns: int, depth: int, *, streamed: bool = False
) -> MatmulSchedule | None:
    """The schedule of a [rows, depth] x [depth, columns] product; None where the type is not computed in vectors.

    `streamed` says that the right matrix is packed, and comes from memory as weights do.
    """
    lanes = machine.lanes_of_products(dtype)
    if lanes == 1 or 0 in (rows, columns, depth):
        return None
    registers = ceil_div(columns, lanes)
    tile = register_tile(machine, rows, registers, depth)
    matrix = depth * registers * machine.vector_bytes
    order = panel_order(machine, ceil_div(registers, tile[1]), matrix, rows * depth * byte_width(dtype))
    prefetch = streamed and order == "columns" and asks_for_next(machine, rows, tile)
    return MatmulSchedule(lanes, *tile, UNROLL, order, prefetch)


def asks_for_next(machine: Machine, rows: int, tile: tuple[int, int]) -> bool:
    """Whether it pays to ask for the next panel, which comes from memory, while `rows` are multiplied with one."""
    height, width = tile
    return width * machine.vector_bytes * height <= MOST_LINES * LINE * rows


def stacked_schedule(machine: Machine, lanes: int, sizes: tuple[int, int, int, int], panels: int = 1) -> MatmulSchedule:
    """The schedule of `stacked_products` of `sizes`, with one of `panels` alike, which lie one after the other."""
    count, rows, registers, depth = sizes
    tile = register_tile(machine, rows, registers, depth)
    far = panels * count * registers * depth * machine.vector_bytes > machine.l2 // 2
    return MatmulSchedule(lanes, *tile, UNROLL, "columns", far and asks_for_next(machine, rows, tile))


def panel_order(machine: Machine, panels: int, matrix: int, rows: int) -> Order:
    """Panel by panel where the matrix, of so many bytes, does not stay in the cache from one row of tiles to the next.

    It does not stay in the first one, while all `rows` bytes of the other operand do stay in the second one, or not
    even in that.
    """
    near = machine.l1 // 2 if rows <= machine.l2 // 2 else machine.l2 // 2
    return "columns" if panels > 1 and matrix > near else "rows"


def tiled_product(op: AnchorOp, box: Box, transposed: bool, matrix_rank: int) -> TiledImplementation | None:
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
    return TiledImplementation(op, ((*batches(shape_of(lhs)[:-2]), *of_lhs), (*batches(outer), *matrix)))


def product_tiling(op: AnchorOp, schedule: MatmulSchedule) -> SpatialTiling:
    """Rows of a product [.., M, N], one batch at a time."""
    rank = len(shape_of(op.results[0]))
    return SpatialTiling(range(rank - 2), rank - 2, schedule.mr)


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
    """The sum of the products of `factors(k)` for k in 0..depth, as a tile.

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
) -> None:
    """A product of `sizes` (rows, columns, depth) for each index of `batch`; `store` gets each tile of sums once.

    Rows and columns are cut into tiles of `schedule.mr` x `schedule.nr` registers, and smaller ones at the tails.
    `factors` of a place gives the factors of each reduction step there.
    """
    rows, columns, depth = sizes
    height, width = schedule.mr, schedule.nr
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
            b.parallel_range(0, part.count, 1, lambda position, part=part: body(part, position))

    def by_columns(index: list[Scalar], c: Segment) -> None:
        over(row_parts, lambda r, row: at(index[:-1], r, row, c, index[-1]))

    def by_rows(index: list[Scalar], r: Segment) -> None:
        over(column_parts, lambda c, panel: at(index[:-1], r, index[-1], c, panel))

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
