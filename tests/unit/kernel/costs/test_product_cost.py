"""The cost model of products, on a machine whose numbers are easy to reckon with (`plain_machine`)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from kernels.plain_machine import MACHINE, TILES
from xdsl.dialects.builtin import f32, i8

from aotc.dialects.graph.schedules import FewBitsSchedule, MatmulSchedule
from aotc.machines.machine import Machine, ThreadCosts
from aotc.passes.kernel.costs.product_cost import (
    BlockedWork,
    Parts,
    batched_matmul_schedule,
    blocked_tile,
    choose_parts,
    few_bits_cycles,
    few_bits_schedule,
    nest_cycles,
    overlapped,
    panel_order,
    prefetches,
    product_cycles,
    product_schedule,
    register_tile,
    with_fetching,
)

AT_ONCE = replace(MACHINE, tiles=replace(TILES, start_cycles=0))
"""The next tile begins at once."""


@pytest.mark.parametrize(
    ("tile", "rows", "columns", "depth", "cycles"),
    [
        ((1, 2), 1, 2, 100, 301),  # one row reads the panel once
        ((1, 2), 2, 2, 8, 2 * (8 * 3 + 1)),  # the panel is in L1
        ((1, 2), 2, 2, 9, 2 * (9 * 4 + 1)),
        ((2, 2), 3, 3, 4, (4 * 4 + 1) + 2 * (4 * 3 + 1) + (4 * 2 + 1)),  # tails of rows and of columns
        ((2, 2), 2, 2, 0, 1),
    ],
)
def test_cycles_of_a_nest(tile: tuple[int, int], rows: int, columns: int, depth: int, cycles: float) -> None:
    if depth:
        assert nest_cycles(MACHINE, tile, rows, columns, depth) == cycles
        schedule = MatmulSchedule(8, *tile)
        assert product_cycles(MACHINE, schedule, rows, 8 * columns, depth) == cycles
        both = cycles + nest_cycles(MACHINE, tile, rows, columns, 1)
        assert product_cycles(MACHINE, replace(schedule, kc=depth), rows, 8 * columns, depth + 1) == both
    else:
        assert product_cycles(MACHINE, MatmulSchedule(8, *tile), rows, 8 * columns, 0) == 0


@pytest.mark.parametrize(
    ("rows", "columns", "depth", "tile"),
    [
        (1, 4, 64, (1, 4)),  # one row: its panel need not stay
        (2, 4, 64, (2, 2)),  # 128 registers
        (2, 4, 32, (2, 4)),
        (2, 4, 200, (2, 1)),  # not even one column of the panel stays
        (9, 1, 8, (9, 1)),
        (20, 1, 8, (10, 1)),  # at most 13 rows, and equal tiles
    ],
)
def test_the_fastest_tile(rows: int, columns: int, depth: int, tile: tuple[int, int]) -> None:
    assert register_tile(MACHINE, rows, columns, depth) == tile


def test_of_tiles_that_are_as_fast_the_narrowest() -> None:
    assert nest_cycles(AT_ONCE, (2, 2), 2, 4, 8) == nest_cycles(AT_ONCE, (2, 4), 2, 4, 8)
    assert register_tile(AT_ONCE, 2, 4, 8) == (2, 2)


@pytest.mark.parametrize(
    ("machine", "depth", "tile"),
    [
        (MACHINE, 32, ((2, 4), None)),
        (MACHINE, 64, ((2, 2), None)),  # two blocks with tiles of four columns take 514 cycles, too
        (MACHINE, 96, ((2, 4), 32)),  # 771; two blocks 772, one 1156
        (replace(MACHINE, tiles=replace(TILES, write_cycles=1)), 96, ((2, 2), 48)),  # 788; three blocks 803
        (replace(MACHINE, tiles=replace(TILES, write_cycles=40)), 96, ((2, 1), None)),
    ],
)
def test_blocks_of_steps(machine: Machine, depth: int, tile: tuple[tuple[int, int], int | None]) -> None:
    assert blocked_tile(machine, 2, 4, depth) == tile
    assert blocked_tile(machine, 1, 4, depth) == ((1, 4), None)


def test_schedules_of_products() -> None:
    few = replace(MACHINE, tiles=replace(TILES, prefetch_lines=1 / 2))
    by_rows, by_columns = MatmulSchedule(8, 2, 2, 1, "rows"), MatmulSchedule(8, 2, 2, 1, "columns")
    assert product_schedule(AT_ONCE, f32, 2, 16, 8) == by_rows
    assert product_schedule(AT_ONCE, f32, 2, 16, 8, streamed=True) == by_rows  # one panel: none to prefetch
    assert product_schedule(AT_ONCE, f32, 2, 64, 8) == by_columns
    assert product_schedule(AT_ONCE, f32, 2, 64, 8, streamed=True) == replace(by_columns, prefetch=True)
    late = product_schedule(replace(few, tiles=replace(few.tiles, start_cycles=0)), f32, 2, 64, 8, streamed=True)
    assert late == by_columns
    # Partial sums are of panels, one after the other, whatever else is faster.
    assert product_schedule(MACHINE, f32, 2, 32, 96) == MatmulSchedule(8, 2, 4, 1, "columns", kc=32)
    assert product_schedule(MACHINE, i8, 2, 16, 8) is None
    for sizes in ((0, 16, 8), (2, 0, 8), (2, 16, 0)):
        assert product_schedule(MACHINE, f32, *sizes) is None


@pytest.mark.parametrize(
    ("panels", "matrix", "rows", "order"),
    [
        # 256 bytes of L1 and 2048 of L2 are for what stays
        (1, 9999, 0, "rows"),
        (2, 256, 2048, "rows"),
        (2, 257, 2048, "columns"),
        (2, 257, 2049, "rows"),
        (2, 2048, 2049, "rows"),
        (2, 2049, 2049, "columns"),
    ],
)
def test_order(panels: int, matrix: int, rows: int, order: str) -> None:
    assert panel_order(MACHINE, panels, matrix, rows) == order


def test_prefetching() -> None:
    """A tile of 2 x 2 of 4 rows needs half a line of the next panel in each step: 64 bytes of 2 x 2 * 32 in two."""
    for lines, pays in ((0.4, False), (0.5, True), (0.6, True)):
        assert prefetches(replace(MACHINE, tiles=replace(TILES, prefetch_lines=lines)), 4, (2, 2)) == pays


def test_weights_come_beside_products() -> None:
    """Beside all products where they are prefetched, little by little; else beside those of the first of two tiles."""
    assert overlapped(3, 4, 2) == 5
    ahead = MatmulSchedule(8, 2, 2, prefetch=True)
    for lines, gradual in ((0.4, False), (0.5, True)):
        machine = replace(MACHINE, tiles=replace(TILES, hidden_lines=lines))
        assert with_fetching(machine, ahead, 4, 100, 75) == (125 if gradual else pytest.approx(140.1388, abs=1e-3))
        assert with_fetching(machine, replace(ahead, prefetch=False), 4, 100, 120) == 50 + 130


def test_batched_products() -> None:
    """A panel of more than 256 bytes is prefetched, unless it was written just before, or does not fit a step."""
    near, far = (1, 2, 2, 4), (1, 2, 2, 5)
    assert batched_matmul_schedule(MACHINE, 8, near) == MatmulSchedule(8, 2, 2)
    assert batched_matmul_schedule(MACHINE, 8, far) == MatmulSchedule(8, 2, 2, prefetch=True)
    assert batched_matmul_schedule(MACHINE, 8, near, 2) == MatmulSchedule(8, 2, 2, prefetch=True)
    assert batched_matmul_schedule(MACHINE, 8, far, written=1) == MatmulSchedule(8, 2, 2)
    few = replace(MACHINE, tiles=replace(TILES, prefetch_lines=1 / 2))
    assert batched_matmul_schedule(few, 8, far) == MatmulSchedule(8, 2, 2)


def test_panels_that_are_written_stay_in_l2() -> None:
    """Of two matrices of 32 steps two columns stay; one by 2 x 4 takes 514 cycles, and one by 2 x 2 takes 516."""
    sizes = (2, 2, 4, 32)
    assert batched_matmul_schedule(MACHINE, 8, sizes).nr == 4
    assert batched_matmul_schedule(MACHINE, 8, sizes, written=2).nr == 2
    near = replace(MACHINE, bandwidths=replace(MACHINE.bandwidths, l3=1e9))
    assert batched_matmul_schedule(near, 8, sizes, written=2).nr == 4


# Few bits


def test_schedules_of_few_bits() -> None:
    """Of 16 registers 4 are for others: R rows of Q columns take R + Q * (2 * R + 1)."""

    def found(rows: int, times: int, columns: int, depth: int = 64) -> FewBitsSchedule | None:
        return few_bits_schedule(MACHINE, rows, times, columns, depth, 8, 32)

    assert found(1, 1, 64) == FewBitsSchedule(8, 1, 3)  # eight registers in three panels of three at most
    assert found(1, 1, 16) == FewBitsSchedule(8, 1, 2)
    assert found(3, 1, 64) == FewBitsSchedule(8, 3, 1)
    for rows, times in ((4, 1), (12, 1), (1, 2)):
        many = found(rows, times, 64)
        assert many is not None
        assert many.kc == 64
    for sizes in ((0, 1, 64), (1, 0, 64), (1, 1, 0), (1, 1, 64, 0)):
        assert found(*sizes) is None
    assert few_bits_schedule(replace(MACHINE, vector_bytes=4), 1, 1, 64, 64, 8, 32) is None


@pytest.mark.parametrize(
    ("depth", "block", "kc"),
    [
        # 32 steps at a time are fastest of 96: whole blocks, a whole block, or whole words of the only block
        (96, 8, 32),
        (96, 12, 24),
        (96, 32, 32),
        (96, 48, 48),
        (96, 96, 32),
        (96, 128, 32),
        (97, 97, 48),  # two blocks of 49 steps are as fast as four of 25
    ],
)
def test_steps_that_are_unpacked_at_once(depth: int, block: int, kc: int) -> None:
    found = few_bits_schedule(MACHINE, 2, 2, 32, depth, 8, block)
    assert found is not None
    assert found.kc == kc


def test_cycles_of_few_bits() -> None:
    """Each register of 32 steps is unpacked in three cycles: once for each tile of rows, or once in all."""
    tile = MatmulSchedule(8, 2, 2)
    products = product_cycles(MACHINE, tile, 4, 16, 32)
    in_registers, in_memory = FewBitsSchedule(8, 2, 2), FewBitsSchedule(8, 2, 2, kc=32)
    assert few_bits_cycles(MACHINE, in_registers, 4, 16, 32, 3) == 3 * 2 * (32 * 2 * 3) + 3 * products
    assert few_bits_cycles(MACHINE, in_memory, 4, 16, 32, 3) == 32 * 2 * 3 + 3 * products
    # All blocks of steps are multiplied.
    more = few_bits_cycles(MACHINE, in_memory, 4, 16, 64, 3)
    assert more == 2 * few_bits_cycles(MACHINE, in_memory, 4, 16, 32, 3)


# Threads


def work(rows: int, panels: int, together: int = 1) -> BlockedWork:
    """A cycle to transform a row, ten to multiply it."""
    return BlockedWork(rows, 2, panels, 1, 10, 0, 0, together)


@pytest.mark.parametrize(
    ("given", "threads", "parts"),
    [
        (work(8, 3), 1, Parts()),
        (work(8, 3), 2, Parts(2, 1)),  # 44 cycles; two thirds of the panels 61
        (work(8, 4, 4), 2, Parts(2, 1)),
        (work(8, 2, 8), 2, Parts(1, 2)),
        (work(1, 1), 2, Parts()),
        (work(2, 1), 3, Parts()),  # neither divides in three
        (work(2, 9), 3, Parts(1, 3)),
        (work(2, 3), 3, Parts(1, 3)),
    ],
)
def test_parts(given: BlockedWork, threads: int, parts: Parts) -> None:
    assert choose_parts(MACHINE, given, threads) == parts


def test_threads_share_loops_where_that_costs_least() -> None:
    """All of 88 cycles in halves, and 4 * 3 * 2 phases."""
    for operations, parts in ((0.01, Parts()), (1, Parts(2, 1))):
        costs = ThreadCosts(phase_operations=operations, shared_bytes=1, weight_bytes=1, most_time=1)  # pyright: ignore
        uneven = replace(work(9, 3), together=3)
        assert choose_parts(replace(MACHINE, threads=costs), uneven, 2) == parts
