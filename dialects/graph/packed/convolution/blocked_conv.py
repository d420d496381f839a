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

from xdsl.dialects.builtin import DenseArrayBase, TensorType
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, opt_prop_def, opt_result_def, result_def

from aotc.dialects.builder import Builder, Reader, Scalar
from aotc.dialects.dtypes import compute_type
from aotc.dialects.graph.interfaces import ShapeError, narrowest_element_type, shape_of
from aotc.dialects.graph.packed.channels import Channels, GroupedPanels
from aotc.dialects.graph.packed.layout import Layout, Mode, blocks
from aotc.dialects.graph.schedules import MatmulScheduledOp
from aotc.dialects.graph.shapes import ceil_div
from aotc.dialects.graph.windows.axes import ConvolutionalOp, SlidingAxes, TransposedAxes, check_bias
from aotc.dialects.properties import int_prop

PanelBlockBody: TypeAlias = Callable[[Scalar, int, list[Scalar]], list[Scalar]]
"""The body of a loop over the blocks of x that a panel reads: number of the block among these, its channels, carried
values."""


def channel_blocks(rank: int, lanes: int, parts: Sequence[int] = ()) -> Layout:
    """[N, C, spatial..] in blocks of `lanes` channels: [N, ceil(C / lanes), spatial.., lanes]; see `channels` of
    several parts."""
    block, lane = blocks(1, lanes)
    return Layout("channels", ((Mode(0),), (block,), *((Mode(dim),) for dim in range(2, rank)), (lane,)), tuple(parts))


def weight_panels(rank: int, width: int, depth: int, groups: int = 1) -> Layout:
    """A convolution's weight [M, C / group, kernel..] in the order in which `blocked_conv` streams it: [panels, blocks,
    kernel.., depth, width].

    A panel is `width` output channels (a whole number of blocks of the result); block and depth together are the input
    channel, `depth` of them in a block (C of them in the only block where the operand of the convolution is not
    blocked, else as many as in its blocks, or an even part of that). Of several groups, the blocks are those that the
    panel sees (`GroupedPanels`), and what an output channel does not see is zero.
    """
    (panel, column), (block, inner) = blocks(0, width), blocks(1, depth)
    kernel = ((Mode(dim),) for dim in range(2, rank))
    return Layout("conv_weight", ((panel,), (block,), *kernel, (inner,), (column,)), groups=groups)


class BlockedConvolutionOp(ConvolutionalOp, MatmulScheduledOp, ABC):
    """Convolution or transposed convolution with a blocked result [N, ceil(M / block), spatial.., block].

    x is blocked, or plain [N, C, spatial..] (few channels: the first layer of a network); `channels` is C. The weight
    is in `weight_panels` of as many groups. The optional bias is [blocks * block].

    With `parts`, which add up to C, the channels of x are not in all lanes (see `channels`): the weight is packed with
    a channel for each lane, and padding lanes are left out.

    The optional result `partials` [spatial.., width] is a scratch buffer for sums of one panel of an image whose
    reduction is blocked (`kc` of its schedule): of one group of channels, in all lanes.
    """

    COMPUTED: ClassVar[int | None] = 1
    result = result_def(TensorType)
    partials = opt_result_def(TensorType)
    group = int_prop()
    channels = int_prop()
    parts = opt_prop_def(DenseArrayBase)
    outputs = int_prop()
    """M, the number of output channels."""
    block = int_prop()
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
        check_bias(self.bias, blocks, self.block)
        return narrowest_element_type(*self.operands)

    def weight_index(
        self, panel: Scalar, block: Scalar, taps: Sequence[Scalar], inner: Scalar, column: Scalar
    ) -> list[Scalar]:
        """Where the weight of a channel, the `inner`th of a block, for a column of a panel is."""
        return [panel, block, *taps, inner, column]

    def start(self, b: Builder, reads: Sequence[Reader], position: Sequence[Scalar], output: Scalar) -> Scalar:
        """The first addend of a sum."""
        return self.initial(b, reads, [output])

    def infer_types(self) -> Sequence[TensorType]:
        x, weight, rank = shape_of(self.x), shape_of(self.weight), len(self.ints("strides"))
        if len(x) not in (rank + 2, rank + 3) or len(weight) != rank + 4:
            raise ShapeError(f"operand {list(x)} and weight {list(weight)} do not fit {rank} spatial axes")
        group, channels, outputs = self.group, self.channels, self.outputs
        depth, width, block, blocked_channels = self.depth, self.width, self.block, self.blocked_channels
        whole = depth == x[1]
        if self.blocked_operand:
            whole = depth > 0 and x[-1] % depth == 0 and x[1] == ceil_div(channels, x[-1])
        if self.parts is not None:
            whole = (group, depth, blocked_channels.count, blocked_channels.blocks) == (1, x[-1], channels, x[1])
        if group < 1 or channels % group or outputs % group:
            raise ShapeError(f"{channels} channels and {outputs} output channels do not divide into {group} groups")
        if not whole or weight[1] != (blocked_channels.blocks if group == 1 else self.panels.most):
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

    def operations(self) -> int:
        channels = self.channels // self.group
        return 2 * math.prod((shape_of(self.x)[0], *self.meetings(), self.outputs, channels, *self.kernel()))

    @property
    def blocked_channels(self) -> Channels:
        """The lanes of the channels of x, in blocks of the weight."""
        parts = (self.channels,) if self.parts is None else self.ints("parts")
        return Channels.of(parts, max(self.depth, 1))

    def over_blocks(self, b: Builder, panel: Scalar, carried: list[Scalar], body: PanelBlockBody) -> list[Scalar]:
        """Loops over the blocks of x that `panel` reads, carrying values: `body` gets the number of a block among
        these, and how many channels it has."""
        if self.group == 1:
            return self.blocked_channels.over_blocks(b, carried, lambda block, _, depth, now: body(block, depth, now))
        panels = self.panels
        whole, count = panels.blocks_of(panel)
        carried = b.loop(0, whole, 1, carried, lambda block, now: body(block, panels.depth, now))
        if panels.last_depth == panels.depth:
            return carried
        return b.loop(whole, count, 1, carried, lambda block, now: body(block, panels.last_depth, now))

    @property
    def panels(self) -> GroupedPanels:
        """The blocks of x that each panel of the weight reads."""
        group, channels, outputs = self.group, self.channels, self.outputs
        return GroupedPanels(group, channels // group, outputs // group, self.width, self.depth)

    def source(self, batch: Scalar, outer: Scalar, position: Sequence[Scalar], inner: Scalar) -> list[Scalar]:
        """The index of x for a channel, which is given by its block of the weight and its place in that block."""
        if not self.blocked_operand:
            return [batch, inner, *position]
        parts = shape_of(self.x)[-1] // self.panels.depth
        return [batch, outer / parts, *position, outer.b.rem(outer, outer.b.index(parts)) * self.panels.depth + inner]

    def compute(self, b: Builder, index: list[Scalar], reads: Sequence[Reader]) -> Scalar:
        block, width, panels = self.block, self.width, self.panels
        batch, outer, *position, lane = index
        output = outer * block + lane
        panel, column = output / width, b.rem(output, b.index(width))
        first = panels.first(panel)

        def add_block(number: Scalar, depth: int, carried: list[Scalar]) -> list[Scalar]:
            def read(places: list[Scalar], taps: list[Scalar], inner: Scalar) -> tuple[Scalar, Scalar]:
                x = reads[0](self.source(batch, first + number, places, inner))
                return x, reads[1](self.weight_index(panel, number, taps, inner, column))

            return [self.sum_over_taps(b, position, carried[0], depth, read)]

        return self.over_blocks(b, panel, [self.start(b, reads, position, output)], add_block)[0]


@irdl_op_definition
class BlockedConvOp(SlidingAxes, BlockedConvolutionOp):
    """Convolution with a blocked result."""

    name = "graph.blocked_conv"


@irdl_op_definition
class BlockedConvTransposeOp(TransposedAxes, BlockedConvolutionOp):
    """Transposed convolution with a blocked result; its weight is packed from [M, C / group, kernel...]."""

    name = "graph.blocked_conv_transpose"
