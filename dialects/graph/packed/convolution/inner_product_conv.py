"""Convolution of blocked tensors to few output channels, as inner products along the lanes.

`blocked_conv` has output channels in the lanes of its sums. With few output channels, as for images, masks or heat
maps, most lanes would be empty; here the lanes hold input channels, and are reduced at the end of a sum.
"""

from __future__ import annotations

import math
from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition

from aotc.dialects.builder import Builder, Reader, Scalar
from aotc.dialects.graph.checks import expect
from aotc.dialects.graph.interfaces import narrowest_element_type, shape_of
from aotc.dialects.graph.windows.axes import ConvolutionalOp, SlidingAxes, TransposedAxes


class NarrowConvolutionOp(ConvolutionalOp, ABC):
    """Convolution or transposed convolution of a blocked x to a plain result [N, M, spatial..].

    The weight is [M, blocks, kernel.., B], `channel_blocks` of [M, C, kernel..]; all blocks are whole. The
    optional bias is [M].
    """

    def spatial(self) -> tuple[int, ...]:
        return shape_of(self.x)[2:-1]

    def kernel(self) -> tuple[int, ...]:
        return shape_of(self.weight)[2:-1]

    def infer_types(self) -> Sequence[TensorType]:
        at = expect(self, x="N blocks H spatial.. B", weight="M blocks kernel.. B", bias="M")
        return [TensorType(narrowest_element_type(*self.operands), [at["N"], at["M"], *self.extents()])]

    def operations(self) -> int:
        return 2 * math.prod((shape_of(self.x)[0], *self.meetings(), *shape_of(self.weight)))

    def compute(self, b: Builder, index: list[Scalar], reads: Sequence[Reader]) -> Scalar:
        (_, count, *_, lanes), (batch, output, *position) = shape_of(self.weight), index

        def of_block(at: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
            def read(places: list[Scalar], taps: list[Scalar], lane: Scalar) -> tuple[Scalar, Scalar]:
                return reads[0]([batch, *at, *places, lane]), reads[1]([output, *at, *taps, lane])

            return [self.sum_over_taps(b, position, carried[0], lanes, read)]

        return b.reduce([(0, count)], [self.initial(b, reads, [output])], of_block)[0]


@irdl_op_definition
class NarrowConvOp(SlidingAxes, NarrowConvolutionOp):
    """Convolution of a blocked tensor to few channels."""

    name = "graph.narrow_conv"


@irdl_op_definition
class NarrowConvTransposeOp(TransposedAxes, NarrowConvolutionOp):
    """Transposed convolution of a blocked tensor to few channels; its weight is packed from [M, C, kernel..]."""

    name = "graph.narrow_conv_transpose"
