"""Nests in the registers of cores without vectors, in numpy, against the loops of the operation."""

from __future__ import annotations

from math import prod

import pytest
from kernels.nests import Case, anchor, arrays, check


def schedule(positions: int, columns: int, word: int = 1, more: str = "", lanes: int = 1, unroll: int = 1) -> str:
    sizes = f"lanes = {lanes}, positions = {positions}, columns = {columns}, word = {word}, unroll = {unroll}"
    return f"schedule = #graph.sums_schedule<{sizes}{more}>"


def window(strides: str, pads: str, dilations: str = "1, 1") -> str:
    return f"strides = array<i64: {strides}>, pads = array<i64: {pads}>, dilations = array<i64: {dilations}>"


def convolution(
    given: tuple[int, int, int, str], axes: str, kernel: tuple[int, int], more: str, tile: str, kind: str = "i8"
) -> Case:
    """Of `given` (channels, outputs, groups, the extents of x) with windows of `kernel` taps."""
    channels, outputs, groups, extents = given
    columns, word = (tile.split(f"{name} = ")[1].split(",")[0] for name in ("columns", "word"))
    line, _, row = extents.rpartition("x")
    integers = ", accumulator = i32" if kind != "f32" else ""
    return (
        f"channels_last_conv %0, %1, %2 {{{axes}{integers}{more}, kernel_shape = array<i64: {kernel[0]}, {kernel[1]}>,"
        f" channels = {channels}, outputs = {outputs}, columns = {columns}, word = {word}, {tile}"
        + f", group = {groups}" * (groups > 1)
        + "}",
        f"1x{line}x{int(row) * channels}x{kind},"
        f" {outputs * prod(kernel) * channels // groups}x{kind}, {outputs}x{'i32' if integers else kind}",
        1 + ("patch" in tile),
    )


OUTSIDE = ", outside = -5 : i64"
POINT = ", x_zero_point = 3 : i64"
WINDOWS: list[tuple[str, tuple[int, int], str]] = [
    (window("1, 1", "0, 0, 0, 0"), (3, 3), POINT),
    (window("1, 1", "1, 1, 1, 1"), (3, 3), OUTSIDE),
    (window("2, 2", "0, 1, 1, 2"), (2, 3), OUTSIDE),
    (window("1, 1", "0, 2, 0, 2", "1, 2"), (1, 3), OUTSIDE),
    (window("1, 1", "1, 1, 1, 1"), (3, 3), ""),
    (window("1, 3", "0, 0, 0, 0"), (1, 2), POINT),
]
CONVOLVED: list[Case] = [
    *(
        convolution(
            (channels, 5, 1, "4x7"), axes, kernel, more.replace(OUTSIDE, ""), schedule(positions, columns, word, flags)
        )
        for axes, kernel, more in WINDOWS
        for channels, positions, columns, word, flags in (
            (2, 2, 2, 1, ""),
            (3, 1, 2, 1, ", specialized"),
            (2, 3, 1, 1, ", specialized, rolled"),
            (4, 2, 2, 4, ", specialized"),
            (3, 1, 1, 4, ""),
        )
    ),
    *(
        convolution((4, 4, 2, "3x5"), axes, kernel, more.replace(OUTSIDE, ""), schedule(2, columns, 1, flags))
        for axes, kernel, more in WINDOWS[:3]
        for columns, flags in ((2, ""), (1, ", specialized"))
    ),
    *(
        convolution((channels, 4, 1, "4x5"), axes, kernel, more, schedule(1, 4, 16, ", specialized, patch", 4))
        for axes, kernel, more in WINDOWS[1:4]
        for channels in (2, 6)
    ),
    convolution((3, 4, 1, "3x5"), WINDOWS[4][0], (3, 3), "", schedule(2, 2), "f32"),
]
DEPTHWISE: list[Case] = [
    (
        f"channels_last_depthwise_conv %0, %1, %2 {{{axes}, accumulator = i32{more},"
        f" {schedule(positions, columns, word, flags)}}}",
        f"1x1x4x7x{channels}xi8, {kernel[0]}x{kernel[1]}x{channels}xi8, {channels}xi32",
        1,
    )
    for axes, kernel, more in WINDOWS
    for channels, positions, columns, word, flags in (
        (5, 2, 2, 1, ""),
        (3, 1, 1, 1, ", specialized"),
        (6, 2, 4, 4, ", specialized"),
        (4, 2, 2, 1, ", specialized, rolled"),
    )
]
PRODUCTS: list[Case] = [
    (
        f"interleaved_matmul %0, %1, %2 {{accumulator = i32{more}, outputs = {outputs}, columns = {columns},"
        f" word = {word}, {schedule(positions, columns, word, flags, 1, unroll)}}}",
        f"{rows}x{depth}xi8, {outputs * depth}xi8, {outputs}xi32",
        1,
    )
    for more in ("", ", lhs_zero_point = 3 : i64", ", lhs_zero_point = -7 : i64, rhs_zero_point = 2 : i64")
    for rows, depth, outputs in ((3, 7, 5), (1, 8, 4), (2, 13, 3))
    for positions, columns, word, unroll, flags in (
        (2, 2, 1, 2, ""),
        (1, 3, 1, 1, ", rolled"),
        (2, 2, 4, 1, ""),
        (1, 1, 4, 2, ""),
    )
]
CASES = [*CONVOLVED, *DEPTHWISE, *PRODUCTS]


@pytest.mark.parametrize("number", range(len(CASES)), ids=lambda number: f"{number} {CASES[number][0].split()[0]}")
def test_nests_give_what_loops_give(number: int) -> None:
    op = anchor(*CASES[number])
    check(op, arrays(op))
