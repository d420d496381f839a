"""The cost model of sums of products on cores without vectors: instructions, counted; sizes only, no IR.

A tile of P positions times Q outputs takes, for each step of the reduction, P + Q loads and P * Q multiply-adds. What
does not fit the registers is loaded again at each step.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from aotc.dialects.aot import RUN, WORD
from aotc.dialects.graph.schedules import SumsSchedule
from aotc.dialects.graph.shapes import segments
from aotc.machines.machine import ScalarUnit


@dataclass(frozen=True)
class Step:
    """What a step of the reduction takes, in instructions and registers."""

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
    """Estimated instructions for `positions` x `outputs` sums of `depth` products, on tiles of `tile`."""
    step = step_of(unit, words=words, floats=floats)
    costs = unit.sums
    registers, addresses = (unit.float_registers, 0) if floats else (unit.registers, costs.address_registers)

    def one(rows: int, columns: int) -> float:
        needed = rows * (columns + step.factors) + columns * step.weights + step.spare + addresses
        work = (rows + columns) * step.load + rows * columns * step.multiply
        each = work + costs.spill * max(needed - registers, 0) + costs.loop / unroll_of(unit, (rows, columns), step)
        return depth / step.elements * each + rows * columns * costs.result + costs.tile

    parts = product(segments(positions, tile[0]), segments(outputs, tile[1]))
    return sum(r.count * c.count * one(r.size, c.size) for r, c in parts)


def unroll_of(unit: ScalarUnit, tile: tuple[int, int], step: Step) -> int:
    """Steps in one iteration of the innermost loop."""
    return max(unit.sums.unrolled // (tile[0] * tile[1] * step.elements), 1) if step.unrolls else 1


def sums_schedule(
    unit: ScalarUnit, positions: int, outputs: int, depth: int, *, words: bool, floats: bool, size: bool
) -> SumsSchedule | None:
    """The tile of the fewest instructions; where code is to be small, of one position and
    few outputs. None for nothing to sum up."""
    if 0 in (positions, outputs, depth):
        return None
    words = words and has_words(unit) and not floats
    rows = range(1, (1 if size else min(unit.sums.most, positions)) + 1)
    columns = range(1, min(unit.sums.most_small if size else unit.sums.most, outputs) + 1)

    def cycles(tile: tuple[int, int]) -> float:
        return sums_cycles(unit, tile, positions, outputs, depth, words=words, floats=floats)

    best = min(product(rows, columns), key=cycles)
    unroll = 1 if size else unroll_of(unit, best, step_of(unit, words=words, floats=floats))
    return SumsSchedule(1, *best, WORD if words else 1, unroll, not size)


def runs_schedule(unit: ScalarUnit, positions: int, outputs: int, depth: int, *, size: bool) -> SumsSchedule | None:
    """The tile on vectors: neighbouring positions of one output, which share its weights; sums are scalars, of which
    there are few. None without such vectors, or for nothing to sum up."""
    if unit.multiply != "mve" or 0 in (positions, outputs, depth):
        return None
    return SumsSchedule(1, 1 if size else min(positions, unit.sums.most), 1, RUN, 1, not size)


def depthwise_schedule(
    unit: ScalarUnit, positions: int, channels: int, *, words: bool, floats: bool, size: bool
) -> SumsSchedule:
    """The tile of a depthwise convolution: a word of channels of one position, or neighbouring positions that share
    weights."""
    if words and has_words(unit) and channels >= WORD:
        return SumsSchedule(1, 1, WORD, WORD, 1, not size)
    registers = unit.float_registers if floats else unit.registers
    rows = 1 if size else min(positions, unit.sums.most, max(registers // unit.sums.window_registers, 1))
    return SumsSchedule(1, rows, 1, 1, 1, not size)
