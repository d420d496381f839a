"""Pointwise operations on quantised tensors in the NCHWc layout."""

from __future__ import annotations

from aotc.dialects.graph.interfaces import shape_of
from aotc.dialects.graph.movement import ReshapeOp
from aotc.dialects.graph.quantized.bytes import LookupOp
from aotc.dialects.graph.quantized.requantization import DoublingRequantizeOp, FixedRequantizeOp, RequantizeOp
from aotc.passes.kernel.layouts import Blocked, Layouts
from aotc.passes.kernel.strategy import KernelStrategy, Strategies


class RequantizeLayout(KernelStrategy[RequantizeOp | FixedRequantizeOp | DoublingRequantizeOp]):
    """With one factor, or one for each channel: with all channels in one block a vector along its lanes, else packed
    as x is."""

    def lay_out(self, op: RequantizeOp | FixedRequantizeOp | DoublingRequantizeOp, layouts: Layouts) -> Blocked | None:
        factor, *shift = op.operands[1:]
        x, axis, shape = layouts.computed(op.x), op.axis % len(shape_of(op.x)), shape_of(op.x)
        if x is None:
            return None
        if shape_of(factor) in ((), (1,)):
            return layouts.copied_on_blocks(op, x, factor, *shift)
        if axis != 1 or len(shape_of(factor)) > 1:
            return None
        if x.channels.blocks == 1 and x.channels.lanes == shape[1]:
            return layouts.copied_on_blocks(op, x, factor, *shift, axis=len(shape_of(x.value)) - 1)
        if shift:
            return None
        column = layouts.add(ReshapeOp.get(factor, shape=[1, shape[1], *[1] * len(shape[2:])]))
        return layouts.copied_on_blocks(op, x, layouts.pack(column, x.channels))


class LookupLayout(KernelStrategy[LookupOp]):
    """A table has no axes."""

    def lay_out(self, op: LookupOp, layouts: Layouts) -> Blocked | None:
        x = layouts.computed(op.x)
        return None if x is None else layouts.copied_on_blocks(op, x, op.table)


STRATEGIES: Strategies = {
    RequantizeOp: (RequantizeLayout(),),
    FixedRequantizeOp: (RequantizeLayout(),),
    DoublingRequantizeOp: (RequantizeLayout(),),
    LookupOp: (LookupLayout(),),
}
