"""Have the threads of a pool run the entry's calls together, each its share of every kernel that can be shared.

```mlir
func.func @aotc_kws_run(%x: !aot.ptr<f32>, %y: !aot.ptr<f32>) -> i32 attributes {aot.entry, ..} {
  %s = func.call @aotc_kws_conv_0(%x, %ws_0) : (!aot.ptr<f32>, !aot.ptr<f32>) -> i32
  aot.check %s
  %t = func.call @aotc_kws_relu_0(%ws_0, %y) : ..
  aot.check %t
  func.return %c0 : i32
}
func.func private @aotc_kws_conv_0(..) -> i32 attributes {aot.kernel, ..} {
  %thread = aot.thread
  ..
```
becomes, in a module that `split-parallel-loops` left with `aot.threads = 2`,
```mlir
func.func private @aotc_kws_share(%arguments: !aot.ptr<i8>, %thread: i32) -> i32 {
  .. %x and %y are elements of %arguments ..
  %s = func.call @aotc_kws_conv_0(%x, %ws_0, %thread) : (!aot.ptr<f32>, !aot.ptr<f32>, i32) -> i32
  func.call @aotc_threads_barrier(%c2) : (i32) -> ()
  %first = arith.cmpi eq, %thread, %c0 : i32
  %t = scf.if %first -> (i32) { .. func.call @aotc_kws_relu_0(%ws_0, %y) .. } else { .. %c0 .. }
  .. the first of %s and %t that is not 0 ..
}
func.func @aotc_kws_run(%x: !aot.ptr<f32>, %y: !aot.ptr<f32>) -> i32 attributes {aot.entry, ..} {
  .. %arguments: an array of %x and %y ..
  %0 = aot.symbol @aotc_kws_share : !aot.ptr<i8>
  %1 = func.call @aotc_threads_run(%c2, %0, %arguments) : (i32, !aot.ptr<i8>, !aot.ptr<i8>) -> i32
  func.return %1 : i32
}
```
Kernels that are not shared (`relu_0` here) are called by thread 0. A barrier is between two calls where one writes
memory that the other reads or writes, unless thread 0 makes both. Where threads wait within a kernel, memory that it
writes is written by others, too, so its pointers are not `aot.noalias`. Nothing happens if no kernel is shared.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType, ModuleOp, i32
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.transforms.canonicalization_patterns.utils import const_evaluate_operand

from aotc.dialects.aot import (
    VOID_PTR,
    AllocaOp,
    BarrierOp,
    BufferOp,
    CheckOp,
    DataOp,
    ElementOp,
    NullOp,
    PtrCastOp,
    PtrType,
    SetElementOp,
    SymbolOp,
    ThreadOp,
    WeightOp,
    WeightsOp,
    WorkspaceOp,
)
from aotc.dialects.aot.contract import (
    Argument,
    append_argument,
    arguments_of,
    entry,
    kernels,
    model_name,
    set_signature,
    threads_of,
)
from aotc.dialects.dtypes import byte_width
from aotc.model.conventions import THREADS_BARRIER, THREADS_RUN, operator_symbol


@dataclass(frozen=True)
class RunOnThreadsPass(ModulePass):
    """See the module."""

    name = "run-on-threads"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        threads = threads_of(op)
        shared = {kernel.sym_name.data: kernel for kernel in kernels(op) if _is_shared(kernel)}
        if not shared:
            return
        for kernel in shared.values():
            _take_thread(kernel, threads)
        main = entry(op)
        share = _share(op, main, shared, threads)
        op.body.block.insert_op_before(share, main)
        _publish(main, share.sym_name.data, threads)
        declared = {each.sym_name.data for each in op.ops if isinstance(each, FuncOp)}
        for symbol, inputs, outputs in ((THREADS_RUN, [i32, VOID_PTR, VOID_PTR], [i32]), (THREADS_BARRIER, [i32], [])):
            if symbol not in declared:
                op.body.block.add_op(FuncOp.external(symbol, inputs, outputs))


def _is_shared(kernel: FuncOp) -> bool:
    return any(isinstance(op, ThreadOp) for op in kernel.walk())


def _number(value: int) -> arith.ConstantOp:
    return arith.ConstantOp(IntegerAttr(value, i32))


def _take_thread(kernel: FuncOp, threads: int) -> None:
    """Give a kernel the number of its thread as last argument, and let it wait through the runtime."""
    waits = [op for op in kernel.walk() if isinstance(op, BarrierOp)]
    for op in waits:
        everyone = _number(threads)
        Rewriter.replace_op(op, [everyone, CallOp(THREADS_BARRIER, [everyone.result], [])], [])
    if waits:
        attributes = arguments_of(kernel)
        for given in attributes:
            given.noalias = given.noalias and given.readonly
        set_signature(kernel, attributes, kernel.function_type.outputs.data)
    argument = append_argument(kernel, i32, Argument(name="thread"), "thread")
    for op in [op for op in kernel.walk() if isinstance(op, ThreadOp)]:
        Rewriter.replace_op(op, arith.IndexCastOp(argument, IndexType()))


# --- the share of one thread -----------------------------------------------------------------------------------------


def _share(module: ModuleOp, main: FuncOp, shared: dict[str, FuncOp], threads: int) -> FuncOp:
    """Move the entry's body to the function that each thread runs."""
    function = FuncOp(operator_symbol(model_name(module), "share"), ([VOID_PTR, i32], [i32]), visibility="private")
    block, old = function.body.block, main.body.block
    arguments, thread = block.args
    arguments.name_hint, thread.name_hint = "arguments", "thread"
    build = Builder(InsertPoint.at_end(block))
    array = build.insert(PtrCastOp(arguments, PtrType(VOID_PTR))).result
    for position, argument in enumerate(old.args):
        if argument.first_use is not None:
            element = build.insert(ElementOp(array, position)).result
            pointer = element if element.type == argument.type else build.insert(_cast(element, argument.type)).result
            pointer.name_hint = argument.name_hint
            argument.replace_all_uses_with(pointer)
    first = build.insert(arith.CmpiOp(thread, build.insert(_number(0)).result, "eq")).result
    for op in list(old.ops):
        op.detach()
        block.add_op(op)
    _Calls(block, kernels(module), shared, thread, first, threads).run()
    return function


def _cast(pointer: SSAValue, kind: Attribute) -> PtrCastOp:
    assert isinstance(kind, PtrType)
    return PtrCastOp(pointer, kind)


class _Calls:
    """The calls of the share, in order: who makes them, who waits, and what becomes of their statuses."""

    def __init__(
        self,
        block: Block,
        kernels: Iterable[FuncOp],
        shared: dict[str, FuncOp],
        thread: SSAValue,
        first: SSAValue,
        threads: int,
    ) -> None:
        self._block, self._shared, self._thread, self._first = block, shared, thread, first
        self._kernels = {each.sym_name.data: each for each in kernels}
        self._threads = threads
        self._pending: list[_Access] = []

    def run(self) -> None:
        """Rewrite all calls."""
        end = self._block.last_op
        assert isinstance(end, ReturnOp)
        (status,) = end.operands
        for op in list(self._block.ops):
            if isinstance(op, CallOp):
                self._wait(op)
                found = self._call(op)
                if isinstance(check := found.next_op, CheckOp):
                    Rewriter.erase_op(check)
                status = self._first_of(status, found)
        end.operands = [status]

    def _call(self, call: CallOp) -> Operation:
        """Let all threads make the call, or thread 0 only; returns the operation that gives the status."""
        if call.callee.string_value() in self._shared:
            new: Operation = CallOp(call.callee, [*call.arguments, self._thread], [i32])
        else:
            own, fine = CallOp(call.callee, call.arguments, [i32]), _number(0)
            own.location = call.location
            then, otherwise = Block([own, scf.YieldOp(own.results[0])]), Block([fine, scf.YieldOp(fine.result)])
            new = scf.IfOp(self._first, [i32], Region(then), Region(otherwise))
        new.location = call.location
        Rewriter.replace_op(call, new)
        return new

    def _first_of(self, before: SSAValue, op: Operation) -> SSAValue:
        """`before`, or the status that `op` gives where that is 0."""
        status = op.results[0]
        if isinstance(before.owner, arith.ConstantOp):
            return status
        zero = _number(0)
        none = arith.CmpiOp(before, zero.result, "eq")
        chosen = arith.SelectOp(none.result, status, before)
        self._block.insert_ops_after([zero, none, chosen], op)
        return chosen.result

    def _wait(self, call: CallOp) -> None:
        """Insert a barrier before a call that touches what other threads may still be reading or writing."""
        accesses = self._accesses(call)
        if any(before.conflicts(after) for before in self._pending for after in accesses):
            everyone = _number(self._threads)
            self._block.insert_ops_before([everyone, CallOp(THREADS_BARRIER, [everyone.result], [])], call)
            self._pending = []
        self._pending += accesses

    def _accesses(self, call: CallOp) -> list[_Access]:
        kernel = self._kernels[call.callee.string_value()]
        together = kernel.sym_name.data in self._shared
        found: list[_Access] = []
        for operand, given in zip(call.arguments, arguments_of(kernel), strict=False):
            if isinstance(operand.type, PtrType) and (place := _place(operand)) is not None:
                found.append(_Access(*place, not given.readonly, together))
        return found


# --- memory ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Access:
    """The bytes from `start` to `end` behind `root` that a call may touch; `together`: as one of several threads."""

    root: object
    start: int
    end: float
    writes: bool
    together: bool

    def conflicts(self, other: _Access) -> bool:
        """Whether there must be a barrier between two accesses."""
        if self.root != other.root or not (self.writes or other.writes) or not (self.together or other.together):
            return False
        return self.start < other.end and other.start < self.end


def _place(value: SSAValue) -> tuple[object, int, float] | None:
    """What a pointer or buffer was derived from, and the bytes from there that it stands for; None for constants.

    Different arguments of an entry overlap only where they are all read.
    """
    op = value.owner
    size = _bytes(value.type) if isinstance(value.type, MemRefType) else inf
    match op:
        case DataOp():
            return _place(op.buffer)
        case BufferOp() | PtrCastOp():
            found, offset = _place(op.pointer), 0
        case memref.CastOp():
            found, offset = _place(op.source), 0
        case memref.ViewOp():
            found, offset = _place(op.source), const_evaluate_operand(op.byte_shift)
            assert offset is not None
        case memref.ReinterpretCastOp():
            found = _place(op.source)
            elements = sum(int(each) for each in op.static_offsets.get_values())
            offset = elements * byte_width(op.result.type.element_type)
        case WorkspaceOp():
            return "workspace", 0, size
        case WeightOp() | WeightsOp():
            return None
        case ElementOp():
            return ("argument", op.position.value.data), 0, inf
        case _:
            return value, 0, inf
    if found is None:
        return None
    root, start, end = found
    return root, start + offset, min(end, start + offset + size)


def _bytes(kind: MemRefType[Attribute]) -> float:
    return kind.element_count() * byte_width(kind.element_type) if kind.has_static_shape() else inf


# --- the entry -------------------------------------------------------------------------------------------------------


def _publish(main: FuncOp, share: str, threads: int) -> None:
    """Write the entry: its arguments in an array, and the pool's threads on their shares."""
    block = main.body.block
    build = Builder(InsertPoint.at_end(block))
    arguments: SSAValue = build.insert(NullOp(VOID_PTR)).result if not block.args else _array(build, block.args)
    work = build.insert(SymbolOp(share, VOID_PTR)).result
    count = build.insert(_number(threads)).result
    build.insert(ReturnOp(build.insert(CallOp(THREADS_RUN, [count, work, arguments], [i32])).results[0]))


def _array(build: Builder, values: Sequence[BlockArgument]) -> SSAValue:
    array = build.insert(AllocaOp(len(values), VOID_PTR)).result
    array.name_hint = "arguments"
    for position, value in enumerate(values):
        pointer = value if value.type == VOID_PTR else build.insert(PtrCastOp(value, VOID_PTR)).result
        build.insert(SetElementOp(array, position, pointer))
    return build.insert(PtrCastOp(array, VOID_PTR)).result
