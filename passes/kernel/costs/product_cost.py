"""The cost model of matrix products: register tiles, order of the loops, prefetching, threads; sizes only, no IR.

A contraction adds, for each step of its reduction, the outer product of `rows` scalars and `columns` registers to rows
* columns accumulators. The accumulators, the column registers and one broadcast must fit the register file.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute

from aotc.dialects.dtypes import byte_width
from aotc.dialects.graph.packed.products.packed_matmul import OTHERS, UNPACKING, WIDEST
from aotc.dialects.graph.schedules import FewBitsSchedule, MatmulSchedule, Order
from aotc.dialects.graph.shapes import ceil_div, segments
from aotc.machines.machine import Machine
from aotc.passes.kernel.costs.lanes import lanes_of_products


def overlapped(waiting: float, multiplying: float, sharpness: int) -> float:
    """Cycles of both, (w^p + m^p)^(1/p): those of the longer one, and more the less they differ; the greater the
    `sharpness` p, the less they disturb each other."""
    return (waiting**sharpness + multiplying**sharpness) ** (1 / sharpness)


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
    """The most rows of a tile in registers: accumulators, columns, a broadcast, and one to spare; at least 1."""
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
    ahead = streamed and order == "columns" and _prefetches_ahead(machine, rows, tile)
    return MatmulSchedule(lanes, *tile, machine.tiles.unroll, order, prefetch and not ahead, kc, ahead=ahead)


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
    for blocks in range(2, ceil_div(depth * widest * machine.vector_bytes, space) + 1):
        kc = ceil_div(depth, blocks)
        tile = register_tile(machine, rows, columns, kc)
        moved = 2 * (ceil_div(depth, kc) - 1) * rows * columns * machine.tiles.write_cycles
        cycles = sum(part.count * nest_cycles(machine, tile, rows, columns, part.size) for part in segments(depth, kc))
        if cycles + moved < least:
            best, least = (tile, kc), cycles + moved
    return best


def product_cycles(
    machine: Machine, schedule: MatmulSchedule | FewBitsSchedule, rows: int, columns: int, depth: int
) -> float:
    """Estimated cycles of one core for a [rows, depth] x [depth, columns] product."""
    tile, registers = (schedule.mr, schedule.nr), ceil_div(columns, schedule.lanes)
    blocks = segments(depth, schedule.kc or max(depth, 1))
    return sum(part.count * nest_cycles(machine, tile, rows, registers, part.size) for part in blocks)


def prefetches(machine: Machine, rows: int, tile: tuple[int, int]) -> bool:
    """Whether it pays to prefetch the next panel from memory, while `rows` are multiplied with the current one."""
    return _prefetched_lines(machine, rows, tile) <= machine.tiles.prefetch_lines


def _prefetches_ahead(machine: Machine, rows: int, tile: tuple[int, int]) -> bool:
    """Whether it pays to prefetch a weight some steps before `rows`, one tile, use it: from memory, where a step waits
    for multiply-adds, not for loads. Zen 5 at 4 GHz, layers 768 x 3072, time over that without: 10 rows 0.59, 7 0.74, 4
    0.89, 2 1.01; weights in L3, 256 x 1024: 8 rows 1.05, 4 1.05; in L2, 64 x 256: 4 rows 1.07."""
    (height, width), costs = tile, machine.tiles
    from_memory = machine.weights > machine.l3 * machine.shares.weights
    return from_memory and rows <= height and (height + 2 * width) / costs.loads <= height * width / costs.multipliers


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
    machine: Machine, lanes: int, sizes: tuple[int, int, int, int], panels: int = 1, *, written: int = 0
) -> MatmulSchedule:
    """The schedule of a `batched_matmul` of `sizes` (count, rows, registers, depth), one of `panels` equal ones that
    follow each other in memory; with `written`, so many different right matrices have been written just before."""
    count, rows, registers, depth = sizes
    tile = _tile_of_written(machine, sizes, written) if written else register_tile(machine, rows, registers, depth)
    # What would stay in L2 is not there: since the last inference all other kernels have read their weights.
    size = 0 if written else panels * count * registers * depth * machine.vector_bytes
    far = size > machine.l1 * machine.shares.resident
    return MatmulSchedule(lanes, *tile, machine.tiles.unroll, "columns", far and prefetches(machine, rows, tile))


def _tile_of_written(machine: Machine, sizes: tuple[int, int, int, int], written: int) -> tuple[int, int]:
    """The fastest register tile where a panel of all matrices is written before it is read, beside the operand that is
    transformed."""
    count, rows, registers, depth = sizes

    def cycles(tile: tuple[int, int]) -> float:
        near = count * nest_cycles(machine, tile, rows, registers, depth)
        return near + far_cycles(machine, sizes, written, tile[1])

    widths = range(1, min(machine.tiles.widest, registers) + 1)
    return min((register_tile(machine, rows, each, depth) for each in widths), key=cycles)


def far_cycles(machine: Machine, sizes: tuple[int, int, int, int], written: int, width: int) -> float:
    """Cycles to fetch from L3 what products of `sizes` (count, rows, registers, depth) read of panels of `width`
    registers of `written` matrices, and for each panel of the operand: the share that does not stay in L2 beside the
    results of a panel."""
    count, rows, registers, depth = sizes
    operand, column = count * rows * depth * byte_width(f32), written * depth * machine.vector_bytes
    touched = operand + width * (column + count * rows * machine.vector_bytes)
    far = max(1 - machine.l2 * machine.shares.panel / touched, 0)
    return far * (ceil_div(registers, width) * operand + registers * column) / machine.bandwidths.l3


def panel_order(machine: Machine, panels: int, matrix: int, rows: int) -> Order:
    """The order of loops: "columns" (panel by panel) where the matrix does not stay in cache between rows of tiles.

    `matrix` and `rows` are the bytes of both operands. The matrix does not stay in L1 while all rows stay in L2, or it
    does not even stay in L2.
    """
    l1, l2 = (size * machine.shares.resident for size in (machine.l1, machine.l2))
    return "columns" if panels > 1 and matrix > (l1 if rows <= l2 else l2) else "rows"


def few_bits_schedule(
    machine: Machine, rows: int, times: int, columns: int, depth: int, count: int, block: int
) -> FewBitsSchedule | None:
    """The schedule of `times` [rows, depth] x [depth, columns] products with one matrix, `count` elements of which are
    in a word, and share a scale in blocks of `block`.

    A few rows take what they multiply out of words in registers. For more rows a panel is unpacked once into memory,
    and what follows is a product of f32.
    """
    lanes = lanes_of_products(machine, f32)
    if lanes == 1 or 0 in (rows, times, columns, depth):
        return None
    if (width := _width(machine, rows, ceil_div(columns, lanes))) and times == 1:
        return FewBitsSchedule(lanes, rows, width)
    plain = product_schedule(machine, f32, rows, columns, depth)
    assert plain is not None
    kc = depth if plain.kc is None else _in_blocks(plain.kc, depth, count, block)
    return FewBitsSchedule(lanes, plain.mr, plain.nr, plain.unroll, kc)


def _width(machine: Machine, rows: int, columns: int) -> int:
    """Vectors of columns for which all rows fit the registers, with the sums of a block beside those of all blocks; 0
    where they do not. No wider than it takes for as few panels, so that little is missing in the last one."""
    most = min((machine.registers - OTHERS - rows) // (2 * rows + 1), WIDEST)
    return ceil_div(columns, ceil_div(columns, most)) if most > 0 else 0


def _in_blocks(kc: int, depth: int, count: int, block: int) -> int:
    """About `kc` steps that are whole words, and blocks or a part of one; `depth` where that is less."""
    if blocks := kc // block:
        return min(blocks * block, depth)
    return block if block < depth else min(max(kc // count, 1) * count, depth)


def few_bits_cycles(
    machine: Machine, schedule: FewBitsSchedule, rows: int, columns: int, depth: int, times: int
) -> float:
    """Estimated cycles of one core for `times` [rows, depth] x [depth, columns] products with one matrix."""
    registers = ceil_div(columns, schedule.lanes)
    unpacked = depth * registers * UNPACKING / machine.tiles.multipliers
    unpackings = times * ceil_div(rows, schedule.mr) if schedule.kc is None else 1
    return unpackings * unpacked + times * product_cycles(machine, schedule, rows, columns, depth)


@dataclass(frozen=True)
class BlockedWork:
    """Work in blocks of rows: of each the operand is transformed, then multiplied with all panels of a weight."""

    rows: int
    block_rows: int
    panels: int
    transform_cycles: float
    """To transform a row of the operand."""
    product_cycles: float
    """Of a row: the products with all panels, and the results."""
    weight_cycles: float
    """To fetch the whole weight once, which each block does."""
    transformed: int
    """Bytes of the transformed operand of all rows."""
    together: int = 1
    """Rows that stay in one part: of all parts but the last a multiple of them."""


@dataclass(frozen=True)
class Parts:
    """Parts of the rows, and of the panels for each of these, which threads compute at the same time."""

    rows: int = 1
    panels: int = 1

    @property
    def properties(self) -> dict[str, int]:
        """Those of the operation that says so."""
        return {"row_parts": self.rows, "panel_parts": self.panels}


def choose_parts(machine: Machine, work: BlockedWork, threads: int) -> Parts:
    """The parts for so many threads, as many as there are threads, or one: those of the fewest cycles until the last of
    the threads is done.

    In parts of the rows each thread fetches all of the weight for each of its blocks; in parts of the panels each
    transforms the operand. In one part they share every loop: they wait twice for each panel of a block, and read what
    others transformed.
    """
    options = [Parts(by, threads // by) for by in range(1, threads + 1) if threads % by == 0]
    units = ceil_div(work.rows, work.together)
    found = {each: _parts_cycles(work, each) for each in options if each.rows <= units and each.panels <= work.panels}
    found[Parts()] = _shared_cycles(machine, work, threads)
    return min(found, key=lambda each: found[each])


def _parts_cycles(work: BlockedWork, parts: Parts) -> float:
    units, share = ceil_div(work.rows, work.together), ceil_div(work.panels, parts.panels) / work.panels
    most = min(ceil_div(units, parts.rows) * work.together, work.rows)
    blocks = ceil_div(most, work.block_rows)
    return most * (work.transform_cycles + share * work.product_cycles) + blocks * share * work.weight_cycles


def _shared_cycles(machine: Machine, work: BlockedWork, threads: int) -> float:
    whole, blocks = _parts_cycles(work, Parts()), ceil_div(work.rows, work.block_rows)
    costs = machine.threads
    if costs is None:
        return whole
    phases = 2 * work.panels * blocks * costs.phase_operations / machine.tiles.multipliers
    read = work.transformed * (threads - 1) / threads / costs.shared_bytes / machine.tiles.multipliers
    return whole / threads + phases + read
