"""Operations that are computed alike wherever elements lie, or that move them, in the NCHWc layout."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeAlias

import numpy as np
from xdsl.ir import SSAValue

from aotc.dialects.axis_reads import AxisReads
from aotc.dialects.builder import Scalar
from aotc.dialects.dtypes import byte_width
from aotc.dialects.graph.conversion import AffineOp
from aotc.dialects.graph.elementwise import BroadcastOp
from aotc.dialects.graph.indexing import GatherOp
from aotc.dialects.graph.interfaces import GraphOp, element_type_of, producer, shape_of
from aotc.dialects.graph.movement import ConcatOp, PadOp, ReshapeOp, SliceOp, TransposeOp
from aotc.dialects.graph.packed.channels import Channels
from aotc.dialects.graph.packed.convolution.regrouping import RegroupChannelsOp
from aotc.dialects.graph.quantized.bytes import LookupOp
from aotc.dialects.graph.quantized.requantization import DoublingRequantizeOp, FixedRequantizeOp, RequantizeOp
from aotc.dialects.graph.schedules import ElementwiseSchedule
from aotc.machines.machine import Machine
from aotc.passes.kernel.builders.tiles import NotVectorizable, Tile
from aotc.passes.kernel.layouts import Blocked, ChannelsOf, Layouts, concatenated, is_compact
from aotc.passes.kernel.nest import LoopNest, Nest
from aotc.passes.kernel.strategy import KernelStrategy, Prologue, Strategies, strategy_of


class PointwiseLayout(KernelStrategy[BroadcastOp]):
    """In the layout of the operand of the fewest blocks; operands that broadcast become parameters in that layout."""

    def lay_out(self, op: BroadcastOp, layouts: Layouts) -> Blocked | None:
        shape = shape_of(op.results[0])
        whole = [value for value in op.operands if shape_of(value) == shape]
        channels = layouts.channels_of(*whole)
        if channels is None:
            return None
        if len(set(whole)) == 1:
            channels = layouts.compacted(whole[0], op.results[0])
        operands = [layouts.pack_parameter(value, shape, channels) for value in op.operands]
        return Blocked(layouts.copied(op, operands), channels)

    def lay_out_reshaped(self, op: BroadcastOp, layouts: Layouts, shape: Sequence[int]) -> Blocked | None:
        """In the layout of the operand that does not broadcast; parameters of groups are repeated for each channel."""
        own = shape_of(op.results[0])
        whole = [value for value in op.operands if shape_of(value) == own]
        maker = producer(whole[0], GraphOp) if len(whole) == 1 else None
        ones = [1] * len(own[2:])
        for value in op.operands:
            extents = [1] * (len(own) - len(shape_of(value))) + [*shape_of(value)]
            if value not in whole and extents not in ([1, 1, *ones], [1, *own[1:2], *ones]):
                return None
        if maker is None or (x := strategy_of(maker).lay_out_reshaped(maker, layouts, shape)) is None:
            return None

        def parameter(value: SSAValue) -> SSAValue:
            if math.prod(shape_of(value)) == 1:
                return value
            column = layouts.add(ReshapeOp.get(value, shape=[1, own[1], *ones]))
            return layouts.per_channel(column, shape, x.channels)

        operands = [x.value if value in whole else parameter(value) for value in op.operands]
        return Blocked(layouts.copied(op, operands), x.channels)

    def block_starts(self, op: BroadcastOp, channels_of: ChannelsOf) -> Iterable[int] | None:
        shape = shape_of(op.results[0])
        channels = channels_of(*(value for value in op.operands if shape_of(value) == shape))
        return None if channels is None else channels.starts


class AffineLayout(KernelStrategy[AffineOp]):
    """Quantisation and dequantisation with one scale for the tensor; with one for each channel, on plain tensors."""

    def on_blocks(self, op: AffineOp) -> Mapping[str, object] | None:
        return {} if shape_of(op.scale) in ((), (1,)) else None


class ReshapeLayout(KernelStrategy[ReshapeOp]):
    """Spatial axes may change while N and C stay; channels that were split are merged again."""

    def lay_out(self, op: ReshapeOp, layouts: Layouts) -> Blocked | None:
        x, target = layouts.computed(op.x), op.ints("shape")
        if x is None:
            maker = producer(op.x, GraphOp)
            return None if maker is None else strategy_of(maker).lay_out_reshaped(maker, layouts, target)
        if target[:2] != shape_of(op.x)[:2]:
            return None
        blocked = shape_of(x.value)
        return layouts.copied_on_blocks(op, x, shape=[*blocked[:2], *target[2:], blocked[-1]])


class TransposeLayout(KernelStrategy[TransposeOp]):
    """Between two reshapes, a channel shuffle."""

    def lay_out_reshaped(self, op: TransposeOp, layouts: Layouts, shape: Sequence[int]) -> Blocked | None:
        """The axes that channels were split into are permuted, which moves channels to other lanes."""
        split = producer(op.x, ReshapeOp)
        if split is None or (x := layouts.computed(split.x)) is None or shape_of(split.x) != tuple(shape):
            return None
        extents, permutation = split.ints("shape"), op.ints("permutation")
        sizes = accumulate(extents[1:], lambda count, extent: count * extent)
        axes = next((axis for axis, size in enumerate(sizes, 2) if size == shape[1]), None)
        if axes is None or extents[0] != shape[0] or permutation[0] != 0:
            return None
        if permutation[axes:] != tuple(range(axes, len(extents))):
            return None
        order = np.arange(shape[1]).reshape(extents[1:axes]).transpose([axis - 1 for axis in permutation[1:axes]])
        channels = Channels.of([shape[1]], x.channels.lanes)
        return Blocked(layouts.regroup([x], order.ravel().tolist(), channels), channels)


class SliceLayout(KernelStrategy[SliceOp]):
    """A slice of channels that begins a block is a view; others are moved into new blocks."""

    def lay_out(self, op: SliceOp, layouts: Layouts) -> Blocked | None:
        x = layouts.computed(op.x)
        starts, steps, shape = list(op.ints("starts")), list(op.ints("steps")), list(op.ints("shape"))
        if x is None or 0 in shape:
            return None
        lanes = x.channels.lanes
        cut = x.channels.cut(starts[1], shape[1]) if steps[1] == 1 or shape[1] == 1 else None
        if cut is None:
            chosen = range(starts[1], starts[1] + shape[1] * steps[1], steps[1])
            cut = 0, Channels.of([shape[1]], lanes)
            x = Blocked(layouts.regroup([x], chosen, cut[1]), cut[1])
        starts[1], steps[1], shape[1] = cut[0], 1, cut[1].blocks
        if (*shape, lanes) == shape_of(x.value) and all(step == 1 for step in steps):
            return Blocked(x.value, cut[1])
        sliced = layouts.copied(op, [x.value], starts=[*starts, 0], steps=[*steps, 1], shape=[*shape, lanes])
        return Blocked(sliced, cut[1])

    def block_starts(self, op: SliceOp, channels_of: ChannelsOf) -> Iterable[int]:
        is_strip = op.ints("steps")[1:2] == (1,) and 0 not in op.ints("shape")
        return [op.ints("starts")[1]] if is_strip else ()


class ConcatLayout(KernelStrategy[ConcatOp]):
    """Concatenation of channels puts blocks side by side; where that leaves many padding lanes, channels are moved.
    Without vectors, where channels come last, parts are written in their places."""

    def lay_out(self, op: ConcatOp, layouts: Layouts) -> Blocked | None:
        channels = layouts.channels_of(*op.parts)
        if channels is None:
            return None
        if op.axis != 1:
            return Blocked(layouts.copied(op, [layouts.pack(part, channels) for part in op.parts]), channels)
        given = [part for part in op.parts if shape_of(part)[1] > 0]
        if layouts.machine is None:
            last = [layouts.pack(part, Channels.of([count], count)) for part in given for count in shape_of(part)[1:2]]
            whole = Channels.of([shape_of(op.result)[1]], shape_of(op.result)[1])
            return Blocked(layouts.copied(op, last, axis=len(shape_of(op.result)), in_place=True), whole)
        parts = [layouts.blocked(part, channels.lanes) for part in given]
        joined = concatenated([part.channels for part in parts])
        if is_compact(joined):
            return Blocked(layouts.copied(op, [part.value for part in parts]), joined)
        dense = Channels.of([joined.count], joined.lanes)
        return Blocked(layouts.regroup(parts, range(joined.count), dense), dense)


class PadLayout(KernelStrategy[PadOp]):
    """Spatial axes are padded block by block; padding of channels needs a plain tensor."""

    def on_blocks(self, op: PadOp) -> Mapping[str, object] | None:
        pads, rank = op.ints("pads"), len(shape_of(op.x))
        return None if pads[1] or pads[1 + rank] else {"pads": [*pads[:rank], 0, *pads[rank:], 0]}


class GatherLayout(KernelStrategy[GatherOp]):
    """A gather along a spatial axis gathers from every block."""

    def on_blocks(self, op: GatherOp) -> Mapping[str, object] | None:
        return None if op.axis < 2 else {}


class RequantizeLayout(KernelStrategy[RequantizeOp | FixedRequantizeOp | DoublingRequantizeOp]):
    """With one factor, or one for each channel: of a single block a vector along its lanes, else packed as x is."""

    def lay_out(self, op: RequantizeOp | FixedRequantizeOp | DoublingRequantizeOp, layouts: Layouts) -> Blocked | None:
        factor, *shift = op.operands[1:]
        x, shape = layouts.computed(op.x), shape_of(op.x)
        if x is None:
            return None
        if shape_of(factor) in ((), (1,)):
            return layouts.copied_on_blocks(op, x, factor, *shift)
        if op.axis % len(shape) != 1 or len(shape_of(factor)) > 1:
            return None
        if x.channels == Channels.of([shape[1]], shape[1]):
            return layouts.copied_on_blocks(op, x, factor, *shift, axis=len(shape_of(x.value)) - 1)
        column = [1, shape[1], *[1] * len(shape[2:])]
        columns = [layouts.add(ReshapeOp.get(each, shape=column)) for each in (factor, *shift)]
        return layouts.copied_on_blocks(op, x, *(layouts.pack(each, x.channels) for each in columns))


class LookupLayout(KernelStrategy[LookupOp]):
    """A table has no axes."""

    def on_blocks(self, op: LookupOp) -> Mapping[str, object] | None:
        return {}


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

    def row_reads(self, op: RegroupChannelsOp, axis: int) -> Mapping[int, AxisReads] | None:
        return op.reads_along(axis)

    def scalar_nest(self, nest: LoopNest[RegroupChannelsOp]) -> None:
        def over(extents: Sequence[int], body: Callable[[list[Scalar]], None]) -> None:
            axes = [0, *range(2, len(extents))]  # of images and positions
            places = [*map(nest.place, axes), None]
            inside = [extent if place is None else 1 for extent, place in zip(extents, places, strict=True)]
            nest.b.parallel_for(
                inside,
                lambda index: body([i if place is None else place for i, place in zip(index, places, strict=True)]),
            )

        nest.op.write_strips(nest.b, nest.reads, nest.writes, over)

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


STRATEGIES: Strategies = {
    BroadcastOp: (PointwiseLayout(),),
    AffineOp: (AffineLayout(),),
    ReshapeOp: (ReshapeLayout(),),
    TransposeOp: (TransposeLayout(),),
    SliceOp: (SliceLayout(),),
    ConcatOp: (ConcatLayout(),),
    PadOp: (PadLayout(),),
    GatherOp: (GatherLayout(),),
    RequantizeOp: (RequantizeLayout(),),
    FixedRequantizeOp: (RequantizeLayout(),),
    DoublingRequantizeOp: (RequantizeLayout(),),
    LookupOp: (LookupLayout(),),
    RegroupChannelsOp: (RegroupStrategy(),),
}
