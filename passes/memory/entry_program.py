"""The calls of an entry, or of a block of control flow in it, as a program of the planner."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import cast

from xdsl.dialects.builtin import MemRefType, NoneAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.dialects.memref import AllocOp, LoadOp, ReinterpretCastOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from aotc.dialects.aot import contract
from aotc.dialects.dtypes import byte_width
from aotc.errors import CompileError
from aotc.model.locations import node_names
from aotc.passes.memory.planner.plan import MemoryPlan
from aotc.passes.memory.planner.program import Access, Program, Role, Storage, Task

Planner = Callable[[Program], MemoryPlan]


@dataclass
class EntryCall:
    """A task of a program in the IR: a call or control flow, and the loads that only it depends on, in front of it."""

    op: Operation
    before: Sequence[Operation] = ()
    inner: Sequence[EntryBlock] = ()
    """The blocks of the regions of control flow."""
    arena: int | None = None
    """The storage that all the regions have their buffers in, one at a time."""


@dataclass
class EntryBlock:
    """The entry's block, or one of control flow in it, as a program of the planner: which value is which part of which
    storage, which operation which task."""

    block: Block
    functions: dict[str, FuncOp]
    outer: EntryBlock | None = None
    roots: list[SSAValue | None] = field(default_factory=list["SSAValue | None"])
    """The buffer that each storage is; None for one that holds the buffers of regions."""
    storages: list[Storage] = field(default_factory=list[Storage])
    accesses: dict[SSAValue, Access] = field(default_factory=dict[SSAValue, Access])
    calls: list[EntryCall] = field(default_factory=list[EntryCall])
    tasks: list[Task] = field(default_factory=list[Task])
    outside: dict[int, int] = field(default_factory=dict[int, int])
    """The storage of the block around that a storage is, for those that are of there."""
    moving: set[SSAValue] = field(default_factory=set[SSAValue])
    """Views of a place that is known at run time only."""
    pushed: set[int] = field(default_factory=set[int])
    """The storages that say how many rows of an input have come."""
    plan: MemoryPlan | None = None

    def read(self, plan: Planner) -> None:
        """Find storages and tasks, those of regions first, and plan them."""
        for op in reversed(tuple(self.block.ops)):
            if is_side_effect_free(op) and op.results and not any(result.uses for result in op.results):
                self.block.erase_op(op)
        loads: list[Operation] = []
        for op in self.block.ops:
            memory = [value for value in op.operands if isinstance(value.type, MemRefType)]
            is_view = len(op.results) == 1 and isinstance(op.results[0].type, MemRefType)
            if isinstance(op, AllocOp):
                self._add(op.memref, Role.ARENA)
            elif is_view and not memory:
                self._add(op.results[0], Role.FIXED)
            elif is_view:
                self.accesses[op.results[0]] = self._view(op, memory[0])
            elif isinstance(op, LoadOp):
                loads.append(op)
            elif memory or op.regions:
                inner = [EntryBlock(region.block, self.functions, self) for region in op.regions]
                for each in inner:
                    each.read(plan)
                self._take(EntryCall(op, loads, inner), memory)
                loads = []
            elif op.results and any(value.owner in loads for value in op.operands):
                loads.append(op)  # a number that depends on what is loaded
        if loads:  # of the terminator, as which `rewrite` treats them
            self._take(EntryCall(loads[-1], loads[:-1]), [])
        self.plan = plan(self.program)

    @property
    def program(self) -> Program:
        """The findings so far."""
        return Program(tuple(self.storages), tuple(self.tasks))

    def _take(self, call: EntryCall, memory: Sequence[SSAValue]) -> None:
        """Add a task."""
        task = self._task(call.op, memory)
        more = [self.access(load.memref) for load in (*call.before, call.op) if isinstance(load, LoadOp)]
        writes: list[Access] = []
        for inner in call.inner:
            for each in inner.tasks:
                for found, into in ((each.reads, more), (each.writes, writes)):
                    into += [outer for access in found if (outer := inner._outer_access(access)) is not None]
        if size := max((inner.planned.placement.peak for inner in call.inner), default=0):
            call.arena = len(self.storages)
            self.storages.append(Storage(size, Role.ARENA))
            self.roots.append(None)
            writes.append(Access(call.arena, 0, size))
        self.calls.append(call)
        reads, writes = [*task.reads, *dict.fromkeys(more)], [*task.writes, *dict.fromkeys(writes)]
        self.tasks.append(replace(task, reads=tuple(reads), writes=tuple(writes)))

    @cached_property
    def homes(self) -> Mapping[int, int]:
        """For each storage that in whose memory it is, once there is a plan."""
        homes = {storage: storage for storage in range(len(self.storages))}
        for each in (*self.planned.blocks, *self.planned.hosted):
            homes |= dict.fromkeys(each.storages, each.storages[0] if each.host is None else each.host)
        return homes

    def is_over(self, written: Access, reads: Iterable[Access]) -> bool:
        """Whether what is written takes over the memory of something else that is read."""
        home, storage = self.homes[written.storage], written.storage
        return any(self.homes[read.storage] == home and read.storage != storage for read in reads)

    @property
    def planned(self) -> MemoryPlan:
        """The plan, once it is made."""
        assert self.plan is not None
        return self.plan

    def access(self, value: SSAValue) -> Access:
        """The part of a storage that a buffer is; one of the block around becomes a storage here, too."""
        if value not in self.accesses:
            assert self.outer is not None
            outer = self.outer.access(value)
            known = {there: here for here, there in self.outside.items()}
            if (here := known.get(outer.storage)) is None:
                here = len(self.storages)
                self.outside[here] = outer.storage
                self.storages.append(replace(self.outer.storages[outer.storage], role=Role.FIXED))
                self.roots.append(self.outer.roots[outer.storage])
            self.accesses[value] = replace(outer, storage=here)
            if value in self.outer.moving:
                self.moving.add(value)
        return self.accesses[value]

    def _outer_access(self, access: Access) -> Access | None:
        """An access as one of the block around; None where that does not know the storage."""
        there = self.outside.get(access.storage)
        return None if there is None else replace(access, storage=there)

    def places(self, base: contract.WorkspacePlace) -> dict[int, contract.WorkspacePlace]:
        """Where storages are in the workspace, if the buffers of this block begin at `base`, or are in pools."""
        plan = self.planned
        pools = plan.pools or (base.pool,) * len(plan.blocks)
        placed = zip(plan.blocks, plan.placement.offsets, pools, strict=True)
        return {
            storage: contract.WorkspacePlace(base.offset + offset, pool)
            for block, offset, pool in placed
            for storage in block.storages
        }

    def add_tensor(self, argument: SSAValue, io: contract.Io | None, *, inside: bool) -> None:
        """Add an input or output of the entry, `inside` the workspace or not, or what is kept there."""
        is_output = io == "output"
        if io in contract.RETAINED:
            self.pushed |= {len(self.roots)} if io == "pushed" else set()
            self._add(argument, Role.STATE)
        elif inside:
            self._add(argument, Role.ARENA, from_start=not is_output, to_end=is_output)
        else:
            self._add(argument, Role.OUTPUT if is_output else Role.FIXED)

    def _add(self, root: SSAValue, role: Role, *, from_start: bool = False, to_end: bool = False) -> None:
        kind = memref_of(root)
        if not kind.has_static_shape():
            what = f"a buffer of the entry has the type {kind}, only static shapes can be planned"
            raise CompileError("open-shapes", what)
        # An empty tensor still has an address of its own.
        storage = Storage(max(1, _bytes(kind)), role, str(kind.element_type), from_start, to_end)
        self.accesses[root] = Access(len(self.roots), 0, storage.size)
        self.roots.append(root)
        self.storages.append(storage)

    def _view(self, op: Operation, source: SSAValue) -> Access:
        """The part of its storage that a view covers; all of it where the view is not contiguous."""
        base = self.access(source)
        kind = memref_of(op.results[0])
        if source in self.moving or (isinstance(op, ReinterpretCastOp) and op.offsets):
            self.moving.add(op.results[0])
        elif isinstance(op, ReinterpretCastOp) and isinstance(kind.layout, NoneAttr):
            (offset,) = op.static_offsets.get_values()
            start = base.start + int(offset) * byte_width(kind.element_type)
            return Access(base.storage, start, start + max(1, _bytes(kind)))
        return Access(base.storage, 0, self.storages[base.storage].size)

    def _task(self, op: Operation, memory: Sequence[SSAValue]) -> Task:
        kernel = self.functions.get(op.callee.string_value()) if isinstance(op, CallOp) else None
        in_place = contract.IN_PLACE.get(kernel) if kernel is not None else None
        touched = tuple(self.access(value) for value in memory)
        if in_place is None or len(memory) != len(op.operands):
            return Task(touched, touched)  # unknown: it may read and write all its operands
        count = len(memory) - len(in_place)
        reads, writes = touched[:count], touched[count:]
        reused: list[tuple[int, int]] = []
        for position, allowed in enumerate(in_place):
            result = memory[count + position]
            reused += [
                (writes[position].storage, reads[number].storage)
                for number in allowed
                if self._fits(result, memory[number])
                # Every other operand in the same storage would see the result instead.
                and all(n in allowed for n, read in enumerate(reads) if read.storage == reads[number].storage)
                and all(write.storage != reads[number].storage for write in writes)
                and [write.storage for write in writes].count(writes[position].storage) == 1
            ]
        trails = contract.TRAILS.get(kernel) if kernel is not None else None
        behind = tuple(self._trails(memory, touched, trails or ()))
        pushed = any(read.storage in self.pushed for read in reads)
        return Task(reads, writes, tuple(dict.fromkeys(reused)), behind, pushed)

    def _trails(
        self, memory: Sequence[SSAValue], touched: Sequence[Access], trails: Sequence[Sequence[int]]
    ) -> Iterator[tuple[int, int, int]]:
        """Which storages may trail which, for the distances of `aot.trails`: those of which a result is the whole, and
        which nothing else touches; of operands all views of one storage."""
        for place, distances in enumerate(trails):
            write = touched[len(distances) + place]
            alone = [each.storage for each in touched].count(write.storage) == 1
            if not alone or write.end - write.start < self.storages[write.storage].size:
                continue
            below: dict[int, list[int | None]] = {}
            for value, access, distance in zip(memory, touched, distances, strict=False):
                known = distance >= 0 and value not in self.moving
                below.setdefault(access.storage, []).append(distance - access.start if known else None)
            others = {access.storage for access in touched[len(distances) :]}
            for storage, found in below.items():
                known = [each for each in found if each is not None]
                if len(known) == len(found) and storage not in others:
                    yield write.storage, storage, max(0, *known)

    def _fits(self, result: SSAValue, operand: SSAValue) -> bool:
        """Whether both are the whole of storages of one size and element type."""
        one, other = self.access(result), self.access(operand)
        size = self.storages[one.storage].size
        same = size == self.storages[other.storage].size and one.end - one.start == size == other.end - other.start
        return same and memref_of(result).element_type == memref_of(operand).element_type

    def nodes(self, storages: Sequence[int]) -> tuple[str, ...]:
        """The nodes (kernels where there are none) that write to any of the storages, in order."""
        return tuple(dict.fromkeys(name for storage in storages for name in self.writers.get(storage, ())))

    @cached_property
    def writers(self) -> dict[int, list[str]]:
        """The nodes that write to each storage, in regions, too, once `read` has found the tasks."""
        writers: dict[int, list[str]] = {}
        for call, task in zip(self.calls, self.tasks, strict=True):
            for inner in call.inner:
                for storage, names in inner.writers.items():
                    if storage in inner.outside:
                        writers.setdefault(inner.outside[storage], []).extend(names)
            for storage in dict.fromkeys(access.storage for access in task.writes):
                if not call.inner:
                    writers.setdefault(storage, []).extend(label_of(call.op))
        return writers


def memref_of(value: SSAValue) -> MemRefType:
    assert isinstance(value.type, MemRefType)
    return cast(MemRefType, value.type)


def _bytes(kind: MemRefType) -> int:
    return kind.element_count() * byte_width(kind.element_type)


def label_of(op: Operation) -> tuple[str, ...]:
    """The ONNX nodes a task computes, or the kernel's name where it has no location."""
    return node_names(op.location) or ((op.callee.string_value(),) if isinstance(op, CallOp) else (op.name,))
