"""The loops of `strassen_matmul` on register tiles: a block of rows after the other, in three stages.

    for each matrix, block of rows:
      for each row of half the block:      seven sums of the operand's quarters into `sums`
      for each panel of the weight:
        for each of the seven, tile of registers:   a product of matrices into `products`
        for each row of half the block:             sums of the products, written to the four quarters of the result

The weight is read once for each block, in the order of memory. Parts of the blocks, and of the panels, have buffers of
their own and may be computed at the same time.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from xdsl.ir import Attribute

from aotc.dialects.builder import Scalar, linear_combinations
from aotc.dialects.graph.interfaces import element_type_of
from aotc.dialects.graph.packed.products import strassen_matmul
from aotc.dialects.graph.schedules import MatmulSchedule
from aotc.dialects.graph.shapes import ceil_div, segments
from aotc.mathematics.linear_combinations import terms
from aotc.passes.kernel.builders.tiles import NotVectorizable, Tile
from aotc.passes.kernel.nest import Nest
from aotc.passes.kernel.nests.products.matmul_nest import Share, batched_matmul, for_common, in_part, share_of

REGISTERS = 4
"""Registers of results that are computed at a time."""
SUMMED = 2
"""Registers of a row that are summed at a time."""


@dataclass(frozen=True)
class StrassenNest(Nest[strassen_matmul.StrassenMatMulOp, MatmulSchedule]):
    """The loops of one `strassen_matmul`; its scratch buffers are sums, then products."""

    first: Scalar
    """In the scratch buffers the first of the seven products of the part that is being written."""

    @cached_property
    def sizes(self) -> strassen_matmul.StrassenSizes:
        """Those of the operation."""
        return self.op.sizes

    @property
    def kind(self) -> Attribute:
        """The values that are computed with."""
        return element_type_of(self.op.weight)

    def emit(self) -> None:
        b, sizes = self.b, self.sizes
        if sizes.left % self.lanes or sizes.width % self.lanes:
            raise NotVectorizable("halves and panels are not multiples of a vector register")

        def part(index: list[Scalar]) -> None:
            row, panel = index
            within = replace(self, first=(row * sizes.panel_parts + panel) * strassen_matmul.PRODUCTS)
            blocks = share_of(b, row, sizes.blocks, sizes.row_parts)
            panels = share_of(b, panel, sizes.panels, sizes.panel_parts)
            b.sequential_for(sizes.batch, lambda outer: within._matrix(outer, blocks, panels))

        b.parallel_for([sizes.row_parts, sizes.panel_parts], part)

    def _matrix(self, outer: list[Scalar], blocks: Share, panels: Share) -> None:
        """A share of the blocks in sequence: each overwrites the scratch buffers of the one before."""
        first = 0
        for part in segments(self.sizes.rows, self.sizes.block_rows):

            def block(number: Scalar, size: int = part.size) -> None:
                self._block(outer, number * self.sizes.block_rows, size, panels)

            for_common(self.b, blocks, first, first + part.count, block)
            first += part.count

    def _block(self, outer: list[Scalar], start: Scalar, size: int, share: Share) -> None:
        """A share of the panels of `size` rows from `start` on.

        If `size` is odd, the last row of the upper half has none below it.
        """
        b, sizes, half = self.b, self.sizes, ceil_div(size, 2)
        paired = size - half
        b.parallel_for([paired], lambda at: self._sum_row(outer, at[0], [start + at[0], start + half + at[0]]))
        if paired < half:
            self._sum_row(outer, b.index(paired), [start + paired])

        def panel(number: Scalar, columns: int, present: Sequence[int]) -> None:
            self._multiply(number, half, columns // self.lanes)
            self._store_panel(outer, start, number * sizes.width, present, half, paired)

        self._panels(share, panel)

    def _panels(self, share: Share, panel: Callable[[Scalar, int, Sequence[int]], None]) -> None:
        """`panel(number, columns, present)` for the panels of a share: the columns of the panel, and how many columns
        of the result are there, for each half of that."""
        b, sizes = self.b, self.sizes
        right = sizes.columns - sizes.left
        whole = max(right, 0) // sizes.width  # panels of which both halves of the result have all columns
        for part in segments(sizes.left, sizes.width):
            first = part.start // sizes.width
            last = first + part.count
            alike = min(max(whole, first), last)

            def at(number: Scalar, size: int = part.size) -> None:
                panel(number, size, [size, size])

            for_common(b, share, first, alike, at)
            for number in range(alike, last):
                column = number * sizes.width
                present = [min(part.size, max(end - column, 0)) for end in (sizes.columns, right)]

                def single(number: Scalar, size: int = part.size, present: Sequence[int] = present) -> None:
                    panel(number, size, present)

                for_common(b, share, number, number + 1, single)

    # The operand

    def _sum_row(self, outer: list[Scalar], row: Scalar, sources: Sequence[Scalar]) -> None:
        """The sums of row `row` of the quarters: rows `sources` of the operand, the lower of which may be missing."""
        b, sizes, wide = self.b, self.sizes, SUMMED * self.lanes
        halves = (sizes.upper, sizes.depth - sizes.upper)

        def sum_at(column: Scalar, count: int, present: Sequence[int]) -> None:
            tile = Tile((1, count, self.lanes))
            quarters = [
                self._elements(outer, source, column + side * sizes.upper, count, present[side])
                for source in (*sources, None)[:2]
                for side in (0, 1)
            ]
            across = tile.index(b, column, {1: self.lanes, 2: 1})
            for product, factors in enumerate(strassen_matmul.LEFT_SUMS):
                self.writes[1]([self.first + product, row, across], linear_combinations(b)(terms(factors, quarters)))

        whole = halves[1] // wide * wide
        b.sequential_range(0, whole // wide, 1, lambda number: sum_at(number * wide, SUMMED, [wide, wide]))
        if tail := halves[0] - whole:
            sum_at(b.index(whole), ceil_div(tail, self.lanes), [tail, halves[1] - whole])

    def _elements(
        self, outer: list[Scalar], row: Scalar | None, column: Scalar, registers: int, present: int
    ) -> Scalar:
        """Registers with `present` elements of a row from `column` on, then zeros."""
        b = self.b
        zeros = b.splat(0, Tile((1, registers, self.lanes)), self.kind)
        if row is None or present == 0:
            return zeros
        tile = Tile.of(1, present, self.lanes)
        part = self.reads[0]([*outer, row, tile.index(b, column, {1: self.lanes, 2: 1})])
        return b.replace(part, zeros, [0, 0])

    # Matrix products

    def _multiply(self, panel: Scalar, rows: int, registers: int) -> None:
        """The seven products of `rows` rows with the first `registers` of a panel of the weight."""
        sizes, operands = (
            (strassen_matmul.PRODUCTS, rows, registers, self.sizes.upper),
            (in_part(self.reads[2], self.first), self.reads[1], self.sizes.width),
        )
        write = in_part(self.writes[2], self.first)
        batched_matmul(self.b, self.schedule, self.kind, panel, sizes, *operands, write)

    # The result

    def _store_panel(
        self, outer: list[Scalar], start: Scalar, column: Scalar, present: Sequence[int], half: int, paired: int
    ) -> None:
        """`present` columns from `column` on, of both halves, for the rows from `start` on."""
        b, sizes = self.b, self.sizes
        height = max(REGISTERS * self.lanes // max(*present, 1), 1)

        def rows(first: Scalar, count: int, quarters: Sequence[int]) -> None:
            for quarter in quarters:
                down, side = divmod(quarter, 2)
                if present[side] == 0:
                    continue
                tile = Tile.of(count, present[side], self.lanes)
                across = tile.index(b, 0, {1: self.lanes, 2: 1})
                found = [
                    self.reads[3]([self.first + product, tile.index(b, first, {0: 1}), across])
                    if factor
                    else b.const(0, self.kind)
                    for product, factor in enumerate(strassen_matmul.RESULT_SUMS[quarter])
                ]
                place = tile.index(b, start + first + down * half, {0: 1})
                value = linear_combinations(b)(terms(strassen_matmul.RESULT_SUMS[quarter], found))
                self.write([*outer, place, across + (column + side * sizes.left)], value)

        for part in segments(paired, height):

            def at(index: list[Scalar], size: int = part.size, first: int = part.start) -> None:
                rows(index[0] * size + first, size, (0, 1, 2, 3))

            b.parallel_for([part.count], at)
        if paired < half:
            rows(b.index(paired), 1, (0, 1))
