"""Count what each call of a kernel takes, in ticks of the processor's counter; one exported counter for each call.

Of calls in control flow it is counted, too, how often they are made, in further counters after those of all calls.

Before:
```mlir
%s = func.call @aotc_kws_conv_0(%x, %y) : (..) -> i32
aot.check %s
```
After:
```mlir
%counters = aot.counters "aotc_kws_profile" : memref<1xi64>
%0 = aot.ticks : i64
%s = func.call @aotc_kws_conv_0(%x, %y) : (..) -> i32
aot.check %s
%1 = aot.ticks : i64
%taken = arith.subi %1, %0 : i64          // counters[0] += taken; the next call counts from %1
```
"""

from collections.abc import Callable

from xdsl.builder import Builder, ImplicitBuilder
from xdsl.context import Context
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IndexType, ModuleOp
from xdsl.dialects.func import CallOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from aotc.dialects.aot import CheckOp, CountersOp, TicksOp
from aotc.dialects.aot.contract import entry, is_in_region, kernel_calls, model_name
from aotc.model.conventions import profile_symbol


class ProfileKernelsPass(ModulePass):
    name = "profile-kernels"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        calls = kernel_calls(op)
        if not calls:
            return
        repeated = [call for call in calls if is_in_region(call)]
        block = entry(op).body.block
        first = next(each for each in block.ops if each in calls or each.regions)
        with ImplicitBuilder(Builder(InsertPoint.before(first))):
            counters = CountersOp(profile_symbol(model_name(op)), len(calls) + len(repeated)).result
        ends: dict[Operation, SSAValue] = {}
        for number, call in enumerate(calls):
            previous = _call_before(call)
            before = None if previous is None else ends.get(previous)
            if before is None:
                before = Builder(InsertPoint.before(call)).insert(TicksOp()).result
            ends[call] = _count(call, counters, number, before)
        for number, call in enumerate(repeated, len(calls)):
            with ImplicitBuilder(Builder(InsertPoint.after(call))):
                _add(counters, number, lambda: arith.ConstantOp.from_int_and_width(1, 64).result)


def _call_before(call: CallOp) -> Operation | None:
    """The call before this one, if no control flow is between them."""
    op = call.prev_op
    while op is not None and not isinstance(op, CallOp):
        if op.regions:
            return None
        op = op.prev_op
    return op


def _count(call: CallOp, counters: SSAValue, number: int, before: SSAValue) -> SSAValue:
    """Add to counter `number` the ticks from `before` to the end of the call; returns those at its end."""
    end = call.next_op if isinstance(call.next_op, CheckOp) else call
    with ImplicitBuilder(Builder(InsertPoint.after(end))):
        after = TicksOp().result
        _add(counters, number, lambda: arith.SubiOp(after, before).result)
    return after


def _add(counters: SSAValue, number: int, made: Callable[[], SSAValue]) -> None:
    place, value = arith.ConstantOp.from_int_and_width(number, IndexType()).result, made()
    memref.StoreOp.get(arith.AddiOp(memref.LoadOp.get(counters, [place]), value), counters, [place])
