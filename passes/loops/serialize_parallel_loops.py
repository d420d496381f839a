"""Turn every parallel loop into a nest of sequential loops, first dimension outermost.

Before:
```mlir
scf.parallel (%i, %j) = (%c0, %c0) to (%c4, %c8) step (%c1, %c1) {
  "body"(%i, %j)
  scf.reduce
}
```
After, with a reduction carried by the loops in iteration order:
```mlir
scf.for %i = %c0 to %c4 step %c1 {
  scf.for %j = %c0 to %c8 step %c1 {
    "body"(%i, %j)
  }
}
```
"""

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType, ModuleOp
from xdsl.ir import Block, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from aotc.dialects.operations import walk


def serialize(op: scf.ParallelOp) -> None:
    """Replace one scf.parallel by nested scf.for loops."""
    kinds = [value.type for value in op.initVals]
    blocks = [Block(arg_types=[IndexType(), *kinds]) for _ in op.lowerBound]
    for block, argument in zip(blocks, op.body.block.args, strict=True):
        block.args[0].name_hint = argument.name_hint

    innermost = blocks[-1]
    Rewriter.inline_block(op.body.block, InsertPoint.at_end(innermost), [block.args[0] for block in blocks])
    reduce = innermost.last_op
    assert isinstance(reduce, scf.ReduceOp)
    values: list[SSAValue] = []
    for carried, value, region in zip(innermost.args[1:], reduce.args, reduce.reductions, strict=True):
        Rewriter.inline_block(region.block, InsertPoint.before(reduce), [carried, value])
        combined = reduce.prev_op
        assert isinstance(combined, scf.ReduceReturnOp)
        values.append(combined.result)
        Rewriter.erase_op(combined)
    Rewriter.erase_op(reduce)

    for level in reversed(range(len(blocks))):
        initial = list(op.initVals) if level == 0 else list(blocks[level - 1].args[1:])
        blocks[level].add_op(scf.YieldOp(*values))
        loop = scf.ForOp(op.lowerBound[level], op.upperBound[level], op.step[level], initial, Region(blocks[level]))
        loop.location = op.location
        values = list(loop.results)
        if level > 0:
            blocks[level - 1].add_op(loop)
        else:
            Rewriter.replace_op(op, loop)


class SerializeParallelLoopsPass(ModulePass):
    name = "serialize-parallel-loops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for loop in [inner for inner in walk(op) if isinstance(inner, scf.ParallelOp)]:
            serialize(loop)
