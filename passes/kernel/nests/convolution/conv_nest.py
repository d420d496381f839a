"""Direct convolution on blocked tensors: the loop nest of convolution and of transposed convolution.

A register tile is some neighbouring positions along the last axis times some blocks of output channels. For each tap
and input channel it adds the elements at these positions, each broadcast along the lanes, times registers of the packed
weight. Tiles at the ends of a row leave out the registers for which a tap lies in the padding (`edges`); along the
other axes the bounds of the loops over taps do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

from xdsl.ir import Attribute

from aotc.dialects import aot
from aotc.dialects.builder import INDEX, Reader, Scalar
from aotc.dialects.dtypes import byte_width, is_unsigned
from aotc.dialects.graph.interfaces import shape_of
from aotc.dialects.graph.packed.channels import GroupedPanels
from aotc.dialects.graph.packed.convolution.blocked_conv import BlockedConvolutionOp, PanelBlockBody
from aotc.dialects.graph.packed.integers.dot_products import GROUP
from aotc.dialects.graph.packed.integers.paired_steps import PairedDotConvOp
from aotc.dialects.graph.schedules import MatmulSchedule, PairedSchedule
from aotc.dialects.graph.shapes import Segment, linearize, segments
from aotc.dialects.graph.windows.sliding import Edges, Residues
from aotc.passes.kernel.builders.tiles import NotVectorizable, Tile
from aotc.passes.kernel.nest import Nest
from aotc.passes.kernel.nests.convolution.row_tiles import RowTiles, row_tiles, starting_tile
from aotc.passes.kernel.nests.products import matmul_nest
from aotc.passes.kernel.nests.products.matmul_nest import Block, PartialSums, Products

OverBlocks: TypeAlias = Callable[[Scalar, list[Scalar], PanelBlockBody], list[Scalar]]
"""Loops over the blocks of x that a panel reads, carrying values."""


@dataclass(frozen=True)
class ConvNest(Nest[BlockedConvolutionOp, MatmulSchedule]):
    """The nest over all positions of a blocked result [N, blocks, spatial.., lanes]."""

    dtype: Attribute
    """Of the weight."""
    products: Products = matmul_nest.PLAIN
    edges: Sequence[Edges] | None = None
    """Where sums start with a row of a table for each set of taps inside of x, these sets along each axis: the bias is
    read at one index for each axis, and at a channel."""
    over_some: OverBlocks | None = None
    """Loops over some of the blocks that a panel reads; None: over all."""
    band: tuple[Scalar, int] | None = None
    """The first row, along the first spatial axis, for which panels are read, and how many there are; None: all."""

    @cached_property
    def panels(self) -> GroupedPanels:
        """The panels of the weight, and which blocks of x each reads."""
        return self.op.panels

    @property
    def panel(self) -> Sequence[int]:
        """The shape of a panel: blocks of x, taps, channels of a block, columns."""
        return shape_of(self.op.weight)[1:]

    @cached_property
    def residues(self) -> Sequence[Residues]:
        """The residues of the last axis."""
        return self.op.residues()[-1]

    @property
    def bias(self) -> Reader | None:
        """Reads the bias at a channel; None: sums start with 0."""
        return self.reader(self.op.bias)

    @property
    def partials(self) -> PartialSums | None:
        """Indexed by position, and by column of the panel, where the reduction is blocked; for one group only."""
        return PartialSums.of(self)

    def over_blocks(self, panel: Scalar, carried: list[Scalar], body: PanelBlockBody) -> list[Scalar]:
        """Loops over the blocks that a panel reads, or some of them."""
        if self.over_some is not None:
            return self.over_some(panel, carried, body)
        return self.op.over_blocks(self.b, panel, carried, body)

    def emit(self) -> None:
        """With `partials` a panel adds some blocks of x at a time, `schedule.kc` steps or one, at all positions."""
        b, panels, registers = self.b, self.panels.count, self.schedule.nr
        batches, blocks, *spatial, _ = self.shape
        tail = blocks - (panels - 1) * registers
        whole = panels if tail == registers else panels - 1

        def in_blocks(index: list[Scalar], start: int, count: int) -> None:
            batch, panel = index[0], index[1] + start
            _, *taps, depth, _ = self.panel
            most = max((self.schedule.kc or 1) // (math.prod(taps) * depth), 1)

            def add(some: Block) -> None:
                nest = replace(self, over_some=self._over_some(some))
                b.parallel_for(spatial[:-1], lambda outer: nest._row(batch, panel, count, outer, some))

            matmul_nest.for_blocks(b, self.panels.most, most, add)

        if self.partials is not None:
            b.sequential_for([batches, whole], lambda index: in_blocks(index, 0, registers))
            if whole < panels:
                b.sequential_for([batches, 1], lambda index: in_blocks(index, whole, tail))
            return

        def by_columns(band: Segment, start: int, count: int) -> None:
            def at(index: list[Scalar]) -> None:
                number, batch, panel = index
                first = number * band.size + band.start
                nest = replace(self, band=None if self.schedule.mc is None else (first, band.size))

                def row(outer: list[Scalar]) -> None:
                    here = [first + outer[0], *outer[1:]] if outer else outer
                    nest._row(batch, panel + start, count, here)

                b.parallel_for([band.size, *spatial[1:-1]] if len(spatial) > 1 else [], row)

            b.parallel_for([band.count, batches, whole if count == registers else 1], at)

        def by_rows(index: list[Scalar]) -> None:
            batch, *outer = index
            b.parallel_range(0, whole, 1, lambda panel: self._row(batch, panel, registers, outer))
            if whole < panels:
                self._row(batch, b.index(whole), tail, outer)

        if self.schedule.order == "columns":
            extent = spatial[0] if len(spatial) > 1 else 1
            for band in segments(extent, self.schedule.mc or extent):
                by_columns(band, 0, registers)
                if whole < panels:
                    by_columns(band, whole, tail)
        else:
            b.parallel_for([batches, *spatial[:-1]], by_rows)

    def _over_some(self, some: Block) -> OverBlocks:
        """Loops over the blocks of x in `some`; the very last block may have fewer channels."""
        depth, b = self.panels.depth, self.b
        tail = self.panels.last_depth if some.is_last and self.panels.last_depth < depth else None
        whole = some.size if tail is None else some.size - 1

        def over(panel: Scalar, carried: list[Scalar], body: PanelBlockBody) -> list[Scalar]:
            carried = b.loop(0, whole, 1, carried, lambda number, now: body(some.start + number, depth, now))
            return carried if tail is None else body(some.start + whole, tail, carried)

        return over

    def _row(self, batch: Scalar, panel: Scalar, count: int, outer: list[Scalar], some: Block | None = None) -> None:
        """All positions along the last axis, for `count` blocks of outputs; `some` is a block of the reduction."""

        def residue(j: Scalar, residues: Residues) -> None:
            for part in row_tiles(residues.window, self.schedule.mr):

                def body(row: Scalar, part: RowTiles = part) -> None:
                    _Tile(self, batch, panel, count, outer, residues, j, part, row, some).write()

                self.b.parallel_range(part.start, part.positions.stop, part.size, body)

        for residues in self.residues:
            self.b.parallel_range(0, residues.count, 1, lambda j, residues=residues: residue(j, residues))


@dataclass(frozen=True)
class _Tile:
    """A tile of results: in residue j of `residues`, the positions from `row` on, times `count` blocks of a panel."""

    nest: ConvNest
    batch: Scalar
    panel: Scalar
    count: int
    outer: list[Scalar]
    residues: Residues
    j: Scalar
    part: RowTiles
    row: Scalar
    some: Block | None
    """The block of the reduction to add to partial sums; None: all of it, added to the bias."""

    def write(self) -> None:
        """Accumulate, then write the results or the partial sums."""
        nest, b = self.nest, self.nest.b
        lanes, registers = nest.lanes, nest.schedule.nr
        tile = Tile((self.part.size, self.count, lanes))
        place = tile.index(b, self.panel * (registers * lanes), {1: lanes, 2: 1})

        def initial() -> Scalar:
            if nest.bias is None:
                return b.splat(0, tile, nest.dtype)
            return b.splat(nest.bias([place]), tile) if nest.edges is None else self._start(nest.bias, nest.edges, tile)

        def summed(start: Scalar) -> Scalar:
            first = nest.panels.first(self.panel)

            def add_block(at: Scalar, depth: int, sums: list[Scalar]) -> list[Scalar]:
                return [self._add_block(first, at, depth, sums[0])]

            return nest.over_blocks(self.panel, [start], add_block)[0]

        if self.some is None:
            total = summed(initial())
        else:
            partials = nest.partials
            assert partials is not None
            column = [*self.outer, self._position(tile), tile.index(b, 0, {1: lanes, 2: 1})]
            total = summed(partials.loaded(b, self.some, column, initial))
            if not self.some.is_last:
                partials.write(column, total)
                return
        block = tile.index(b, self.panel * registers, {1: 1})
        nest.write([self.batch, block, *self.outer, self._position(tile), tile.index(b, 0, {2: 1})], total)

    def _start(self, table: Reader, edges: Sequence[Edges], tile: Tile) -> Scalar:
        """First addends of sums, by the taps that each position sees."""
        lanes, width = tile.shape[-1], self.nest.schedule.nr * tile.shape[-1]

        def channels(some: Tile) -> Scalar:
            return some.index(self.nest.b, self.panel * width, {1: lanes, 2: 1})

        return starting_tile(self.nest.b, table, edges, self.outer, self.part.start, tile, channels)

    def _position(self, tile: Tile) -> Scalar:
        """The positions along the last axis."""
        start = self.row * self.residues.stride + (self.j + self.residues.start)
        return tile.index(self.nest.b, start, {0: self.residues.stride})

    def _add_block(self, first: Scalar, block: Scalar, depth: int, total: Scalar) -> Scalar:
        """Add one block of input channels: all taps along all spatial axes."""
        axes = self.nest.op.taps(self.nest.b, self.outer)

        def step(at: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
            hits = [axis.at(k) for axis, k in zip(axes, at, strict=True)]
            places, taps = [place for place, _ in hits], [tap for _, tap in hits]
            return [self._taps(first, block, places, taps, depth, carried[0])]

        return self.nest.b.reduce([(axis.low, axis.high) for axis in axes], [total], step)[0]

    def _prefetch(self, at: list[Scalar], in_turn: int) -> None:
        """At the step `at` (block, taps, channel) of the reduction, prefetch some of the next panel."""
        nest, b = self.nest, self.nest.b
        (*steps, columns), spatial = nest.panel, nest.shape[2:-1]
        if len(nest.residues) > 1:
            return
        outer = list(self.outer)
        if nest.band is not None:
            first_row, count = nest.band
            outer[0], spatial = outer[0] - first_row, [count, *spatial[1:]]
        following = [self.panel + 1, *(b.index(0) for _ in at[1:])]
        first, step = linearize(b, [*outer, self.row], spatial), linearize(b, at, steps)
        sizes, shape = (math.prod(spatial), byte_width(nest.dtype)), (math.prod(steps), columns)
        matmul_nest.prefetch_panel(b, nest.schedule, nest.reads[1], following, first, sizes, shape, (step, in_turn))

    def _taps(
        self, first: Scalar, block: Scalar, places: list[Scalar], taps: list[Scalar], depth: int, total: Scalar
    ) -> Scalar:
        """Add the taps along the last axis, where the position decides which of them read an element."""
        nest, b, group = self.nest, self.nest.b, self.nest.products.group
        for taps_of_rows in self.part.taps:
            size = taps_of_rows.last - taps_of_rows.first
            some = nest.products.tile(Tile((size, self.count, nest.lanes)))
            position = some.index(b, self.row + taps_of_rows.first, {0: 1})
            columns = some.index(b, 0, {1: some.shape[-1], 2: 1})

            def step(
                k: Scalar, carried: list[Scalar], position: Scalar = position, columns: Scalar = columns
            ) -> list[Scalar]:
                place = [*places, self.residues.window.source(position, k)]
                tap = k * self.residues.tap_stride + (self.j + self.residues.first_tap)

                def factors(inner: Scalar) -> tuple[Scalar, Scalar]:
                    x = nest.reads[0](nest.op.source(self.batch, first + block, place, inner * group))
                    return x, nest.reads[1]([self.panel, block, *taps, tap, inner, columns])

                def prefetch(inner: Scalar, in_turn: int) -> None:
                    self._prefetch([block, *taps, tap, inner], in_turn)

                unroll, steps = nest.schedule.unroll, nest.products.steps(depth)
                return matmul_nest.reduction(b, unroll, steps, carried, factors, nest.products, prefetch)

            part_total = b.slice(total, [taps_of_rows.first, 0], [size, self.count])
            (part_total,) = b.loop(taps_of_rows.low, taps_of_rows.high, 1, [part_total], step)
            total = b.replace(part_total, total, [taps_of_rows.first, 0])
        return total


@dataclass(frozen=True)
class PairedDotNest(Nest[PairedDotConvOp, PairedSchedule]):
    """The nest of 8-bit integers whose steps are in pairs.

    A register tile is some neighbouring positions along the last axis times one vector of output channels, a panel.
    Each panel has an order of its steps: first the pairs of both kinds, whose numbers a table has, then steps that are
    alone.
    """

    def emit(self) -> None:
        b = self.b
        batches, panels, *outer, row, lanes = self.shape
        if lanes != self.lanes:
            raise NotVectorizable("the panels do not fit the schedule")

        def one(batch: Scalar, panel: Scalar, before: list[Scalar]) -> None:
            for part in segments(row, self.schedule.mr):

                def tile(number: Scalar, start: int = part.start, size: int = part.size) -> None:
                    self._tile(batch, panel, before, number * size + start, size)

                b.parallel_range(0, part.count, 1, tile)

        def by_columns(index: list[Scalar]) -> None:
            batch, panel, *before = index
            one(batch, panel, before)

        def by_rows(index: list[Scalar]) -> None:
            batch, *before = index
            b.parallel_range(0, panels, 1, lambda panel: one(batch, panel, before))

        if self.schedule.order == "columns":
            b.parallel_for([batches, panels, *outer], by_columns)
        else:
            b.parallel_for([batches, *outer], by_rows)

    def _tile(self, batch: Scalar, panel: Scalar, before: list[Scalar], first: Scalar, size: int) -> None:
        """The positions from `first` on, `size` of them."""
        b, lanes = self.b, self.lanes
        steps = shape_of(self.op.weight)[1]
        tile = Tile((size, 1, lanes))
        plain, complemented = (b.cast(self.reads[3]([panel, b.index(kind)]), INDEX) for kind in range(2))
        sums = b.splat(self.reads[4]([tile.index(b, panel * lanes, {2: 1})]), tile)

        def factors(step: Scalar) -> tuple[Scalar, Scalar]:
            return self._factors(batch, panel, before, first, size, step)

        def pair(number: Scalar, carried: list[Scalar], *, complement: bool) -> list[Scalar]:
            (x, w), (y, v) = factors(number * 2), factors(number * 2 + 1)
            unsigned = is_unsigned(x.dtype)
            op = aot.TileDotPairOp(
                [x.ssa, w.ssa, y.ssa, v.ssa], carried[0].ssa, unsigned=unsigned, complement=complement
            )
            return [Scalar(b, carried[0].dtype, b.emit(op))]

        def alone(number: Scalar, carried: list[Scalar]) -> list[Scalar]:
            return [b.dot(*factors(number), carried[0], complement=True)]

        pairs = plain + complemented
        if self.op.is_unsigned:
            (sums,) = b.loop(0, plain, 1, [sums], lambda number, now: pair(number, now, complement=False))
        (sums,) = b.loop(plain, pairs, 1, [sums], lambda number, now: pair(number, now, complement=True))
        (sums,) = b.loop(pairs * 2, steps, 1, [sums], alone)
        position = tile.index(b, first, {0: 1})
        self.write([batch, panel, *before, position, tile.index(b, 0, {2: 1})], sums)

    def _factors(
        self, batch: Scalar, panel: Scalar, before: list[Scalar], first: Scalar, size: int, step: Scalar
    ) -> tuple[Scalar, Scalar]:
        """The elements of a step, and its weights."""
        b, wide = self.b, Tile((size, 1, self.lanes * GROUP), None, GROUP)
        place = b.cast(self.reads[2]([panel, step]), INDEX)
        position = wide.index(b, first, {0: 1})
        x = self.reads[0](self.op.source(batch, [*before, position], place))
        return x, self.reads[1]([panel, step, wide.index(b, 0, {2: 1})])
