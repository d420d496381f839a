"""Lanes, and registers of rows, on a machine with 16 registers of 32 bytes, four sums and 12 or 24 rows at once."""

from __future__ import annotations

from dataclasses import replace

import pytest
from codegens.tested_targets import AVX2
from xdsl.dialects.builtin import bf16, f16, f32, f64, i8, i32
from xdsl.ir import Attribute

from aotc.dialects.dtypes import ELEMENT_TYPES
from aotc.dialects.graph.schedules import ElementwiseSchedule, RowSchedule
from aotc.machines.machine import Machine
from aotc.passes.kernel.costs.lanes import (
    axis_of_lanes,
    axis_of_steps,
    elementwise_schedule,
    lanes_of,
    lanes_of_products,
    reduction_schedule,
    row_schedule,
)

MACHINE = AVX2.core
assert isinstance(MACHINE, Machine)
E4M3 = ELEMENT_TYPES["float8_e4m3fn"]


@pytest.mark.parametrize(
    ("kind", "lanes", "of_products"),
    [(f32, 8, 8), (f64, 4, 4), (f16, 8, 8), (bf16, 8, 8), (E4M3, 1, 1), (i32, 1, 8), (i8, 1, 1)],
)
def test_lanes(kind: Attribute, lanes: int, of_products: int) -> None:
    assert lanes_of(MACHINE, kind) == lanes
    assert lanes_of_products(MACHINE, kind) == of_products
    assert lanes_of(replace(MACHINE, vector_bytes=4), kind) == 1


@pytest.mark.parametrize(("kinds", "lanes"), [([f32], 8), ([i8, f64], 4), ([i8], 8), ([f16, i8], 8)])
def test_elementwise_kernels_have_the_lanes_of_the_widest_type(kinds: list[Attribute], lanes: int) -> None:
    assert elementwise_schedule(MACHINE, kinds) == ElementwiseSchedule(lanes, 4)


def test_one_lane_is_no_vector() -> None:
    two, one = replace(MACHINE, vector_bytes=8), replace(MACHINE, vector_bytes=4)
    assert elementwise_schedule(two, [f32]) == ElementwiseSchedule(2, 4)
    assert elementwise_schedule(two, [f64]) is None
    assert elementwise_schedule(one, [f32]) is None


@pytest.mark.parametrize(
    ("shape", "axes", "lanes", "steps"),
    [
        ((3, 5), (0, 1), 1, 0),
        ((3, 5), (1,), 1, None),
        ((3, 5, 1), (1, 2), 1, None),
        ((3, 1, 5), (1,), 2, None),
        ((3, 2, 5), (0, 1), 2, 1),
        ((1, 1), (0,), 1, None),
        ((4, 1), (0,), 0, None),
        ((2, 1), (1,), 0, None),
    ],
)
def test_axes(shape: tuple[int, ...], axes: tuple[int, ...], lanes: int, steps: int | None) -> None:
    assert axis_of_lanes(shape) == lanes
    assert axis_of_steps(shape, axes) == steps


@pytest.mark.parametrize(
    ("shape", "axes", "schedule"),
    [
        # along the lanes: as many rows at once as 12 and 24 registers have room for
        ((3, 8), (1,), RowSchedule(8, 1, rows=8, stages=1)),
        ((3, 16), (1,), RowSchedule(8, 2, rows=4, stages=2)),
        ((3, 100), (1,), RowSchedule(8, 13, rows=1, stages=4)),
        ((3, 128), (1,), RowSchedule(8, 16, rows=1, stages=4)),
        ((3, 129), (1,), RowSchedule(8, 4)),  # 17 registers do not fit: four at a time
        # across the lanes: all steps in registers where they fit, beside each other up to four sums
        ((3, 10, 6), (1,), RowSchedule(8, 1, 10)),
        ((3, 2, 60), (1,), RowSchedule(8, 2, 2)),
        ((3, 16, 6), (1,), RowSchedule(8, 1, 16)),
        ((3, 16, 20), (1,), RowSchedule(8, 1, 16)),
        ((3, 17, 6), (1,), RowSchedule(8, 1, 4)),
        ((1, 3, 6), (0, 1), RowSchedule(8, 1, 3)),
        ((2, 3, 6), (0, 1), RowSchedule(8, 1, 3)),
        ((2, 9, 6), (0, 1), RowSchedule(8, 1, 3)),  # read again: a loop over the outer axis
        # both: steps times registers
        ((3, 4, 20), (1, 2), RowSchedule(8, 3, 4)),
        ((3, 4, 32), (1, 2), RowSchedule(8, 4, 4)),
        ((3, 5, 30), (1, 2), RowSchedule(8, 4, 1)),
        ((3, 1, 16), (1, 2), RowSchedule(8, 2, rows=4, stages=2)),
    ],
)
def test_rows_that_are_read_again(shape: tuple[int, ...], axes: tuple[int, ...], schedule: RowSchedule) -> None:
    assert row_schedule(MACHINE, f32, shape, axes) == schedule


@pytest.mark.parametrize(
    ("shape", "axes", "schedule"),
    [
        ((3, 8), (1,), RowSchedule(8, 1)),
        ((3, 40), (1,), RowSchedule(8, 3)),  # five registers in two parts
        ((3, 100), (1,), RowSchedule(8, 4)),
        ((3, 10, 6), (1,), RowSchedule(8, 1, 4)),
        ((3, 10, 12), (1,), RowSchedule(8, 2, 2)),
        ((3, 10, 60), (1,), RowSchedule(8, 4, 1)),
    ],
)
def test_rows_that_are_read_once(shape: tuple[int, ...], axes: tuple[int, ...], schedule: RowSchedule) -> None:
    assert reduction_schedule(MACHINE, f32, shape, axes) == schedule


@pytest.mark.parametrize(
    ("kind", "shape", "axes"), [(i32, (3, 8), (1,)), (f32, (3, 8), ()), (f32, (1, 1), (1,)), (f32, (0, 8), (1,))]
)
def test_rows_without_vectors(kind: Attribute, shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    for schedule in (row_schedule, reduction_schedule):
        assert schedule(MACHINE, kind, shape, axes) is None
        assert schedule(MACHINE, f32, (1, 2), (1,)) is not None
