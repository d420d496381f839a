"""The axes of a convolution by Winograd's minimal filtering: which are cut into tiles, and the segments of windows; and
its weight, transformed and in the order of its use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, TensorType
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, result_def

from aotc.dialects.builder import Scalar
from aotc.dialects.dtypes import compute_type, numpy_dtype
from aotc.dialects.graph.checks import expect, expect_within
from aotc.dialects.graph.interfaces import Array, ConstantPackerOp, ShapeError, element_type_of, shape_of
from aotc.dialects.graph.packed.layout import Layout, Mode, blocks
from aotc.dialects.graph.shapes import ceil_div
from aotc.dialects.graph.windows.sliding import SlidingWindow
from aotc.dialects.properties import int_prop
from aotc.mathematics.strided_transforms import STRIDE, StridedTransforms
from aotc.mathematics.winograd_transforms import (
    OUTPUT_TILES,
    ExactTransforms,
    Transforms,
    Untransformed,
    exact_transforms,
    transforms,
)

INNER = 2
"""How many of the last axes may be cut into tiles; the taps along all others are terms of the sum."""

EXACT = (ExactTransforms, StridedTransforms)
"""Those of integers."""


@dataclass(frozen=True)
class Axis:
    """How convolution along one axis is computed: its window, and what transforms a tile and the taps of a segment.

    A window of more taps than those of the transforms is cut into segments of as many (the last one filled up with
    zeros). Each segment is a convolution with an operand that begins later; their products are added up.
    """

    window: SlidingWindow
    transforms: Transforms | StridedTransforms | Untransformed

    @property
    def taps(self) -> int:
        """Of a segment."""
        return self.transforms.taps

    @property
    def segments(self) -> int:
        """How many there are."""
        return ceil_div(self.window.size, self.taps)

    @property
    def tiles(self) -> int:
        """How many there are."""
        return ceil_div(self.window.positions, self.transforms.outputs)

    @property
    def tile_stride(self) -> int:
        """Elements of the operand from one tile to the next."""
        return self.transforms.outputs * self.window.stride

    @property
    def segment_stride(self) -> int:
        """Elements of the operand from one segment to the next."""
        return self.taps * self.window.dilation

    @property
    def weight_matrix(self) -> Array:
        """[n, taps]: what the taps of a segment are multiplied with; of floats, which have a stride of 1."""
        assert not isinstance(self.transforms, StridedTransforms)
        return self.transforms.weight_matrix

    def transform_weight(self, weight: Array, number: int) -> Array:
        """Axis `number` of a weight, its taps, as two: [.., segments, n], in float64."""
        taps = np.moveaxis(weight.astype(np.float64), number, -1)
        filled = np.zeros((*taps.shape[:-1], self.segments * self.taps))
        filled[..., : taps.shape[-1]] = taps
        found = filled.reshape(*taps.shape[:-1], self.segments, self.taps) @ self.weight_matrix.T
        return np.moveaxis(found, (-2, -1), (number, number + 1))


ABSENT = Axis(SlidingWindow(1, 1, 1, 1, 0, 0), Untransformed())
"""Stands for the rows of a tensor with one spatial axis."""


def exact_of(output_tile: int, stride: int) -> ExactTransforms | StridedTransforms:
    """F(`output_tile`, 3) of integers, with results `stride` elements apart, 1 or 2."""
    return StridedTransforms(output_tile) if stride == STRIDE else exact_transforms(output_tile)


def axes_of(
    windows: Sequence[SlidingWindow], tiled: Sequence[int] | None, output_tile: int, *, exact: bool = False
) -> tuple[Axis, ...]:
    """The axes with these windows, those numbered in `tiled` (None: all) transformed by F(`output_tile`, 3), `exact` of
    integers, which may have a stride of 2.

    Raises ShapeError for windows that cannot be, and tiles that there are not.
    """
    if output_tile not in OUTPUT_TILES:
        raise ShapeError(f"the output tile is one of {', '.join(map(str, OUTPUT_TILES))}, found {output_tile}")
    rank = len(windows)
    chosen = range(rank) if tiled is None else tiled
    if not chosen or not set(chosen) <= set(range(max(rank - INNER, 0), rank)):
        raise ShapeError(f"some of the last {INNER} axes are in tiles, of {rank} axes found {list(chosen)}")
    for number in chosen:
        if windows[number].stride not in ((1, STRIDE) if exact else (1,)) or windows[number].dilation != 1:
            raise ShapeError(f"axis {number} is in tiles, which takes stride 1, or 2 of integers, and dilation 1")

    def axis(number: int, window: SlidingWindow) -> Axis:
        if number not in chosen:
            return Axis(window, Untransformed())
        return Axis(window, exact_of(output_tile, window.stride) if exact else transforms(output_tile))

    return tuple(axis(number, window) for number, window in enumerate(windows))


def along(values: Array, number: int, transform: Callable[[list[Scalar]], list[Scalar]]) -> Array:
    """An array of values (of objects), transformed along axis `number`."""
    moved = np.moveaxis(values, number, -1)
    fibers = [transform(list(fiber)) for fiber in moved.reshape(-1, moved.shape[-1])]
    found = np.empty((len(fibers), len(fibers[0])), object)
    for place, fiber in enumerate(fibers):
        found[place, :] = fiber
    return np.moveaxis(found.reshape(*moved.shape[:-1], -1), -1, number)


@irdl_op_definition
class WinogradWeightOp(ConstantPackerOp):
    """A convolution's weight [M, C, taps..], transformed and in the order in which `winograd_conv` streams it.

    The result is [panels, n.., S * C, width]: n = output_tile + 2 products along each of the `tiled_axes`,
    as one axis; S segments of the window, each with all channels; a panel is `width` output channels,
    missing ones zero. Computed in f64, then rounded to the type that sums are computed in: a weight in f16 or bf16
    becomes f32, for of what its transform would lose the result's would make ten times as much.
    """

    name = "graph.winograd_weight"
    weight = operand_def(TensorType)
    output_tile = int_prop()
    tiled_axes = opt_prop_def(DenseArrayBase)
    """Numbers of spatial axes, of the last two. Absent: all."""
    width = int_prop()
    result = result_def(TensorType)

    @property
    def axes(self) -> tuple[Axis, ...]:
        """How the taps along each axis are transformed; what is not about the weight is arbitrary."""
        windows = [SlidingWindow(taps, taps, 1, 1, 0, 0) for taps in shape_of(self.weight)[2:]]
        tiled = None if self.tiled_axes is None else self.ints("tiled_axes")
        return axes_of(windows, tiled, self.output_tile)

    def infer_types(self) -> Sequence[TensorType]:
        expect(self, weight="M C taps+ taps..+ float")
        expect_within(self, "width", 1)
        kind = compute_type(element_type_of(self.weight))
        extents = (extent for axis in self.axes for extent in (axis.segments, axis.transforms.inputs))
        return [TensorType(kind, self.layout.packed([*shape_of(self.weight)[:2], *extents]))]

    @property
    def layout(self) -> Layout:
        """Of a transformed weight [M, C, segments and products along each axis..]."""
        (panel, column), rank = blocks(0, self.width), 2 * len(shape_of(self.weight)) - 2
        products, segments = (tuple(map(Mode, range(first, rank, 2))) for first in (3, 2))
        return Layout("winograd_weight", ((panel,), products, (*segments, Mode(1)), (column,)))

    def evaluate(self, operands: Sequence[Array]) -> Sequence[Array]:
        (weight,), width = operands, self.width
        result = np.zeros(shape_of(self.result), numpy_dtype(element_type_of(self.result)))
        for panel, place in enumerate(result):  # one at a time: all in f64 would be many times as large as a cache
            part = weight[panel * width : (panel + 1) * width]
            for number, axis in enumerate(self.axes):
                part = axis.transform_weight(part, 2 + 2 * number)
            place[...] = self.layout.pack(part)[0]
        return [result]
