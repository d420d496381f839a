"""Convolution of 8-bit integers whose steps are in pairs: the loop nest of `graph.paired_dot_conv`.

A register tile is some neighbouring positions along the last axis times one vector of output channels, a panel. Each
panel has an order of its steps: first the pairs of both kinds, whose numbers a table has, then steps that are alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from aotc.dialects import aot
from aotc.dialects.builder import INDEX, Scalar
from aotc.dialects.dtypes import is_unsigned
from aotc.dialects.graph.interfaces import shape_of
from aotc.dialects.graph.packed.integers.dot_products import GROUP
from aotc.dialects.graph.packed.integers.paired_steps import PairedDotConvOp
from aotc.dialects.graph.schedules import PairedSchedule
from aotc.dialects.graph.shapes import segments
from aotc.passes.kernel.builders.tiles import NotVectorizable, Tile
from aotc.passes.kernel.nest import Nest


@dataclass(frozen=True)
class PairedDotNest(Nest[PairedDotConvOp, PairedSchedule]):
    """The nest over all positions; every one is written once."""

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
