"""Convolution by Winograd's minimal filtering, on blocked tensors, in one group.

The result is cut into tiles of m x m positions. Each sees (m + 2) x (m + 2) = n x n elements of the operand; these and
the weight are transformed (see `winograd_transforms`), so that n * n products of matrices, [tiles, C] x [C, M], give
what 9 taps at every position do, with 2.25 (m = 2) or 4 (m = 4) times fewer multiplications. The weight grows by
n * n / 9. An infinity or NaN in the operand spreads over the results of its tile.

Larger windows are cut into segments of 3 taps, whose operands begin 3 elements apart, and whose products are added up
like those of further channels: so are the taps along axes that are not in tiles, such as the first one of three, which
may have any stride and dilation. With one axis a tile is m positions, and there are n products.

Greatest error over greatest result against float64, operands as after a relu: direct 3e-7, m = 2 6e-7, m = 4 3e-6.

Of 8-bit integers it is exact (see `ExactTransforms`): transformed elements and weights are i16, neighbouring channels
are multiplied in pairs, and sums wrap in i32 until a multiple of each result remains, 4 times as great with m = 2, and
up to 9 * 64 times with m = 4. So sums must be integers of 30 or of 26 bits: those of few channels are, and where there
are many, constant weights may prove it (`sum_bits`). The weight stays i8: a panel at a time is transformed when it is
used, which takes a few of a hundred instructions. Strides may be 2 there (`strided_transforms`): n = 2 m + 1 elements
of a tile along an axis take as many products, some of which share a filter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, TensorType, i8, i16, i32
from xdsl.ir import Attribute
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    opt_result_def,
    prop_def,
    result_def,
)

from aotc.dialects.builder import Builder, Reader, Scalar, Writer, linear_combinations
from aotc.dialects.dtypes import compute_type
from aotc.dialects.graph.checks import expect_within
from aotc.dialects.graph.interfaces import Array, ShapeError, element_type_of, narrowest_element_type, shape_of
from aotc.dialects.graph.packed.channels import Channels
from aotc.dialects.graph.packed.winograd.winograd_axes import ABSENT, EXACT, INNER, Axis, along, axes_of, exact_of
from aotc.dialects.graph.quantized.bytes import UI8
from aotc.dialects.graph.schedules import MatmulScheduledOp
from aotc.dialects.graph.shapes import CACHE_LINE, all_inside, ceil_div
from aotc.dialects.graph.windows.axes import check_bias
from aotc.dialects.graph.windows.sliding import sliding_windows
from aotc.dialects.properties import int_prop, opt_int_prop
from aotc.mathematics.winograd_transforms import TAPS, inverse_of_odd, power_of_two

PAIR = 2
"""Neighbouring channels of 16 bits whose products are added at once."""


def most_sum_bits(output_tile: int, strides: Sequence[int]) -> int:
    """The width of sums of integers, which have a sign, that tiles of `output_tile` results along axes with these
    strides are exact for."""
    return _SUM_BITS - sum(exact_of(output_tile, stride).shift for stride in strides)


def sum_bits_of(channels: int) -> int:
    """The width of integers that sums of so many channels fit in, whatever their weights and elements."""
    return (channels * TAPS**2 * 255 * 128).bit_length() + 1


_SUM_BITS = 32


def filters_of(axes: Sequence[Axis]) -> int:
    """How many different filters of integers the products have."""
    count = 1
    for axis in axes:
        assert isinstance(axis.transforms, EXACT)
        count *= axis.transforms.filter_numbers[-1] + 1
    return count


def _spread_rows(rows: int, row_bytes: int) -> int:
    """At least `rows`, so that they take an odd number of cache lines, or of several rows."""
    together = max(CACHE_LINE // row_bytes, 1)
    return together * (ceil_div(rows, together) | 1)


@dataclass(frozen=True)
class WinogradTypes:
    """The element type between the stages of a `winograd_conv`."""

    factors: Attribute
    """Element type of the transformed operand and weight."""
    sums: Attribute
    """Element type of products and, before it is rounded, of the result."""
    group: int = 1
    """Neighbouring channels that are multiplied at once."""


class WinogradSizes:
    """The sizes of one `winograd_conv`; raises ShapeError."""

    def __init__(self, op: WinogradConvOp) -> None:
        *outer, self.rows, self.columns = (ABSENT, *op.axes)[-max(len(op.axes), INNER) :]
        """Those of a tile; rows are ABSENT where there is one spatial axis."""
        self.outer = tuple(outer)
        self.images, self.outputs = shape_of(op.x)[0], op.outputs
        self.channels = op.blocked_channels
        """Of the operand, as is its zero point."""
        self.zero_point = op.x_zero_point or 0
        self.types = op.types
        self.width = shape_of(op.weight)[-1] // self.types.group
        """Output channels in a panel of the weight."""
        self.tile_rows = op.tile_rows
        """Rows of tiles in a block of them, counted through all planes of all images."""
        parts = (1 if each is None else each for each in (op.row_parts, op.panel_parts))
        self.row_parts, self.panel_parts = parts
        """Parts of the rows of tiles, and of the panels for each of these, each with scratch buffers of its own."""

    @property
    def products(self) -> int:
        """Products of matrices."""
        return self.rows.transforms.inputs * self.columns.transforms.inputs

    @property
    def filters(self) -> int:
        """Transformed filters of integers, of which each product has one."""
        return filters_of((self.rows, self.columns))

    @property
    def segments(self) -> tuple[int, ...]:
        """Of the window along each axis: the outer ones, rows, columns."""
        return tuple(axis.segments for axis in (*self.outer, self.rows, self.columns))

    @property
    def steps(self) -> int:
        """Of a sum: the channels of all segments."""
        return math.prod(self.segments) * self.channels.count

    @property
    def planes(self) -> tuple[int, ...]:
        """How many planes of rows there are: images, then positions along each of the outer axes."""
        return self.images, *(axis.tiles for axis in self.outer)

    @property
    def all_rows(self) -> int:
        """How many rows of tiles there are in all planes."""
        return math.prod(self.planes) * self.rows.tiles

    @property
    def panels(self) -> int:
        """Panels of the weight."""
        return ceil_div(self.outputs, self.width)

    @property
    def block_tiles(self) -> int:
        """How many tiles there are in a block of rows."""
        return self.tile_rows * self.columns.tiles

    @property
    def block(self) -> int:
        """Channels in a block of the operand and of the result."""
        return self.channels.lanes


@irdl_op_definition
class WinogradConvOp(MatmulScheduledOp):
    """Convolution of a blocked x [N, ceil(C / B), spatial.., B] with a weight of `winograd_weight`.

    The result is blocked alike: [N, ceil(M / B), spatial.., B]; the optional bias is [ceil(M / B) * B]. `channels` is
    C, `outputs` is M; a panel of the weight is a whole number of blocks. The `tiled_axes` have stride and dilation 1,
    of integers a stride of 1 or 2. The other results are scratch buffers for a block of `tile_rows` rows of tiles,
    counted through all images and planes, T tiles together: `transformed` [n * n, T, S * C] for S segments, and
    `products` [n * n, T, width] of one panel. T and the blocks of S * C are rounded up to odd numbers: then elements
    that are used together do not share a set of a cache.

    So that threads need not wait for each other, the rows of tiles are computed in `row_parts` parts, and of each the
    panels in `panel_parts`: there are two buffers for each of these, one after the other along the first axis.

    With `parts`, which add up to C, the channels of x are not in all lanes (see `channels`).

    Of x in i8 or ui8, less `x_zero_point`, the window is 3 x 3 taps, and the weight is i8 and not transformed, but that
    in `weight_panels`, pairs of rows interleaved: [panels, 1, 3, 3, ceil(C / 2), 2 * width]. A
    third scratch buffer, `filters` [(m + 2) ** 2, ceil(C / 2), 2 * width], its rows rounded up likewise, holds a
    transformed panel. It is i16, as `transformed` is; bias, `products` and the result are i32.
    """

    name = "graph.winograd_conv"
    x = operand_def(TensorType)
    weight = operand_def(TensorType)
    bias = opt_operand_def(TensorType)
    kernel = opt_prop_def(DenseArrayBase)
    """Taps along each spatial axis. Absent: 3."""
    strides = opt_prop_def(DenseArrayBase)
    """Absent: 1."""
    dilations = opt_prop_def(DenseArrayBase)
    """Absent: 1."""
    tiled_axes = opt_prop_def(DenseArrayBase)
    """Numbers of spatial axes, of the last two. Absent: all."""
    pads = prop_def(DenseArrayBase)
    """All begins, then all ends."""
    channels = int_prop()
    parts = opt_prop_def(DenseArrayBase)
    outputs = int_prop()
    x_zero_point = opt_int_prop()
    """Absent: 0."""
    sum_bits = opt_int_prop()
    """Of integers: as an integer of how many bits, with sign, each sum without bias is known to fit. Absent: what is
    known is the number of channels."""
    output_tile = int_prop()
    """m: 4 or 2."""
    tile_rows = int_prop()
    row_parts = opt_int_prop()
    """Absent: one."""
    panel_parts = opt_int_prop()
    """Absent: one."""
    COMPUTED: ClassVar[int | None] = 1
    result = result_def(TensorType)
    transformed = result_def(TensorType)
    products = result_def(TensorType)
    filters = opt_result_def(TensorType)

    @property
    def axes(self) -> tuple[Axis, ...]:
        """How convolution along each spatial axis is computed; raises ShapeError."""
        extents = shape_of(self.x)[2:-1]

        def of_all(name: str, absent: int) -> Sequence[int]:
            return [absent] * len(extents) if getattr(self, name) is None else self.ints(name)

        kernel, strides, dilations = of_all("kernel", TAPS), of_all("strides", 1), of_all("dilations", 1)
        windows = sliding_windows(extents, kernel, strides, self.ints("pads"), dilations)
        tiled = None if self.tiled_axes is None else self.ints("tiled_axes")
        return axes_of(windows, tiled, self.output_tile, exact=self.types.group > 1)

    @property
    def types(self) -> WinogradTypes:
        """Of the numbers between the stages."""
        if element_type_of(self.x) in (i8, UI8):
            return WinogradTypes(i16, i32, PAIR)
        wide = compute_type(narrowest_element_type(*self.operands))
        return WinogradTypes(wide, wide)

    @property
    def blocked_channels(self) -> Channels:
        """The lanes of the channels of x."""
        parts = (self.channels,) if self.parts is None else self.ints("parts")
        return Channels.of(parts, shape_of(self.x)[-1])

    @property
    def sizes(self) -> WinogradSizes:
        """The extents that a kernel is about; raises ShapeError."""
        return WinogradSizes(self)

    def infer_types(self) -> Sequence[TensorType]:
        x, weight = shape_of(self.x), shape_of(self.weight)
        least, rank = ("4 or more", 4) if self.types.group == 1 else ("5", 6)
        if len(x) < 4 or len(weight) != rank or (rank == 6 and len(x) != 5):
            raise ShapeError(f"operand {list(x)} and weight {list(weight)} must be of rank {least} and {rank}")
        channels, outputs, block = self.channels, self.outputs, x[-1]
        axes, blocked_channels, types = self.axes, self.blocked_channels, self.types
        size = math.prod(axis.transforms.inputs for axis in axes)
        segments = math.prod(axis.segments for axis in axes)
        if types.group > 1 and any((axis.taps, axis.window.size) != (TAPS, TAPS) for axis in axes):
            raise ShapeError("windows of 8-bit integers have 3 x 3 taps, and both axes are in tiles")
        width, uneven = divmod(weight[-1], types.group)
        steps = segments * ceil_div(channels, types.group)
        fitting = (size, steps) if types.group == 1 else (1, TAPS, TAPS, steps)
        if (blocked_channels.count, blocked_channels.blocks) != (channels, x[1]) or weight[1:-1] != fitting:
            raise ShapeError(f"{channels} channels do not fit operand {list(x)}, weight {list(weight)}")
        if uneven or width % block or weight[0] != ceil_div(outputs, width):
            raise ShapeError(f"{outputs} output channels in blocks of {block} do not fit weight {list(weight)}")
        expect_within(self, "tile_rows", 1)
        result = [x[0], ceil_div(outputs, block), *(axis.window.positions for axis in axes), block]
        check_bias(self.bias, result[1], block)
        kind = self._result_type(types)
        sizes = self.sizes
        rows, panels = sizes.row_parts, sizes.panel_parts
        if not (1 <= rows <= sizes.all_rows and 1 <= panels <= sizes.panels):
            raise ShapeError(
                f"{sizes.all_rows} rows of tiles and {sizes.panels} panels are not in {rows} and {panels} parts"
            )
        tiles = sizes.block_tiles | 1
        copies = rows * panels * size
        transformed, products = [copies, tiles, (segments * x[1] | 1) * block], [copies, tiles, width]
        scratch = [TensorType(types.factors, transformed), TensorType(types.sums, products)]
        if types.group > 1:
            filters = rows * panels * filters_of(axes)
            scratch.append(TensorType(types.factors, [filters, _spread_rows(steps, 2 * weight[-1]), weight[-1]]))
        if (self.filters is not None) != (types.group > 1):
            raise ShapeError("there is a scratch buffer of filters where x is of integers, and only there")
        return [TensorType(kind, result), *scratch]

    def _result_type(self, types: WinogradTypes) -> Attribute:
        """The element type of the result; raises ShapeError where those of the operands do not belong together."""
        if types.group == 1:
            return narrowest_element_type(*self.operands)
        kinds = [element_type_of(value) for value in self.operands]
        if kinds[1:] != [i8, i32][: len(kinds) - 1]:
            raise ShapeError(f"weight and bias of 8-bit integers are i8 and i32, found {', '.join(map(str, kinds))}")
        if shape_of(self.x)[-1] % types.group:
            raise ShapeError(f"blocks of {shape_of(self.x)[-1]} channels are not pairs")
        known = sum_bits_of(self.channels) if self.sum_bits is None else self.sum_bits
        strides = [axis.window.stride for axis in self.axes]
        if known > (most := most_sum_bits(self.output_tile, strides)):
            raise ShapeError(f"sums of {known} bits are not known to fit {most}, which these tiles are exact for")
        return types.sums

    def operations(self) -> int:
        """Those of direct convolution."""
        images, _, *positions, _ = shape_of(self.result)
        taps = [axis.window.size for axis in self.axes]
        return 2 * math.prod((images, self.outputs, *positions, self.channels, *taps))

    def loops(self, b: Builder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        """Tile by tile: the products of all channels are summed, then transformed."""
        batch, outer, *extents, block = shape_of(self.result)
        types, panel_width, axes = self.types, self.sizes.width, self.axes
        total, shape, channels = (linear_combinations(b), [axis.transforms.inputs for axis in axes], self.channels)
        zero, point = b.const(0, element_type_of(self.result)), self.sizes.zero_point

        def widened(value: Scalar) -> Scalar:
            return value if types.group == 1 else b.cast(value, types.sums)

        def plain(value: Scalar) -> Scalar:
            return widened(value) - point if point else widened(value)

        def everywhere(counts: Sequence[int], read: Callable[[Sequence[int]], Scalar]) -> Array:
            values = np.empty(counts, object)
            for index in np.ndindex(*counts):
                values[index] = read(index)
            return values

        def filters(panel: Scalar, segment: int, channel: Scalar, place: Scalar) -> Array:
            if types.group == 1:
                step, count = channel + segment * channels, math.prod(shape)
                return everywhere([count], lambda number: reads[1]([panel, b.index(*number), step, place]))
            at = [channel / types.group, place * types.group + b.rem(channel, b.index(types.group))]
            taps = everywhere([TAPS, TAPS], lambda tap: widened(reads[1]([panel, b.index(0), *map(b.index, tap), *at])))
            for number, axis in enumerate(axes):
                f = axis.transforms
                assert isinstance(f, EXACT)
                taps = along(taps, number, lambda fiber, f=f: f.transform_filter(fiber, total))
                taps = np.take(taps, f.filter_numbers, axis=number)
            return taps.reshape(-1)

        def body(index: list[Scalar]) -> None:
            image, channel_block, *tile, lane = index
            output = channel_block * block + lane
            panel, place = output / panel_width, b.rem(output, b.index(panel_width))

            def step(
                number: int,
                segment: Sequence[int],
                within: Scalar,
                lane: Scalar,
                channel: Scalar,
                carried: list[Scalar],
            ) -> list[Scalar]:
                def element(offsets: Sequence[int]) -> Scalar:
                    at = [
                        here * axis.tile_stride + (part * axis.segment_stride + offset - axis.window.before)
                        for here, axis, part, offset in zip(tile, axes, segment, offsets, strict=True)
                    ]
                    source = [image, within, *at, lane]
                    inside = all_inside(b, at, [axis.window.extent for axis in axes])
                    return b.when(inside, lambda: [plain(reads[0](source))], lambda: [zero])[0]

                d = everywhere(shape, element)
                for axis_number, axis in enumerate(axes):
                    f = axis.transforms
                    d = along(d, axis_number, lambda fiber, f=f: f.transform_input(fiber, total))
                factors = filters(panel, number, channel, place)
                return [
                    before + value * factor
                    for before, value, factor in zip(carried, d.reshape(-1), factors, strict=True)
                ]

            found = [zero] * math.prod(shape)
            for number, segment in enumerate(np.ndindex(*(axis.segments for axis in axes))):

                def over_lanes(
                    within: Scalar,
                    first: Scalar,
                    count: int,
                    carried: list[Scalar],
                    number: int = number,
                    segment: Sequence[int] = segment,
                ) -> list[Scalar]:
                    return b.loop(
                        0, count, 1, carried, lambda lane, now: step(number, segment, within, lane, first + lane, now)
                    )

                found = self.blocked_channels.over_blocks(b, found, over_lanes)
            grid = everywhere(shape, lambda index: found[np.ravel_multi_index(index, shape)])
            for number, axis in enumerate(axes):
                f = axis.transforms
                grid = along(grid, number, lambda fiber, f=f: f.transform_output(fiber, total))
            bias = zero if self.bias is None else reads[2]([output])
            for offsets in np.ndindex(*grid.shape):
                multiples = (axis.transforms.multiples[offset] for axis, offset in zip(axes, offsets, strict=True))
                value = divided(b, grid.item(offsets), math.prod(multiples))
                at = [
                    here * axis.transforms.outputs + offset
                    for here, axis, offset in zip(tile, axes, offsets, strict=True)
                ]

                def write(at: list[Scalar] = at, value: Scalar = value) -> None:
                    writes[0]([image, channel_block, *at, lane], value + bias)

                b.only_when(all_inside(b, at, extents), write)

        b.parallel_for([batch, outer, *(axis.tiles for axis in axes), block], body)


def divided(b: Builder, value: Scalar, multiple: int) -> Scalar:
    """A sum, of a value that is `multiple` times as great modulo 2^32."""
    if (inverse := inverse_of_odd(multiple)) != 1:
        value = value * b.const(inverse, value.dtype)
    shift = power_of_two(multiple)
    return b.shift_right(value, b.const(shift, value.dtype)) if shift else value
