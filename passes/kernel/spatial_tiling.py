"""Spatial tiles: boxes of a result, and what an operation reads to compute one instead of the whole."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TypeAlias

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, SSAValue

from aotc.dialects.attributes import to_attribute
from aotc.dialects.axis_reads import AxisReads
from aotc.dialects.graph.interfaces import AnchorOp, element_type_of, shape_of
from aotc.dialects.graph.schedules import MatmulSchedule, Schedule, WindowSchedule
from aotc.dialects.graph.windows.sliding import SlidingWindow

Box: TypeAlias = tuple[range, ...]
"""A range of positions along each axis of a tensor."""


def whole(value: SSAValue) -> Box:
    """All of a tensor."""
    return _ranges(shape_of(value))


@lru_cache(maxsize=4096)
def _ranges(shape: tuple[int, ...]) -> Box:
    return tuple(map(range, shape))


def size(box: Box) -> int:
    """How many elements a box has."""
    return math.prod(map(len, box))


@dataclass(frozen=True)
class SpatialTiling:
    """How a result may be divided into spatial tiles so that they share little work."""

    single: Sequence[int]
    """Axes along which a tile has extent 1."""
    rows: int
    """The axis along which a tile has several positions."""
    multiple: int = 1
    """The number of positions along `rows` should be a multiple of this."""


@dataclass(frozen=True)
class TiledImplementation:
    """The operation that computes a box of another one's result (MLIR `getTiledImplementation`)."""

    whole: AnchorOp
    boxes: tuple[Box, ...]
    """The box of each operand that it reads."""
    properties: Mapping[str, object] = field(default_factory=dict[str, object])
    """The properties that differ from the whole operation's, as plain Python values."""

    def op(self) -> AnchorOp:
        """An operation of the same kind whose operands are no larger than the boxes; it is in no function."""
        kinds = map(element_type_of, self.whole.operands)
        types = [TensorType(kind, [len(axis) for axis in box]) for kind, box in zip(kinds, self.boxes, strict=True)]
        copy = self.whole.clone()
        copy.operands = Block(arg_types=types).args
        copy.properties |= {name: to_attribute(value) for name, value in self.properties.items()}
        copy.refine()
        return copy


@dataclass(frozen=True)
class Reads:
    """Reads of neighbouring positions of a sliding window, and the padding that they overlap."""

    elements: range
    before: int
    after: int

    @staticmethod
    def by(window: SlidingWindow, positions: range) -> Reads | None:
        """Exactly what `positions` read; None where that is nothing, or where a window exceeds the padding."""
        first = positions.start * window.stride - window.before
        last = (positions.stop - 1) * window.stride - window.before + window.span
        elements = range(min(max(first, 0), window.extent), max(min(last, window.extent), 0))
        if not elements or last > window.extent + window.after:
            return None
        return Reads(elements, elements.start - first, last - elements.stop)


def tiled_windows(op: AnchorOp, windows: Sequence[SlidingWindow], box: Box) -> TiledImplementation | None:
    """The tiled implementation of a window operation (x, parameters) -> [N, blocks, spatial.., lanes].

    The box selects images and positions of the windows. x has the images along the same axis, then blocks or channels,
    spatial axes, perhaps lanes.
    """
    x, *parameters = op.operands
    images, blocks, *positions, lanes = box
    everything = whole(op.results[0])
    reads = [Reads.by(window, part) for window, part in zip(windows, positions, strict=True)]
    if (blocks, lanes) != (everything[1], everything[-1]) or None in reads:
        return None
    parts = [part for part in reads if part is not None]
    channels, *_ = whole(x)[1:]
    within = (images, channels, *(part.elements for part in parts), *whole(x)[2 + len(parts) :])
    pads = [*(part.before for part in parts), *(part.after for part in parts)]
    return TiledImplementation(op, (within, *map(whole, parameters)), {"pads": pads})


def window_tiling(op: AnchorOp, schedule: Schedule) -> SpatialTiling:
    """The tiling of [N, blocks, spatial.., lanes]: one image at a time, some positions along the first spatial axis.

    Register tiles lie along the last spatial axis.
    """
    if len(shape_of(op.results[0])) > 4:
        return SpatialTiling((0,), 2)
    assert isinstance(schedule, MatmulSchedule | WindowSchedule)
    return SpatialTiling((0,), 2, schedule.mr if isinstance(schedule, MatmulSchedule) else schedule.positions)


def window_rows(
    op: AnchorOp, windows: Sequence[SlidingWindow], axis: int, *, first: int = 2, unit: int = 1
) -> Mapping[int, AxisReads] | None:
    """The rows of the first operand, for a window operation on one image (see `KernelStrategy.row_reads`); None where
    those of the result along `axis` are no positions along a spatial axis.

    Spatial axes of the operand begin with axis `first`; along the last one a position has `unit` elements.
    """
    x, own = shape_of(op.operands[0]), first + axis - 2
    if not 2 <= axis < 2 + len(windows) or x[0] != 1:
        return None
    unit = unit if axis == 1 + len(windows) else 1
    if unit > 1 and math.prod(x[:own]) > 1:
        return None  # rows do not follow each other in memory
    return {0: replace(windows[axis - 2].reads(own), unit=unit)}
