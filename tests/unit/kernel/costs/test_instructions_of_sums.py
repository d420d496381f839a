"""Instructions of sums on cores without vectors, reckoned by hand.

Cores of tests spend 3 instructions on an iteration, 12 on a tile, 8 on a result, 3 on loading a word, and 20 on a quad.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from codegens.tested_targets import M0, M3, M4, M55
from kernels.plain_machine import MACHINE

from aotc.dialects.graph.schedules import SumsSchedule
from aotc.machines.machine import Core, ScalarUnit
from aotc.passes.kernel.costs.sums_cost import (
    Step,
    depthwise_cycles,
    depthwise_schedule,
    is_rolled,
    patch_fits,
    patch_pays,
    quad_cycles,
    quads_schedule,
    scheduled_cycles,
    step_of,
    strips_cycles,
    strips_schedule,
    sums_cycles,
    sums_schedule,
    unroll_of,
)


def unit(core: Core | None) -> ScalarUnit:
    assert core is not None
    return core.scalars


PLAIN, SMALL, WORDS, QUADS = map(unit, (M3.core, M0.core, M4.core, M55.core))
"""Of multiply-adds, of multiplications alone, of two products of 16 bits, and of vectors of four lanes as well."""
NEAR = unit(MACHINE)
"""Of multiply-adds, with bytes at a distance from a register."""


@pytest.mark.parametrize(
    ("core", "words", "floats", "step"),
    [
        (NEAR, False, False, Step(1, 1, 1, 1, 0, 1)),
        (PLAIN, False, False, Step(1, 1, 1, 1, 0, 1)),
        (replace(PLAIN, offsets=False), False, False, Step(1, 2, 1, 1, 0, 1)),
        (SMALL, False, False, Step(1, 2, 3, 1, 0, 2, False)),
        (replace(SMALL, offsets=True), False, False, Step(1, 1, 2, 1, 0, 2)),
        (WORDS, True, False, Step(4, 3, 2, 1, 1, 1)),
        (SMALL, False, True, Step(1, 1, 1, 1, 0, 1)),
        (WORDS, True, True, Step(1, 1, 1, 1, 0, 1)),
    ],
)
def test_steps(core: ScalarUnit, step: Step, *, words: bool, floats: bool) -> None:
    assert step_of(core, words=words, floats=floats) == step


@pytest.mark.parametrize(
    ("tile", "words", "unroll"), [((1, 1), False, 16), ((2, 2), False, 4), ((4, 4), False, 1), ((1, 1), True, 4)]
)
def test_unrolled_steps(tile: tuple[int, int], unroll: int, *, words: bool) -> None:
    assert unroll_of(WORDS, tile, step_of(WORDS, words=words, floats=False)) == unroll
    assert unroll_of(SMALL, tile, step_of(SMALL, words=False, floats=False)) == 1


def test_results_in_a_loop() -> None:
    assert is_rolled(2, floats=False, size=True)
    assert not is_rolled(1, floats=False, size=True)
    assert not is_rolled(2, floats=True, size=True)
    assert not is_rolled(2, floats=False, size=False)


def test_small_code_is_not_unrolled() -> None:
    for size in (False, True):
        found = sums_schedule(WORDS, 1, 1, 64, words=False, floats=False, size=size)
        assert found == SumsSchedule(1, 1, 1, 1, 1 if size else 16, not size)


@pytest.mark.parametrize(
    ("strip", "instructions"),
    [
        # of two rows: registers of weights, with one position's elements in three instructions each, and the loop
        (8, 2 * (1 + 3 + 3) + 8 + 12),
        (9, 4 * (1 + 3 + 3) + 2 * 4 + 8 + 12),  # the second register of a row is filled in part
        (16, 4 * (1 + 3 + 3) + 8 + 12),
    ],
)
def test_strips(strip: int, instructions: float) -> None:
    assert strips_cycles(QUADS, 1, 1, 1, 2, strip) == instructions
    assert strips_cycles(QUADS, 1, 3, 5, 2, strip) == 3 * 5 * instructions
    schedule = strips_schedule(QUADS, 1, 1, 2 * strip, size=False)
    assert schedule is not None
    assert scheduled_cycles(QUADS, schedule, 1, 1, 2, strip) == instructions


WORD_STEP, STEP = 2 * 3 + 2 + 3 / 4, 2 + 1 + 3 / 16
"""Of one sum: two loads, the products, and a share of the loop."""


@pytest.mark.parametrize(
    ("outputs", "strip", "instructions"),
    [
        (4, 16, 9 + 3 + 20),
        (4, 3, 9 + 4 + 3 + 20),
        (8, 20, 2 * (2 * 9 + 4 + 3 + 20)),
        # the output beyond four is a scalar: of words where there is one
        (5, 16, 9 + 3 + 20 + 4 * WORD_STEP + 8 + 12),
        (5, 4, 9 + 4 + 3 + 20 + WORD_STEP + 8 + 12),
        (5, 3, 9 + 4 + 3 + 20 + 3 * STEP + 8 + 12),
    ],
)
def test_quads(outputs: int, strip: int, instructions: float) -> None:
    assert quad_cycles(QUADS, 1, outputs, 1, strip) == pytest.approx(instructions)
    schedule = SumsSchedule(4, 1, 4, 16, 1)
    assert scheduled_cycles(QUADS, schedule, 1, outputs, 1, strip) == pytest.approx(instructions)


def test_rest_of_quads_without_unaligned_words() -> None:
    aligned = replace(QUADS, unaligned=False)
    assert quad_cycles(aligned, 1, 5, 1, 16) == 9 + 3 + 20 + 16 * STEP + 8 + 12


def test_patches() -> None:
    """A patch of rows takes 12 instructions and 12 for each row, and spares 3 and 20 instructions of four outputs."""
    assert patch_fits(QUADS, 64 * 2 * 3, 2, 3)
    assert not patch_fits(QUADS, 64 * 2 * 3 - 1, 2, 3)
    equal = replace(QUADS, sums=replace(QUADS.sums, most_patch_time=1))
    assert not patch_pays(equal, 32, 3, 16)  # 48 + 8 * 50 of 8 * 56
    assert patch_pays(equal, 36, 3, 16)
    assert not any(patch_pays(equal, outputs, 1, 16) for outputs in (4, 400))


def test_schedules_of_quads() -> None:
    found = SumsSchedule(4, 1, 4, 16, 1, True)

    def schedule(core: ScalarUnit = QUADS, **changed: int) -> SumsSchedule | None:
        sizes = {"positions": 1, "outputs": 4, "rows": 1, "strip": 64} | changed
        return quads_schedule(core, *sizes.values(), size=False)

    assert schedule() == found
    assert not any(schedule(outputs=outputs) for outputs in (1, 2, 3))
    assert schedule(WORDS) is None
    for name in ("positions", "rows", "strip"):
        assert schedule(**{name: 0}) is None


@pytest.mark.parametrize("strip", [3, 4, 16])
def test_quads_where_words_take_no_fewer_instructions(strip: int) -> None:
    """Words are compared from four bytes on."""
    words = sums_schedule(QUADS, 1, 4, strip, words=strip >= 4, floats=False, size=False)
    assert words is not None
    assert (words.word == 4) == (strip >= 4)
    for more, is_quad in ((0, True), (1 / 4, False)):
        free = replace(QUADS, sums=replace(QUADS.sums, quad=0))
        spent = scheduled_cycles(QUADS, words, 1, 4, 1, strip) - quad_cycles(free, 1, 4, 1, strip) + more
        core = replace(QUADS, sums=replace(QUADS.sums, quad=spent))  # pyright: ignore
        assert (quads_schedule(core, 1, 4, 1, strip, size=False) is not None) == is_quad


def test_single_elements_are_no_words() -> None:
    schedule = SumsSchedule(1, 1, 1, 1, 16)
    assert scheduled_cycles(WORDS, schedule, 2, 3, 1, 64) == 2 * 3 * (64 * STEP + 8 + 12)


@pytest.mark.parametrize(
    ("schedule", "positions", "channels", "instructions"),
    [
        # nine taps; the channel beyond four has instructions of its own
        (SumsSchedule(4, 2, 4), 2, 5, (9 * (1 + 2 * 2 + 3) + 2 * 20 + 12) + (9 * (1 + 2 * 2 + 3) + 2 * 8 + 12)),
        (SumsSchedule(1, 1, 4, 4), 1, 5, (9 * (3 + 3 + 4 + 3) + 4 * 8 + 12) + (9 * (1 + 2 + 3) + 8 + 12)),
        (SumsSchedule(1, 2, 1), 3, 2, 2 * (9 * (1 + 2 * 2 + 3) + 2 * 8 + 12) + 2 * (9 * (1 + 2 + 3) + 8 + 12)),
    ],
)
def test_depthwise_sums(schedule: SumsSchedule, positions: int, channels: int, instructions: float) -> None:
    assert depthwise_cycles(QUADS, schedule, positions, channels, 9) == instructions


@pytest.mark.parametrize(
    ("core", "channels", "words", "floats", "size", "schedule"),
    [
        (QUADS, 4, True, False, False, SumsSchedule(4, 4, 4, 1, 1, True)),
        (QUADS, 4, True, False, True, SumsSchedule(4, 1, 4, 1, 1)),
        (QUADS, 3, True, False, False, SumsSchedule(1, 3, 1, 1, 1, True)),
        (QUADS, 4, True, True, False, SumsSchedule(1, 1, 4, 4, 1, True)),
        (QUADS, 4, False, True, False, SumsSchedule(1, 4, 1, 1, 1, True)),
        (WORDS, 4, True, False, False, SumsSchedule(1, 1, 4, 4, 1, True)),
        (WORDS, 4, True, False, True, SumsSchedule(1, 1, 4, 4, 1, rolled=True)),
        (WORDS, 3, True, False, False, SumsSchedule(1, 3, 1, 1, 1, True)),
        (WORDS, 4, False, False, False, SumsSchedule(1, 3, 1, 1, 1, True)),
        (WORDS, 4, False, False, True, SumsSchedule(1, 1, 1, 1, 1)),
        (PLAIN, 4, True, False, False, SumsSchedule(1, 3, 1, 1, 1, True)),
        (NEAR, 4, True, False, False, SumsSchedule(1, 3, 1, 1, 1, True)),
        (replace(NEAR, long_multiply=False), 4, True, False, False, SumsSchedule(1, 1, 1, 1, 1, True)),
        (replace(NEAR, long_multiply=False), 4, True, True, False, SumsSchedule(1, 4, 1, 1, 1, True)),
    ],
)
def test_schedules_of_depthwise_sums(
    core: ScalarUnit, channels: int, schedule: SumsSchedule, *, words: bool, floats: bool, size: bool
) -> None:
    assert depthwise_schedule(core, 9, channels, words=words, floats=floats, size=size) == schedule


def test_tiles_of_words_are_counted_as_such() -> None:
    assert sums_cycles(WORDS, (1, 1), 1, 1, 64, words=True, floats=False) == 16 * WORD_STEP + 8 + 12
