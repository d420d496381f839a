"""How nests are written, whatever they compute: which loops there are, where sums are put down, what is prefetched."""

from __future__ import annotations

import numpy as np
import pytest
from kernels.nests import Written, anchor, arrays

from aotc.passes.kernel.builders.tiles import NotVectorizable

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


@pytest.mark.parametrize(
    "case",
    [
        (
            "strassen_matmul %0, %1 {columns = 8, left = 6, block_rows = 4, " + product("", 3, 1) + "}",
            "4x4xf32, 2x7x2x4xf32",
            3,
        ),
        (
            "strassen_matmul %0, %1 {columns = 8, left = 4, block_rows = 4, " + product("", 3, 1) + "}",
            "4x4xf32, 1x7x2x6xf32",
            3,
        ),
    ],
)
def test_is_refused(case: Parts) -> None:
    with pytest.raises(NotVectorizable):
        Written(anchor(*case))


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
