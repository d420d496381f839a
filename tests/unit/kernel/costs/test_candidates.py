"""Schedules near a chosen one, on a machine with 16 registers and one with 8."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from codegens.tested_targets import AVX2

from aotc.dialects.graph.schedules import (
    ElementwiseSchedule,
    FewBitsSchedule,
    InnerProductSchedule,
    MatmulSchedule,
    PositionsSchedule,
    ResampleSchedule,
    RowSchedule,
    Schedule,
    SumsSchedule,
    WindowSchedule,
)
from aotc.machines.machine import Machine
from aotc.passes.kernel.costs.candidates import near

MACHINE = AVX2.core
assert isinstance(MACHINE, Machine)
SMALL = replace(MACHINE, registers=8)
PRODUCT = MatmulSchedule(8, 4, 2, 2, "rows")

# Accumulators, a row of vectors and a broadcast fit 16 registers: 14 rows of one, 6 of two, 4 of three, 2 of four.
AROUND_4X2 = [(3, 1), (4, 1), (5, 1), (13, 1), (14, 1), (3, 2), (5, 2), (6, 2), (3, 3), (4, 3), (1, 4), (2, 4)]
POWERS = [(1, 1), (1, 2), (1, 4), (1, 8), (2, 1), (2, 2), (2, 4), (4, 1), (4, 2), (8, 1)]
"""With a product of at most 8."""


@pytest.mark.parametrize(
    ("schedule", "others"),
    [
        (FewBitsSchedule(8, 1, 2, 2), [(1, 1, 2), (1, 3, 2), (1, 4, 2), (1, 2, 1), (1, 2, 4)]),
        (FewBitsSchedule(8, 1, 1, 1), [(1, 2, 1), (1, 1, 2), (1, 1, 4)]),
        (InnerProductSchedule(8, 8), [4, 2, 1]),
        (InnerProductSchedule(8, 2), [8, 4, 1]),
        (PositionsSchedule(8, 4, 2), AROUND_4X2),
        (PositionsSchedule(8, 1, 1), [(2, 1), (13, 1), (14, 1), (1, 2), (2, 2), (5, 2), (6, 2)]),
        (RowSchedule(8, 3, rows=4, stages=2), [(stages, rows) for stages, rows in POWERS if (stages, rows) != (2, 4)]),
        (RowSchedule(8, 3, rows=2), [(stages, rows) for stages, rows in POWERS if (stages, rows) != (1, 2)]),
        (RowSchedule(8, 3), [1, 2, 4, 6, 8, 12]),
        (ResampleSchedule(8, 4, 2), [size for size in POWERS if size != (4, 2)]),
        (ElementwiseSchedule(8, 4), [1, 2, 3, 6, 8, 12]),
        (WindowSchedule(8, 12), [1, 2, 3, 4, 6, 8]),
        (SumsSchedule(1, 2, 2), []),
    ],
    ids=str,
)
def test_others_of_its_kind(schedule: Schedule, others: Sequence[object]) -> None:
    def numbers(found: Schedule) -> object:
        match found:
            case FewBitsSchedule():
                return found.mr, found.nr, found.unroll
            case InnerProductSchedule() | WindowSchedule():
                return found.positions
            case PositionsSchedule():
                return found.mr, found.nr
            case RowSchedule() if isinstance(schedule, RowSchedule) and schedule.rows * schedule.stages > 1:
                return found.stages, found.rows
            case ResampleSchedule():
                return found.rows, found.registers
            case RowSchedule() | ElementwiseSchedule():
                return found.registers
            case _:
                raise AssertionError(found)

    found = list(near(schedule, MACHINE))
    assert sorted(map(numbers, found), key=str) == sorted(others, key=str)
    assert all(type(each) is type(schedule) and each.lanes == schedule.lanes for each in found)


def test_counts_leave_a_register() -> None:
    assert [each.registers for each in near(ElementwiseSchedule(8, 4), SMALL)] == [1, 2, 3, 6]  # pyright: ignore


def test_other_products() -> None:
    found = list(near(PRODUCT, MACHINE))
    tiles = [(each.mr, each.nr) for each in found if isinstance(each, MatmulSchedule)]
    assert sorted(set(tiles) - {(4, 2)}, key=str) == sorted(AROUND_4X2, key=str)
    rest = [each for each, tile in zip(found, tiles, strict=True) if tile == (4, 2)]
    assert rest == [replace(PRODUCT, order="columns"), *(replace(PRODUCT, unroll=unroll) for unroll in (1, 4, 8))]


@pytest.mark.parametrize("prefetch", [False, True])
def test_other_products_by_columns(*, prefetch: bool) -> None:
    """They have the other prefetching, and without a block of rows where they have one."""
    by_columns = replace(PRODUCT, order="columns", prefetch=prefetch, mc=7)
    rest = [each for each in near(by_columns, MACHINE) if (each.mr, each.nr) == (4, 2)]  # pyright: ignore
    assert rest == [
        PRODUCT,
        replace(by_columns, mc=None),
        *(replace(by_columns, unroll=unroll) for unroll in (1, 4, 8)),
        replace(by_columns, prefetch=not prefetch),
    ]


def test_the_other_order_has_no_partial_sums() -> None:
    partial = replace(PRODUCT, order="columns", kc=9)
    assert PRODUCT in near(partial, MACHINE)
