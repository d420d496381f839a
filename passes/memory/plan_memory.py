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
`io` is: `aot.states` says where, and nothing else is ever there; `aot.pushed` says it of the number of rows that have
come of an input. A region of control flow
is planned by itself, the buffers around it staying where they are; its own ones lie in a part of the workspace that is
one buffer of the block around, the same for both regions of a conditional. With several `threads` buffers
that use the same memory have the same middle, where that takes little more. The planner itself is
`aotc.passes.memory.planner`. Where the module has `aot.pools`, each buffer of the entry's block is in one of these,
and there is an `aot.workspace` for each that has any.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import combinations
from typing import Final

from xdsl.context import Context
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType, ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.dialects.memref import AllocOp, ReinterpretCastOp, ViewOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import IsTerminator

from aotc.dialects.aot import WeightOp, WorkspaceOp, contract
from aotc.dialects.aot.contract import WorkspacePlace
from aotc.dialects.dtypes import byte_width
from aotc.errors import BudgetError, UsageError
from aotc.model.limits import Pool
from aotc.passes.memory.accesses import accesses_of
from aotc.passes.memory.bufferize import strides_of
from aotc.passes.memory.entry_program import EntryBlock, memref_of
from aotc.passes.memory.plan_report import buffer_names, plan_report
from aotc.passes.memory.planner.plan import MemoryPlan, at_home, plan_memory
from aotc.passes.memory.planner.pools import in_pools
from aotc.passes.memory.planner.program import Program

_NAMED: Final = 4
"""How many of the largest buffers a message names."""
_WIDEST: Final = 8
"""Bytes that weights are aligned to at most on targets without vectors."""


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
        pools = contract.POOLS.get(op) or ()
        for function in functions.values():
            if contract.ENTRY.on(function):
                entry = EntryBlock(function.body.block, functions)
                tensors = _tensors(function, entry, inside=self.io == "workspace")
                entry.read(self._plan)
                if pools:
                    _divide(op, entry, pools, tensors)
                contract.PLAN.set(op, plan_report(entry, tensors, pools))
                _rewrite(entry)
                _move_to_workspace(function, entry, tensors, inside=self.io == "workspace")

    def _plan(self, program: Program) -> MemoryPlan:
        return plan_memory(program, self.alignment, self.order, self.in_place, self.threads)


def _divide(
    module: ModuleOp, entry: EntryBlock, pools: Sequence[Pool], tensors: Mapping[int, contract.Argument]
) -> None:
    """Place the blocks of an entry in pools. Raises BudgetError where they do not fit, UsageError where none has the
    name of one that is to be in a pool."""
    pinned = _pinned(entry, tensors, contract.PINS.get(module) or {})
    entry.plan = at_home(entry.planned, [block for block in entry.planned.hosted if block.storages[0] in pinned])
    plan, numbers = entry.planned, {pool.name: number for number, pool in enumerate(pools)}
    homes = {n: numbers[pinned[s]] for n, each in enumerate(plan.blocks) if (s := each.storages[0]) in pinned}
    found = in_pools(plan, _left(module, pools), accesses_of(entry), homes)
    if isinstance(found, MemoryPlan):
        entry.plan = found
        return
    blocks = sorted((plan.blocks[number] for number in found.buffers), key=lambda block: (-block.size, block.first))
    named: list[str] = []
    for block in blocks[:_NAMED]:
        given = tensors.get(block.storages[0])
        nodes = entry.nodes(block.storages)
        name = f"the state {given.name}" if given is not None and given.io == "state" else "/".join(nodes[-1:])
        named.append(f"{name or 'a buffer'} {block.size:,}")
    sizes = ", ".join(f"{pool.name} {pool.size:,}" for pool in pools)
    what = f"the pools ({sizes}) are too small: buffers fit with {found.missing:,} bytes more of {found.pool.name}"
    fix = "choose a larger pool; on cores without vectors --ram SIZE has layers computed row by row"
    raise BudgetError("pool-exceeded", what, f"no room was found for {', '.join(named)}", fix)


def _pinned(entry: EntryBlock, tensors: Mapping[int, contract.Argument], pins: Mapping[str, str]) -> dict[int, str]:
    """The pools that blocks must be in, by their first storages: of `pins` to buffers or to nodes that write there."""
    if not pins:
        return {}
    blocks = {each.storages[0]: each for each in (*entry.planned.blocks, *entry.planned.hosted)}
    names, found = buffer_names(entry, tensors), dict[int, str]()
    for name, pool in pins.items():
        flag = f"--pin {name}={pool}"
        homes = [storage for storage, given in names.items() if given == name]
        homes = homes or [storage for storage in names if name in entry.nodes(blocks[storage].storages)]
        if not homes:
            near = get_close_matches(name, names.values(), 3) or list(names.values())[:3]
            why = "inputs and outputs are the caller's, and what is in a branch or a loop has no pool of its own"
            fix = f"choose a buffer that `aotc plan` lists, as {', '.join(near)}" if near else ""
            raise UsageError("unknown-buffer", f"{flag}: no buffer has this name", why, fix)
        if found.setdefault(homes[0], pool) != pool:
            why = f"{names[homes[0]]} is to be in {found[homes[0]]}, and has the same memory"
            raise UsageError("option-conflict", flag, why, "choose one pool")
    return found


def _left(module: ModuleOp, pools: Sequence[Pool]) -> list[Pool]:
    """The pools as large as they are beside weights."""
    sizes = {
        op.key.data: op.result.type.element_count() * byte_width(op.result.type.element_type)
        for op in module.walk()
        if isinstance(op, WeightOp)
    }
    taken = {contract.WEIGHTS_POOL.get(module): sum(-(-size // _WIDEST) * _WIDEST for size in sizes.values())}
    return [replace(pool, size=max(pool.size - taken.get(pool.name, 0), 0)) for pool in pools]


def _tensors(function: FuncOp, entry: EntryBlock, *, inside: bool) -> dict[int, contract.Argument]:
    """Add inputs and outputs, which are `inside` the workspace or not, to the storages; their attributes."""
    tensors: dict[int, contract.Argument] = {}
    for argument, given in zip(function.args, contract.arguments_of(function), strict=True):
        if isinstance(argument.type, MemRefType):
            tensors[len(entry.roots)] = given
            entry.add_tensor(argument, given.io, inside=inside)
    return tensors


def _rewrite(entry: EntryBlock) -> None:
    """Views instead of allocations, at the head of the entry; the tasks of every block in the planned order."""
    head: list[Operation] = []
    workspaces: dict[str, WorkspaceOp] = {}
    for pool, peak in entry.planned.peaks.items():
        if peak:
            workspaces[pool] = WorkspaceOp(peak, pool)
            workspaces[pool].result.name_hint = pool or "ws"
            head.append(workspaces[pool])
    _rewrite_block(entry, WorkspacePlace(0), workspaces, head)
    Rewriter.insert_op(head, InsertPoint.at_start(entry.block))


def _rewrite_block(
    block: EntryBlock, base: WorkspacePlace, workspaces: Mapping[str, WorkspaceOp], head: list[Operation]
) -> None:
    """Replace the buffers of a block, which begin at `base` in the workspace, by views in `head`; sort its tasks."""
    plan, places = block.planned, block.places(base)
    for each in plan.blocks:
        place = places[each.storages[0]]
        workspace = workspaces[place.pool]
        roots = [root for storage in each.storages if (root := block.roots[storage]) is not None]
        if not roots:
            continue
        constant = ConstantOp(IntegerAttr(place.offset, IndexType()))
        head.append(constant)
        views: dict[MemRefType, SSAValue] = {}
        for root in roots:
            kind = memref_of(root)
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
                root.replace_all_uses_with(_cast(host, memref_of(root), head))
    _mark_aliases(block)

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
            _rewrite_block(inner, WorkspacePlace(0) if call.arena is None else places[call.arena], workspaces, head)


def _move_to_workspace(
    function: FuncOp, entry: EntryBlock, tensors: Mapping[int, contract.Argument], *, inside: bool
) -> None:
    """Remove what is kept, and where they are `inside` the inputs and outputs, which are in the workspace now, from the
    signature, but keep their attributes."""
    moved = {storage: given for storage, given in tensors.items() if inside or given.io in contract.RETAINED}
    places = entry.places(WorkspacePlace(0))
    attributes = contract.arguments_of(function)
    for storage, given in moved.items():
        root = entry.roots[storage]
        assert root is not None
        given.shape = memref_of(root).get_shape()
        given.offset, given.pool = places[storage].offset, places[storage].pool or None
    contract.STATES.set(function, [given for given in moved.values() if given.io == "state"] or None)
    if inside:
        contract.TENSORS.set(function, [given for given in moved.values() if given.io not in contract.RETAINED])
    pushed = (places[storage] for storage, given in moved.items() if given.io == "pushed")
    contract.PUSHED.set(function, next(pushed, None))
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


def _mark_aliases(entry: EntryBlock) -> None:
    """Mark the arguments of kernels that are called with one buffer as operand and as result, or as two results."""
    for call, task in zip(entry.calls, entry.tasks, strict=True):
        op = call.op
        kernel = entry.functions.get(op.callee.string_value()) if isinstance(op, CallOp) else None
        if kernel is None:
            continue
        marked: set[int] = set()
        for n, read in enumerate(task.reads):
            for k, write in enumerate(task.writes, len(task.reads)):
                trails = (write.storage, read.storage) in entry.planned.trails
                if trails or entry.is_over(write, [read]) or read.overlaps(write):
                    marked |= {n, k}
        for (n, one), (k, other) in combinations(enumerate(task.writes, len(task.reads)), 2):
            marked |= {n, k} if one.overlaps(other) else set()  # parts with room between their elements
        if marked and len(task.reads) + len(task.writes) == len(op.operands):
            attributes = contract.arguments_of(kernel)
            for n in marked:
                attributes[n].may_alias = True
            contract.set_arguments(kernel, attributes)
