"""Remove filters whose coefficient is zero: they copy their input.

Before:
```mlir
%1 = signal.preemphasis %0 {coefficient = 0.0 : f64} : (tensor<160xf32>) -> tensor<160xf32>
%2 = graph.relu %1 : (tensor<160xf32>) -> tensor<160xf32>
```
After:
```mlir
%2 = graph.relu %0 : (tensor<160xf32>) -> tensor<160xf32>
```
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from aotc_signal.dialect import PreemphasisOp


@dataclass(frozen=True)
class DropIdlePreemphasisPass(ModulePass):
    """Remove filters whose coefficient is zero."""

    name = "drop-idle-preemphasis"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for filter_ in [inner for inner in op.walk() if isinstance(inner, PreemphasisOp)]:
            if filter_.coefficient == 0.0:
                Rewriter.replace_op(filter_, [], [filter_.x])
