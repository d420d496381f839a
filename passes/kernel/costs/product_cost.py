"""The cost model of matrix products: register tiles, order of the loops, prefetching; sizes only, no IR."""

from __future__ import annotations

from xdsl.ir import Attribute

from aotc.dialects.dtypes import byte_width
from aotc.dialects.graph.schedules import MatmulSchedule, Order
from aotc.dialects.graph.shapes import ceil_div, segments
from aotc.machines.machine import Machine
from aotc.passes.kernel.costs.lanes import lanes_of_products
from aotc.passes.kernel.costs.overlap import overlapped
from aotc.passes.kernel.costs.register_tile_cost import nest_cycles, register_tile


def product_schedule(
    machine: Machine, dtype: Attribute, rows: int, columns: int, depth: int, *, streamed: bool = False
) -> MatmulSchedule | None:
    """The schedule of a [rows, depth] x [depth, columns] product; None where the type is not computed in vectors.

    `streamed` says that the right matrix is packed, and comes from memory as weights do.
    """
    lanes = lanes_of_products(machine, dtype)
    if lanes == 1 or 0 in (rows, columns, depth):
        return None
    registers = ceil_div(columns, lanes)
    tile, kc = blocked_tile(machine, rows, registers, depth)
    matrix = depth * registers * machine.vector_bytes
    order = panel_order(machine, ceil_div(registers, tile[1]), matrix, rows * depth * byte_width(dtype))
    order = order if kc is None else "columns"
    prefetch = streamed and order == "columns" and prefetches(machine, rows, tile)
    return MatmulSchedule(lanes, *tile, machine.tiles.unroll, order, prefetch, kc)


def blocked_tile(machine: Machine, rows: int, columns: int, depth: int) -> tuple[tuple[int, int], int | None]:
    """The fastest register tile for `rows` x `columns` registers, and after how many of `depth` steps partial sums are
    stored; None: never.

    A panel of all steps that takes more than its share of L2 must be narrow. One of fewer steps may be wider, at the
    cost of a load and a store of each partial sum for each block of steps but the last.
    """
    space = int(machine.l2 * machine.shares.panel)
    tile = register_tile(machine, rows, columns, depth)
    best: tuple[tuple[int, int], int | None] = tile, None
    least = nest_cycles(machine, tile, rows, columns, depth)
    widest = min(machine.tiles.widest, columns)
    if rows == 1 or depth * widest * machine.vector_bytes <= space:
        return best
    for blocks in range(2, ceil_div(depth * widest * machine.vector_bytes, space) + 1):
        kc = ceil_div(depth, blocks)
        tile = register_tile(machine, rows, columns, kc)
        moved = 2 * (ceil_div(depth, kc) - 1) * rows * columns * machine.tiles.write_cycles
        cycles = sum(part.count * nest_cycles(machine, tile, rows, columns, part.size) for part in segments(depth, kc))
        if cycles + moved < least:
            best, least = (tile, kc), cycles + moved
    return best


def product_cycles(machine: Machine, schedule: MatmulSchedule, rows: int, columns: int, depth: int) -> float:
    """Estimated cycles of one core for a [rows, depth] x [depth, columns] product."""
    tile, registers = (schedule.mr, schedule.nr), ceil_div(columns, schedule.lanes)
    blocks = segments(depth, schedule.kc or max(depth, 1))
    return sum(part.count * nest_cycles(machine, tile, rows, registers, part.size) for part in blocks)


def prefetches(machine: Machine, rows: int, tile: tuple[int, int]) -> bool:
    """Whether it pays to prefetch the next panel, which comes from memory, while `rows` are multiplied with the current
    one."""
    return _prefetched_lines(machine, rows, tile) <= machine.tiles.prefetch_lines


def _prefetched_lines(machine: Machine, rows: int, tile: tuple[int, int]) -> float:
    """Cache lines of the next panel for each step of the tiles of `rows`."""
    height, width = tile
    return width * machine.vector_bytes * height / (machine.cache_line * rows)


def with_fetching(machine: Machine, schedule: MatmulSchedule, rows: int, cycles: float, fetching: float) -> float:
    """Estimated cycles of products of `rows` rows, panel by panel, which take `cycles` and wait for a weight that takes
    `fetching`: a panel comes beside the products of the first tile of its rows, or beside all of those with the panel
    before, where it is prefetched little by little."""
    tile = schedule.mr, schedule.nr
    gradual = schedule.prefetch and _prefetched_lines(machine, rows, tile) <= machine.tiles.hidden_lines
    beside = cycles if gradual else cycles / ceil_div(rows, schedule.mr)
    return cycles - beside + overlapped(fetching, beside, machine.bandwidths.sharpness)


def batched_matmul_schedule(
    machine: Machine, lanes: int, sizes: tuple[int, int, int, int], panels: int = 1, *, streamed: bool = True
) -> MatmulSchedule:
    """The schedule of a `batched_matmul` of `sizes` (count, rows, registers, depth), one of `panels` equal ones that
    follow each other in memory; not `streamed` where each has been written just before."""
    count, rows, registers, depth = sizes
    tile = register_tile(machine, rows, registers, depth) if streamed else _tile_of_written(machine, sizes)
    # What would stay in L2 is not there: since the last inference all other kernels have read their weights.
    far = streamed and panels * count * registers * depth * machine.vector_bytes > machine.l1 * machine.shares.resident
    return MatmulSchedule(lanes, *tile, machine.tiles.unroll, "columns", far and prefetches(machine, rows, tile))


def _tile_of_written(machine: Machine, sizes: tuple[int, int, int, int]) -> tuple[int, int]:
    """The fastest register tile where a panel of all matrices is written before it is read, beside the operand that is
    transformed: a panel that does not stay in L2 is read from L3."""
    count, rows, registers, depth = sizes
    column = count * depth * machine.vector_bytes
    most = max(int(machine.l2 * (1 - machine.shares.transforms)) // column, 1)

    def cycles(tile: tuple[int, int]) -> float:
        far = column * registers / machine.bandwidths.l3 if tile[1] > most else 0
        return count * nest_cycles(machine, tile, rows, registers, depth) + far

    return min((register_tile(machine, rows, min(each, registers), depth) for each in (registers, most)), key=cycles)


def panel_order(machine: Machine, panels: int, matrix: int, rows: int) -> Order:
    """The order of loops: "columns" (panel by panel) where the matrix does not stay in cache between rows of tiles.

    `matrix` and `rows` are the bytes of both operands. The matrix does not stay in L1 while all rows stay in L2, or it
    does not even stay in L2.
    """
    l1, l2 = (size * machine.shares.resident for size in (machine.l1, machine.l2))
    return "columns" if panels > 1 and matrix > (l1 if rows <= l2 else l2) else "rows"
