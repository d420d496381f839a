"""Scattering and selecting with a scratch buffer, in time that grows with the elements, not with a product.

These forms are what `assign-layouts` makes of the operations of `scatter`. Their loops, which define them, are those
without the buffer; their kernel strategies use it, element by element.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import OpResult
from xdsl.irdl import irdl_op_definition, result_def

from aotc.dialects.graph.interfaces import element_type_of
from aotc.dialects.graph.scattering import ScatteringElements, ScatteringSlices, ScatterOp, Selecting


class _ScatteringInMemory(ScatterOp, ABC):
    """With a second result of the type of the first, in which the updates are done."""

    result = result_def(TensorType)
    memory = result_def(TensorType)

    def infer_types(self) -> Sequence[TensorType]:
        return [*super().infer_types()] * 2

    def scratch(self) -> Sequence[OpResult]:
        return [self.memory]


@irdl_op_definition
class ScatterElementsInMemoryOp(_ScatteringInMemory, ScatteringElements):
    """As `scatter_elements`: x is copied to `memory`, updated there and written, a piece before `axis` at a time."""

    name = "graph.scatter_elements_in_memory"


@irdl_op_definition
class ScatterNdInMemoryOp(_ScatteringInMemory, ScatteringSlices):
    """As `scatter_nd`: x is copied to `memory`, updated there in order and written."""

    name = "graph.scatter_nd_in_memory"


@irdl_op_definition
class TopKInMemoryOp(Selecting):
    """As `top_k`, by a heap: the worst of the best elements so far is at its root, and gives way to a better one.

    The heap of a line is a full binary tree of at least `k` nodes, element and index; index -1 is a free node, worse
    than any element. At the end the worst node is taken out again and again, and the largest index stands for what
    is better than any element: n + m log m steps for those m elements that get in.
    """

    name = "graph.top_k_in_memory"
    values = result_def(TensorType)
    positions = result_def(TensorType)
    heap = result_def(TensorType)
    indices = result_def(TensorType)

    @property
    def depth(self) -> int:
        """Levels of the tree."""
        return max(self.k.value.data.bit_length(), 1)

    def infer_types(self) -> Sequence[TensorType]:
        values, positions = super().infer_types()
        axis, shape = self.axis.value.data, list(values.get_shape())
        shape[axis] = 2**self.depth - 1
        return [values, positions, TensorType(element_type_of(self.x), shape), TensorType(i64, shape)]

    def scratch(self) -> Sequence[OpResult]:
        return [self.heap, self.indices]
