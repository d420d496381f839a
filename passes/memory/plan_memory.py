"""Decide the order of the entry's calls and the place of every buffer, so that one small workspace holds them all.

```mlir
builtin.module {
  func.func private @relu(memref<64xf32>, memref<64xf32>) attributes {aot.kernel, aot.in_place = [[0]]}
  func.func @main(%x: memref<64xf32> {aot.io = "input"}, %y: memref<8xf32> {aot.io = "output"}) attributes {aot.entry} {
    %a = memref.alloc() : memref<64xf32>
    func.call @conv(%x, %a) : (memref<64xf32>, memref<64xf32>) -> ()    loc("Conv_0")
    %b = memref.alloc() : memref<64xf32>
    func.call @relu(%a, %b) : (memref<64xf32>, memref<64xf32>) -> ()    loc("Relu_1")
    func.call @gemm(%b, %y) : (memref<64xf32>, memref<8xf32>) -> ()     loc("Gemm_2")
```
becomes
```mlir
builtin.module attributes {aot.plan = {peak_bytes = 256, ..., order = ["Conv_0", ...], buffers = [{...}]}} {
  func.func private @relu(memref<64xf32> {aot.may_alias}, memref<64xf32> {aot.may_alias}) attributes {...}
  func.func @main(...) attributes {aot.entry} {
    %ws = aot.workspace : memref<256xi8>
    %c = arith.constant 0 : index
    %a = memref.view %ws[%c][] : memref<256xi8> to memref<64xf32>
    func.call @conv(%x, %a) : (memref<64xf32>, memref<64xf32>) -> ()
    func.call @relu(%a, %a) : (memref<64xf32>, memref<64xf32>) -> ()
    func.call @gemm(%a, %y) : (memref<64xf32>, memref<8xf32>) -> ()
```
A result takes over the buffer of an operand that dies at the call where the kernel's `aot.in_place` allows it; an
output of the entry may hold intermediates before it is written. `order` is `given`, `least-memory`, or `auto` for the
better of both. With `io=workspace` inputs and outputs are buffers of the workspace, too, alive from the start and to
the end; they leave the signature, and the entry says in `aot.tensors` what and where they are. So do states, whatever
`io` is: `aot.states` says where, and nothing else is ever there. A region of control flow
is planned by itself, the buffers around it staying where they are; its own ones lie in a part of the workspace that is
one buffer of the block around, the same for both regions of a conditional. With several `threads` buffers
that use the same memory have the same middle, where that takes little more. The planner itself is
`aotc.passes.memory.planner`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import cast

from xdsl.context import Context
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType, ModuleOp, NoneAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.dialects.memref import AllocOp, LoadOp, ReinterpretCastOp, ViewOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import IsTerminator, is_side_effect_free

from aotc.dialects.aot import WorkspaceOp, contract
from aotc.dialects.dtypes import byte_width
from aotc.errors import CompileError
from aotc.model.locations import node_names
from aotc.model.metadata import BufferInfo, PlanInfo
from aotc.passes.memory.bufferize import strides_of
from aotc.passes.memory.planner.placement import Buffer
from aotc.passes.memory.planner.placement import Problem as PlacementProblem
from aotc.passes.memory.planner.plan import MemoryPlan, plan_memory
from aotc.passes.memory.planner.program import Access, Program, Role, Storage, Task


@dataclass(frozen=True)
class PlanMemoryPass(ModulePass):
    name = "plan-memory"

    alignment: int = 16
    """Alignment in bytes of every buffer's offset; the workspace must be aligned as well."""
    order: str = "auto"
    in_place: bool = True
    io: str = "caller"
    """Where inputs and outputs are: the `caller`'s, or in the `workspace`."""
    threads: int = 1
    """How many compute each kernel together."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = {function.sym_name.data: function for function in op.ops if isinstance(function, FuncOp)}
        for function in functions.values():
            if contract.ENTRY.on(function):
                entry = _Block(function.body.block, functions)
                tensors = _tensors(function, entry, inside=self.io == "workspace")
                entry.read(self)
                contract.PLAN.set(op, _report(entry, tensors))
                _rewrite(entry)
                _move_to_workspace(function, entry, tensors, inside=self.io == "workspace")


def _tensors(function: FuncOp, entry: _Block, *, inside: bool) -> dict[int, contract.Argument]:
    """Add inputs and outputs, which are `inside` the workspace or not, to the storages; their attributes."""
    tensors: dict[int, contract.Argument] = {}
    for argument, given in zip(function.args, contract.arguments_of(function), strict=True):
        if isinstance(argument.type, MemRefType):
            tensors[len(entry.roots)] = given
            entry.add_tensor(argument, given.io, inside=inside)
    return tensors


@dataclass
class _Call:
    """A task of a program in the IR: a call or control flow, and the loads that only it depends on, in front of it."""

    op: Operation
    before: Sequence[Operation] = ()
    inner: Sequence[_Block] = ()
    """The blocks of the regions of control flow."""
    arena: int | None = None
    """The storage that all the regions have their buffers in, one at a time."""


@dataclass
class _Block:
    """The entry's block, or one of control flow in it, as a program of the planner: which value is which part of which
    storage, which operation which task."""

    block: Block
    functions: dict[str, FuncOp]
    outer: _Block | None = None
    roots: list[SSAValue | None] = field(default_factory=list["SSAValue | None"])
    """The buffer that each storage is; None for one that holds the buffers of regions."""
    storages: list[Storage] = field(default_factory=list[Storage])
    accesses: dict[SSAValue, Access] = field(default_factory=dict[SSAValue, Access])
    calls: list[_Call] = field(default_factory=list[_Call])
    tasks: list[Task] = field(default_factory=list[Task])
    outside: dict[int, int] = field(default_factory=dict[int, int])
    """The storage of the block around that a storage is, for those that are of there."""
    moving: set[SSAValue] = field(default_factory=set[SSAValue])
    """Views of a place that is known at run time only."""
    plan: MemoryPlan | None = None

    def read(self, options: PlanMemoryPass) -> None:
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
                inner = [_Block(region.block, self.functions, self) for region in op.regions]
                for each in inner:
                    each.read(options)
                self._take(_Call(op, loads, inner), memory)
                loads = []
            elif op.results and any(value.owner in loads for value in op.operands):
                loads.append(op)  # a number that depends on what is loaded
        if loads:  # of the terminator, as which `rewrite` treats them
            self._take(_Call(loads[-1], loads[:-1]), [])
        self.plan = plan_memory(self.program, options.alignment, options.order, options.in_place, options.threads)

    @property
    def program(self) -> Program:
        """The findings so far."""
        return Program(tuple(self.storages), tuple(self.tasks))

    def _take(self, call: _Call, memory: Sequence[SSAValue]) -> None:
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
        self.tasks.append(
            Task((*task.reads, *dict.fromkeys(more)), (*task.writes, *dict.fromkeys(writes)), task.in_place)
        )

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

    def offsets(self, base: int) -> dict[int, int]:
        """Where storages are in the workspace, if the buffers of this block begin at `base`."""
        plan = self.planned
        placed = zip(plan.blocks, plan.placement.offsets, strict=True)
        return {storage: base + offset for block, offset in placed for storage in block.storages}

    def add_tensor(self, argument: SSAValue, io: contract.Io | None, *, inside: bool) -> None:
        """Add an input or output of the entry, `inside` the workspace or not, or a state."""
        is_output = io == "output"
        if io == "state":
            self._add(argument, Role.STATE)
        elif inside:
            self._add(argument, Role.ARENA, from_start=not is_output, to_end=is_output)
        else:
            self._add(argument, Role.OUTPUT if is_output else Role.FIXED)

    def _add(self, root: SSAValue, role: Role, *, from_start: bool = False, to_end: bool = False) -> None:
        kind = _memref(root)
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
        kind = _memref(op.results[0])
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
        return Task(reads, writes, tuple(dict.fromkeys(reused)))

    def _fits(self, result: SSAValue, operand: SSAValue) -> bool:
        """Whether both are the whole of storages of one size and element type."""
        one, other = self.access(result), self.access(operand)
        size = self.storages[one.storage].size
        same = size == self.storages[other.storage].size and one.end - one.start == size == other.end - other.start
        return same and _memref(result).element_type == _memref(operand).element_type

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
                    writers.setdefault(storage, []).extend(_label(call.op))
        return writers


def _memref(value: SSAValue) -> MemRefType:
    assert isinstance(value.type, MemRefType)
    return cast(MemRefType, value.type)


def _bytes(kind: MemRefType) -> int:
    return kind.element_count() * byte_width(kind.element_type)


def _label(op: Operation) -> tuple[str, ...]:
    """The ONNX nodes a task computes, or the kernel's name where it has no location."""
    return node_names(op.location) or ((op.callee.string_value(),) if isinstance(op, CallOp) else (op.name,))


def _report(entry: _Block, tensors: Mapping[int, contract.Argument]) -> PlanInfo:
    """The plan as users see it: nodes instead of values, and the tasks of regions after that of control flow."""
    order: list[str] = []
    buffers: list[BufferInfo] = []
    taken: set[str] = set()

    def number(block: _Block, base: int) -> None:
        """Add the tasks of a block, then its buffers, from `base` on in the workspace."""
        plan = block.planned
        firsts: list[int] = []
        lasts: list[int] = []
        offsets = block.offsets(base)
        for position in plan.order:
            call = block.calls[position]
            firsts.append(len(order))
            order.append("+".join(_label(call.op)))
            for inner in call.inner:
                number(inner, 0 if call.arena is None else offsets[call.arena])
            lasts.append(len(order) - 1)
        for each in plan.blocks:
            if block.roots[each.storages[0]] is None:
                continue  # of regions, which are there themselves
            nodes = block.nodes(each.storages)
            given = tensors.get(each.storages[0]) if block is entry else None
            label = (block.nodes(each.storages[:1]) or ("buffer",))[-1]
            name = _unique(label if given is None else given.name or "buffer", taken)
            first = firsts[each.first] if firsts else 0
            last = lasts[min(each.last, len(lasts) - 1)] if lasts else 0
            is_state = given is not None and given.io == "state"
            buffers.append(BufferInfo(name, offsets[each.storages[0]], each.size, first, last, nodes, is_state))

    number(entry, 0)
    placement = entry.planned.placement
    living = [Buffer(each.name, each.size, each.first, each.last) for each in buffers]
    bound = PlacementProblem(living, placement.alignment).lower_bound
    return PlanInfo(
        peak_bytes=placement.peak,
        lower_bound_bytes=bound,
        optimal=placement.peak == bound,
        alignment=placement.alignment,
        order=tuple(order),
        buffers=tuple(sorted(buffers, key=lambda buffer: (buffer.first, buffer.offset))),
    )


def _unique(base: str, taken: set[str]) -> str:
    name, number = base, 1
    while name in taken:
        number += 1
        name = f"{base}#{number}"
    taken.add(name)
    return name


def _rewrite(entry: _Block) -> None:
    """Views instead of allocations, at the head of the entry; the tasks of every block in the planned order."""
    head: list[Operation] = []
    workspace = WorkspaceOp(entry.planned.placement.peak) if entry.planned.placement.peak else None
    if workspace is not None:
        workspace.result.name_hint = "ws"
        head.append(workspace)
    _rewrite_block(entry, 0, workspace, head)
    Rewriter.insert_op(head, InsertPoint.at_start(entry.block))


def _rewrite_block(block: _Block, base: int, workspace: WorkspaceOp | None, head: list[Operation]) -> None:
    """Replace the buffers of a block, which begin at `base` in the workspace, by views in `head`; sort its tasks."""
    plan, offsets = block.planned, block.offsets(base)
    for each in plan.blocks:
        assert workspace is not None
        roots = [root for storage in each.storages if (root := block.roots[storage]) is not None]
        if not roots:
            continue
        constant = ConstantOp(IntegerAttr(offsets[each.storages[0]], IndexType()))
        head.append(constant)
        views: dict[MemRefType, SSAValue] = {}
        for root in roots:
            kind = _memref(root)
            if kind not in views:
                view = ViewOp(workspace, constant, [], kind)
                head.append(view)
                views[kind] = view.result
            root.replace_all_uses_with(views[kind])
    for each in plan.hosted:
        assert each.host is not None
        host = block.roots[each.host]
        assert host is not None
        for storage in each.storages:
            if (root := block.roots[storage]) is not None:
                root.replace_all_uses_with(_cast(host, _memref(root), head))
    _mark_aliases(block, plan)

    last = block.block.last_op
    assert last is not None and last.has_trait(IsTerminator)
    for op in [op for op in block.block.ops if isinstance(op, AllocOp)]:
        block.block.erase_op(op)
    tasks = [op for number in plan.order for op in (*block.calls[number].before, block.calls[number].op)]
    for op in tasks:
        op.detach()
    block.block.insert_ops_before(tasks, last)
    for call in block.calls:
        for inner in call.inner:
            _rewrite_block(inner, 0 if call.arena is None else offsets[call.arena], workspace, head)


def _move_to_workspace(
    function: FuncOp, entry: _Block, tensors: Mapping[int, contract.Argument], *, inside: bool
) -> None:
    """Remove the states, and where they are `inside` the inputs and outputs, which are in the workspace now, from the
    signature, but keep their attributes."""
    moved = {storage: given for storage, given in tensors.items() if inside or given.io == "state"}
    offsets = entry.offsets(0)
    attributes = contract.arguments_of(function)
    for storage, given in moved.items():
        root = entry.roots[storage]
        assert root is not None
        given.shape = _memref(root).get_shape()
        given.offset = offsets[storage]
    contract.STATES.set(function, [given for given in moved.values() if given.io == "state"] or None)
    if inside:
        contract.TENSORS.set(function, [given for given in moved.values() if given.io != "state"])
    for storage in reversed(list(moved)):
        argument = entry.roots[storage]
        assert isinstance(argument, BlockArgument)
        del attributes[argument.index]
        entry.block.erase_arg(argument)
    contract.set_signature(function, attributes, function.function_type.outputs.data)


def _cast(output: SSAValue, kind: MemRefType, head: list[Operation]) -> SSAValue:
    """An output's memory as a buffer of type `kind`."""
    if output.type == kind:
        return output
    op = ReinterpretCastOp(output, [], [], [], [0], kind.get_shape(), strides_of(kind), kind)
    head.append(op)
    return op.result


def _mark_aliases(entry: _Block, plan: MemoryPlan) -> None:
    """Mark the arguments of kernels that are called with one buffer as operand and as result."""
    home = {storage: storage for storage in range(len(entry.storages))}
    for block in (*plan.blocks, *plan.hosted):
        home |= dict.fromkeys(block.storages, block.storages[0] if block.host is None else block.host)
    for call, task in zip(entry.calls, entry.tasks, strict=True):
        op = call.op
        kernel = entry.functions.get(op.callee.string_value()) if isinstance(op, CallOp) else None
        if kernel is None:
            continue
        marked: set[int] = set()
        for n, read in enumerate(task.reads):
            for k, write in enumerate(task.writes, len(task.reads)):
                shared = home[read.storage] == home[write.storage] and read.storage != write.storage
                if shared or read.overlaps(write):
                    marked |= {n, k}
        if marked and len(task.reads) + len(task.writes) == len(op.operands):
            attributes = contract.arguments_of(kernel)
            for n in marked:
                attributes[n].may_alias = True
            contract.set_arguments(kernel, attributes)
