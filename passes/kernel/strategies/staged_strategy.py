"""Tile-and-fuse: several anchors in one kernel, where each stage computes what a spatial tile of the result needs.

Each stage writes into a scratch buffer. What the next tile needs again, such as the rows that windows of both read, is
kept: the buffer is a rolling line buffer along that axis, and a stage computes only what is new (`tile_walk`). Parts of
the result may be computed at the same time, each with buffers of its own.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.ir import SSAValue
from xdsl.utils.exceptions import PassFailedException

from aotc.dialects.builder import Reader, Scalar, Writer
from aotc.dialects.graph.compound.staged import Stage, StagedOp, stages_of
from aotc.dialects.graph.interfaces import AnchorOp, ShapeError, shape_of
from aotc.dialects.graph.schedules import Schedule, schedule_of
from aotc.passes.kernel.builders.expressions import Expressions
from aotc.passes.kernel.builders.loop_builder import LoopBuilder
from aotc.passes.kernel.builders.tile_builder import TileBuilder
from aotc.passes.kernel.builders.tiles import NotVectorizable
from aotc.passes.kernel.nest import LoopNest, Nest
from aotc.passes.kernel.nests.tile_walk import Part, Place, Plan, SpatialTile, Strip, Walk, starts
from aotc.passes.kernel.spatial_tiling import Box
from aotc.passes.kernel.strategy import KernelStrategy, Prologue, Strategies, strategy_of


class StagedStrategy(KernelStrategy[StagedOp]):
    """Computes tile by tile, each stage with its own strategy."""

    SCHEDULES = (Schedule,)

    def prologue(self, op: StagedOp, operand: int) -> Prologue:
        """The strictest rule of the anchors that read the operand."""
        uses = [(use.operation, use.index) for use in op.block.args[operand].uses]
        found = [strategy_of(each).prologue(each, place) for each, place in uses if isinstance(each, AnchorOp)]
        return max(found, default=Prologue.COMPUTED)

    def nest(self, nest: Nest[StagedOp, Schedule]) -> None:
        self.scalar_nest(nest)

    def scalar_nest(self, nest: LoopNest[StagedOp]) -> None:
        op, b = nest.op, nest.b
        given = dict(zip(op.block.args, nest.reads, strict=False))
        values = Expressions(op.name, b, cast(Mapping[SSAValue, Reader], given), lambda each: each.inline_array())
        plan = _plan(op)
        memory, stages = nest.reads[len(op.inputs) :], stages_of(op.block)
        kernel = _StagedKernel(b, stages, plan.walk, values, memory, nest.writes, b.index(0))

        def part(number: Scalar) -> None:
            first = 0
            for strip in plan.parts:
                if strip.count == plan.count:
                    kernel.part(strip, first, number)
                else:
                    inside = b.compare("ge", number, first) & b.compare("lt", number, first + strip.count)
                    b.only_when(inside, lambda strip=strip, first=first: kernel.part(strip, first, number))
                first += strip.count

        b.parallel_range(0, plan.count, 1, part)


def _plan(op: StagedOp) -> Plan:
    """The order of the tiles; raises PassFailedException for a stage that cannot be tiled, or too small a buffer."""
    try:
        plan = Plan(stages_of(op.block), op.ints("tile"), op.ints("parts") if op.parts else ())
    except ShapeError as error:
        raise PassFailedException(f"{op.name}: {error}") from error
    for buffer, needed in zip(op.memory, plan.scratch, strict=True):
        if any(given < extent for given, extent in zip(shape_of(buffer), needed.get_shape(), strict=True)):
            raise PassFailedException(f"{op.name}: tiles need a scratch buffer {needed}, found {buffer.type}")
    return plan


@dataclass
class _StagedKernel:
    """Writes the slabs of a spatial tile."""

    b: LoopBuilder
    stages: Sequence[Stage]
    walk: Walk
    values: Expressions
    memory: Sequence[Reader]
    """Of the scratch buffers, which hold the boxes that `walk` records."""
    writes: Sequence[Writer]
    """Of the result, then of the scratch buffers."""
    number: Scalar
    """The number of the part that is being written."""

    def part(self, strip: Strip[Part], first: int, number: Scalar) -> None:
        """Write a part of a strip that begins with part `first`."""
        self.number, part = number, number - first
        for outer, inner in strip.first:

            def tiles(
                place: list[Scalar], outer: Sequence[Strip[Place]] = outer, inner: Sequence[Strip[Place]] = inner
            ) -> None:
                for each in inner:
                    write = self._tile(each.first.tile, [strip, *outer, each])
                    self.b.sequential_range(0, each.count, 1, lambda at, write=write: write([part, *place, at]))

            self.b.sequential_for([each.count for each in outer], tiles)

    def _tile(self, tile: SpatialTile, strips: Sequence[Strip[Any]]) -> Callable[[list[Scalar]], None]:
        """A function that writes the tile at a place in the strips, of which `tile` is the first."""
        firsts = starts(self.stages, tile)
        distances = zip(*(strip.distance or [0] * len(firsts) for strip in strips), strict=True)
        ways = list(zip(firsts, distances, strict=True))

        def at(place: list[Scalar]) -> None:
            def start(way: tuple[int, Sequence[int]]) -> Scalar:
                first, by = way
                return sum((i * distance for i, distance in zip(place, by, strict=True)), self.b.index(first))

            self._write(tile, map(start, ways))

        return at

    def _write(self, tile: SpatialTile, firsts: Iterator[Scalar]) -> None:
        """All stages, on boxes that begin at `firsts`, in the order of `starts`."""
        for number, (stage, slab) in enumerate(zip(self.stages, tile, strict=True)):
            boxes = [[next(firsts) for _ in shape_of(value)] for value in (stage.value, *stage.anchor.operands)]
            if slab is None:
                continue
            place, *parts = boxes
            reads = list(map(_from, parts, map(self.values.reader, stage.anchor.operands)))
            if stage.chained is not None:
                slot = self._slot(number - 1, parts[stage.chained], slab.implementation.boxes[stage.chained])
                reads[stage.chained] = lambda index, number=number, slot=slot: self.memory[number - 1](slot(index))
            self._write_part(stage, slab.implementation.op(), reads, self._writer(number, stage, place, slab.box))

    def _write_part(self, stage: Stage, part: AnchorOp, reads: Sequence[Reader], write: Writer) -> None:
        strategy = strategy_of(stage.anchor)
        if not isinstance(self.b, TileBuilder):
            strategy.scalar_nest(LoopNest(part, self.b, reads, [write]))
        elif (schedule := schedule_of(stage.anchor)) is None:
            raise NotVectorizable(f"{stage.anchor.name} has no schedule")
        else:
            strategy.nest(Nest(part, self.b, reads, [write], schedule))

    def _writer(self, number: int, stage: Stage, start: Sequence[Scalar], box: Box) -> Writer:
        """A writer for a stage's anchor; its indices are relative to the box."""

        if number == len(self.memory):
            return lambda index, value: self.writes[0](_at(index, start), value)
        slot = self._slot(number, start, box)

        def write(index: Sequence[Scalar], value: Scalar) -> None:
            place = _at(index, start)
            with self.values.bound(stage.anchor.results[0], place, value):
                self.writes[1 + number](slot(index), self.values.reader(stage.value)(place))

        return write

    def _slot(self, number: int, start: Sequence[Scalar], box: Box) -> Callable[[Sequence[Scalar]], Sequence[Scalar]]:
        """The index in the scratch buffer for an index in a box of a value that begins at `start`.

        Each part has its own box in the buffer; where rows are kept, that is a rolling line buffer along one axis.
        """
        b, axis, extents = self.b, self.walk.rolling[number], self.walk.extents[number]
        part = self.number * extents[0]
        first = b.index(0) if axis is None else b.rem(start[axis], b.index(extents[axis]))

        def slot(index: Sequence[Scalar]) -> Sequence[Scalar]:
            place = list(index)
            if axis is not None:
                place[axis] = around = first + index[axis]
                if first.constant is None or int(first.constant) + len(box[axis]) > extents[axis]:
                    place[axis] = b.select(b.compare("ge", around, extents[axis]), around - extents[axis], around)
            place[0] = place[0] + part
            return place

        return slot


def _at(index: Sequence[Scalar], start: Sequence[Scalar]) -> list[Scalar]:
    return [i + first for i, first in zip(index, start, strict=True)]


def _from(start: Sequence[Scalar], read: Reader) -> Reader:
    return lambda index: read(_at(index, start))


STRATEGIES: Strategies = {StagedOp: (StagedStrategy(),)}
