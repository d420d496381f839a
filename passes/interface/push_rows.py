"""Let the entry be given an input some rows at a time: one call of it after the other makes one run of the model.

Three integers in the workspace, `aot.pushed`, say how many rows had come before a call and with it, from where the
kernel that reads the input goes on, and how many the next call finds: none where this one fails. What the entry
computes before it is done at the first rows, all that is behind it when the last ones have come. The entry is given the
number of rows, and returns 1 where outputs are there, 0 where more rows are to come; -1 for fewer rows than one or more
than `aot.rows`, -2 for more than are missing: nothing is done then.

Before, with what else is in the entry left out:
```mlir
func.func @aotc_kws_push_x(%x: !aot.ptr<i8> {aot.rows = 4, aot.shape = [1, 96, 96, 3]}, %y: !aot.ptr<i8>) -> i32 {
  %pushed = memref.view %ws[%c512][] : memref<1024xi8> to memref<3xi32>
  func.call @aotc_kws_rolled_0(%x, %pushed, ..)
  func.call @aotc_kws_gemm_0(..)
  func.return %c0
```
After:
```mlir
func.func @aotc_kws_push_x(%x: !aot.ptr<i8> {..}, %rows: i32 {aot.dim = 1}, %y: !aot.ptr<i8>) -> i32 {
  %pushed = memref.view %ws[%c512][] : memref<1024xi8> to memref<3xi32>
  aot.check ..                                      // the number of rows
  memref.store %pushed[2], %pushed[0]
  memref.store (%pushed[2] + %rows), %pushed[1]
  memref.store 0, %pushed[2]
  func.call @aotc_kws_rolled_0(%x, %pushed, ..)
  scf.if %all_are_there {
    func.call @aotc_kws_gemm_0(..)
  }
  memref.store (%all_are_there ? 0 : %pushed[1]), %pushed[2]
  func.return %all_are_there
```
"""

from collections.abc import Sequence

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp, i32
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint
from xdsl.traits import is_side_effect_free

from aotc.dialects.aot import BufferOp, CheckOp, DataOp, WorkspaceOp, contract


class PushRowsPass(ModulePass):
    name = "push-rows"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        main = contract.entry(op)
        if (place := contract.PUSHED.get(main)) is not None:
            _Entry(main, place).rewrite()


class _Entry:
    """An entry that is given an input by rows."""

    def __init__(self, main: FuncOp, place: contract.WorkspacePlace) -> None:
        self.main, self.block = main, main.body.block
        self.pushed, self.call = _count(main, place)
        arguments = contract.arguments_of(main)
        self.place = next(place for place, each in enumerate(arguments) if each.rows is not None)
        self.input = arguments[self.place].tensor()

    def rewrite(self) -> None:
        """Write the new body."""
        extent = contract.Argument()
        extent.dimension = self.input.row_axis
        rows = contract.insert_argument(self.main, self.place + 1, i32, extent, "rows")
        before, after = self._tasks()
        end = self.block.last_op
        assert isinstance(end, ReturnOp)
        build = Builder(InsertPoint.before(self.call))
        came = build.insert(memref.LoadOp.get(self.pushed, [_index(build, contract.CAME)])).res
        stop = build.insert(arith.AddiOp(came, rows)).result
        build.insert(CheckOp(self._status(build, rows, stop)))
        for place, count in enumerate((came, stop, _constant(build, 0))):
            build.insert(memref.StoreOp.get(count, self.pushed, [_index(build, place)]))
        if before:
            first = build.insert(arith.CmpiOp(came, _constant(build, 0), "eq")).result
            build.insert(_conditional(first, before))
        build = Builder(InsertPoint.before(end))
        done = build.insert(arith.CmpiOp(stop, _constant(build, self.input.row_count), "eq")).result
        if after:
            build.insert(_conditional(done, after))
        following = build.insert(arith.SelectOp(done, _constant(build, 0), stop)).result
        build.insert(memref.StoreOp.get(following, self.pushed, [_index(build, contract.CAME)]))
        end.operands[0] = build.insert(arith.ExtUIOp(done, i32)).result

    def _tasks(self) -> tuple[list[Operation], list[Operation]]:
        """Operations before the call that reads the input, and behind it; those without effects come in front."""
        sides: tuple[list[Operation], list[Operation]] = ([], [])
        own, moved, behind = {self.call, *_checks(self.call)}, set[Operation](), False
        values: list[Operation] = []
        for op in list(self.block.ops)[:-1]:
            if op in own:
                behind = True
            elif is_side_effect_free(op) and not any(value.owner in moved for value in op.operands):
                values.append(op)
            else:
                sides[behind].append(op)
                moved.add(op)
        for op in values:
            op.detach()
        self.block.insert_ops_before(values, next(iter([*sides[0], self.call])))
        return sides

    def _status(self, build: Builder, rows: SSAValue, stop: SSAValue) -> SSAValue:
        """0 where so many rows may come."""
        most, none = self.input.rows, _constant(build, 0)
        assert most is not None
        above = build.insert(arith.SubiOp(rows, _constant(build, 1))).result
        wrong = build.insert(arith.CmpiOp(above, _constant(build, most), "uge")).result
        beyond = build.insert(arith.CmpiOp(stop, _constant(build, self.input.row_count), "sgt")).result
        status = build.insert(arith.SelectOp(beyond, _constant(build, -2), none)).result
        return build.insert(arith.SelectOp(wrong, _constant(build, -1), status)).result


def _count(main: FuncOp, place: contract.WorkspacePlace) -> tuple[SSAValue, Operation]:
    """The integers in the workspace that say how many rows have come, and the call that reads them."""
    for op in main.body.block.ops:
        if isinstance(op, memref.ViewOp) and isinstance(shift := op.byte_shift.owner, arith.ConstantOp):
            value = shift.value
            is_there = isinstance(value, IntegerAttr) and value.value.data == place.offset
            if is_there and _pool(op.source) == place.pool and op.result.first_use is not None:
                (user,) = {use.operation for use in op.result.uses}
                if isinstance(user, DataOp):
                    (user,) = {use.operation for use in user.result.uses}
                assert isinstance(user, CallOp)
                return op.result, user
    raise AssertionError("the workspace has the integers where `plan-memory` says")


def _pool(memory: SSAValue) -> str | None:
    """The pool that the workspace is in, be it the caller's or not; empty where it is one arena. None of weights."""
    op = memory.owner
    if isinstance(op, WorkspaceOp):
        return op.pool_name
    if isinstance(op, BufferOp) and isinstance(pointer := op.pointer, BlockArgument):
        given = contract.argument_of(pointer)
        return (given.pool or "") if given.io == "workspace" else None
    return None


def _checks(call: Operation) -> list[Operation]:
    return [use.operation for result in call.results for use in result.uses]


def _conditional(condition: SSAValue, ops: Sequence[Operation]) -> scf.IfOp:
    """`ops`, moved where they are done on a condition."""
    for op in ops:
        op.detach()
    return scf.IfOp(condition, [], Region(Block([*ops, scf.YieldOp()])), Region(Block([scf.YieldOp()])))


def _constant(build: Builder, value: int) -> SSAValue:
    return build.insert(arith.ConstantOp.from_int_and_width(value, 32)).result


def _index(build: Builder, value: int) -> SSAValue:
    return build.insert(arith.ConstantOp.from_int_and_width(value, IndexType())).result
