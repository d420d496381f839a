"""Convolution by Winograd's minimal filtering, on blocked tensors: 3 x 3 taps, stride 1, one group.

The result is cut into tiles of m x m positions. Each sees (m + 2) x (m + 2) = n x n elements of the operand; these and
the weight are transformed (see `winograd_transforms`), so that n * n products of matrices, [tiles, C] x [C, M], give
what 9 taps at every position do, with 2.25 (m = 2) or 4 (m = 4) times fewer multiplications. The weight grows by
n * n / 9. An infinity or NaN in the operand spreads over the results of its tile.

Greatest error over greatest result against float64, operands as after a relu: direct 3e-7, m = 2 6e-7, m = 4 3e-6.

Of 8-bit integers it is exact with m = 2: transformed elements are within 4 * 255, transformed weights, taken times 4,
within 9 * 128, so both are i16, neighbouring channels are multiplied in pairs, and sums wrap in i32 until four times a
result remains (D. Meng and J. Brothers, arXiv:1901.01965, have such transforms with other points). The weight stays
i8: a panel at a time is transformed when it is used, which takes a few of a hundred instructions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import I64, DenseArrayBase, IntegerAttr, TensorType, f64, i8, i16, i32
from xdsl.ir import Attribute, OpResult
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    opt_result_def,
    prop_def,
    result_def,
)

from aotc.dialects.builder import Builder, Reader, Scalar, Writer
from aotc.dialects.dtypes import compute_type, is_float, numpy_dtype
from aotc.dialects.graph.interfaces import (
    Array,
    LoopNestOp,
    ShapeError,
    element_type_of,
    narrowest_element_type,
    shape_of,
)
from aotc.dialects.graph.packed.channels import Channels
from aotc.dialects.graph.quantized.flip import UI8
from aotc.dialects.graph.schedules import check_partial_sums
from aotc.dialects.graph.shapes import LINE, ceil_div, inside
from aotc.dialects.graph.windows.axes import check_bias
from aotc.dialects.graph.windows.sliding import SlidingWindow, sliding_windows
from aotc.dialects.linear_combinations import sums, terms
from aotc.dialects.winograd_transforms import OUTPUT_TILES, TAPS, Transforms, transforms

PAIR = 2
"""Neighbouring channels of 16 bits whose products are added at once."""

EXACT_TILE = 2
"""The output tile of integers."""

WEIGHT_SCALE = 2
"""What the matrix G, which is applied twice, is taken times for integers: it has halves."""

MOST_CHANNELS = (2**31 - 1) // (WEIGHT_SCALE**2 * TAPS**2 * 255 * 128)
"""Of integers: with more, four times a result might not be an i32."""


def _transforms_of(output_tile: int) -> Transforms:
    if output_tile not in OUTPUT_TILES:
        raise ShapeError(f"the output tile is one of {', '.join(map(str, OUTPUT_TILES))}, found {output_tile}")
    return transforms(output_tile)


@irdl_op_definition
class WinogradWeightOp(LoopNestOp):
    """A convolution's weight [M, C, 3, 3], transformed and in the order in which `winograd_conv` streams it.

    The result is [panels, n * n, C, width] for n = output_tile + 2: a panel is `width` output channels, missing ones
    zero. Computed in f64, then rounded to the type that sums are computed in: a weight in f16 or bf16 becomes f32, for
    of what its transform would lose the result's would make ten times as much.
    """

    name = "graph.winograd_weight"
    ORDERS_WEIGHTS: ClassVar[bool] = True
    weight = operand_def(TensorType)
    output_tile = prop_def(IntegerAttr[I64])
    width = prop_def(IntegerAttr[I64])
    result = result_def(TensorType)

    def infer_types(self) -> Sequence[TensorType]:
        shape, width = shape_of(self.weight), self.width.value.data
        if len(shape) != 4 or shape[2:] != (TAPS, TAPS):
            raise ShapeError(f"the weight must be [M, C, 3, 3], found {list(shape)}")
        if width < 1:
            raise ShapeError(f"the width must be positive, found {width}")
        if not is_float(element_type_of(self.weight)):
            raise ShapeError(f"the weight must be of floats, found {element_type_of(self.weight)}")
        size = _transforms_of(self.output_tile.value.data).inputs ** 2
        kind = compute_type(element_type_of(self.weight))
        return [TensorType(kind, [ceil_div(shape[0], width), size, shape[1], width])]

    def evaluate(self, operands: Sequence[Array]) -> Sequence[Array] | None:
        (weight,), width = operands, self.width.value.data
        chosen = transforms(self.output_tile.value.data)
        result = np.zeros(shape_of(self.result), numpy_dtype(element_type_of(self.result)))
        for panel, place in enumerate(result):  # one at a time: all in f64 would be many times as large as a cache
            transformed = chosen.transform_weight(weight[panel * width : (panel + 1) * width])
            # [width, C, n, n] -> [product, C, width]
            place[:, :, : len(transformed)] = transformed.reshape(*transformed.shape[:2], -1).T
        return [result]

    def loops(self, b: Builder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        panels, _, channels, width = shape_of(self.result)
        outputs, kind = shape_of(self.weight)[0], element_type_of(self.result)
        matrix, total = transforms(self.output_tile.value.data).weight_matrix.tolist(), sums(b)

        def body(index: list[Scalar]) -> None:
            panel, channel, column = index
            output = panel * width + column

            def transformed(taps: Sequence[Scalar]) -> list[Scalar]:
                return [total(terms(row, taps)) for row in matrix]

            def read() -> list[Scalar]:
                taps = [
                    [b.cast(reads[0]([output, channel, b.index(i), b.index(j)]), f64) for j in range(TAPS)]
                    for i in range(TAPS)
                ]
                columns = [transformed(row) for row in taps]
                rows = [transformed(column) for column in zip(*columns, strict=True)]
                return [b.cast(value, kind) for row in zip(*rows, strict=True) for value in row]

            zero = b.const(0, kind)
            values = b.when(b.compare("lt", output, outputs), read, lambda: [zero] * len(matrix) ** 2)
            for number, value in enumerate(values):
                writes[0]([panel, b.index(number), channel, column], value)

        b.parallel_for([panels, channels, width], body)


def _spread_rows(rows: int, row_bytes: int) -> int:
    """At least `rows`, so that they take an odd number of cache lines, or of rows of several lines."""
    together = max(LINE // row_bytes, 1)
    return together * (ceil_div(rows, together) | 1)


@dataclass(frozen=True)
class WinogradTypes:
    """What the numbers between the stages of a `winograd_conv` are."""

    factors: Attribute
    """Element type of the transformed operand and weight."""
    sums: Attribute
    """Element type of products and, before it is rounded, of the result."""
    group: int = 1
    """Neighbouring channels that are multiplied at once."""
    shift: int = 0
    """By how many bits transformed products are greater than the result."""


@dataclass(frozen=True)
class WinogradSizes:
    """The sizes of one `winograd_conv`."""

    transforms: Transforms
    rows: SlidingWindow
    columns: SlidingWindow
    images: int
    channels: Channels
    """Of the operand."""
    outputs: int
    width: int
    """Output channels in a panel of the weight."""
    tile_rows: int
    """Rows of tiles in a block of them, counted through all images."""
    types: WinogradTypes
    zero_point: int = 0
    """Of the operand."""
    row_parts: int = 1
    """Parts of the rows of tiles."""
    panel_parts: int = 1
    """Parts of the panels, for each part of the rows; each is computed with scratch buffers of its own."""

    @property
    def all_rows(self) -> int:
        """How many rows of tiles there are in all images."""
        return self.images * self.tiles[0]

    @property
    def panels(self) -> int:
        """Panels of the weight."""
        return ceil_div(self.outputs, self.width)

    @property
    def tiles(self) -> tuple[int, int]:
        """How many tiles there are along each spatial axis of an image."""
        size = self.transforms.outputs
        return ceil_div(self.rows.positions, size), ceil_div(self.columns.positions, size)

    @property
    def block_tiles(self) -> int:
        """How many tiles there are in a block of rows."""
        return self.tile_rows * self.tiles[1]

    @property
    def block(self) -> int:
        """Channels in a block of the operand and of the result."""
        return self.channels.lanes


@irdl_op_definition
class WinogradConvOp(LoopNestOp):
    """Convolution of a blocked x [N, ceil(C / B), H, W, B] with a weight of `winograd_weight`, 3 x 3 taps of stride 1.

    The result is blocked alike: [N, ceil(M / B), H', W', B]; the optional bias is [ceil(M / B) * B]. `channels` is C,
    `outputs` is M; a panel of the weight is a whole number of blocks. The other results are scratch buffers for a block
    of `tile_rows` rows of tiles, counted through all images, T tiles together: `transformed` [n * n, T, C], and
    `products` [n * n, T, width] of one panel. T and the blocks of C are rounded up to odd numbers: then elements that
    are used together do not share a set of a cache.

    So that threads need not wait for each other, the rows of tiles are computed in `row_parts` parts, and of each the
    panels in `panel_parts`: there are two buffers for each of these, one after the other along the first axis.

    With `parts`, which add up to C, the channels of x are not in all lanes (see `channels`).

    Of x in i8 or ui8, less `x_zero_point`, the weight is i8 and not transformed, but that of `pack_conv_weight` with
    interleaved rows (`interleave_rows` of 2): [panels, 1, 3, 3, ceil(C / 2), 2 * width]. A third scratch buffer,
    `filters` [n * n, ceil(C / 2), 2 * width], its rows rounded up likewise, holds a transformed panel. It is i16, as
    `transformed` is; bias, `products` and the result are i32.
    """

    name = "graph.winograd_conv"
    x = operand_def(TensorType)
    weight = operand_def(TensorType)
    bias = opt_operand_def(TensorType)
    pads = prop_def(DenseArrayBase)
    """All begins, then all ends."""
    channels = prop_def(IntegerAttr[I64])
    parts = opt_prop_def(DenseArrayBase)
    outputs = prop_def(IntegerAttr[I64])
    x_zero_point = opt_prop_def(IntegerAttr[I64])
    """Absent: 0."""
    output_tile = prop_def(IntegerAttr[I64])
    """m: 4 or 2."""
    tile_rows = prop_def(IntegerAttr[I64])
    row_parts = opt_prop_def(IntegerAttr[I64])
    """Absent: one."""
    panel_parts = opt_prop_def(IntegerAttr[I64])
    """Absent: one."""
    result = result_def(TensorType)
    transformed = result_def(TensorType)
    products = result_def(TensorType)
    filters = opt_result_def(TensorType)

    @property
    def transforms(self) -> Transforms:
        """F(m, 3)."""
        return _transforms_of(self.output_tile.value.data)

    def windows(self) -> list[SlidingWindow]:
        """The window along each spatial axis; raises ShapeError."""
        return sliding_windows(shape_of(self.x)[2:4], (TAPS, TAPS), (1, 1), self.ints("pads"), (1, 1))

    @property
    def types(self) -> WinogradTypes:
        """Of the numbers between the stages."""
        if element_type_of(self.x) in (i8, UI8):
            return WinogradTypes(i16, i32, PAIR, (WEIGHT_SCALE**2).bit_length() - 1)
        wide = compute_type(narrowest_element_type(*self.operands))
        return WinogradTypes(wide, wide)

    @property
    def held(self) -> Channels:
        """The lanes of the channels of x."""
        parts = (self.channels.value.data,) if self.parts is None else self.ints("parts")
        return Channels.of(parts, shape_of(self.x)[-1])

    @property
    def sizes(self) -> WinogradSizes:
        """What the kernel is about; raises ShapeError."""
        rows, columns = self.windows()
        return WinogradSizes(
            self.transforms,
            rows,
            columns,
            shape_of(self.x)[0],
            self.held,
            self.outputs.value.data,
            shape_of(self.weight)[-1] // self.types.group,
            self.tile_rows.value.data,
            self.types,
            0 if self.x_zero_point is None else self.x_zero_point.value.data,
            1 if self.row_parts is None else self.row_parts.value.data,
            1 if self.panel_parts is None else self.panel_parts.value.data,
        )

    def infer_types(self) -> Sequence[TensorType]:
        x, weight = shape_of(self.x), shape_of(self.weight)
        rank = 4 if self.types.group == 1 else 6
        if len(x) != 5 or len(weight) != rank:
            raise ShapeError(f"operand {list(x)} and weight {list(weight)} must be of rank 5 and {rank}")
        channels, outputs, block = self.channels.value.data, self.outputs.value.data, x[-1]
        size, held, types = self.transforms.inputs**2, self.held, self.types
        width, uneven = divmod(weight[-1], types.group)
        steps = ceil_div(channels, types.group)
        fitting = (size, steps) if types.group == 1 else (1, TAPS, TAPS, steps)
        if (held.count, held.blocks) != (channels, x[1]) or weight[1:-1] != fitting:
            raise ShapeError(f"{channels} channels do not fit operand {list(x)}, weight {list(weight)}")
        if uneven or width % block or weight[0] != ceil_div(outputs, width):
            raise ShapeError(f"{outputs} output channels in blocks of {block} do not fit weight {list(weight)}")
        if self.tile_rows.value.data < 1:
            raise ShapeError(f"tile_rows must be positive, found {self.tile_rows.value.data}")
        result = [x[0], ceil_div(outputs, block), *(window.positions for window in self.windows()), block]
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
        transformed, products = [copies, tiles, (x[1] | 1) * block], [copies, tiles, width]
        scratch = [TensorType(types.factors, transformed), TensorType(types.sums, products)]
        if types.group > 1:
            scratch.append(TensorType(types.factors, [copies, _spread_rows(steps, 2 * weight[-1]), weight[-1]]))
        if (self.filters is not None) != (types.group > 1):
            raise ShapeError("there is a scratch buffer of filters where x is of integers, and only there")
        return [TensorType(kind, result), *scratch]

    def _result_type(self, types: WinogradTypes) -> Attribute:
        """The element type of the result; raises ShapeError where those of the operands do not belong together."""
        if types.group == 1:
            return narrowest_element_type(*self.operands)
        kinds = [element_type_of(value) for value in self.operands]
        if kinds[1:] != [i8, i32][: len(kinds) - 1] or self.output_tile.value.data != EXACT_TILE:
            raise ShapeError(
                f"weight and bias of 8-bit integers are i8 and i32, and tiles of 2, found {', '.join(map(str, kinds))}"
            )
        if shape_of(self.x)[-1] % types.group:
            raise ShapeError(f"blocks of {shape_of(self.x)[-1]} channels are not pairs")
        if self.channels.value.data > MOST_CHANNELS:
            raise ShapeError(f"sums of more than {MOST_CHANNELS} channels of integers may leave 32 bits")
        return types.sums

    def verify_(self) -> None:
        super().verify_()
        check_partial_sums(self, None)

    def operations(self) -> int:
        """Those of direct convolution."""
        images, _, *positions, _ = shape_of(self.result)
        return 2 * math.prod((images, self.outputs.value.data, *positions, self.channels.value.data, TAPS, TAPS))

    def scratch(self) -> Sequence[OpResult]:
        return [self.transformed, self.products, *([] if self.filters is None else [self.filters])]

    def loops(self, b: Builder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        """Tile by tile: the products of all channels are summed, then transformed."""
        batch, outer, height, width, block = shape_of(self.result)
        types, panel_width, extents = self.types, self.sizes.width, shape_of(self.x)[2:4]
        f, total, before = self.transforms, sums(b), self.ints("pads")[:2]
        zero, point = b.const(0, element_type_of(self.result)), self.sizes.zero_point

        def widened(value: Scalar) -> Scalar:
            return value if types.group == 1 else b.cast(value, types.sums)

        def plain(value: Scalar) -> Scalar:
            return widened(value) - point if point else widened(value)

        def in_two_dimensions(one: str, values: Sequence[Sequence[Scalar]]) -> list[list[Scalar]]:
            def transform(values: Sequence[Scalar]) -> list[Scalar]:
                if one == "filter":
                    return f.transform_filter(values, total, WEIGHT_SCALE)
                return f.transform_input(values, total) if one == "input" else f.transform_output(values, total)

            columns = [transform(column) for column in zip(*values, strict=True)]
            return [transform(row) for row in zip(*columns, strict=True)]

        def filters(panel: Scalar, channel: Scalar, place: Scalar) -> list[Scalar]:
            if types.group == 1:
                return [reads[1]([panel, b.index(number), channel, place]) for number in range(f.inputs**2)]
            at = [channel / types.group, place * types.group + b.rem(channel, b.index(types.group))]
            taps = [
                [widened(reads[1]([panel, b.index(0), b.index(i), b.index(j), *at])) for j in range(TAPS)]
                for i in range(TAPS)
            ]
            return [value for row in in_two_dimensions("filter", taps) for value in row]

        def body(index: list[Scalar]) -> None:
            image, channel_block, row, column, lane = index
            output = channel_block * block + lane
            panel, place = output / panel_width, b.rem(output, b.index(panel_width))
            start = [tile * f.outputs - pad for tile, pad in zip((row, column), before, strict=True)]

            def step(within: Scalar, lane: Scalar, channel: Scalar, carried: list[Scalar]) -> list[Scalar]:

                def element(i: int, j: int) -> Scalar:
                    at = [start[0] + i, start[1] + j]
                    source = [image, within, *at, lane]
                    inside = _all_inside(b, at, extents)
                    return b.when(inside, lambda: [plain(reads[0](source))], lambda: [zero])[0]

                d = in_two_dimensions("input", [[element(i, j) for j in range(f.inputs)] for i in range(f.inputs)])
                flat = [value for each in d for value in each]
                factors = filters(panel, channel, place)
                return [before + value * factor for before, value, factor in zip(carried, flat, factors, strict=True)]

            def over_lanes(within: Scalar, first: Scalar, count: int, carried: list[Scalar]) -> list[Scalar]:
                return b.loop(0, count, 1, carried, lambda lane, now: step(within, lane, first + lane, now))

            found = self.held.over_blocks(b, [zero] * f.inputs**2, over_lanes)
            grid = [found[first : first + f.inputs] for first in range(0, len(found), f.inputs)]
            bias = zero if self.bias is None else reads[2]([output])
            for i, values in enumerate(in_two_dimensions("output", grid)):
                for j, product in enumerate(values):
                    value = b.shift_right(product, b.const(types.shift, i32)) if types.shift else product
                    at = [row * f.outputs + i, column * f.outputs + j]

                    def write(at: list[Scalar] = at, value: Scalar = value) -> None:
                        writes[0]([image, channel_block, *at, lane], value + bias)

                    b.only_when(_all_inside(b, at, (height, width)), write)

        b.parallel_for([batch, outer, *self.sizes.tiles, block], body)


def _all_inside(b: Builder, index: Sequence[Scalar], extents: Sequence[int]) -> Scalar:
    return reduce(and_, (inside(b, i, extent) for i, extent in zip(index, extents, strict=True)))
