"""Compute addresses where a tile is computed, again for each, so that they do not live on the stack in between.

What is computed of the indices of outer loops does not change in inner ones, and compilers keep all of it: a pointer
into each buffer for each loop, far more than a small core has registers. In the body of a loop that is worth it, the
indices of the loops around it, and its own, are hidden from them, and computed with again; what follows a sum gets
hidden indices of its own, so that nothing of it is kept while the sum is computed; so does each of several loops over
tiles.

Before:
```mlir
%row = arith.muli %i, %c2 : index
scf.for %j = %c0 to %c20 step %c1 {
  %sum = scf.for %k = %row to %end step %c1 iter_args(%s = %zero) -> (i32) {..}
  memref.store %sum, %out[%i, %j] : memref<25x20xi32>
}
```
After:
```mlir
scf.for %j = %c0 to %c20 step %c1 {
  %i_1 = aot.opaque %i
  %row = arith.muli %i_1, %c2 : index
  %sum = scf.for %k = %row to %end step %c1 iter_args(%s = %zero) -> (i32) {..}
  %i_2 = aot.opaque %i
  %j_1 = aot.opaque %j
  memref.store %sum, %out[%i_2, %j_1] : memref<25x20xi32>
}
```
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp, i1
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import is_side_effect_free

from aotc.dialects.aot import OpaqueOp
from aotc.dialects.aot.contract import kernels, target_of
from aotc.machines.targets import core_of

TRIPS = 2
"""How often a loop is taken to run whose bounds are not known."""


@dataclass(frozen=True)
class RecomputeIndicesPass(ModulePass):
    name = "recompute-indices"

    own_work: int = 40
    """Operations of an iteration for each that is repeated in it, at least, where the loop's index is hidden, too."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        least = core_of(target_of(op)).scalars.sums.recomputed
        for function in kernels(op):
            for loop in list(filter(_is_walk, function.walk())):
                if _is_innermost(loop):
                    _treat(loop, least, max(self.own_work, least))


def _is_walk(op: Operation | None) -> TypeGuard[scf.ForOp]:
    """Whether this is a loop over tiles: one that carries nothing."""
    return isinstance(op, scf.ForOp) and not op.iter_args


def _sums_up(loop: scf.ForOp) -> bool:
    return any(isinstance(each, scf.ForOp) and bool(each.iter_args) for each in loop.body.block.ops)


def _is_innermost(loop: scf.ForOp) -> bool:
    """Whether an iteration of a loop over tiles computes one, and writes it, be it in a loop."""
    around = loop.parent_op()
    while isinstance(around, scf.ForOp):
        if _sums_up(around):
            return False
        around = around.parent_op()
    return _sums_up(loop) or not any(_is_walk(each) for each in loop.body.walk())


def _treat(loop: scf.ForOp, least: int, own: int) -> None:
    """Recompute indices in the body of the innermost loop where that is little work, of `loop` and those around it."""
    at: Operation | None = loop
    while isinstance(at, scf.ForOp):  # what carries something is the outermost one, and reads no index that is hidden
        if any(isinstance(each, OpaqueOp) for each in at.body.block.ops):
            return
        for hides_own, work in ((True, own), (False, least)):
            plan = _Recomputation(at, hides_own)
            if _work(at.body.block) >= work * plan.cost:
                plan.apply()
                return
        at = at.parent_op()


def _work(block: Block) -> int:
    """Operations that one execution of a block takes, about."""
    return sum(
        1 + sum(_trips(op) * _work(inner) for region in op.regions for inner in region.blocks) for op in block.ops
    )


def _trips(op: Operation) -> int:
    """How often the body of an operation runs; of a loop whose bounds are clamped, at most."""
    if not isinstance(op, scf.ForOp):
        return 1
    low, high, step = (_bound(value) for value in (op.lb, op.ub, op.step))
    return TRIPS if low is None or high is None or not step else max(-((low - high) // step), 0)


def _bound(value: SSAValue) -> int | None:
    """A constant, or what a value is clamped by."""
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    if isinstance(owner, arith.MinSIOp | arith.MaxSIOp):
        return next((bound for each in owner.operands if (bound := _bound(each)) is not None), None)
    return None


def _segments(block: Block) -> Iterator[list[Operation]]:
    """The operations of a block up to each loop over tiles, up to its last sum, and those behind."""
    ops = list(block.ops)
    last = max((n for n, op in enumerate(ops) if isinstance(op, scf.ForOp) and op.iter_args), default=-1)
    begin = 0
    for end, op in enumerate(ops, 1):
        if _is_walk(op) or end in (last + 1, len(ops)):
            yield ops[begin:end]
            begin = end


class _Recomputation:
    """The operations to be computed again in the body of a loop: for each of its segments, what its operations read."""

    def __init__(self, loop: scf.ForOp, own: bool) -> None:
        self._loop = loop
        self._own = own
        """Whether the index of the loop itself is hidden, too."""
        self._segments = [(ops, self._needed(ops)) for ops in _segments(loop.body.block)]

    @property
    def cost(self) -> int:
        """Operations, for one iteration."""
        return sum(len(needed) for _, needed in self._segments)

    def apply(self) -> None:
        """Do it."""
        block = self._loop.body.block
        for ops, needed in reversed(self._segments):  # those behind a sum are copied as they were before it
            again: dict[SSAValue, SSAValue] = {}
            for value in needed:
                if isinstance(value, BlockArgument):
                    new: Operation = OpaqueOp(value)
                else:
                    assert isinstance(value.owner, Operation)
                    new = value.owner.clone(again)
                new.results[0].name_hint = value.name_hint
                block.insert_op_before(new, ops[0])
                again[value] = new.results[0]
            for op in ops:
                for each in op.walk():
                    each.operands = [again.get(operand, operand) for operand in each.operands]

    def _needed(self, ops: Sequence[Operation]) -> list[SSAValue]:
        """The indices of loops that operations read, and what is computed of them outside of the loop; each behind
        what it is computed of."""
        needed: list[SSAValue] = []

        def visit(value: SSAValue) -> bool:
            """Whether it is one of them."""
            if value in needed:
                return True
            if isinstance(value, BlockArgument):
                found = self._is_index(value)
            else:
                owner = value.owner
                assert isinstance(owner, Operation)
                found = False
                if _is_index_arithmetic(owner) and not any(op.is_ancestor(owner) for op in ops):
                    visited = [visit(operand) for operand in owner.operands]
                    found = any(visited)
            if found:
                needed.append(value)
            return found

        for op in ops:
            for each in op.walk():
                for operand in each.operands:
                    visit(operand)
        return needed

    def _is_index(self, value: BlockArgument) -> bool:
        """Whether this is the index of the loop, or of a loop over tiles around it."""
        loop = value.block.parent_op()
        if loop is self._loop and not self._own:
            return False
        return value.index == 0 and isinstance(loop, scf.ForOp) and _is_walk(loop) and loop.is_ancestor(self._loop)


def _is_index_arithmetic(op: Operation) -> bool:
    values = (*op.operands, *op.results)
    return (
        is_side_effect_free(op)
        and len(op.results) == 1
        and not op.regions
        and bool(op.operands)
        and all(isinstance(value.type, IndexType) or value.type == i1 for value in values)
    )
