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
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter


class SplitFmaPass(ModulePass):
    name = "split-fma"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        _split(op)

    def function(self, ctx: Context, function: FuncOp) -> None:
        """One function, which needs no other one for it."""
        _split(function)


def _split(op: Operation) -> None:
    for each in list(op.walk()):
        if isinstance(each, math.FmaOp):
            product = arith.MulfOp(each.a, each.b)
            Rewriter.replace_op(each, [product, arith.AddfOp(product, each.c)])
