"""The memory plan as users see it: nodes instead of values, tasks with what they touch, and layers that roll."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.func import CallOp
from xdsl.dialects.memref import LoadOp, StoreOp
from xdsl.dialects.scf import IfOp

from aotc.dialects.aot import contract
from aotc.dialects.graph.compound.rolled import RolledOp
from aotc.model.limits import Pool
from aotc.model.locations import node_names
from aotc.model.metadata import (
    AccessInfo,
    BufferInfo,
    PlanInfo,
    PoolInfo,
    RingInfo,
    RollInfo,
    TaskInfo,
    TrailInfo,
    ValueInfo,
)
from aotc.passes.memory.entry_program import EntryBlock, label_of
from aotc.passes.memory.planner.placement import Buffer
from aotc.passes.memory.planner.placement import Problem as PlacementProblem
from aotc.passes.memory.planner.plan import Block
from aotc.passes.memory.planner.program import Access, Role


def plan_report(entry: EntryBlock, tensors: Mapping[int, contract.Argument], pools: Sequence[Pool] = ()) -> PlanInfo:
    """The plan of an entry with its inputs, outputs and states, by storage, in `pools` or one arena; the tasks of
    regions are after that of control flow."""
    report = _Report(entry, tensors)
    report.add(entry, contract.WorkspacePlace(0), {})
    placement, peaks = entry.planned.placement, entry.planned.peaks
    bounds = {pool: report.bound(pool, placement.alignment) for pool in peaks}
    bound, buffers = sum(bounds.values()), report.buffers
    ranked = sorted(range(len(buffers)), key=lambda number: (buffers[number].first, buffers[number].offset))
    places = {f"arena {number}": place for place, number in enumerate(ranked)}
    places |= {f"output {number}": len(ranked) + number for number in range(len(report.outputs))}
    return PlanInfo(
        peak_bytes=placement.peak,
        lower_bound_bytes=bound,
        optimal=placement.peak == bound,
        alignment=placement.alignment,
        order=tuple(report.order),
        buffers=tuple(report.buffers[number] for number in ranked),
        reordered=report.reordered,
        outputs=tuple(report.outputs),
        values=tuple(ValueInfo(places[place], size) for place, size in report.values),
        tasks=tuple(report.tasks),
        rolls=tuple(report.rolls),
        pools=tuple(
            PoolInfo(each.name, each.size, each.speed, each.section, peaks[each.name], bounds[each.name])
            for each in pools
        ),
    )


def buffer_names(entry: EntryBlock, tensors: Mapping[int, contract.Argument]) -> dict[int, str]:
    """The names that the plan has for the buffers of the entry's block, by their first storages."""
    report = _Report(entry, tensors)
    report.add(entry, contract.WorkspacePlace(0), {})
    return report.names


@dataclass
class _Report:
    """The members of the plan so far. A value is there with where its buffer is found, and its size."""

    entry: EntryBlock
    tensors: Mapping[int, contract.Argument]
    order: list[str] = field(default_factory=list[str])
    tasks: list[TaskInfo] = field(default_factory=list[TaskInfo])
    buffers: list[BufferInfo] = field(default_factory=list[BufferInfo])
    outputs: list[BufferInfo] = field(default_factory=list[BufferInfo])
    values: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    rolls: list[RollInfo] = field(default_factory=list[RollInfo])
    trails: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])
    """Of buffers in the arena, by number: as in `PlacementProblem`."""
    names: dict[int, str] = field(default_factory=dict[int, str])
    """Of the buffers of the entry's block, by their first storages."""
    reordered: bool = False
    taken: set[str] = field(default_factory=set[str])

    def bound(self, pool: str, alignment: int) -> int:
        """The bytes of a pool, or of the arena "", less than which no offsets need."""
        there = [number for number, each in enumerate(self.buffers) if each.pool == pool]
        place = {number: place for place, number in enumerate(there)}
        living = [self.buffers[number] for number in there]
        trails = {
            (place[one], place[other]): distance
            for (one, other), distance in self.trails.items()
            if one in place and other in place
        }
        buffers = [Buffer(each.name, each.size, each.first, each.last) for each in living]
        return PlacementProblem(buffers, alignment, trails).lower_bound

    def add(self, block: EntryBlock, base: contract.WorkspacePlace, outer: Mapping[int, int]) -> None:
        """Add the tasks of a block, then its buffers, from `base` on in the workspace; `outer` are the numbers of the
        values of the block around by storage."""
        plan, storages = block.planned, block.storages
        numbers = {here: outer[there] for here, there in block.outside.items() if there in outer}
        shown = [each for each in (*plan.blocks, *plan.hosted) if block.roots[each.storages[0]] is not None]
        outputs = [number for number, each in enumerate(storages) if each.role is Role.OUTPUT]
        for storage in (*(number for each in shown for number in each.storages), *outputs):
            numbers[storage] = len(self.values)
            self.values.append(("", storages[storage].size))
        firsts: list[int] = []
        lasts: list[int] = []
        rolls: list[tuple[RollInfo, list[int]]] = []
        places = block.places(base)
        self.reordered |= list(plan.order) != sorted(plan.order)
        for position in plan.order:
            call, number = block.calls[position], len(self.order)
            firsts.append(number)
            self.order.append("+".join(label_of(call.op)))
            self.tasks.append(_task(block, position, numbers))
            rolls += _rolled(block, position, number)
            inside: list[int] = []
            for inner in call.inner:
                begin = len(self.order)
                self.add(inner, contract.WorkspacePlace(0) if call.arena is None else places[call.arena], numbers)
                inside.append(len(self.order) - begin)
            self.tasks[number] = replace(self.tasks[number], regions=tuple(inside))
            lasts.append(len(self.order) - 1)

        def living(first: int, last: int) -> tuple[int, int]:
            return firsts[first] if firsts else 0, lasts[min(last, len(lasts) - 1)] if lasts else 0

        names: dict[int, str] = {}
        placed: dict[Block, int] = {}
        for each in shown:
            given = self.tensors.get(each.storages[0]) if block is self.entry else None
            nodes = block.nodes(each.storages)
            label = (block.nodes(each.storages[:1]) or ("buffer",))[-1]
            name = _unique(label if given is None else given.name or "buffer", self.taken)
            is_retained = given is not None and given.io in contract.RETAINED
            lives = living(each.first, each.last)
            names |= dict.fromkeys(each.storages, name)
            if block is self.entry:
                self.names[each.storages[0]] = name
            if each.host is None:
                placed[each] = len(self.buffers)
                self._place(f"arena {len(self.buffers)}", (numbers[storage] for storage in each.storages))
                place = places[each.storages[0]]
                info = BufferInfo(name, place.offset, each.size, *lives, nodes, is_retained, pool=place.pool)
                self.buffers.append(info)
            else:
                self._place(f"output {len(self.outputs)}", (numbers[storage] for storage in each.storages))
                output = self.tensors[each.host].name or ""
                self.outputs.append(BufferInfo(name, 0, each.size, *lives, nodes, output=output))
        for trail, distance in plan.trails_of_blocks.items():
            one, other = (placed.get(plan.blocks[number]) for number in trail)
            if one is not None and other is not None:
                self.trails[one, other] = distance
        lifetimes = block.program.lifetimes(plan.order)
        for storage in outputs:
            given = self.tensors[storage]
            first, _ = living(*lifetimes.get(storage, (0, 0)))
            self._place(f"output {len(self.outputs)}", [numbers[storage]])
            name, size, nodes = given.name or "", storages[storage].size, block.nodes([storage])
            self.outputs.append(BufferInfo(name, 0, size, first, max(len(self.order) - 1, 0), nodes, output=name))
        for roll, scratch in rolls:
            rings = (replace(ring, buffer=names.get(one, "")) for ring, one in zip(roll.rings, scratch, strict=True))
            self.rolls.append(replace(roll, rings=tuple(rings)))

    def _place(self, where: str, numbers: Iterable[int]) -> None:
        for number in numbers:
            self.values[number] = where, self.values[number][1]


def _task(block: EntryBlock, position: int, numbers: Mapping[int, int]) -> TaskInfo:
    """The bytes that a task touches, of control flow those of its conditions: the tasks of regions say the rest."""
    call, task = block.calls[position], block.tasks[position]

    def known(accesses: Iterable[Access]) -> tuple[AccessInfo, ...]:
        return tuple(
            AccessInfo(numbers[each.storage], each.start, each.end) for each in accesses if each.storage in numbers
        )

    if isinstance(call.op, CallOp | StoreOp):
        reads, writes = task.reads, task.writes
        kernel = block.functions.get(call.op.callee.string_value()) if isinstance(call.op, CallOp) else None
        if isinstance(call.op, StoreOp):
            reads = ()
        elif kernel is not None and (places := contract.IN_PLACE.get(kernel)) is not None:
            # With a number among the operands the planner does not ask which of them are written.
            touched = [block.access(value) for value in call.op.operands if isinstance(value.type, MemRefType)]
            reads, writes = touched[: len(touched) - len(places)], touched[len(touched) - len(places) :]
        writes = [each for each in writes if each.storage in numbers]
        in_place = tuple(place for place, each in enumerate(writes) if block.is_over(each, reads))
        ways = {(numbers[result], numbers[operand]): below for (result, operand), below in block.planned.trails.items()}
        trails = {
            TrailInfo(place, numbers[read.storage], ways[trail])
            for place, each in enumerate(writes)
            for read in reads
            if (trail := (numbers[each.storage], numbers.get(read.storage, -1))) in ways
        }
        listed = tuple(sorted(trails, key=lambda each: (each.write, each.read)))
        kind = "call" if isinstance(call.op, CallOp) else "store"
        return TaskInfo(known(reads), known(writes), in_place, listed, kind)
    loads = [each for each in (*call.before, call.op) if isinstance(each, LoadOp)]
    kind = "load" if not call.inner else "if" if isinstance(call.op, IfOp) else "loop"
    return TaskInfo(known(dict.fromkeys(block.access(load.memref) for load in loads)), kind=kind)


def _rolled(block: EntryBlock, position: int, number: int) -> Iterator[tuple[RollInfo, list[int]]]:
    """The layers that a call computes row by row, if it does, without names of buffers, and the storage of each
    ring."""
    call, task = block.calls[position], block.tasks[position]
    kernel = block.functions.get(call.op.callee.string_value()) if isinstance(call.op, CallOp) else None
    bodies = [] if kernel is None or kernel.is_declaration else [kernel.body.block]
    for rolled in (op for body in bodies for op in body.ops if isinstance(op, RolledOp)):
        nodes = set(node_names(call.op.location))
        labels = ((node_names(stage.location) or ("",))[-1] for stage in rolled.stages)
        # One kernel may serve several calls.
        layers = tuple(label if label in nodes else f"layer {stage}" for stage, label in enumerate(labels))
        scratch = [each.storage for each in task.writes[len(task.writes) - len(rolled.scratch()) :]]
        rings = contract.RINGS.get(rolled) or ()
        found = tuple(RingInfo(layers[ring.stage], ring.rows, ring.of, ring.row_bytes, "") for ring in rings)
        yield RollInfo(number, layers, found), [scratch[ring.buffer] for ring in rings]


def _unique(base: str, taken: set[str]) -> str:
    name, number = base, 1
    while name in taken:
        number += 1
        name = f"{base}#{number}"
    taken.add(name)
    return name
