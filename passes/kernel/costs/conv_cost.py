"""The cost model of direct convolution: sums along which lanes, on which register tiles. Sizes only, no IR."""

import math
from collections.abc import Sequence

from xdsl.ir import Attribute

from aotc.dialects.dtypes import byte_width, is_float
from aotc.dialects.graph.packed.channels import GroupedPanels
from aotc.dialects.graph.schedules import InnerProductSchedule, MatmulSchedule, PositionsSchedule
from aotc.dialects.graph.shapes import ceil_div, segments
from aotc.machines.machine import Machine
from aotc.passes.kernel.costs import product_cost
from aotc.passes.kernel.costs.lanes import lanes_of_products
from aotc.passes.kernel.layouts import block_depth


def narrow_cycles(machine: Machine, lanes: int, channels: int, outputs: int, taps: int) -> float:
    """Estimated cycles for each position of the result: products, then the reductions across the lanes.

    As many sums as there are lanes are transposed as a square, one shuffle for each register and power of two, and the
    resulting registers are added.
    """
    return outputs * (channels / lanes * taps / machine.tiles.multipliers + math.log2(lanes) + 1)


def narrow_schedule(
    machine: Machine, dtype: Attribute, channels: int, outputs: int, taps: int, groups: int
) -> InnerProductSchedule | None:
    """The schedule of a convolution by inner products along the lanes; None where sums of output channels are better.

    The channels must fill their blocks: padding lanes hold arbitrary values, which must not enter a sum.
    """
    lanes = lanes_of_products(machine, dtype)
    if not is_float(dtype) or groups > 1 or channels % lanes or outputs == 0:
        return None
    direct = channels * taps * ceil_div(outputs, lanes) / machine.tiles.multipliers
    if narrow_cycles(machine, lanes, channels, outputs, taps) > machine.tiles.most_inner_product_time * direct:
        return None
    return InnerProductSchedule(lanes, lanes)


def positions_schedule(
    machine: Machine, dtype: Attribute, positions: int, outputs: int, depth: int
) -> PositionsSchedule | None:
    """The schedule of a convolution with positions along the lanes, for `outputs` channels whose sums are `depth` long
    and `positions` along the last axis; None where output channels fill the lanes."""
    lanes = lanes_of_products(machine, dtype)
    if outputs >= lanes or lanes * byte_width(dtype) != machine.vector_bytes or 0 in (positions, outputs, depth):
        return None
    tile = product_cost.register_tile(machine, outputs, ceil_div(positions, lanes), depth)
    return PositionsSchedule(lanes, *tile, machine.tiles.unroll)


def positions_cycles(
    machine: Machine, schedule: PositionsSchedule, extents: Sequence[int], outputs: int, depth: int
) -> float:
    """Estimated cycles of one core for one image of a convolution as in `positions_schedule`, of `extents`."""
    *outer, row = extents
    registers = ceil_div(row, schedule.lanes)
    return math.prod(outer) * product_cost.nest_cycles(machine, (schedule.mr, schedule.nr), outputs, registers, depth)


def copy_cycles(machine: Machine, size: int) -> float:
    """Estimated cycles of one core to read and write `size` bytes."""
    return 2 * size / machine.bandwidths.l2


def conv_schedule(
    machine: Machine,
    dtype: Attribute,
    operand: int,
    extents: Sequence[int],
    outputs: int,
    channels: int,
    kernel: Sequence[int],
    groups: int = 1,
) -> MatmulSchedule | None:
    """The schedule of a convolution to `outputs` channels whose result has `extents` positions along its axes.

    `operand` counts the elements of x. None where the type is not computed in vectors.
    """
    lanes, taps = lanes_of_products(machine, dtype), math.prod(kernel)
    if lanes == 1 or 0 in (*extents, outputs, channels):
        return None
    registers, depth, rows = ceil_div(outputs, lanes), channels * taps, extents[-1]
    tile, kc = product_cost.blocked_tile(machine, rows, registers, depth)
    if groups > 1:
        kc = None
        tile, depth = _grouped_tile(machine, rows, outputs // groups, channels // groups, taps, groups, lanes)
    matrix = depth * registers * machine.vector_bytes
    order = product_cost.panel_order(machine, ceil_div(registers, tile[1]), matrix, operand * byte_width(dtype))
    order = order if kc is None else "columns"
    band = None
    if order == "columns":  # never with partial sums: a panel of all steps fills the space of the rows, too
        band = rows_in_l2(machine, extents, (matrix, operand * byte_width(dtype)), ceil_div(registers, tile[1]))
    rows = math.prod([band or extents[0], *extents[1:]])
    prefetch = order == "columns" and product_cost.prefetches(machine, rows, tile)
    return MatmulSchedule(lanes, *tile, machine.tiles.block_unroll, order, prefetch, kc, band)


def rows_in_l2(machine: Machine, extents: Sequence[int], sizes: tuple[int, int], panels: int) -> int | None:
    """The rows of the result, about as many in each block, whose operand stays in L2 beside a panel of the weight;
    None where the whole operand does, or where blocks would take more from L3 than they save.

    `sizes` are the bytes of the weight and of the operand. Panel by panel, all of the operand comes from L3 for each
    panel; in blocks, all of the weight comes for each block.
    """
    matrix, operand = sizes
    space = int(machine.l2 * machine.shares.panel) - ceil_div(matrix, panels)
    if len(extents) < 2 or operand <= space:
        return None
    most = extents[0] * space // operand
    if most <= 0:
        return None
    blocks = ceil_div(extents[0], most)
    return ceil_div(extents[0], blocks) if blocks * matrix + operand < panels * operand + matrix else None


def conv_cycles(
    machine: Machine,
    schedule: MatmulSchedule,
    extents: Sequence[int],
    outputs: int,
    channels: int,
    kernel: Sequence[int],
    groups: int = 1,
) -> float:
    """Estimated cycles of one core for one image of a convolution as in `conv_schedule`, with `schedule`."""
    *outer, rows = extents
    inputs, results, width = channels // groups, outputs // groups, schedule.nr * schedule.lanes
    panels = GroupedPanels(groups, inputs, results, width, block_depth(groups, inputs, results, width, schedule.lanes))
    depth = ceil_div(panels.channels, panels.count) * math.prod(kernel)
    return math.prod(outer) * product_cost.product_cycles(machine, schedule, rows, outputs, depth)


def _grouped_tile(
    machine: Machine, rows: int, outputs: int, inputs: int, taps: int, groups: int, lanes: int
) -> tuple[tuple[int, int], int]:
    """The fastest register tile for `groups` of `inputs` to `outputs` channels, and the depth of a block of its panels.

    In groups, a wider panel covers more groups, so more of the input channels that it reads have zero weights for some
    of its outputs.
    """
    best, depth, least = (1, 1), 1, float("inf")
    for columns in range(1, min(machine.tiles.widest, ceil_div(groups * outputs, lanes)) + 1):
        width = columns * lanes
        panels = GroupedPanels(groups, inputs, outputs, width, block_depth(groups, inputs, outputs, width, lanes))
        deep = panels.most * panels.depth * taps
        tile = product_cost.register_tile(machine, rows, columns, deep)
        steps = panels.channels * taps
        parts = segments(rows, tile[0])
        cycles = sum(part.count * steps * product_cost.step_cycles(machine, part.size, columns) for part in parts)
        if tile[1] == columns and cycles < least:
            best, depth, least = tile, deep, cycles
    return best, depth
