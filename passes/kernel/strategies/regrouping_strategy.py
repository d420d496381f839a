"""Channels moved to other lanes of the NCHWc layout by shuffles of vector registers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from aotc.dialects.builder import Scalar
from aotc.dialects.dtypes import byte_width
from aotc.dialects.graph.interfaces import element_type_of
from aotc.dialects.graph.packed.convolution.regrouping import RegroupChannelsOp
from aotc.dialects.graph.schedules import ElementwiseSchedule
from aotc.machines.machine import Machine
from aotc.passes.kernel.builders.tiles import NotVectorizable, Tile
from aotc.passes.kernel.nest import Nest
from aotc.passes.kernel.strategy import KernelStrategy, Prologue, Strategies

_Moved: TypeAlias = tuple[tuple[int, int], ...]
"""Pairs (lane of a block of the result, lane of the source block that it comes from)."""


class RegroupStrategy(KernelStrategy[RegroupChannelsOp]):
    """Loops over strips of blocks that are made by the same shuffles."""

    SCHEDULES = (ElementwiseSchedule,)
    PROLOGUES = (Prologue.STORED,)

    def schedule(self, op: RegroupChannelsOp, machine: Machine) -> ElementwiseSchedule | None:
        lanes = op.lanes
        fits = lanes * byte_width(element_type_of(op.result)) <= machine.vector_bytes
        return ElementwiseSchedule(lanes, machine.use.chain) if fits and lanes > 1 and not lanes & (lanes - 1) else None

    def nest(self, nest: Nest[RegroupChannelsOp, ElementwiseSchedule]) -> None:
        op, b, schedule = nest.op, nest.b, nest.schedule
        batch, _, *spatial, lanes = nest.shape
        if schedule.lanes != lanes or not spatial:
            raise NotVectorizable("the blocks of channels are not vector registers")
        *outer, across = spatial

        def write(block: Scalar, registers: Sequence[tuple[_Register, Scalar]], at: list[Scalar], size: int) -> None:
            image, *before, position = at
            tile = Tile((size, lanes))
            where, lane = tile.index(b, position, {0: 1}), tile.index(b, 0, {1: 1})
            found = [
                b.splat(nest.reads[register.part]([image, source, *before, where, lane]), tile)
                for register, source in registers
            ]
            moved = [register.moved for register, _ in registers]
            value = b.together(found, moved) if found else b.splat(0, tile, element_type_of(op.result))
            nest.write([image, block, *before, where, lane], value)

        def row(repetition: _Repetition, index: list[Scalar]) -> None:
            time, *at = index

            def body(position: Scalar, size: int) -> None:
                for number, (registers, steps) in enumerate(zip(repetition.blocks, repetition.steps, strict=True)):
                    sources = [time * step + each.block for each, step in zip(registers, steps, strict=True)]
                    block = time * len(repetition.blocks) + (repetition.first + number)
                    write(block, list(zip(registers, sources, strict=True)), [*at, position], size)

            b.parallel_segments(across, schedule.registers, body)

        for repetition in _repetitions(_registers(op)):
            b.parallel_for(
                [repetition.times, batch, *outer], lambda index, repetition=repetition: row(repetition, index)
            )


@dataclass(frozen=True)
class _Register:
    """A block of one of the parts, and the lanes that are taken from it."""

    part: int
    block: int
    moved: _Moved

    @property
    def kind(self) -> tuple[int, _Moved]:
        """The common part of two such blocks to which the same shuffles apply: all but the block's number."""
        return self.part, self.moved


@dataclass(frozen=True)
class _Repetition:
    """A sequence of blocks of the result that repeats: made by the same shuffles, from blocks at equal distances."""

    first: int
    times: int
    blocks: Sequence[tuple[_Register, ...]]
    """The source blocks of the first repetition."""
    steps: Sequence[tuple[int, ...]]
    """How far the source blocks move from one repetition to the next."""


MOST_ALIKE = 8
"""The longest period, in blocks, of a repetition."""


def _repetitions(blocks: Sequence[tuple[_Register, ...]]) -> Iterator[_Repetition]:
    """All blocks as repetitions, such that most blocks repeat others."""
    first = 0
    while first < len(blocks):
        choices = [_repeated(blocks, first, period) for period in range(1, min(MOST_ALIKE, len(blocks) - first) + 1)]
        repeating = [choice for choice in choices if choice.times > 1]
        best = max(repeating, key=lambda choice: choice.times * len(choice.blocks), default=choices[0])
        yield best
        first += best.times * len(best.blocks)


def _repeated(blocks: Sequence[tuple[_Register, ...]], first: int, period: int) -> _Repetition:
    """The repetition of `period` blocks that begins at block `first`."""

    def group(time: int) -> Sequence[tuple[_Register, ...]]:
        start = first + time * period
        return blocks[start : start + period]

    def steps(time: int) -> list[tuple[int, ...]] | None:
        before, after = group(time - 1), group(time)
        if [[each.kind for each in block] for block in before] != [[each.kind for each in block] for block in after]:
            return None
        axes = (zip(old, new, strict=True) for old, new in zip(before, after, strict=True))
        return [tuple(new.block - old.block for old, new in both) for both in axes]

    times, distance = 1, steps(1)
    while distance is not None and steps(times) == distance:
        times += 1
    return _Repetition(first, times, group(0), distance or [(0,) * len(block) for block in group(0)])


def _registers(op: RegroupChannelsOp) -> list[tuple[_Register, ...]]:
    """For each block of the result, the source blocks of its lanes."""
    lanes, origins = op.lanes, op.numbered_origins()
    blocks: list[tuple[_Register, ...]] = []
    for first in range(0, len(origins), lanes):
        found: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for to, origin in enumerate(origins[first : first + lanes]):
            if origin is not None:
                found.setdefault((origin[0], origin[1] // lanes), []).append((to, origin[1] % lanes))
        blocks.append(tuple(_Register(part, source, tuple(moved)) for (part, source), moved in found.items()))
    return blocks


STRATEGIES: Strategies = {RegroupChannelsOp: (RegroupStrategy(),)}
