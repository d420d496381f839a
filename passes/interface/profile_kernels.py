"""Count what each call of a kernel takes, in ticks of the processor's counter; one exported counter for each call.

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

from __future__ import annotations

from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.dialects.func import CallOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from aotc.dialects.aot import CheckOp, CountersOp, TicksOp
from aotc.dialects.aot.contract import kernel_calls, model_name
from aotc.model.conventions import profile_symbol


@dataclass(frozen=True)
class ProfileKernelsPass(ModulePass):
    """See the module."""

    name = "profile-kernels"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        calls = kernel_calls(op)
        if not calls:
            return
        start = Builder(InsertPoint.before(calls[0]))
        counters = start.insert(CountersOp(profile_symbol(model_name(op)), len(calls))).result
        before = start.insert(TicksOp()).result
        for number, call in enumerate(calls):
            before = _count(call, counters, number, before)


def _count(call: CallOp, counters: SSAValue, number: int, before: SSAValue) -> SSAValue:
    """Add to counter `number` the ticks from `before` to the end of the call; returns those at its end."""
    end = call.next_op if isinstance(call.next_op, CheckOp) else call
    build = Builder(InsertPoint.after(end))
    after = build.insert(TicksOp()).result
    place = build.insert(arith.ConstantOp(IntegerAttr.from_index_int_value(number))).result
    taken = build.insert(arith.SubiOp(after, before)).result
    sum_before = build.insert(memref.LoadOp.get(counters, [place])).res
    build.insert(memref.StoreOp.get(build.insert(arith.AddiOp(sum_before, taken)).result, counters, [place]))
    return after
