"""Make one kernel of the groups that `roll` says, which computes some rows of each at a time (`graph.rolled`).

Before:
```mlir
%1 = graph.fused (%a = %x : ..) -> (tensor<1x1x48x48x8xi8>) {..} attributes {roll = 0 : i64}
%2 = graph.fused (%b = %1 : tensor<1x1x48x48x8xi8>) -> (tensor<1x1x24x24x8xi8>) {..} attributes {roll = 0 : i64}
```
After:
```mlir
%2, %ring = graph.rolled (%c = %x : ..) -> (tensor<1x1x24x24x8xi8>, tensor<3x384xi8>) {
  %1 = graph.fused (%a = %c : ..) -> (tensor<1x1x48x48x8xi8>) {..}
  %3 = graph.fused (%b = %1 : tensor<1x1x48x48x8xi8>) -> (tensor<1x1x24x24x8xi8>) {..}
  graph.yield %3 : tensor<1x1x24x24x8xi8>
}
```
Groups that go on with the rows of an input which comes by rows (`streamed`) roll together without being told, and read
how many have come from a new argument of the entry, `aot.io = "pushed"`.
"""

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from aotc.dialects.aot.contract import (
    RINGS,
    Argument,
    RowRing,
    append_argument,
    arguments_of,
    results_of,
    set_results,
)
from aotc.dialects.dtypes import byte_width
from aotc.dialects.graph.compound.control_flow import graph_blocks
from aotc.dialects.graph.compound.rolled import RolledOp
from aotc.dialects.graph.interfaces import ShapeError, element_type_of, is_view, viewed_whole
from aotc.dialects.graph.schedules import ScheduleAttr
from aotc.dialects.graph.structure import FusedOp, YieldOp
from aotc.model.locations import fuse_locations
from aotc.passes.fuse.groups import in_order, sort_operations
from aotc.passes.kernel.rolling.group_rows import RowView, anchor_of
from aotc.passes.kernel.rolling.rings import Buffers
from aotc.passes.kernel.rolling.stages import ROLL, STREAMED, Rolling


class RollRowsPass(ModulePass):
    name = "roll-rows"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for block in graph_blocks(op):
            together: dict[Attribute, list[Operation]] = {}
            for each in block.ops:
                if (number := each.attributes.pop(ROLL, each.attributes.get(STREAMED))) is not None:
                    together.setdefault(number, []).append(each)
            for groups in together.values():
                _count_rows(block, _roll(groups))
            if together:
                if in_order(list(block.ops)) is None:
                    raise PassFailedException("groups that roll together depend on what is computed between them")
                sort_operations(block)


def _roll(groups: Sequence[Operation]) -> RolledOp:
    block, inputs = Block(), dict[SSAValue, SSAValue]()
    results = {result for group in groups for result in group.results}
    outputs = [value for group in groups for value in group.results if _is_needed(value, set(groups))]
    inside: dict[SSAValue, SSAValue] = {}

    def enter(value: SSAValue) -> None:
        if value in inside:
            return
        if RowView.of(value, 0).root in results:
            view = value.owner
            assert isinstance(view, Operation)
            enter(view.operands[0])
            block.add_op(view.clone(inside))
            return
        inputs[value] = inside[value] = block.insert_arg(value.type, len(block.args))
        inside[value].name_hint = value.name_hint

    for group in groups:
        for value in group.operands:
            enter(value)
        block.add_op(group.clone(inside))
    block.add_op(YieldOp([inside[value] for value in outputs]))
    try:
        rolling = Rolling(block.ops, streamed=any(STREAMED in group.attributes for group in groups))
        scratch = rolling.scratch()
    except ShapeError as error:
        raise PassFailedException(f"groups do not roll together: {error}") from error
    rolled = RolledOp.of(list(inputs), Region(block), scratch)
    RINGS.set(rolled, _rings(rolling))
    rolled.location = fuse_locations(group.location for group in groups)
    anchors = (anchor_of(group) for group in groups if isinstance(group, FusedOp))
    schedules = [
        anchor.attributes[ScheduleAttr.KEY] for anchor in anchors if anchor and ScheduleAttr.KEY in anchor.attributes
    ]
    if schedules:
        rolled.attributes[ScheduleAttr.KEY] = schedules[0]
    Rewriter.insert_op(rolled, InsertPoint.before(groups[-1]))
    for value, result in zip(outputs, rolled.results, strict=False):
        result.name_hint = value.name_hint
        value.replace_all_uses_with(result)
    for group in reversed(groups):
        for result in group.results:
            _erase_views(result)
        Rewriter.erase_op(group)
    return rolled


def _count_rows(block: Block, rolled: RolledOp) -> None:
    """Tell groups that go on with the rows of an input how many have come."""
    streamed = [STREAMED in stage.attributes for stage in rolled.stages]
    for stage in rolled.stages:
        stage.attributes.pop(STREAMED, None)
    function = block.parent_op()
    if not any(streamed) or not isinstance(function, FuncOp):
        return
    arguments, results = arguments_of(function), results_of(function)
    value, given = next((arg, each) for arg, each in zip(block.args, arguments, strict=True) if each.rows is not None)
    kind = RolledOp.COUNTS
    pushed = append_argument(function, kind, Argument(name=f"{given.name} rows", dtype="int32", io="pushed"), "pushed")
    set_results(function, results)
    rolled.block.insert_arg(kind, len(rolled.block.args))
    (place,) = [place for place, each in enumerate(rolled.inputs) if viewed_whole(each) is value]
    rolled.operands = [*rolled.inputs, pushed]
    rolled.attributes["streamed"] = IntegerAttr(place, i64)


def _rings(rolling: Rolling) -> Sequence[RowRing]:
    """The rings between groups, for the memory plan."""
    buffers = Buffers.of(rolling.rings())
    return [
        RowRing(
            ring.stage,
            ring.rows,
            rolling.stages[ring.stage].rows,
            ring.length * byte_width(element_type_of(ring.value)),
            number,
        )
        for ring, number in zip(buffers.rings, buffers.numbers, strict=True)
    ]


def _is_needed(value: SSAValue, groups: set[Operation]) -> bool:
    """Whether anything but `groups` reads a value, or a view of it."""
    users = [use.operation for use in value.uses]
    return any(_is_needed(op.results[0], groups) if is_view(op) else op not in groups for op in users)


def _erase_views(value: SSAValue) -> None:
    """Erase the views of a value that nothing reads any more."""
    for op in [use.operation for use in value.uses]:
        if is_view(op):
            _erase_views(op.results[0])
            if op.results[0].first_use is None:
                Rewriter.erase_op(op)
