"""Strips of a result one after the other: what each needs of the stages before the last, and what of that is new.

Where a strip sees again some of what the one before it needed, as the rows that windows of both see, a stage keeps
that and computes only the rest: nothing is computed twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.ir import SSAValue

from aotc.dialects.graph.boxes import Box, Cutout
from aotc.dialects.graph.interfaces import AnchorOp, ShapeError, shape_of


@dataclass(frozen=True)
class Stage:
    """An anchor and what becomes of its result before the next one reads it."""

    anchor: AnchorOp
    value: SSAValue
    """What the next stage reads, pointwise from the anchor's result; of the last stage, that result."""
    chained: int | None
    """Which operand of the anchor is the value of the stage before; None in the first stage."""


@dataclass(frozen=True)
class Step:
    """What a stage computes for a strip."""

    box: Box
    """Of the stage's value."""
    cutout: Cutout


Strip: TypeAlias = Sequence[Step | None]
"""The steps that compute a strip, in order; None of a stage of which nothing new is needed."""


class Walk:
    """Strips in the order in which they are computed, and what is held of the stages' values meanwhile."""

    def __init__(self, stages: Sequence[Stage]) -> None:
        self._stages = stages
        self.begin()
        self.extents = [[0] * len(shape_of(stage.value)) for stage in stages[:-1]]
        """How much was held at a time of each value but the last, along every axis."""
        self.rings: list[int | None] = [None] * (len(stages) - 1)
        """The axis of each value along which some was kept."""
        self.repeats = False
        """Whether some was computed again."""

    def begin(self) -> None:
        """The next strip is a first one: nothing is held."""
        self._held: list[Box | None] = [None] * (len(self._stages) - 1)

    def strip(self, box: Box) -> Strip:
        """The next one, which computes `box` of the result; raises ShapeError where a stage has no such part."""
        strip: list[Step | None] = [None] * len(self._stages)
        for number, stage in reversed(list(enumerate(self._stages))):
            if (cutout := stage.anchor.cut_out(box)) is None:
                raise ShapeError(f"{stage.anchor.name} cannot be computed in strips {[len(axis) for axis in box]}")
            strip[number] = Step(box, cutout)
            if stage.chained is None or (new := self._hold(number - 1, cutout.boxes[stage.chained])) is None:
                break
            box = new
        return strip

    def _hold(self, number: int, needed: Box) -> Box | None:
        """Have `needed` of a value from now on; what of it is new, if anything."""
        held = self._held[number]
        new: Box | None = needed
        if held is not None and all(_overlap(a, b) for a, b in zip(held, needed, strict=True)):
            moved = [axis for axis, (a, b) in enumerate(zip(held, needed, strict=True)) if a != b]
            if not moved:
                new = None
            elif len(moved) == 1 and self._keeps(number, moved[0]) and held[moved[0]].start <= needed[moved[0]].start:
                (axis,) = moved
                self.rings[number] = axis
                stop = max(held[axis].stop, needed[axis].stop)
                rest = range(held[axis].stop, stop)
                new = at_axis(needed, axis, rest) if rest else None
                needed = at_axis(needed, axis, range(needed[axis].start, stop))
            else:
                self.repeats = True
        self._held[number] = needed
        self.extents[number] = list(map(max, self.extents[number], map(len, needed)))
        return new

    def _keeps(self, number: int, axis: int) -> bool:
        return self.rings[number] in (None, axis)


def at_axis(box: Box, axis: int, positions: range) -> Box:
    """`box` with other positions along an axis."""
    return (*box[:axis], positions, *box[axis + 1 :])


def _overlap(a: range, b: range) -> bool:
    return max(a.start, b.start) < min(a.stop, b.stop)
