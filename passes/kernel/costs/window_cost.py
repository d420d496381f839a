"""The schedules of pooling and of convolution within blocks of channels, and of rows of windows; sizes only, no IR."""

from dataclasses import dataclass
from math import log2

from xdsl.ir import Attribute

from aotc.dialects.graph.schedules import PositionsSchedule, WindowSchedule
from aotc.dialects.graph.shapes import ceil_div
from aotc.dialects.graph.windows.sliding import SlidingWindow
from aotc.machines.machine import Machine
from aotc.passes.kernel.costs.lanes import lanes_of_products


def window_schedule(machine: Machine, dtype: Attribute, block: int) -> WindowSchedule | None:
    """The schedule of windows over blocks of channels; None where a block is no vector register of the machine."""
    if block == 1 or lanes_of_products(machine, dtype) != block:
        return None
    return WindowSchedule(block, machine.use.window)


def packed_window_cycles(machine: Machine, lanes: int, operand: int, results: int, taps: int) -> float:
    """Estimated cycles of one core to pack an operand of so many registers, to reduce windows, and to unpack results.

    As many registers as there are lanes are loaded, transposed as a square, one shuffle for each register and power of
    two, and stored. Zen 4, AVX-512, estimated and measured thousands of cycles: 64 channels of 112 x 112, 3 x 3 / 2 564
    and 555; 192 of 28 x 28, 3 x 3 225 and 239; 512 of 7 x 7, 7 x 7 13 and 13.
    """
    return (operand + results) * (log2(lanes) + machine.windows.packing_cycles) + results * (taps + 1)


@dataclass(frozen=True)
class Stretch:
    """`count` adjacent tiles of `size` positions in the lanes, from position `start` on, which read alike: `elements`
    neighbours, of which the first is `first` after the one that tap 0 reads, or would read, at a tile's first
    position."""

    start: int
    count: int
    size: int
    first: int
    elements: int


def stretches(window: SlidingWindow, size: int, lanes: int) -> list[Stretch]:
    """All positions of `window` in tiles of `size`, of which the last may be smaller, and the tiles inside are a single
    entry. Whole registers of `lanes` are read where the operand has them."""

    def cut(start: int) -> Stretch:
        count = min(size, window.positions - start)
        low = start * window.stride - window.before
        begin = min(max(low, 0), window.extent)
        end = min(low + (count - 1) * window.stride + window.span, window.extent)
        end = min(begin + ceil_div(max(end - begin, 0), lanes) * lanes, window.extent)
        return Stretch(start, 1, count, begin - low, end - begin)

    whole = ceil_div((size - 1) * window.stride + window.span, lanes) * lanes
    step, count = size * window.stride, window.positions // size
    begin = min(max(ceil_div(window.before, step), 0), count)
    end = min(max((window.extent + window.before - whole) // step + 1, begin), count)
    inside = [Stretch(begin * size, end - begin, size, 0, whole)] if begin < end else []
    before, after = range(0, begin * size, size), range(end * size, window.positions, size)
    return [*map(cut, before), *inside, *map(cut, after)]


def window_rows_schedule(
    machine: Machine, width: int, along: SlidingWindow, rows: int, in_parts: bool
) -> PositionsSchedule | None:
    """The schedule of windows of some rows with positions along the last axis in lanes of `width` bytes, of the whole
    register or of what is needed of it; None where lanes would be mostly empty, or where that would be too much code.
    """
    lanes, costs = machine.vector_bytes // width, machine.windows
    while lanes * width > costs.least_bytes and 2 * along.positions <= lanes:
        lanes //= 2
    if along.size > costs.most_taps or lanes < 2 or along.positions <= costs.least_filled * lanes:
        return None
    most = min(machine.use.window, ceil_div(along.positions, lanes))
    found = [PositionsSchedule(lanes, 1, nr) for nr in range(1, most + 1)]
    fitting = [each for each in found if _registers(each, along) <= machine.registers or each.nr == 1]
    few = [each for each in fitting if len(stretches(along, each.nr * lanes, lanes)) <= costs.most_stretches]
    return min(few, key=lambda each: window_row_cycles(machine, each, along, rows, in_parts), default=None)


def _registers(schedule: PositionsSchedule, along: SlidingWindow) -> int:
    """Those that a tile takes: what it reads of a row, again in residues, and results."""
    read = ceil_div((schedule.nr * schedule.lanes - 1) * along.stride + along.span, schedule.lanes)
    return read * (2 if along.stride > 1 else 1) + schedule.nr + 2


def window_row_cycles(
    machine: Machine, schedule: PositionsSchedule, along: SlidingWindow, rows: int, in_parts: bool
) -> float:
    """Estimated cycles of one core for a row of results as in `window_rows_schedule`: for each row that is read its
    loads, for each tap a shuffle and an operation, once for all rows where windows are reduced `in_parts`.

    As above, estimated and measured: 242 and 228; 140 and 153; 128 channels of 20 x 20, 5 x 5 102 and 133."""
    lanes = schedule.lanes

    def cycles(size: int, elements: int) -> float:
        read, results = ceil_div(elements, lanes), ceil_div(size, lanes)
        taps = 2 * along.size * results + (read if along.stride > 1 else 0)
        loads = rows * read * (1 / machine.tiles.loads + in_parts)
        return loads + taps * (1 if in_parts else rows) + machine.tiles.start_cycles

    tiles = stretches(along, schedule.nr * lanes, lanes)
    return sum(each.count * cycles(each.size, each.elements) for each in tiles)
