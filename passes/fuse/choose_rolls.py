"""Choose which groups in a row are computed row by row, so that the program needs no more RAM than there is.

Every cut of the groups of a block into those in a row that roll together, and others that are computed as they are, has
a peak and a cost: the peak is what is whole while some of them run, and their rings of rows; the cost is estimated from
the rows that are moved and the loops that begin anew. Results trail operands that nobody reads any more, so that both
count as little more than the larger one; for that a group may roll alone. Dynamic programming over the cuts finds the
one of least cost whose peak is allowed; where none is, that of the least peak. Without a budget the peak is the least
one that takes hardly any instructions more, by the costs of anchors on the target, than the cheapest cut; it must be
worth the stack that rows take. `roll` of the groups says what was chosen. Groups that go on with the rows of an input
(`streamed`) roll together whatever that costs.

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

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from aotc.dialects.aot.contract import Argument, arguments_of, entries, target_of
from aotc.dialects.dtypes import byte_width
from aotc.dialects.graph.interfaces import (
    AnchorOp,
    ElementOp,
    ShapeError,
    bytes_of,
    element_type_of,
    is_join,
    is_view,
    shape_of,
    viewed_whole,
)
from aotc.dialects.graph.schedules import SumsSchedule, schedule_of
from aotc.dialects.graph.shapes import ceil_div
from aotc.dialects.graph.structure import ConstantOp, FusedOp
from aotc.machines.machine import Core
from aotc.machines.targets import core_of
from aotc.model.metadata import row_axis
from aotc.passes.fuse.cuts import ALIGNMENT, Part, Trail, cheapest, cost_of, least_peak
from aotc.passes.fuse.groups import group_lone_kernels
from aotc.passes.fuse.reads import in_place
from aotc.passes.kernel.rolling.group_rows import GroupRows, anchor_of, inner_scratch
from aotc.passes.kernel.rolling.rings import Buffers, Ring, type_bytes
from aotc.passes.kernel.rolling.stages import ROLL, STREAMED, Rolling
from aotc.passes.kernel.rolling.trails import trail
from aotc.passes.kernel.scalar_cost import element_cost
from aotc.passes.kernel.strategy import strategy_of

_MORE = (3, 3, 6, 12, None)
"""How many kernels more are tried in a row, one time after the other: what is found with few says what many may take.
Without a budget many are tried only as long as they need less than few."""
_PER_ROW = 40
"""Instructions of a row of a group beside those of its elements."""
_PER_STEP = 20
"""Instructions of a group at each step."""
_PER_MOVE = 3
"""Instructions for each four bytes that are moved."""
_WORTHWHILE = 256
"""Bytes of buffers that rows save at least without a budget. They take some stack: 30 to 100 bytes a model."""


@dataclass(frozen=True)
class ChooseRollsPass(ModulePass):
    name = "choose-rolls"

    ram: int = 0
    """Bytes that there are for buffers, inputs and outputs; 0: as few as there can be."""
    slower: int = 0
    """How many thousandths more instructions than the fastest program that of the least RAM may take; 0: any, for
    `ram`."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        core = core_of(target_of(op))
        for entry in entries(op):
            # for the least RAM the cost only decides between cuts of one peak: offsets fit no worse with long rolls
            program = _Program(entry.body.block, core.scalars.sums.ring_place if self.ram or self.slower else 0.0)
            end = entry.body.block.last_op
            assert end is not None
            whole = sum(map(_given, zip(entry.body.block.args, arguments_of(entry), strict=True)))
            whole += sum(map(bytes_of, end.operands))
            if self.slower:
                program.allowance = self.slower / 1000 * _instructions(program.kernels, core)
            for number, part in enumerate(program.cuts(self.ram - whole)):
                if part.rolls:
                    for group in program.kernels[part.start : part.stop]:
                        group.attributes[ROLL] = IntegerAttr(number, i64)


class _Program:
    """The kernels of a block, and when each value that they compute is needed."""

    def __init__(self, block: Block, per_place: float) -> None:
        self._per_place = per_place
        group_lone_kernels(block)
        end = block.last_op
        assert end is not None
        apart = [op for op in block.ops if is_view(op) or isinstance(op, ConstantOp)]
        self.kernels = [op for op in block.ops if op not in apart and op is not end]
        self._number = {op: number for number, op in enumerate(self.kernels)} | {end: len(self.kernels)}
        self._rows = list(map(_row_choices, self.kernels))
        self._streamed = {number for number, op in enumerate(self.kernels) if STREAMED in op.attributes}
        self.allowance: float | None = None
        """Instructions by which the cut of the least peak may cost more than the cheapest one; None: there are bytes
        for buffers."""
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

    def cuts(self, ram: int) -> list[Part]:
        """The kernels that are computed together, in order."""
        parts = self._parts(ram)
        return cheapest(parts, len(self.kernels), self._allowed(parts, ram)[0]) or []

    def _allowed(self, parts: Sequence[Part], ram: int) -> tuple[float, float]:
        """The peak and the cost that a cut into some parts may have, where there are `ram` bytes for buffers."""
        count = len(self.kernels)
        if self.allowance is None:
            return max(ram, least_peak(parts, count)), math.inf
        fastest = cost_of(cheapest(parts, count, math.inf))
        most = fastest + self.allowance
        least, plain = least_peak(parts, count, most), least_peak(parts, count, fastest)
        return (plain if plain < least + _WORTHWHILE else least), most

    def _parts(self, ram: int) -> list[Part]:
        """Each kernel alone, and those in a row that can be computed together, in order of what follows them; without
        those that nothing is gained by, where there are `ram` bytes for buffers."""
        found = [part for number in range(len(self.kernels)) if self._goes_on(part := self._alone(number))]
        rolls = [self._rolls(start) for start in range(len(self.kernels))]

        before = math.inf
        for more in _MORE:
            peak, cost = self._allowed(found, ram)  # rings of more are in no cut that is chosen
            if self.allowance is not None and not math.isinf(peak) and peak >= before:
                break
            before = peak
            for each in rolls:
                for rings, together in islice(each, more):
                    if rings > peak or together[0].cost > cost:
                        break
                    found += filter(self._goes_on, together)
            found.sort(key=lambda part: part.stop)
        return found

    def _rolls(self, start: int) -> Iterator[tuple[int, list[Part]]]:
        """Kernels from one on that can be computed together, one more at a time, without results that trail and with
        them, and the bytes of their rings."""
        rolling = Rolling(streamed=start <= min(self._streamed, default=-1))
        for stop in range(start + 1, len(self.kernels) + 1):
            try:
                rolling.add(self.kernels[stop - 1], self._rows[stop - 1])
            except ShapeError:
                return
            rings = rolling.rings()
            size = sum(map(_aligned, Buffers.of(rings).bytes))
            size += sum(_aligned(type_bytes(each)) for stage in rolling.stages for each in stage.scratch)
            if stop == start + 1 and is_join(self.kernels[start]):
                continue  # alone its operands are computed in their places
            part = Part(
                start, stop, size + self._whole(start, stop), _cost(rolling, rings, self._per_place), rolls=True
            )
            yield size, [part, *self._trailing(part, rolling)]

    def _goes_on(self, part: Part) -> bool:
        """Whether all groups that go on with the rows of an input are among kernels that roll, or none."""
        streamed = self._streamed & {*range(part.start, part.stop)}
        return not streamed or (part.rolls and streamed == self._streamed)

    def _alone(self, number: int) -> Part:
        op = self.kernels[number]
        scratch = inner_scratch(op) if isinstance(op, FusedOp) else ()
        size = self._whole(number, number + 1) + sum(_aligned(bytes_of(each)) for each in scratch)
        shared = self._shared(number)
        largest = max(shared, key=lambda value: bytes_of(value), default=None)
        trail = None
        if largest is not None:
            trail = Trail(self.lives[largest][0], _aligned(bytes_of(largest)), 0, _aligned(bytes_of(largest)))
        return Part(number, number + 1, size - sum(_aligned(bytes_of(value)) for value in shared), 0, trail=trail)

    def _whole(self, start: int, stop: int) -> int:
        """Bytes of what is whole while kernels `start` to before `stop` run together."""

        def is_whole(first: int, last: int) -> bool:
            if first < start:
                return last >= start
            return first < stop and (last >= stop or stop == start + 1)

        return sum(_aligned(bytes_of(value)) for value, life in self.lives.items() if is_whole(*life))

    def _shared(self, number: int) -> set[SSAValue]:
        """The operands that a kernel writes results over, which nobody reads any more."""
        op = self.kernels[number]
        if not isinstance(op, FusedOp):
            return set()
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
        return taken

    def _trailing(self, part: Part, rolling: Rolling) -> Iterator[Part]:
        """The part where results trail operands that nobody reads any more, so that they have bytes in common."""
        found: list[tuple[int, SSAValue, SSAValue, Trail]] = []
        for result, (first, last) in self.lives.items():
            if not part.start <= first < part.stop <= last:
                continue
            for operand, (born, dead) in self.lives.items():
                if born < part.start <= dead < part.stop and (below := trail(rolling, result, operand)) is not None:
                    size, other = _aligned(bytes_of(operand)), _aligned(bytes_of(result))
                    common = min(size, other - _aligned(below))
                    found.append((common, result, operand, Trail(born, size, _aligned(below), other)))
        total, taken, trails = 0, set[SSAValue](), list[Trail]()
        for size, result, operand, link in sorted(found, key=lambda each: -each[0]):
            if size > 0 and not {result, operand} & taken:
                total += size
                taken |= {result, operand}
                trails.append(link)
        if trails:
            yield replace(part, peak=part.peak - total, trail=trails[0])


def _cost(rolling: Rolling, rings: Sequence[Ring], per_place: float) -> float:
    words = sum(ring.moved * ring.length * byte_width(element_type_of(ring.value)) / 4 for ring in rings)
    steps, written = rolling.pace.steps * len(rolling.stages), {ring.value for ring in rings}
    places = 0.0
    for stage in rolling.stages:
        read = sum((way.rows.high - way.rows.low) // way.rows.per + 1 for way in stage.reads)
        places += _tiles(stage.op) * (read + (not written.isdisjoint(stage.op.results)))
        if is_join(stage.op):
            words += sum(bytes_of(value) for value in stage.op.operands if value not in rolling.places) / 4
    rows = sum(stage.rows for stage in rolling.stages)
    return _PER_MOVE * words + _PER_STEP * steps + _PER_ROW * rows + per_place * places


def _tiles(op: Operation) -> float:
    """How often results of a group, or a join, are computed: several at once where a schedule says so."""
    anchor = anchor_of(op) if isinstance(op, FusedOp) else None
    schedule = None if anchor is None else schedule_of(anchor)
    several = schedule.positions * schedule.columns if isinstance(schedule, SumsSchedule) else 1
    return math.prod(shape_of(op.results[0])) / several


def _instructions(kernels: Iterable[Operation], core: Core) -> float:
    """Those of some kernels, about: of anchors as their schedules say, or one for each operation."""
    total = 0.0
    for op in (op for kernel in kernels for op in kernel.walk()):
        if isinstance(op, AnchorOp) and (schedule := schedule_of(op)) is not None:
            total += strategy_of(op).cost(op, schedule, core)
        elif isinstance(op, ElementOp):
            total += element_cost(op) * math.prod(shape_of(op.results[0]))
        elif isinstance(op, AnchorOp):
            total += op.operations()
    return total


def _given(argument: tuple[SSAValue, Argument]) -> int:
    """Bytes of an argument that callers have at once, and of the count of rows where some come after the other."""
    value, given = argument
    if given.rows is None:
        return bytes_of(value)
    shape = shape_of(value)
    return bytes_of(value) // shape[row_axis(shape)] * given.rows + ALIGNMENT


def _row_choices(op: Operation) -> Sequence[GroupRows]:
    try:
        return GroupRows.choices(op) if isinstance(op, FusedOp) or is_join(op) else ()
    except ShapeError:
        return ()


def _aligned(size: int) -> int:
    return ceil_div(size, ALIGNMENT) * ALIGNMENT
