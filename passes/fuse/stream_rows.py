"""Have layers that read an input which comes by rows computed row by row, so that there is never all of it in memory.

Where one group reads it, one row for one of its results, its rows are read where the caller has them; else they are
copied, one after the other, so that those that are read again are there in a ring. What is computed of rows without an
anchor, as by quantisation, or joined, is as large as the input: so the groups up to the first ones with anchors, and
all between them, go on together (`streamed`), in a row of the block.

Before:
```mlir
func.func @main(%x: tensor<1x48x48x3xi8> {aot.name = "x", aot.rows = 4}, ..) {
  %0 = graph.fused (%a = %x : ..) -> (tensor<1x1x24x24x8xi8>) {..}
```
After:
```mlir
func.func @main(%x: tensor<1x48x48x3xi8> {aot.name = "x", aot.rows = 4}, ..) {
  %0 = graph.reshape %x {shape = array<i64: 48, 144>} : (tensor<1x48x48x3xi8>) -> tensor<48x144xi8>
  %1 = graph.fused (%b = %0 : tensor<48x144xi8>) -> (tensor<48x144xi8>) attributes {streamed} {
    %2 = graph.copy %b : (tensor<48x144xi8>) -> tensor<48x144xi8>
    graph.yield %2 : tensor<48x144xi8>
  }
  %3 = graph.reshape %1 {shape = array<i64: 1, 48, 48, 3>} : (tensor<48x144xi8>) -> tensor<1x48x48x3xi8>
  %4 = graph.fused (%a = %3 : ..) -> (tensor<1x1x24x24x8xi8>) attributes {streamed} {..}
```
"""

import math
from collections.abc import Iterable, Iterator, Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from aotc.dialects.aot.contract import Argument, arguments_of, entries
from aotc.dialects.axis_reads import AxisReads
from aotc.dialects.graph.interfaces import ShapeError, is_join, is_view, shape_of
from aotc.dialects.graph.movement import ReshapeOp
from aotc.dialects.graph.structure import ConstantOp, CopyOp, FusedOp
from aotc.errors import CompileError
from aotc.model.locations import node_names
from aotc.model.metadata import row_axis
from aotc.passes.fuse.groups import group_lone_kernels, make_group
from aotc.passes.kernel.rolling.group_rows import GroupRows, RowView, anchor_of
from aotc.passes.kernel.rolling.stages import STREAMED, Rolling


class StreamRowsPass(ModulePass):
    name = "stream-rows"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for entry in entries(op):
            for value, given in zip(entry.args, arguments_of(entry), strict=True):
                if given.rows is not None:
                    _Stream(entry.body.block, value, given).mark()


class _Stream:
    """An input that comes by rows, and the groups and joins that read it."""

    def __init__(self, block: Block, value: BlockArgument, given: Argument) -> None:
        self.block, self.value, self.given = block, value, given
        self.axis = row_axis(shape_of(value))
        self.copied: SSAValue | None = None
        """The input, where others read it copied."""

    def mark(self) -> None:
        """Say of the groups that they go on with the rows. Raises CompileError where one of them cannot."""
        group_lone_kernels(self.block)
        if self.value.first_use is None:
            what, fix = f"nothing reads {self.given.name}", f"leave out --stream {self.given.name}={self.given.rows}"
            raise CompileError("not-by-rows", what, "rows go to the layers that read them", fix)
        if not self._is_read_in_place():
            self._copy()
        groups = self._groups()
        self._require_rows(groups)
        self._put_in_a_row(groups)
        for group in groups:
            group.attributes[STREAMED] = UnitAttr()

    def _is_read_in_place(self) -> bool:
        """Whether one group reads the input, one row for one of its results."""
        readers = list(_readers(self.value))
        if len(readers) != 1 or not isinstance(group := readers[0], FusedOp):
            return False
        try:
            rows = GroupRows.choices(group)[0]
        except ShapeError:
            return False
        if rows.count != shape_of(self.value)[self.axis]:
            return False
        for value, ways in zip(group.inputs, rows.reads, strict=True):
            if RowView.of(value, 0).root is self.value and any(
                way is None or way != AxisReads(way.axis) or RowView.of(value, way.axis).reads != AxisReads(self.axis)
                for way in ways
            ):
                return False
        return True

    def _copy(self, shape: Sequence[int] = ()) -> FusedOp:
        """Let all that read the input read a copy of its rows, which has a shape, by default one of rows; the copy."""
        uses, own = list(self.value.uses), shape_of(self.value)
        flat = ReshapeOp.get(self.value, shape=shape or [own[self.axis], math.prod(own[self.axis + 1 :])])
        copy = CopyOp.get(flat.results[0])
        whole = ReshapeOp.get(copy.results[0], shape=own)
        Rewriter.insert_op([flat, copy, whole], InsertPoint.at_start(self.block))
        for use in uses:
            use.operation.operands[use.index] = whole.results[0]
        self.copied = whole.results[0]
        return make_group([copy], [copy.results[0]])

    def _groups(self) -> list[Operation]:
        """The groups, and joins, that go on with the rows, in order."""
        found, pending = dict[Operation, None](), list(_readers(self.value))
        while pending:
            op = pending.pop()
            if op in found:
                continue
            if not _may_roll(op):
                raise self._error(op, f"{op.name} takes all of them at once")
            found[op] = None
            if not isinstance(op, FusedOp) or anchor_of(op) is None:
                pending += [reader for result in op.results for reader in _readers(result) if reader is not self._end]
        # all that is between two of them
        behind, between = set(found), set(found)
        ops = list(self.block.ops)
        for op in ops:
            if any(isinstance(owner := value.owner, Operation) and owner in behind for value in op.operands):
                behind.add(op)
        for op in reversed(ops):
            if op in behind and any(use.operation in between for result in op.results for use in result.uses):
                between.add(op)
        kernels = [op for op in ops if op in between and not is_view(op) and not isinstance(op, ConstantOp)]
        if (other := next((op for op in kernels if not _may_roll(op)), None)) is not None:
            raise self._error(other, f"{other.name} takes all of them at once")
        return kernels

    @property
    def _end(self) -> Operation | None:
        return self.block.last_op

    def _require_rows(self, groups: list[Operation]) -> None:
        """Raise CompileError where groups cannot go on with the rows. Then the block is another one than before."""
        rolling = Rolling(streamed=True)
        for group in groups:
            try:
                rolling.add(group, GroupRows.choices(group))
            except ShapeError as error:
                if (other := self._other_axis(groups)) is None:
                    raise self._error(group, str(error)) from error
                why, fix = f"they go along axis {other}, and its rows are along axis {self.axis}", ""
                if self.given.layout is None and self.axis == 1:
                    fix = f"have its channels last, with --input-layout {self.given.name}=nhwc"
                raise self._error(group, why, fix) from error
            if not rolling.stages[-1].reads and group is not groups[0]:
                raise self._error(group, "a group reads it otherwise than by its rows")

    def _other_axis(self, groups: Sequence[Operation]) -> int | None:
        """Another axis of the input along which groups could go on, if it came so."""
        if self.copied is not None:
            self.copied.replace_all_uses_with(self.value)
            groups = groups[1:]
        copy = self._copy(shape_of(self.value))
        for rows in GroupRows.choices(copy):
            rolling = Rolling(streamed=True)
            try:
                rolling.add(copy, [rows])
                for group in groups:
                    rolling.add(group, GroupRows.choices(group))
            except ShapeError:
                continue
            if rows.axis != self.axis:
                return rows.axis
        return None

    def _put_in_a_row(self, groups: list[Operation]) -> None:
        """Put what is between the groups, and is none of them, in front of them or behind them."""
        ops = list(self.block.ops)
        first, last = ops.index(groups[0]), ops.index(groups[-1])
        behind, before = set(groups), set(groups)
        for op in reversed(ops[first : last + 1]):
            if any(use.operation in before for result in op.results for use in result.uses):
                before.add(op)
        later: list[Operation] = []
        for op in ops[first : last + 1]:
            if op in groups:
                continue
            if any(value.owner in behind for value in op.operands):
                behind.add(op)
                later += [] if op in before else [op]  # but views between two of them
            else:
                op.detach()
                self.block.insert_op_before(op, groups[0])
        for op in reversed(later):
            op.detach()
            self.block.insert_op_after(op, groups[-1])

    def _error(self, op: Operation, why: str, fix: str = "") -> CompileError:
        option = f"--stream {self.given.name}={self.given.rows}"
        anchor = anchor_of(op) if isinstance(op, FusedOp) else None
        node = ", ".join(node_names((anchor or op).location))
        what = f"{option}: layers that read it cannot be computed row by row"
        return CompileError("not-by-rows", what, why, fix or f"leave out {option}", node=node)


def _may_roll(op: Operation) -> bool:
    return isinstance(op, FusedOp) or is_join(op)


def _readers(value: SSAValue) -> Iterator[Operation]:
    """All that reads a value, or views of it."""
    users: Iterable[Operation] = dict.fromkeys(use.operation for use in value.uses)
    for op in users:
        if is_view(op):
            yield from _readers(op.results[0])
        else:
            yield op
