"""Costs of reads by threads: weights from the caches, and what other threads wrote from their cores.

Where the addresses of all loads of a buffer depend on a loop that is split, each thread reads its share of the buffer
only: of an activation the one that it wrote itself, as other kernels are split alike. Otherwise it reads everything.
"""

from collections.abc import Set
from functools import cached_property
from math import inf
from typing import cast

from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from aotc.dialects import aot
from aotc.dialects.dtypes import byte_width
from aotc.machines.machine import ThreadCosts


class Reads:
    """The loads of one kernel."""

    def __init__(self, function: FuncOp, costs: ThreadCosts, weights: Set[SSAValue]) -> None:
        """`weights` are the arguments that are constant."""
        self._function, self._costs, self._weights = function, costs, weights
        self._known: dict[SSAValue, frozenset[SSAValue]] = {}

    def cost(self, op: Operation, split: Set[SSAValue], threads: int) -> float:
        """The cost for a thread of what `op` loads, where the loops with the variables `split` are split, in operations
        on registers."""
        shared: dict[SSAValue, bool] = {}
        for buffer, variables in self._loads.get(op, ()):
            shared[buffer] = shared.get(buffer, True) and not split.isdisjoint(variables)
        total = 0.0
        for buffer, own in shared.items():
            size, whole = _bytes(buffer), 1 / threads if own else 1
            if buffer in self._weights:
                total += size * whole / self._costs.weight_bytes
            else:
                total += size * (whole - 1 / threads) / self._costs.shared_bytes
        return total

    @cached_property
    def _loads(self) -> dict[Operation, list[tuple[SSAValue, frozenset[SSAValue]]]]:
        """For each operation with regions the loads in it: of what, and on which variables of loops that depends."""
        found: dict[Operation, list[tuple[SSAValue, frozenset[SSAValue]]]] = {}
        for op in self._function.walk():
            match op:
                case memref.LoadOp():
                    buffer, index = op.memref, op.indices
                case aot.TileLoadOp() | aot.WordLoadOp():
                    buffer, index = op.buffer, op.indices
                case _:
                    continue
            load = buffer, frozenset[SSAValue]().union(*map(self._variables, index))
            around = op.parent_op()
            while around is not None and around is not self._function:
                found.setdefault(around, []).append(load)
                around = around.parent_op()
        return found

    def _variables(self, value: SSAValue) -> frozenset[SSAValue]:
        """The variables of loops that a value depends on."""
        if value not in self._known:
            self._known[value] = frozenset()  # of values that a loop carries
            self._known[value] = frozenset([value] if isinstance(value, BlockArgument) else ()).union(
                *map(self._variables, _sources(value))
            )
        return self._known[value]


def _sources(value: SSAValue) -> list[SSAValue]:
    """The operands of a value, or the bounds of a variable of a loop."""
    owner = value.owner
    if isinstance(owner, Block):
        assert isinstance(value, BlockArgument)
        match owner.parent_op():
            case scf.ForOp() as loop if value.index == 0:
                return [loop.lb, loop.ub]
            case scf.ForOp() as loop:
                return [loop.iter_args[value.index - 1]]
            case scf.ParallelOp() as loop:
                return [loop.lowerBound[value.index], loop.upperBound[value.index]]
            case _:
                return []
    inside = [operand for op in owner.walk() if isinstance(op, scf.YieldOp) for operand in op.operands]
    return [*owner.operands, *inside]


def _bytes(buffer: SSAValue) -> float:
    kind = cast(MemRefType[Attribute], buffer.type)
    return kind.element_count() * byte_width(kind.element_type) if kind.has_static_shape() else inf


def weights_of(module: ModuleOp) -> set[SSAValue]:
    """The arguments of kernels that are weights, whoever calls them."""
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp) and op.body.blocks}
    found: dict[SSAValue, bool] = {}
    for call in module.walk():
        if not isinstance(call, CallOp) or (function := functions.get(call.callee.string_value())) is None:
            continue
        for argument, operand in zip(function.args, call.arguments, strict=False):
            found[argument] = found.get(argument, True) and isinstance(operand.owner, aot.WeightOp)
    return {argument for argument, constant in found.items() if constant}
