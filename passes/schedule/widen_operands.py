"""Widen f16 and bf16 activations to f32 in memory where a contraction reads them element by element.

A register tile of a product or convolution multiplies each element of an activation, broadcast along the lanes, with
registers of the weight. To convert it there takes as long as the multiplications, and is done again for every panel of
the weight; so it is converted once, mostly by the kernel that computes it (`fuse-epilogues`). A strategy says where
that is (`KernelStrategy.broadcasts`). Weights stay narrow: their registers are converted where they are loaded. Data
movement that only such contractions read moves the widened elements.

Before:
```mlir
%0 = graph.reshape %x {shape = array<i64: 8, 16>} : (tensor<128xf16>) -> tensor<8x16xf16>
%1 = graph.matmul %0, %w {schedule = #graph.matmul_schedule<..>} : (tensor<8x16xf16>, tensor<16x32xf16>) -> ..
```
After:
```mlir
%2 = graph.cast %x {to = f32} : (tensor<128xf16>) -> tensor<128xf32>
%0 = graph.reshape %2 {shape = array<i64: 8, 16>} : (tensor<128xf32>) -> tensor<8x16xf32>
%1 = graph.matmul %0, %w {schedule = #graph.matmul_schedule<..>} : (tensor<8x16xf32>, tensor<16x32xf16>) -> ..
```
"""

from typing import TypeGuard

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue, Use
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from aotc.dialects.dtypes import compute_type, is_narrow_float
from aotc.dialects.graph.compound.control_flow import graph_blocks
from aotc.dialects.graph.conversion import CastOp
from aotc.dialects.graph.interfaces import ChannelWeightsOp, ElementOp, element_type_of
from aotc.dialects.graph.schedules import schedule_of
from aotc.passes.kernel.strategy import strategy_of


class WidenOperandsPass(ModulePass):
    name = "widen-operands"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for block in graph_blocks(op):
            _Widening(block).run()


class _Widening:
    """The widening of the activations of one function."""

    def __init__(self, block: Block) -> None:
        self._block = block
        self._wide: dict[SSAValue, SSAValue] = {}
        self._only_wide: set[SSAValue] = set()
        """Values that are read by nothing but contractions that read them widened, perhaps after being moved."""

    def run(self) -> None:
        """Widen what contractions broadcast, for every contraction that reads it."""
        found = [op for op in self._block.ops if isinstance(op, ChannelWeightsOp) and schedule_of(op) is not None]
        contractions = [op for op in found if is_narrow_float(element_type_of(op.operands[0]))]
        broadcast = {op.operands[0] for op in contractions if strategy_of(op).BROADCASTS}
        readers = [op for op in contractions if op.operands[0] in broadcast]
        if not readers:
            return
        for op in reversed(list(self._block.ops)):
            self._only_wide |= {result for result in op.results if self._is_only_wide(result, readers)}
        for op in readers:
            op.operands[0] = self._widened(op.operands[0])
        for op in reversed(list(self._block.ops)):
            if _only_moves(op) and op.results[0].first_use is None:
                Rewriter.erase_op(op)

    def _is_only_wide(self, value: SSAValue, readers: list[ChannelWeightsOp]) -> bool:
        def reads_wide(use: Use) -> bool:
            op = use.operation
            return (op in readers and use.index == 0) or (_only_moves(op) and op.results[0] in self._only_wide)

        return all(map(reads_wide, value.uses))

    def _widened(self, value: SSAValue) -> SSAValue:
        """`value` in the type that it is computed in."""
        if value not in self._wide:
            wide = self._moved(value)
            wide.name_hint = value.name_hint
            self._wide[value] = wide
        return self._wide[value]

    def _moved(self, value: SSAValue) -> SSAValue:
        maker = value.owner
        if _only_moves(maker) and value in self._only_wide:
            new = maker.clone()
            new.operands = [self._widened(operand) for operand in maker.operands]
            new.refine()
            Rewriter.insert_op(new, InsertPoint.before(maker))
            return new.results[0]
        cast = CastOp.get(value, to=compute_type(element_type_of(value)))
        place = InsertPoint.after(maker) if isinstance(maker, Operation) else InsertPoint.at_start(maker)
        if isinstance(maker, Operation):
            cast.location = maker.location
        Rewriter.insert_op(cast, place)
        return cast.result


def _only_moves(op: Operation | Block) -> TypeGuard[ElementOp]:
    """Whether `op` moves elements of narrow floats and reads nothing else, such as indices."""
    if not isinstance(op, ElementOp) or not op.MOVES:
        return False
    return all(element_type_of(value) == element_type_of(op.results[0]) for value in op.operands)
