"""Move what depends on nothing in a loop out of it: as xDSL's `licm`, in one walk over each function.

Before:
```mlir
scf.for %i = %c0 to %c8 step %c1 {
  %row = arith.muli %base, %c8 : index
  %at = arith.addi %row, %i : index
  ..
}
```
After:
```mlir
%row = arith.muli %base, %c8 : index
scf.for %i = %c0 to %c8 step %c1 {
  %at = arith.addi %row, %i : index
  ..
}
```
"""

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import is_side_effect_free, is_speculatable

from aotc.dialects.operations import is_terminator, walk
from aotc.passes.loops.function_pass import FunctionPass


class MoveInvariantsPass(FunctionPass):
    name = "move-invariants"

    def function(self, ctx: Context, function: FuncOp) -> None:
        for block in function.body.blocks:
            _visit(block)


def _visit(block: Block) -> None:
    for op in list(block.ops):
        for region in op.regions:
            for inner in region.blocks:
                _visit(inner)
        if isinstance(op, scf.ForOp):
            _move_out_of(op, block)


def _move_out_of(loop: scf.ForOp, outside: Block) -> None:
    body = loop.body.block
    varying: set[SSAValue] = {*body.args}
    for op in list(body.ops):
        if is_terminator(type(op)) or not _is_invariant(op, varying) or not _is_free(op) or not is_speculatable(op):
            varying.update(op.results)
        else:
            op.detach()
            outside.insert_op_before(op, loop)


def _is_invariant(op: Operation, varying: set[SSAValue]) -> bool:
    """Whether no operation in `op` reads one of these values of the loop's body."""
    if not op.regions:
        return varying.isdisjoint(op.operands)
    return all(varying.isdisjoint(each.operands) for each in walk(op))


_free: dict[type[Operation], bool] = {}


def _is_free(op: Operation) -> bool:
    """Whether an operation has no effect on memory, which depends on its class where it has no regions."""
    if op.regions:
        return is_side_effect_free(op)
    kind = type(op)
    if kind not in _free:
        _free[kind] = is_side_effect_free(op)
    return _free[kind]
