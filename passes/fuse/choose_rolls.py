"""Choose which groups in a row are computed row by row, so that the program needs no more RAM than there is.

Every cut of the groups of a block into those in a row that roll together, and others that are computed as they are, has
a peak and a cost: the peak is what is whole while some of them run, and their rings of rows; the cost is estimated from
the rows that are moved and the loops that begin anew. Results trail operands that nobody reads any more, so that both
count as little more than the larger one; for that a group may roll alone. Dynamic programming over the cuts finds the
one of least cost whose peak is allowed; where none is, that of the least peak. `roll` of the groups says what was
chosen. Groups that go on with the rows of an input (`streamed`) roll together whatever that costs.

Before, with `choose-rolls{ram=4096}`:
```mlir
%1 = graph.fused (%a = %x : ..) -> (tensor<1x1x48x48x8xi8>) {..}
%2 = graph.fused (%b = %1 : tensor<1x1x48x48x8xi8>) -> (tensor<1x1x24x24x8xi8>) {..}
```
After:
```mlir
%1 = graph.fused (%a = %x : ..) -> (tensor<1x1x48x48x8xi8>) attributes {roll = 0 : i64} {..}
%2 = graph.fused (%b = %1 : tensor<1x1x48x48x8xi8>) -> (tensor<1x1x24x24x8xi8>) attributes {roll = 0 : i64} {..}
```
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from aotc.dialects.aot.contract import Argument, arguments_of, entries
from aotc.dialects.dtypes import byte_width
from aotc.dialects.graph.interfaces import (
    ShapeError,
    bytes_of,
    element_type_of,
    is_join,
    is_view,
    shape_of,
    viewed_whole,
)
from aotc.dialects.graph.shapes import ceil_div
from aotc.dialects.graph.structure import ConstantOp, FusedOp
from aotc.model.metadata import row_axis
from aotc.passes.fuse.groups import group_lone_kernels
from aotc.passes.fuse.reads import in_place
from aotc.passes.kernel.rolling.group_rows import GroupRows, inner_scratch
from aotc.passes.kernel.rolling.rings import Buffers, Ring, type_bytes
from aotc.passes.kernel.rolling.stages import ROLL, STREAMED, Rolling
from aotc.passes.kernel.rolling.trails import trail

_ALIGNMENT = 16
"""Buffers begin at multiples of this many bytes."""
_MORE = (6, 6, 12, None)
"""How many kernels more are tried in a row, one time after the other: what is found with few says what many may
take."""
_PER_ROW = 40
"""Instructions of a row of a group beside those of its elements."""
_PER_STEP = 20
"""Instructions of a group at each step."""
_PER_MOVE = 3
"""Instructions for each four bytes that are moved."""


@dataclass(frozen=True)
class ChooseRollsPass(ModulePass):
    name = "choose-rolls"

    ram: int = 0
    """Bytes that there are for buffers, inputs and outputs; 0: as few as there can be."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for entry in entries(op):
            program = _Program(entry.body.block)
            end = entry.body.block.last_op
            assert end is not None
            whole = sum(map(_given, zip(entry.body.block.args, arguments_of(entry), strict=True)))
            whole += sum(map(bytes_of, end.operands))
            for number, part in enumerate(program.cuts(self.ram - whole)):
                if part.rolls:
                    for group in program.kernels[part.start : part.stop]:
                        group.attributes[ROLL] = IntegerAttr(number, i64)


class _Program:
    """The kernels of a block, and when each value that they compute is needed."""

    def __init__(self, block: Block) -> None:
        group_lone_kernels(block)
        end = block.last_op
        assert end is not None
        apart = [op for op in block.ops if is_view(op) or isinstance(op, ConstantOp)]
        self.kernels = [op for op in block.ops if op not in apart and op is not end]
        self._number = {op: number for number, op in enumerate(self.kernels)} | {end: len(self.kernels)}
        self._rows = list(map(_row_choices, self.kernels))
        self._streamed = {number for number, op in enumerate(self.kernels) if STREAMED in op.attributes}
        self.lives: dict[SSAValue, tuple[int, int]] = {}
        """For each value that has memory while the model runs, the kernels that compute it and read it last; a result
        of the model is the caller's."""
        for number, op in enumerate(self.kernels):
            for result in op.results:
                if (last := self._last(result)) < len(self.kernels):
                    self.lives[result] = (number, max(number, last))

    def _last(self, value: SSAValue) -> int:
        """The last kernel that reads a value; behind all where it is a result of the model."""
        readers = (use.operation for use in value.uses)
        return max((self._last(op.results[0]) if is_view(op) else self._number[op] for op in readers), default=-1)

    def cuts(self, ram: int) -> list[_Part]:
        """The kernels that are computed together, in order."""
        parts = self._parts(ram)
        allowed = max(ram, self._least_peak(parts))
        best: list[tuple[float, _Part | None]] = [(0, None), *((float("inf"), None) for _ in self.kernels)]
        for part in parts:
            if part.peak <= allowed and (cost := best[part.start][0] + part.cost) < best[part.stop][0]:
                best[part.stop] = cost, part
        found: list[_Part] = []
        _, part = best[-1]
        while part is not None:
            found.append(part)
            _, part = best[part.start]
        return found[::-1]

    def _least_peak(self, parts: Iterable[_Part]) -> int:
        """The least peak of all cuts into some parts, which are in order of what follows them."""
        peaks = [0, *(2**62 for _ in self.kernels)]
        for part in parts:
            peaks[part.stop] = min(peaks[part.stop], max(peaks[part.start], part.peak))
        return peaks[-1]

    def _parts(self, ram: int) -> list[_Part]:
        """Each kernel alone, and those in a row that can be computed together, in order of what follows them; without
        those that nothing is gained by, where there are `ram` bytes for buffers."""
        found = [part for number in range(len(self.kernels)) if self._goes_on(part := self._alone(number))]
        rolls = [self._rolls(start) for start in range(len(self.kernels))]

        for more in _MORE:
            most = max(ram, self._least_peak(found))  # rings of more are in no cut that is chosen
            for each in rolls:
                for rings, part in islice(each, more):
                    if rings > most:
                        break
                    found += [part] if self._goes_on(part) else []
            found.sort(key=lambda part: part.stop)
        return found

    def _rolls(self, start: int) -> Iterator[tuple[int, _Part]]:
        """Kernels from one on that can be computed together, one more at a time, and the bytes of their rings."""
        rolling = Rolling(streamed=start <= min(self._streamed, default=-1))
        for stop in range(start + 1, len(self.kernels) + 1):
            try:
                rolling.add(self.kernels[stop - 1], self._rows[stop - 1])
            except ShapeError:
                return
            rings = rolling.rings()
            size = sum(map(_aligned, Buffers.of(rings).bytes))
            size += sum(_aligned(type_bytes(each)) for stage in rolling.stages for each in stage.scratch)
            peak = size + self._whole(start, stop) - self._trailing(start, stop, rolling)
            yield size, _Part(start, stop, peak, _cost(rolling, rings), rolls=True)

    def _goes_on(self, part: _Part) -> bool:
        """Whether all groups that go on with the rows of an input are among kernels that roll, or none."""
        streamed = self._streamed & {*range(part.start, part.stop)}
        return not streamed or (part.rolls and streamed == self._streamed)

    def _alone(self, number: int) -> _Part:
        op = self.kernels[number]
        scratch = inner_scratch(op) if isinstance(op, FusedOp) else ()
        size = self._whole(number, number + 1) + sum(_aligned(bytes_of(each)) for each in scratch)
        return _Part(number, number + 1, size - self._shared(number), 0)

    def _whole(self, start: int, stop: int) -> int:
        """Bytes of what is whole while kernels `start` to before `stop` run together."""

        def is_whole(first: int, last: int) -> bool:
            if first < start:
                return last >= start
            return first < stop and (last >= stop or stop == start + 1)

        return sum(_aligned(bytes_of(value)) for value, life in self.lives.items() if is_whole(*life))

    def _shared(self, number: int) -> int:
        """Bytes of results that a kernel writes over operands which nobody reads any more."""
        op = self.kernels[number]
        if not isinstance(op, FusedOp):
            return 0
        taken: set[SSAValue] = set()
        for result, places in zip(op.outputs, in_place(op.block, op.yield_op.values), strict=True):
            for place in places if result in self.lives else ():
                root = viewed_whole(op.inputs[place])
                if (
                    root in self.lives
                    and self.lives[root][1] == number
                    and bytes_of(root) == bytes_of(result)
                    and root not in taken
                ):
                    taken.add(root)
                    break
        return sum(_aligned(bytes_of(value)) for value in taken)

    def _trailing(self, start: int, stop: int, rolling: Rolling) -> int:
        """Bytes that results have in common with operands which they trail and nobody reads any more."""
        found: list[tuple[int, SSAValue, SSAValue]] = []
        for result, (first, last) in self.lives.items():
            if not start <= first < stop <= last:
                continue
            for operand, (born, dead) in self.lives.items():
                if born < start <= dead < stop and (distance := trail(rolling, result, operand)) is not None:
                    least = min(_aligned(bytes_of(operand)), _aligned(bytes_of(result)) - _aligned(distance))
                    found.append((least, result, operand))
        total, taken = 0, set[SSAValue]()
        for size, result, operand in sorted(found, key=lambda each: -each[0]):
            if size > 0 and not {result, operand} & taken:
                total += size
                taken |= {result, operand}
        return total


@dataclass(frozen=True)
class _Part:
    """Kernels `start` to before `stop`, which are computed row by row, or one as it is."""

    start: int
    stop: int
    peak: int
    """Bytes of buffers while they run."""
    cost: float
    """Instructions beside those of each kernel alone."""
    rolls: bool = False


def _cost(rolling: Rolling, rings: Sequence[Ring]) -> float:
    words = sum(ring.moved * ring.length * byte_width(element_type_of(ring.value)) / 4 for ring in rings)
    steps = rolling.pace.steps * len(rolling.stages)
    return _PER_MOVE * words + _PER_STEP * steps + _PER_ROW * sum(stage.rows for stage in rolling.stages)


def _given(argument: tuple[SSAValue, Argument]) -> int:
    """Bytes of an argument that callers have at once, and of the count of rows where some come after the other."""
    value, given = argument
    if given.rows is None:
        return bytes_of(value)
    shape = shape_of(value)
    return bytes_of(value) // shape[row_axis(shape)] * given.rows + _ALIGNMENT


def _row_choices(op: Operation) -> Sequence[GroupRows]:
    try:
        return GroupRows.choices(op) if isinstance(op, FusedOp) or is_join(op) else ()
    except ShapeError:
        return ()


def _aligned(size: int) -> int:
    return ceil_div(size, _ALIGNMENT) * _ALIGNMENT
