"""Multiply, then add, where a processor has no instruction for both: calls of `fma` take a hundred times as long.

The product is rounded, so results differ in the last place from those of other targets.

Before:
```mlir
%0 = math.fma %x, %y, %z : vector<4xf32>
```
After:
```mlir
%1 = arith.mulf %x, %y : vector<4xf32>
%0 = arith.addf %1, %z : vector<4xf32>
```
"""

from xdsl.context import Context
from xdsl.dialects import arith, math
from xdsl.dialects.func import FuncOp
from xdsl.rewriter import Rewriter

from aotc.passes.loops.function_pass import FunctionPass


class SplitFmaPass(FunctionPass):
    name = "split-fma"

    def function(self, ctx: Context, function: FuncOp) -> None:
        for op in list(function.walk()):
            if isinstance(op, math.FmaOp):
                product = arith.MulfOp(op.a, op.b)
                Rewriter.replace_op(op, [product, arith.AddfOp(product, op.c)])
