"""Convolution and transposed convolution.

Every result element accumulates in a register, in index order, in the compute type of its elements (f16 and bf16 in
f32; integers wrap).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition

from aotc.dialects.arrays import scaled
from aotc.dialects.axis_reads import AxisReads
from aotc.dialects.builder import Builder, Reader, Scalar
from aotc.dialects.graph.accumulation import AccumulatingOp
from aotc.dialects.graph.interfaces import Array, ChannelWeightsOp, ShapeError, element_type_of, shape_of
from aotc.dialects.graph.windows.axes import ConvolutionalOp, SlidingAxes, TransposedAxes, check_bias
from aotc.dialects.properties import int_prop, opt_int_prop


class ConvolutionOp(ConvolutionalOp, ChannelWeightsOp, AccumulatingOp, ABC):
    """x [N, C, spatial...], a weight [.., .., kernel...], and optionally a bias [M]."""

    group = int_prop()
    x_zero_point = opt_int_prop()
    w_zero_point = opt_int_prop()
    ZERO_POINTS: ClassVar[tuple[str, str]] = ("x_zero_point", "w_zero_point")

    CHANNELS: ClassVar[int] = 1
    BIAS: ClassVar[int | None] = 2

    @property
    def groups(self) -> int:
        """The number of groups of channels that do not see each other."""
        return self.group

    def spatial(self) -> tuple[int, ...]:
        return shape_of(self.x)[2:]

    def kernel(self) -> tuple[int, ...]:
        return shape_of(self.weight)[2:]

    def reads_along(self, axis: int) -> Mapping[int, AxisReads] | None:
        return {0: self.windows()[axis - 2].reads(axis)} if axis >= 2 else None

    @abstractmethod
    def output_shape(self) -> tuple[int, ...]:
        """The result's shape; raises ShapeError."""

    def infer_types(self) -> Sequence[TensorType]:
        x, weight = shape_of(self.x), shape_of(self.weight)
        if len(x) < 3 or len(weight) != len(x):
            raise ShapeError(f"operand and weight must have one rank of at least 3, found {list(x)} and {list(weight)}")
        if self.groups < 1:
            raise ShapeError(f"group must be positive, found {self.groups}")
        shape = self.output_shape()
        check_bias(self.bias, shape[1])
        return [TensorType(self.summed_type(*self.operands[2:]), shape)]

    @abstractmethod
    def group_channels(self) -> tuple[int, int]:
        """How many channels of x, and of the result, a group has."""

    @abstractmethod
    def weight_place(self, b: Builder, output: Scalar, first: Scalar) -> Callable[[Scalar], list[Scalar]]:
        """Where the weight of each channel of a group, of which `first` is the first, is for the channel `output`."""

    def compute(self, b: Builder, index: list[Scalar], reads: Sequence[Reader]) -> Scalar:
        inputs, outputs = self.group_channels()
        batch, output, *position = index
        first = b.index(0) if self.groups == 1 else output / outputs * inputs
        weight_place = self.weight_place(b, output, first)
        axes = self.taps(b, position)

        def term(at: list[Scalar]) -> Scalar:
            channel, *steps = at
            hits = [axis.at(k) for axis, k in zip(axes, steps, strict=True)]
            x = reads[0]([batch, first + channel, *(place for place, _ in hits)])
            weight = reads[1]([*weight_place(channel), *(tap for _, tap in hits)])
            x, weight = self.factors(b, x, weight)
            return x * weight

        bounds = [(0, inputs), *((axis.low, axis.high) for axis in axes)]
        return b.sum(bounds, self.initial(b, reads, [output]), term)


@irdl_op_definition
class ConvOp(SlidingAxes, ConvolutionOp):
    """Convolution (a cross-correlation); the weight is [M, C / group, kernel...]."""

    name = "graph.conv"
    sum_bits = opt_int_prop()
    """Of integers: as an integer of how many bits, with sign, each sum without bias is known to fit (`bound-sums`).
    Absent: nothing is known."""

    def output_shape(self) -> tuple[int, ...]:
        x, weight = shape_of(self.x), shape_of(self.weight)
        if x[1] != weight[1] * self.groups:
            raise ShapeError(f"{x[1]} channels, but the weight takes {weight[1]} in each of {self.groups} group(s)")
        if weight[0] % self.groups:
            raise ShapeError(f"{weight[0]} output channels do not divide into {self.groups} groups")
        return (x[0], weight[0], *self.extents())

    def pads_with(self, pads: Sequence[int]) -> Sequence[int] | None:
        """`pads` of the convolution together with those of a `graph.pad` of x; None where that has other than spatial
        ones."""
        rank = len(pads) // 2
        begins, ends = pads[:rank], pads[rank:]
        if any((*begins[:2], *ends[:2])):
            return None
        return [own + more for own, more in zip(self.ints("pads"), (*begins[2:], *ends[2:]), strict=True)]

    def operations(self) -> int:
        return 2 * math.prod(shape_of(self.result)) * math.prod(shape_of(self.weight)[1:])

    def group_channels(self) -> tuple[int, int]:
        outputs, inputs = shape_of(self.weight)[:2]
        return inputs, outputs // self.groups

    def weight_place(self, b: Builder, output: Scalar, first: Scalar) -> Callable[[Scalar], list[Scalar]]:
        return lambda channel: [output, channel]

    @property
    def is_depthwise(self) -> bool:
        """Whether each channel is a group, with one output channel."""
        outputs, channels = shape_of(self.weight)[:2]
        return channels == 1 and outputs == self.groups > 1

    def contracted_axes(self) -> tuple[int, int] | None:
        return (1, 1) if self.groups == 1 else None

    def scaled_weight(self, weight: Array, factors: Array) -> Array:
        return scaled(weight, factors.reshape([-1] + [1] * (weight.ndim - 1)), element_type_of(self.result))


@irdl_op_definition
class ConvTransposeOp(TransposedAxes, ConvolutionOp):
    """Transposed convolution: element h meets tap k at result h * stride + k * dilation - before.

    The weight is [C, M / group, kernel...]; the result has `output_padding` more elements at the end of each axis.
    """

    name = "graph.conv_transpose"

    def output_shape(self) -> tuple[int, ...]:
        x, weight = shape_of(self.x), shape_of(self.weight)
        if x[1] != weight[0]:
            raise ShapeError(f"{x[1]} channels, but the weight takes {weight[0]}")
        if x[1] % self.groups:
            raise ShapeError(f"{x[1]} channels do not divide into {self.groups} groups")
        return (x[0], weight[1] * self.groups, *self.extents())

    def operations(self) -> int:
        return 2 * math.prod(shape_of(self.x)) * math.prod(shape_of(self.weight)[1:])

    def group_channels(self) -> tuple[int, int]:
        inputs, outputs = shape_of(self.weight)[:2]
        return inputs // self.groups, outputs

    def scaled_weight(self, weight: Array, factors: Array) -> Array:
        """Channel c of x, in group g, reaches the channels g * (M / group) + j of the result."""
        inputs, outputs = self.group_channels()
        by_group = np.repeat(factors.reshape(self.groups, outputs), inputs, axis=0)
        return scaled(
            weight, by_group.reshape([*by_group.shape] + [1] * (weight.ndim - 2)), element_type_of(self.result)
        )

    def weight_place(self, b: Builder, output: Scalar, first: Scalar) -> Callable[[Scalar], list[Scalar]]:
        within = output if self.groups == 1 else b.rem(output, b.index(self.group_channels()[1]))
        return lambda channel: [first + channel, within]
