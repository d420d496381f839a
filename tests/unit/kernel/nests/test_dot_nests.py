"""Nests of products of bytes, in numpy, against the loops of the operation."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from kernels.evaluated import Array
from kernels.nests import Case, anchor, arrays, check

from aotc.dialects.graph.interfaces import AnchorOp, shape_of
from aotc.dialects.graph.packed.integers.dot_products import GROUP, PackedDotMatMulOp
from aotc.dialects.graph.packed.integers.paired_steps import PairedDotConvOp


def product(mr: int, nr: int, unroll: int = 1, more: str = "order = columns") -> str:
    return f"schedule = #graph.matmul_schedule<lanes = 4, mr = {mr}, nr = {nr}, unroll = {unroll}, {more}>"


def blocks(count: int, size: int = 4) -> int:
    return -(-count // size)


def window(strides: str, pads: str, dilations: str = "1, 1") -> str:
    return f"strides = array<i64: {strides}>, pads = array<i64: {pads}>, dilations = array<i64: {dilations}>"


WINDOWS = "schedule = #graph.window_schedule<lanes = 4, positions = {}>"
PACKED: list[Case] = [
    (
        f"packed_dot_matmul %0, %1, %2 {{{flags}{schedule}}}",
        f"{m}x{depth}x{kind}, {blocks(n, 8)}x{blocks(depth)}x32xi8, {n}xi32",
        1,
    )
    for kind, flags in (("ui8", ""), ("i8", "complement, "), ("i8", "narrow, "))
    for schedule in (product(3, 2, 1, "order = rows"), product(3, 2, 2))
    for m, n, depth in (("7", 13, 10), ("1", 8, 6), ("2x3", 16, 8))
]
CONVOLVED: list[Case] = [
    (
        f"blocked_dot_conv %0, %1, %2 {{{flags}{window('1, 1', '1, 1, 1, 1')}, group = 1, channels = 7, outputs = 12,"
        f" block = 4, {schedule}}}",
        f"1x2x3x5x4x{kind}, 2x2x3x3x1x32xi8, {cases}x12xi32",
        1,
    )
    for kind, flags in (("ui8", ""), ("i8", "complement, "))
    for cases, schedule in (("3x3", product(2, 2, 1, "order = rows")), ("1x3", product(3, 2, 2)))
]
PAIRED: list[Case] = [
    (
        f"paired_dot_conv %0, %1, %2, %3, %4 {{strides = array<i64: {stride}, 1>, extents = array<i64: 2, 5>,"
        f" products = 24, schedule = #graph.paired_schedule<lanes = 4, mr = {mr}, order = {order}{flag}>}}",
        f"2x2x4x5x8x{kind}, 2x7x16xi8, 2x7xi32, 2x2xi32, 8xi32",
        1,
    )
    for kind, flag in (("ui8", ", unsigned"), ("i8", ""))
    for mr, order, stride in ((2, "columns", 1), (5, "rows", 2))
]
DEPTHWISE: list[Case] = [
    (
        f"blocked_dot_depthwise_conv %0, %1, %2 {{{flag}{window(strides, pads)}, taps_across = {taps},"
        f" {WINDOWS.format(positions)}}}",
        f"1x2x4x{extent}x4x{kind}, 2x3x{blocks(taps)}x16xi8, {cases}x8xi32",
        1,
    )
    for kind, flag in (("ui8", ""), ("i8", "narrow, "))
    for positions in (1, 3)
    for taps, strides, pads, extent, cases in (
        (3, "1, 1", "1, 1, 1, 1", 11, "3x3"),
        (5, "2, 2", "0, 2, 0, 2", 9, "1x1"),
        (4, "1, 3", "1, 0, 1, 0", 13, "1x1"),
        (3, "1, 1", "1, 1, 1, 1", 3, "3x3"),
    )
]
BY_PAIRS: list[Case] = [
    (
        f"blocked_pair_depthwise_conv %0, %1, %2 {{{window(strides, pads, dilations)}, {WINDOWS.format(positions)}}}",
        f"1x2x{extent}x4x{kind}, 2x{kernel}x4xi8, {cases}x8xi32",
        1,
    )
    for kind in ("ui8", "i8")
    for positions in (1, 3)
    for kernel, strides, pads, dilations, extent, cases in (
        ("3x3", "1, 1", "1, 1, 1, 1", "1, 1", "4x7", "3x3"),
        ("4x2", "2, 2", "0, 2, 0, 1", "1, 1", "6x9", "1x1"),
        ("2x3", "1, 1", "1, 2, 0, 2", "1, 2", "3x8", "1x1"),
        ("1x3", "1, 1", "0, 0, 0, 0", "1, 1", "2x6", "1x1"),
        ("5", "1", "2, 2", "1", "9", "5"),
    )
]
WINOGRAD: list[Case] = [
    (
        f"winograd_conv %0, %1, %2 {{pads = array<i64: {pads}>, channels = {channels}, outputs = 8,{more}"
        f" output_tile = {tile}, tile_rows = {rows}, {product(2, 1)}}}",
        f"{images}x2x{shape}x4x{kind}, 2x1x3x3x{blocks(channels, 2)}x8xi8, 8xi32",
        4,
    )
    for tile, rows, images, channels, shape, pads, more, kind in (
        (4, 1, 1, 7, "5x6", "1, 1, 1, 1", " x_zero_point = 5, sum_bits = 20,", "i8"),
        (2, 3, 2, 8, "5x4", "0, 0, 1, 2", " sum_bits = 20,", "ui8"),
        (2, 2, 1, 8, "6x6", "0, 0, 1, 1", " sum_bits = 20, strides = array<i64: 2, 2>,", "ui8"),
        (2, 1, 1, 8, "4x4", "1, 1, 1, 1", " sum_bits = 20, row_parts = 2,", "i8"),
    )
]
CASES = [*PACKED, *CONVOLVED, *PAIRED, *DEPTHWISE, *BY_PAIRS, *WINOGRAD]


def prepared(op: AnchorOp) -> list[Array]:
    """Operands as the operation may have them."""
    given = arrays(op)
    weight = given[1].reshape(*given[1].shape[:-1], -1, GROUP)
    if isinstance(op, PackedDotMatMulOp) and op.complement:  # what there is not is multiplied by 0
        weight[:, -1, :, shape_of(op.lhs)[-1] % GROUP or GROUP :] = 0
    if op.name == "graph.blocked_dot_conv":
        weight[:, -1, :, :, -1, :, 3:] = 0
    if op.name == "graph.blocked_dot_depthwise_conv":
        weight[..., -1, :, op.taps_across - GROUP * (weight.shape[-3] - 1) :] = 0  # pyright: ignore
    if op.name == "graph.winograd_conv" and op.channels % 2:  # pyright: ignore
        given[1].reshape(*given[1].shape[:-1], -1, 2)[..., -1, :, 1] = 0
    if isinstance(op, PairedDotConvOp):
        pitch = prod(shape_of(op.x)[2:])
        places = [block * pitch + place for block in range(2) for place in (0, 4)]
        given[2] = np.array([(places * 2)[:7], (places * 2)[1:]], np.int32)
        given[3] = np.array([[2, 1], [0, 2]] if op.is_unsigned else [[0, 3], [0, 1]], np.int32)
    return given


@pytest.mark.parametrize("number", range(len(CASES)), ids=lambda number: f"{number} {CASES[number][0].split()[0]}")
def test_nests_give_what_loops_give(number: int) -> None:
    op = anchor(*CASES[number])
    check(op, prepared(op))
