"""Every kind of nest on register tiles at awkward sizes, run in numpy: against the operation's own loops.

No address outside of a buffer is touched, and each element of a result is stored once.
"""

from __future__ import annotations

import pytest
from kernels.nests import Case, anchor, arrays, check

from aotc.dialects.graph.interfaces import shape_of


def product(mr: int, nr: int, unroll: int = 1, order: str = "rows", more: str = "") -> str:
    return (
        f"schedule = #graph.matmul_schedule<lanes = 4, mr = {mr}, nr = {nr}, unroll = {unroll}, order = {order}{more}>"
    )


def rows(registers: int, steps: int = 1, rows: int = 1, stages: int = 1) -> str:
    return (
        f"schedule = #graph.row_schedule<lanes = 4, registers = {registers}, steps = {steps}, rows = {rows},"
        f" stages = {stages}>"
    )


def window(stride: int, before: int, after: int, dilation: int = 1) -> str:
    return f"strides = array<i64: {stride}>, pads = array<i64: {before}, {after}>, dilations = array<i64: {dilation}>"


def window2(stride: int, pad: int, dilation: int = 1) -> str:
    pads = ", ".join([str(pad)] * 4)
    both = f"array<i64: {dilation}, {dilation}>"
    return f"strides = array<i64: {stride}, {stride}>, pads = array<i64: {pads}>, dilations = {both}"


def along_lanes(kind: str, axis: int, more: str) -> str:
    return f'reduce %0 {{kind = "{kind}", axes = array<i64: {axis}>, keepdims = false, {more}}}'


POSITIONS = "schedule = #graph.positions_schedule<lanes = 4, mr = {}, nr = {}>"
WINDOWS = "schedule = #graph.window_schedule<lanes = 4, positions = {}>"
INNER = "schedule = #graph.inner_product_schedule<lanes = 4, positions = {}>"

PRODUCTS: list[Case] = [
    (f"matmul %0, %1 {{{schedule}}}", operands, result)
    for schedule in (
        product(3, 2),
        product(3, 2, 2, "columns"),
        product(2, 1, 4),
        product(4, 3, 3, "columns"),
        product(9, 9),
        product(3, 2, 2, "columns", ", prefetch"),
    )
    for operands, result in (
        ("7x5xf32, 5x10xf32", "7x10xf32"),
        ("1x6xf32, 6x4xf32", "1x4xf32"),
        ("4x1xf32, 1x3xf32", "4x3xf32"),
        ("2x3x4xf32, 2x4x9xf32", "2x3x9xf32"),
        ("2x3x4xf32, 4x9xf32", "2x3x9xf32"),
        ("3x8xf32, 8x8xf32", "3x8xf32"),
    )
]
TURNED: list[Case] = [
    (f"matmul %0, %1 {{transpose_lhs = true, {product(3, 2)}}}", "5x7xf32, 5x10xf32", "7x10xf32"),
]
PACKED: list[Case] = [
    (
        f"packed_matmul %0, %1 {{columns = {n}, {schedule}}}",
        f"{m}x5xf32, {panels}x5x8xf32",
        f"{m}x{n}xf32",
    )
    for schedule in (product(3, 2), product(3, 2, 2, "columns"), product(2, 2, 4, "columns", ", prefetch"))
    for m, n, panels in ((7, 10, 2), (1, 8, 1), (6, 16, 2), (4, 3, 1))
]
REDUCED: list[Case] = (
    [
        (along_lanes(kind, axis, schedule), operand, result)
        for kind in ("sum", "mean", "max")
        for schedule in (rows(2), rows(1, 2), rows(1, 3), rows(4), rows(3))
        for axis, operand, result in (
            (1, "3x10xf32", "3xf32"),
            (1, "2x4xf32", "2xf32"),
            (0, "5x6xf32", "6xf32"),
            (1, "2x3x9xf32", "2x9xf32"),
            (1, "3x7x1xf32", "3x1xf32"),
        )
    ]
    + [
        *(
            (along_lanes(kind, axis, rows(2)), "3x10xf32", f"{3 + 7 * (not axis)}xf32")
            for kind in ("min", "prod")
            for axis in (0, 1)
        ),
    ]
    + [
        (f'reduce %0 {{kind = "sum", axes = array<i64: {axes}>, keepdims = true, {schedule}}}', "3x4x10xf32", result)
        for schedule in (rows(2), rows(1, 2), rows(2, 2, rows=2))
        for axes, result in (
            ("1, 2", "3x1x1xf32"),
            ("0, 2", "1x4x1xf32"),
            ("0, 1", "1x1x10xf32"),
            ("0, 1, 2", "1x1x1xf32"),
        )
    ]
)
POSITIONS_OF_EXTREMES: list[Case] = [
    (f'arg_reduce %0 {{kind = "{kind}", axis = {axis}, keepdims = {keep}, last = {last}, {schedule}}}', operand, result)
    for schedule in (rows(2), rows(1))
    for kind in ("max", "min")
    for last in ("true", "false")
    for axis, keep, operand, result in (
        (1, "false", "3x10xf32", "3xi64"),
        (1, "true", "3x12xf32", "3x1xi64"),
        (0, "false", "5x6xf32", "6xi64"),
        (1, "false", "2x3x9xf32", "2x9xi64"),
    )
]
TOTALS: list[Case] = [
    (f'cumulative %0 {{kind = "{kind}", axis = {axis}{more}, {rows(registers)}}}', operand, operand)
    for kind in ("sum", "prod")
    for more in ("", ", exclusive = true", ", reverse = true", ", exclusive = true, reverse = true")
    for registers in (2,)
    for axis, operand in ((0, "3x10xf32"), (1, "2x3x9xf32"), (0, "2x2x4xf32"))
]
NORMALIZED: list[Case] = [
    (f"{op}, {schedule}}}", operand, operand)
    for op in (
        "softmax %0 {axes = array<i64: 1>",
        "softmax %0 {axes = array<i64: 1>, log = true",
        "normalize %0 {axes = array<i64: 1>, epsilon = 1.0",
    )
    for schedule in (rows(2), rows(2, rows=2), rows(3, rows=2, stages=2), rows(4, rows=4), rows(1, 2), rows(1, 9))
    for operand in ("3x10xf32", "5x8xf32", "1x3xf32", "3x9x6xf32")
    if ("steps = 1," in schedule) == (len(operand.split("x")) == 3) or "steps = 1," in schedule
]
POOLED: list[Case] = [
    (
        f"{kind} {{kernel = array<i64: 3>, {window(stride, before, after)}{more}, {tile}}}",
        x,
        result,
    )
    for kind, more in (
        ("max_pool %0", ""),
        ("average_pool %0", ", count_include_pad = false"),
        ("average_pool %0", ", count_include_pad = true"),
    )
    for tile in map(WINDOWS.format, (1, 2, 4))
    for stride, before, after, x, result in (
        (1, 1, 1, "1x2x9x4xf32", "1x2x9x4xf32"),
        (2, 1, 1, "1x2x9x4xf32", "1x2x5x4xf32"),
        (3, 0, 0, "2x1x9x4xf32", "2x1x3x4xf32"),
    )
]
POOLED_ROWS: list[Case] = [
    (
        f"{kind} {{kernel = array<i64: 3>, {window(stride, before, after)}{more}, {POSITIONS.format(1, nr)}}}",
        f"1x2x{extent}xf32",
        f"1x2x{(extent + before + after - 3) // stride + 1}xf32",
    )
    for kind, more in (("max_pool %0", ""), ("average_pool %0", ", count_include_pad = true"))
    for nr in (1, 2)
    for stride, before, after in ((1, 1, 1), (2, 1, 0), (3, 0, 0), (2, 2, 2))
    for extent in (9, 25)
]
DEPTHWISE: list[Case] = [
    (
        f"blocked_depthwise_conv %0, %1 {{{window(stride, pad, pad, dilation)}, {WINDOWS.format(positions)}}}",
        "1x2x11x4xf32, 2x3x4xf32",
        f"1x2x{(11 + 2 * pad - 2 * dilation - 1) // stride + 1}x4xf32",
    )
    for positions in (1, 2, 3, 4)
    for stride, pad, dilation in ((1, 1, 1), (2, 1, 1), (1, 0, 2), (3, 2, 1), (1, 2, 2))
]
CONVOLVED: list[Case] = [
    (
        f"blocked_conv %0, %1 {{{window(stride, pad, pad, dilation)}, group = 1, channels = {channels},"
        f" outputs = {outputs}, block = 4, {schedule}}}",
        f"2x{-(-channels // 4)}x11x4xf32, {-(-outputs // (4 * nr))}x{-(-channels // 4)}x3x4x{4 * nr}xf32",
        f"2x{-(-outputs // 4)}x{(11 + 2 * pad - 2 * dilation - 1) // stride + 1}x4xf32",
    )
    for nr, schedule in (
        (2, product(3, 2)),
        (2, product(3, 2, 2, "columns")),
        (1, product(4, 1, 4, "columns", ", prefetch")),
        (3, product(2, 3, 2)),
    )
    for stride, pad, dilation in ((1, 1, 1), (2, 1, 1), (1, 0, 2), (3, 2, 1))
    for channels, outputs in ((4, 12), (6, 4), (8, 20))
]
CONVOLVED_ROWS: list[Case] = [
    (
        f"conv %0, %1 {{{window(1, 0, 0)}, group = 1, {POSITIONS.format(mr, nr)}}}",
        f"2x3x{extent}xf32, {outputs}x3x3xf32",
        f"2x{outputs}x{extent - 2}xf32",
    )
    for mr, nr in ((1, 1), (2, 2), (3, 1))
    for extent in (9, 17)
    for outputs in (2, 3)
]
BIASED_ROWS: list[Case] = [
    (
        f"conv %0, %1, %2 {{{window(1, 0, 0)}, group = 1, {POSITIONS.format(2, 1)}}}",
        "2x3x9xf32, 3x3x3xf32, 3xf32",
        "2x3x7xf32",
    )
]
NARROW: list[Case] = [
    (
        f"narrow_conv %0, %1 {{{window(stride, pad, pad)}, {INNER.format(positions)}}}",
        f"2x2x13x4xf32, {outputs}x2x3x4xf32",
        f"2x{outputs}x{(13 + 2 * pad - 3) // stride + 1}xf32",
    )
    for positions in (1, 2, 4)
    for stride, pad in ((1, 1), (2, 1), (1, 0))
    for outputs in (1, 3)
]
RESAMPLED: list[Case] = [
    (
        f"resample %0, %1, %2 {{axis = {axis}, schedule = #graph.resample_schedule<lanes = 4,"
        f" rows = {rows}, registers = {registers}>}}",
        f"{x}, {result.split('x')[axis]}x{taps}xi64, {result.split('x')[axis]}x{taps}xf32",
        result,
    )
    for rows, registers in ((1, 1), (2, 2), (4, 1))
    for taps in (2, 4, 5)
    for axis, x, result in (
        (0, "6x3x10xf32", "11x3x10xf32"),
        (1, "3x6x8xf32", "3x5x8xf32"),
        (0, "10x6xf32", "12x6xf32"),
    )
]
OTHERS: list[Case] = [
    (
        "regroup_channels %0 {sources = array<i64: 0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15>,"
        f" schedule = #graph.elementwise_schedule<lanes = 4, registers = {registers}>}}",
        "1x4x7x4xf32",
        "1x4x7x4xf32",
    )
    for registers in (1, 2, 4)
] + [
    (
        f"blocked_depthwise_conv %0, %1 {{{window2(1, 1)}, {WINDOWS.format(positions)}}}",
        "1x2x5x6x4xf32, 2x3x3x4xf32",
        "1x2x5x6x4xf32",
    )
    for positions in (1, 4)
]

WIDE: list[Case] = [
    (line, operands.replace("f32", "f64"), result.replace("f32", "f64"))
    for line, operands, result in [*(each for each in NORMALIZED if each[0].startswith("normalize")), *REDUCED[:9]]
]
"""The same of f64."""
NARROWER: list[Case] = [
    (along_lanes("sum", axis, schedule), operand.replace("f32", "i32"), result.replace("f32", "i32"))
    for schedule in (rows(2), rows(1, 2))
    for axis, operand, result in ((1, "3x10xf32", "3xf32"), (0, "5x6xf32", "6xf32"))
]

CASES = [
    *(PRODUCTS + TURNED + PACKED + REDUCED + POSITIONS_OF_EXTREMES + TOTALS + NORMALIZED),
    *(WIDE + NARROWER),
    *(POOLED + POOLED_ROWS + DEPTHWISE + CONVOLVED + CONVOLVED_ROWS + BIASED_ROWS + NARROW + RESAMPLED + OTHERS),
]


@pytest.mark.parametrize("number", range(len(CASES)), ids=lambda number: f"{number} {CASES[number][0].split()[0]}")
def test_nests_give_what_loops_give(number: int) -> None:
    op = anchor(*CASES[number])
    given = arrays(op)
    if op.name == "graph.resample":
        given[1] %= shape_of(op.operands[0])[op.axis]  # pyright: ignore
    check(op, given)
