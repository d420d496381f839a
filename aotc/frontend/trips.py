"""How many iterations a loop has, where that is known when compiling."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import Block, SSAValue

from aotc.dialects.constants import known_array
from aotc.dialects.graph.compound.control_flow import yield_of
from aotc.dialects.graph.interfaces import GraphOp
from aotc.model.weight_store import Array, WeightStore

_MOST_TRIPS = 1 << 14
"""That are tried: each takes some microseconds for every operation."""
_MOST_ELEMENTS = 64
"""Of a tensor among those that are computed: counters, and what is made of them."""


def counted_trips(block: Block, states: Sequence[SSAValue], limit: int | None, store: WeightStore) -> int | None:
    """How many iterations the body of a loop has: the arguments of `block` are the number of the iteration, what is
    carried, `states` in the first iteration, and what is captured; it yields the condition and what is carried on.

    The condition holds before the first iteration; there are at most `limit`. The operations that the condition needs
    are computed iteration by iteration. None where they need more than constants, or the iterations are too many.
    """
    end = yield_of(block)
    values: dict[SSAValue, Array] = {}
    carried: dict[SSAValue, SSAValue] = {}
    needed: set[GraphOp] = set()
    waiting = [end.values[0]]
    while waiting:
        value = waiting.pop()
        if value in values or value in carried:
            continue
        known = known_array(value, store)
        place = block.args.index(value) if value in block.args else None
        if known is None and place is not None and 0 < place <= len(states):
            known, carried[value] = known_array(states[place - 1], store), end.values[place]
            waiting.append(carried[value])
        elif place == 0:
            known = np.zeros((), np.int64)
        if known is not None:
            if known.size > _MOST_ELEMENTS:
                return None
            values[value] = known
        elif isinstance(op := value.owner, GraphOp) and op.parent is block and op.operands:
            needed.add(op)
            waiting += op.operands
        else:
            return None
    operations = [op for op in block.ops if isinstance(op, GraphOp) and op in needed]
    most = _MOST_TRIPS if limit is None else min(limit, _MOST_TRIPS)
    for trip in range(most):
        values[block.args[0]] = np.array(trip, np.int64)
        if not _computed(operations, values):
            return None
        if not values[end.values[0]].all():
            return trip + 1
        values |= {argument: values[value] for argument, value in carried.items()}
    return limit if limit == most else None


def _computed(operations: Sequence[GraphOp], values: dict[SSAValue, Array]) -> bool:
    """Whether the results of all operations could be added to `values`."""
    for op in operations:
        with np.errstate(all="ignore"):
            results = op.evaluate([values[operand] for operand in op.operands])
        if results is None or any(result.size > _MOST_ELEMENTS for result in results):
            return False
        values |= dict(zip(op.results, results, strict=True))
    return True
