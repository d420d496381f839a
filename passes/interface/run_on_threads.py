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
func.func private @aotc_kws_share(%arguments: !aot.ptr<i8>, %thread: i32, %phase: i32) -> i32 {
  .. %x and %y are elements of %arguments ..
  %alone = arith.cmpi slt, %thread, %c0 : i32
  %first = arith.cmpi slt, %phase, %c1 : i32
  %r = scf.if %first -> (i32) {
    %a = scf.if %alone -> (i32) {
      scf.yield %c0 : i32
    } else {
      %s = func.call @aotc_kws_conv_0(%x, %ws_0, %thread) : (!aot.ptr<f32>, !aot.ptr<f32>, i32) -> i32
      scf.yield %s : i32
    }
    scf.yield %a : i32
  } else {
    .. @aotc_kws_relu_0(%ws_0, %y) if %alone ..
  }
  func.return %r : i32
}
func.func @aotc_kws_run(%x: !aot.ptr<f32>, %y: !aot.ptr<f32>) -> i32 attributes {aot.entry, ..} {
  .. %arguments: an array of %x and %y ..
  %0 = aot.symbol @aotc_kws_share : !aot.ptr<i8>
  %1 = func.call @aotc_threads_run(%c2, %0, %arguments, %c1) : (i32, !aot.ptr<i8>, !aot.ptr<i8>, i32) -> i32
  aot.check %1
  func.return %c0 : i32
}
```
All shares of a phase are done before the next one begins. A call begins a phase where it touches memory that one before
writes, or writes what that reads; a kernel with phases of its own has all of these. A kernel that is not shared
(`relu_0` here) is called with share 0 of a phase, or before one, by one thread: as thread -1. Control flow is the
calling thread's, and so is what the entry computes itself: the calls between two places where it branches or computes
are a function of their own, `@aotc_kws_share1` and so on. Nothing happens if no kernel is shared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

from xdsl.builder import Builder, ImplicitBuilder
from xdsl.context import Context
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType, ModuleOp, i32
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.transforms.canonicalization_patterns.utils import const_evaluate_operand

from aotc.dialects import aot
from aotc.dialects.aot.contract import Argument, append_argument, arguments_of, entry, kernels, model_name, threads_of
from aotc.dialects.dtypes import byte_width
from aotc.model.conventions import THREADS_RUN, operator_symbol


class RunOnThreadsPass(ModulePass):
    name = "run-on-threads"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        threads = threads_of(op)
        counts = {kernel.sym_name.data: _take_thread(kernel) for kernel in kernels(op)}
        phases = {name: count for name, count in counts.items() if count is not None}
        if not phases:
            return
        main = entry(op)
        runs = _runs(main.body.block, phases)
        for number, calls in enumerate(runs):
            share = _Share(op, calls, phases, "" if number == 0 else str(number))
            op.body.block.insert_op_before(share.function, main)
            share.call(main, threads)
        for each in reversed(list(main.walk())):
            if isinstance(each, _FIXED) and each.results[0].first_use is None:
                Rewriter.erase_op(each)
        op.body.block.add_op(FuncOp.external(THREADS_RUN, [i32, aot.VOID_PTR, aot.VOID_PTR, i32], [i32]))


def _runs(block: Block, phases: Mapping[str, int]) -> list[list[CallOp]]:
    """Calls one after the other, with nothing between them that is computed at run time, of which one or more are
    shared."""
    found: list[list[CallOp]] = [[]]
    for op in block.ops:
        if isinstance(op, CallOp):
            found[-1].append(op)
        elif op.regions:
            found += [run for region in op.regions for inner in region.blocks for run in _runs(inner, phases)]
            found.append([])
        elif not isinstance(op, aot.CheckOp) and not (op.results and _is_fixed(op.results[0])):
            found.append([])  # may read what calls before it write, and give a value to those behind it
    return [run for run in found if any(call.callee.string_value() in phases for call in run)]


def _number(value: int) -> arith.ConstantOp:
    return arith.ConstantOp(IntegerAttr(value, i32))


def _take_thread(kernel: FuncOp) -> int | None:
    """Give a kernel the number of its thread and, if it has several, of the phase as last arguments; how many phases it
    has, None where it is not shared."""
    count: int | None = None
    for kind, name in ((aot.ThreadOp, "thread"), (aot.PhaseOp, "phase")):
        argument: SSAValue | None = None
        for op in [op for op in kernel.walk() if isinstance(op, kind)]:
            argument = argument or append_argument(kernel, i32, Argument(name=name), name)
            count = op.count if isinstance(op, aot.PhaseOp) else 1
            Rewriter.replace_op(op, arith.IndexCastOp(argument, IndexType()))
    return count


# --- the share of one thread -----------------------------------------------------------------------------------------


class _Share:
    """A function that does one thread's share of one phase of some calls, and the call of all threads instead of them.

    What calls point to is found again in the function if it is at a fixed place in the workspace, the weights or an
    argument of the entry; other pointers are elements of the array that the function is given.
    """

    def __init__(self, module: ModuleOp, calls: Sequence[CallOp], phases: dict[str, int], suffix: str) -> None:
        name = operator_symbol(model_name(module), f"share{suffix}")
        self.function = FuncOp(name, ([aot.VOID_PTR, i32, i32], [i32]), visibility="private")
        self._calls = calls
        self._given: list[SSAValue] = []
        """The elements of the array."""
        self._inside: dict[SSAValue, SSAValue] = {}
        arguments, thread, phase = self.function.args
        arguments.name_hint, thread.name_hint, phase.name_hint = "arguments", "thread", "phase"
        self._build = Builder(InsertPoint.at_end(self.function.body.block))
        self._array = self._build.insert(aot.PtrCastOp(arguments, aot.PtrType(aot.VOID_PTR))).result
        stages = _stages(calls, {each.sym_name.data: each for each in kernels(module)}, phases)
        passed = {call: [self._value(value) for value in call.arguments] for call in calls}
        with ImplicitBuilder(self._build):
            ReturnOp(_Dispatch(thread, phase, phases, passed).within(stages))
        self._phases = stages[-1].first

    def _value(self, value: SSAValue) -> SSAValue:
        """A value of the entry in the function."""
        if value not in self._inside:
            owner = value.owner
            if isinstance(owner, Operation) and _is_fixed(value):
                operands = {operand: self._value(operand) for operand in owner.operands}
                self._inside[value] = self._build.insert(owner.clone(operands)).results[0]
            else:
                element: SSAValue = self._build.insert(aot.ElementOp(self._array, len(self._given))).result
                self._given.append(value)
                if element.type != value.type:
                    assert isinstance(value.type, aot.PtrType)
                    element = self._build.insert(aot.PtrCastOp(element, value.type)).result
                self._inside[value] = element
            self._inside[value].name_hint = value.name_hint
        return self._inside[value]

    def call(self, main: FuncOp, threads: int) -> None:
        """Let all threads do their shares of all phases, where the entry made the calls."""
        first, last = self._calls[0], self._calls[-1].next_op
        assert first.parent is not None and isinstance(last, aot.CheckOp)
        build = Builder(InsertPoint.before(first))
        arguments = self._arguments(build, main)
        work = build.insert(aot.SymbolOp(self.function.sym_name.data, aot.VOID_PTR)).result
        numbers = [build.insert(_number(value)).result for value in (threads, self._phases)]
        run = build.insert(CallOp(THREADS_RUN, [numbers[0], work, arguments, numbers[1]], [i32]))
        build.insert(aot.CheckOp(run.results[0]))
        for call in self._calls:
            check = call.next_op
            assert isinstance(check, aot.CheckOp)
            for op in (check, call):
                Rewriter.erase_op(op)

    def _arguments(self, build: Builder, main: FuncOp) -> SSAValue:
        """The array of what the function is given."""
        if not self._given:
            return build.insert(aot.NullOp(aot.VOID_PTR)).result
        array = aot.AllocaOp(len(self._given), aot.VOID_PTR)
        array.result.name_hint = "arguments"
        Rewriter.insert_op(array, InsertPoint.at_start(main.body.block))
        for position, value in enumerate(self._given):
            pointer = value if value.type == aot.VOID_PTR else build.insert(aot.PtrCastOp(value, aot.VOID_PTR)).result
            build.insert(aot.SetElementOp(array.result, position, pointer))
        return build.insert(aot.PtrCastOp(array.result, aot.VOID_PTR)).result


def _is_fixed(value: SSAValue) -> bool:
    """Whether a value of the entry depends on nothing but constants, memory of the model and arguments of the entry, of
    which pointers are given."""
    if isinstance(value, BlockArgument):
        return isinstance(value.owner.parent_op(), FuncOp)
    return isinstance(value.owner, _FIXED) and all(map(_is_fixed, value.owner.operands))


_FIXED = (
    *(arith.ConstantOp, aot.BufferOp, aot.DataOp, aot.PtrCastOp, aot.WeightOp, aot.WeightsOp, aot.WorkspaceOp),
    *(memref.CastOp, memref.ReinterpretCastOp, memref.ViewOp),
)
"""Operations that give a place in memory."""


@dataclass
class _Stage:
    """Calls of one phase, or of all phases of one kernel, of which `first` is the first: `before` them those that one
    thread makes, then `calls` that are for all shares or, if their kernel is not shared, go with share 0."""

    first: int
    before: list[CallOp] = field(default_factory=list[CallOp])
    calls: list[CallOp] = field(default_factory=list[CallOp])


def _stages(calls: Sequence[CallOp], functions: dict[str, FuncOp], phases: dict[str, int]) -> list[_Stage]:
    """The calls of the entry by phase; the last stage has only what comes after all phases."""
    stages = [_Stage(0)]
    pending: list[_Access] = []

    def close() -> None:
        """Let what follows belong to the phase after this one, if this one has anything to share."""
        stage = stages[-1]
        pending.clear()
        names = [call.callee.string_value() for call in stage.calls]
        if any(name in phases for name in names):
            stages.append(_Stage(stage.first + max(phases.get(name, 1) for name in names)))
        else:
            stage.before += stage.calls
            stage.calls = []

    for call in calls:
        name = call.callee.string_value()
        accesses = _accesses(call, functions[name], name in phases)
        if phases.get(name, 1) > 1 or any(before.conflicts(after) for before in pending for after in accesses):
            close()
        stages[-1].calls.append(call)
        pending.extend(accesses)
        if phases.get(name, 1) > 1:
            close()
    close()
    return stages


def _accesses(call: CallOp, kernel: FuncOp, together: bool) -> list[_Access]:
    found: list[_Access] = []
    for operand, given in zip(call.arguments, arguments_of(kernel), strict=False):
        if (place := _place(operand)) is not None:
            found.append(_Access(*place, not given.readonly, together))
    return found


@dataclass(frozen=True)
class _Dispatch:
    """Writes the choice of what to call, by thread and phase, where an `ImplicitBuilder` is."""

    thread: SSAValue
    phase: SSAValue
    phases: Mapping[str, int]
    passed: Mapping[CallOp, Sequence[SSAValue]]
    """The arguments of each call in the function."""

    def within(self, stages: Sequence[_Stage]) -> SSAValue:
        """The calls of the phases of `stages`; the status."""
        if len(stages) == 1:
            return self._stage(stages[0])
        middle = len(stages) // 2
        early = arith.CmpiOp(self.phase, _number(stages[middle].first), "slt")
        return _either(early, lambda: self.within(stages[:middle]), lambda: self.within(stages[middle:]))

    def _stage(self, stage: _Stage) -> SSAValue:
        zero, first = _number(0).result, _number(stage.first).result
        alone = arith.CmpiOp(self.thread, zero, "slt")

        def before() -> SSAValue:
            several = [call for call in stage.calls if self.phases.get(call.callee.string_value(), 1) > 1]
            if not stage.before or not several:
                return self._calls(stage.before, zero)
            begins = arith.CmpiOp(self.phase, first, "eq")
            return _either(begins, lambda: self._calls(stage.before, zero), lambda: zero)

        def together() -> SSAValue:
            status = zero
            for call in stage.calls:
                status = _first_of(status, self._shared(call, first, zero))
            return status

        return _either(alone, before, together)

    def _calls(self, calls: Sequence[CallOp], status: SSAValue) -> SSAValue:
        """Calls one after the other, as long as they succeed; `status` is 0."""
        for position, call in enumerate(calls):
            status = self._after(status, call) if position else self._call(call)
        return status

    def _after(self, status: SSAValue, call: CallOp) -> SSAValue:
        """A call where those before it succeeded."""
        none = arith.CmpiOp(status, _number(0), "eq")
        return _either(none, lambda: self._call(call), lambda: status)

    def _shared(self, call: CallOp, first: SSAValue, zero: SSAValue) -> SSAValue:
        """A call for all shares, or for share 0 only."""
        count = self.phases.get(call.callee.string_value())
        if count is None:
            return _either(arith.CmpiOp(self.thread, zero, "eq"), lambda: self._call(call), lambda: zero)
        return self._call(call, self.thread, *([arith.SubiOp(self.phase, first).result] if count > 1 else []))

    def _call(self, call: CallOp, *more: SSAValue) -> SSAValue:
        new = CallOp(call.callee, [*self.passed[call], *more], [i32])
        new.location = call.location
        new.attributes |= call.attributes
        return new.results[0]


def _first_of(before: SSAValue, status: SSAValue) -> SSAValue:
    """`before`, or `status` where that is 0."""
    if isinstance(before.owner, arith.ConstantOp):
        return status
    return arith.SelectOp(arith.CmpiOp(before, _number(0), "eq"), status, before).result


def _either(condition: Operation, then: Callable[[], SSAValue], otherwise: Callable[[], SSAValue]) -> SSAValue:
    sides = Region(Block()), Region(Block())
    for side, fill in zip(sides, (then, otherwise), strict=True):
        with ImplicitBuilder(side):
            scf.YieldOp(fill())
    return scf.IfOp(condition, [i32], *sides).results[0]


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
        """Whether two accesses are of different phases."""
        if self.root != other.root or not (self.writes or other.writes) or not (self.together or other.together):
            return False
        return self.start < other.end and other.start < self.end


def _place(value: SSAValue) -> tuple[object, int, float] | None:
    """The origin of a pointer or buffer, and the bytes from there that it stands for; None for constants.

    Different arguments of an entry overlap only where they are all read.
    """
    op = value.owner
    size = _bytes(value.type) if isinstance(value.type, MemRefType) else inf
    match op:
        case aot.DataOp():
            return _place(op.buffer)
        case aot.BufferOp() | aot.PtrCastOp():
            found, offset = _place(op.pointer), 0
        case memref.CastOp():
            found, offset = _place(op.source), 0
        case memref.ViewOp():
            found, offset = _place(op.source), const_evaluate_operand(op.byte_shift)
            assert offset is not None
        case memref.ReinterpretCastOp():
            found = _place(op.source)
            if op.offsets:
                return found  # somewhere in it
            elements = sum(int(each) for each in op.static_offsets.get_values())
            offset = elements * byte_width(op.result.type.element_type)
        case aot.WorkspaceOp():
            return "workspace", 0, size
        case aot.WeightOp() | aot.WeightsOp():
            return None
        case _:
            return value, 0, inf
    if found is None:
        return None
    root, start, end = found
    return root, start + offset, min(end, start + offset + size)


def _bytes(kind: MemRefType[Attribute]) -> float:
    return kind.element_count() * byte_width(kind.element_type) if kind.has_static_shape() else inf
