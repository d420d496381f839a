"""Convolution of blocked tensors [N, ceil(C / B), spatial.., B] whose sums are of lanes of input channels.

Within the lanes: depthwise, or of groups of neighbouring lanes. And to few output channels, as for images, masks or
heat maps: `blocked_conv` has output channels in the lanes of its sums, of which most would be empty; here the lanes
hold input channels, and are reduced at the end of a sum.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition

from aotc.dialects.builder import Builder, Reader, Scalar
from aotc.dialects.graph.checks import expect
from aotc.dialects.graph.interfaces import ShapeError, narrowest_element_type, shape_of
from aotc.dialects.graph.windows.axes import ConvolutionalOp, SlidingAxes, TransposedAxes, check_bias


class LanesOp(SlidingAxes, ABC):
    """Convolution in groups of `per_group` channels, each of which is that many neighbouring lanes of a block of x [N,
    blocks, spatial.., B]."""

    @property
    def per_group(self) -> int:
        """Input channels, and output channels, of a group."""
        return 1

    def kernel(self) -> tuple[int, ...]:
        return shape_of(self.weight)[1:-1]

    def weight_index(self, block: Scalar, taps: Sequence[Scalar], lane: Scalar, number: Scalar) -> list[Scalar]:
        """Where the weight of an output channel for input channel `number` of its group is."""
        return [block, *taps, lane]

    def spatial(self) -> tuple[int, ...]:
        return shape_of(self.x)[2:-1]

    def operations(self) -> int:
        """As of the definition, padding lanes included."""
        return 2 * math.prod(shape_of(self.result)) * math.prod(self.kernel()) * self.per_group

    @abstractmethod
    def start(self, b: Builder, reads: Sequence[Reader], index: Sequence[Scalar]) -> Scalar:
        """The first addend of the sum of the result element at `index`."""

    def compute(self, b: Builder, index: list[Scalar], reads: Sequence[Reader]) -> Scalar:
        batch, block, *position, lane = index

        def read(places: list[Scalar], taps: list[Scalar], number: Scalar) -> tuple[Scalar, Scalar]:
            source = lane - b.rem(lane, b.index(self.per_group)) + number
            weight = self.weight_index(block, taps, lane, number)
            return reads[0]([batch, block, *places, source]), reads[1](weight)

        return self.sum_over_taps(b, position, self.start(b, reads, index), self.per_group, read)


class LanesConvolutionOp(LanesOp, ABC):
    """As `LanesOp`; the optional bias is [blocks * B]."""

    WEIGHT: ClassVar[str]
    """The shape of the weight, as `expect` takes it."""

    def infer_types(self) -> Sequence[TensorType]:
        at = expect(self, x="N blocks H spatial.. B", weight=self.WEIGHT)
        if at["B"] % self.per_group:
            raise ShapeError(f"groups of {self.per_group} channels do not divide blocks of {at['B']}")
        check_bias(self.bias, at["blocks"], at["B"])
        shape = [at["N"], at["blocks"], *self.extents(), at["B"]]
        return [TensorType(narrowest_element_type(*self.operands), shape)]

    def bias_index(self, index: Sequence[Scalar]) -> list[Scalar]:
        """The place of the bias of the result element at `index`."""
        return [index[1] * shape_of(self.x)[-1] + index[-1]]

    def start(self, b: Builder, reads: Sequence[Reader], index: Sequence[Scalar]) -> Scalar:
        return self.initial(b, reads, self.bias_index(index))


@irdl_op_definition
class BlockedDepthwiseConvOp(LanesConvolutionOp):
    """Convolution of each channel with a kernel of its own: x [N, blocks, spatial.., B], weight [blocks, kernel.., B].

    The weight is in `channel_blocks` of [C, 1, kernel..] seen as [1, C, kernel..], the optional bias
    [blocks * B].
    """

    name = "graph.blocked_depthwise_conv"
    WEIGHT: ClassVar[str] = "blocks kernel.. B"


@irdl_op_definition
class BlockedLanesConvOp(LanesConvolutionOp):
    """Convolution in groups of as many output as input channels: x [N, blocks, spatial.., B], weight
    [group's inputs, blocks, kernel.., B].

    The weight is in `channel_blocks` of [C, inputs, kernel..] with its first axes swapped, the optional bias
    [blocks * B]. Inputs divide B.
    """

    name = "graph.blocked_lanes_conv"
    WEIGHT: ClassVar[str] = "inputs+ blocks kernel.. B"

    @property
    def per_group(self) -> int:
        return shape_of(self.weight)[0]

    def kernel(self) -> tuple[int, ...]:
        return shape_of(self.weight)[2:-1]

    def weight_index(self, block: Scalar, taps: Sequence[Scalar], lane: Scalar, number: Scalar) -> list[Scalar]:
        return [number, block, *taps, lane]


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
