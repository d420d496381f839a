"""Depthwise convolution on blocked tensors [N, ceil(C / B), spatial.., B] (see `blocked`)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition

from aotc.dialects.graph.interfaces import (
    Prologue,
    ShapeError,
    common_element_type,
    element_type_of,
    shape_of,
)
from aotc.dialects.graph.loops import LoopBuilder, Reader, Writer
from aotc.dialects.graph.scalars import Scalar
from aotc.dialects.graph.schedule import Machine, Schedule
from aotc.dialects.graph.tiling import TileBuilder
from aotc.dialects.graph.window_tiles import Part, WindowNest, WindowReduction, window_schedule
from aotc.dialects.graph.windowed import BlockedSlidingAxes, check_bias


@irdl_op_definition
class BlockedDepthwiseConvOp(BlockedSlidingAxes):
    """Convolution of each channel with a kernel of its own: x [N, blocks, spatial.., B], weight [blocks, kernel.., B].

    The weight is what `pack_channels` makes of [C, 1, kernel..] seen as [1, C, kernel..], the optional bias
    [blocks * B].
    """

    name = "graph.blocked_depthwise_conv"

    def spatial(self) -> tuple[int, ...]:
        return shape_of(self.x)[2:-1]

    def kernel(self) -> tuple[int, ...]:
        return shape_of(self.weight)[1:-1]

    def infer_types(self) -> Sequence[TensorType]:
        x, weight = shape_of(self.x), shape_of(self.weight)
        if len(x) < 4 or len(weight) != len(x) - 1:
            raise ShapeError(
                f"operand [N, blocks, spatial..., B] and weight [blocks, kernel..., B] do not have shapes {list(x)} and"
                f" {list(weight)}"
            )
        if (x[1], x[-1]) != (weight[0], weight[-1]):
            raise ShapeError(f"operand {list(x)} and weight {list(weight)} have different blocks")
        check_bias(self.bias, x[1], x[-1])
        shape = [*x[:2], *self.extents(), x[-1]]
        return [TensorType(common_element_type(*self.operands), shape)]

    def operations(self) -> int:
        """Missing channels count."""
        return 2 * math.prod(shape_of(self.result)) * math.prod(self.kernel())

    def bias_index(self, index: Sequence[Scalar]) -> list[Scalar]:
        """Where the bias of the result element at `index` is."""
        return [index[1] * shape_of(self.x)[-1] + index[-1]]

    def loops(self, b: LoopBuilder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        def body(index: list[Scalar]) -> None:
            batch, block, *position, lane = index
            axes = self.taps(b, position)

            def step(at: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
                seen = [axis.at(k) for axis, k in zip(axes, at, strict=True)]
                x = reads[0]([batch, block, *(place for place, _ in seen), lane])
                return [carried[0] + x * reads[1]([block, *(tap for _, tap in seen), lane])]

            initial = self.initial(b, reads, self.bias_index(index))
            writes[0](index, b.reduce([(axis.low, axis.high) for axis in axes], [initial], step)[0])

        b.for_each(shape_of(self.result), body)

    def prologue(self, operand: int) -> Prologue:
        return Prologue.STORED

    def schedule_on(self, machine: Machine) -> Schedule | None:
        return window_schedule(machine, element_type_of(self.x), shape_of(self.x)[-1])

    def tiled_loops(
        self, b: TileBuilder, reads: Sequence[Reader], writes: Sequence[Writer], schedule: Schedule
    ) -> None:
        shape = shape_of(self.x)
        sums = _ChannelSums(self, b, reads, writes)
        WindowNest(b, schedule, shape[:2], self.windows(), shape[-1], reads[0], sums).run()


@dataclass(frozen=True)
class _ChannelSums(WindowReduction):
    op: BlockedDepthwiseConvOp
    b: TileBuilder
    reads: Sequence[Reader]
    writes: Sequence[Writer]

    def initial(self, part: Part) -> list[Scalar]:
        if self.op.bias is None:
            return [self.b.splat(0, part.tile, element_type_of(self.op.result))]
        return [self.b.splat(self.reads[2](self.op.bias_index(part.index)), part.tile)]

    def step(self, part: Part, taps: list[Scalar], value: Scalar, carried: list[Scalar]) -> list[Scalar]:
        weight = self.reads[1]([part.index[1], *taps, part.index[-1]])
        return [self.b.fma(value, weight, carried[0])]

    def finish(self, part: Part, carried: list[Scalar]) -> None:
        self.writes[0](part.index, carried[0])
