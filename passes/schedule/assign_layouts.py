"""Lay tensors out as the schedules want them: convolutional parts in the NCHWc layout, weights in panels.

Strategies say how operations work in the NCHWc layout and on packed weights (`KernelStrategy.lay_out`); all others get
plain operands. A value is unpacked for these only, so nothing is moved between operations that work on blocks. What is
packed is constant, and then `fold-constants` does it, or comes from operations that do not work on blocks.

Before:
```mlir
%0 = graph.conv %x, %w, %b {.., schedule = #graph.matmul_schedule<lanes = 16, mr = 8, nr = 2, unroll = 4, order = rows>}
    : (tensor<1x32x8x8xf32>, tensor<32x32x1x1xf32>, tensor<32xf32>) -> tensor<1x32x8x8xf32>
%1 = graph.relu %0 : (tensor<1x32x8x8xf32>) -> tensor<1x32x8x8xf32>
```
After:
```mlir
%2 = graph.pack %x {layout = #graph.layout<channels (d0, d1 floordiv 16, d2, d3, d1 mod 16)>}
    : (tensor<1x32x8x8xf32>) -> tensor<1x2x8x8x16xf32>
%3 = graph.pack %w {layout = #graph.layout<conv_weight (d0 floordiv 32, d1 floordiv 16, d2, d3, d1 mod 16, d0 mod 32)>}
    : (tensor<32x32x1x1xf32>) -> tensor<1x2x1x1x16x32xf32>
%0 = graph.blocked_conv %2, %3, %b {.., block = 16 : i64, schedule = #graph.matmul_schedule<..>}
    : (tensor<1x2x8x8x16xf32>, tensor<1x2x1x1x16x32xf32>, tensor<32xf32>) -> tensor<1x2x8x8x16xf32>
%4 = graph.relu %0 : (tensor<1x2x8x8x16xf32>) -> tensor<1x2x8x8x16xf32>
%1 = graph.unpack %4 {layout = #graph.layout<channels (..)>, shape = array<i64: 1, 32, 8, 8>}
    : (tensor<1x2x8x8x16xf32>) -> tensor<1x32x8x8xf32>
```
"""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from aotc.dialects.aot.contract import target_of
from aotc.dialects.graph.compound.control_flow import graph_blocks
from aotc.dialects.graph.interfaces import GraphOp
from aotc.machines.machine import Machine
from aotc.machines.targets import machine_of
from aotc.passes.kernel.layouts import Blocked, Layouts
from aotc.passes.kernel.strategy import strategy_of


class AssignLayoutsPass(ModulePass):
    name = "assign-layouts"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = machine_of(target_of(op))
        for block in graph_blocks(op):
            _lay_out(block, machine)


def _lay_out(block: Block, machine: Machine | None) -> None:
    layouts = Layouts(lambda op, channels_of: strategy_of(op).block_starts(op, channels_of), machine)
    replaced: list[tuple[GraphOp, SSAValue | Blocked]] = []
    for op in list(block.ops):
        if not isinstance(op, GraphOp):
            continue
        layouts.added = []
        if (laid_out := strategy_of(op).lay_out(op, layouts)) is None:
            continue
        for new in layouts.added:
            new.location = op.location
        Rewriter.insert_op(layouts.added, InsertPoint.before(op))
        result = op.results[0]
        if isinstance(laid_out, Blocked):
            laid_out.value.name_hint = result.name_hint
            layouts.note_blocked(result, laid_out)
        else:
            laid_out.name_hint = result.name_hint
            for old, new in zip(op.results, layouts.added[-1].results, strict=False):
                old.replace_all_uses_with(new)
        replaced.append((op, laid_out))
    # Now it is known who reads plain tensors. Replaced operations still read each other's results: the last ones first.
    for op, laid_out in reversed(replaced):
        result = op.results[0]
        if result.first_use is None:
            Rewriter.erase_op(op)
            continue
        assert isinstance(laid_out, Blocked)
        if (mover := layouts.unread_regrouping(laid_out)) is not None:
            Rewriter.erase_op(mover)
            continue
        layouts.added = []
        layouts.unpack(laid_out)
        for new in layouts.added:
            new.location = op.location
        Rewriter.replace_op(op, layouts.added)
