"""Make one operation of those that models write softplus and Mish with.

`graph.softplus` neither overflows, as log(1 + exp(x)) does, nor loses what is small beside 1; `graph.mish` is one
exponential in place of two and a logarithm. Results differ in rounding and where an exponential overflows. What
something else reads, too, stays as it is.

Before:
```mlir
%0 = graph.exp %x : (tensor<4xf32>) -> tensor<4xf32>
%1 = graph.add %0, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
%2 = graph.log %1 : (tensor<4xf32>) -> tensor<4xf32>
%3 = graph.tanh %2 : (tensor<4xf32>) -> tensor<4xf32>
%4 = graph.mul %x, %3 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
```
After:
```mlir
%4 = graph.mish %x : (tensor<4xf32>) -> tensor<4xf32>
```
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias, TypeVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from aotc.dialects.constants import known_array
from aotc.dialects.graph.compound.control_flow import graph_operations
from aotc.dialects.graph.elementwise import AddOp, BinaryOp, MulOp
from aotc.dialects.graph.functions import ExpOp, FunctionOp, LogOp, MishOp, SoftplusOp, TanhOp
from aotc.dialects.graph.interfaces import GraphOp, producer, shape_of
from aotc.model.weight_store import WeightStore
from aotc.passes.graph.raising import put_in_place

Raised: TypeAlias = "tuple[GraphOp, Sequence[GraphOp]] | None"
"""An operation and those that it stands for, the last one first."""
Op = TypeVar("Op", bound=GraphOp)


class RaiseFunctionsPass(ModulePass):
    name = "raise-functions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        store = WeightStore.of(ctx)
        for each in graph_operations(op):
            match each:
                case LogOp():
                    found = _softplus(each, store)
                case MulOp():
                    found = _mish(each)
                case _:
                    found = None
            if found is not None:
                put_in_place(*found)


def _softplus(log: FunctionOp, store: WeightStore) -> Raised:
    """log(1 + exp(x))"""
    if (add := _only_for(log.x, AddOp)) is not None:
        for side, other in _sides(add):
            power, one = _only_for(side, ExpOp), known_array(other, store)
            if power is not None and one is not None and bool((one == 1).all()):
                return _if_like(SoftplusOp.get(power.x), (log, add, power))
    return None


def _mish(mul: BinaryOp) -> Raised:
    """x tanh(softplus(x))"""
    for side, other in _sides(mul):
        tanh = _only_for(side, TanhOp)
        softplus = None if tanh is None else _only_for(tanh.x, SoftplusOp)
        if tanh is not None and softplus is not None and softplus.x is other:
            return _if_like(MishOp.get(other), (mul, tanh, softplus))
    return None


def _sides(op: BinaryOp) -> Iterator[tuple[SSAValue, SSAValue]]:
    """Each operand with the other one."""
    yield op.lhs, op.rhs
    yield op.rhs, op.lhs


def _only_for(value: SSAValue, op_class: type[Op]) -> Op | None:
    """The operation of a class that computes `value` for a single reader."""
    return producer(value, op_class) if value.has_one_use() else None


def _if_like(new: GraphOp, ops: Sequence[GraphOp]) -> Raised:
    """The new operation and those that it replaces; None where the other operand was broadcast to a larger shape."""
    return (new, ops) if shape_of(new.results[0]) == shape_of(ops[0].results[0]) else None
