"""Products with matrices of integers of few bits, packed in words: unpacked in registers, or a panel at a time.

In registers, for a few rows: integers q are multiplied as they are, and what a block of them adds up to is scaled,

    sum of x * (q - z) * s = s * (sum of x * q - z * sum of x),

so that a register takes a shift, a mask, a conversion and a multiply-add for each step. For many rows:

    for each panel:  for each KC steps:  the panel as f32 in a scratch buffer;  for each MR rows:  a register tile
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects.builtin import f32

from aotc.dialects.builder import Reader, Scalar, Writer
from aotc.dialects.graph.interfaces import shape_of
from aotc.dialects.graph.packed.products.packed_matmul import FewBitsMatMulOp
from aotc.dialects.graph.schedules import FewBitsSchedule
from aotc.dialects.graph.shapes import Segment, ceil_div, linearize, segments
from aotc.passes.kernel.builders.tiles import NotVectorizable, Tile
from aotc.passes.kernel.nest import Nest
from aotc.passes.kernel.nests.products.matmul_nest import Block, PartialSums, accumulate, for_blocks


def row_axis(extents: Sequence[int]) -> int:
    """The axis along which rows are neighbours: the last one of several."""
    return max((axis for axis, extent in enumerate(extents) if extent > 1), default=len(extents) - 1)


@dataclass(frozen=True)
class FewBitsNest(Nest[FewBitsMatMulOp, FewBitsSchedule]):
    """The product of rows with a packed matrix.

    Rows of a register tile are neighbours along the last axis of several, `row_axis`. Words, scales and zero points
    are read at panel, word or block, and column of the panel.
    """

    @cached_property
    def extents(self) -> Sequence[int]:
        """How many rows there are along each axis."""
        return self.shape[:-1]

    @cached_property
    def sizes(self) -> tuple[int, int]:
        """N and K."""
        _, _, *sizes = self.op.sizes()
        return sizes[0], sizes[1]

    def _elements(self, words: Scalar) -> list[Scalar]:
        """The elements of words, in order, as f32."""
        b, bits = self.b, self.op.bits
        fields = [b.shift_right(words, b.const(place * bits, words.dtype)) for place in range(1, self.op.count)]
        return [b.cast(field & (2**bits - 1), f32) for field in (words, *fields)]

    def _zero_point(self, place: Sequence[Scalar], tile: Tile) -> Scalar | None:
        """The zero points at a place of the scales, as f32; None where all are 0."""
        b, point, points = self.b, self.op.point, self.reader(self.op.points)
        found = b.splat(point, tile, f32) if point else None
        if points is None:
            return found
        more = b.cast(b.splat(points(place), tile), f32)
        return more if found is None else more + found

    @property
    def _wide(self) -> int:
        return self.schedule.nr * self.lanes

    @property
    def _outer(self) -> list[int]:
        """The extents along the other axes."""
        axis = row_axis(self.extents)
        return [*self.extents[:axis], *self.extents[axis + 1 :]]

    def _for_tiles(self, body: Callable[[list[Scalar], Segment, Scalar], None]) -> None:
        """`body` for the rows of each register tile: the index along the other axes, how many, and the first one."""

        def at(outer: list[Scalar]) -> None:
            for r in segments(self.extents[row_axis(self.extents)], self.schedule.mr):
                self.b.parallel_range(0, r.count, 1, lambda row, r=r: body(outer, r, row * r.size + r.start))

        self.b.parallel_for(self._outer, at)

    def _index(self, outer: Sequence[Scalar], row: Scalar) -> list[Scalar]:
        """The index of a row."""
        axis = row_axis(self.extents)
        return [*outer[:axis], row, *outer[axis:]]

    def emit(self) -> None:
        if shape_of(self.op.rhs)[-1] != self._wide:
            raise NotVectorizable("the panels have another width than the register tile")
        if self.schedule.kc is None:
            self._in_registers()
        else:
            self._unpacked(self.schedule.kc, self.reads[-1], self.writes[1])

    def _in_registers(self) -> None:
        """The nest that unpacks words in registers."""
        for c in segments(self.sizes[0], self._wide):

            def at(index: list[Scalar], c: Segment = c) -> None:
                self._for_tiles(lambda outer, r, row: self._tile(outer, r, row, c, index[0]))

            self.b.parallel_for([c.count], at)

    def _tile(self, outer: list[Scalar], r: Segment, row: Scalar, c: Segment, panel: Scalar) -> None:
        """A register tile, as a column of registers for each vector of the panel."""
        b, lanes, depth = self.b, self.lanes, self.sizes[1]
        registers = ceil_div(c.size, lanes)
        panel, first = panel + c.start // self._wide, panel * self._wide + c.start
        tile = Tile((r.size, 1, lanes))
        index_of = self._index(outer, tile.index(b, row, {0: 1}))
        places = [tile.index(b, register * lanes, {2: 1}) for register in range(registers)]

        def block(number: Scalar, size: int, sums: list[Scalar]) -> list[Scalar]:
            """`sums` plus those of a block of `size` steps."""
            start = number * self.op.block
            scales = [[panel, number, place] for place in places]
            points = [self._zero_point(place, tile) for place in scales]
            zero = b.splat(0, tile, f32)

            def words(first: Scalar, carried: list[Scalar], steps: int) -> list[Scalar]:
                """The sums of the products of each register, and that of x, plus `steps` more."""
                *products, sum_of_x = carried
                for word in range(ceil_div(steps, self.op.count)):
                    at = first + word * self.op.count
                    stored = [self.reads[1]([panel, at / self.op.count, place]) for place in places]
                    fields = [self._elements(b.splat(each, tile)) for each in stored]
                    for step in range(min(steps - word * self.op.count, self.op.count)):
                        x = b.splat(self.reads[0]([*index_of, at + step]), tile)
                        products = [b.fma(x, each[step], total) for each, total in zip(fields, products, strict=True)]
                        sum_of_x = sum_of_x if points[0] is None else sum_of_x + x
                return [*products, sum_of_x]

            step = self.op.count * self.schedule.unroll
            whole = size - size % step
            found = b.loop(0, whole, step, [zero] * (registers + 1), lambda k, now: words(start + k, now, step))
            *products, sum_of_x = words(start + whole, found, size - whole)
            for place, point in enumerate(points):
                value = products[place] if point is None else products[place] - point * sum_of_x
                sums[place] = b.fma(b.splat(self.reads[2](scales[place]), tile), value, sums[place])
            return sums

        sums = [b.splat(0, tile, f32)] * registers
        for part in segments(depth, self.op.block):
            first_block = part.start // self.op.block
            sums = b.loop(
                first_block,
                first_block + part.count,
                1,
                sums,
                lambda number, now, part=part: block(number, part.size, now),
            )
        whole = Tile.of(r.size, c.size, lanes)
        total = b.splat(0, whole, f32)
        for register, part in enumerate(sums):
            total = b.replace(part, total, [0, register])
        column = whole.index(b, first, {-2: lanes, -1: 1})
        self.write([*self._index(outer, whole.index(b, row, {0: 1})), column], total)

    def _unpacked(self, kc: int, read: Reader, write: Writer) -> None:
        """The nest that unpacks KC steps of a panel at a time into a scratch buffer, which `read` and `write`
        access: rows of the panel, then rows of partial sums."""
        (columns, depth), b = self.sizes, self.b
        kc = min(kc, depth)
        partials = PartialSums(
            lambda at: read([at[0] + kc, at[1]]), lambda at, value: write([at[0] + kc, at[1]], value)
        )

        def at(index: list[Scalar], c: Segment) -> None:
            panel = index[0] + c.start // self._wide

            def part(k: Block) -> None:
                self._unpack(panel, ceil_div(c.size, self.lanes), k, write)
                self._for_tiles(lambda outer, r, row: self._product(outer, r, row, c, panel, k, read, partials))

            for_blocks(b, depth, kc, part)

        for c in segments(columns, self._wide):
            b.sequential_for([c.count], lambda index, c=c: at(index, c))

    def _unpack(self, panel: Scalar, registers: int, k: Block, write: Writer) -> None:
        """Steps of a panel as f32: those that share scales after each other."""
        b, lanes, count = self.b, self.lanes, self.op.count
        tile = Tile((1, registers, lanes))
        across = tile.index(b, 0, {1: lanes, 2: 1})

        def unpack(start: Scalar, size: int) -> None:
            """`size` steps from `start` on, counted from the first of the part, which have one scale."""
            place = [panel, (k.start + start) / self.op.block, across]
            scale, point = b.splat(self.reads[2](place), tile), self._zero_point(place, tile)

            def word(first: Scalar, steps: int = count) -> None:
                words = b.splat(self.reads[1]([panel, (k.start + first) / count, across]), tile)
                for step, value in enumerate(self._elements(words)[:steps]):
                    exact = value if point is None else value - point
                    write([first + step, across], exact * scale)

            whole = size - size % count
            b.parallel_range(0, whole // count, 1, lambda number: word(start + number * count))
            if whole < size:
                word(start + whole, size - whole)

        for part in segments(k.size, min(self.op.block, k.size)):
            b.parallel_range(
                0, part.count, 1, lambda number, part=part: unpack(number * part.size + part.start, part.size)
            )

    def _product(
        self,
        outer: list[Scalar],
        r: Segment,
        row: Scalar,
        c: Segment,
        panel: Scalar,
        k: Block,
        read: Reader,
        partials: PartialSums,
    ) -> None:
        """A register tile of the product with what is unpacked of a panel."""
        b, lanes = self.b, self.lanes
        tile = Tile.of(r.size, c.size, lanes)
        across, index_of = tile.index(b, 0, {-2: lanes, -1: 1}), self._index(outer, tile.index(b, row, {0: 1}))
        extent = self.extents[row_axis(self.extents)]
        saved_at = [tile.index(b, linearize(b, [*outer, row], [*self._outer, extent]), {0: 1}), across]

        def factors(step: Scalar) -> tuple[Scalar, Scalar]:
            return self.reads[0]([*index_of, k.start + step]), read([step, across])

        total = accumulate(b, self.schedule, f32, tile, k.size, factors)
        total = partials.added(b, k, saved_at, total)
        if k.is_last:
            self.write([*index_of, tile.index(b, panel * self._wide, {-2: lanes, -1: 1})], total)
        else:
            partials.write(saved_at, total)
