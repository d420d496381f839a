"""Rows on register tiles: the loop nest of reductions and normalisations.

A row is the elements along the reduced axes. Lanes lie along the last axis that is longer than 1. Where that axis is
kept, a step computes neighbouring rows, one in each lane. Where it is reduced, lanes lie along the row, and a row's
reduction ends with a reduction across lanes. Computing several rows at once hides the latency of that: several rows in
one tile, and groups of rows that are software-pipelined, each one stage behind the group before.

A tile is `[many, registers, lanes]`: registers follow each other along the axis of the lanes; `many` counts rows or, if
there is one row, steps along the innermost reduced axis that does not hold the lanes. A row that fits one tile is
loaded once and stays in registers, because reading it again gives the same values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, Float64Type, i32, i64
from xdsl.ir import Attribute

from aotc.dialects.aot.tiles import Reduction, tile_shape, tile_type
from aotc.dialects.builder import Number, Scalar
from aotc.dialects.graph.schedules import RowSchedule
from aotc.dialects.graph.shapes import Segment, ceil_div, segments
from aotc.passes.kernel.builders.tile_builder import TileBuilder
from aotc.passes.kernel.builders.tiles import Tile
from aotc.passes.kernel.costs.lanes import axis_of_lanes, axis_of_steps

Combine = Callable[[Scalar, Scalar], Scalar]


@dataclass(frozen=True)
class Part:
    """A tile of elements of one row, or of neighbouring rows."""

    b: TileBuilder
    tile: Tile
    index: list[Scalar]
    """The index of its elements, one entry for each axis of the tensor."""
    outer: Mapping[int, Scalar]
    """The index of its first element, where that is not 0."""
    across: bool
    """Whether lanes lie along the row: then invalid lanes must be masked before a reduction."""

    def base(self, axis: int) -> Scalar:
        """The index of its first element along `axis`."""
        return self.outer.get(axis, self.b.index(0))

    def masked(self, value: Scalar, neutral: Number) -> Scalar:
        """`value` with `neutral` in lanes beyond the end of the row."""
        if self.tile.valid is None or not self.across:
            return value
        b, (steps, registers, lanes) = self.b, self.tile.shape
        value = b.splat(value, self.tile)
        last = b.slice(value, [0, registers - 1], [steps, 1])
        inside = b.compare(
            "lt", lane_numbers(b, (steps, 1, lanes), value.dtype), self.tile.valid - (registers - 1) * lanes
        )
        return b.replace(b.select(inside, last, neutral), value, [0, registers - 1])

    def spread(self, value: Scalar) -> Scalar:
        """The result of `fold` for a row, broadcast to its elements in this part."""
        if tile_shape(value.ssa) == self.tile.shape:
            return value
        kind = tile_type(self.tile.shape, value.dtype)
        return Scalar(self.b, value.dtype, self.b.emit(vector.BroadcastOp(value.ssa, kind)))


def lane_numbers(b: TileBuilder, shape: Sequence[int], beside: Attribute) -> Scalar:
    """The positions of a tile's elements along the axis of the lanes, as integers as wide as the floats `beside`."""
    kind = i64 if isinstance(beside, Float64Type) else i32
    steps, registers, lanes = shape
    values = list(range(registers * lanes)) * steps
    constant = DenseIntOrFPElementsAttr.from_list(tile_type(shape, kind), values)  # pyright: ignore[reportArgumentType, reportCallIssue, reportUnknownVariableType]
    return Scalar(b, kind, b.emit(arith.ConstantOp(constant)))  # pyright: ignore[reportUnknownArgumentType]


class Rows:
    """The rows of a tensor of `shape` along `axes` (ascending), as a schedule says."""

    def __init__(self, b: TileBuilder, shape: Sequence[int], axes: Sequence[int], schedule: RowSchedule) -> None:
        self.b = b
        self.shape = tuple(shape)
        self.axes = tuple(axes)
        self.lanes = schedule.lanes
        self.lane_axis = axis_of_lanes(shape)
        self.step_axis = axis_of_steps(shape, axes)
        self.across = self.lane_axis in self.axes
        self.steps = 1 if self.step_axis is None else min(schedule.steps, shape[self.step_axis])
        self._outer = [axis for axis in range(len(shape)) if axis not in self.axes and axis != self.lane_axis]
        self.row_axis = max((axis for axis in self._outer if shape[axis] > 1), default=None)
        """The axis along which several rows are computed at once, if lanes lie along rows, a step at a time."""
        several = self.across and self.steps == 1
        self._groups, self._rows_per_tile = (schedule.stages, schedule.rows) if several else (1, 1)
        self.pieces = list(segments(shape[self.lane_axis], schedule.registers * self.lanes))
        """Of the axis of the lanes, in tiles of registers."""
        self._tiles: dict[tuple[int, int], Tile] = {}
        self.most = ceil_div(max((piece.size for piece in self.pieces), default=0), self.lanes)
        """Registers of the largest of them."""

    def parallel_for(self, body: Callable[[Row], None]) -> None:
        """A parallel nest over all rows, one at a time."""
        self._parallel_for(1, lambda rows: body(rows[0]))

    def pipelined(self, stages: Callable[[Row], Iterator[None]]) -> None:
        """As `parallel_for`, software-pipelined: each group of rows runs one stage behind the group before.

        That hides how long a stage waits for the results of the one before.
        """

        def pipeline(groups: Sequence[Row]) -> None:
            running = [stages(rows) for rows in groups]
            started = 0
            while running:
                started = min(started + 1, len(running))
                for group in reversed(running[:started]):
                    if next(group, _END) is _END:
                        running.remove(group)
                        started -= 1

        self._parallel_for(self._groups * self._rows_per_tile, pipeline)

    def _parallel_for(self, at_once: int, body: Callable[[Sequence[Row]], None]) -> None:
        """A parallel nest over all rows; `body` gets the groups that are computed at once."""
        if self.across:
            extent, step = 1 if self.row_axis is None else self.shape[self.row_axis], min(self._rows_per_tile, at_once)

            def several(at: dict[int, Scalar], count: int) -> None:
                body([self._row(at, start, min(self._rows_per_tile, count - start)) for start in range(0, count, step)])

            for part in segments(extent, at_once):
                self._nest(self.row_axis, part, several)
            return
        for piece in self.pieces:

            def each(at: dict[int, Scalar], width: int, piece: Segment = piece) -> None:
                body([Row(self, at, 1, piece)])

            self._nest(self.lane_axis, piece, each)

    def _row(self, at: Mapping[int, Scalar], start: int, many: int) -> Row:
        """`many` rows, from `start` rows after the one at `at`."""
        moved = {} if self.row_axis is None else {self.row_axis: at[self.row_axis] + start}
        return Row(self, {**at, **moved}, many)

    def _nest(self, cut: int | None, part: Segment, body: Callable[[dict[int, Scalar], int], None]) -> None:
        """A parallel nest over all kept axes; of axis `cut` over a part, as many at a time as it has in one tile."""
        axes = [*(axis for axis in self._outer if axis != cut), *([] if cut is None else [cut])]
        extents = [part.count if axis == cut else self.shape[axis] for axis in axes]

        def each(index: list[Scalar]) -> None:
            at = dict(zip(axes, index, strict=True))
            if cut is not None:
                at[cut] = at[cut] * part.size + part.start
            body(at, part.size)

        self.b.parallel_for(extents, each)

    def part(self, at: Mapping[int, Scalar], rows: int, steps: int, piece: Segment) -> Part:
        """The tile that starts at `at`; the same object for the same arguments, so that equal reads are recognised."""
        tile = self._tiles.setdefault((rows * steps, piece.size), Tile.of(rows * steps, piece.size, self.lanes))
        index = [at.get(axis, self.b.index(0)) for axis in range(len(self.shape))]
        if (axis := self.row_axis if rows > 1 else self.step_axis) is not None:
            index[axis] = tile.index(self.b, index[axis], {0: 1})
        index[self.lane_axis] = tile.index(self.b, index[self.lane_axis], {-2: self.lanes, -1: 1})
        return Part(self.b, tile, index, at, self.across)


@dataclass(frozen=True)
class Row:
    """One row, or `many` rows; with lanes along another axis, the rows of `piece`."""

    rows: Rows
    outer: Mapping[int, Scalar]
    """The index of the (first) row along each axis that is not reduced."""
    many: int
    piece: Segment | None = None

    def result_index(self, axes: Sequence[int]) -> list[Scalar]:
        """The index of the result of `fold` along `axes`, 0 along those that are reduced."""
        if self.piece is None:
            return [self.outer.get(axis, self.rows.b.index(0)) for axis in axes]
        part = self.rows.part(self.outer, 1, 1, self.piece)
        return [part.index[axis] if axis in self.outer else self.rows.b.index(0) for axis in axes]

    def first(self, axis: int) -> Part:
        """The first element of each row; where lanes lie along the row, broadcast to its largest part."""
        if self.piece is not None:
            return self.at(axis, self.rows.b.index(0))
        whole = Tile((1, self.rows.most, self.rows.lanes))
        return Part(self.rows.b, whole, self.result_index(range(len(self.rows.shape))), self.outer, self.rows.across)

    def at(self, axis: int, position: Scalar) -> Part:
        """The elements of neighbouring rows at a position along `axis`, the only one that is reduced."""
        assert self.piece is not None, "lanes lie along the row"
        return self.rows.part({**self.outer, axis: position}, 1, 1, self.piece)

    def walk(self, init: Sequence[Scalar], step: Callable[[Part, list[Scalar]], Sequence[Scalar]]) -> list[Scalar]:
        """Sequential loops over the row's parts, carrying `init`."""
        rows = self.rows

        def nest(
            level: int, at: Mapping[int, Scalar], steps: int, piece: Segment | None, carried: list[Scalar]
        ) -> list[Scalar]:
            if level == len(rows.axes):
                assert piece is not None
                return list(step(rows.part(at, self.many, steps, piece), carried))
            axis = rows.axes[level]

            def loop(
                low: int, high: int, stride: int, steps: int, piece: Segment | None, carried: list[Scalar]
            ) -> list[Scalar]:
                return rows.b.loop(
                    low, high, stride, carried, lambda i, now: nest(level + 1, {**at, axis: i}, steps, piece, now)
                )

            extent = rows.shape[axis]
            if axis == rows.lane_axis:
                for each in rows.pieces:
                    carried = loop(each.start, each.stop, each.size, steps, each, carried)
            elif axis == rows.step_axis:
                whole = extent - extent % rows.steps
                carried = loop(0, whole, rows.steps, rows.steps, piece, carried)
                carried = loop(whole, extent, rows.steps, extent - whole, piece, carried)
            else:
                carried = loop(0, extent, 1, steps, piece, carried)
            return carried

        return nest(0, dict(self.outer), 1, self.piece, list(init))

    def sequential_for(self, body: Callable[[Part], None]) -> None:
        """Sequential loops over the row's parts."""

        def step(part: Part, carried: list[Scalar]) -> list[Scalar]:
            body(part)
            return carried

        self.walk([], step)

    def fold(
        self, kind: Reduction, neutral: Number, dtype: Attribute, value: Callable[[Part], Scalar], combine: Combine
    ) -> Scalar:
        """All of the values combined: a scalar; of several rows a tile `[rows, 1, lanes]`, lanes of a row alike;
        of neighbouring rows a tile `[1, registers, lanes]`.

        In a fixed order: each place of the tile along the row, then steps by halves and, with lanes along the row,
        registers by halves and lanes as `aot.tile_reduce` does.
        """
        b, rows = self.rows.b, self.rows
        most = rows.most if self.piece is None else ceil_div(self.piece.size, rows.lanes)
        total = b.splat(neutral, Tile((self.many * rows.steps, most, rows.lanes)), dtype)

        def step(part: Part, carried: list[Scalar]) -> list[Scalar]:
            old, now = carried[0], b.splat(value(part), part.tile)
            if old.ssa is total.ssa:
                return [now]  # the first one, a whole tile, and none would come before it
            mine = b.slice(old, [0, 0], part.tile.shape[:-1])
            return [b.replace(combine(mine, now), old, [0, 0])]

        (total,) = self.walk([total], step)
        if self.many == 1:
            total = tree_reduce(b, total, 0, combine)
        if not rows.across:
            return total
        total = tree_reduce(b, total, 1, combine)
        each = [b.total(kind, b.slice(total, [row, 0], [1, 1])) for row in range(self.many)]
        if self.many == 1:
            return each[0]
        for row, scalar in enumerate(each):
            total = b.replace(b.splat(scalar, Tile((1, 1, rows.lanes))), total, [row, 0])
        return total


_END = object()


def tree_reduce(b: TileBuilder, value: Scalar, axis: int, combine: Combine) -> Scalar:
    """The tile with one register along `axis`: register i is combined with i + ceil(n / 2), until one is left."""
    while (count := (sizes := list(tile_shape(value.ssa)[:-1]))[axis]) > 1:
        half = ceil_div(count, 2)

        def registers(start: int, many: int, value: Scalar = value, sizes: list[int] = sizes) -> Scalar:
            offsets, extents = [0] * len(sizes), list(sizes)
            offsets[axis], extents[axis] = start, many
            return b.slice(value, offsets, extents)

        low = registers(0, half)
        lower = b.slice(low, [0] * len(sizes), [count - half if k == axis else n for k, n in enumerate(sizes)])
        value = b.replace(combine(lower, registers(half, count - half)), low, [0] * len(sizes))
    return value
