"""The cost model of products with matrices of few bits: register tiles, and when a panel is unpacked; sizes only."""

from __future__ import annotations

from xdsl.dialects.builtin import f32

from aotc.dialects.graph.packed.products.packed_matmul import OTHERS, UNPACKING, WIDEST
from aotc.dialects.graph.schedules import FewBitsSchedule
from aotc.dialects.graph.shapes import ceil_div
from aotc.machines.machine import Machine
from aotc.passes.kernel.costs.lanes import lanes_of_products
from aotc.passes.kernel.costs.product_cost import product_schedule
from aotc.passes.kernel.costs.register_tile_cost import nest_cycles


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
    unit = block if block <= kc else count
    return min(max(kc // unit, 1) * unit if block <= kc or block >= depth else block, depth)


def few_bits_cycles(
    machine: Machine, schedule: FewBitsSchedule, rows: int, columns: int, depth: int, times: int
) -> float:
    """Estimated cycles of one core for `times` [rows, depth] x [depth, columns] products with one matrix."""
    registers = ceil_div(columns, schedule.lanes)
    unpacked = depth * registers * UNPACKING / machine.tiles.multipliers
    unpackings = times * ceil_div(rows, schedule.mr) if schedule.kc is None else 1
    return unpackings * unpacked + times * nest_cycles(
        machine, (schedule.mr, schedule.nr), rows, registers, schedule.kc or depth
    )
