"""Writing at indices that are tensors, and selecting the largest elements, without working memory.

With it (`scatter_elements_in_memory`, `top_k_in_memory`) the work is no product: choose-schedule asks for that form.
"""

from __future__ import annotations

from abc import ABC
from math import prod
from typing import TYPE_CHECKING, ClassVar

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, result_def

from aotc.dialects.graph.in_memory import ScatterElementsInMemoryOp, ScatterNdInMemoryOp, TopKInMemoryOp
from aotc.dialects.graph.interfaces import AnchorOp, shape_of
from aotc.dialects.graph.scattering import ScatteringElements, ScatteringSlices, Selecting
from aotc.dialects.graph.schedules import ScatterSchedule, Schedule
from aotc.machines.machine import Machine

if TYPE_CHECKING:
    from aotc.passes.kernel.layouts import Layouts

FEW_STEPS = 4
"""So many steps for an element are not worth working memory."""


def in_memory(steps: int) -> Schedule | None:
    """The schedule, element by element, of what otherwise takes `steps` for each element; None where these are few."""
    return ScatterSchedule(1) if steps > FEW_STEPS else None


class _WithoutMemory(AnchorOp, ABC):
    """What becomes another operation where it has a schedule."""

    IN_MEMORY: ClassVar[type[AnchorOp]]
    """The same with working memory: an operation of the same operands and properties."""

    def lay_out(self, layouts: Layouts) -> SSAValue | None:
        return layouts.rescheduled(self, self.IN_MEMORY)


@irdl_op_definition
class ScatterElementsOp(_WithoutMemory, ScatteringElements):
    """Element by element along `axis`, without working memory."""

    name = "graph.scatter_elements"
    IN_MEMORY: ClassVar[type[AnchorOp]] = ScatterElementsInMemoryOp
    result = result_def(TensorType)

    def schedule_on(self, machine: Machine) -> Schedule | None:
        return in_memory(shape_of(self.indices)[self.axis.value.data])


@irdl_op_definition
class ScatterNdOp(_WithoutMemory, ScatteringSlices):
    """Whole slices at index tuples, without working memory."""

    name = "graph.scatter_nd"
    IN_MEMORY: ClassVar[type[AnchorOp]] = ScatterNdInMemoryOp
    result = result_def(TensorType)

    def schedule_on(self, machine: Machine) -> Schedule | None:
        return in_memory(prod(shape_of(self.indices)[:-1]))


@irdl_op_definition
class TopKOp(_WithoutMemory, Selecting):
    """The `k` greatest elements along `axis`, without working memory: in k * n steps."""

    name = "graph.top_k"
    IN_MEMORY: ClassVar[type[AnchorOp]] = TopKInMemoryOp
    values = result_def(TensorType)
    positions = result_def(TensorType)

    def schedule_on(self, machine: Machine) -> Schedule | None:
        return in_memory(shape_of(self.x)[self.axis.value.data])
