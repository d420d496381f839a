"""Rows that are read through a window: by convolutions and pools, and one by one by what is elementwise."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from aotc.dialects.builder import Scalar
from aotc.dialects.graph.interfaces import AnchorOp, shape_of
from aotc.dialects.graph.windows.sliding import SlidingWindow
from aotc.passes.kernel.builders.loop_builder import LoopBuilder
from aotc.passes.kernel.row_map import RowMap, Steps
from aotc.passes.kernel.spatial_tiling import row_axis


@dataclass(frozen=True)
class WindowRows(RowMap):
    """The rows that a window sees."""

    window: SlidingWindow

    @staticmethod
    def same(axis: int, rows: int) -> WindowRows:
        """Each row for the one at its place."""
        return WindowRows(axis, SlidingWindow(rows, 1, 1, 1, 0, 0))

    @property
    def extent(self) -> int:
        return self.window.extent

    def available(self, rows: Steps) -> Steps:
        return np.maximum(rows + self._more, 0) // self.window.stride

    def available_at(self, b: LoopBuilder, rows: Scalar) -> Scalar:
        more = self._more
        return (b.max(rows + more, 0) if more < 0 else rows + more) / self.window.stride

    @property
    def _more(self) -> int:
        return self.window.before + self.window.stride - self.window.span

    def first(self, rows: Steps) -> Steps:
        return np.maximum(rows * self.window.stride - self.window.before, 0)

    def first_at(self, b: LoopBuilder, rows: Scalar) -> Scalar:
        return b.max(rows * self.window.stride - self.window.before, 0)


def window_rows(
    op: AnchorOp, windows: Sequence[SlidingWindow], *, first: int = 2, unit: int = 1
) -> Mapping[int, WindowRows] | None:
    """The rows of the first operand, for a window operation on one image with the channels last, [N, 1, spatial.., C]
    (see `KernelStrategy.row_maps`); None where rows are no positions along a spatial axis.

    Spatial axes of the operand begin with axis `first`; along the last one a position has `unit` elements.
    """
    x, axis = shape_of(op.operands[0]), row_axis(shape_of(op.results[0]))
    if not 2 <= axis < 2 + len(windows):
        return None
    window, of_x = windows[axis - 2], first + axis - 2
    unit = unit if axis == 1 + len(windows) else 1
    alone = math.prod(x[:of_x]) == 1 and x[of_x] == window.extent * unit
    return {0: WindowRows(of_x, window, unit=unit)} if alone else None
