"""Where canonicalisation patterns register with the operations they are tried on; operators from outside add theirs.

```python
@simplifies(NegOp)
def twice_negated(op: UnaryOp) -> Simplified:
    inner = producer(op.x, NegOp)
    return None if inner is None else inner.x
```
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias, TypeVar

from xdsl.dialects.builtin import UNKNOWN_LOC
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

Simplified: TypeAlias = "SSAValue | Operation | Sequence[Operation] | None"
"""The value to use instead, or the operations to put in place (of which the last replaces); None: all stays."""
Op = TypeVar("Op", bound=Operation)

_TABLE: list[tuple[type[Operation], Callable[[Any], Simplified]]] = []


def simplifies(*classes: type[Operation]) -> Callable[[Callable[[Op], Simplified]], Callable[[Op], Simplified]]:
    """Register the decorated function for operations of `classes` and their subclasses."""

    def register(function: Callable[[Op], Simplified]) -> Callable[[Op], Simplified]:
        _TABLE.extend((each, function) for each in classes)
        patterns_of.cache_clear()
        return function

    return register


@cache
def patterns_of(op_class: type[Operation]) -> tuple[RewritePattern, ...]:
    """The patterns of the `canonicalize` pass for one class of operations, in the order they were registered."""
    return tuple(Simplification(function) for each, function in _TABLE if issubclass(op_class, each))


@dataclass(frozen=True)
class Simplification(RewritePattern):
    """A registered function as a rewrite pattern."""

    simplify: Callable[[Any], Simplified]

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        new = self.simplify(op)
        if new is None:
            return
        if isinstance(new, SSAValue):
            rewriter.replace(op, [], [new])
            return
        ops = [new] if isinstance(new, Operation) else list(new)
        for each in ops:
            if each.location == UNKNOWN_LOC:
                each.location = op.location
        rewriter.replace(op, ops)
