"""Trip counts of loops."""

from __future__ import annotations

from xdsl.ir import SSAValue
from xdsl.transforms.canonicalization_patterns.utils import const_evaluate_operand

from aotc.dialects.graph.shapes import ceil_div


def trips(low: SSAValue, high: SSAValue, step: SSAValue) -> int | None:
    """Iterations of a loop, None where its bounds are not constant."""
    first, last, by = map(const_evaluate_operand, (low, high, step))
    return None if first is None or last is None or by is None else max(ceil_div(last - first, by), 0)
