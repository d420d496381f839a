"""Compute tables, as of angles of positions and frequencies, that would need a buffer at run time.

A table has more elements than the constants that it is computed of, and an element of it takes more than is worth
repeating where it is read. Cheaper ones are computed by what reads them, and what has more than `most` bytes in each
call. What is stored narrow stays so: weights of few bits are no tables.

Before:
```mlir
%0 = graph.mul %positions, %frequencies : (tensor<64x1xf32>, tensor<16xf32>) -> tensor<64x16xf32>
%1 = graph.cos %0 : (tensor<64x16xf32>) -> tensor<64x16xf32>
```
After:
```mlir
%1 = graph.constant dense_resource<constant> : tensor<64x16xf32>
```
"""

import math
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from aotc.dialects.aot.contract import target_of
from aotc.dialects.constants import computed_array, constant_op
from aotc.dialects.dtypes import byte_width, is_float
from aotc.dialects.graph.compound.control_flow import graph_blocks
from aotc.dialects.graph.interfaces import AnchorOp, ElementOp, GraphOp, bytes_of, element_type_of, shape_of
from aotc.dialects.graph.structure import ConstantOp
from aotc.machines.targets import core_of
from aotc.model.limits import MOST_FOLDED
from aotc.model.locations import node_names
from aotc.model.weight_store import WeightStore
from aotc.passes.kernel.scalar_cost import CHEAP, element_cost


@dataclass(frozen=True)
class FoldTablesPass(ModulePass):
    name = "fold-tables"

    most: int = MOST_FOLDED
    """Bytes of a table (`--max-folded`)."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        store, has_floats = WeightStore.of(ctx), core_of(target_of(op)).fpu
        for block in graph_blocks(op):
            sources: dict[SSAValue, frozenset[SSAValue]] = {}
            for each in [op for op in block.ops if isinstance(op, GraphOp)]:
                if self._is_table(each, sources) and _takes_buffer(each, has_floats):
                    result = each.results[0]
                    store.count_computed(bytes_of(result), ", ".join(node_names(each.location)), each.name)
                    if (array := computed_array(result, store)) is not None:
                        constant = constant_op(array, "table", store)
                        constant.location = each.location
                        Rewriter.replace_op(each, [constant])

    def _is_table(self, op: GraphOp, sources: dict[SSAValue, frozenset[SSAValue]]) -> bool:
        """Whether the result of `op` has more elements than the constants that it is computed of, which go to the
        `sources` of values."""
        if not op.operands or len(op.results) != 1 or op.ORDERS_WEIGHTS or bytes_of(op.results[0]) > self.most:
            return False
        sources.update((value, frozenset([value])) for value in op.operands if isinstance(value.owner, ConstantOp))
        if not all(value in sources for value in op.operands):
            return False
        count, width = _size(op.results[0])
        found = sources[op.results[0]] = frozenset[SSAValue]().union(*(sources[value] for value in op.operands))
        sizes = [_size(value) for value in found]
        is_narrow = any(stored > ConstantOp.INLINE_LIMIT and narrow < width for stored, narrow in sizes)
        return count > sum(stored for stored, _ in sizes) and not is_narrow


def _takes_buffer(op: GraphOp, has_floats: bool) -> bool:
    """Whether `op` would be computed once in each call, and not by what reads it; `has_floats` where floats are
    computed by instructions rather than by functions."""
    if isinstance(op, ElementOp):
        is_called = not has_floats and is_float(element_type_of(op.results[0]))
        return element_cost(op) > (0 if is_called else CHEAP)
    return isinstance(op, AnchorOp)


def _size(value: SSAValue) -> tuple[int, int]:
    """Elements of a tensor, and the bytes of one."""
    return math.prod(shape_of(value)), byte_width(element_type_of(value))
