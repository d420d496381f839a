"""The cost model of sums of products on cores without vectors: instructions, counted; sizes only, no IR.

A tile of P positions times Q outputs takes, for each step of the reduction, P + Q loads and P * Q multiply-adds. What
does not fit the registers is loaded again at each step.
"""

from dataclasses import dataclass
from itertools import product

from aotc.dialects.aot import LANES, QUAD, STRIP, WORD
from aotc.dialects.graph.schedules import SumsSchedule
from aotc.dialects.graph.shapes import ceil_div, segments
from aotc.machines.machine import ScalarUnit


@dataclass(frozen=True)
class Step:
    """Costs of a step of the reduction, in instructions and registers."""

    elements: int
    """Of the reduction."""
    load: int
    """For an operand of a step: its load, and what makes factors of it."""
    multiply: int
    """For each sum."""
    factors: int
    """Registers that the factors of a position take."""
    weights: int
    """Registers that the weights of an output take, beside `spare`."""
    spare: int
    """Registers for one weight and for temporary values."""
    unrolls: bool = True
    """Whether several steps in one iteration take fewer instructions: not where distances take some of their own."""


def step_of(unit: ScalarUnit, *, words: bool, floats: bool) -> Step:
    """Of words of four integers, of single integers, or of f32."""
    if floats:
        return Step(1, 1, 1, 1, 0, 1)
    if words:
        return Step(WORD, unit.sums.word_load, 2, 1, 1, 1)
    load = 1 if unit.offsets else 2
    if unit.multiply == "mul":  # the product needs a register, and where an operand is overwritten, a copy
        return Step(1, load, 2 + (not unit.offsets), 1, 0, 2, unit.offsets)
    return Step(1, load, 1, 1, 0, 1)


def has_words(unit: ScalarUnit) -> bool:
    """Whether two products of 16 bits are added up by one instruction."""
    return unit.multiply in ("smlad", "mve") and unit.unaligned


def sums_cycles(
    unit: ScalarUnit, tile: tuple[int, int], positions: int, outputs: int, depth: int, *, words: bool, floats: bool
) -> float:
    """Instructions for `positions` x `outputs` sums of `depth` products, on tiles of `tile`."""
    step, costs = step_of(unit, words=words, floats=floats), unit.sums

    def one(rows: int, columns: int) -> float:
        work = (rows + columns) * step.load + rows * columns * step.multiply
        spilled = costs.spill * spilled_values(unit, (rows, columns), words=words, floats=floats)
        each = work + spilled + costs.loop / unroll_of(unit, (rows, columns), step)
        return depth / step.elements * each + rows * columns * costs.result + costs.tile

    parts = product(segments(positions, tile[0]), segments(outputs, tile[1]))
    return sum(r.count * c.count * one(r.size, c.size) for r, c in parts)


def spilled_values(unit: ScalarUnit, tile: tuple[int, int], *, words: bool, floats: bool) -> int:
    """How many values of a step have no register: they are on the stack."""
    step, (rows, columns) = step_of(unit, words=words, floats=floats), tile
    registers, addresses = (unit.float_registers, 0) if floats else (unit.registers, unit.sums.address_registers)
    needed = rows * (columns + step.factors) + columns * step.weights + step.spare + addresses
    return max(needed - registers, 0)


def unroll_of(unit: ScalarUnit, tile: tuple[int, int], step: Step) -> int:
    """Steps in one iteration of the innermost loop."""
    return max(unit.sums.unrolled // (tile[0] * tile[1] * step.elements), 1) if step.unrolls else 1


def is_rolled(sums: int, *, floats: bool, size: bool) -> bool:
    """Whether results of a tile of sums are computed in a loop, for small code; each takes a place on the stack."""
    return sums > 1 and not floats and size


def sums_schedule(
    unit: ScalarUnit, positions: int, outputs: int, depth: int, *, words: bool, floats: bool, size: bool, step: int = 1
) -> SumsSchedule | None:
    """The tile of the least stack among those of about the fewest instructions, of a multiple of `step` outputs; where
    code is to be small, of one position and few outputs. None for nothing to sum up."""
    if 0 in (positions, outputs, depth):
        return None
    words = words and has_words(unit) and not floats
    rows = range(1, (1 if size else min(unit.sums.most, positions)) + 1)
    columns = range(step, max(min(unit.sums.most_small if size else unit.sums.most, outputs), step) + 1, step)

    def cycles(tile: tuple[int, int]) -> float:
        return sums_cycles(unit, tile, positions, outputs, depth, words=words, floats=floats)

    tiles = {tile: cycles(tile) for tile in product(rows, columns)}
    most = min(tiles.values()) * unit.sums.about
    even = (tile for tile, taken in tiles.items() if taken <= most)
    best = min(even, key=lambda tile: (spilled_values(unit, tile, words=words, floats=floats), tiles[tile]))
    unroll = 1 if size else unroll_of(unit, best, step_of(unit, words=words, floats=floats))
    rolled = is_rolled(best[0] * best[1], floats=floats, size=size)
    return SumsSchedule(1, *best, WORD if words else 1, unroll, not size, rolled=rolled)


def strips_schedule(unit: ScalarUnit, positions: int, outputs: int, depth: int, *, size: bool) -> SumsSchedule | None:
    """The tile on vectors: neighbouring positions of one output, which share its weights; sums are scalars, of which
    there are few. None without such vectors, or for nothing to sum up."""
    if unit.multiply != "mve" or 0 in (positions, outputs, depth):
        return None
    return SumsSchedule(1, 1 if size else min(positions, unit.sums.most), 1, STRIP, 1, not size)


def strips_cycles(unit: ScalarUnit, tile: int, positions: int, outputs: int, rows: int, strip: int) -> float:
    """Estimated instructions of sums on such vectors: for each register the weights, then of each of `tile` positions
    the elements, less their zero point, and their products."""
    costs, registers = unit.sums, rows * ceil_div(strip, STRIP)
    masked = rows * costs.predicate if strip % STRIP else 0

    def one(count: int) -> float:
        return registers * (1 + costs.strip * count + costs.loop) + masked + count * costs.result + costs.tile

    return outputs * sum(part.count * one(part.size) for part in segments(positions, tile))


def quads_instructions(unit: ScalarUnit, outputs: int, rows: int, strip: int) -> float:
    """Instructions for the sums of one position, four outputs at a time, along `rows` strips of `strip` bytes."""
    whole, rest = divmod(strip, LANES)
    steps = whole + (1 + unit.sums.predicate / (2 * QUAD + 1) if rest else 0)
    return outputs // QUAD * (rows * (steps * (2 * QUAD + 1) + unit.sums.loop) + unit.sums.quad)


def quad_cycles(unit: ScalarUnit, positions: int, outputs: int, rows: int, strip: int, *, patch: bool = False) -> float:
    """Estimated instructions for the sums of `positions`; those of less than four outputs are scalars."""
    words, rest, depth = strip >= WORD and has_words(unit), outputs % QUAD, rows * strip
    copies, along = (patch_instructions(unit, rows, strip), (1, depth)) if patch else (0, (rows, strip))
    quads = positions * (copies + quads_instructions(unit, outputs, *along))
    return quads + sums_cycles(unit, (1, 1), positions, rest, depth, words=words, floats=False)


def patch_instructions(unit: ScalarUnit, rows: int, strip: int) -> float:
    """Instructions that copy `rows` strips of `strip` bytes to a patch."""
    return unit.sums.tile + rows * unit.sums.patch * (1 + ceil_div(strip, LANES))


def patch_fits(unit: ScalarUnit, elements: int, rows: int, strip: int) -> bool:
    """Whether the memory of a patch, of `rows` strips of `strip` bytes, is little beside a result of `elements`."""
    return unit.sums.patch_share * rows * strip <= elements


def patch_pays(unit: ScalarUnit, outputs: int, rows: int, strip: int) -> bool:
    """Whether short strips that a position sees are copied to one, which all outputs are then computed from."""
    patched = patch_instructions(unit, rows, strip) + quads_instructions(unit, outputs, 1, rows * strip)
    return patched < unit.sums.most_patch_time * quads_instructions(unit, outputs, rows, strip)


def quads_schedule(
    unit: ScalarUnit, positions: int, outputs: int, rows: int, strip: int, *, size: bool
) -> SumsSchedule | None:
    """A tile on vectors whose sums become quads: four outputs of a position, along `rows` strips of `strip` bytes. None
    without such vectors, or where words or other strips take fewer instructions."""
    if not unit.quads or outputs < QUAD or 0 in (positions, rows, strip):
        return None
    sizes = positions, outputs, rows, strip
    words = sums_schedule(unit, positions, outputs, rows * strip, words=strip >= WORD, floats=False, size=size)
    assert words is not None
    if scheduled_cycles(unit, words, *sizes) < quad_cycles(unit, *sizes):
        return None
    return SumsSchedule(QUAD, 1, QUAD, LANES, 1, not size)


def scheduled_cycles(
    unit: ScalarUnit,
    schedule: SumsSchedule,
    positions: int,
    outputs: int,
    rows: int,
    strip: int,
    *,
    floats: bool = False,
) -> float:
    """Instructions for `positions` x `outputs` sums along `rows` strips of `strip` elements, as a schedule says.

    Without an FPU, the calls that add and multiply f32 are left out, which every way of computing makes alike.
    """
    if schedule.lanes == QUAD:
        return quad_cycles(unit, positions, outputs, rows, strip, patch=schedule.patch)
    if schedule.word == STRIP:
        return strips_cycles(unit, schedule.positions, positions, outputs, rows, strip)
    tile, words = (schedule.positions, schedule.columns), schedule.word > 1
    return sums_cycles(unit, tile, positions, outputs, rows * strip, words=words, floats=floats)


def depthwise_cycles(
    unit: ScalarUnit, schedule: SumsSchedule, positions: int, channels: int, taps: int, *, floats: bool = False
) -> float:
    """Estimated instructions of a depthwise convolution of neighbouring positions: `taps` products for each channel."""
    costs, single = unit.sums, step_of(unit, words=False, floats=floats)
    if schedule.lanes == QUAD:
        load, multiply, result = 1, 1, costs.quad
    elif schedule.word > 1:
        load, multiply, result = costs.word_load, WORD, WORD * costs.result
    else:
        load, multiply, result = single.load, single.multiply, costs.result

    def tile(rows: int, load: int, multiply: int, result: int) -> float:
        return taps * (load + rows * (load + multiply) + costs.loop) + rows * result + costs.tile

    whole, rest = divmod(channels, schedule.columns)

    def cycles_of(rows: int) -> float:
        alone = rest * tile(rows, single.load, single.multiply, costs.result)
        return whole * tile(rows, load, multiply, result) + alone

    return sum(part.count * cycles_of(part.size) for part in segments(positions, schedule.positions))


def depthwise_schedule(
    unit: ScalarUnit, positions: int, channels: int, *, words: bool, floats: bool, size: bool
) -> SumsSchedule:
    """The tile of a depthwise convolution: neighbouring positions of four channels in vectors, a word of channels of a
    position, or neighbouring positions that share weights."""
    if unit.quads and not floats and channels >= QUAD:
        return SumsSchedule(QUAD, 1 if size else min(positions, unit.sums.most), QUAD, 1, 1, not size)
    if words and has_words(unit) and channels >= WORD:
        return SumsSchedule(1, 1, WORD, WORD, 1, not size, rolled=is_rolled(WORD, floats=floats, size=size))
    registers = unit.float_registers if floats else unit.registers
    one = size or not (floats or unit.long_multiply)  # several results would take as many registers, or a loop
    rows = 1 if one else min(positions, unit.sums.most, max(registers // unit.sums.window_registers, 1))
    return SumsSchedule(1, rows, 1, 1, 1, not size)
