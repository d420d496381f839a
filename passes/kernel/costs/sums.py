"""The cost model of sums of products on cores without vectors: instructions, counted; sizes only, no IR.

A tile of P positions times Q outputs takes, for each step of the reduction, P + Q loads and P * Q multiply-adds. What
does not fit the registers is loaded again at each step.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from aotc.dialects.graph.schedules import SumsSchedule
from aotc.dialects.graph.shapes import segments
from aotc.machines.machine import ScalarUnit

WORD = 4
"""Elements of a load of a word."""
_SPILL = 2.5
"""Instructions at each step for a value that has no register: it is loaded, and what it makes room for stored."""
_LOOP = 3
"""Instructions of an iteration beside its work: the counter and the jump."""
_TILE = 12
"""Instructions of a tile beside its reduction: addresses, counters."""
_RESULT = 8
"""Instructions for each sum: what it begins with, and to store it."""
_LARGEST = 4
"""The most positions, and the most outputs, of a tile."""
_SMALL = 2
"""The most outputs of a tile of small code: what becomes of each sum is code of its own."""
_UNROLLED = 16
"""Multiply-adds in one iteration of the innermost loop, at least."""


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
        return Step(WORD, 3, 2, 1, 1, 1)
    load = 1 if unit.offsets else 2
    if unit.multiply == "mul":  # the product needs a register, and where an operand is overwritten, a copy
        return Step(1, load, 2 if unit.offsets else 3, 1, 0, 2, unit.offsets)
    return Step(1, load, 1, 1, 0, 1)


def has_words(unit: ScalarUnit) -> bool:
    """Whether two products of 16 bits are added up by one instruction."""
    return unit.multiply in ("smlad", "mve") and unit.unaligned


def sums_cycles(
    unit: ScalarUnit, tile: tuple[int, int], positions: int, outputs: int, depth: int, *, words: bool, floats: bool
) -> float:
    """Estimated instructions for `positions` x `outputs` sums of `depth` products, on tiles of `tile`."""
    step = step_of(unit, words=words, floats=floats)
    registers, addresses = (unit.float_registers, 0) if floats else (unit.registers, 3)

    def one(rows: int, columns: int) -> float:
        needed = rows * (columns + step.factors) + columns * step.weights + step.spare + addresses
        work = (rows + columns) * step.load + rows * columns * step.multiply
        each = work + _SPILL * max(needed - registers, 0) + _LOOP / unroll_of((rows, columns), step)
        return depth / step.elements * each + rows * columns * _RESULT + _TILE

    parts = product(segments(positions, tile[0]), segments(outputs, tile[1]))
    return sum(r.count * c.count * one(r.size, c.size) for r, c in parts)


def unroll_of(tile: tuple[int, int], step: Step) -> int:
    """Steps in one iteration of the innermost loop."""
    return max(_UNROLLED // (tile[0] * tile[1] * step.elements), 1) if step.unrolls else 1


def sums_schedule(
    unit: ScalarUnit, positions: int, outputs: int, depth: int, *, words: bool, floats: bool, size: bool
) -> SumsSchedule | None:
    """The tile of the fewest instructions; where code is to be small, of one position and
    few outputs. None for nothing to sum up."""
    if 0 in (positions, outputs, depth):
        return None
    words = words and has_words(unit) and not floats
    rows = range(1, (1 if size else min(_LARGEST, positions)) + 1)
    columns = range(1, min(_SMALL if size else _LARGEST, outputs) + 1)

    def cycles(tile: tuple[int, int]) -> float:
        return sums_cycles(unit, tile, positions, outputs, depth, words=words, floats=floats)

    best = min(product(rows, columns), key=cycles)
    unroll = 1 if size else unroll_of(best, step_of(unit, words=words, floats=floats))
    return SumsSchedule(1, *best, WORD if words else 1, unroll, not size)


def depthwise_schedule(
    unit: ScalarUnit, positions: int, channels: int, *, words: bool, floats: bool, size: bool
) -> SumsSchedule:
    """The tile of a depthwise convolution: a word of channels of one position, or neighbouring positions that share
    weights."""
    if words and has_words(unit) and channels >= WORD:
        return SumsSchedule(1, 1, WORD, WORD, 1, not size)
    registers = unit.float_registers if floats else unit.registers
    rows = 1 if size else min(positions, _LARGEST, max(registers // 4, 1))
    return SumsSchedule(1, rows, 1, 1, 1, not size)
