"""Nests of recurrent layers, and of Winograd's algorithm, in numpy, against the loops of the operation."""

from __future__ import annotations

import numpy as np
import pytest
from kernels.nests import Case, anchor, arrays, check


def schedule(mr: int, nr: int, more: str = "", units: int = 1) -> str:
    return f"schedule = #graph.recurrence_schedule<lanes = 4, mr = {mr}, nr = {nr}, unroll = 1, units = {units}{more}>"


def given(*present: int, of: int = 9) -> str:
    """Which operands there are."""
    return f"operandSegmentSizes = array<i32: {', '.join(str(int(place in present)) for place in range(of))}>"


def blocks(count: int, size: int = 4) -> int:
    return -(-count // size)


ONE = 'activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>'
THREE = (
    'activations = ["sigmoid", "tanh", "tanh"], alphas = array<f64: 0.0, 0.0, 0.0>, betas = array<f64: 0.0, 0.0, 0.0>'
)
STATES: list[Case] = [
    (
        f"rnn %0, %1 {{{given(0, 1)}, {ONE}, {schedule(mr, nr, turned, mr)}}}",
        f"3x{batch}x{units}xf32, {blocks(units, 4 * nr)}x{units}x{4 * nr}xf32",
        4,
    )
    for turned in ("", ", turned")
    for mr, nr in ((2, 1), (1, 2))
    for batch, units in ((1, 10), (3, 6), (1, 16), (2, 8))
]
INPUTS: list[Case] = [
    (
        f"rnn %0, %1, %2, %3 {{{given(0, 1, 4, 5)}, {ONE}, {schedule(1, 1, ahead + turned)}}}",
        f"{steps}x1x{inputs}xf32, {blocks(units)}x{units}x4xf32,"
        f" {blocks(units, 4 * across)}x{inputs}x{4 * across}xf32, {units}xf32",
        4,
    )
    for turned in ("", ", turned")
    for steps, inputs, units, rows, across, beside in (
        (9, 5, 8, 3, 1, 2),
        (10, 7, 12, 2, 3, 1),
        (8, 9, 8, 4, 1, 1),
        (2, 5, 8, 3, 1, 2),
        (13, 4, 16, 3, 2, 2),
    )
    for ahead in (f", ahead = {rows}, across = {across}, beside = {beside}",)
]
FOLLOWED: list[Case] = [
    (
        f"rnn %0, %1, %2, %3 {{{given(0, 1, 7, 8)}, {ONE}, leading = {leading} : i64,"
        f" {schedule(1, 1, f', leading = {leading}, following = {beside}')}}}",
        f"9x1x8xf32, 2x8x4xf32, {panels}x8x{width}xf32, {panels * width}xf32",
        5,
    )
    for leading, panels, width, beside in ((4, 3, 4, 2), (6, 3, 4, 2), (4, 2, 8, 1))
]
GATED: list[Case] = [
    (
        f"lstm %0, %1 {{{given(0, 1, of=11)}, {THREE}, {schedule(2, nr)}}}",
        f"3x{batch}x20xf32, {5 // nr + 5 % nr}x5x{4 * nr}xf32",
        6,
    )
    for nr in (1, 2)
    for batch in (1, 3)
]
ROUNDED: list[Case] = [
    (
        f"rounded_lstm %0, %1, %2, %3 {{{given(0, 1, 11, 12, of=14)}, {THREE}, state_type = {kind},"
        f" {schedule(mr, 1)}}}",
        f"2x{batch}x{4 * units}xf32, {units}x{blocks(units)}x16xi8, {4 * units}xf32, {4 * units}xi32",
        7,
    )
    for kind in ("i8", "ui8")
    for mr, batch, units in ((1, 1, 6), (2, 3, 4))
]
WINOGRAD: list[Case] = [
    (
        f"winograd_conv %0, %1, %2 {{pads = array<i64: {pads}>, channels = {channels}, outputs = {outputs},"
        f" output_tile = {tile}, tile_rows = {rows}{more},"
        f" schedule = #graph.matmul_schedule<lanes = 4, mr = 3, nr = {nr}, unroll = 2, order = columns>}}",
        f"{images}x{blocks(channels) + ('parts = array' in more)}x{shape}x4xf32,"
        f" {blocks(outputs, 4 * nr)}x{(tile + 2) ** 2}x{channels}x{4 * nr}xf32, {blocks(outputs) * 4}xf32",
        3,
    )
    for tile, rows, nr, images, channels, outputs, shape, pads, more in (
        (2, 1, 1, 1, 5, 8, "5x6", "1, 1, 1, 1", ""),
        (4, 2, 2, 2, 8, 12, "9x7", "0, 1, 2, 0", ""),
        (2, 3, 1, 2, 4, 4, "6x4", "1, 1, 1, 1", ", row_parts = 2"),
        (2, 2, 1, 1, 4, 12, "5x5", "1, 0, 1, 0", ", row_parts = 3, panel_parts = 2"),
        (2, 2, 2, 1, 4, 12, "5x4", "1, 1, 1, 1", ", panel_parts = 2"),
        (2, 2, 1, 1, 8, 4, "4x4", "1, 1, 1, 1", ", parts = array<i64: 3, 5>"),
    )
]
CASES = [*STATES, *INPUTS, *FOLLOWED, *GATED, *ROUNDED, *WINOGRAD]


@pytest.mark.parametrize("number", range(len(CASES)), ids=lambda number: f"{number} {CASES[number][0].split()[0]}")
def test_nests_give_what_loops_give(number: int) -> None:
    op = anchor(*CASES[number])
    operands = arrays(op)
    if op.name != "graph.winograd_conv":  # what activations tell apart
        operands = [each / 32 if each.dtype == np.float32 else each for each in operands]
    check(op, operands)
