"""Matrix products on register tiles: the loop nest of every contraction without a window.

A register tile of MR rows x NR vectors accumulates the reduction: each step adds the outer product of the rows'
elements, each broadcast along the lanes, and NR vectors of a panel of the right matrix. The reduction is not
interrupted, or is done in blocks of KC steps, between which the sums are kept in a scratch buffer (Goto and van de
Geijn, doi:10.1145/1356052.1356053).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, TypeVar

from xdsl.ir import Attribute

from aotc.dialects.builder import Reader, Scalar, Writer
from aotc.dialects.dtypes import byte_width
from aotc.dialects.graph.schedules import FewBitsSchedule, MatmulSchedule
from aotc.dialects.graph.shapes import CACHE_LINE, Segment, ceil_div, segments
from aotc.passes.kernel.builders.tile_builder import TileBuilder
from aotc.passes.kernel.builders.tiles import Tile
from aotc.passes.kernel.nest import Nest

SUMS = 8
"""Accumulators of a small tile that take turns, so that a multiply-add need not wait for the one before: no machine of
the table needs more."""

AHEAD = 16 << 10
"""Bytes between what is prefetched of a weight and what is used: several times what memory brings while one
cache line comes, and little enough to stay in L1 until then."""


@dataclass(frozen=True)
class Place:
    """The place of a register tile: batch index, rows and columns as tile indices, and the panel of the columns."""

    outer: list[Scalar]
    tile: Tile
    first: Scalar
    """The first row."""
    row: Scalar
    panel: Scalar
    column: Scalar


StepFactors: TypeAlias = Callable[[Scalar], tuple[Scalar, Scalar]]
"""The two factors of a reduction step."""

Beside: TypeAlias = Callable[[Scalar, int], None]
"""Work beside a reduction step, of which the place in its iteration is known."""


@dataclass(frozen=True)
class Block:
    """A block of reduction steps: `size` from `start` on."""

    start: Scalar
    size: int
    is_first: Scalar | bool
    """Whether no block comes before; a run-time value where one loop runs over the first block and others."""
    is_last: bool


def for_blocks(b: TileBuilder, depth: int, size: int, body: Callable[[Block], None]) -> None:
    """`body` for 0..depth in blocks of `size`, in order; the last one, which may be smaller, is peeled off the loop."""
    before = (depth - 1) // size

    def at(number: Scalar) -> None:
        body(Block(number * size, size, b.compare("eq", number, 0) if before > 1 else True, is_last=False))

    b.sequential_range(0, before, 1, at)
    body(Block(b.index(before * size), depth - before * size, is_first=before == 0, is_last=True))


@dataclass(frozen=True)
class PartialSums:
    """The scratch buffer that keeps the sums of a panel between two blocks of a reduction."""

    read: Reader
    write: Writer

    @staticmethod
    def of(nest: Nest[Any, Any]) -> PartialSums | None:
        """That of a nest, the last of its scratch buffers; None where there is none."""
        return PartialSums(nest.reads[-1], nest.writes[-1]) if nest.op.scratch() else None

    def loaded(self, b: TileBuilder, block: Block, at: Sequence[Scalar], initial: Callable[[], Scalar]) -> Scalar:
        """The sums of the blocks before `block`; `initial` where there are none."""
        if isinstance(block.is_first, bool):
            return initial() if block.is_first else self.read(at)
        return b.when(block.is_first, lambda: [initial()], lambda: [self.read(at)])[0]

    def added(self, b: TileBuilder, block: Block, at: Sequence[Scalar], total: Scalar) -> Scalar:
        """`total`, the sum of `block`, plus the sums of the blocks before."""
        if isinstance(block.is_first, bool):
            return total if block.is_first else b.add(self.read(at), total)
        return b.when(block.is_first, lambda: [total], lambda: [b.add(self.read(at), total)])[0]


@dataclass(frozen=True)
class Products:
    """How factors are multiplied and added to sums: one product a lane, or the dot product of a group of neighbours."""

    group: int = 1
    """Steps of the reduction that one multiplication does: neighbouring elements, along the lanes of both factors."""
    narrow_pairs: bool = False
    complement: bool = False
    """Of groups of 8-bit integers, see `aot.tile_dot`."""

    def steps(self, depth: int) -> int:
        """Multiplications for a reduction of `depth`."""
        return ceil_div(depth, self.group)

    def tile(self, tile: Tile, present: int | None = None) -> Tile:
        """The tile of factors for a tile of sums."""
        if self.group == 1:
            return tile
        *outer, lanes = tile.shape
        valid = None if tile.valid is None else tile.valid * self.group
        return Tile((*outer, lanes * self.group), valid, self.group, present)

    def add(self, b: TileBuilder, x: Scalar, y: Scalar, sums: Scalar) -> Scalar:
        """`sums` plus the products."""
        if self.group == 1:
            return b.fma(x, y, sums)
        return b.dot(x, y, sums, narrow_pairs=self.narrow_pairs, complement=self.complement)


PLAIN = Products()
"""One product a lane."""


def reduction(
    b: TileBuilder,
    unroll: int,
    depth: int,
    sums: list[Scalar],
    factors: StepFactors,
    products: Products = PLAIN,
    beside: Beside | None = None,
) -> list[Scalar]:
    """`sums` plus the products of `factors(k)` for k in 0..depth, which are added to each in turn."""
    step = max(unroll, len(sums))
    whole = depth - depth % step

    def body(k: Scalar, sums: list[Scalar], steps: int = step) -> list[Scalar]:
        for offset in range(steps):
            at = b.add(k, b.index(offset))
            if beside is not None:
                beside(at, offset)
            x, y = factors(at)
            sums[offset % len(sums)] = products.add(b, x, y, sums[offset % len(sums)])
        return sums

    sums = b.loop(0, whole, step, sums, body)
    return body(b.index(whole), sums, depth - whole)


def accumulate(
    b: TileBuilder,
    schedule: MatmulSchedule | FewBitsSchedule,
    dtype: Attribute,
    tile: Tile,
    depth: int,
    factors: StepFactors,
    products: Products = PLAIN,
    beside: Beside | None = None,
) -> Scalar:
    """The sum of the products of `factors(k)` for k in 0..depth, as a register tile.

    A small tile gets several accumulators, so that an addition need not wait for the one before.
    """
    sums = [b.splat(0, tile, dtype)] * chains_of(tile, depth)
    return sum_of(b, reduction(b, schedule.unroll, depth, sums, factors, products, beside))


def chains_of(tile: Tile, depth: int) -> int:
    """How many accumulators take turns in a reduction of `depth`."""
    return min(ceil_div(SUMS, tile.shape[0] * tile.shape[1]), depth)


def sum_of(b: TileBuilder, sums: list[Scalar]) -> Scalar:
    """The sum of accumulators, two by two."""
    while len(sums) > 1:
        half = ceil_div(len(sums), 2)
        sums = [b.add(*sums[i::half]) if i + half < len(sums) else sums[i] for i in range(half)]
    return sums[0]


@dataclass(frozen=True)
class MatmulNest:
    """A product of `sizes` for each index of `batch`, on register tiles of MR x NR, smaller at the tails.

    With `partials` the reduction of a panel is done in blocks of KC steps, each of them for all rows:

        for each panel:  for each KC steps:  for each MR rows:  a register tile
    """

    b: TileBuilder
    schedule: MatmulSchedule
    dtype: Attribute
    batch: Sequence[int]
    sizes: Sequence[int]
    """M, N and K."""
    factors: Callable[[Place], StepFactors]
    """The factors of each reduction step at a place."""
    store: Callable[[Place, Scalar], None]
    """Stores a tile of sums; called once for each."""
    products: Products = PLAIN
    partials: PartialSums | None = None
    """Indexed by row, and by column of the panel."""
    beside: Callable[[Place], Beside | None] | None = None
    """Work beside the steps at a place."""

    def emit(self) -> None:
        """Emit the nest; every position is written once."""
        b, batch = self.b, self.batch
        rows, columns, _ = self.sizes
        row_parts, panels = list(segments(rows, self.schedule.mr)), list(segments(columns, self._panel_width))
        if self.partials is not None:
            for c in panels:
                b.sequential_for([*batch, c.count], lambda index, c=c: self._panel_in_blocks(index, row_parts, c))
        elif self.schedule.order == "columns":
            for c in panels:
                b.parallel_for([*batch, c.count], lambda index, c=c: self._panel(index, row_parts, c))
        else:
            for r in row_parts:
                b.parallel_for([*batch, r.count], lambda index, r=r: self._rows(index, r, panels))

    @property
    def _panel_width(self) -> int:
        return self.schedule.nr * self.schedule.lanes

    def _rows(self, index: list[Scalar], r: Segment, panels: Sequence[Segment]) -> None:
        """All panels, for MR rows."""
        *outer, row = index
        for c in panels:
            self.b.parallel_range(0, c.count, 1, lambda panel, c=c: self._tile(outer, r, row, c, panel))

    def _panel(self, index: list[Scalar], row_parts: Sequence[Segment], c: Segment, block: Block | None = None) -> None:
        """All rows, for a panel; `block` of the reduction, or all of it."""
        *outer, panel = index
        for r in row_parts:
            self.b.parallel_range(0, r.count, 1, lambda row, r=r: self._tile(outer, r, row, c, panel, block))

    def _panel_in_blocks(self, index: list[Scalar], row_parts: Sequence[Segment], c: Segment) -> None:
        depth = self.sizes[2]
        for_blocks(self.b, depth, self.schedule.kc or depth, lambda block: self._panel(index, row_parts, c, block))

    def _tile(
        self, outer: list[Scalar], r: Segment, row: Scalar, c: Segment, panel: Scalar, block: Block | None = None
    ) -> None:
        b, lanes, wide = self.b, self.schedule.lanes, self._panel_width
        row, panel = row * r.size + r.start, panel + c.start // wide
        tile = Tile.of(r.size, c.size, lanes)
        column = tile.index(b, panel * wide, {-2: lanes, -1: 1})
        place = Place(outer, tile, row, tile.index(b, row, {0: 1}), panel, column)
        factors, beside = self.factors(place), None if self.beside is None else self.beside(place)
        if block is None:
            total = accumulate(b, self.schedule, self.dtype, tile, self.sizes[2], factors, self.products, beside)
            self.store(place, total)
            return
        assert self.partials is not None
        start = block.start
        moved = None if beside is None else lambda k, place: beside(start + k, place)
        total = accumulate(b, self.schedule, self.dtype, tile, block.size, lambda k: factors(start + k), beside=moved)
        at = [place.row, tile.index(b, 0, {-2: lanes, -1: 1})]
        total = self.partials.added(b, block, at, total)
        if block.is_last:
            self.store(place, total)
        else:
            self.partials.write(at, total)


def batched_matmul(
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
    products: Products = PLAIN,
) -> None:
    """A batched matmul of `sizes` (count, rows, registers, depth) with a panel of each of as many right matrices.

    `left` is read at product, row, k; `weight` at panel, product, k, column, of the `panel_width` columns of a panel as
    many as `registers` have. `write` gets the results at product, row, column. No more than `present` rows are needed.
    With `products` of groups, `weight` has rows of such groups: it is read at panel, product, step, place in the row.
    """
    count, rows, registers, depth = sizes
    steps, group = products.steps(depth), products.group

    def product(number: Scalar, row: Scalar, mr: int, column: Scalar, nr: int) -> None:
        tile = Tile((mr, nr, schedule.lanes))
        wide, lanes = products.tile(tile), schedule.lanes * group
        place, element = wide.index(b, column * lanes, {1: lanes, 2: 1}), wide.index(b, row, {0: 1})

        def prefetch(k: Scalar, in_turn: int) -> None:
            share, shape = (rows, byte_width(dtype) // group), (steps, panel_width * group)
            prefetch_panel(b, schedule, weight, [panel, number + 1], row, share, shape, (k, in_turn))

        def factors(k: Scalar) -> tuple[Scalar, Scalar]:
            return left([number, element, k * group]), weight([panel, number, k, place])

        across = tile.index(b, column * schedule.lanes, {1: schedule.lanes, 2: 1})
        total = accumulate(b, schedule, dtype, tile, steps, factors, products, prefetch)
        write([number, tile.index(b, row, {0: 1}), across], total)

    def over_rows(number: Scalar, column: Scalar, nr: int) -> None:
        def at(row: Scalar, mr: int) -> None:
            product(number, row, mr, column, nr)

        if present is None:
            b.parallel_segments(rows, schedule.mr, at)
            return
        for r in segments(rows, schedule.mr):
            b.sequential_range(r.start, b.min(present, r.stop), r.size, lambda row, r=r: at(row, r.size))

    def panels(index: list[Scalar]) -> None:
        b.parallel_segments(registers, schedule.nr, partial(over_rows, index[0]))

    b.parallel_for([count], panels)


def prefetch_panel(
    b: TileBuilder,
    schedule: MatmulSchedule,
    read: Reader,
    following: Sequence[Scalar],
    first: Scalar,
    sizes: tuple[int, int],
    shape: Sequence[int],
    step: tuple[Scalar, int],
) -> None:
    """At a step of a tile of rows from `first` on, prefetch some of the next panel, where the schedule says so.

    `read` with the indices `following` is that panel, of `shape` (depth, columns); `sizes` are the rows that are
    multiplied with this one and the bytes of an element. Each row of tiles prefetches its share of it; so few rows that
    this were more than two cache lines a step, as in a spatial tile, do not. `step` is its index and its place in an
    iteration, which asks for a cache line once, however many steps share it.
    """
    (rows, element), (depth, columns), (k, in_turn) = sizes, shape, step
    share = ceil_div(columns * schedule.mr, rows)
    if not schedule.prefetch or share * element > 2 * CACHE_LINE:
        return
    start, together = first * (depth * columns // rows) + k * share, max(CACHE_LINE // element, 1)
    for offset in range(-in_turn * share % together, share, together):
        b.prefetch(read, [*following, b.index(0), start + offset])


def prefetch_ahead(
    b: TileBuilder, schedule: MatmulSchedule, read: Reader, panel: Sequence[Scalar], sizes: tuple[int, int], k: Scalar
) -> None:
    """At step `k` of the only tile of rows, prefetch what it reads `AHEAD` bytes later, where the schedule says so.

    `read` with the indices `panel` is its panel, behind which the next one lies; `sizes` are the columns of a panel and
    the bytes of an element.
    """
    columns, element = sizes
    if schedule.ahead:
        for offset in range(0, columns, max(CACHE_LINE // element, 1)):
            b.prefetch(read, [*panel, b.index(0), k * columns + (AHEAD // element + offset)])


T = TypeVar("T")


@dataclass(frozen=True)
class Share:
    """The share of 0..`count` that belongs to a part, as a half-open range; shares differ by one at most."""

    count: int
    low: Scalar
    high: Scalar
    size: int | None
    """None where not all shares are equal."""


def share_of(b: TileBuilder, number: Scalar, count: int, parts: int) -> Share:
    """The share of part `number` of `parts`."""
    size = None if count % parts else count // parts
    if size is None:
        return Share(count, number * count / parts, (number + 1) * count / parts, size)
    return Share(count, number * size, (number + 1) * size, size)


def for_common(b: TileBuilder, share: Share, low: int, high: int, body: Callable[[Scalar], None]) -> None:
    """`body` for what a share and the range `low`..`high` have in common, in order."""
    if share.size is not None and (low, high) == (0, share.count):
        b.sequential_range(0, share.size, 1, lambda place: body(share.low + place))
    elif low < high:
        b.sequential_range(b.max(share.low, low), b.min(share.high, high), 1, body)


def in_part(access: Callable[..., T], first: Scalar) -> Callable[..., T]:
    """A reader or writer of the part of a buffer that begins at `first` along its first axis."""
    return lambda index, *value: access([index[0] + first, *index[1:]], *value)
