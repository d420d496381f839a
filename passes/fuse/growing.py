"""Growing a group towards its producers: which it may take in, and how that changes its reads."""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from xdsl.ir import Operation, OpResult, SSAValue

from aotc.dialects.graph.interfaces import AnchorOp, ElementOp, Fusion, GraphOp, is_join, is_view, shape_of
from aotc.dialects.graph.structure import ConstantOp, FusedOp, YieldOp
from aotc.passes.fuse.fusion_policy import FusingPass, may_duplicate, may_recompute, recomputing_cost
from aotc.passes.fuse.groups import is_single_constant, make_group
from aotc.passes.fuse.reads import Reads, operand_reads, reads_of
from aotc.passes.fuse.vectorizable import VectorForms
from aotc.passes.kernel.strategy import Prologue, is_vectorized, strategy_of


@dataclass
class _Need:
    """How the group reads a value, and the cost of the recomputation between the value and its first reader."""

    reads: Reads
    prologue: Prologue
    """The work that may be fused there, where the anchor is vectorised."""
    repeated: int = 0

    def merge(self, other: _Need | None) -> _Need:
        if other is None:
            return self
        prologue = max(self.prologue, other.prologue)
        return _Need(self.reads.merge(other.reads), prologue, max(self.repeated, other.repeated))


def has_producers(root: GraphOp | FusedOp) -> bool:
    """Whether any producer of `root` is of those that groups take in: without one, none can grow."""
    return any(is_fusible(value.op) for value in root.operands if isinstance(value, OpResult))


def is_fusible(op: Operation) -> TypeGuard[ElementOp]:
    """Whether groups take in `op`."""
    return isinstance(op, ElementOp) and op.FUSION in (Fusion.POINTWISE, Fusion.INJECTIVE) and not is_view(op)


class Growth:
    """A group with `root` as its last operation, taking in producers in reverse program order."""

    def __init__(
        self,
        root: GraphOp | FusedOp,
        position: Mapping[Operation, int],
        limits: FusingPass,
        *,
        several_outputs: bool,
        forms: VectorForms | None = None,
    ) -> None:
        self._position = position
        self._limits = limits
        self._several_outputs = several_outputs
        self._forms = forms
        self.members: list[Operation] = [root]
        self._moved: set[Operation] = {root}
        """The members that only this group computes."""
        self.outputs: list[SSAValue] = [result for result in root.results if result.first_use is not None]
        self._needs: dict[SSAValue, _Need] = {}
        self._size = 1
        inner: list[Operation] = [root]
        if isinstance(root, FusedOp):
            inner = [op for op in root.block.ops if not isinstance(op, YieldOp)]
            self._size = sum(not isinstance(op, ConstantOp) for op in inner)
            inside = reads_of(inner, root.yield_op.values)
            found = {
                value: inside[arg] for arg, value in zip(root.block.args, root.inputs, strict=True) if arg in inside
            }
        else:
            found = reads_of([root], self.outputs)
        self._vectorized = any(is_vectorized(op) for op in inner)
        prologues = _prologues(inner, root)
        for value in dict.fromkeys(root.operands):
            if value in found:
                self._needs[value] = _Need(found[value], max(prologues.get(value, ()), default=Prologue.COMPUTED))

    def grow(self) -> None:
        """Take in all producers that pay, and make a group where there is one."""
        waiting: list[tuple[int, Operation]] = []
        visited: set[Operation] = set()

        def wait_for(value: SSAValue) -> None:
            if isinstance(value, OpResult) and value.op in self._position and value.op not in visited:
                visited.add(value.op)
                heapq.heappush(waiting, (-self._position[value.op], value.op))

        for value in self._needs:
            wait_for(value)
        while waiting:
            _, op = heapq.heappop(waiting)
            if is_fusible(op) and self._accepts(op):
                self._take(op)
                for operand in op.operands:
                    wait_for(operand)
        if len(self.members) > 1:
            make_group(self._in_order(), self.outputs)

    def _accepts(self, op: ElementOp) -> bool:
        result = op.results[0]
        need = self._needs[result]
        if self._size >= self._limits.most_operations:
            return False
        inputs = {value for value in (*self._needs, *op.operands) if not is_single_constant(value)} - {result}
        if not self._limits.has_room(self.members, len(inputs) + len(self.outputs)):
            return False
        if need.reads.count > math.prod(shape_of(result)) and not may_recompute(op, need.repeated):
            return False
        if not (all(use.operation in self._moved for use in result.uses) or may_duplicate(op)):
            aligned = self._several_outputs and need.reads.aligned and not is_join(op)
            return aligned and not self._depends_on_use_outside(op)
        return not self._vectorized or self._stays_vectorized(op, need)

    def _stays_vectorized(self, op: ElementOp, need: _Need) -> bool:
        """Whether `op` may be fused where the anchor reads, and the anchor remains vectorised as well as without it."""
        if need.prologue is Prologue.STORED or (need.prologue is Prologue.MOVED and recomputing_cost(op)):
            return False
        assert self._forms is not None, "growing from a vectorised anchor takes forms"
        return self._forms.of(self._in_order(op), self.outputs) >= self._forms.of(self._in_order(), self.outputs)

    def _in_order(self, *more: Operation) -> list[Operation]:
        return sorted((*self.members, *more), key=lambda op: self._position[op])

    def _take(self, op: ElementOp) -> None:
        result = op.results[0]
        need = self._needs.pop(result)
        if all(use.operation in self._moved for use in result.uses):
            self._moved.add(op)
        elif not may_duplicate(op):
            self._moved.add(op)
            self.outputs.append(result)
        again = need.reads.count > math.prod(shape_of(result))
        repeated = need.repeated + recomputing_cost(op) if again else 0
        for operand in op.operands:
            new = _Need(operand_reads(op, operand, need.reads), need.prologue, repeated)
            self._needs[operand] = new.merge(self._needs.get(operand))
        self.members.append(op)
        self._size += 1

    def _depends_on_use_outside(self, op: ElementOp) -> bool:
        """Whether the group, with `op` in it, would depend on an outside operation that uses `op`."""
        inside = {*self._moved, op}
        pending = [use.operation for use in op.results[0].uses if use.operation not in inside]
        visited: set[Operation] = set()
        while pending:
            user = pending.pop()
            if user in inside:
                return True
            if user not in visited:
                visited.add(user)
                pending.extend(use.operation for result in user.results for use in result.uses)
        return False


def _prologues(ops: Sequence[Operation], root: Operation) -> dict[SSAValue, list[Prologue]]:
    """For each operand of `root`, what may be fused where the anchor among `ops` reads it; `ops` are the operations of
    `root`."""
    outside: dict[SSAValue, SSAValue] = {}
    if isinstance(root, FusedOp):
        outside = dict(zip(root.block.args, root.inputs, strict=True))
    found: dict[SSAValue, list[Prologue]] = {}
    for op in ops:
        if isinstance(op, AnchorOp):
            for position, operand in enumerate(op.operands):
                found.setdefault(outside.get(operand, operand), []).append(strategy_of(op).prologue(op, position))
    return found
