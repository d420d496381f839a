"""Nests of blocked reductions and results, and of algorithms with buffers, in numpy, against the loops."""

from __future__ import annotations

import numpy as np
import pytest
from kernels.nests import Case, anchor, arrays, check

from aotc.passes.kernel.nests.products.few_bits_nest import row_axis


def product(mr: int, nr: int, unroll: int = 1, more: str = "order = columns") -> str:
    return f"schedule = #graph.matmul_schedule<lanes = 4, mr = {mr}, nr = {nr}, unroll = {unroll}, {more}>"


def columns(mr: int, nr: int, unroll: int, more: str) -> str:
    return product(mr, nr, unroll, f"order = columns, {more}")


def blocks(count: int, size: int = 4) -> int:
    return -(-count // size)


def window(strides: str, pads: str, dilations: str = "1, 1") -> str:
    return f"strides = array<i64: {strides}>, pads = array<i64: {pads}>, dilations = array<i64: {dilations}>"


def convolution(
    shape: str, channels: int, outputs: int, schedule: str, more: str, kernel: str, name: str = "conv"
) -> Case:
    """One of blocked tensors [2, blocks, `shape`, 4] with a bias; `kernel` is the shape of its windows."""
    width = 4 * int(schedule.split("nr = ")[1].split(",")[0])
    group = int(more.split("group = ")[1].split(",")[0])
    x, panels = blocks(channels), blocks(outputs, width)
    return (
        f"blocked_{name} %0, %1, %2 {{{more}, channels = {channels}, outputs = {outputs}, block = 4, {schedule}}}",
        f"2x{x}x{shape}x4xf32, {panels}x{x if group == 1 else 1}x{kernel}x4x{width}xf32, {blocks(outputs) * 4}xf32",
        1 + ("kc" in schedule),
    )


PARTIAL_SUMS: list[Case] = [
    (
        f"packed_matmul %0, %1 {{columns = {n}, {columns(3, nr, 2, f'kc = {kc}')}}}",
        f"{m}x{depth}xf32, {blocks(n, 4 * nr)}x{depth}x{4 * nr}xf32",
        2,
    )
    for nr, m, n in ((1, 3, 8), (2, 7, 13))
    for kc, depth in ((4, 11), (5, 5), (3, 6), (4, 7), (9, 7))
]
SAME = window("1, 1", "1, 1, 1, 1")
CONVOLVED: list[Case] = [
    convolution("3x4", channels, outputs, schedule, f"{SAME}, group = 1", "3x3")
    for channels, outputs, schedules in (
        (
            6,
            12,
            (
                product(3, 2, 1, "order = rows"),
                product(4, 2, 2),
                *(columns(4, 2, 2, f"mc = {rows}") for rows in (1, 2, 3)),
                columns(3, 2, 1, "mc = 2, prefetch"),
            ),
        ),
        (10, 12, [columns(3, 2, 2, f"kc = {kc}") for kc in (1, 36, 72, 200)]),
        (8, 8, [columns(3, 2, 2, "kc = 40")]),
    )
    for schedule in schedules
] + [convolution("7", 8, 16, product(3, 1), f"{window('1', '1, 1', '1')}, group = 2", "3")]
TRANSPOSED: list[Case] = [
    convolution(
        "5",
        4,
        8,
        product(2, 2),
        f"{window(str(stride), f'{pad}, {pad}', '1')}, output_padding = array<i64: 0>, group = 1",
        "3",
        "conv_transpose",
    )
    for stride in (1, 2, 3)
    for pad in (0, 1)
]
STRASSEN: list[Case] = [
    (
        f"strassen_matmul %0, %1 {{columns = {n}, left = {left}, block_rows = {rows}, {product(3, 1, 2, more)}}}",
        f"{batch}{m}x{depth}xf32, {blocks(left)}x7x{blocks(depth, 2)}x4xf32",
        3,
    )
    for more in ("order = columns", "order = columns, prefetch")
    for batch, m, n, depth, left, rows in (
        ("", 5, 7, 9, 4, 6),
        ("2x", 9, 8, 8, 4, 4),
        ("", 4, 14, 11, 8, 2),
        ("", 3, 8, 17, 4, 4),
    )
]
FEW_BITS: list[Case] = [
    (
        f"few_bits_matmul %0, %1, %2{points} {{columns = {n}, bits = {bits}, block = {block}, point = {point}, to = f32"
        + f", kc = {kc} : i64" * (kc > 0)
        + f", schedule = #graph.few_bits_schedule<lanes = 4, mr = {mr}, nr = 2, unroll = {unroll}"
        + f", kc = {kc}" * (kc > 0)
        + ">}",
        f"{rows}x{depth}xf32, {blocks(n, 8)}x{blocks(depth, 32 // bits)}x8xi32,"
        f" {blocks(n, 8)}x{blocks(depth, block)}x8xf32"
        + f", {blocks(n, 8)}x{blocks(depth, block)}x8xui8"
        * bool(points),
        1 + (kc > 0),
    )
    for points, point in (("", 0.0), ("", 8.0), (", %3", 0.0), (", %3", 3.0))
    for bits, block, kc, mr, unroll in ((4, 16, 0, 1, 1), (4, 16, 16, 3, 2), (8, 8, 0, 2, 2), (8, 8, 8, 2, 1))
    for rows, n, depth in (("1", 13, 40), ("3x2x1", 8, 20))
]
FOLDED: list[Case] = [
    (
        f"fold %0 {{image = array<i64: {image}>, kernel = array<i64: 3>, {window(str(stride), pads, str(dilation))},"
        f" schedule = #graph.positions_schedule<lanes = 4, mr = 1, nr = {nr}>}}",
        f"1x6x{(image + sum(map(int, pads.split(', '))) - 2 * dilation - 1) // stride + 1}xf32",
        1,
    )
    for nr in (1, 2)
    for image, stride, pads, dilation in ((9, 1, "1, 1", 1), (11, 2, "1, 0", 1), (23, 1, "2, 0", 2), (13, 3, "0, 2", 1))
]
CASES = [*PARTIAL_SUMS, *CONVOLVED, *TRANSPOSED, *STRASSEN, *FEW_BITS, *FOLDED]


@pytest.mark.parametrize("number", range(len(CASES)), ids=lambda number: f"{number} {CASES[number][0].split()[0]}")
def test_nests_give_what_loops_give(number: int) -> None:
    op = anchor(*CASES[number])
    given = arrays(op)
    if op.name == "graph.few_bits_matmul":
        given[1] = np.random.default_rng(3).integers(-(2**31), 2**31, given[1].shape, dtype=np.int32)
    check(op, given)


def test_rows_are_neighbours_along_the_last_axis_of_several() -> None:
    assert [row_axis(extents) for extents in ((3, 2), (3, 2, 1), (2, 1, 1), (1, 1))] == [1, 1, 0, 1]
