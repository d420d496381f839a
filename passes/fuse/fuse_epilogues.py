"""Apply the pointwise operations on an anchor's result where the anchor writes it.

An epilogue ends where a value is also needed outside the group, which has one result, and, where the anchor is
vectorised, before an operation that is not vectorizable. It does not end with a dequantisation or another widening: the
readers had better do that themselves, because the tensor in memory is narrower. A vectorised anchor may write its rows
in another order at the end, where no kernel reads them, as the heads of an attention before a product; an anchor that
writes single elements may put these in any order, as planes of a picture that is a result of the model.

Before:
```mlir
%0 = graph.matmul %x, %w : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
%1 = graph.add %0, %bias : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
%2 = graph.relu %1 : (tensor<2x4xf32>) -> tensor<2x4xf32>
```
After:
```mlir
%2 = graph.fused (%a = %x : tensor<2x8xf32>, %b = %w : tensor<8x4xf32>, %c = %bias : tensor<4xf32>)
    -> (tensor<2x4xf32>) {
  %3 = graph.matmul %a, %b : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  %4 = graph.add %3, %c : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %5 = graph.relu %4 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  graph.yield %5 : tensor<2x4xf32>
}
```
"""

from collections.abc import Mapping

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue, Use

from aotc.dialects.graph.compound.control_flow import graph_blocks
from aotc.dialects.graph.interfaces import AnchorOp, ElementOp, Fusion, is_kernel, shape_of
from aotc.dialects.graph.schedules import schedule_of
from aotc.dialects.graph.structure import FusedOp
from aotc.model.weight_store import WeightStore
from aotc.passes.fuse.fusion_policy import FusingPass, buffers, may_duplicate
from aotc.passes.fuse.groups import make_group
from aotc.passes.fuse.vectorizable import VectorForms
from aotc.passes.kernel.strategy import Prologue, is_vectorized, strategy_of, works_on_tiles


class FuseEpiloguesPass(FusingPass):
    name = "fuse-epilogues"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        forms = VectorForms(WeightStore.of(ctx))
        for block in graph_blocks(op):
            position = {each: number for number, each in enumerate(block.ops)}
            for anchor in position:
                if isinstance(anchor, AnchorOp):
                    _fuse(anchor, position, forms, self)


def _fuse(anchor: AnchorOp, position: Mapping[Operation, int], forms: VectorForms, limits: FusingPass) -> None:
    used = [result for result in anchor.results if result.first_use is not None]
    if len(used) != 1:
        return
    epilogue = _epilogue(anchor, used[0], position, forms if works_on_tiles(anchor) else None, limits)
    if epilogue:
        make_group([anchor, *epilogue], [epilogue[-1].results[0]])


def _epilogue(
    anchor: AnchorOp,
    result: SSAValue,
    position: Mapping[Operation, int],
    forms: VectorForms | None,
    limits: FusingPass,
) -> list[Operation]:
    """The operations to apply to `result`, in order: the longest sequence of which only the last is used elsewhere.

    Users are taken in program order up to the first that does not fit: its operand is needed outside, so from there on
    the group would have two results. With `forms` the anchor is vectorised, and the operations must be vectorizable.
    """
    members: list[Operation] = [anchor]
    values = {result}
    longest: list[Operation] = []
    waiting = {use.operation for use in result.uses}
    while waiting:
        op = min(waiting, key=lambda user: position.get(user, -1))
        waiting.remove(op)
        if len(members) == limits.most_operations or not _fits(op, result, forms):
            break
        if not limits.has_room(members, buffers([*members, op])):
            break
        members.append(op)
        values.add(op.results[0])
        waiting |= {use.operation for use in op.results[0].uses}
        if sum(any(use.operation not in members for use in value.uses) for value in values) == 1:
            longest = members[1:]
    while longest and _readers_widen(longest[-1]):
        longest.pop()
    last = longest[-1].results[0] if longest else result
    if len(longest) + 1 < limits.most_operations and (transpose := _transpose(anchor, last)) is not None:
        longest.append(transpose)
    return longest


def _transpose(anchor: AnchorOp, value: SSAValue) -> Operation | None:
    """The only reader of `value`, where it permutes rows as they are, and no kernel can read them where they were. An
    anchor that writes single elements may permute these, too."""
    users = [use.operation for use in value.uses]
    if len(users) != 1 or not isinstance(op := users[0], ElementOp) or not is_kernel(op):
        return None
    axes, schedule = op.permuted_axes(), schedule_of(anchor)
    if axes is None or schedule is None or any(is_kernel(use.operation) for use in op.results[0].uses):
        return None
    if works_on_tiles(anchor):
        return op if len(axes) == len(shape_of(value)) and axes[-1] == len(axes) - 1 else None
    return op if schedule.lanes == 1 else None


def _readers_widen(op: Operation) -> bool:
    """Whether the readers of the result had better compute `op` themselves, because its operand is narrower."""
    return isinstance(op, ElementOp) and may_duplicate(op) and all(map(_can_compute, op.results[0].uses))


def _can_compute(use: Use) -> bool:
    """Whether a reader may compute what it reads: a vectorised anchor often takes in data movement at most."""
    reader = use.operation
    if is_vectorized(reader):
        return strategy_of(reader).prologue(reader, use.index) is Prologue.COMPUTED
    if isinstance(reader, ElementOp) and reader.MOVES:
        return is_kernel(reader) and all(map(_can_compute, reader.results[0].uses))
    return is_kernel(reader) or isinstance(reader, FusedOp)


def _fits(op: Operation, result: SSAValue, forms: VectorForms | None) -> bool:
    return (
        isinstance(op, ElementOp)
        and op.FUSION is Fusion.POINTWISE
        and shape_of(op.results[0]) == shape_of(result)
        and (forms is None or forms.is_vectorizable(op))
    )
