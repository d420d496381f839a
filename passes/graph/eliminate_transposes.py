"""Move transposes down through elementwise operations to where they cancel, if that moves fewer bytes at run time.

Before:
```mlir
%0 = graph.transpose %x {permutation = array<i64: 0, 2, 3, 1>} : (tensor<1x8x4x4xf32>) -> tensor<1x4x4x8xf32>
%1 = graph.add %0, %b : (tensor<1x4x4x8xf32>, tensor<8xf32>) -> tensor<1x4x4x8xf32>
%2 = graph.transpose %1 {permutation = array<i64: 0, 3, 1, 2>} : (tensor<1x4x4x8xf32>) -> tensor<1x8x4x4xf32>
```
After:
```mlir
%0 = graph.reshape %b {shape = array<i64: 1, 1, 1, 8>} : (tensor<8xf32>) -> tensor<1x1x1x8xf32>
%1 = graph.transpose %0 {permutation = array<i64: 0, 3, 1, 2>} : (tensor<1x1x1x8xf32>) -> tensor<1x8x1x1xf32>
%2 = graph.add %x, %1 : (tensor<1x8x4x4xf32>, tensor<1x8x1x1xf32>) -> tensor<1x8x4x4xf32>
```
What is left on constants, or moves only axes of extent 1, goes with `fold-constants` and `canonicalize`.
"""

import math

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from aotc.dialects.graph.compound.control_flow import graph_blocks
from aotc.dialects.graph.interfaces import ElementOp, bytes_of, producer, shape_of
from aotc.dialects.graph.movement import ReshapeOp, TransposeOp
from aotc.dialects.graph.structure import ConstantOp


class EliminateTransposesPass(ModulePass):
    name = "eliminate-transposes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for block in graph_blocks(op):
            for transpose in [each for each in block.ops if isinstance(each, TransposeOp)]:
                if transpose.result.first_use is not None:
                    region = _Region(transpose)
                    if region.gain() > 0:
                        region.rewrite()
            _erase_unused_transposes(block)


class _Region:
    """The elementwise operations below a transpose that can work on the transpose's operand."""

    def __init__(self, transpose: TransposeOp) -> None:
        self.source = transpose
        self.permutation = transpose.ints("permutation")
        self.inverse = tuple(self.permutation.index(axis) for axis in range(len(self.permutation)))
        self.values: dict[SSAValue, None] = {transpose.result: None}
        self.members: list[ElementOp] = []
        assert transpose.parent is not None
        position = {op: number for number, op in enumerate(transpose.parent.ops)}
        waiting = _users(transpose.result)
        while waiting:
            op = min(waiting, key=lambda user: position[user])
            waiting.remove(op)
            if self._works_above(op):
                assert isinstance(op, ElementOp)
                self.members.append(op)
                self.values[op.results[0]] = None
                waiting |= _users(op.results[0])

    def gain(self) -> int:
        """The bytes that the removed transposes move, less those of the added ones."""
        gone: set[Operation] = set()
        come = 0
        for value in self.values:
            outside = _users(value) - set(self.members)
            back = {op for op in outside if self._is_inverse(op)}
            gone |= back
            if value is not self.source.result:
                come += bytes_of(value) if outside - back else 0
            elif outside == back:
                gone.add(self.source)
        for op in self.members:
            for operand in op.operands:
                if operand in self.values:
                    continue
                if (maker := self._transpose(operand)) is None:
                    come += bytes_of(operand) if not _is_free(operand) else 0
                elif _users(operand) <= set(self.members):
                    gone.add(maker)
        return sum(bytes_of(op.results[0]) for op in gone) - come

    def rewrite(self) -> None:
        """Let the members work on untransposed values, and transpose again where others read them."""
        above: dict[SSAValue, SSAValue] = {self.source.result: self.source.x}
        for op in self.members:
            new = op.clone()
            for place, operand in enumerate(op.operands):
                new.operands[place] = above[operand] if operand in above else self._above(operand, op)
            new.refine()
            Rewriter.insert_op(new, InsertPoint.before(op))
            above[op.results[0]] = new.results[0]
        for value in self.values:
            for user in [op for op in _users(value) if self._is_inverse(op)]:
                Rewriter.replace_op(user, [], [above[value]])
        for op in reversed(self.members):
            result = op.results[0]
            if _users(result):
                back = TransposeOp.get(above[result], permutation=self.permutation)
                back.location = op.location
                Rewriter.replace_op(op, back)
            else:
                Rewriter.erase_op(op)

    def _works_above(self, op: Operation) -> bool:
        """Whether `op` computes element by element, so that it does the same on permuted operands."""
        if not isinstance(op, ElementOp) or not op.is_movable:
            return False
        shape = shape_of(op.results[0])
        same = [operand for operand in op.operands if shape_of(operand) == shape]
        others = [operand for operand in op.operands if shape_of(operand) != shape]
        if not any(operand in self.values for operand in same):
            return False
        return op.BROADCASTS or all(math.prod(shape_of(operand)) == 1 for operand in others)

    def _above(self, operand: SSAValue, op: ElementOp) -> SSAValue:
        """`operand` with the axes in the order above the transpose."""
        if (maker := self._transpose(operand)) is not None:
            return maker.x
        shape, rank = shape_of(operand), len(self.permutation)
        if math.prod(shape) == 1:
            return operand
        if len(shape) < rank:
            wide = ReshapeOp.get(operand, shape=[1] * (rank - len(shape)) + list(shape))
            wide.location = op.location
            Rewriter.insert_op(wide, InsertPoint.before(op))
            operand = wide.result
        moved = TransposeOp.get(operand, permutation=self.inverse)
        moved.location = op.location
        Rewriter.insert_op(moved, InsertPoint.before(op))
        return moved.result

    def _transpose(self, value: SSAValue) -> TransposeOp | None:
        """The same transpose, if it makes `value`."""
        op = producer(value, TransposeOp)
        return op if op is not None and op.ints("permutation") == self.permutation else None

    def _is_inverse(self, op: Operation) -> bool:
        return isinstance(op, TransposeOp) and op.ints("permutation") == self.inverse


def _is_free(operand: SSAValue) -> bool:
    """Whether permuting `operand` moves nothing at run time."""
    return producer(operand, ConstantOp) is not None or math.prod(shape_of(operand)) == 1


def _users(value: SSAValue) -> set[Operation]:
    return {use.operation for use in value.uses}


def _erase_unused_transposes(block: Block) -> None:
    for op in reversed(list(block.ops)):
        if isinstance(op, TransposeOp | ReshapeOp) and op.result.first_use is None:
            Rewriter.erase_op(op)
