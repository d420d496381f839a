"""Depthwise convolution in the NCHWc layout, and convolution in groups of neighbouring lanes of a block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from aotc.dialects.builder import Scalar
from aotc.dialects.graph.interfaces import element_type_of, shape_of
from aotc.dialects.graph.packed.convolution.within_lanes import LanesConvolutionOp
from aotc.dialects.graph.schedules import WindowSchedule
from aotc.machines.machine import Machine
from aotc.passes.kernel.costs.window_cost import window_schedule
from aotc.passes.kernel.nest import Nest
from aotc.passes.kernel.nests.convolution.window_nest import Part, WindowNest, WindowReduction
from aotc.passes.kernel.spatial_tiling import Box, SpatialTiling, TiledImplementation, tiled_windows, window_tiling
from aotc.passes.kernel.strategy import KernelStrategy, Prologue, Strategies


class DepthwiseStrategy(KernelStrategy[LanesConvolutionOp]):
    """A vector register of sums for each position; in groups, one pass over the taps for each input channel of a
    group."""

    SCHEDULES = (WindowSchedule,)
    PROLOGUES = (Prologue.STORED,)

    def schedule(self, op: LanesConvolutionOp, machine: Machine) -> WindowSchedule | None:
        return window_schedule(machine, element_type_of(op.x), shape_of(op.x)[-1])

    def spatial_tiling(self, op: LanesConvolutionOp, schedule: WindowSchedule) -> SpatialTiling | None:
        return window_tiling(op, schedule)

    def tiled_implementation(self, op: LanesConvolutionOp, box: Box) -> TiledImplementation | None:
        return tiled_windows(op, op.windows(), box)

    def nest(self, nest: Nest[LanesConvolutionOp, WindowSchedule]) -> None:
        shape = shape_of(nest.op.x)
        WindowNest(
            nest.b, nest.schedule, shape[:2], nest.op.windows(), shape[-1], nest.reads[0], _ChannelSums(nest)
        ).emit()


@dataclass(frozen=True)
class _ChannelSums(WindowReduction):
    nest: Nest[LanesConvolutionOp, WindowSchedule]
    number: int = 0
    """The input channel, within each group, that this pass adds."""

    def passes(self) -> Sequence[WindowReduction]:
        return [replace(self, number=number) for number in range(self.nest.op.per_group)]

    def view(self, value: Scalar) -> Scalar:
        if (per_group := self.nest.op.per_group) == 1:
            return value
        return self.nest.b.shuffle(value, value, [lane - lane % per_group + self.number for lane in range(self.lanes)])

    @property
    def lanes(self) -> int:
        """Of a block."""
        return shape_of(self.nest.op.x)[-1]

    def initial(self, part: Part) -> list[Scalar]:
        if self.nest.op.bias is None:
            return [self.nest.b.splat(0, part.tile, element_type_of(self.nest.op.result))]
        return [self.nest.b.splat(self.nest.reads[2](self.nest.op.bias_index(part.index)), part.tile)]

    def step(self, part: Part, taps: list[Scalar], value: Scalar, carried: list[Scalar]) -> list[Scalar]:
        index = self.nest.op.weight_index(part.index[1], taps, part.index[-1], self.nest.b.index(self.number))
        return [self.nest.b.fma(value, self.nest.reads[1](index), carried[0])]

    def finish(self, part: Part, carried: list[Scalar]) -> None:
        self.nest.writes[0](part.index, carried[0])


STRATEGIES: Strategies = {LanesConvolutionOp: (DepthwiseStrategy(),)}
