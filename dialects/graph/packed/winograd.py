"""Convolution by Winograd's minimal filtering, on blocked tensors: 3 x 3 taps, stride 1, one group.

The result is cut into tiles of m x m positions. Each sees (m + 2) x (m + 2) = n x n elements of the operand; these and
the weight are transformed (see `winograd_transforms`), so that n * n products of matrices, [tiles, C] x [C, M], give
what 9 taps at every position do, with 2.25 (m = 2) or 4 (m = 4) times fewer multiplications. The weight grows by
n * n / 9. An infinity or NaN in the operand spreads over the results of its tile.

Greatest error over greatest result against float64, operands as after a relu: direct 3e-7, m = 2 6e-7, m = 4 3e-6.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import I64, DenseArrayBase, IntegerAttr, TensorType, f64
from xdsl.ir import OpResult
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, opt_prop_def, prop_def, result_def

from aotc.dialects.arrays import to_blocks
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
from aotc.dialects.graph.schedules import check_partial_sums
from aotc.dialects.graph.shapes import ceil_div, inside
from aotc.dialects.graph.windows.axes import check_bias
from aotc.dialects.graph.windows.sliding import SlidingWindow, sliding_windows
from aotc.dialects.linear_combinations import sums, terms
from aotc.dialects.winograd_transforms import OUTPUT_TILES, TAPS, Transforms, transforms


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
        (weight,) = operands
        transformed = transforms(self.output_tile.value.data).transform_weight(weight)
        split = to_blocks(transformed.reshape(*weight.shape[:2], -1), 0, self.width.value.data)
        # [panel, width, C, product] -> [panel, product, C, width]
        return [np.ascontiguousarray(np.swapaxes(split, 1, 3).astype(numpy_dtype(element_type_of(self.result))))]

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

    @property
    def transforms(self) -> Transforms:
        """F(m, 3)."""
        return _transforms_of(self.output_tile.value.data)

    def windows(self) -> list[SlidingWindow]:
        """The window along each spatial axis; raises ShapeError."""
        return sliding_windows(shape_of(self.x)[2:4], (TAPS, TAPS), (1, 1), self.ints("pads"), (1, 1))

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
            shape_of(self.weight)[-1],
            self.tile_rows.value.data,
            1 if self.row_parts is None else self.row_parts.value.data,
            1 if self.panel_parts is None else self.panel_parts.value.data,
        )

    def infer_types(self) -> Sequence[TensorType]:
        x, weight = shape_of(self.x), shape_of(self.weight)
        if len(x) != 5 or len(weight) != 4:
            raise ShapeError(f"operand {list(x)} and weight {list(weight)} must be of rank 5 and 4")
        channels, outputs, block = self.channels.value.data, self.outputs.value.data, x[-1]
        size = self.transforms.inputs**2
        held = self.held
        if (held.count, held.blocks) != (channels, x[1]) or weight[1:3] != (size, channels):
            raise ShapeError(f"{channels} channels do not fit operand {list(x)}, weight {list(weight)}")
        if weight[-1] % block or weight[0] != ceil_div(outputs, weight[-1]):
            raise ShapeError(f"{outputs} output channels in blocks of {block} do not fit weight {list(weight)}")
        if self.tile_rows.value.data < 1:
            raise ShapeError(f"tile_rows must be positive, found {self.tile_rows.value.data}")
        result = [x[0], ceil_div(outputs, block), *(window.positions for window in self.windows()), block]
        check_bias(self.bias, result[1], block)
        kind = narrowest_element_type(*self.operands)
        wide = compute_type(kind)
        sizes = self.sizes
        rows, panels = sizes.row_parts, sizes.panel_parts
        if not (1 <= rows <= sizes.all_rows and 1 <= panels <= sizes.panels):
            raise ShapeError(
                f"{sizes.all_rows} rows of tiles and {sizes.panels} panels are not in {rows} and {panels} parts"
            )
        tiles = sizes.block_tiles | 1
        held = rows * panels * size
        scratch = [[held, tiles, (x[1] | 1) * block], [held, tiles, weight[-1]]]
        return [TensorType(kind, result), *(TensorType(wide, shape) for shape in scratch)]

    def verify_(self) -> None:
        super().verify_()
        check_partial_sums(self, None)

    def operations(self) -> int:
        """Those of direct convolution."""
        images, _, *positions, _ = shape_of(self.result)
        return 2 * math.prod((images, self.outputs.value.data, *positions, self.channels.value.data, TAPS, TAPS))

    def scratch(self) -> Sequence[OpResult]:
        return [self.transformed, self.products]

    def loops(self, b: Builder, reads: Sequence[Reader], writes: Sequence[Writer]) -> None:
        """Tile by tile: the products of all channels are summed, then transformed."""
        batch, outer, height, width, block = shape_of(self.result)
        panel_width, extents = shape_of(self.weight)[-1], shape_of(self.x)[2:4]
        f, total, before = self.transforms, sums(b), self.ints("pads")[:2]
        zero = b.const(0, element_type_of(self.result))

        def in_two_dimensions(one: str, values: Sequence[Sequence[Scalar]]) -> list[list[Scalar]]:
            transform = f.transform_input if one == "input" else f.transform_output
            columns = [transform(list(column), total) for column in zip(*values, strict=True)]
            return [transform(list(row), total) for row in zip(*columns, strict=True)]

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
                    return b.when(inside, lambda: [reads[0](source)], lambda: [zero])[0]

                d = in_two_dimensions("input", [[element(i, j) for j in range(f.inputs)] for i in range(f.inputs)])
                flat = [value for each in d for value in each]
                return [
                    before + value * reads[1]([panel, b.index(number), channel, place])
                    for number, (before, value) in enumerate(zip(carried, flat, strict=True))
                ]

            def over_lanes(within: Scalar, first: Scalar, count: int, carried: list[Scalar]) -> list[Scalar]:
                return b.loop(0, count, 1, carried, lambda lane, now: step(within, lane, first + lane, now))

            found = self.held.over_blocks(b, [zero] * f.inputs**2, over_lanes)
            grid = [found[first : first + f.inputs] for first in range(0, len(found), f.inputs)]
            bias = zero if self.bias is None else reads[2]([output])
            for i, values in enumerate(in_two_dimensions("output", grid)):
                for j, value in enumerate(values):
                    at = [row * f.outputs + i, column * f.outputs + j]

                    def write(at: list[Scalar] = at, value: Scalar = value) -> None:
                        writes[0]([image, channel_block, *at, lane], value + bias)

                    b.only_when(_all_inside(b, at, (height, width)), write)

        b.parallel_for([batch, outer, *self.sizes.tiles, block], body)


def _all_inside(b: Builder, index: Sequence[Scalar], extents: Sequence[int]) -> Scalar:
    return reduce(and_, (inside(b, i, extent) for i, extent in zip(index, extents, strict=True)))
