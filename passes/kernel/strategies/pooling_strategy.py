"""Pictures: pooling in the NCHWc layout or of plain tensors along their last axis, resampling, sampling."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from math import prod

from xdsl.dialects.builtin import i8, i32

from aotc.dialects.axis_reads import AxisReads
from aotc.dialects.builder import INDEX, Scalar, Writer
from aotc.dialects.dtypes import byte_width, compute_type, is_minifloat
from aotc.dialects.graph.interfaces import element_type_of, shape_of
from aotc.dialects.graph.quantized.averages import FixedAveragePoolOp
from aotc.dialects.graph.quantized.bytes import UI8
from aotc.dialects.graph.schedules import ElementwiseSchedule, PositionsSchedule, ResampleSchedule, WindowSchedule
from aotc.dialects.graph.shapes import Segment, ceil_div, segments
from aotc.dialects.graph.vision.sampling import ResampleOp, SampledOp
from aotc.dialects.graph.vision.windows import FoldOp
from aotc.dialects.graph.windows.pooling import MaxPoolOp, WindowOp, product
from aotc.dialects.graph.windows.sliding import SlidingWindow
from aotc.machines.machine import Machine
from aotc.passes.kernel.builders.tile_builder import TileBuilder
from aotc.passes.kernel.builders.tiles import NotVectorizable, Tile
from aotc.passes.kernel.costs import window_cost
from aotc.passes.kernel.costs.lanes import axis_of_lanes, lanes_of, lanes_of_products
from aotc.passes.kernel.layouts import Blocked, ChannelsOf, Layouts
from aotc.passes.kernel.nest import Nest
from aotc.passes.kernel.nests.convolution.window_nest import Part, WindowNest, WindowReduction
from aotc.passes.kernel.nests.convolution.window_rows_nest import FoldRowsNest, WindowRowsNest
from aotc.passes.kernel.spatial_tiling import (
    Box,
    SpatialTiling,
    TiledImplementation,
    tiled_windows,
    window_rows,
    window_tiling,
)
from aotc.passes.kernel.strategy import KernelStrategy, Prologue, Strategies


class _PoolingStrategy(KernelStrategy[WindowOp]):
    """In the NCHWc layout where the operand is."""

    def on_blocks(self, op: WindowOp) -> Mapping[str, object] | None:
        return {} if op.BLOCKED else None

    def block_starts(self, op: WindowOp, channels_of: ChannelsOf) -> Iterable[int] | None:
        return None if op.BLOCKED else ()

    def row_reads(self, op: WindowOp, axis: int) -> Mapping[int, AxisReads] | None:
        return window_rows(op, op.windows(), axis)


class PoolingStrategy(_PoolingStrategy):
    """The reduction over a window, computed for all positions of a tile at once; a plain tensor is packed before."""

    SCHEDULES = (WindowSchedule,)

    def schedule(self, op: WindowOp, machine: Machine) -> WindowSchedule | None:
        kind = element_type_of(op.x)
        if isinstance(op, MaxPoolOp) and kind in (i8, UI8):
            kind = i32  # of which a block of 8-bit integers has the lanes
        _, channels, *_, last = shape_of(op.x)
        if _is_blocked(op):
            return window_cost.window_schedule(machine, kind, last)
        lanes = lanes_of_products(machine, kind)
        enough = op.BLOCKED and channels > machine.windows.least_filled * lanes
        return window_cost.window_schedule(machine, kind, lanes) if enough else None

    def cost(self, op: WindowOp, schedule: WindowSchedule, machine: Machine) -> float:
        images, channels, *_ = shape_of(op.x)
        blocks, windows = images * ceil_div(channels, schedule.lanes), op.windows()
        operand, results = (prod(each) for each in zip(*((w.extent, w.positions) for w in windows), strict=True))
        return blocks * window_cost.packed_window_cycles(
            machine, schedule.lanes, operand, results, prod(op.ints("kernel"))
        )

    def lower(self, op: WindowOp, layouts: Layouts, schedule: WindowSchedule) -> Blocked | None:
        return layouts.copied_on_blocks(op, layouts.blocked(op.x, schedule.lanes), *op.operands[1:])

    def spatial_tiling(self, op: WindowOp, schedule: WindowSchedule) -> SpatialTiling | None:
        return window_tiling(op, schedule)

    def tiled_implementation(self, op: WindowOp, box: Box) -> TiledImplementation | None:
        return tiled_windows(op, op.windows(), box) if _is_blocked(op) else None

    def nest(self, nest: Nest[WindowOp, WindowSchedule]) -> None:
        op, x = nest.op, shape_of(nest.op.x)
        if not _is_blocked(op):
            raise NotVectorizable("the operand is not in the NCHWc layout")
        WindowNest(
            nest.b, nest.schedule, x[:2], op.windows(), x[-1], nest.reads[0], _Pool(op, nest.b, nest.write)
        ).emit()


def _is_blocked(op: WindowOp) -> bool:
    return len(shape_of(op.x)) > 2 + op.rank


def _rows(op: WindowOp) -> tuple[SlidingWindow, int]:
    """The window along the last axis, and how many rows windows have."""
    return op.windows()[-1], prod(op.ints("kernel")[:-1])


class RowPoolingStrategy(_PoolingStrategy):
    """Neighbouring positions along the last axis of a plain tensor in the lanes."""

    SCHEDULES = (PositionsSchedule,)
    NEST = WindowRowsNest

    def schedule(self, op: WindowOp, machine: Machine) -> PositionsSchedule | None:
        kinds = [element_type_of(value) for value in (op.x, op.result)]
        if _is_blocked(op) or op.neutral is None or any(map(is_minifloat, kinds)):
            return None
        width = max(byte_width(compute_type(kind)) for kind in kinds)
        return window_cost.window_rows_schedule(machine, width, *_rows(op), op.IN_PARTS)

    def cost(self, op: WindowOp, schedule: PositionsSchedule, machine: Machine) -> float:
        *outer, _ = shape_of(op.result)
        return prod(outer) * window_cost.window_row_cycles(machine, schedule, *_rows(op), op.IN_PARTS)


@dataclass(frozen=True)
class _Pool(WindowReduction):
    op: WindowOp
    b: TileBuilder
    write: Writer

    def initial(self, part: Part) -> list[Scalar]:
        return [self.b.splat(value, part.tile) for value in self.op.initial(self.b)]

    def step(self, part: Part, taps: list[Scalar], value: Scalar, carried: list[Scalar]) -> list[Scalar]:
        return self.op.combine(self.b, part.index, value, carried)

    def finish(self, part: Part, carried: list[Scalar]) -> None:
        self.write(part.index, self.op.finish(self.b, lambda: self._count(part), carried))

    def _count(self, part: Part) -> Scalar:
        """The number of taps that count for each position of a part: one number, or a tile where it varies."""
        b, windows, places = self.b, self.op.windows(), part.index[2:-1]
        window, place = windows.pop(part.across), places.pop(part.across)
        rows = product(b, [self.op.counted(b, w, p) for w, p in zip(windows, places, strict=True)])

        def count(columns: Scalar) -> Scalar:
            return b.cast(rows * columns, element_type_of(self.op.x))

        if part.example is None:
            return count(self.op.counted(b, window, place))
        size, lanes = part.tile.shape
        columns = [self.op.counted(b, window, b.index(part.example + number)) for number in range(size)]
        alike = [list(group) for _, group in groupby(range(size), lambda number: columns[number].constant)]
        if len(alike) == 1:
            return count(columns[0])
        counts = b.splat(count(columns[0]), part.tile)
        for first, *more in alike[1:]:
            counts = b.replace(b.splat(count(columns[first]), Tile((1 + len(more), lanes))), counts, [first])
        return counts


class FoldStrategy(KernelStrategy[FoldOp]):
    """Neighbouring positions of a picture along its last axis in the lanes."""

    SCHEDULES = (PositionsSchedule,)
    NEST = FoldRowsNest

    def schedule(self, op: FoldOp, machine: Machine) -> PositionsSchedule | None:
        kind = element_type_of(op.x)
        if is_minifloat(kind):
            return None
        rows, width = prod(op.ints("kernel")[:-1]), byte_width(compute_type(kind))
        residues = [each.window for each in op.axes()[-1].residues()]
        found = [window_cost.window_rows_schedule(machine, width, window, rows, False) for window in residues]
        return None if None in found else max(filter(None, found), key=lambda each: each.nr, default=None)


class SampledStrategy(KernelStrategy[SampledOp]):
    """Blocks of channels in the lanes: where a picture is sampled is computed once for some blocks."""

    SCHEDULES = (ElementwiseSchedule,)
    PROLOGUES = (Prologue.STORED,)

    def schedule(self, op: SampledOp, machine: Machine) -> ElementwiseSchedule | None:
        lanes, (_, channels, *_, last) = lanes_of_products(machine, element_type_of(op.x)), shape_of(op.x)
        if lanes == 1 or (last != lanes if op.blocked else 4 * channels <= lanes):
            return None  # there are no lanes, or they would be mostly empty
        return ElementwiseSchedule(lanes, min(machine.use.chain, channels if op.blocked else ceil_div(channels, lanes)))

    def lower(self, op: SampledOp, layouts: Layouts, schedule: ElementwiseSchedule) -> Blocked | None:
        return layouts.copied_on_blocks(op, layouts.blocked(op.x, schedule.lanes), *op.operands[1:])

    def block_starts(self, op: SampledOp, channels_of: ChannelsOf) -> Iterable[int] | None:
        return None

    def nest(self, nest: Nest[SampledOp, ElementwiseSchedule]) -> None:
        b, op = nest.b, nest.op
        if not op.blocked:
            raise NotVectorizable("the operand is not in the NCHWc layout")
        images, blocks, *places, lanes = nest.shape
        for part in segments(blocks, nest.schedule.registers):
            tile = Tile((part.size, lanes))
            zero = b.splat(0, tile, compute_type(element_type_of(op.x)))

            def at(index: list[Scalar], part: Segment = part, tile: Tile = tile, zero: Scalar = zero) -> None:
                image, number, *place = index
                block = tile.index(b, number * part.size + part.start, {0: 1})
                where = [image, block, *place, tile.index(b, 0, {1: 1})]
                nest.write(where, op.sampled(b, where, nest.reads, zero))

            b.parallel_for([images, part.count, *places], at)


class FixedAverageStrategy(PoolingStrategy):
    """Average pooling in fixed point: scalar loops, with the channels as they lie."""

    def schedule(self, op: WindowOp, machine: Machine) -> WindowSchedule | None:
        return None

    def on_blocks(self, op: WindowOp) -> Mapping[str, object] | None:
        return {}


MOST_TAPS = 4
"""The most taps that are unrolled; more become a loop."""


class ResampleStrategy(KernelStrategy[ResampleOp]):
    """Each tap is a load of a tile and a scalar factor."""

    SCHEDULES = (ResampleSchedule,)

    def schedule(self, op: ResampleOp, machine: Machine) -> ResampleSchedule | None:
        axes, lanes = _tile_axes(op), lanes_of(machine, element_type_of(op.x))
        extent = shape_of(op.result)[axes[1]]
        if lanes == 1 or axes[1] == op.axis or 2 * extent <= lanes:
            return None  # neighbouring results read elements that are not contiguous, or there are few of them
        registers = min(machine.use.chain, ceil_div(extent, lanes))
        return ResampleSchedule(lanes, machine.use.chain // registers, registers)

    def on_blocks(self, op: ResampleOp) -> Mapping[str, object] | None:
        """Unless the result leaves the function and is larger than x: then it costs less to unpack x first."""
        axis, shape = op.axis, shape_of(op.result)
        grows = axis < axis_of_lanes(shape) and shape[axis] > shape_of(op.x)[axis]
        return None if axis < 2 or (grows and Layouts.is_result(op.result)) else {}

    def nest(self, nest: Nest[ResampleOp, ResampleSchedule]) -> None:
        op, b, schedule = nest.op, nest.b, nest.schedule
        shape, taps, axis = nest.shape, shape_of(op.places)[1], op.axis
        row_axis, lane_axis = _tile_axes(op)
        if lane_axis == axis:
            raise NotVectorizable("neighbouring elements are gathered along the lanes")
        kind, lanes = element_type_of(op.x), schedule.lanes
        height = 1 if row_axis is None else min(schedule.rows, shape[row_axis])

        def each(index: list[Scalar], tile: Tile) -> None:
            def step(tap: Scalar, carried: list[Scalar]) -> list[Scalar]:
                at = [index[axis], tap]
                x = nest.reads[0]([*index[:axis], b.cast(nest.reads[1](at), INDEX), *index[axis + 1 :]])
                return [b.fma(b.splat(x, tile), nest.reads[2](at), carried[0])]

            total = [b.splat(0, tile, kind)]
            if taps <= MOST_TAPS:
                for tap in range(taps):
                    total = step(b.index(tap), total)
            else:
                total = b.loop(0, taps, 1, total, step)
            nest.write(index, total[0])

        for rows in segments(1 if row_axis is None else shape[row_axis], height):
            for piece in segments(shape[lane_axis], schedule.registers * lanes):
                tile = Tile.of(rows.size, piece.size, lanes)

                def place(at: list[Scalar], rows: Segment = rows, piece: Segment = piece, tile: Tile = tile) -> None:
                    index = list(at)
                    if row_axis is not None:
                        index[row_axis] = tile.index(b, at[row_axis] * rows.size + rows.start, {0: 1})
                    start = at[lane_axis] * piece.size + piece.start
                    index[lane_axis] = tile.index(b, start, {-2: lanes, -1: 1})
                    each(index, tile)

                bounds = list(shape)
                bounds[lane_axis] = piece.count
                if row_axis is not None:
                    bounds[row_axis] = rows.count
                b.parallel_for(bounds, place)


def _tile_axes(op: ResampleOp) -> tuple[int | None, int]:
    """The axis along which a tile has rows, if any, and that of its lanes: the innermost ones longer than 1."""
    shape, axis = shape_of(op.result), op.axis
    lanes = axis_of_lanes(shape)
    return max((k for k in range(len(shape)) if k not in (axis, lanes) and shape[k] > 1), default=None), lanes


STRATEGIES: Strategies = {
    WindowOp: (PoolingStrategy(), RowPoolingStrategy()),
    FixedAveragePoolOp: (FixedAverageStrategy(),),
    FoldOp: (FoldStrategy(),),
    SampledOp: (SampledStrategy(),),
    ResampleOp: (ResampleStrategy(),),
}
