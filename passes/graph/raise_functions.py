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

from collections.abc import Iterator, Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from aotc.dialects.constants import known_array
from aotc.dialects.graph.compound.control_flow import graph_operations
from aotc.dialects.graph.elementwise import AddOp, BinaryOp, MulOp
from aotc.dialects.graph.functions import ExpOp, FunctionOp, LogOp, MishOp, SoftplusOp, TanhOp
from aotc.dialects.graph.interfaces import GraphOp, shape_of
from aotc.model.weight_store import WeightStore
from aotc.passes.graph.rewriting import only_for, put_in_place


class RaiseFunctionsPass(ModulePass):
    name = "raise-functions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        store = WeightStore.of(ctx)
        for each in graph_operations(op):
            if isinstance(each, LogOp):
                _raise_softplus(each, store)
            elif isinstance(each, MulOp):
                _raise_mish(each)


def _raise_softplus(log: FunctionOp, store: WeightStore) -> None:
    """log(1 + exp(x))"""
    if (add := only_for(log.x, AddOp)) is not None:
        for side, other in _sides(add):
            power, one = only_for(side, ExpOp), known_array(other, store)
            if power is not None and one is not None and bool((one == 1).all()):
                _replace((power, add, log), SoftplusOp.get(power.x))
                return


def _raise_mish(mul: BinaryOp) -> None:
    """x tanh(softplus(x))"""
    for side, other in _sides(mul):
        if (tanh := only_for(side, TanhOp)) is None or (softplus := only_for(tanh.x, SoftplusOp)) is None:
            continue
        if softplus.x is other:
            _replace((softplus, tanh, mul), MishOp.get(other))
            return


def _sides(op: BinaryOp) -> Iterator[tuple[SSAValue, SSAValue]]:
    """Each operand with the other one."""
    yield op.lhs, op.rhs
    yield op.rhs, op.lhs


def _replace(ops: Sequence[GraphOp], new: GraphOp) -> None:
    """Put one operation in place of others, but where the other operand was broadcast to a larger shape."""
    if shape_of(new.results[0]) == shape_of(ops[-1].results[0]):
        put_in_place([new], ops)
