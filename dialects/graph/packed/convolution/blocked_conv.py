"""Convolution in the NCHWc layout, and the operations that pack and unpack blocks.

A blocked tensor is [N, ceil(C / B), spatial.., B]: channel c is at block c / B and lane c % B, so that one vector
register holds B channels of one position; or it has several such parts, side by side (see `channels`). The lanes of the
last block of a part beyond its channels are padding lanes: they hold arbitrary values, and nothing reads them.
"""

from __future__ import annotations

import math
from abc import ABC
from collections.abc import Callable, Sequence
from typing import ClassVar, TypeAlias

import numpy as np
from xdsl.dialects.builtin import I64, DenseArrayBase, IntegerAttr, TensorType, i64
from xdsl.ir import Attribute, OpResult
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, opt_result_def, prop_def, result_def

from aotc.dialects.arrays import to_blocks
from aotc.dialects.builder import Builder, Reader, Scalar, Writer
from aotc.dialects.dtypes import compute_type
from aotc.dialects.graph.interfaces import (
    Array,
    ElementOp,
    Fusion,
    ShapeError,
    element_type_of,
    narrowest_element_type,
    shape_of,
)
from aotc.dialects.graph.packed.convolution.channels import Channels
from aotc.dialects.graph.packed.convolution.grouped_panels import GroupedPanels
from aotc.dialects.graph.schedules import check_partial_sums
from aotc.dialects.graph.shapes import ceil_div
from aotc.dialects.graph.windows.axes import ConvolutionalOp, SlidingAxes, TransposedAxes, check_bias

PanelBlockBody: TypeAlias = Callable[[Scalar, int, list[Scalar]], list[Scalar]]
"""The body of a loop over the blocks of x that a panel reads: number of the block among these, its channels, carried
values."""


@irdl_op_definition
class PackChannelsOp(ElementOp):
    """[N, C, spatial..] as blocks of `block` channels: [N, ceil(C / block), spatial.., block], missing ones zero."""

    name = "graph.pack_channels"
    FUSION: ClassVar[Fusion] = Fusion.INJECTIVE
    ORDERS_WEIGHTS: ClassVar[bool] = True
    x = operand_def(TensorType)
    block = prop_def(IntegerAttr[I64])
    result = result_def(TensorType)

    def infer_types(self) -> Sequence[TensorType]:
        shape, block = shape_of(self.x), self.block.value.data
        if len(shape) < 2:
            raise ShapeError(f"the operand must be [N, C, spatial...], found {list(shape)}")
        if block < 1:
            raise ShapeError(f"the block must be positive, found {block}")
        packed = [shape[0], ceil_div(shape[1], block), *shape[2:], block]
        return [TensorType(element_type_of(self.x), packed)]

    def evaluate(self, operands: Sequence[Array]) -> Sequence[Array] | None:
        return [np.ascontiguousarray(np.moveaxis(to_blocks(operands[0], 1, self.block.value.data), 2, -1))]

    def reads_once(self) -> bool:
        return True

    def element(self, b: Builder, index: Sequence[Scalar], reads: Sequence[Reader]) -> Scalar:
        batch, outer, *position, lane = index
        block, channels = self.block.value.data, shape_of(self.x)[1]
        channel = outer * block + lane
        source = [batch, channel, *position]
        if channels % block == 0:
            return reads[0](source)
        inside = b.compare("lt", channel, channels)
        zero = b.const(0, element_type_of(self.x))
        return b.when(inside, lambda: [reads[0](source)], lambda: [zero])[0]


@irdl_op_definition
class UnpackChannelsOp(ElementOp):
    """The first `channels` channels of a blocked tensor: [N, blocks, spatial.., B] -> [N, channels, spatial..].

    With `parts`, which add up to `channels`, there are padding lanes between channels (see `channels`).
    """

    name = "graph.unpack_channels"
    FUSION: ClassVar[Fusion] = Fusion.INJECTIVE
    x = operand_def(TensorType)
    channels = prop_def(IntegerAttr[I64])
    parts = opt_prop_def(DenseArrayBase)
    result = result_def(TensorType)

    @property
    def held(self) -> Channels:
        """The lanes of the channels."""
        parts = (self.channels.value.data,) if self.parts is None else self.ints("parts")
        return Channels.of(parts, shape_of(self.x)[-1])

    def infer_types(self) -> Sequence[TensorType]:
        shape, channels = shape_of(self.x), self.channels.value.data
        if len(shape) < 3:
            raise ShapeError(f"the operand must be [N, blocks, spatial..., lanes], found {list(shape)}")
        if (self.held.count, self.held.blocks) != (channels, shape[1]):
            raise ShapeError(f"{channels} channels do not take {shape[1]} blocks of {shape[-1]}")
        return [TensorType(element_type_of(self.x), [shape[0], channels, *shape[2:-1]])]

    def evaluate(self, operands: Sequence[Array]) -> Sequence[Array] | None:
        x = np.moveaxis(operands[0], -1, 2)
        flat = x.reshape(x.shape[0], -1, *x.shape[3:])
        return [np.ascontiguousarray(flat[:, list(self.held.places)])]

    def view_offset(self) -> int | None:
        shape = shape_of(self.x)
        whole = shape[0] == 1 or shape[1] * shape[-1] == self.channels.value.data
        return 0 if math.prod(shape[2:-1]) == 1 and whole and not self.held.has_padding else None

    def reads_once(self) -> bool:
        return True

    def element(self, b: Builder, index: Sequence[Scalar], reads: Sequence[Reader]) -> Scalar:
        batch, channel, *position = index
        block, places = b.index(shape_of(self.x)[-1]), self.held.places

        def of_part(starts: Sequence[int]) -> list[Scalar]:
            """The element in one of the parts that begin with these channels."""
            start, *following = starts
            if following:
                here = b.compare("lt", channel, following[0])
                return b.when(here, lambda: of_part([start]), lambda: of_part(following))
            lane = channel + (places[start] - start)
            return [reads[0]([batch, lane / block, *position, b.rem(lane, block)])]

        return of_part(self.held.starts)[0]


@irdl_op_definition
class PackConvWeightOp(ElementOp):
    """A convolution's weight [M, C / group, kernel..] in the order in which `blocked_conv` streams it.

    The result is [panels, blocks, kernel.., depth, width]: a panel is `width` output channels (a whole number of
    blocks of the result), missing ones zero; block and depth together are the input channel, `depth` of them in a block
    (C of them in the only block where the operand of the convolution is not blocked, else as many as in its blocks, or
    an even part of that), missing ones zero. Of several groups, the blocks are those that the panel sees
    (`GroupedPanels`), and what an output channel does not see is zero.
    """

    name = "graph.pack_conv_weight"
    FUSION: ClassVar[Fusion] = Fusion.INJECTIVE
    ORDERS_WEIGHTS: ClassVar[bool] = True
    weight = operand_def(TensorType)
    width = prop_def(IntegerAttr[I64])
    depth = prop_def(IntegerAttr[I64])
    group = prop_def(IntegerAttr[I64], default_value=IntegerAttr(1, i64))
    result = result_def(TensorType)

    @property
    def panels(self) -> GroupedPanels:
        """The blocks that each panel reads."""
        outputs, inputs = shape_of(self.weight)[:2]
        groups = self.group.value.data
        return GroupedPanels(groups, inputs, outputs // groups, self.width.value.data, self.depth.value.data)

    def infer_types(self) -> Sequence[TensorType]:
        outputs, _, *kernel = shape_of(self.weight)
        width, depth, groups = self.width.value.data, self.depth.value.data, self.group.value.data
        if groups < 1 or outputs % groups:
            raise ShapeError(f"{outputs} output channels do not divide into {groups} groups")
        packed = [ceil_div(outputs, width), self.panels.most, *kernel, depth, width]
        return [TensorType(element_type_of(self.weight), packed)]

    def evaluate(self, operands: Sequence[Array]) -> Sequence[Array] | None:
        (weight,), panels = operands, self.panels
        shape = (panels.count * panels.width, panels.most * panels.depth, *weight.shape[2:])
        split = weight if self.group.value.data == 1 and weight.shape == shape else self._split(weight)
        split = split.reshape(panels.count, panels.width, panels.most, panels.depth, *weight.shape[2:])
        # [panel, width, block, depth, kernel..] -> [panel, block, kernel.., depth, width]
        return [np.ascontiguousarray(np.moveaxis(split, (3, 1), (-2, -1)))]

    def _split(self, weight: Array) -> Array:
        """[panels, width, channels that a panel sees, kernel..], zeros where there is no weight."""
        panels = self.panels
        split = np.zeros((panels.count, panels.width, panels.most * panels.depth, *weight.shape[2:]), weight.dtype)
        for panel, span in enumerate(panels.spans):
            start, end = panel * panels.width, min((panel + 1) * panels.width, len(weight))
            for group in range(start // panels.outputs, (end - 1) // panels.outputs + 1):
                low, high = max(start, group * panels.outputs), min(end, (group + 1) * panels.outputs)
                channel = group * panels.inputs - span.start * panels.depth
                place = split[panel, low - start : high - start, channel : channel + panels.inputs]
                place[...] = weight[low:high]
        return split

    def element(self, b: Builder, index: Sequence[Scalar], reads: Sequence[Reader]) -> Scalar:
        panel, block, *taps, inner, column = index
        output = panel * self.width.value.data + column
        seen, channel = self.panels.member(b, panel, block, inner, output)
        inside = b.compare("lt", output, shape_of(self.weight)[0]) & seen
        zero = b.const(0, element_type_of(self.weight))
        return b.when(inside, lambda: [reads[0]([output, channel, *taps])], lambda: [zero])[0]


class BlockedConvolutionOp(ConvolutionalOp, ABC):
    """Convolution or transposed convolution with a blocked result [N, ceil(M / block), spatial.., block].

    x is blocked, or plain [N, C, spatial..] (few channels: the first layer of a network); `channels` is C. The weight
    is that of `pack_conv_weight` for as many groups. The optional bias is [blocks * block].

    With `parts`, which add up to C, the channels of x are not in all lanes (see `channels`): the weight is packed with
    a channel for each lane, and padding lanes are left out.

    The optional result `partials` [spatial.., width] is a scratch buffer for sums of one panel of an image whose
    reduction is blocked (`kc` of its schedule): of one group of channels, in all lanes.
    """

    result = result_def(TensorType)
    partials = opt_result_def(TensorType)
    group = prop_def(IntegerAttr[I64])
    channels = prop_def(IntegerAttr[I64])
    parts = opt_prop_def(DenseArrayBase)
    outputs = prop_def(IntegerAttr[I64])
    """M, the number of output channels."""
    block = prop_def(IntegerAttr[I64])
    """Lanes of the result."""

    @property
    def blocked_operand(self) -> bool:
        """Whether x is blocked."""
        return len(shape_of(self.x)) == len(self.ints("strides")) + 3

    def spatial(self) -> tuple[int, ...]:
        return shape_of(self.x)[2 : 2 + len(self.ints("strides"))]

    def kernel(self) -> tuple[int, ...]:
        return shape_of(self.weight)[2:-2]

    @property
    def depth(self) -> int:
        """Channels in a block of the weight."""
        return shape_of(self.weight)[-2]

    @property
    def width(self) -> int:
        """Output channels of a panel."""
        return shape_of(self.weight)[-1]

    def sum_type(self, blocks: int) -> Attribute:
        """The element type of the result, of so many blocks; raises ShapeError where types or the bias do not fit."""
        check_bias(self.bias, blocks, self.block.value.data)
        return narrowest_element_type(*self.operands)

    def weight_index(
        self, panel: Scalar, block: Scalar, taps: Sequence[Scalar], inner: Scalar, column: Scalar
    ) -> list[Scalar]:
        """Where the weight of a channel, the `inner`th of a block, for a column of a panel is."""
        return [panel, block, *taps, inner, column]

    def start(self, b: Builder, reads: Sequence[Reader], position: Sequence[Scalar], output: Scalar) -> Scalar:
        """What a sum starts with."""
        return self.initial(b, reads, [output])

    def multiplied(self, b: Builder, *values: Scalar) -> list[Scalar]:
        """Elements of x and of the weight as they are multiplied."""
        return list(values)

    def infer_types(self) -> Sequence[TensorType]:
        x, weight, rank = shape_of(self.x), shape_of(self.weight), len(self.ints("strides"))
        if len(x) not in (rank + 2, rank + 3) or len(weight) != rank + 4:
            raise ShapeError(f"operand {list(x)} and weight {list(weight)} do not fit {rank} spatial axes")
        group, channels, outputs = self.group.value.data, self.channels.value.data, self.outputs.value.data
        depth, width, block, held = self.depth, self.width, self.block.value.data, self.held
        whole = depth == x[1]
        if self.blocked_operand:
            whole = depth > 0 and x[-1] % depth == 0 and x[1] == ceil_div(channels, x[-1])
        if self.parts is not None:
            whole = (group, depth, held.count, held.blocks) == (1, x[-1], channels, x[1])
        if group < 1 or channels % group or outputs % group:
            raise ShapeError(f"{channels} channels and {outputs} output channels do not divide into {group} groups")
        if not whole or weight[1] != (held.blocks if group == 1 else self.panels.most):
            raise ShapeError(
                f"{channels} channels in {group} group(s) do not fit operand {list(x)}, weight {list(weight)}"
            )
        if width < 1 or weight[0] != ceil_div(outputs, width) or width % block:
            raise ShapeError(f"{outputs} output channels in blocks of {block} do not fit weight {list(weight)}")
        result = [x[0], ceil_div(outputs, block), *self.extents(), block]
        kind = self.sum_type(result[1])
        if self.partials is not None and (group > 1 or self.parts is not None):
            raise ShapeError("partial sums are of one group of channels without padding lanes between them")
        partials = TensorType(compute_type(kind), [*self.extents(), width])
        return [TensorType(kind, result), partials][: len(self.results)]

    def verify_(self) -> None:
        super().verify_()
        check_partial_sums(self, self.partials)

    def scratch(self) -> Sequence[OpResult]:
        return [] if self.partials is None else [self.partials]

    def operations(self) -> int:
        channels = self.channels.value.data // self.group.value.data
        return 2 * math.prod((shape_of(self.x)[0], *self.meetings(), self.outputs.value.data, channels, *self.kernel()))

    @property
    def held(self) -> Channels:
        """The lanes of the channels of x, in blocks of the weight."""
        parts = (self.channels.value.data,) if self.parts is None else self.ints("parts")
        return Channels.of(parts, max(self.depth, 1))

    def over_blocks(self, b: Builder, panel: Scalar, carried: list[Scalar], body: PanelBlockBody) -> list[Scalar]:
        """Loops over the blocks of x that `panel` reads, carrying values: `body` gets the number of a block among
        these, and how many channels it has."""
        if self.group.value.data == 1:
            return self.held.over_blocks(b, carried, lambda block, _, depth, now: body(block, depth, now))
        panels = self.panels
        whole, count = panels.seen(panel)
        carried = b.loop(0, whole, 1, carried, lambda block, now: body(block, panels.depth, now))
        if panels.last_depth == panels.depth:
            return carried
        return b.loop(whole, count, 1, carried, lambda block, now: body(block, panels.last_depth, now))

    @property
    def panels(self) -> GroupedPanels:
        """The blocks of x that each panel of the weight reads."""
        group, channels, outputs = self.group.value.data, self.channels.value.data, self.outputs.value.data
        return GroupedPanels(group, channels // group, outputs // group, self.width, self.depth)

    def source(self, batch: Scalar, outer: Scalar, position: Sequence[Scalar], inner: Scalar) -> list[Scalar]:
        """The index of x for a channel, which is given by its block of the weight and its place in that block."""
        if not self.blocked_operand:
            return [batch, inner, *position]
        parts = shape_of(self.x)[-1] // self.panels.depth
        return [batch, outer / parts, *position, outer.b.rem(outer, outer.b.index(parts)) * self.panels.depth + inner]

    def loops(self, b: Builder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        shape, block, width, panels = shape_of(self.result), self.block.value.data, self.width, self.panels

        def body(index: list[Scalar]) -> None:
            batch, outer, *position, lane = index
            output = outer * block + lane
            panel, column = output / width, b.rem(output, b.index(width))
            first = panels.first(panel)

            def add_block(number: Scalar, depth: int, carried: list[Scalar]) -> list[Scalar]:
                axes = self.taps(b, position)

                def step(at: list[Scalar], carried: list[Scalar]) -> list[Scalar]:
                    *steps, inner = at
                    seen = [axis.at(k) for axis, k in zip(axes, steps, strict=True)]
                    x = reads[0](self.source(batch, first + number, [place for place, _ in seen], inner))
                    weight = reads[1](self.weight_index(panel, number, [tap for _, tap in seen], inner, column))
                    x, weight = self.multiplied(b, x, weight)
                    return [carried[0] + x * weight]

                bounds = [(axis.low, axis.high) for axis in axes]
                return b.reduce([*bounds, (0, depth)], carried, step)

            start = self.start(b, reads, position, output)
            writes[0](index, self.over_blocks(b, panel, [start], add_block)[0])

        b.parallel_for(shape, body)


@irdl_op_definition
class BlockedConvOp(SlidingAxes, BlockedConvolutionOp):
    """Convolution with a blocked result."""

    name = "graph.blocked_conv"


@irdl_op_definition
class BlockedConvTransposeOp(TransposedAxes, BlockedConvolutionOp):
    """Transposed convolution with a blocked result; its weight is packed from [M, C / group, kernel...]."""

    name = "graph.blocked_conv_transpose"
