"""Convolution of blocked tensors to few channels: sums along the lanes instead of lanes that would stay empty.

`blocked_conv` has output channels in the lanes of its sums. Of few channels, as images, masks or heat maps have, most
lanes are empty; here they hold input channels, and the lanes of a sum are added up at its end.
"""

from __future__ import annotations

import math
from abc import ABC
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition

from aotc.dialects import aot
from aotc.dialects.aot.tiles import tile_shape
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
from aotc.dialects.graph.windows.axes import ConvolutionalOp, SlidingAxes, TransposedAxes, check_bias
from aotc.dialects.graph.windows.sliding import SlidingWindow
from aotc.dialects.graph.windows.transposed import Phases
from aotc.passes.kernel.builders.tile_builder import Tile, TileBuilder, TileIndex
from aotc.passes.kernel.costs.lanes import lanes_of_products
from aotc.passes.kernel.nests.rows import by_halves
from aotc.passes.kernel.nests.window import Part, WindowNest, WindowReduction


class NarrowConvolutionOp(ConvolutionalOp, ABC):
    """Convolution or transposed convolution of a blocked x to a plain result [N, M, spatial..].

    The weight is [M, blocks, kernel.., B], as `pack_channels` makes it of [M, C, kernel..]; all blocks are whole. The
    optional bias is [M].
    """

    def spatial(self) -> tuple[int, ...]:
        return shape_of(self.x)[2:-1]

    def kernel(self) -> tuple[int, ...]:
        return shape_of(self.weight)[2:-1]

    def infer_types(self) -> Sequence[TensorType]:
        x, weight = shape_of(self.x), shape_of(self.weight)
        if len(x) < 4 or len(weight) != len(x) or (x[1], x[-1]) != (weight[1], weight[-1]):
            raise ShapeError(
                "operand [N, blocks, spatial..., B] and weight [M, blocks, kernel..., B] do not have shapes"
                f" {list(x)} and {list(weight)}"
            )
        check_bias(self.bias, weight[0])
        return [TensorType(common_element_type(*self.operands), [x[0], weight[0], *self.extents()])]

    def operations(self) -> int:
        return 2 * math.prod((shape_of(self.x)[0], *self.meetings(), *shape_of(self.weight)))

    def loops(self, b: LoopBuilder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        _, count, *_, lanes = shape_of(self.weight)

        def body(index: list[Scalar]) -> None:
            batch, output, *position = index
            axes = self.taps(b, position)

            def step(at: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
                block, *steps, lane = at
                seen = [axis.at(k) for axis, k in zip(axes, steps, strict=True)]
                x = reads[0]([batch, block, *(place for place, _ in seen), lane])
                return [carried[0] + x * reads[1]([output, block, *(tap for _, tap in seen), lane])]

            bounds = [(0, count), *((axis.low, axis.high) for axis in axes), (0, lanes)]
            writes[0](index, b.reduce(bounds, [self.initial(b, reads, [output])], step)[0])

        b.for_each(shape_of(self.result), body)

    def prologue(self, operand: int) -> Prologue:
        return Prologue.STORED

    def schedule_on(self, machine: Machine) -> Schedule | None:
        lanes = shape_of(self.x)[-1]
        return Schedule(lanes, (lanes,)) if lanes == lanes_of_products(machine, element_type_of(self.x)) else None

    def tiled_loops(
        self, b: TileBuilder, reads: Sequence[Reader], writes: Sequence[Writer], schedule: Schedule
    ) -> None:
        """Blocks are one more axis along which a window sees everything, once for each output channel."""
        images, count, *_, lanes = shape_of(self.x)
        outer = (images, shape_of(self.weight)[0])

        def read(index: Sequence[Scalar]) -> Scalar:
            batch, _, *rest = index
            return reads[0]([batch, *rest])

        for phases in product(*self.phases()):
            windows = [SlidingWindow(count, count, 1, 1, 0, 0), *(each.window for each in phases)]

            def each(
                j: list[Scalar], phases: Sequence[Phases] = phases, windows: list[SlidingWindow] = windows
            ) -> None:
                sums = _LaneSums(self, b, reads, writes, phases, j)
                WindowNest(b, schedule, outer, windows, lanes, read, sums, most_unrolled=1).run()

            b.for_each([each.count for each in phases], each)


@dataclass(frozen=True)
class _LaneSums(WindowReduction):
    """The sums of phases `j` of `phases`."""

    op: NarrowConvolutionOp
    b: TileBuilder
    reads: Sequence[Reader]
    writes: Sequence[Writer]
    phases: Sequence[Phases]
    j: Sequence[Scalar]

    def initial(self, part: Part) -> list[Scalar]:
        return [self.b.splat(0, part.tile, element_type_of(self.op.result))]

    def step(self, part: Part, taps: list[Scalar], value: Scalar, carried: list[Scalar]) -> list[Scalar]:
        block, *steps = taps
        along = [
            k * phases.tap_step + (j + phases.first_tap)
            for k, phases, j in zip(steps, self.phases, self.j, strict=True)
        ]
        weight = self.reads[1]([part.index[1], block, *along, part.index[-1]])
        return [self.b.fma(value, weight, carried[0])]

    def finish(self, part: Part, carried: list[Scalar]) -> None:
        b, (count, lanes) = self.b, part.tile.shape
        batch, output, _, *positions, _ = part.index
        tile = Tile((1, lanes), count if count < lanes else None)
        index: list[Scalar] = []
        for axis, (position, phases, j) in enumerate(zip(positions, self.phases, self.j, strict=True)):
            first = position.base if isinstance(position, TileIndex) else position
            start = first * phases.stride + (j + phases.start)
            steps = {-1: phases.stride} if axis + 1 == part.across else {}
            index.append(tile.index(b, start, steps))
        total = _sums_of_lanes(b, carried[0]) + self.op.initial(b, self.reads, [output])
        self.writes[0]([batch, output, *index], total)


def _sums_of_lanes(b: TileBuilder, a: Scalar) -> Scalar:
    """The sum of the lanes of register i in lane i of one register, for as many registers as lanes, or fewer."""
    lanes = tile_shape(a.ssa)[-1]
    square = b.replace(a, b.splat(0, Tile((lanes, lanes)), a.dtype), [0])
    turned = Scalar(b, a.dtype, b.insert(aot.TileTransposeOp(square.ssa)))
    return by_halves(b, turned, 0, b.add)


@irdl_op_definition
class NarrowConvOp(SlidingAxes, NarrowConvolutionOp):
    """Convolution of a blocked tensor to few channels."""

    name = "graph.narrow_conv"


@irdl_op_definition
class NarrowConvTransposeOp(TransposedAxes, NarrowConvolutionOp):
    """Transposed convolution of a blocked tensor to few channels; its weight is packed from [M, C, kernel..]."""

    name = "graph.narrow_conv_transpose"
