"""The axes of a convolution by Winograd's minimal filtering: which are cut into tiles, and the segments of windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from aotc.dialects.builder import Scalar
from aotc.dialects.graph.interfaces import Array, ShapeError
from aotc.dialects.graph.shapes import ceil_div
from aotc.dialects.graph.windows.sliding import SlidingWindow
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
    def tile_step(self) -> int:
        """Elements of the operand from one tile to the next."""
        return self.transforms.outputs * self.window.stride

    @property
    def segment_step(self) -> int:
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
    lines = [transform(list(line)) for line in moved.reshape(-1, moved.shape[-1])]
    found = np.empty((len(lines), len(lines[0])), object)
    for place, line in enumerate(lines):
        found[place, :] = line
    return np.moveaxis(found.reshape(*moved.shape[:-1], -1), -1, number)
