"""Sums of products of 8-bit integers on packed operands: groups of four neighbours are one step of the reduction.

Zero points are gone: x is multiplied as it is, and what its zero point contributes is taken from what sums start with.
That differs where taps lie in the padding, which contributes nothing; so it is a table with a row for each set of taps
(`Edges`) along each axis.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from itertools import product
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, TensorType, i8, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, prop_def, result_def

from aotc.dialects.builder import Builder, Reader, Scalar, Writer
from aotc.dialects.dtypes import integer_range
from aotc.dialects.graph.checks import expect, expect_within
from aotc.dialects.graph.interfaces import Array, ConstantPackerOp, LoopNestOp, ShapeError, element_type_of, shape_of
from aotc.dialects.graph.packed.convolution.blocked_conv import BlockedConvolutionOp
from aotc.dialects.graph.packed.convolution.within_lanes import LanesOp
from aotc.dialects.graph.packed.layout import Layout, Mode
from aotc.dialects.graph.packed.products.packed_matmul import SizedProductOp, column_panels
from aotc.dialects.graph.shapes import ceil_div
from aotc.dialects.graph.windows.axes import SlidingAxes
from aotc.dialects.graph.windows.sliding import Edges, SlidingWindow, sliding_windows
from aotc.dialects.properties import int_prop, unit_prop

GROUP = 4
"""Products of a lane in one step."""


def row_groups(rank: int, group: int = GROUP) -> Layout:
    """Groups of `group` rows of matrices [.., K, N], element by element: [.., ceil(K / group), N * group]."""
    return Layout("rows", tuple((Mode(dim),) for dim in range(rank))).interleaved(group)


@irdl_op_definition
class ZeroPointBiasOp(ConstantPackerOp):
    """First addends of a convolution's sums where x is multiplied as it is: [cases along each axis.., M], i32.

    The bias, if there is one, less `zero_point` times the sum of the weights [M, C / group, kernel..] of the taps that
    see an element of x, whose spatial extents are `extents`; with `complement` less the negative ones of these weights,
    too. Else, with a zero point of 0, there is one case.
    """

    name = "graph.zero_point_bias"
    weight = operand_def(TensorType)
    bias = opt_operand_def(TensorType)
    zero_point = int_prop()
    extents = prop_def(DenseArrayBase)
    strides = prop_def(DenseArrayBase)
    pads = prop_def(DenseArrayBase)
    dilations = prop_def(DenseArrayBase)
    complement = unit_prop()
    result = result_def(TensorType)

    @property
    def counts_weights(self) -> bool:
        """Whether it is more than the bias."""
        return self.zero_point != 0 or self.complement

    def windows(self) -> list[SlidingWindow]:
        """The window along each axis; raises ShapeError."""
        extents, strides, pads, dilations = (self.ints(name) for name in ("extents", "strides", "pads", "dilations"))
        return sliding_windows(extents, shape_of(self.weight)[2:], strides, pads, dilations)

    def edges(self) -> list[Edges]:
        """The cases along each axis."""
        windows = self.windows()
        return [Edges.of(window) if self.counts_weights else _one_case(window) for window in windows]

    def infer_types(self) -> Sequence[TensorType]:
        at = expect(self, weight="M C kernel.. integer", bias="M i32")
        return [TensorType(i32, [*(edges.count for edges in self.edges()), at["M"]])]

    def evaluate(self, operands: Sequence[Array]) -> Sequence[Array]:
        weight = operands[0].astype(np.int64)
        bias = operands[1].astype(np.int64) if len(operands) > 1 else np.zeros(len(weight), np.int64)
        windows, edges = self.windows(), self.edges()
        counted = weight * self.zero_point
        if self.complement:
            counted += np.minimum(weight, 0)
        table = np.empty([*(each.count for each in edges), len(weight)], np.int64)
        for cases in product(*(range(each.count) for each in edges)):
            at = (each.position_of(case) for each, case in zip(edges, cases, strict=True))
            inside = tuple(_taps(window, position) for window, position in zip(windows, at, strict=True))
            table[cases] = bias
            if self.counts_weights:
                table[cases] -= counted[(slice(None), slice(None), *inside)].reshape(len(weight), -1).sum(axis=1)
        return [table.astype(np.int32)]


def _one_case(window: SlidingWindow) -> Edges:
    """Where it does not matter which taps are seen."""
    return Edges(window.positions, 0, window.positions)


def check_table(table: SSAValue | None, windows: Sequence[SlidingWindow], channels: int) -> None:
    """Raise ShapeError unless `table` is what sums of so many channels may start with."""
    shape: tuple[int, ...] = () if table is None else shape_of(table)
    if len(shape) != len(windows) + 1 or shape[-1:] != (channels,):
        raise ShapeError(f"the bias of {channels} channels at {len(windows)} axes has shape {list(shape)}")
    for found, window in zip(shape, windows, strict=False):
        if found not in (1, Edges.of(window).count):
            raise ShapeError(f"the bias has {found} cases along an axis of {Edges.of(window).count}")


def edges_in(table: SSAValue | None, windows: Sequence[SlidingWindow]) -> list[Edges]:
    """The cases along each axis of a table that fits."""
    assert table is not None
    return [
        Edges.of(window) if count > 1 else _one_case(window)
        for count, window in zip(shape_of(table), windows, strict=False)
    ]


def _taps(window: SlidingWindow, position: int) -> slice:
    """The taps that see an element at a position."""
    inside = [
        tap
        for tap in range(window.size)
        if 0 <= position * window.stride + tap * window.dilation - window.before < window.extent
    ]
    return slice(inside[0], inside[-1] + 1) if inside else slice(0, 0)


@irdl_op_definition
class UnfoldTapsOp(LoopNestOp):
    """The elements that the `size` taps of a window along the last axis see of few channels, side by side in the lanes
    of a block.

    x is [N, C, spatial.., W], the result [N, 1, spatial.., positions, lanes], where there are as many groups of four
    lanes as it takes: lane c * size + tap is the element of channel c at position * stride + tap - before. Outside of x
    that is `fill`, as it is in the lanes beyond.
    """

    name = "graph.unfold_taps"
    x = operand_def(TensorType)
    size = int_prop()
    stride = int_prop()
    before = int_prop()
    after = int_prop()
    fill = int_prop()
    result = result_def(TensorType)

    def window(self) -> SlidingWindow:
        """Along the last axis."""
        size, stride, before, after = self.size, self.stride, self.before, self.after
        return SlidingWindow(shape_of(self.x)[-1], size, stride, 1, before, after)

    def infer_types(self) -> Sequence[TensorType]:
        expect(self, x="N C spatial.. W byte")
        expect_within(self, "size", 1)
        expect_within(self, "stride", 1)
        kind, shape, window = element_type_of(self.x), shape_of(self.x), self.window()
        low, high = integer_range(kind)
        if not low <= self.fill <= high:
            raise ShapeError(f"{self.fill} is not a {kind}")
        lanes = ceil_div(shape[1] * window.size, GROUP) * GROUP
        return [TensorType(kind, [shape[0], 1, *shape[2:-1], window.positions, lanes])]

    def loops(self, b: Builder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        b.parallel_for(shape_of(self.result)[:-1], lambda index: self.unfold(b, reads[0], writes[0], index))

    def unfold(self, b: Builder, read: Reader, write: Writer, index: Sequence[Scalar]) -> None:
        """Write the lanes at a position that may see less than all taps."""
        window, (batch, _, *rows, position) = self.window(), index
        low, high = window.taps(b, position)
        fill = b.const(self.fill, element_type_of(self.x))

        def lane(channel: int, tap: Scalar) -> None:
            at = [batch, b.index(channel), *rows, window.source(position, tap)]
            inside = b.compare("ge", tap, low) & b.compare("lt", tap, high)
            write([*index, tap + channel * window.size], b.when(inside, lambda: [read(at)], lambda: [fill])[0])

        for channel in range(shape_of(self.x)[1]):
            b.sequential_range(0, window.size, 1, lambda tap, c=channel: lane(c, tap))
        self.write_padding(b, write, index)

    def write_padding(self, b: Builder, write: Writer, index: Sequence[Scalar]) -> None:
        """Write the lanes at a position that no tap has."""
        for lane in range(shape_of(self.x)[1] * self.size, shape_of(self.result)[-1]):
            write([*index, b.index(lane)], b.const(self.fill, element_type_of(self.x)))


NARROW_SUM = 128
"""The greatest magnitude of the sum of two weights of one sign whose products with unsigned 8-bit integers fit 16
bits."""


def is_narrow(weight: Array, *, unsigned: bool) -> bool:
    """Whether no pair of products of 8-bit integers with `weight` [.., 2 neighbours], i8, leaves 16 bits; and whether
    all of these weights can be negated in 8 bits, where the integers have a sign.

    Unsigned ones are between 0 and 255, so it is the weights of one sign that count: their greatest sum is 255 * 128 <
    2^15. Signed ones are at most 128 in magnitude: the greatest sum is 128 * (127 + 127) < 2^15.
    """
    if not unsigned:
        return bool(weight.min(initial=0) > np.iinfo(np.int8).min)
    pairs = weight.astype(np.int16).reshape(-1, 2)
    sums = np.maximum(pairs, 0).sum(axis=1), np.minimum(pairs, 0).sum(axis=1)
    return all(bool(np.abs(each).max(initial=0) <= NARROW_SUM) for each in sums)


def is_narrow_anyhow(weight: Array) -> bool:
    """Whether `weight`, i8, is narrow with unsigned integers whichever of its elements are neighbours."""
    return bool(np.abs(weight.astype(np.int16)).max(initial=0) <= NARROW_SUM // 2)


class DotOp(LoopNestOp, ABC):
    """Sums of products of 8-bit integers and the second operand: weights with interleaved neighbours.

    Where it is `narrow`, the products of no two neighbours leave 16 bits with sign, whatever is multiplied, and with
    integers that have a sign no weight is -128 (see `is_narrow`). With `complement`, of signed integers, magnitudes of
    weights are multiplied, by complements where weights are negative (`aot.tile_dot`): a product x * w is (x + 1) * w
    there, and sums start with so much less.
    """

    narrow = unit_prop()
    complement = unit_prop()

    @property
    def left_type(self) -> Attribute:
        """The type of what is multiplied with the second operand."""
        return element_type_of(self.operands[0])

    def check_complement(self) -> None:
        """Raise ShapeError where there are complements of integers without sign."""
        if self.complement and self.left_type != i8:
            raise ShapeError(f"complements are of signed integers, found {self.left_type}")

    def factors(self, b: Builder, x: Scalar, weight: Scalar) -> tuple[Scalar, Scalar]:
        """The factors, as i32."""
        x, weight = b.cast(x, i32), b.cast(weight, i32)
        return (x if not self.complement else x - b.shift_right(weight, b.const(31, i32))), weight


class TabledSums(SlidingAxes, ABC):
    """Convolution whose sums start with the table of `zero_point_bias` that is its bias."""

    def edges(self) -> list[Edges]:
        """The cases along each axis of the bias."""
        return edges_in(self.bias, self.windows())

    def first_addend(self, b: Builder, table: Reader, position: Sequence[Scalar], channel: Scalar) -> Scalar:
        """The element of the table for a position and a channel."""
        return table([*(each.case(b, at) for each, at in zip(self.edges(), position, strict=True)), channel])


@irdl_op_definition
class BlockedDotConvOp(TabledSums, BlockedConvolutionOp, DotOp):
    """Convolution of blocked 8-bit integers: a blocked result of sums in i32.

    As `blocked_conv`, but of x as it is, without zero point: sums start with the table `bias` of `zero_point_bias`, in
    which each channel has its lane. The weight, i8, has interleaved rows: [panels, blocks, kernel.., depth / 4,
    width * 4].
    """

    name = "graph.blocked_dot_conv"

    @property
    def depth(self) -> int:
        return shape_of(self.weight)[-2] * GROUP

    @property
    def width(self) -> int:
        return shape_of(self.weight)[-1] // GROUP

    def sum_type(self, blocks: int) -> Attribute:
        expect(self, x=".. byte", weight=".. i8", bias=".. i32")
        self.check_complement()
        if not self.blocked_operand or shape_of(self.weight)[-1] % GROUP:
            raise ShapeError(f"x is blocked and the weight has interleaved rows, found {list(shape_of(self.weight))}")
        check_table(self.bias, self.windows(), blocks * self.block)
        return i32

    def start(self, b: Builder, reads: Sequence[Reader], position: Sequence[Scalar], output: Scalar) -> Scalar:
        return self.first_addend(b, reads[2], position, output)

    def weight_index(
        self, panel: Scalar, block: Scalar, taps: Sequence[Scalar], inner: Scalar, column: Scalar
    ) -> list[Scalar]:
        within = inner.b.rem(inner, inner.b.index(GROUP))
        return [panel, block, *taps, inner / GROUP, column * GROUP + within]

    def multiplied(self, b: Builder, *values: Scalar) -> list[Scalar]:
        return list(self.factors(b, *values))


@irdl_op_definition
class PackedDotMatMulOp(SizedProductOp, DotOp):
    """8-bit integers [.., M, K] times a matrix [K, `columns`], i8, in panels of interleaved rows: sums in i32.

    The matrix is [panels, ceil(K / 4), width * 4]: `column_panels`, interleaved. Sums start with `bias`, i32 [columns].
    """

    name = "graph.packed_dot_matmul"
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    bias = operand_def(TensorType)

    def infer_types(self) -> Sequence[TensorType]:
        self.check_complement()
        expect(self, lhs=".. M K byte", rhs="panels groups width+ i8", bias="columns i32")
        lhs, rhs, bias = (shape_of(value) for value in self.operands)
        if rhs[-1] % GROUP or rhs[:2] != (ceil_div(bias[0], rhs[-1] // GROUP), ceil_div(lhs[-1], GROUP)):
            raise ShapeError(f"{list(lhs)} and panels {list(rhs)} of {bias[0]} columns do not multiply")
        return [TensorType(i32, [*lhs[:-1], bias[0]])]

    def sizes(self) -> tuple[tuple[int, ...], int, int, int]:
        *batch, rows, depth = shape_of(self.lhs)
        return tuple(batch), rows, shape_of(self.bias)[0], depth

    def compute(self, b: Builder, index: list[Scalar], reads: Sequence[Reader]) -> Scalar:
        *row, column = index
        *_, columns, depth = self.sizes()
        panels = column_panels(2, shape_of(self.rhs)[-1] // GROUP).interleaved(GROUP)
        weights = panels.reader(b, reads[1], (depth, columns))

        def term(at: list[Scalar]) -> Scalar:
            x, weight = self.factors(b, reads[0]([*row, at[0]]), weights([at[0], column]))
            return x * weight

        return b.sum([(0, depth)], reads[2]([column]), term)


class DepthwiseSumsOp(TabledSums, LanesOp, ABC):
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

    def start(self, b: Builder, reads: Sequence[Reader], index: Sequence[Scalar]) -> Scalar:
        _, block, *position, lane = index
        return self.first_addend(b, reads[2], position, block * shape_of(self.x)[-1] + lane)

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
