"""The cost model of direct convolution, on a machine whose numbers are easy to reckon with (`plain_machine`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from kernels.plain_machine import MACHINE, TILES
from xdsl.dialects.builtin import f16, f32, f64, i8, i32
from xdsl.ir import Attribute

from aotc.dialects.graph.schedules import InnerProductSchedule, MatmulSchedule, PositionsSchedule
from aotc.passes.kernel.costs.conv_cost import (
    conv_cycles,
    conv_schedule,
    narrow_schedule,
    positions_schedule,
    rows_in_l2,
)
from aotc.passes.kernel.costs.product_cost import product_cycles

AT_ONCE = replace(MACHINE, tiles=replace(TILES, start_cycles=0))


@pytest.mark.parametrize(
    ("kind", "channels", "outputs", "taps", "groups", "narrow"),
    [
        # of eight channels, an output takes a cycle for each tap, three shuffles and an addition; direct eight a tap
        (f32, 8, 1, 1, 1, True),
        (f32, 8, 4, 4, 1, True),  # 32 cycles of 32
        (f32, 8, 5, 4, 1, False),
        (f32, 16, 5, 4, 1, True),
        (f64, 8, 1, 1, 1, True),
        (f32, 8, 1, 1, 2, False),
        (f32, 12, 1, 9, 1, False),  # padding lanes
        (f32, 0, 1, 9, 1, False),
        (f32, 8, 0, 9, 1, False),
        (f32, 8, 1, 0, 1, False),
        (i32, 8, 1, 9, 1, False),
        (i8, 8, 1, 9, 1, False),
    ],
)
def test_inner_products(kind: Attribute, channels: int, outputs: int, taps: int, groups: int, *, narrow: bool) -> None:
    found = narrow_schedule(MACHINE, kind, channels, outputs, taps, groups)
    lanes = 4 if kind == f64 else 8
    assert found == (InnerProductSchedule(lanes, lanes) if narrow else None)
    assert narrow_schedule(replace(MACHINE, vector_bytes=4), f32, channels, outputs, taps, groups) is None


@pytest.mark.parametrize(
    ("kind", "positions", "outputs", "depth", "tile"),
    [
        (f32, 8, 7, 9, (7, 1)),
        (f32, 16, 2, 9, (2, 2)),
        (f32, 16, 8, 9, None),  # output channels fill the lanes
        (f64, 8, 3, 9, (3, 2)),
        (f64, 8, 4, 9, None),
        (f16, 16, 2, 9, None),
        (i32, 16, 2, 9, (2, 2)),
        (i8, 16, 0, 9, None),
        (f32, 0, 2, 9, None),
        (f32, 8, 0, 9, None),
        (f32, 8, 2, 0, None),
    ],
)
def test_positions_in_lanes(
    kind: Attribute, positions: int, outputs: int, depth: int, tile: tuple[int, int] | None
) -> None:
    found = positions_schedule(MACHINE, kind, positions, outputs, depth)
    assert found == (None if tile is None else PositionsSchedule(4 if kind == f64 else 8, *tile))


@pytest.mark.parametrize(
    ("extents", "sizes", "panels", "rows"),
    [
        # a panel of the weight leaves the rest of 4096 bytes
        ((8, 2), (4096, 8192), 4, 3),  # three of eight rows fit in 3072
        ((8,), (4096, 8192), 4, None),
        ((8, 2), (4096, 3072), 4, None),  # all fit
        ((8, 2), (4096, 3073), 4, 4),  # two equal blocks
        ((8, 2), (4096, 40000), 4, None),  # no row fits
        ((8, 2), (16384, 8192), 4, None),  # no room
        ((8, 2), (20000, 8192), 4, None),
        ((5, 2), (2048, 8192), 2, None),  # five times the weight are as much as the operand once more
        ((5, 2), (2048, 8192), 3, 2),
    ],
)
def test_rows_in_l2(extents: Sequence[int], sizes: tuple[int, int], panels: int, rows: int | None) -> None:
    assert rows_in_l2(MACHINE, extents, sizes, panels) == rows


def test_schedules_of_convolution() -> None:
    def found(outputs: int, channels: int, extents: Sequence[int], operand: int, lines: float = 1) -> object:
        machine = replace(AT_ONCE, tiles=replace(AT_ONCE.tiles, prefetch_lines=lines))
        return conv_schedule(machine, f32, operand, extents, outputs, channels, (1,))

    by_rows, by_columns = MatmulSchedule(8, 2, 2, 1, "rows"), MatmulSchedule(8, 2, 2, 1, "columns", prefetch=True)
    assert found(16, 8, (4, 2), 64) == by_rows
    # A quarter of a line of the next panel comes in each step of eight positions.
    assert found(32, 8, (4, 2), 64) == by_columns
    assert found(32, 8, (4, 2), 64, 0.2) == replace(by_columns, prefetch=False)
    # Of eight rows three stay in L2 at a time: a third of a line in each step, not an eighth.
    assert found(64, 16, (8, 2), 2048) == replace(by_columns, mc=3)
    assert found(64, 16, (8, 2), 2048, 0.2) == replace(by_columns, mc=3, prefetch=False)
    assert found(64, 8, (8, 2), 2048) == by_rows  # the weight stays in L2
    for sizes in ((0, 8, (4, 2)), (32, 0, (4, 2)), (32, 8, (4, 0)), (32, 8, (0, 2))):
        assert found(*sizes, 64) is None
    assert conv_schedule(AT_ONCE, i8, 64, (4, 2), 32, 8, (1,)) is None


def test_partial_sums_are_of_panels() -> None:
    """Whatever the order would be, and without blocks of rows."""
    found = conv_schedule(MACHINE, f32, 2048, (8, 2), 32, 96, (1,))
    assert found == MatmulSchedule(8, 2, 4, 1, "columns", prefetch=True, kc=32)


def test_groups() -> None:
    """Of 16 groups of two channels a panel of eight outputs reads eight channels, one of 16 reads 16."""
    found = conv_schedule(AT_ONCE, f32, 256, (4, 2), 32, 32, (9,), 16)
    assert found is not None
    assert (found.mr, found.nr, found.kc) == (2, 1, None)
    narrow, wide = (MatmulSchedule(8, 2, columns) for columns in (1, 2))
    assert conv_cycles(AT_ONCE, narrow, (4, 2), 32, 32, (9,), 16) == 4 * product_cycles(AT_ONCE, narrow, 2, 32, 8 * 9)
    assert conv_cycles(AT_ONCE, wide, (4, 2), 32, 32, (9,), 16) == 4 * product_cycles(AT_ONCE, wide, 2, 32, 16 * 9)
    assert conv_cycles(AT_ONCE, wide, (4, 2), 32, 21, (9,)) == 4 * product_cycles(AT_ONCE, wide, 2, 32, 21 * 9)
    # Of two groups of 16 one of 16 outputs reads 16, too, and one of 24 or 32 reads all.
    found = conv_schedule(MACHINE, f32, 256, (4, 2), 32, 32, (1,), 2)
    assert found is not None
    assert (found.mr, found.nr) == (2, 2)
    # Blocks of steps are for one group alone.
    deep = conv_schedule(MACHINE, f32, 2048, (8, 2), 64, 192, (1,), 2)
    assert deep is not None
    assert deep.kc is None
