"""Groups that compute some rows at a time (`graph.rolled`): loops over steps, in each the next rows of every group.

A group has the loop nest that it has alone, for one row. It reads rows of others where they are in a ring: a buffer of
as many rows as any step needs, of which the first ones are those that are read again; after each step these are moved
to the front, so that rows which a window sees are neighbours.

Where an input comes by rows, a call goes on with the steps for which rows have come, and with all that are left where
these are the last ones. What it needs to know of those before follows from their number.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from xdsl.ir import OpResult, SSAValue
from xdsl.utils.exceptions import PassFailedException

from aotc.dialects.aot import WORD
from aotc.dialects.builder import INDEX, Reader, Scalar, Writer
from aotc.dialects.dtypes import byte_width
from aotc.dialects.graph.compound.rolled import RolledOp
from aotc.dialects.graph.gradual import GradualOp
from aotc.dialects.graph.interfaces import ShapeError, element_type_of, shape_of
from aotc.dialects.graph.schedules import Schedule, schedule_of
from aotc.dialects.graph.shapes import linearize
from aotc.dialects.graph.structure import FusedOp
from aotc.model.metadata import row_axis
from aotc.passes.kernel.builders.expressions import Expressions
from aotc.passes.kernel.builders.tile_builder import TileBuilder
from aotc.passes.kernel.builders.word_builder import WordBuilder, WordIndex
from aotc.passes.kernel.nest import LoopNest, Nest, Row
from aotc.passes.kernel.rolling.group_rows import RowView, anchor_of, part_places
from aotc.passes.kernel.rolling.rings import Buffers, PartPlace, Ring
from aotc.passes.kernel.rolling.stages import Rolling, Stage
from aotc.passes.kernel.strategy import KernelStrategy, Prologue, Strategies, strategy_of

_UNITS = 4
"""Words, or elements, that are moved in one iteration of a loop."""


class RolledStrategy(KernelStrategy[RolledOp]):
    """Computes step by step, each group with its anchor's own strategy."""

    ON_VECTORS = False
    SCHEDULES = (Schedule,)
    TILES = False
    PROLOGUES = (Prologue.STORED,)

    def nest(self, nest: Nest[RolledOp, Schedule]) -> None:
        self.scalar_nest(nest)

    def scalar_nest(self, nest: LoopNest[RolledOp]) -> None:
        _RolledKernel(nest).emit()


@dataclass(frozen=True)
class _RolledKernel:
    """Writes the loops of one kernel."""

    nest: LoopNest[RolledOp]

    @cached_property
    def rolling(self) -> Rolling:
        """How the groups keep pace; raises PassFailedException where they cannot, or buffers are too small."""
        op = self.nest.op
        try:
            rolling = Rolling.of(op)
            needed = rolling.scratch()
        except ShapeError as error:
            raise PassFailedException(f"{op.name}: {error}") from error
        if [buffer.type for buffer in op.scratch()] != needed:
            raise PassFailedException(f"{op.name}: rows need scratch buffers {', '.join(map(str, needed))}")
        return rolling

    @cached_property
    def buffers(self) -> Buffers:
        """The memory of the rings."""
        return Buffers.of(self.rolling.rings())

    @cached_property
    def numbers(self) -> dict[SSAValue, int]:
        """The number of the ring of each value that has one."""
        return {ring.value: number for number, ring in enumerate(self.buffers.rings)}

    @cached_property
    def places(self) -> dict[SSAValue, PartPlace]:
        """Where parts are written in joins."""
        return self.rolling.places

    def emit(self) -> None:
        """Write the loop over the steps, which carries how many rows there are of each group, and the first in each
        ring."""
        b, rolling = self.nest.b, self.rolling
        stages, rings = rolling.stages, self.buffers.rings
        reductions = [(number, op) for number, stage in enumerate(stages) if (op := stage.reduction) is not None]

        def step(at: Scalar, carried: list[Scalar]) -> list[Scalar]:
            made, firsts = carried[: len(stages)], carried[len(stages) :]
            now: list[Scalar] = []
            for number, stage in enumerate(stages):
                now.append(self._computed(number, at + 1))
                end = now[-1] if stage.at_once > 1 else None
                b.sequential_range(
                    made[number],
                    now[-1],
                    stage.at_once,
                    lambda row, n=number, end=end: self._rows(n, row, end, firsts),
                )
            after = [self._first_needed(ring, now) for ring in rings]
            for number, ring in enumerate(rings):
                if ring.moved:
                    self._move(number, ring, firsts[number], after[number], now[ring.stage])
            return [*now, *after]

        def begin() -> None:
            for number, op in reductions:
                self._begin(number, op)

        def end() -> None:
            for number, op in reductions:
                self._end(number, op)

        if self.streamed is None:
            begin()
            b.loop(0, rolling.pace.steps, 1, [b.index(0)] * (len(stages) + len(rings)), step)
            end()
            return
        total, came, with_these = self._source.rows, self._count(0), self._count(1)
        first = b.select(b.compare("gt", came, 0), self._steps_for(came), 0)
        last = b.select(b.compare("lt", with_these, total), self._steps_for(with_these), rolling.pace.steps)
        made = [self._computed(number, first) for number in range(len(stages))]
        if reductions:
            b.only_when(b.compare("eq", came, 0), begin)
        b.loop(first, last, 1, [*made, *(self._first_needed(ring, made) for ring in rings)], step)
        if reductions:
            b.only_when(b.compare("eq", with_these, total), end)

    @cached_property
    def streamed(self) -> SSAValue | None:
        """The input that comes by rows, as the region has it."""
        place = self.nest.op.streamed
        return None if place is None else self.nest.op.block.args[place]

    @cached_property
    def _source(self) -> Stage:
        """The stage that reads the input that comes by rows."""
        return next(stage for stage in self.rolling.stages if self.streamed in stage.op.operands)

    def _steps_for(self, rows: Scalar) -> Scalar:
        """The steps for which so many rows of the input that comes by rows do, some but not all: each takes one at
        most."""
        advance = self.rolling.pace.advances[self.rolling.stages.index(self._source)]
        return (rows * advance.unit + (advance.unit - 1 - advance.start)) / advance.slope

    def _count(self, place: int) -> Scalar:
        """How many rows have come, before the call or with it."""
        b = self.nest.b
        return b.convert(self.nest.reads[len(self.nest.op.inputs) - 1]([b.index(place)]), INDEX)

    def _computed(self, number: int, step: Scalar) -> Scalar:
        """How many rows of a stage are computed after a step."""
        b, advance = self.nest.b, self.rolling.pace.advances[number]
        units = step * advance.slope + advance.start
        rows = (b.max(units, 0) if advance.start < 0 else units) / advance.unit
        return b.min(rows, self.rolling.stages[number].rows)

    def _first_needed(self, ring: Ring, made: Sequence[Scalar]) -> Scalar:
        """The first row in a ring that is read again."""
        b, first = self.nest.b, made[ring.stage]
        for number, read in ring.readers:
            first = b.min(first, read.first_at(b, made[number]))
        return first

    def _move(self, number: int, ring: Ring, first: Scalar, after: Scalar, made: Scalar) -> None:
        """Move the rows from `after` on to the front of a ring that begins with row `first`."""
        b, buffer = self.nest.b, self.buffers.numbers[number]
        read, write = self._memory(buffer), self._write_memory(buffer)
        words = isinstance(b, WordBuilder) and byte_width(element_type_of(ring.value)) == 1
        size = WORD if words and ring.length % WORD == 0 else 1
        distance, count = (after - first) * ring.length, (made - after) * ring.length

        def place(at: Scalar) -> list[Scalar]:
            return [WordIndex.of(at, aligned=True) if size > 1 else at]

        def units(number: int) -> Callable[[Scalar], None]:
            """Moves so many units from a place on."""

            def move(at: Scalar) -> None:
                places = [at + n * size for n in range(number)]
                for to, value in [(to, read(place(to + distance))) for to in places]:
                    write(place(to), value)

            return move

        def all_of_them() -> None:
            several = count / (_UNITS * size) * (_UNITS * size)
            b.sequential_range(0, several, _UNITS * size, units(_UNITS))
            if ring.length % (_UNITS * size):
                b.sequential_range(several, count, size, units(1))

        b.only_when(b.compare("gt", after, first), all_of_them)

    # Rows

    def _rows(self, number: int, row: Scalar, end: Scalar | None, firsts: Sequence[Scalar]) -> None:
        """Write a row of a stage, or as many as it computes at once, those before `end`; rings begin with the rows
        `firsts`."""
        b, stage = self.nest.b, self.rolling.stages[number]
        if (reduction := stage.reduction) is not None:
            self._reduce(number, reduction, row, firsts)
            return
        group = stage.op
        if not isinstance(group, FusedOp):
            self._join_row(stage, row, firsts)
            return
        values = self._values(group, firsts)
        writers = [self._writer(result, firsts) for result in group.outputs]

        def store(index: Sequence[Scalar]) -> None:
            self._store(stage, values, writers, index)

        anchor, place = anchor_of(group), Row(stage.axis, row, stage.at_once, end)
        if anchor is None:
            extents = [1 if axis == stage.axis else extent for axis, extent in enumerate(stage.shape)]
            b.parallel_for(extents, lambda i: store([*i[: stage.axis], row, *i[stage.axis + 1 :]]))
            return

        def computed(index: Sequence[Scalar], value: Scalar) -> None:
            with values.bound(anchor.results[0], index, value):
                store(index)

        scratch = self._scratch(number)
        reads = [*map(values.reader, anchor.operands), *(self._memory(each) for each in scratch)]
        writes = [computed, *(self._write_memory(each) for each in scratch)]
        schedule, strategy = schedule_of(anchor), strategy_of(anchor)
        if schedule is None or not isinstance(b, TileBuilder):
            strategy.scalar_nest(LoopNest(anchor, b, reads, writes, only=place))
        else:
            strategy.nest(Nest(anchor, b, reads, writes, schedule, only=place))

    def _values(self, group: FusedOp, firsts: Sequence[Scalar]) -> Expressions:
        """The values of a group; rings begin with the rows `firsts`."""
        args, inputs = group.block.args, group.inputs
        given: dict[SSAValue, Reader] = {
            arg: self._reader(value, firsts) for arg, value in zip(args, inputs, strict=True)
        }
        return Expressions(self.nest.op.name, self.nest.b, given, lambda each: each.inline_array())

    @staticmethod
    def _store(stage: Stage, values: Expressions, writers: Sequence[Writer], index: Sequence[Scalar]) -> None:
        """Write the elements of a stage's results that are those at an index of what it computes."""
        found = [values.reader(source)(index) for source, _ in stage.sources]
        for value, (_, axes), write in zip(found, stage.sources, writers, strict=True):
            write([index[axis] for axis in axes], value)

    # Reductions of rows

    def _begin(self, number: int, op: GradualOp) -> None:
        """Write the partial results of a stage before its first row."""
        self._each_partial(number, op, lambda index, partial: op.start(self.nest.b))

    def _reduce(self, number: int, op: GradualOp, row: Scalar, firsts: Sequence[Scalar]) -> None:
        """Write the partial results of a stage after a row; rings begin with the rows `firsts`."""
        values = self._values(self._group(number), firsts)
        reads = [values.reader(operand) for operand in op.operands]
        self._each_partial(number, op, lambda index, partial: op.after(self.nest.b, index, row, reads, partial()))

    def _end(self, number: int, op: GradualOp) -> None:
        """Write the results of a stage after its last row."""
        group, b = self._group(number), self.nest.b
        firsts = [b.index(0)] * len(self.buffers.rings)
        values = self._values(group, firsts)
        reads = [values.reader(operand) for operand in op.operands]
        writers = [self._writer(result, firsts) for result in group.outputs]

        def end(index: list[Scalar], partial: Callable[[], list[Scalar]]) -> list[Scalar]:
            with values.bound(op.result, index, op.total(b, index, reads, partial())):
                self._store(self.rolling.stages[number], values, writers, index)
            return []

        self._each_partial(number, op, end)

    def _each_partial(
        self,
        number: int,
        op: GradualOp,
        change: Callable[[list[Scalar], Callable[[], list[Scalar]]], Sequence[Scalar]],
    ) -> None:
        """Write what `change` makes of the partial results for each element of a stage."""
        b, shape = self.nest.b, shape_of(op.result)
        buffers = self._scratch(number)[: len(self.rolling.stages[number].partial)]

        def at(index: list[Scalar]) -> None:
            place = [linearize(b, index, shape)]
            found = change(index, lambda: [self._memory(buffer)(place) for buffer in buffers])
            for value, buffer in zip(found, buffers, strict=False):
                self._write_memory(buffer)(place, value)

        b.parallel_for(shape, at)

    def _group(self, number: int) -> FusedOp:
        """The group of a stage."""
        group = self.rolling.stages[number].op
        assert isinstance(group, FusedOp)
        return group

    def _scratch(self, number: int) -> range:
        """The scratch buffers of a stage, by number."""
        counts = [len(stage.scratch) for stage in self.rolling.stages[: number + 1]]
        before = len(self.buffers.types) + sum(counts[:-1])
        return range(before, before + counts[-1])

    # Joins

    def _join_row(self, stage: Stage, row: Scalar, firsts: Sequence[Scalar]) -> None:
        """Copy a row of each part of a join that is not written there."""
        b, (axis, starts) = self.nest.b, part_places(stage.op)
        for value, start in zip(stage.op.operands, starts, strict=True):
            if value in self.places:
                continue
            if axis != stage.axis:
                self._copy_row(stage, value, row, row, firsts, {axis: start})
                continue
            inside = b.compare("ge", row, start) & b.compare("lt", row, start + shape_of(value)[axis])
            b.only_when(inside, lambda v=value, at=row - start: self._copy_row(stage, v, at, row, firsts, {}))

    def _copy_row(
        self,
        stage: Stage,
        value: SSAValue,
        source: Scalar,
        row: Scalar,
        firsts: Sequence[Scalar],
        starts: Mapping[int, int],
    ) -> None:
        """Copy row `source` of a part to a row of a join, where the part begins along some axes at `starts`."""
        b, result, shape = self.nest.b, stage.op.results[0], shape_of(value)
        read, write, last = self._reader(value, firsts), self._writer(result, firsts), len(shape) - 1
        size, several = 1, 1
        if stage.axis < last:
            units = [
                shape[last],
                *(x for axis in starts if axis == last for x in (starts[axis], shape_of(result)[axis])),
            ]
            size = WORD if self._has_words(result) and all(unit % WORD == 0 for unit in units) else 1
            several = next(count for count in (_UNITS, 2, 1) if shape[last] // size % count == 0)
        extents = [*shape[:last], shape[last] // (size * several)]
        extents[stage.axis] = 1

        def at(index: Sequence[Scalar], number: int, row: Scalar, starts: Mapping[int, int]) -> list[Scalar]:
            place = [row if axis == stage.axis else i for axis, i in enumerate(index)]
            if stage.axis < last:
                place[last] = (place[last] * several + number) * size
            place = [i + starts.get(axis, 0) for axis, i in enumerate(place)]
            return [*place[:last], WordIndex.of(place[last])] if size > 1 else place

        def copy(index: list[Scalar]) -> None:
            for number, found in [(number, read(at(index, number, source, {}))) for number in range(several)]:
                write(at(index, number, row, starts), found)

        b.parallel_for(extents, copy)

    def _has_words(self, value: SSAValue) -> bool:
        """Whether rows of a value are written word by word: those of bytes that are in a ring alone."""
        is_bytes = isinstance(self.nest.b, WordBuilder) and byte_width(element_type_of(value)) == 1
        if not is_bytes or value not in self.numbers or value in self.nest.op.yielded:
            return False
        return self.buffers.rings[self.numbers[value]].length % WORD == 0

    # Memory

    def _memory(self, number: int) -> Reader:
        return self.nest.reads[len(self.nest.op.inputs) + number]

    def _write_memory(self, number: int) -> Writer:
        return self.nest.writes[len(self.nest.op.yielded) + number]

    def _reader(self, value: SSAValue, firsts: Sequence[Scalar]) -> Reader:
        """A reader of an operand of a group."""
        root = RowView.of(value, 0).root
        if root not in self.numbers:
            read = self.nest.reads[list[SSAValue](self.nest.op.block.args).index(value)]
            return self._of_these(value, read) if value is self.streamed else read
        buffer, slot = self._slot(root, value, firsts)
        read = self._memory(buffer)
        return lambda index: read([slot(index)])

    def _of_these(self, value: SSAValue, read: Reader) -> Reader:
        """A reader of what comes by rows: of those of this call."""
        axis, came = row_axis(shape_of(value)), self._count(0)
        return lambda index: read([*index[:axis], index[axis] - came, *index[axis + 1 :]])

    def _writer(self, result: OpResult, firsts: Sequence[Scalar]) -> Writer:
        """A writer of a result of a group, which may be one of the kernel, have a ring, or both."""
        found = [write for value, write in zip(self.nest.op.yielded, self.nest.writes, strict=False) if value is result]
        if (place := self.places.get(result)) is not None:
            whole = self._writer(place.whole, firsts)
            found.append(lambda index, value: whole(shifted(index, place), value))
        if result in self.numbers:
            buffer, slot = self._slot(result, result, firsts)
            write = self._write_memory(buffer)
            found.append(lambda index, value: write([slot(index)], value))

        def all_of_them(index: Sequence[Scalar], value: Scalar) -> None:
            for write in found:
                write(index, value)

        return all_of_them

    def _slot(
        self, root: SSAValue, view: SSAValue, firsts: Sequence[Scalar]
    ) -> tuple[int, Callable[[Sequence[Scalar]], Scalar]]:
        """The buffer with a ring of a value, and the place in it of the element at an index of a view of the value."""
        b, number, shape = self.nest.b, self.numbers[root], shape_of(view)
        ring = self.buffers.rings[number]
        views = ((axis, RowView.of(view, axis)) for axis in range(len(shape)))
        found = ((axis, rows.reads) for axis, rows in views if rows.reads is not None and not rows.merged)
        axis, first = next(((axis, reads.low) for axis, reads in found if reads.axis == ring.axis), (None, 0))

        def slot(index: Sequence[Scalar]) -> Scalar:
            last = index[-1]
            plain = [*index[:-1], last.base] if isinstance(last, WordIndex) else [*index]
            if axis is None:  # rows are no axis of the view
                place = linearize(b, plain, shape) - firsts[number] * ring.length
            else:
                row = plain.pop(axis) + first - firsts[number]
                place = linearize(b, plain, [*shape[:axis], *shape[axis + 1 :]]) + row * ring.length
            return WordIndex.of(place) if isinstance(last, WordIndex) else place

        return self.buffers.numbers[number], slot


def shifted(index: Sequence[Scalar], place: PartPlace) -> list[Scalar]:
    """The index in a join of an element of a part."""
    return [i + place.start if axis == place.axis else i for axis, i in enumerate(index)]


STRATEGIES: Strategies = {RolledOp: (RolledStrategy(),)}
