"""Make one `graph.normalize` of the operations that models write a layer normalisation with.

These are the mean of rows, the distances from it, the mean of their squares, and the distances over its root: four
kernels that read rows, where `graph.normalize` is one that keeps them in registers. Results differ in rounding only;
f16 and bf16, which `graph.normalize` computes in f32, stay as they are.

Before:
```mlir
%0 = graph.reduce %x {kind = "mean", axes = array<i64: -1>, keepdims = true} : (tensor<4x8xf32>) -> tensor<4x1xf32>
%1 = graph.sub %x, %0 : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
%2 = graph.mul %1, %1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
%3 = graph.reduce %2 {kind = "mean", axes = array<i64: -1>, keepdims = true} : (tensor<4x8xf32>) -> tensor<4x1xf32>
%4 = graph.add %3, %epsilon : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
%5 = graph.sqrt %4 : (tensor<4x1xf32>) -> tensor<4x1xf32>
%6 = graph.div %1, %5 : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
```
After:
```mlir
%6 = graph.normalize %x {axes = array<i64: 1>, epsilon = 1.0e-05 : f64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
```
"""

from collections.abc import Iterator

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from aotc.dialects.constants import known_array
from aotc.dialects.dtypes import compute_type
from aotc.dialects.graph.compound.control_flow import graph_operations
from aotc.dialects.graph.elementwise import AddOp, BinaryOp, DivOp, MulOp, PowOp, SubOp
from aotc.dialects.graph.functions import SqrtOp
from aotc.dialects.graph.interfaces import GraphOp, element_type_of, producer, shape_of
from aotc.dialects.graph.normalization import NormalizeOp
from aotc.dialects.graph.reduction import ReduceOp
from aotc.model.weight_store import WeightStore
from aotc.passes.graph.rewriting import put_in_place


class RaiseNormalizationPass(ModulePass):
    name = "raise-normalization"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        store = WeightStore.of(ctx)
        for each in graph_operations(op):
            if isinstance(each, DivOp):
                _raise(each, store)


def _raise(last: BinaryOp, store: WeightStore) -> None:
    """Replace a normalisation, which ends with a division of distances by the root of the mean of their squares."""
    distances, root = producer(last.lhs, SubOp), producer(last.rhs, SqrtOp)
    if distances is None or root is None or element_type_of(last.result) != compute_type(element_type_of(last.result)):
        return
    for variance, epsilon, between in _variances(root.x, store):
        mean = producer(distances.rhs, ReduceOp)
        if (
            (squares := _square(variance.x, distances.result, store)) is not None
            and mean is not None
            and mean.x is distances.lhs
            and (axes := _mean_axes(mean)) == _mean_axes(variance)
            and axes is not None
            and shape_of(mean.x) == shape_of(last.result)
        ):
            normalize = NormalizeOp.get(mean.x, axes=axes, epsilon=epsilon)
            put_in_place([normalize], (mean, distances, squares, variance, *between, root, last))
            return


def _variances(value: SSAValue, store: WeightStore) -> Iterator[tuple[ReduceOp, float, tuple[GraphOp, ...]]]:
    """The means from which `value` differs by an added constant, with the constant and the addition."""
    if (mean := producer(value, ReduceOp)) is not None:
        yield mean, 0.0, ()
    if (add := producer(value, AddOp)) is not None:
        for side, other in ((add.lhs, add.rhs), (add.rhs, add.lhs)):
            mean, array = producer(side, ReduceOp), known_array(other, store)
            if mean is not None and array is not None and array.size == 1:
                yield mean, float(array.reshape(-1)[0]), (add,)


def _square(value: SSAValue, x: SSAValue, store: WeightStore) -> GraphOp | None:
    """The operation that computes `value`, if that is x * x."""
    match producer(value, GraphOp):
        case MulOp() as op if op.lhs is x and op.rhs is x:
            return op
        case PowOp() as op if op.lhs is x and (exponent := known_array(op.rhs, store)) is not None:
            return op if exponent.size == 1 and float(exponent.reshape(-1)[0]) == 2 else None
        case _:
            return None


def _mean_axes(op: ReduceOp) -> tuple[int, ...] | None:
    """The axes of a mean that keeps them, at least one."""
    return op.along() or None if op.kind.data == "mean" and op.keepdims else None
