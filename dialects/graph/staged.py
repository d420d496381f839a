"""Several anchors in one kernel, each reading what the one before computes: strip by strip, through working memory.

    for each strip of the result:
      the first anchor on what the strip needs, and the pointwise operations after it -> working memory of a strip
      the next one on that -> the next working memory
      ...
      the last one -> the strip

So what is between them never exists as a whole, and is read while it is in the cache: the rows of scores that a softmax
makes weights of and a product sums up, the rows of a depthwise convolution that a pointwise one mixes. (Fusion of
tiled loops with their producers; for convolutions, as "fused-layer" of Alwani et al., MICRO 2016.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TypeAlias, cast

from xdsl.dialects.builtin import DenseArrayBase, TensorType
from xdsl.ir import Attribute, Block, OpResult, Region, SSAValue
from xdsl.irdl import irdl_op_definition, prop_def, region_def, result_def, var_operand_def, var_result_def
from xdsl.parser import Parser
from xdsl.printer import Printer

from aotc.dialects.dtypes import byte_width, is_encoded
from aotc.dialects.graph.boxes import Box, Cutout
from aotc.dialects.graph.expressions import Expressions
from aotc.dialects.graph.interfaces import (
    AnchorOp,
    ElementOp,
    Fusion,
    GraphOp,
    Prologue,
    ShapeError,
    element_type_of,
    shape_of,
    to_attribute,
)
from aotc.dialects.graph.loops import LoopBuilder, Reader, Writer
from aotc.dialects.graph.products import LINE
from aotc.dialects.graph.scalars import Scalar
from aotc.dialects.graph.schedule import Schedule, schedule_of
from aotc.dialects.graph.structure import ConstantOp, YieldOp, parse_signature, print_signature
from aotc.dialects.graph.tiling import NotTileable, TileBuilder

_SETS = 512
"""Bytes that distances in memory should not be multiples of."""


@dataclass(frozen=True)
class Stage:
    """An anchor and what becomes of its result before the next one reads it."""

    anchor: AnchorOp
    value: SSAValue
    """What the next stage reads, pointwise from the anchor's result; of the last stage, that result."""
    chained: int | None
    """Which operand of the anchor is the value of the stage before; None in the first stage."""


@dataclass(frozen=True)
class Step:
    """A stage on one strip."""

    box: Box
    """Of the stage's value."""
    cutout: Cutout


Strip: TypeAlias = Sequence[Step]
"""The steps that compute a strip, in order."""


@dataclass(frozen=True)
class Run:
    """Neighbouring strips along an axis that are alike: each is the one before, moved on."""

    first: range
    """The positions of the first strip."""
    count: int
    distance: Sequence[int] | None = None
    """How far the starts of all boxes (`_starts`) are from those of the strip before; None for a single strip."""


@irdl_op_definition
class StagedOp(AnchorOp):
    """The value that the region yields, the result of its last anchor, computed in strips of `strip` positions.

    The region sees only its arguments, which are the inputs. It has at least two anchors; each reads, in one operand,
    what is pointwise from the result of the one before, and nobody else does. Elements are numbers as memory holds
    them. The other results are working memory: of each stage but the last, what a strip needs, its axes perhaps longer.
    """

    name = "graph.staged"
    inputs = var_operand_def(TensorType)
    strip = prop_def(DenseArrayBase)
    """Its extent along every axis of the result; the last strips may be smaller."""
    result = result_def(TensorType)
    memory = var_result_def(TensorType)
    body = region_def("single_block")

    @classmethod
    def of(cls, inputs: Sequence[SSAValue], body: Region, strip: Sequence[int]) -> StagedOp:
        """The operation with all its results; raises ShapeError."""
        properties = {"strip": to_attribute(list(strip))}
        unfinished = cls.create(operands=inputs, result_types=[inputs[0].type], properties=properties, regions=[body])
        try:
            kinds = unfinished.infer_types()
            inside = unfinished.detach_region(0)
        finally:
            unfinished.erase()
        return cls.create(operands=inputs, result_types=kinds, properties=properties, regions=[inside])

    # What is in it

    @property
    def block(self) -> Block:
        """The region's block."""
        return self.body.block

    @property
    def yielded(self) -> SSAValue:
        """What the region yields; raises ShapeError where that is not one value."""
        end = self.block.last_op
        if not isinstance(end, YieldOp) or len(end.values) != 1:
            raise ShapeError("the region must yield one value")
        return end.values[0]

    def stages(self) -> list[Stage]:
        """In order; raises ShapeError where the region is not a chain of stages."""
        ops = list(self.block.ops)
        anchors = [op for op in ops if isinstance(op, AnchorOp)]
        if len(anchors) < 2:
            raise ShapeError(f"there must be two anchors or more, found {len(anchors)}")
        if any(len(anchor.results) > 1 for anchor in anchors):
            raise ShapeError("an anchor must have one result")
        found: list[Stage] = []
        chained: int | None = None
        for anchor, following in zip(anchors, [*anchors[1:], None], strict=True):
            if following is None:
                found.append(Stage(anchor, anchor.results[0], chained))
                break
            values = self._pointwise(anchor)
            read = [place for place, operand in enumerate(following.operands) if operand in values]
            if len(read) != 1:
                raise ShapeError(f"{following.name} must read the result of {anchor.name} in one operand")
            (place,) = read
            found.append(Stage(anchor, following.operands[place], chained))
            chained = place
        return found

    def _pointwise(self, anchor: AnchorOp) -> set[SSAValue]:
        """The anchor's result and what is computed from it, pointwise; raises ShapeError where it is used otherwise."""
        values: set[SSAValue] = {anchor.results[0]}
        pending: list[SSAValue] = [anchor.results[0]]
        readers = 0
        while pending:
            for use in pending.pop().uses:
                op = use.operation
                if isinstance(op, AnchorOp):
                    readers += 1
                elif (
                    isinstance(op, ElementOp)
                    and op.FUSION is Fusion.POINTWISE
                    and shape_of(op.results[0]) == shape_of(anchor.results[0])
                ):
                    if op.results[0] not in values:
                        values.add(op.results[0])
                        pending.append(op.results[0])
                else:
                    raise ShapeError(f"what is made of the result of {anchor.name} is used by {op.name}")
        if readers != 1:
            raise ShapeError(f"the result of {anchor.name} must be for one other anchor")
        return values

    def infer_types(self) -> Sequence[TensorType]:
        yielded = self.yielded
        if [arg.type for arg in self.block.args] != [value.type for value in self.inputs]:
            raise ShapeError("the region's arguments must have the types of the inputs")
        for op in self.block.ops:
            if isinstance(op, ConstantOp) and op.key is not None:
                raise ShapeError("a constant in the region must be an inline one")
            if not isinstance(op, GraphOp | YieldOp):
                raise ShapeError(f"{op.name} cannot be part of a stage")
            if any(is_encoded(element_type_of(value)) for value in (*op.operands, *op.results)):
                raise ShapeError(f"{op.name} works on codes")
        stages = self.stages()
        if yielded is not stages[-1].value:
            raise ShapeError("the region must yield the result of the last anchor")
        shape = shape_of(yielded)
        if len(strip := self.ints("strip")) != len(shape) or any(extent < 1 for extent in strip):
            raise ShapeError(f"a strip {list(strip)} does not fit the result {list(shape)}")
        largest = [[0] * len(shape_of(stage.value)) for stage in stages[:-1]]
        for axis in range(len(shape)):
            for place in _positions(shape[axis], strip[axis]):
                for extents, step in zip(largest, _steps(stages, self._moved(axis, place)), strict=False):
                    extents[:] = map(max, extents, map(len, step.box))
        kinds = [element_type_of(stage.value) for stage in stages[:-1]]
        memory = [TensorType(kind, _apart(extents, kind)) for kind, extents in zip(kinds, largest, strict=True)]
        return [cast(TensorType, yielded.type), *memory]

    def operations(self) -> int:
        return sum(op.operations() for op in self.block.ops if isinstance(op, GraphOp))

    def scratch(self) -> Sequence[OpResult]:
        return list(self.memory)

    def prologue(self, operand: int) -> Prologue:
        """The strictest of the anchors that read it."""
        uses = self.block.args[operand].uses
        found = [use.operation.prologue(use.index) for use in uses if isinstance(use.operation, AnchorOp)]
        return max(found, default=Prologue.COMPUTED)

    # Strips

    def _moved(self, axis: int, positions: range) -> Box:
        """The first strip, but for `positions` along an axis."""
        extents = zip(shape_of(self.yielded), self.ints("strip"), strict=True)
        first = [next(_positions(extent, strip)) for extent, strip in extents]
        return (*first[:axis], positions, *first[axis + 1 :])

    def _runs(self, stages: Sequence[Stage], axis: int) -> list[Run]:
        """All strips along an axis of the result."""
        runs: list[Run] = []
        last: tuple[object, list[int]] | None = None
        for place in _positions(shape_of(self.result)[axis], self.ints("strip")[axis]):
            strip = _steps(stages, self._moved(axis, place))
            likeness, starts = _likeness(strip), _starts(strip)
            if last is not None and last[0] == likeness:
                distance = [b - a for a, b in zip(last[1], starts, strict=True)]
                if runs[-1].distance in (None, distance):
                    runs[-1] = Run(runs[-1].first, runs[-1].count + 1, distance)
                    last = likeness, starts
                    continue
            runs.append(Run(place, 1))
            last = likeness, starts
        return runs

    # Loops

    def loops(self, b: LoopBuilder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        self._strips(b, reads, writes)

    def tiled_loops(
        self, b: TileBuilder, reads: Sequence[Reader], writes: Sequence[Writer], schedule: Schedule
    ) -> None:
        self._strips(b, reads, writes)

    def _strips(self, b: LoopBuilder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        given = dict(zip(self.block.args, reads, strict=False))
        values = Expressions(self.name, b, cast(Mapping[SSAValue, Reader], given), lambda op: op.inline_array())
        stages = self.stages()
        kernel = _StagedKernel(b, stages, values, reads[len(self.inputs) :], writes)
        for runs in product(*(self._runs(stages, axis) for axis in range(len(shape_of(self.result))))):
            steps = _steps(stages, tuple(run.first for run in runs))
            b.for_each_in_order([run.count for run in runs], kernel.strip(steps, runs))

    # Assembly: `graph.staged (%a = %x : t, ...) -> (t, ...) attributes {strip = ..} { ... graph.yield }`

    def print(self, printer: Printer) -> None:
        print_signature(printer, self, self.block)
        printer.print_op_attributes({**self.properties, **self.attributes}, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)

    @classmethod
    def parse(cls, parser: Parser) -> StagedOp:
        arguments, operands, results = parse_signature(parser)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        region = parser.parse_region(arguments)
        given = {} if attributes is None else dict(attributes.data)
        if "strip" not in given or not results:
            parser.raise_error("a staged operation has a result and a strip")
        properties = {"strip": given.pop("strip")}
        return cls.create(
            operands=operands, result_types=results, properties=properties, attributes=given, regions=[region]
        )


class _StagedKernel:
    """Writes the steps of a strip."""

    def __init__(
        self,
        b: LoopBuilder,
        stages: Sequence[Stage],
        values: Expressions,
        memory: Sequence[Reader],
        writes: Sequence[Writer],
    ) -> None:
        """`memory` are readers of the working memory; `writes` are for the result, then for that."""
        self._b, self._stages, self._values, self._memory = b, stages, values, memory
        self._write_result, *self._write_memory = writes

    def strip(self, steps: Strip, runs: Sequence[Run]) -> Callable[[list[Scalar]], None]:
        """What writes the strip at a place in the runs, of which `steps` compute the first."""
        firsts = _starts(steps)
        distances = zip(*(run.distance or [0] * len(firsts) for run in runs), strict=True)
        ways = list(zip(firsts, distances, strict=True))

        def at(place: list[Scalar]) -> None:
            def start(way: tuple[int, Sequence[int]]) -> Scalar:
                first, by = way
                return sum((i * distance for i, distance in zip(place, by, strict=True)), self._b.index(first))

            self._write(steps, map(start, ways))

        return at

    def _write(self, steps: Strip, starts: Iterator[Scalar]) -> None:
        """All stages, on boxes that begin at `starts`, in the order of `_starts`."""
        for number, (stage, step) in enumerate(zip(self._stages, steps, strict=True)):
            place = [next(starts) for _ in step.box]
            reads: list[Reader] = []
            for operand, (value, box) in enumerate(zip(stage.anchor.operands, step.cutout.boxes, strict=True)):
                start = [next(starts) for _ in box]
                if operand == stage.chained:
                    reads.append(self._memory[number - 1])
                else:
                    reads.append(_from(start, self._values.reader(value)))
            self._write_part(stage, step.cutout.op(), reads, self._writer(number, stage, place))

    def _write_part(self, stage: Stage, part: AnchorOp, reads: Sequence[Reader], write: Writer) -> None:
        if not isinstance(self._b, TileBuilder):
            part.loops(self._b, reads, [write])
        elif (schedule := schedule_of(stage.anchor)) is None:
            raise NotTileable(f"{stage.anchor.name} has no schedule")
        else:
            part.tiled_loops(self._b, reads, [write], schedule)

    def _writer(self, number: int, stage: Stage, start: Sequence[Scalar]) -> Writer:
        """Of the elements of a stage's anchor; indices are those in the box."""

        def write(index: Sequence[Scalar], value: Scalar) -> None:
            place = _at(index, start)
            if number == len(self._write_memory):
                self._write_result(place, value)
                return
            with self._values.bound(stage.anchor.results[0], place, value):
                self._write_memory[number](index, self._values.reader(stage.value)(place))

        return write


def _at(index: Sequence[Scalar], start: Sequence[Scalar]) -> list[Scalar]:
    return [i + first for i, first in zip(index, start, strict=True)]


def _from(start: Sequence[Scalar], read: Reader) -> Reader:
    return lambda index: read(_at(index, start))


def _steps(stages: Sequence[Stage], box: Box) -> Strip:
    """The steps that compute a box of the result; raises ShapeError where an anchor has no such part."""
    steps: list[Step] = []
    for stage in reversed(stages):
        cutout = stage.anchor.cut_out(box)
        if cutout is None:
            raise ShapeError(f"{stage.anchor.name} cannot be computed in strips {[len(axis) for axis in box]}")
        steps.append(Step(box, cutout))
        if stage.chained is not None:
            box = cutout.boxes[stage.chained]
    return steps[::-1]


def _apart(extents: Sequence[int], kind: Attribute) -> list[int]:
    """No smaller, such that neighbours along any axis do not share a set of a cache with many others."""
    result, stride = list(extents), byte_width(kind)
    for axis in reversed(range(1, len(result))):
        unit = stride if axis < len(result) - 1 else max(LINE, stride)
        if result[axis - 1] > 1 and result[axis] * stride % _SETS == 0:
            result[axis] += unit // stride
        stride *= result[axis]
    return result


def _positions(extent: int, strip: int) -> Iterator[range]:
    """The strips along an axis."""
    for start in range(0, extent, strip):
        yield range(start, min(start + strip, extent))


def _boxes(strip: Strip) -> Iterator[Box]:
    for step in strip:
        yield step.box
        yield from step.cutout.boxes


def _starts(strip: Strip) -> list[int]:
    """Where every box begins, along all its axes."""
    return [axis.start for box in _boxes(strip) for axis in box]


def _likeness(strip: Strip) -> object:
    """Equal for strips that the same code computes, wherever they begin."""
    extents = [[len(axis) for axis in box] for box in _boxes(strip)]
    return extents, [step.cutout.properties for step in strip]
