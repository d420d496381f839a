"""Parts of results: what an operation needs to compute a box of its result instead of the whole."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, SSAValue

from aotc.dialects.graph.interfaces import AnchorOp, element_type_of, shape_of, to_attribute
from aotc.dialects.graph.schedules import MatmulSchedule, Schedule, WindowSchedule
from aotc.dialects.graph.windows.sliding import SlidingWindow

Box: TypeAlias = tuple[range, ...]
"""Neighbouring positions along every axis of a tensor."""


def whole(value: SSAValue) -> Box:
    """All of a tensor."""
    return tuple(range(extent) for extent in shape_of(value))


def size(box: Box) -> int:
    """How many elements a box has."""
    return math.prod(map(len, box))


@dataclass(frozen=True)
class SpatialTiling:
    """How a result may be computed in spatial tiles that share little work."""

    single: Sequence[int]
    """Axes along which a tile has one position."""
    rows: int
    """The axis along which it has some."""
    multiple: int = 1
    """Of how many positions these should be a multiple."""


@dataclass(frozen=True)
class TiledImplementation:
    """What computes a box of an operation's result."""

    whole: AnchorOp
    boxes: tuple[Box, ...]
    """What is seen of each operand."""
    properties: Mapping[str, object] = field(default_factory=dict[str, object])
    """Those that are others than the whole operation's, as plain Python values."""

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
class Seen:
    """What neighbouring positions of a sliding window see of the operand, and the padding they meet."""

    elements: range
    before: int
    after: int

    @staticmethod
    def by(window: SlidingWindow, positions: range) -> Seen | None:
        """What `positions` see, and no more; None where that is nothing, or a window hangs over the padding."""
        first = positions.start * window.stride - window.before
        last = (positions.stop - 1) * window.stride - window.before + window.span
        elements = range(min(max(first, 0), window.extent), max(min(last, window.extent), 0))
        if not elements or last > window.extent + window.after:
            return None
        return Seen(elements, elements.start - first, last - elements.stop)


def tiled_windows(op: AnchorOp, windows: Sequence[SlidingWindow], box: Box) -> TiledImplementation | None:
    """An operation x, parameters -> [N, blocks, spatial.., lanes] for some images and positions of its windows.

    x has the images at the same place, then blocks or channels, spatial axes, perhaps lanes.
    """
    x, *parameters = op.operands
    images, blocks, *positions, lanes = box
    everything = whole(op.results[0])
    seen = [Seen.by(window, part) for window, part in zip(windows, positions, strict=True)]
    if (blocks, lanes) != (everything[1], everything[-1]) or None in seen:
        return None
    parts = [part for part in seen if part is not None]
    channels, *_ = whole(x)[1:]
    within = (images, channels, *(part.elements for part in parts), *whole(x)[2 + len(parts) :])
    pads = [*(part.before for part in parts), *(part.after for part in parts)]
    return TiledImplementation(op, (within, *map(whole, parameters)), {"pads": pads})


def window_tiling(op: AnchorOp, schedule: Schedule) -> SpatialTiling:
    """Of [N, blocks, spatial.., lanes]: positions along the first spatial axis, one image at a time.

    Register tiles lie along the last spatial axis.
    """
    spatial = len(shape_of(op.results[0])) - 3
    return SpatialTiling((0,), 2, 1 if spatial > 1 else _tile_rows(schedule))


def _tile_rows(schedule: Schedule) -> int:
    """Neighbouring results of a register tile."""
    if isinstance(schedule, MatmulSchedule):
        return schedule.mr
    assert isinstance(schedule, WindowSchedule)
    return schedule.positions
