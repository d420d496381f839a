"""Channels of blocked tensors [N, blocks, spatial.., B] moved to other lanes (see `channels` on where they are)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import ClassVar, TypeAlias

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, TensorType
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, prop_def, result_def, var_operand_def

from aotc.dialects.aot.tiles import tile_shape
from aotc.dialects.dtypes import byte_width, numpy_dtype
from aotc.dialects.graph.interfaces import (
    AnchorOp,
    Array,
    Prologue,
    ShapeError,
    common_element_type,
    element_type_of,
    shape_of,
)
from aotc.dialects.graph.loops import LoopBuilder, Reader, Writer
from aotc.dialects.graph.scalars import Scalar
from aotc.dialects.graph.schedule import Machine, Schedule
from aotc.passes.kernel.builders.tile_builder import NotTileable, Tile, TileBuilder
from aotc.passes.kernel.costs.register_tiles import segments

NOTHING = -1
"""The source of a lane that belongs to no channel."""


_Moved: TypeAlias = tuple[tuple[int, int], ...]
"""Lanes of a block of the result, and of which lane of another one each comes."""


@dataclass(frozen=True)
class _Run:
    """Lanes of the result that are equally spaced lanes of one part; of no part, zeros."""

    first: int
    count: int
    part: int | None
    start: int
    step: int


@dataclass(frozen=True)
class _Register:
    """A block of one of the parts that some lanes come from."""

    part: int
    block: int
    moved: _Moved

    @property
    def kind(self) -> tuple[int, _Moved]:
        """All but the number of the block."""
        return self.part, self.moved


def _together(b: TileBuilder, found: Sequence[Scalar], moved: Sequence[_Moved]) -> Scalar | None:
    """One register of lanes of those that were found: the first two in one shuffle, then one after the other."""
    if not found:
        return None
    value, *rest = found
    lanes = tile_shape(value.ssa)[-1]
    taken = list(range(lanes))
    for to, lane in moved[0]:
        taken[to] = lane
    for read, others in zip(rest, moved[1:], strict=True):
        for to, lane in others:
            taken[to] = lanes + lane
        value, taken = b.shuffle(value, read, taken), list(range(lanes))
    return value if taken == list(range(lanes)) else b.shuffle(value, value, taken)


@dataclass(frozen=True)
class _Stretch:
    """Blocks of the result that are put together as others before them, from blocks at equal distances."""

    first: int
    times: int
    blocks: Sequence[tuple[_Register, ...]]
    """Of the first time."""
    steps: Sequence[tuple[int, ...]]
    """How far the blocks that are read move from one time to the next."""


MOST_ALIKE = 8
"""Blocks after which they are put together as before, at most."""


def _stretches(blocks: Sequence[tuple[_Register, ...]]) -> Iterator[_Stretch]:
    """All blocks, cut so that most of them repeat others."""
    first = 0
    while first < len(blocks):
        choices = [_repeated(blocks, first, period) for period in range(1, min(MOST_ALIKE, len(blocks) - first) + 1)]
        repeating = [choice for choice in choices if choice.times > 1]
        best = max(repeating, key=lambda choice: choice.times * len(choice.blocks), default=choices[0])
        yield best
        first += best.times * len(best.blocks)


def _repeated(blocks: Sequence[tuple[_Register, ...]], first: int, period: int) -> _Stretch:
    """The blocks from `first` on, as often as what follows them `period` blocks on is alike."""

    def group(time: int) -> Sequence[tuple[_Register, ...]]:
        start = first + time * period
        return blocks[start : start + period]

    def steps(time: int) -> list[tuple[int, ...]] | None:
        before, after = group(time - 1), group(time)
        if [[each.kind for each in block] for block in before] != [[each.kind for each in block] for block in after]:
            return None
        pairs = (zip(old, new, strict=True) for old, new in zip(before, after, strict=True))
        return [tuple(new.block - old.block for old, new in pair) for pair in pairs]

    times, distance = 1, steps(1)
    while distance is not None and steps(times) == distance:
        times += 1
    return _Stretch(first, times, group(0), distance or [(0,) * len(block) for block in group(0)])


@irdl_op_definition
class RegroupChannelsOp(AnchorOp):
    """Blocks put together of lanes of other blocks, position by position.

    Lane i of the result, counted through its blocks, is lane `sources[i]` of the parts, counted through the blocks of
    all of them, or anything where that is -1 (of constants 0). All have one number of lanes in a block, B.
    """

    name = "graph.regroup_channels"
    ORDERS_WEIGHTS: ClassVar[bool] = True
    parts = var_operand_def(TensorType)
    sources = prop_def(DenseArrayBase)
    result = result_def(TensorType)

    def infer_types(self) -> Sequence[TensorType]:
        if not self.parts:
            raise ShapeError("there is nothing to take lanes from")
        shapes, sources = [shape_of(part) for part in self.parts], self.ints("sources")
        if any(len(shape) < 3 for shape in shapes):
            raise ShapeError("operands must be [N, blocks, spatial..., lanes], found " + str(list(map(list, shapes))))
        first, lanes = shapes[0], shapes[0][-1]
        if len({(shape[0], *shape[2:]) for shape in shapes}) > 1:
            raise ShapeError("operands differ in more than their blocks: " + str(list(map(list, shapes))))
        slots = sum(shape[1] for shape in shapes) * lanes
        if lanes < 1 or len(sources) % lanes or any(not NOTHING <= source < slots for source in sources):
            raise ShapeError(f"{len(sources)} sources among {slots} lanes make no blocks of {lanes}")
        kind = common_element_type(*self.parts)
        return [TensorType(kind, [first[0], len(sources) // lanes, *first[2:]])]

    def operations(self) -> int:
        """None: data only moves."""
        return 0

    def evaluate(self, operands: Sequence[Array]) -> Sequence[Array] | None:
        joined = np.concatenate(operands, 1)
        lanes = joined.shape[-1]
        flat = np.moveaxis(joined, -1, 2).reshape(joined.shape[0], -1, *joined.shape[2:-1])
        sources = np.array(self.ints("sources"))
        taken = flat[:, np.maximum(sources, 0)]
        taken[:, sources == NOTHING] = np.zeros((), numpy_dtype(element_type_of(self.result)))
        split = taken.reshape(taken.shape[0], -1, lanes, *taken.shape[2:])
        return [np.ascontiguousarray(np.moveaxis(split, 2, -1))]

    @property
    def _lanes(self) -> int:
        return shape_of(self.result)[-1]

    def origins(self) -> list[tuple[SSAValue, int] | None]:
        """Of each lane of the result, the part and the lane of it, counted through its blocks; None: of nothing."""
        slots = [(part, lane) for part in self.parts for lane in range(shape_of(part)[1] * self._lanes)]
        return [None if source == NOTHING else slots[source] for source in self.ints("sources")]

    def _origins(self) -> list[tuple[int, int] | None]:
        """As `origins`, with numbers of parts."""
        parts = list(self.parts)
        return [None if origin is None else (parts.index(origin[0]), origin[1]) for origin in self.origins()]

    def _runs(self) -> Iterator[_Run]:
        origins, first = self._origins(), 0
        while first < len(origins):
            origin, count, step = origins[first], 1, 0
            following = origins[first + 1] if first + 1 < len(origins) else None
            if origin and following and origin[0] == following[0]:
                step = following[1] - origin[1]
            while first + count < len(origins):
                expected = origin and (origin[0], origin[1] + count * step)
                if origins[first + count] != expected or (origin and not step):
                    break
                count += 1
            yield _Run(first, count, origin[0] if origin else None, origin[1] if origin else 0, step)
            first += count

    def loops(self, b: LoopBuilder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        batch, _, *spatial, lanes = shape_of(self.result)
        zero = b.const(0, element_type_of(self.result))

        def place(slot: Scalar) -> tuple[Scalar, Scalar]:
            return slot / lanes, b.rem(slot, b.index(lanes))

        for run in self._runs():

            def body(index: list[Scalar], run: _Run = run) -> None:
                image, *position, number = index
                block, lane = place(number + run.first)
                value = zero
                if run.part is not None:
                    source, source_lane = place(number * run.step + run.start)
                    value = reads[run.part]([image, source, *position, source_lane])
                writes[0]([image, block, *position, lane], value)

            b.for_each([batch, *spatial, run.count], body)

    def prologue(self, operand: int) -> Prologue:
        return Prologue.STORED

    def schedule_on(self, machine: Machine) -> Schedule | None:
        lanes = self._lanes
        fits = lanes * byte_width(element_type_of(self.result)) <= machine.vector_bytes
        return Schedule(lanes, (machine.use.chain,)) if fits and lanes > 1 and not lanes & (lanes - 1) else None

    def tiled_loops(
        self, b: TileBuilder, reads: Sequence[Reader], writes: Sequence[Writer], schedule: Schedule
    ) -> None:
        """A register is shuffled together from those that its lanes come from."""
        batch, _, *spatial, lanes = shape_of(self.result)
        if schedule.lanes != lanes or not spatial:
            raise NotTileable("a block of channels is not one register of some")
        *outer, across = spatial

        def write(block: Scalar, registers: Sequence[tuple[_Register, Scalar]], at: list[Scalar], size: int) -> None:
            image, *before, position = at
            tile = Tile((size, lanes))
            where, lane = tile.index(b, position, {0: 1}), tile.index(b, 0, {1: 1})
            found = [
                b.splat(reads[register.part]([image, source, *before, where, lane]), tile)
                for register, source in registers
            ]
            value = _together(b, found, [register.moved for register, _ in registers])
            if value is None:
                value = b.splat(0, tile, element_type_of(self.result))
            writes[0]([image, block, *before, where, lane], value)

        def row(stretch: _Stretch, index: list[Scalar]) -> None:
            time, *at = index
            for part in segments(across, schedule.tile[0]):

                def body(position: Scalar, size: int = part.size) -> None:
                    for number, (registers, steps) in enumerate(zip(stretch.blocks, stretch.steps, strict=True)):
                        sources = [time * step + each.block for each, step in zip(registers, steps, strict=True)]
                        block = time * len(stretch.blocks) + (stretch.first + number)
                        write(block, list(zip(registers, sources, strict=True)), [*at, position], size)

                b.each(part.start, part.start + part.count * part.size, part.size, body)

        for stretch in _stretches(self._registers()):
            b.for_each([stretch.times, batch, *outer], lambda index, stretch=stretch: row(stretch, index))

    def _registers(self) -> list[tuple[_Register, ...]]:
        """For each block of the result, what its lanes come from."""
        lanes, origins = self._lanes, self._origins()
        blocks: list[tuple[_Register, ...]] = []
        for first in range(0, len(origins), lanes):
            found: dict[tuple[int, int], list[tuple[int, int]]] = {}
            for to, origin in enumerate(origins[first : first + lanes]):
                if origin is not None:
                    found.setdefault((origin[0], origin[1] // lanes), []).append((to, origin[1] % lanes))
            blocks.append(tuple(_Register(part, source, tuple(moved)) for (part, source), moved in found.items()))
        return blocks


def regrouped(origins: Sequence[tuple[SSAValue, int] | None], like: RegroupChannelsOp) -> RegroupChannelsOp:
    """The operation whose lanes come from `origins`, parts and lanes of them; of nothing, where it is not known."""
    parts = list(dict.fromkeys(origin[0] for origin in origins if origin is not None)) or [like.parts[0]]
    sizes = (shape_of(part)[1] * shape_of(part)[-1] for part in parts)
    first = dict(zip(parts, accumulate(sizes, initial=0), strict=False))
    sources = [NOTHING if origin is None else first[origin[0]] + origin[1] for origin in origins]
    return RegroupChannelsOp.get(parts, sources=sources)
