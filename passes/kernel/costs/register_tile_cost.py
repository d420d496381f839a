"""The cost model of register tiles: arithmetic on sizes, no IR.

A contraction adds, for each step of its reduction, the outer product of `rows` scalars and `columns` registers to rows
* columns accumulators. The accumulators, the column registers and one broadcast must fit the register file.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product

from aotc.dialects.graph.shapes import ceil_div, segments
from aotc.machines.machine import Machine


def step_cycles(machine: Machine, rows: int, columns: int) -> float:
    """Cycles of one reduction step on a tile: arithmetic, loads or latency, whichever takes longest."""
    costs, results, loads = machine.tiles, rows * columns, rows + columns
    stalls = costs.stall_cycles * max(costs.busy_results - results, 0)
    longest = max(results / costs.multipliers + stalls, costs.latency, costs.load_factor * loads / costs.loads)
    return longest + costs.load_cycles * loads + costs.column_cycles * columns


def _switch_cycles(machine: Machine, results: int, depth: int) -> float:
    """Cycles from the last step of a tile with `results` accumulators to the first step of the next."""
    costs = machine.tiles
    stalled = costs.write_cycles * max(results - costs.burst_results, 0)
    return costs.start_cycles + stalled * min(costs.hiding_steps / depth, 1)


def _most_rows(machine: Machine, columns: int) -> int:
    """The most rows of a tile that compilers keep in registers: accumulators, columns, a broadcast, and one to spare;
    at least 1."""
    return max((machine.registers - 2 - machine.tiles.column_registers * columns) // columns, 1)


def nest_cycles(machine: Machine, tile: tuple[int, int], rows: int, columns: int, depth: int) -> float:
    """Estimated cycles of one core for sums of `depth` products for `rows` x `columns` registers, on tiles of `tile`.

    `tile` is (rows, columns), MR and NR; tiles at the tails are smaller.
    """
    height, width = tile
    from_l2 = rows > 1 and depth * width * machine.vector_bytes > machine.l1 * machine.shares.panel
    streamed = machine.vector_bytes / machine.bandwidths.l2 if from_l2 else 0

    def tile_cycles(rows: int, columns: int) -> float:
        step = max(step_cycles(machine, rows, columns), columns * streamed)
        return depth * step + _switch_cycles(machine, rows * columns, depth)

    tiles = product(segments(rows, height), segments(columns, width))
    return sum(r.count * c.count * tile_cycles(r.size, c.size) for r, c in tiles)


@lru_cache
def register_tile(machine: Machine, rows: int, columns: int, depth: int) -> tuple[int, int]:
    """The fastest register tile (MR, NR) for `rows` x `columns` registers and `depth` reduction steps.

    A panel, as deep as the reduction, takes at most its share of L2, so that the next rows find it there; they read it
    from L1 where it takes no more than its share of L1.
    """
    best, least = (1, 1), float("inf")
    panel = max(int(machine.l2 * machine.shares.panel) // (depth * machine.vector_bytes), 1) if rows > 1 else columns
    for width in range(1, min(machine.tiles.widest, columns, panel) + 1):
        most = _most_rows(machine, width)
        for height in {ceil_div(rows, ceil_div(rows, limit)) for limit in range(1, min(most, rows) + 1)}:
            cycles = nest_cycles(machine, (height, width), rows, columns, depth)
            if cycles < least:
                best, least = (height, width), cycles
    return best
