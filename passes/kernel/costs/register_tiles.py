"""Which tile of registers a contraction works on: arithmetic on sizes, no IR.

A contraction adds, for each step of its reduction, the outer product of `rows` scalars and `columns` registers to
rows * columns accumulators. The accumulators, the column registers and one broadcast must fit the register file.
"""

from __future__ import annotations

from itertools import product

from aotc.dialects.graph.shapes import ceil_div, segments
from aotc.machines.machine import Machine

MULTIPLIERS, LOADS = 2, 2
"""Fused multiply-adds and loads that a processor starts in a cycle: what today's wide cores have."""
LATENCY = 4
"""Cycles until the result of a multiply-add is there."""
BUSY = 14
"""Results that leave no gap between their multiply-adds: measured; more than latency alone asks for."""
BYTES_FROM_L2 = 24
"""Bytes a cycle that the second level of cache gives while rows are read from the first: measured, of 32 alone."""
BURST, HIDDEN = 14, 32
"""Results that a tile writes while the next one is already computed, and reduction steps: with more results these hold
up the next tile, unless there are more steps to hide that. Measured, with 32 registers."""
MOST_COLUMNS = 8


def step_cycles(rows: int, columns: int) -> float:
    """Cycles of one reduction step on a tile: arithmetic, loads or latency, whichever takes longest."""
    results, loads = rows * columns, rows + columns
    gaps = 0.12 * max(BUSY - results, 0)
    return max(results / MULTIPLIERS + gaps, LATENCY, 1.12 * loads / LOADS) + 0.02 * loads


def _between(results: int, depth: int) -> float:
    """Cycles from the last step on a tile of so many results to the first one on the next."""
    return 5 + 3 * max(results - BURST, 0) * min(HIDDEN / depth, 1)


def _fits(machine: Machine, rows: int, columns: int) -> bool:
    """Whether compilers keep such a tile in registers: accumulators, columns, a broadcast, and one to spare."""
    return rows * columns + columns + 1 < machine.registers


def nest_cycles(machine: Machine, tile: tuple[int, int], rows: int, columns: int, depth: int) -> float:
    """Estimated cycles of one core for sums of `depth` products for `rows` x `columns` registers, on tiles of `tile`.

    `tile` is (rows, columns), MR and NR; tiles at the tails are smaller.
    """
    height, width = tile
    from_l2 = rows > 1 and depth * width * machine.vector_bytes > machine.l1 * 3 // 4
    streamed = machine.vector_bytes / BYTES_FROM_L2 if from_l2 else 0

    def tile_cycles(rows: int, columns: int) -> float:
        return depth * max(step_cycles(rows, columns), columns * streamed) + _between(rows * columns, depth)

    tiles = product(segments(rows, height), segments(columns, width))
    return sum(r.count * c.count * tile_cycles(r.size, c.size) for r, c in tiles)


def register_tile(machine: Machine, rows: int, columns: int, depth: int) -> tuple[int, int]:
    """The tile (rows, columns) of least estimated time for `rows` x `columns` registers and `depth` reduction steps.

    A panel of the columns, as deep as the reduction, takes at most three quarters of the second cache, so that it is
    still there for the next rows; they read it from there where it takes more than as much of the first one.
    """
    best, least = (1, 1), float("inf")
    panel = max(machine.l2 * 3 // 4 // (depth * machine.vector_bytes), 1) if rows > 1 else columns
    for width in range(1, min(MOST_COLUMNS, columns, panel) + 1):
        most = max((h for h in range(1, machine.registers) if _fits(machine, h, width)), default=1)
        for height in {ceil_div(rows, ceil_div(rows, limit)) for limit in range(1, min(most, rows) + 1)}:
            cycles = nest_cycles(machine, (height, width), rows, columns, depth)
            if cycles < least:
                best, least = (height, width), cycles
    return best
