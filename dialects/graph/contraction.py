"""Sums of products: matrix multiplication, resampling, convolution and transposed convolution.

Every result element accumulates in a register, in index order, in the compute type of its elements (f16 and bf16 in
f32; integers wrap).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import I64, BoolAttr, DenseArrayBase, IntegerAttr, TensorType, i64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, opt_prop_def, prop_def, result_def

from aotc.dialects.graph.interfaces import AnchorOp, Array, ShapeError, element_type_of, shape_of
from aotc.dialects.graph.loops import INDEX, LoopBuilder, Reader, Scalar, Writer
from aotc.dialects.graph.shapes import broadcast, broadcast_index
from aotc.dialects.graph.sliding import SlidingWindow, ceil_div, sliding_windows


def _same_element_type(*types: Attribute) -> Attribute:
    if len(set(types)) > 1:
        raise ShapeError("element types differ: " + ", ".join(str(kind) for kind in types))
    return types[0]


@irdl_op_definition
class MatMulOp(AnchorOp):
    """lhs [..., M, K] times rhs [..., K, N]; the leading (batch) dimensions broadcast.

    `transpose_lhs` says that lhs is stored [..., K, M], `transpose_rhs` that rhs is stored [..., N, K].
    """

    name = "graph.matmul"
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    transpose_lhs = opt_prop_def(BoolAttr)
    transpose_rhs = opt_prop_def(BoolAttr)
    result = result_def(TensorType)

    def sizes(self) -> tuple[tuple[int, ...], int, int, int]:
        """The broadcast batch shape, M, N and K; raises ShapeError."""
        lhs, rhs = shape_of(self.lhs), shape_of(self.rhs)
        if len(lhs) < 2 or len(rhs) < 2:
            raise ShapeError(f"operands must be matrices or batches of them, found {list(lhs)} and {list(rhs)}")
        m, k = reversed(lhs[-2:]) if self.flag("transpose_lhs") else lhs[-2:]
        depth, n = reversed(rhs[-2:]) if self.flag("transpose_rhs") else rhs[-2:]
        if k != depth:
            raise ShapeError(f"{list(lhs)} and {list(rhs)} do not multiply: inner dimensions are {k} and {depth}")
        return broadcast(lhs[:-2], rhs[:-2]), m, n, k

    def infer_types(self) -> Sequence[TensorType]:
        kind = _same_element_type(element_type_of(self.lhs), element_type_of(self.rhs))
        batch, m, n, _ = self.sizes()
        return [TensorType(kind, [*batch, m, n])]

    def evaluate(self, operands: Sequence[Array]) -> Sequence[Array] | None:
        dtype = operands[0].dtype
        narrow = dtype in (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))
        lhs, rhs = (operand.astype(np.float32) if narrow else operand for operand in operands)
        if self.flag("transpose_lhs"):
            lhs = lhs.swapaxes(-1, -2)
        if self.flag("transpose_rhs"):
            rhs = rhs.swapaxes(-1, -2)
        return [np.matmul(lhs, rhs).astype(dtype)]

    def loops(self, b: LoopBuilder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        batch, m, n, depth = self.sizes()
        lhs_batch, rhs_batch = shape_of(self.lhs)[:-2], shape_of(self.rhs)[:-2]
        zero = b.const(0, element_type_of(self.result))

        def body(index: list[Scalar]) -> None:
            *outer, row, column = index
            lhs_index = broadcast_index(b, outer, lhs_batch)
            rhs_index = broadcast_index(b, outer, rhs_batch)

            def step(at: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
                (k,) = at
                x = reads[0]([*lhs_index, *((k, row) if self.flag("transpose_lhs") else (row, k))])
                y = reads[1]([*rhs_index, *((column, k) if self.flag("transpose_rhs") else (k, column))])
                return [carried[0] + x * y]

            (total,) = b.reduce([(0, depth)], [zero], step)
            writes[0](index, total)

        b.for_each([*batch, m, n], body)


@irdl_op_definition
class ResampleOp(AnchorOp):
    """Weighted sums along `axis`: result[a..., n, b...] = sum over t of x[a..., places[n, t], b...] * weights[n, t].

    The `places` (i64) must lie inside x.
    """

    name = "graph.resample"
    x = operand_def(TensorType)
    places = operand_def(TensorType)
    weights = operand_def(TensorType)
    axis = prop_def(IntegerAttr[I64])
    result = result_def(TensorType)

    def infer_types(self) -> Sequence[TensorType]:
        x, places, axis = shape_of(self.x), shape_of(self.places), self.axis.value.data
        if not 0 <= axis < len(x):
            raise ShapeError(f"axis {axis} is out of range for rank {len(x)}")
        if len(places) != 2 or places != shape_of(self.weights) or element_type_of(self.places) != i64:
            raise ShapeError(f"places and weights must be matrices of one shape, found {list(places)}")
        kind = _same_element_type(element_type_of(self.x), element_type_of(self.weights))
        return [TensorType(kind, [*x[:axis], places[0], *x[axis + 1 :]])]

    def evaluate(self, operands: Sequence[Array]) -> Sequence[Array] | None:
        x, places, weights = operands
        wide = np.promote_types(x.dtype, np.float32) if x.dtype != ml_dtypes.bfloat16 else np.float32
        taps = np.moveaxis(x.astype(wide), self.axis.value.data, -1)[..., places]
        return [np.moveaxis((taps * weights.astype(wide)).sum(-1), -1, self.axis.value.data).astype(x.dtype)]

    def loops(self, b: LoopBuilder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        axis, taps = self.axis.value.data, shape_of(self.places)[1]
        zero = b.const(0, element_type_of(self.result))

        def body(index: list[Scalar]) -> None:
            def step(at: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
                tap = [index[axis], at[0]]
                x = reads[0]([*index[:axis], b.cast(reads[1](tap), INDEX), *index[axis + 1 :]])
                return [carried[0] + x * reads[2](tap)]

            writes[0](index, b.reduce([(0, taps)], [zero], step)[0])

        b.for_each(shape_of(self.result), body)


class ConvolutionOp(AnchorOp, ABC):
    """x [N, C, spatial...], a weight, and optionally a bias [M] that the sum starts with."""

    x = operand_def(TensorType)
    weight = operand_def(TensorType)
    bias = opt_operand_def(TensorType)
    strides = prop_def(DenseArrayBase)
    pads = prop_def(DenseArrayBase)
    """All begins, then all ends."""
    dilations = prop_def(DenseArrayBase)
    group = prop_def(IntegerAttr[I64])
    result = result_def(TensorType)

    @property
    def groups(self) -> int:
        """The number of groups of channels that do not see each other."""
        return self.group.value.data

    @abstractmethod
    def output_shape(self) -> tuple[int, ...]:
        """The result's shape; raises ShapeError."""

    def infer_types(self) -> Sequence[TensorType]:
        kinds = [element_type_of(value) for value in self.operands]
        x, weight = shape_of(self.x), shape_of(self.weight)
        if len(x) < 3 or len(weight) != len(x):
            raise ShapeError(f"operand and weight must have one rank of at least 3, found {list(x)} and {list(weight)}")
        if self.groups < 1:
            raise ShapeError(f"group must be positive, found {self.groups}")
        shape = self.output_shape()
        if self.bias is not None and shape_of(self.bias) != (shape[1],):
            raise ShapeError(f"the bias of {shape[1]} channels has shape {list(shape_of(self.bias))}")
        return [TensorType(_same_element_type(*kinds), shape)]

    def _initial(self, b: LoopBuilder, reads: Sequence[Reader], channel: Scalar) -> Scalar:
        return b.const(0, element_type_of(self.result)) if self.bias is None else reads[2]([channel])


@irdl_op_definition
class ConvOp(ConvolutionOp):
    """Convolution (a cross-correlation); the weight is [M, C / group, kernel...]."""

    name = "graph.conv"

    def windows(self) -> list[SlidingWindow]:
        """The window along each spatial axis; raises ShapeError."""
        return sliding_windows(
            shape_of(self.x)[2:],
            shape_of(self.weight)[2:],
            self.ints("strides"),
            self.ints("pads"),
            self.ints("dilations"),
        )

    def output_shape(self) -> tuple[int, ...]:
        x, weight = shape_of(self.x), shape_of(self.weight)
        if x[1] != weight[1] * self.groups:
            raise ShapeError(f"{x[1]} channels, but the weight takes {weight[1]} in each of {self.groups} group(s)")
        if weight[0] % self.groups:
            raise ShapeError(f"{weight[0]} output channels do not divide into {self.groups} groups")
        return (x[0], weight[0], *(window.positions for window in self.windows()))

    def loops(self, b: LoopBuilder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        out_channels, in_channels = shape_of(self.weight)[:2]
        windows = self.windows()

        def body(index: list[Scalar]) -> None:
            batch, out_channel, *position = index
            first = b.index(0)
            if self.groups > 1:
                first = out_channel / (out_channels // self.groups) * in_channels

            def step(at: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
                channel, *taps = at
                source = [w.source(p, tap) for w, p, tap in zip(windows, position, taps, strict=True)]
                x = reads[0]([batch, first + channel, *source])
                return [carried[0] + x * reads[1]([out_channel, channel, *taps])]

            bounds = [w.taps(b, p) for w, p in zip(windows, position, strict=True)]
            initial = self._initial(b, reads, out_channel)
            (total,) = b.reduce([(0, in_channels), *bounds], [initial], step)
            writes[0](index, total)

        b.for_each(shape_of(self.result), body)


@irdl_op_definition
class ConvTransposeOp(ConvolutionOp):
    """Transposed convolution: element h meets tap k at result h * stride + k * dilation - before.

    The weight is [C, M / group, kernel...]; the result has `output_padding` more elements at the end of each axis.
    """

    name = "graph.conv_transpose"
    output_padding = prop_def(DenseArrayBase)

    def output_shape(self) -> tuple[int, ...]:
        x, weight = shape_of(self.x), shape_of(self.weight)
        if x[1] != weight[0]:
            raise ShapeError(f"{x[1]} channels, but the weight takes {weight[0]}")
        if x[1] % self.groups:
            raise ShapeError(f"{x[1]} channels do not divide into {self.groups} groups")
        rank = len(x) - 2
        pads, output_padding = self.ints("pads"), self.ints("output_padding")
        given = {"strides": self.ints("strides"), "dilations": self.ints("dilations"), "output_padding": output_padding}
        for name, values in given.items():
            if len(values) != rank:
                raise ShapeError(f"{name} has {len(values)} values for {rank} spatial axes")
        if len(pads) != 2 * rank:
            raise ShapeError(f"pads has {len(pads)} values for {rank} spatial axes")
        if any(value < 1 for value in (*self.ints("strides"), *self.ints("dilations"))):
            raise ShapeError("strides and dilations must be positive")
        if any(value < 0 for value in (*pads, *output_padding)):
            raise ShapeError(f"pads {list(pads)} and output_padding {list(output_padding)} must not be negative")
        spatial = [
            (extent - 1) * stride + (size - 1) * dilation + 1 + more - before - after
            for extent, stride, size, dilation, more, before, after in zip(
                x[2:],
                self.ints("strides"),
                weight[2:],
                self.ints("dilations"),
                output_padding,
                pads[:rank],
                pads[rank:],
                strict=True,
            )
        ]
        if any(extent < 0 for extent in spatial):
            raise ShapeError(f"pads {list(pads)} leave nothing of the result")
        return (x[0], weight[1] * self.groups, *spatial)

    def loops(self, b: LoopBuilder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        x, weight = shape_of(self.x), shape_of(self.weight)
        in_channels, out_channels = weight[0] // self.groups, weight[1]
        rank = len(x) - 2
        axes = [
            partial(_meeting_taps, b, extent=extent, size=size, stride=stride, dilation=dilation, before=before)
            for extent, size, stride, dilation, before in zip(
                x[2:], weight[2:], self.ints("strides"), self.ints("dilations"), self.ints("pads")[:rank], strict=True
            )
        ]

        def body(index: list[Scalar]) -> None:
            batch, out_channel, *position = index
            first, channel_of_group = b.index(0), out_channel
            if self.groups > 1:
                first = out_channel / out_channels * in_channels
                channel_of_group = b.rem(out_channel, b.index(out_channels))
            meetings = [axis(position=p) for axis, p in zip(axes, position, strict=True)]

            def step(at: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
                channel, *steps = at
                taps = [m.first_tap + s * m.tap_step for m, s in zip(meetings, steps, strict=True)]
                source = [m.first_source - s * m.source_step for m, s in zip(meetings, steps, strict=True)]
                x_value = reads[0]([batch, first + channel, *source])
                return [carried[0] + x_value * reads[1]([first + channel, channel_of_group, *taps])]

            initial = self._initial(b, reads, out_channel)
            (total,) = b.reduce([(0, in_channels), *((m.low, m.high) for m in meetings)], [initial], step)
            writes[0](index, total)

        b.for_each(shape_of(self.result), body)


@dataclass(frozen=True)
class _Meeting:
    """The pairs (element, tap) that meet at one result position: step s pairs
    element `first_source - s * source_step` with tap `first_tap + s * tap_step`, for s in low..high."""

    low: Scalar
    high: Scalar
    first_tap: Scalar
    tap_step: int
    first_source: Scalar
    source_step: int


def _meeting_taps(
    b: LoopBuilder, *, position: Scalar, extent: int, size: int, stride: int, dilation: int, before: int
) -> _Meeting:
    """Solve h * stride + k * dilation = position + before for 0 <= h < extent, 0 <= k < size.

    Divided by g = gcd(stride, dilation) it says k = first_tap modulo stride / g, from which h follows.
    """
    divisor = math.gcd(stride, dilation)
    tap_step, source_step = stride // divisor, dilation // divisor
    target = position + before
    reduced = target / divisor
    first_tap = b.rem(reduced * pow(source_step, -1, tap_step), b.index(tap_step))
    room = b.max(reduced - first_tap * source_step + tap_step, 0) / tap_step  # first_source + 1, or 0
    low = ceil_div(b.max(room - extent, 0), source_step)
    high = b.min(ceil_div(room, source_step), (size + tap_step - 1 - first_tap) / tap_step)
    if divisor > 1:
        high = b.select(b.compare("eq", b.rem(target, b.index(divisor)), 0), high, 0)
    return _Meeting(low, high, first_tap, tap_step, room - 1, source_step)
