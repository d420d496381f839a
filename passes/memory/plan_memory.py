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
the end; they leave the signature, and the entry says in `aot.tensors` what and where they are. The planner itself is
`aotc.passes.memory.planner`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

from xdsl.context import Context
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import (
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    NoneAttr,
)
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.dialects.memref import AllocOp, ReinterpretCastOp, ViewOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import IsTerminator, is_side_effect_free

from aotc.dialects.aot import WorkspaceOp
from aotc.dialects.aot.contract import (
    IN_PLACE,
    Argument,
    arguments_of,
    is_entry,
    set_arguments,
    set_plan,
    set_signature,
    set_tensors_in_workspace,
)
from aotc.dialects.dtypes import byte_width
from aotc.errors import CompileError
from aotc.model.locations import node_names
from aotc.model.metadata import BufferInfo, PlanInfo
from aotc.passes.memory.planner.plan import MemoryPlan, plan_memory
from aotc.passes.memory.planner.program import Access, Program, Role, Step, Storage


@dataclass(frozen=True)
class PlanMemoryPass(ModulePass):
    """See the module."""

    name = "plan-memory"

    alignment: int = 16
    """Alignment in bytes of every buffer's offset; the workspace must be aligned as well."""
    order: str = "auto"
    in_place: bool = True
    io: str = "caller"
    """Where inputs and outputs are: the `caller`'s, or in the `workspace`."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = {function.sym_name.data: function for function in op.ops if isinstance(function, FuncOp)}
        for function in functions.values():
            if is_entry(function):
                entry = _Entry(function, functions, self.io == "workspace")
                plan = plan_memory(entry.program(), self.alignment, self.order, self.in_place)
                set_plan(op, _report(entry, plan))
                _rewrite(entry, plan)


@dataclass
class _Entry:
    """The entry function as a program of the planner: which value is which part of which storage, which operation which
    step."""

    function: FuncOp
    functions: dict[str, FuncOp]
    inside: bool
    """Whether inputs and outputs are in the workspace."""
    tensors: dict[int, Argument] = field(default_factory=dict[int, Argument])
    """The attributes of inputs and outputs, by storage."""
    roots: list[SSAValue] = field(default_factory=list[SSAValue])
    storages: list[Storage] = field(default_factory=list[Storage])
    accesses: dict[SSAValue, Access] = field(default_factory=dict[SSAValue, Access])
    calls: list[Operation] = field(default_factory=list[Operation])
    steps: list[Step] = field(default_factory=list[Step])

    @property
    def block(self) -> Block:
        return self.function.body.block

    def program(self) -> Program:
        """Read the function; fills the fields."""
        for argument, given in zip(self.function.args, arguments_of(self.function), strict=True):
            if isinstance(argument.type, MemRefType):
                is_output = given.io == "output"
                self.tensors[len(self.roots)] = given
                if self.inside:
                    self._add(argument, Role.ARENA, from_start=not is_output, to_end=is_output)
                else:
                    self._add(argument, Role.OUTPUT if is_output else Role.FIXED)
        for op in reversed(tuple(self.block.ops)):
            if is_side_effect_free(op) and op.results and not any(result.uses for result in op.results):
                self.block.erase_op(op)
        for op in self.block.ops:
            memory = [value for value in _operands(op) if isinstance(value.type, MemRefType)]
            is_view = len(op.results) == 1 and isinstance(op.results[0].type, MemRefType) and is_side_effect_free(op)
            if isinstance(op, AllocOp):
                self._add(op.memref, Role.ARENA)
            elif is_view and not memory:
                self._add(op.results[0], Role.FIXED)
            elif is_view and len(memory) == 1:
                self.accesses[op.results[0]] = self._view(op, memory[0])
            elif memory:
                self.calls.append(op)
                self.steps.append(self._step(op, memory))
        return Program(tuple(self.storages), tuple(self.steps))

    def _add(self, root: SSAValue, role: Role, *, from_start: bool = False, to_end: bool = False) -> None:
        kind = _memref(root)
        if not kind.has_static_shape():
            raise CompileError(f"a buffer of the entry has the type {kind}, only static shapes can be planned")
        # An empty tensor still has an address of its own.
        name, size = root.name_hint or "", max(1, _bytes(kind))
        storage = Storage(name, size, role, str(kind.element_type), from_start, to_end)
        self.accesses[root] = Access(len(self.roots), 0, storage.size)
        self.roots.append(root)
        self.storages.append(storage)

    def _view(self, op: Operation, source: SSAValue) -> Access:
        """The part of its storage that a view covers; all of it where the view is not contiguous."""
        base = self.accesses[source]
        kind = _memref(op.results[0])
        if isinstance(op, ReinterpretCastOp) and not op.offsets and isinstance(kind.layout, NoneAttr):
            (offset,) = op.static_offsets.get_values()
            start = base.start + int(offset) * byte_width(kind.element_type)
            return Access(base.storage, start, start + max(1, _bytes(kind)))
        return Access(base.storage, 0, self.storages[base.storage].size)

    def _step(self, op: Operation, memory: Sequence[SSAValue]) -> Step:
        kernel = self.functions.get(op.callee.string_value()) if isinstance(op, CallOp) else None
        in_place = IN_PLACE.get(kernel) if kernel is not None else None
        touched = tuple(self.accesses[value] for value in memory)
        if in_place is None or len(memory) != len(op.operands):
            return Step(touched, touched)  # unknown: it may read and write all its operands
        count = len(memory) - len(in_place)
        reads, writes = touched[:count], touched[count:]
        pairs: list[tuple[int, int]] = []
        for position, allowed in enumerate(in_place):
            result = memory[count + position]
            pairs += [
                (writes[position].storage, reads[number].storage)
                for number in allowed
                if self._fits(result, memory[number])
                # Every other operand in the same storage would see the result instead.
                and all(n in allowed for n, read in enumerate(reads) if read.storage == reads[number].storage)
                and all(write.storage != reads[number].storage for write in writes)
                and [write.storage for write in writes].count(writes[position].storage) == 1
            ]
        return Step(reads, writes, tuple(dict.fromkeys(pairs)))

    def _fits(self, result: SSAValue, operand: SSAValue) -> bool:
        """Whether both are the whole of storages of one size and element type."""
        one, other = self.accesses[result], self.accesses[operand]
        size = self.storages[one.storage].size
        same = size == self.storages[other.storage].size and one.end - one.start == size == other.end - other.start
        return same and _memref(result).element_type == _memref(operand).element_type

    def label(self, storage: int) -> str:
        """A name for a storage: its tensor, or the last node that writes to it."""
        if storage in self.tensors:
            return self.tensors[storage].name or "buffer"
        return (self.nodes([storage]) or ("buffer",))[-1]

    def nodes(self, storages: Sequence[int]) -> tuple[str, ...]:
        """The nodes (kernels where there are none) that write to any of the storages, in order."""
        return tuple(dict.fromkeys(name for storage in storages for name in self._writers.get(storage, ())))

    @cached_property
    def _writers(self) -> dict[int, list[str]]:
        """The nodes that write to each storage, once `program` has found the steps."""
        writers: dict[int, list[str]] = {}
        for op, step in zip(self.calls, self.steps, strict=True):
            for storage in dict.fromkeys(access.storage for access in step.writes):
                writers.setdefault(storage, []).extend(_label(op))
        return writers


def _operands(op: Operation) -> Iterator[SSAValue]:
    return (operand for inner in op.walk() for operand in inner.operands)


def _memref(value: SSAValue) -> MemRefType:
    assert isinstance(value.type, MemRefType)
    return cast(MemRefType, value.type)


def _bytes(kind: MemRefType) -> int:
    return kind.element_count() * byte_width(kind.element_type)


def _label(op: Operation) -> tuple[str, ...]:
    """The ONNX nodes a step computes, or the kernel's name where it has no location."""
    return node_names(op.location) or ((op.callee.string_value(),) if isinstance(op, CallOp) else (op.name,))


def _report(entry: _Entry, plan: MemoryPlan) -> PlanInfo:
    """The plan as users see it: nodes instead of values."""
    buffers: list[BufferInfo] = []
    taken: set[str] = set()
    for block, offset in zip(plan.blocks, plan.placement.offsets, strict=True):
        nodes = entry.nodes(block.storages)
        base = entry.label(block.storages[0])
        name, number = base, 1
        while name in taken:
            number += 1
            name = f"{base}#{number}"
        taken.add(name)
        last = min(block.last, max(0, len(plan.order) - 1))
        buffers.append(BufferInfo(name, offset, block.size, block.first, last, nodes))
    placement = plan.placement
    return PlanInfo(
        peak_bytes=placement.peak,
        lower_bound_bytes=placement.lower_bound,
        optimal=placement.optimal,
        alignment=placement.alignment,
        order=tuple("+".join(_label(entry.calls[number])) for number in plan.order),
        buffers=tuple(sorted(buffers, key=lambda buffer: (buffer.first, buffer.offset))),
    )


def _rewrite(entry: _Entry, plan: MemoryPlan) -> None:
    """Views instead of allocations, at the head of the entry; the calls in the planned order after them."""
    head: list[Operation] = []
    workspace = WorkspaceOp(plan.placement.peak) if plan.placement.peak else None
    if workspace is not None:
        workspace.result.name_hint = "ws"
        head.append(workspace)
    for block, offset in zip(plan.blocks, plan.placement.offsets, strict=True):
        assert workspace is not None
        constant = ConstantOp(IntegerAttr(offset, IndexType()))
        head.append(constant)
        views: dict[MemRefType, SSAValue] = {}
        for storage in block.storages:
            kind = _memref(entry.roots[storage])
            if kind not in views:
                view = ViewOp(workspace, constant, [], kind)
                head.append(view)
                views[kind] = view.result
            _replace(entry.roots[storage], views[kind])
    for block in plan.hosted:
        assert block.host is not None
        for storage in block.storages:
            _replace(entry.roots[storage], _cast(entry.roots[block.host], _memref(entry.roots[storage]), head))
    _mark_aliases(entry, plan)

    last = entry.block.last_op
    assert last is not None and last.has_trait(IsTerminator)
    for root in entry.roots:
        if isinstance(root.owner, AllocOp):
            entry.block.erase_op(root.owner)
    first = entry.block.first_op
    assert first is not None
    entry.block.insert_ops_before(head, first)
    for number in plan.order:
        entry.calls[number].detach()
    entry.block.insert_ops_before([entry.calls[number] for number in plan.order], last)
    if entry.inside:
        _move_to_workspace(entry, plan)


def _move_to_workspace(entry: _Entry, plan: MemoryPlan) -> None:
    """Remove the inputs and outputs, which are in the workspace now, from the signature, but keep their attributes."""
    offsets = {
        storage: offset
        for block, offset in zip(plan.blocks, plan.placement.offsets, strict=True)
        for storage in block.storages
    }
    attributes = arguments_of(entry.function)
    for storage, given in entry.tensors.items():
        given.shape = _memref(entry.roots[storage]).get_shape()
        given.offset = offsets[storage]
    set_tensors_in_workspace(entry.function, entry.tensors.values())
    for storage in reversed(entry.tensors):
        argument = entry.roots[storage]
        assert isinstance(argument, BlockArgument)
        del attributes[argument.index]
        entry.block.erase_arg(argument)
    set_signature(entry.function, attributes, entry.function.function_type.outputs.data)


def _replace(root: SSAValue, view: SSAValue) -> None:
    view.name_hint = view.name_hint or root.name_hint
    root.replace_all_uses_with(view)


def _cast(output: SSAValue, kind: MemRefType, head: list[Operation]) -> SSAValue:
    """An output's memory as a buffer of type `kind`."""
    if output.type == kind:
        return output
    shape = kind.get_shape()
    strides = kind.get_strides()
    assert strides is not None and None not in strides
    op = ReinterpretCastOp(output, [], [], [], [0], list(shape), [cast(int, s) for s in strides], kind)
    head.append(op)
    return op.result


def _mark_aliases(entry: _Entry, plan: MemoryPlan) -> None:
    """Mark the arguments of kernels that are called with one buffer as operand and as result."""
    home = {storage: storage for storage in range(len(entry.storages))}
    for block in (*plan.blocks, *plan.hosted):
        home |= dict.fromkeys(block.storages, block.storages[0] if block.host is None else block.host)
    for op, step in zip(entry.calls, entry.steps, strict=True):
        kernel = entry.functions.get(op.callee.string_value()) if isinstance(op, CallOp) else None
        if kernel is None:
            continue
        marked: set[int] = set()
        for n, read in enumerate(step.reads):
            for k, write in enumerate(step.writes, len(step.reads)):
                shared = home[read.storage] == home[write.storage] and read.storage != write.storage
                if shared or read.overlaps(write):
                    marked |= {n, k}
        if marked and len(step.reads) + len(step.writes) == len(op.operands):
            attributes = arguments_of(kernel)
            for n in marked:
                attributes[n].may_alias = True
            set_arguments(kernel, attributes)
