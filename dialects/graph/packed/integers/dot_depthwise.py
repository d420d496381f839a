"""Depthwise convolution of blocked 8-bit integers: sums of products of each channel, in i32.

Zero points are gone, as in `dot_products`.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import TensorType, i32
from xdsl.irdl import irdl_op_definition

from aotc.dialects.builder import Builder, Reader, Scalar
from aotc.dialects.graph.checks import expect
from aotc.dialects.graph.interfaces import ShapeError, shape_of
from aotc.dialects.graph.packed.convolution.within_lanes import LanesOp
from aotc.dialects.graph.packed.integers.dot_products import GROUP, DotOp, check_table, edges_in
from aotc.dialects.graph.shapes import ceil_div
from aotc.dialects.graph.windows.sliding import Edges
from aotc.dialects.properties import int_prop


class DepthwiseSumsOp(LanesOp, ABC):
    """Convolution of each channel of x [N, blocks, spatial.., B] with a kernel of its own: [N, blocks, extents.., B].

    x is i8 or ui8, the weight i8. Sums start with the table `bias` of `zero_point_bias`, with an element for each lane.
    """

    WEIGHT: ClassVar[str] = "blocks kernel.. B"
    """The shape of the weight, as `expect` takes it."""

    def infer_types(self) -> Sequence[TensorType]:
        expect(self, x="N blocks H spatial.. B byte", weight=f"{self.WEIGHT} i8", bias=".. i32")
        x = shape_of(self.x)
        check_table(self.bias, self.windows(), x[1] * x[-1])
        return [TensorType(i32, [*x[:2], *self.extents(), x[-1]])]

    def edges(self) -> list[Edges]:
        """The cases along each axis of the bias."""
        return edges_in(self.bias, self.windows())

    def start(self, b: Builder, reads: Sequence[Reader], index: Sequence[Scalar]) -> Scalar:
        _, block, *position, lane = index
        cases = (each.case(b, at) for each, at in zip(self.edges(), position, strict=True))
        return reads[2]([*cases, block * shape_of(self.x)[-1] + lane])

    def multiplied(self, b: Builder, *values: Scalar) -> Sequence[Scalar]:
        return [b.cast(value, i32) for value in values]


@irdl_op_definition
class BlockedDotDepthwiseConvOp(DepthwiseSumsOp, DotOp):
    """As `DepthwiseSumsOp`; the weight, i8, is [blocks, kernel.., groups, B * 4]: along the last axis of the kernel
    four neighbouring taps of a channel follow each other, missing ones zero; the dilation of that axis is 1.
    """

    name = "graph.blocked_dot_depthwise_conv"
    WEIGHT: ClassVar[str] = "blocks kernel.. groups lanes"
    taps_across = int_prop()
    """The extent of the last axis of the kernel."""

    def kernel(self) -> tuple[int, ...]:
        return (*shape_of(self.weight)[1:-2], self.taps_across)

    def infer_types(self) -> Sequence[TensorType]:
        groups = ceil_div(self.taps_across, GROUP)
        expect(self, x="N blocks H spatial.. B", weight=f"blocks kernel.. {groups} {shape_of(self.x)[-1] * GROUP}")
        if self.ints("dilations")[-1] != 1:
            raise ShapeError(f"{self.taps_across} neighbouring taps do not take {groups} groups of {GROUP}")
        return super().infer_types()

    def weight_index(self, block: Scalar, taps: Sequence[Scalar], lane: Scalar, number: Scalar) -> list[Scalar]:
        *outer, tap = taps
        return [block, *outer, tap / GROUP, lane * GROUP + tap.b.rem(tap, tap.b.index(GROUP))]


@irdl_op_definition
class BlockedPairDepthwiseConvOp(DepthwiseSumsOp):
    """As `DepthwiseSumsOp`; the weight, i8, is [blocks, kernel.., B]. Products of two taps, of neighbouring rows, are
    added at once."""

    name = "graph.blocked_pair_depthwise_conv"
