"""Convolution with the channels last, and matrix products, with interleaved weights: for cores without vectors.

A tensor with one block of all its channels, [N, 1, spatial.., C], has the channels last: the taps of a row of a window
are one strip of elements in memory, as the weights are. Weights of 4 bits may be in pairs: those of two outputs share a
byte, which kernels read once and take apart.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, IntegerType, TensorType, i8, i32
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, opt_result_def, prop_def, result_def

from aotc.dialects.builder import Builder, Reader, Scalar
from aotc.dialects.dtypes import integer_range
from aotc.dialects.graph.accumulation import AccumulatingOp
from aotc.dialects.graph.checks import expect
from aotc.dialects.graph.interfaces import Array, ConstantPackerOp, ParallelOp, ShapeError, element_type_of, shape_of
from aotc.dialects.graph.packed.convolution.within_lanes import LanesOp
from aotc.dialects.graph.packed.layout import Layout, Mode, blocks
from aotc.dialects.graph.shapes import ceil_div, linearize
from aotc.dialects.graph.windows.axes import SlidingAxes
from aotc.dialects.properties import int_prop, opt_bool_prop, opt_int_prop


def words(columns: int, word: int) -> Layout:
    """Weights [M, S, R], S rows of R for each of M outputs, side by side: [M * S * R].

    A kernel keeps the sums of some outputs in registers, and at each step takes the next weight, or the next word of
    four, of each: one pointer goes through all of them, once. So blocks of `columns` outputs follow each other, the
    last one narrower. In a block, row after row: words of `word` weights, one of each output; the last word of each has
    what is left.
    """
    (block, column), (number, element) = blocks(0, columns), blocks(2, word)
    return Layout("words", ((block, Mode(1), number, column, element),), tight=True)


class ChannelsLastAxes(SlidingAxes, AccumulatingOp, ABC):
    """Convolution with the channels last, in which what lies outside of x may count as a number instead of nothing."""

    ZERO_POINTS: ClassVar[tuple[str, str]] = ("x_zero_point", "w_zero_point")
    x_zero_point = opt_int_prop()
    w_zero_point = opt_int_prop()
    outside = opt_int_prop()
    """The value of each element outside of x: its zero point, where sums start with all weights times that."""

    @property
    def beyond(self) -> int:
        """`outside` as an int, 0 where it is absent."""
        return self.outside or 0

    def check_outside(self) -> None:
        """Raise ShapeError unless what is outside of x is a number of its type, and x has no zero point beside it."""
        if self.outside is None:
            return
        kind = element_type_of(self.x)
        if self.accumulator is None or self.zero_points[0] or not isinstance(kind, IntegerType):
            raise ShapeError("outside is a number where integers without a zero point are summed up")
        low, high = integer_range(kind)
        if not low <= self.beyond <= high:
            raise ShapeError(f"outside is {self.beyond}, {kind} has {low} to {high}")

    def multiplied(self, b: Builder, *values: Scalar) -> Sequence[Scalar]:
        x, weight = self.factors(b, *values)
        return (x - self.beyond if self.beyond else x), weight

    def with_outside(self, b: Builder, start: Scalar, extents: Sequence[int], weight: Reader) -> Scalar:
        """`start` and all weights of an output, which are of these extents, times what is outside of x."""
        if not self.beyond:
            return start

        def term(at: list[Scalar]) -> Scalar:
            value = weight(at)
            return self.factors(b, value, value)[1] * self.beyond

        return b.sum([(0, extent) for extent in extents], start, term)


class InterleavedOp(ParallelOp, AccumulatingOp, ABC):
    """Sums of products of x with interleaved weights, `columns` outputs side by side in words of `word` elements.

    Where weights are `paired`, those of two outputs are in a byte (`graph.pack_nibbles`), and what is interleaved are
    bytes, of half as many outputs and columns.
    """

    outputs = int_prop()
    columns = int_prop()
    word = int_prop()
    paired = opt_bool_prop()

    @property
    @abstractmethod
    def rows(self) -> tuple[int, int]:
        """How many rows of weights an output has, and of how many weights each."""

    @property
    def plain(self) -> tuple[int, int, int]:
        """Outputs, or two by two, rows of an output, and weights of a row."""
        return (ceil_div(self.outputs, 2 if self.paired else 1), *self.rows)

    @property
    def depth(self) -> int:
        """The weights of an output."""
        return math.prod(self.rows)

    @property
    def order(self) -> Layout:
        """Where the weights lie, or two of them in a byte."""
        return words(self.columns // (2 if self.paired else 1), self.word)

    def operations(self) -> int:
        return 2 * math.prod(shape_of(self.result)) * self.depth

    def weight_of(self, b: Builder, read: Reader, output: Scalar, row: Scalar, element: Scalar) -> Scalar:
        """A weight of an output, as it is stored or as i32."""
        stored = self.order.reader(b, read, self.plain)
        if not self.paired:
            return stored([output, row, element])
        lower, upper = nibbles(b, stored([output / 2, row, element]))
        return b.select(b.compare("eq", b.rem(output, b.index(2)), 0), lower, upper)

    def check_weights(self) -> None:
        """Raise ShapeError where there are not as many weights as there must be."""
        if self.paired and (self.columns % 2 or not self.sums_integers or self.zero_points[1]):
            raise ShapeError("weights are paired for an even number of integer sums, and without a zero point")
        if self.paired and element_type_of(self.operands[1]) != i8:
            raise ShapeError(f"weights in bytes are i8, found {element_type_of(self.operands[1])}")
        if (needed := self.order.packed(self.plain)) != (given := list(shape_of(self.operands[1]))):
            raise ShapeError(f"the weights must be {needed}, found {given}")


@irdl_op_definition
class ChannelsLastConvOp(ChannelsLastAxes, InterleavedOp):
    """Convolution of x [N, spatial.., W * C], the last spatial axis and the channels as one: [N, 1, spatial.., M].

    The weights are interleaved from [M, S, R]: R is the strip of the taps along the last axis with all channels, where
    neighbouring taps see neighbouring elements, else the channels of one tap; S counts the other taps. With `group`
    these are the channels of a group, and the outputs of a block are of one group.

    The optional result `patch` is a scratch buffer for all that one position sees, in the order of the weights, which
    are then of one row.
    """

    name = "graph.channels_last_conv"
    kernel_shape = prop_def(DenseArrayBase)
    channels = int_prop()
    group = opt_int_prop()
    COMPUTED: ClassVar[int | None] = 1
    result = result_def(TensorType)
    patch = opt_result_def(TensorType)

    @property
    def groups(self) -> int:
        """The groups of channels and outputs."""
        return 1 if self.group is None else self.group

    @property
    def inputs(self) -> int:
        """The channels of a group."""
        return self.channels // self.groups

    def kernel(self) -> tuple[int, ...]:
        return self.ints("kernel_shape")

    def spatial(self) -> tuple[int, ...]:
        *outer, last = shape_of(self.x)[1:]
        return (*outer, last // self.channels)

    @property
    def strips(self) -> bool:
        """Whether neighbouring taps along the last axis see neighbouring elements."""
        return self.ints("dilations")[-1] == 1 and self.groups == 1

    @property
    def rows(self) -> tuple[int, int]:
        strip, rows = self.inputs, math.prod(self.kernel()[:-1])
        if self.strips:
            strip *= self.kernel()[-1]
        else:
            rows *= self.kernel()[-1]
        if self.patch is not None:
            rows, strip = 1, rows * strip
        return rows, strip

    def infer_types(self) -> Sequence[TensorType]:
        x, kernel, channels = shape_of(self.x), self.kernel(), self.channels
        if len(x) < 2 or len(kernel) != len(x) - 1:
            raise ShapeError(f"operand {list(x)} and kernel {list(kernel)} do not fit")
        if channels < 1 or x[-1] % channels:
            raise ShapeError(f"{channels} channels do not divide the last axis of {list(x)}")
        groups, columns = self.groups, self.columns
        if groups < 1 or channels % groups or self.outputs % groups:
            raise ShapeError(f"{groups} groups do not divide {channels} channels and {self.outputs} outputs")
        if groups > 1 and columns > 0 and self.outputs // groups % columns:
            raise ShapeError(f"{columns} outputs side by side do not divide those of a group")
        self.check_weights()
        self.check_outside()
        expect(self, bias=f"{self.outputs}")
        if self.patch is not None and groups > 1:
            raise ShapeError("a position has one patch, not one for each group")
        result = TensorType(self.summed_type(*self.operands[2:]), [x[0], 1, *self.extents(), self.outputs])
        return [result, TensorType(element_type_of(self.x), [self.depth])][: len(self.results)]

    def compute(self, b: Builder, index: list[Scalar], reads: Sequence[Reader]) -> Scalar:
        channels, inputs, outputs = self.channels, self.inputs, self.outputs
        within = (*self.kernel(), inputs)
        batch, _, *position, output = index

        def weight_at(at: Sequence[Scalar]) -> Scalar:
            place, strip = linearize(b, at, within), b.index(self.rows[1])
            return self.weight_of(b, reads[1], output, place / strip, b.rem(place, strip))

        first = output / (outputs // self.groups) * inputs if self.groups > 1 else b.index(0)

        def read(places: list[Scalar], taps: list[Scalar], channel: Scalar) -> tuple[Scalar, Scalar]:
            x = reads[0]([batch, *places[:-1], places[-1] * channels + first + channel])
            return x, weight_at([*taps, channel])

        start = self.with_outside(b, self.initial(b, reads, [output]), within, weight_at)
        return self.sum_over_taps(b, position, start, inputs, read)


@irdl_op_definition
class InterleavedMatMulOp(InterleavedOp):
    """lhs [.., K] times interleaved weights of `outputs` columns, from [M, 1, K]: [.., M]."""

    name = "graph.interleaved_matmul"
    ZERO_POINTS: ClassVar[tuple[str, str]] = ("lhs_zero_point", "rhs_zero_point")
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    bias = opt_operand_def(TensorType)
    lhs_zero_point = opt_int_prop()
    rhs_zero_point = opt_int_prop()
    result = result_def(TensorType)

    @property
    def rows(self) -> tuple[int, int]:
        return 1, shape_of(self.lhs)[-1]

    def infer_types(self) -> Sequence[TensorType]:
        expect(self, lhs=".. K", bias=f"{self.outputs}")
        self.check_weights()
        lhs = shape_of(self.lhs)
        return [TensorType(self.summed_type(*self.operands[2:]), [*lhs[:-1], self.outputs])]

    def compute(self, b: Builder, index: list[Scalar], reads: Sequence[Reader]) -> Scalar:
        *rows, output = index

        def term(at: list[Scalar]) -> Scalar:
            weight = self.weight_of(b, reads[1], output, b.index(0), at[0])
            x, weight = self.factors(b, reads[0]([*rows, at[0]]), weight)
            return x * weight

        start = b.const(0, element_type_of(self.result)) if self.bias is None else reads[2]([output])
        return b.sum([(0, self.depth)], start, term)


@irdl_op_definition
class ChannelsLastDepthwiseConvOp(ChannelsLastAxes, LanesOp):
    """Convolution of each channel of x [N, 1, spatial.., C] with a kernel of its own; the weight is [kernel.., C]."""

    name = "graph.channels_last_depthwise_conv"

    def kernel(self) -> tuple[int, ...]:
        return shape_of(self.weight)[:-1]

    def infer_types(self) -> Sequence[TensorType]:
        x = shape_of(self.x)
        expect(self, x="N 1 H spatial.. C", weight="kernel.. C", bias="C")
        self.check_outside()
        return [TensorType(self.summed_type(*self.operands[2:]), [*x[:2], *self.extents(), x[-1]])]

    def weight_index(self, block: Scalar, taps: Sequence[Scalar], lane: Scalar, number: Scalar) -> list[Scalar]:
        return [*taps, lane]

    def start(self, b: Builder, reads: Sequence[Reader], index: Sequence[Scalar]) -> Scalar:
        start = self.initial(b, reads, index[-1:])
        return self.with_outside(b, start, self.kernel(), lambda at: reads[1]([*at, index[-1]]))


NIBBLE = 4
"""Bits."""
FEW_BITS = IntegerType(2), IntegerType(NIBBLE)
"""The types of weights that fit a nibble."""


@irdl_op_definition
class PackNibblesOp(ConstantPackerOp):
    """Weights [M, ..] of i8, each from -8 to 7, as [ceil(M / 2), ..]: row 2 j in the lower four bits of each byte, row
    2 j + 1, or 0 where there is none, in the upper ones."""

    name = "graph.pack_nibbles"
    x = operand_def(TensorType)
    result = result_def(TensorType)

    def infer_types(self) -> Sequence[TensorType]:
        expect(self, x="M .. i8")
        return [TensorType(i8, self.layout.packed(shape_of(self.x))[1:])]

    @property
    def layout(self) -> Layout:
        """Of the weights: the lower ones, then the upper ones."""
        whole, which = blocks(0, 2)
        return Layout("nibbles", ((which,), (whole,), *((Mode(dim),) for dim in range(1, len(shape_of(self.x))))))

    def evaluate(self, operands: Sequence[Array]) -> Sequence[Array]:
        lower, upper = self.layout.pack(operands[0].view(np.uint8))
        return [(lower & np.uint8(15) | upper << np.uint8(NIBBLE)).view(np.int8)]


def nibbles(b: Builder, byte: Scalar) -> tuple[Scalar, Scalar]:
    """Both weights of a byte, as i32."""
    wide = b.cast(byte, i32)
    bits = b.const(NIBBLE, i32)
    top = b.const(32 - NIBBLE, i32)
    return b.shift_right(b.shift_left(wide, top), top), b.shift_right(wide, bits)
