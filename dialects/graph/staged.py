"""Several anchors in one kernel, each reading what the one before computes: strip by strip, through working memory.

    for each strip of the result:
      the first anchor on what the strip needs, and the pointwise operations after it -> working memory of a strip
      the next one on that -> the next working memory
      ...
      the last one -> the strip

So what is between them never exists as a whole, and is read while it is in the cache: the rows of scores that a softmax
makes weights of and a product sums up, the rows of a depthwise convolution that a pointwise one mixes. What a strip
needs that the one before it needed, too, as the rows that windows of both see, is kept: working memory is a ring along
that axis, and a stage computes what is new (`strips`). (Fusion of tiled loops with their producers; for convolutions,
as "fused-layer" of Alwani et al., MICRO 2016, where that is called reuse.)

Parts of the result may be computed at the same time, each in working memory of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import DenseArrayBase, TensorType
from xdsl.ir import Attribute, Block, OpResult, Region, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer

from aotc.dialects.dtypes import byte_width, is_encoded
from aotc.dialects.graph.builder import Builder, Reader, Scalar, Writer
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
from aotc.dialects.graph.schedules import Schedule, schedule_of
from aotc.dialects.graph.structure import ConstantOp, YieldOp, parse_signature, print_signature
from aotc.passes.kernel.builders.expressions import Expressions
from aotc.passes.kernel.builders.tile_builder import NotVectorizable, TileBuilder
from aotc.passes.kernel.nests.matmul import LINE
from aotc.passes.kernel.nests.tile_walk import Part, Place, Plan, Run, Stage, Strip, Walk, starts
from aotc.passes.kernel.spatial_tiling import Box

_SETS = 512
"""Bytes that distances in memory should not be multiples of."""


@irdl_op_definition
class StagedOp(AnchorOp):
    """The value that the region yields, the result of its last anchor, computed in strips of `strip` positions.

    The region sees only its arguments, which are the inputs. It has at least two anchors; each reads, in one operand,
    what is pointwise from the result of the one before, and nobody else does. Elements are numbers as memory holds
    them. The other results are working memory: of each stage but the last, what a strip needs, its axes perhaps longer,
    one after the other along the first axis for all parts.
    """

    name = "graph.staged"
    inputs = var_operand_def(TensorType)
    strip = prop_def(DenseArrayBase)
    """Its extent along every axis of the result; the last strips may be smaller."""
    parts = opt_prop_def(DenseArrayBase)
    """Into how many parts strips are divided along every axis, which do not depend on each other; absent: one."""
    result = result_def(TensorType)
    memory = var_result_def(TensorType)
    body = region_def("single_block")

    @classmethod
    def of(
        cls, inputs: Sequence[SSAValue], body: Region, strip: Sequence[int], parts: Sequence[int] | None = None
    ) -> StagedOp:
        """The operation with all its results; raises ShapeError."""
        properties = {"strip": to_attribute(list(strip))}
        if parts is not None:
            properties["parts"] = to_attribute(list(parts))
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
        if self.parts and (len(parts := self.ints("parts")) != len(shape) or any(count < 1 for count in parts)):
            raise ShapeError(f"the result {list(shape)} does not divide into {list(parts)} parts")
        kinds = [element_type_of(stage.value) for stage in stages[:-1]]
        plan, memory = self._plan(stages), list[TensorType]()
        for kind, extents in zip(kinds, plan.walk.extents, strict=True):
            outer, *inner = _apart(extents, kind)
            memory.append(TensorType(kind, [plan.count * outer, *inner]))
        return [cast(TensorType, yielded.type), *memory]

    def operations(self) -> int:
        return sum(op.operations() for op in self.block.ops if isinstance(op, GraphOp))

    def scratch(self) -> Sequence[OpResult]:
        return list(self.memory)

    def prologue(self, operand: int) -> Prologue:
        """The strictest of the anchors that read it."""
        from aotc.passes.kernel.strategy import strategy_of

        uses = self.block.args[operand].uses
        anchors = [(use.operation, use.index) for use in uses if isinstance(use.operation, AnchorOp)]
        found = [strategy_of(anchor).prologue(anchor, operand) for anchor, operand in anchors]
        return max(found, default=Prologue.COMPUTED)

    def _plan(self, stages: Sequence[Stage]) -> Plan:
        return Plan(stages, self.ints("strip"), self.ints("parts") if self.parts else [1] * len(self.ints("strip")))

    # Loops

    def loops(self, b: Builder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        self._strips(b, reads, writes)

    def tiled_loops(
        self, b: TileBuilder, reads: Sequence[Reader], writes: Sequence[Writer], schedule: Schedule
    ) -> None:
        self._strips(b, reads, writes)

    def _strips(self, b: Builder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        given = dict(zip(self.block.args, reads, strict=False))
        values = Expressions(self.name, b, cast(Mapping[SSAValue, Reader], given), lambda op: op.inline_array())
        stages = self.stages()
        plan = self._plan(stages)
        kernel = _StagedKernel(b, stages, plan.walk, values, reads[len(self.inputs) :], writes)

        def part(number: Scalar) -> None:
            first = 0
            for run in plan.parts:
                if run.count == plan.count:
                    kernel.part(run, first, number)
                else:
                    inside = b.compare("ge", number, first) & b.compare("lt", number, first + run.count)
                    b.only_when(inside, lambda run=run, first=first: kernel.part(run, first, number))
                first += run.count

        b.parallel_range(0, plan.count, 1, part)

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
        properties = {name: given.pop(name) for name in ("strip", "parts") if name in given}
        return cls.create(
            operands=operands, result_types=results, properties=properties, attributes=given, regions=[region]
        )


class _StagedKernel:
    """Writes the steps of a strip."""

    def __init__(
        self,
        b: Builder,
        stages: Sequence[Stage],
        walk: Walk,
        values: Expressions,
        memory: Sequence[Reader],
        writes: Sequence[Writer],
    ) -> None:
        """`memory` are readers of the working memory, which holds what `walk` says; `writes` are for the result, then
        for that."""
        self._b, self._stages, self._walk, self._values, self._memory = b, stages, walk, values, memory
        self._write_result, *self._write_memory = writes
        self._number = b.index(0)
        """Of the part that is being written."""

    def part(self, run: Run[Part], first: int, number: Scalar) -> None:
        """Write a part of a run that begins with part `first`."""
        self._number, part = number, number - first
        for outer, inner in run.first:

            def strips(
                place: list[Scalar], outer: Sequence[Run[Place]] = outer, inner: Sequence[Run[Place]] = inner
            ) -> None:
                for each in inner:
                    write = self._strip(each.first.strip, [run, *outer, each])
                    self._b.sequential_range(0, each.count, 1, lambda at, write=write: write([part, *place, at]))

            self._b.sequential_for([each.count for each in outer], strips)

    def _strip(self, strip: Strip, runs: Sequence[Run[Any]]) -> Callable[[list[Scalar]], None]:
        """What writes the strip at a place in the runs, of which `strip` is the first."""
        firsts = starts(self._stages, strip)
        distances = zip(*(run.distance or [0] * len(firsts) for run in runs), strict=True)
        ways = list(zip(firsts, distances, strict=True))

        def at(place: list[Scalar]) -> None:
            def start(way: tuple[int, Sequence[int]]) -> Scalar:
                first, by = way
                return sum((i * distance for i, distance in zip(place, by, strict=True)), self._b.index(first))

            self._write(strip, map(start, ways))

        return at

    def _write(self, strip: Strip, firsts: Iterator[Scalar]) -> None:
        """All stages, on boxes that begin at `firsts`, in the order of `starts`."""
        for number, (stage, step) in enumerate(zip(self._stages, strip, strict=True)):
            boxes = [[next(firsts) for _ in shape_of(value)] for value in (stage.value, *stage.anchor.operands)]
            if step is None:
                continue
            place, *parts = boxes
            reads = [
                _from(start, self._values.reader(v)) for v, start in zip(stage.anchor.operands, parts, strict=True)
            ]
            if stage.chained is not None:
                held = self._held(number - 1, parts[stage.chained], step.cutout.boxes[stage.chained])
                reads[stage.chained] = lambda index, number=number, held=held: self._memory[number - 1](held(index))
            self._write_part(stage, step.cutout.op(), reads, self._writer(number, stage, place, step.box))

    def _write_part(self, stage: Stage, part: AnchorOp, reads: Sequence[Reader], write: Writer) -> None:
        from aotc.passes.kernel.strategy import strategy_of

        if not isinstance(self._b, TileBuilder):
            part.loops(self._b, reads, [write])
        elif (schedule := schedule_of(stage.anchor)) is None:
            raise NotVectorizable(f"{stage.anchor.name} has no schedule")
        else:
            strategy_of(stage.anchor).nest(part, self._b, reads, [write], schedule)

    def _writer(self, number: int, stage: Stage, start: Sequence[Scalar], box: Box) -> Writer:
        """Of the elements of a stage's anchor; indices are those in the box."""

        if number == len(self._write_memory):
            return lambda index, value: self._write_result(_at(index, start), value)
        held = self._held(number, start, box)

        def write(index: Sequence[Scalar], value: Scalar) -> None:
            place = _at(index, start)
            with self._values.bound(stage.anchor.results[0], place, value):
                self._write_memory[number](held(index), self._values.reader(stage.value)(place))

        return write

    def _held(self, number: int, start: Sequence[Scalar], box: Box) -> Callable[[Sequence[Scalar]], Sequence[Scalar]]:
        """Where working memory has the elements of a box of a value that begins at `start`, at an index in the box.

        For each part it has the box itself; or, where some is kept, positions along that axis go round in it.
        """
        b, axis, extents = self._b, self._walk.rings[number], self._walk.extents[number]
        part = self._number * extents[0]
        first = b.index(0) if axis is None else b.rem(start[axis], b.index(extents[axis]))

        def held(index: Sequence[Scalar]) -> Sequence[Scalar]:
            place = list(index)
            if axis is not None:
                place[axis] = around = first + index[axis]
                if first.constant is None or int(first.constant) + len(box[axis]) > extents[axis]:
                    place[axis] = b.select(b.compare("ge", around, extents[axis]), around - extents[axis], around)
            place[0] = place[0] + part
            return place

        return held


def _at(index: Sequence[Scalar], start: Sequence[Scalar]) -> list[Scalar]:
    return [i + first for i, first in zip(index, start, strict=True)]


def _from(start: Sequence[Scalar], read: Reader) -> Reader:
    return lambda index: read(_at(index, start))


def _apart(extents: Sequence[int], kind: Attribute) -> list[int]:
    """No smaller, such that neighbours along any axis do not share a set of a cache with many others."""
    result, stride = list(extents), byte_width(kind)
    for axis in reversed(range(1, len(result))):
        unit = stride if axis < len(result) - 1 else max(LINE, stride)
        if result[axis - 1] > 1 and result[axis] * stride % _SETS == 0:
            result[axis] += unit // stride
        stride *= result[axis]
    return result
