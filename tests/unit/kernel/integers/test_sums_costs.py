"""The cost model of sums in the registers of cores without vectors."""

from __future__ import annotations

from dataclasses import replace

import pytest

from aotc.dialects.aot import LANES, QUAD, STRIP, WORD
from aotc.dialects.graph.schedules import SumsSchedule
from aotc.dialects.graph.windows.sliding import SlidingWindow
from aotc.machines.families import CORTEX_M0, CORTEX_M3, CORTEX_M4, CORTEX_M4F, CORTEX_M55, RISCV32
from aotc.machines.machine import Core
from aotc.passes.kernel.costs.sums_cost import (
    depthwise_cycles,
    depthwise_schedule,
    has_words,
    patch_pays,
    quads_schedule,
    scheduled_cycles,
    spilled_values,
    strips_schedule,
    sums_cycles,
    sums_schedule,
)
from aotc.passes.kernel.nests.sums.position_axes import Axis, Stretch, last_axis, stretches

CORES = (CORTEX_M0, CORTEX_M3, CORTEX_M4, CORTEX_M4F, RISCV32)


@pytest.mark.parametrize("core", CORES, ids=lambda core: core.name)
@pytest.mark.parametrize("size", [False, True])
@pytest.mark.parametrize("sizes", [(125, 64, 64), (1, 4, 4000), (5, 3, 7), (1, 1, 1)])
def test_no_tile_is_cheaper_than_the_chosen_one_or_takes_less_stack(
    core: object, size: bool, sizes: tuple[int, int, int]
) -> None:
    assert isinstance(core, type(CORTEX_M0))
    positions, outputs, depth = sizes
    chosen = sums_schedule(core.scalars, *sizes, words=True, floats=False, size=size)
    assert chosen is not None
    words = chosen.word > 1

    def cycles(tile: tuple[int, int]) -> float:
        return sums_cycles(core.scalars, tile, positions, outputs, depth, words=words, floats=False)

    tiles = [
        (p, q)
        for p in range(1, 2 if size else 5)
        for q in range(1, 3 if size else 5)
        if p <= positions and q <= outputs
    ]

    def stack(tile: tuple[int, int]) -> int:
        return spilled_values(core.scalars, tile, words=words, floats=False)

    tile = chosen.positions, chosen.columns
    even = [each for each in tiles if cycles(each) <= core.scalars.sums.about * min(map(cycles, tiles))]
    assert tile in even and stack(tile) == min(map(stack, even))
    assert cycles(tile) == min(cycles(each) for each in even if stack(each) == stack(tile))


def test_few_instructions_less_are_no_reason_for_a_tile_on_the_stack() -> None:
    """Of a shallow sum: 16 sums, their factors and weights, of which a core has 13 registers."""
    unit, sizes = CORTEX_M4F.scalars, (16, 32, 16)
    by_count = sums_schedule(
        replace(unit, sums=replace(unit.sums, about=1)), *sizes, words=True, floats=False, size=False
    )
    chosen = sums_schedule(unit, *sizes, words=True, floats=False, size=False)
    assert by_count is not None and chosen is not None
    assert (by_count.positions, by_count.columns) == (4, 4) and (chosen.positions, chosen.columns) == (2, 2)


def test_more_registers_and_more_reuse_take_no_more_instructions() -> None:
    unit = CORTEX_M4.scalars
    for tile in ((2, 2), (3, 2), (4, 4)):
        few, many = (
            sums_cycles(replace(unit, registers=count), tile, 24, 24, 64, words=True, floats=False) for count in (8, 32)
        )
        assert many <= few
    with_room = replace(unit, registers=32)
    one, four = (sums_cycles(with_room, (n, n), 24, 24, 64, words=True, floats=False) for n in (1, 4))
    assert four < one / 2


def test_runs_need_vectors() -> None:
    assert all(strips_schedule(core.scalars, 8, 8, 64, size=False) is None for core in CORES)
    chosen = strips_schedule(CORTEX_M55.scalars, 3, 8, 64, size=False)
    assert chosen is not None and (chosen.positions, chosen.columns, chosen.word) == (3, 1, 8)
    small = strips_schedule(CORTEX_M55.scalars, 3, 8, 64, size=True)
    assert small is not None and small.positions == 1 and not small.specialized
    assert strips_schedule(CORTEX_M55.scalars, 3, 8, 0, size=False) is None


def test_quads_need_vectors_of_floats_and_four_outputs() -> None:
    unit = CORTEX_M55.scalars
    assert all(quads_schedule(core.scalars, 8, 8, 1, 64, size=False) is None for core in CORES)
    assert quads_schedule(replace(unit, fpu=False), 8, 8, 1, 64, size=False) is None
    assert quads_schedule(unit, 8, 3, 1, 64, size=False) is None
    chosen = quads_schedule(unit, 8, 9, 3, 48, size=False)
    assert chosen is not None and (chosen.lanes, chosen.columns, chosen.word) == (4, 4, 16) and chosen.specialized
    small = quads_schedule(unit, 8, 9, 3, 48, size=True)
    assert small is not None and not small.specialized
    assert quads_schedule(unit, 8, 9, 9, 1, size=False) is None  # a byte of a register at a time


def test_patches_pay_for_short_runs_and_many_outputs() -> None:
    unit = CORTEX_M55.scalars
    assert patch_pays(unit, 64, 10, 4) and not patch_pays(unit, 4, 10, 4)
    assert not patch_pays(unit, 64, 3, 48) and not patch_pays(unit, 64, 1, 4)


def test_words_need_an_instruction_for_two_products_and_loads_at_any_byte() -> None:
    assert [has_words(core.scalars) for core in CORES] == [False, False, True, True, False]
    assert has_words(CORTEX_M55.scalars)
    assert not has_words(replace(CORTEX_M4.scalars, unaligned=False))
    for core in CORES:
        schedule = sums_schedule(core.scalars, 8, 8, 64, words=True, floats=False, size=False)
        assert schedule is not None and (schedule.word == 4) == has_words(core.scalars)
    no_bytes = sums_schedule(CORTEX_M4.scalars, 8, 8, 64, words=False, floats=False, size=False)
    assert no_bytes is not None and no_bytes.word == 1
    of_floats = sums_schedule(CORTEX_M4F.scalars, 8, 8, 64, words=True, floats=True, size=False)
    assert of_floats is not None and of_floats.word == 1 and of_floats.positions * of_floats.columns >= 8


@pytest.mark.parametrize("sizes", [(0, 4, 4), (4, 0, 4), (4, 4, 0)])
def test_nothing_to_sum_up_has_no_schedule(sizes: tuple[int, int, int]) -> None:
    assert sums_schedule(CORTEX_M4.scalars, *sizes, words=True, floats=False, size=False) is None


def test_depthwise_tiles_are_words_of_channels_or_neighbours_that_share_weights() -> None:
    unit = CORTEX_M4.scalars
    words = depthwise_schedule(unit, 9, 8, words=True, floats=False, size=False)
    assert (words.positions, words.columns, words.word) == (1, 4, 4)
    narrow = depthwise_schedule(unit, 9, 3, words=True, floats=False, size=False)
    assert (narrow.columns, narrow.word) == (1, 1) and 1 < narrow.positions <= 4
    short = depthwise_schedule(CORTEX_M0.scalars, 9, 8, words=True, floats=False, size=False)
    assert (short.positions, short.columns, short.rolled) == (1, 1, False)  # without long products
    assert depthwise_schedule(CORTEX_M0.scalars, 9, 8, words=True, floats=False, size=True).positions == 1
    quads = depthwise_schedule(CORTEX_M55.scalars, 9, 10, words=True, floats=False, size=False)
    assert (quads.lanes, quads.positions, quads.columns, quads.word) == (4, 4, 4, 1)
    assert depthwise_schedule(CORTEX_M55.scalars, 9, 3, words=True, floats=False, size=False).lanes == 1
    assert depthwise_schedule(CORTEX_M55.scalars, 9, 8, words=True, floats=True, size=False).lanes == 1


@pytest.mark.parametrize("core", [*CORES, CORTEX_M55], ids=lambda core: core.name)
def test_estimates_are_linear_in_whole_tiles_and_grow_with_the_depth(core: Core) -> None:
    unit = core.scalars
    chosen = [
        sums_schedule(unit, 12, 8, 96, words=True, floats=False, size=False),
        strips_schedule(unit, 12, 8, 96, size=False),
        quads_schedule(unit, 12, 8, 2, 48, size=False),
    ]
    for schedule in filter(None, chosen):
        one = scheduled_cycles(unit, schedule, 12, 8, 2, 48)
        assert scheduled_cycles(unit, schedule, 24, 8, 2, 48) == 2 * one
        assert scheduled_cycles(unit, schedule, 12, 16, 2, 48) == pytest.approx(2 * one)
        assert one < scheduled_cycles(unit, schedule, 12, 8, 4, 48) <= 2 * one


def test_estimates_of_vectors_are_below_those_of_words_and_these_below_those_of_bytes() -> None:
    unit, sizes = CORTEX_M55.scalars, (12, 8, 3, 48)
    byte = SumsSchedule(1, 2, 2, 1)
    word, strip, quad = replace(byte, word=WORD), SumsSchedule(1, 4, 1, STRIP), SumsSchedule(QUAD, 1, QUAD, LANES)
    found = [scheduled_cycles(unit, each, *sizes) for each in (quad, strip, word, byte)]
    assert found == sorted(found)
    assert scheduled_cycles(unit, quad, 12, 9, 3, 48) > found[0]  # the ninth output is of words
    patched = replace(quad, patch=True)
    for rows, run_length in ((10, 4), (3, 48)):
        cycles = [scheduled_cycles(unit, each, 12, 64, rows, run_length) for each in (patched, quad)]
        assert (cycles[0] < unit.sums.most_patch_time * cycles[1]) is patch_pays(unit, 64, rows, run_length)


def test_estimates_of_depthwise_convolutions() -> None:
    unit = CORTEX_M55.scalars
    quad, word, one = SumsSchedule(QUAD, 4, QUAD), SumsSchedule(1, 1, WORD, WORD), SumsSchedule(1, 1, 1)
    found = [depthwise_cycles(unit, each, 8, 8, 9) for each in (quad, word, one)]
    assert found == sorted(found)
    for schedule in (quad, word, one):
        whole, rest = (depthwise_cycles(unit, schedule, 8, channels, 9) for channels in (8, 3))
        assert depthwise_cycles(unit, schedule, 8, 11, 9) == whole + rest
        assert depthwise_cycles(unit, schedule, 16, 8, 9) == 2 * whole
    shared = replace(one, positions=4)
    assert depthwise_cycles(unit, shared, 8, 3, 9, floats=True) < depthwise_cycles(unit, one, 8, 3, 9, floats=True)


def test_positions_of_an_axis_fall_into_stretches_of_equal_taps() -> None:
    window = SlidingWindow(extent=10, size=4, stride=2, dilation=1, before=3, after=2)
    found = stretches(window)
    assert found == [Stretch(0, 1, (3, 4)), Stretch(1, 2, (1, 4)), Stretch(2, 5, (0, 4)), Stretch(5, 6, (0, 3))]
    assert found[-1].high == window.positions
    nothing = SlidingWindow(extent=2, size=1, stride=1, dilation=1, before=2, after=0)
    assert stretches(nothing) == [Stretch(0, 2, (0, 0)), Stretch(2, 4, (0, 1))]


def test_cut_windows_share_code_unless_they_are_many_or_cut_words() -> None:
    few = SlidingWindow(extent=32, size=3, stride=1, dilation=1, before=1, after=1)
    many = SlidingWindow(extent=5, size=3, stride=1, dilation=1, before=1, after=1)
    whole = (Stretch(1, 31, (0, 3)),)
    shared = last_axis(few, specialized=True, word=4, channels=8)
    assert (shared.parts, shared.rest) == (whole, ((0, 1), (31, 32)))
    assert last_axis(few, specialized=True, word=4, channels=3).is_static
    assert not last_axis(few, specialized=True, word=1, channels=3).is_static
    assert last_axis(many, specialized=True, word=4, channels=8).is_static
    assert last_axis(few, specialized=False, word=4, channels=8) == Axis(few, (), ((0, 32),))
    wide = SlidingWindow(extent=40, size=21, stride=1, dilation=1, before=20, after=20)
    assert not last_axis(wide, specialized=True, word=4, channels=1).is_static, "code for each would be large"
    uncut = SlidingWindow(extent=8, size=1, stride=1, dilation=1, before=0, after=0)
    assert last_axis(uncut, specialized=False, word=4, channels=1) == Axis(uncut, (Stretch(0, 8, (0, 1)),), ())
