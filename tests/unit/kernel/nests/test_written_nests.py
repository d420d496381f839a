"""How nests are written, whatever they compute: which loops there are, where sums are put down, what is prefetched."""

from __future__ import annotations

from typing import cast

import numpy as np
import pytest
from kernels.nests import Written, anchor, arrays
from xdsl.dialects.builtin import f32, f64, i32, i64
from xdsl.ir import Block

from aotc.dialects.graph.schedules import RowSchedule, WindowSchedule
from aotc.dialects.graph.windows.sliding import SlidingWindow
from aotc.passes.kernel.builders.tile_builder import TileBuilder
from aotc.passes.kernel.builders.tiles import NotVectorizable
from aotc.passes.kernel.nests.convolution.window_nest import WindowNest, WindowReduction
from aotc.passes.kernel.nests.row_nest import Rows, lane_numbers

Parts = tuple[str, str, int]


def product(more: str, mr: int = 3, nr: int = 2) -> str:
    return f"schedule = #graph.matmul_schedule<lanes = 4, mr = {mr}, nr = {nr}, unroll = 2{f', {more}' * bool(more)}>"


def convolution(more: str) -> Parts:
    """Of 12 channels, three blocks of 36 steps, with a buffer for sums."""
    window = "strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>"
    line = f"blocked_conv %0, %1 {{{window}, group = 1, channels = 12, outputs = 8, block = 4, {product(more)}}}"
    return line, "1x3x3x4x4xf32, 1x3x3x3x4x8xf32", 2


def packed(more: str) -> Parts:
    """Of 12 steps, with a buffer for sums."""
    return f"packed_matmul %0, %1 {{columns = 8, {product(more)}}}", "3x12xf32, 1x12x8xf32", 2


@pytest.mark.parametrize(
    ("case", "times"),
    [
        *((packed(f"order = columns, kc = {kc}"), times) for kc, times in ((3, 3), (4, 2), (6, 1), (7, 1), (12, 0))),
        (packed("order = columns"), 0),
        *((convolution(f"order = columns, kc = {kc}"), times) for kc, times in ((1, 2), (71, 2), (72, 1), (108, 0))),
        (convolution("order = columns"), 2),
    ],
)
def test_sums_are_put_down_after_each_block_but_the_last(case: Parts, times: int) -> None:
    op = anchor(*case)
    nest = Written(op)
    nest.run(arrays(op))
    assert (nest.stores[op.results[1]] == times).all()


MATMUL = "9x5xf32, 5x24xf32"
PAIRS = "2x2x4x5x8xi8, 2x7x16xi8, 2x7xi32, 2x2xi32, 8xi32"
SUMS = 'reduce %0 {{kind = "sum", axes = array<i64: {}>, keepdims = false, {}}}'
ROWS = "schedule = #graph.row_schedule<lanes = 4, registers = 2, steps = 1, rows = {}, stages = 1>"
WINDOW = "strides = array<i64: 1, 1>, pads = array<i64: {0}, {0}, {0}, {0}>, dilations = array<i64: 1, 1>"
WINDOWS = "schedule = #graph.window_schedule<lanes = 4, positions = 3>"


def paired(order: str) -> Parts:
    schedule = f"schedule = #graph.paired_schedule<lanes = 4, mr = 5, order = {order}>"
    more = "strides = array<i64: 1, 1>, extents = array<i64: 2, 5>, products = 24"
    return f"paired_dot_conv %0, %1, %2, %3, %4 {{{more}, {schedule}}}", PAIRS, 1


def depthwise(extent: int, kind: str = "dot") -> Parts:
    weight, more = ("1x3x1x16xi8", ", taps_across = 3") if kind == "dot" else ("1x3x3x4xi8", "")
    line = f"blocked_{kind}_depthwise_conv %0, %1, %2 {{{WINDOW.format(1)}{more}, {WINDOWS}}}"
    return line, f"1x1x4x{extent}x4xui8, {weight}, 3x3x4xi32", 1


def strassen(depth: int, more: str = "") -> Parts:
    line = f"strassen_matmul %0, %1 {{columns = 7, left = 4, block_rows = 4{more}, {product('order = columns', 3, 1)}}}"
    return line, f"4x{depth}xf32, 1x7x{-(-depth // 2)}x4xf32", 3


@pytest.mark.parametrize(
    ("case", "name", "count"),
    [
        # Without blocks a panel, or a row, is computed beside others.
        ((f"matmul %0, %1 {{{product('order = columns')}}}", MATMUL, 1), "scf.parallel", 2),
        ((f"matmul %0, %1 {{{product('order = rows', 3, 4)}}}", MATMUL, 1), "scf.parallel", 1),
        (paired("columns"), "scf.parallel", 1),
        (paired("rows"), "scf.parallel", 2),
        # One block before the last is known to be the first.
        (packed("order = columns, kc = 6"), "scf.if", 0),
        (packed("order = columns, kc = 4"), "scf.if", 1),
        # Blocks that are whole are in one loop, as are tiles that see all taps.
        (convolution("order = columns, kc = 200"), "math.fma", 8),
        (depthwise(45), "aot.tile_dot", Written(anchor(*depthwise(90))).count("aot.tile_dot")),
        # Bytes of one row become 16 bits by one instruction, and those of weights by two.
        (depthwise(9, "pair"), "vector.bitcast", 3),
        # One part begins at the beginning and ends at the end.
        (strassen(9), "arith.maxsi", 0),
        (strassen(9), "arith.minsi", 0),
        # Lanes behind the end matter where they are added up.
        ((SUMS.format(0, ROWS.format(1)), "5x6xf32", 1), "aot.tile_select", 0),
        ((SUMS.format(1, ROWS.format(1)), "5x6xf32", 1), "aot.tile_select", 1),
    ],
)
def test_operations(case: Parts, name: str, count: int) -> None:
    assert Written(anchor(*case)).count(name) == count


POSITIONS = "schedule = #graph.positions_schedule<lanes = 4, mr = 1, nr = 1>"
LINE = "strides = array<i64: 1>, pads = array<i64: {0}, {0}>, dilations = array<i64: 1>"
NARROW = product("", 3, 1)
WIDE = NARROW.replace("lanes = 4", "lanes = 8")
BLOCKED = LINE.format(0) + ", group = 1, channels = 4, outputs = 8, block = 4"


def pool(kind: str, x: str, result: int, tile: str, kernel: int = 3, pad: int = 0) -> Parts:
    return f"{kind} %0 {{kernel = array<i64: {kernel}>, {LINE.format(pad)}, {tile}}}", x, result


def recurrence(more: str, given: str, operands: str) -> Parts:
    one = 'activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>'
    names = ", ".join(f"%{number}" for number in range(len(operands.split(", "))))
    schedule = f"schedule = #graph.recurrence_schedule<lanes = 4, mr = 1, nr = 1, unroll = 1, units = 1{more}>"
    return f"rnn {names} {{operandSegmentSizes = array<i32: {given}>, {one}, {schedule}}}", operands, 4


INPUTS = "1, 1, 0, 0, 1, 0, 0, 0, 0"
AHEAD = ", ahead = 3, across = {}, beside = 2"


@pytest.mark.parametrize(
    "case",
    [
        # halves, or panels, that are no multiple of a register
        (f"strassen_matmul %0, %1 {{columns = 8, left = 6, block_rows = 4, {NARROW}}}", "4x4xf32, 2x7x2x4xf32", 3),
        (f"strassen_matmul %0, %1 {{columns = 8, left = 4, block_rows = 4, {NARROW}}}", "4x4xf32, 1x7x2x6xf32", 3),
        # blocks of other sizes, or of one channel
        pool("max_pool", "1x2x9x8xf32", 1, WINDOWS),
        pool("max_pool", "1x2x9x1xf32", 1, WINDOWS.replace("lanes = 4", "lanes = 1")),
        pool("max_pool", "1x2x9xf32", 1, WINDOWS),
        (depthwise(9)[0], "1x1x4x9x8xui8, 1x3x1x32xi8, 3x3x8xi32", 1),
        # windows over rows of blocks, or without an element that changes nothing
        pool("max_pool", "1x2x9x4xf32", 1, POSITIONS),
        pool("max_pool_indices", "1x2x9xf32", 2, POSITIONS),
        # panels of another width than that of the tile
        (f"blocked_conv %0, %1 {{{BLOCKED}, {product('', 3, 2)}}}", "1x1x9x4xf32, 2x1x3x4x4xf32", 1),
        (f"blocked_conv %0, %1 {{{BLOCKED}, {WIDE}}}", "1x1x9x4xf32, 1x1x3x4x8xf32", 1),
        (f"packed_matmul %0, %1 {{columns = 8, {product('', 3, 2)}}}", "3x5xf32, 2x5x4xf32", 1),
        (f"packed_dot_matmul %0, %1, %2 {{{product('', 3, 2)}}}", "3x8xui8, 2x2x16xi8, 8xi32", 1),
        # columns that do not lie along the lanes
        (f"matmul %0, %1 {{transpose_rhs = true, {product('')}}}", "3x5xf32, 8x5xf32", 1),
        # inputs that are multiplied in each step, or packed otherwise
        recurrence("", "1, 1, 0, 0, 0, 0, 0, 0, 0", "9x1x8xf32, 8x8xf32"),
        recurrence("", "1, 1, 0, 0, 0, 0, 0, 0, 0", "9x1x8xf32, 1x8x8xf32"),
        recurrence("", INPUTS, "9x1x5xf32, 2x8x4xf32, 2x5x4xf32"),
        recurrence(AHEAD.format(2), INPUTS, "9x1x5xf32, 2x8x4xf32, 2x5x4xf32"),
    ],
)
def test_is_refused(case: Parts) -> None:
    with pytest.raises(NotVectorizable):
        Written(anchor(*case))


@pytest.mark.parametrize(
    ("sizes", "across"),
    [
        # the last axis, or a longer one before it whose taps keep their order
        ([(9, 3)], 0),
        ([(9, 3), (9, 3)], 1),
        ([(9, 3), (1, 3)], 1),
        ([(9, 3), (1, 1)], 0),
        ([(3, 1), (2, 1)], 1),
        ([(9, 1), (1, 1), (1, 1)], 0),
    ],
)
def test_tiles_of_windows_lie_along_a_long_axis(sizes: list[tuple[int, int]], across: int) -> None:
    windows = [SlidingWindow(positions + size - 1, size, 1, 1, 0, 0) for positions, size in sizes]
    b, reduction = TileBuilder(Block()), cast("WindowReduction", None)
    nest = WindowNest(b, WindowSchedule(4, 2), (1, 1), windows, 4, lambda _: pytest.fail(), reduction)
    assert nest.across == across


@pytest.mark.parametrize(
    ("kernel", "pad", "loops"),
    [
        # Up to nine taps are written one by one.
        (9, 0, 1),
        (10, 0, 3),
        # Up to 16 tiles at the ends of a row have code of their own, of more each position is computed in a loop.
        (33, 16, 18),
        (35, 17, 38),
    ],
)
def test_loops_of_windows(kernel: int, pad: int, loops: int) -> None:
    op = anchor(*pool("max_pool", "1x1x80x4xf32", 1, WINDOWS.replace("positions = 3", "positions = 2"), kernel, pad))
    assert Written(op).count("scf.for") == loops


def test_lanes_are_counted_by_integers_as_wide_as_they_are() -> None:
    b = TileBuilder(Block())
    for beside, kind in ((f32, i32), (f64, i64)):
        assert lane_numbers(b, (1, 2, 4), beside).dtype == kind


def test_rows_are_computed_beside_others_along_an_axis_of_several() -> None:
    b, schedule = TileBuilder(Block()), RowSchedule(4, 2, 1, 2, 1)
    assert [Rows(b, shape, (2,), schedule).row_axis for shape in ((3, 5, 8), (3, 1, 8), (1, 1, 8))] == [1, 0, None]


@pytest.mark.parametrize("rows", [8, 16, 32])
def test_the_next_panel_is_prefetched_once(rows: int) -> None:
    """Up to a line of 16 elements in each step of a tile of rows."""
    op = anchor(
        f"packed_matmul %0, %1 {{columns = 64, {product('order = columns, prefetch', 4, 8)}}}",
        f"{rows}x8xf32, 2x8x32xf32",
        1,
    )
    nest = Written(op)
    nest.run(arrays(op))
    asked = np.array(nest.prefetched[op.operands[1]])
    assert sorted(set(asked // 16)) == [*range(16, 48)]


def test_few_rows_do_not_prefetch_the_next_panel() -> None:
    """It would be more than two lines a step."""
    op = anchor(
        f"packed_matmul %0, %1 {{columns = 64, {product('order = columns, prefetch', 4, 8)}}}",
        "3x8xf32, 2x8x32xf32",
        1,
    )
    assert Written(op).count("aot.prefetch") == 0
