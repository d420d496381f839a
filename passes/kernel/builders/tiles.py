"""The shapes of register tiles, and indices along their axes.

A `Tile` is the shape of the registers that a piece of code works on. Its axes enter the index of an element as a
`TileIndex`, an affine form: base + sum of step * position along a tile axis.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from xdsl.dialects.builtin import VectorType
from xdsl.ir import SSAValue

from aotc.dialects.builder import INDEX, Builder, Scalar, ScalarLike
from aotc.dialects.graph.shapes import ceil_div


class NotVectorizable(Exception):
    """The kernel is not vectorizable; the message says why."""


@dataclass(frozen=True, eq=False)
class Tile:
    """Registers of one shape: the last axis is the lanes, the others count registers.

    `valid`, if given, is how many elements along the last two axes (the lanes alone, with one axis) exist in memory.
    """

    shape: tuple[int, ...]
    valid: int | None = None
    group: int = 1
    """So many neighbouring elements are read, and repeated, where the lanes are all at one index (`aot.tile_load`)."""
    present: int | None = None
    """How many of these are in memory (all, where absent); the others are zero."""

    @staticmethod
    def of(rows: int, elements: int, lanes: int) -> Tile:
        """Rows of neighbouring elements in registers, of which the last may be partly filled."""
        return Tile((rows, ceil_div(elements, lanes), lanes), elements if elements % lanes else None)

    def index(self, b: Builder, base: ScalarLike, steps: Mapping[int, int]) -> Scalar:
        """base + the sum of steps[axis] * position along axis; negative axes count from the lanes (-1)."""
        start = base if isinstance(base, Scalar) else b.index(int(base))
        rank = len(self.shape)
        given = {axis % rank: step for axis, step in steps.items() if step and self.shape[axis] > 1}
        if not given and self.group == 1:
            return start
        return TileIndex(b, INDEX, tile=self, base=start, steps=given)  # a group is a tile wherever it is


@dataclass(frozen=True, eq=False)
class TileIndex(Scalar):
    """An index that differs between the elements of a tile: affine in the positions along its axes."""

    tile: Tile = field(kw_only=True)
    base: Scalar = field(kw_only=True)
    steps: Mapping[int, int] = field(kw_only=True)

    @property
    def ssa(self) -> SSAValue:
        raise NotVectorizable("a tile index is used as a number")

    @property
    def key(self) -> object:
        return (self.tile, self.base.key, tuple(sorted(self.steps.items())))

    def moved(self, base: Scalar) -> TileIndex:
        """The same steps from another base."""
        return replace(self, base=base)

    def scaled(self, base: Scalar, factor: int) -> Scalar:
        """Every step times `factor`, from another base."""
        return self.tile.index(self.b, base, {axis: step * factor for axis, step in self.steps.items()})


def is_tile(value: Scalar) -> bool:
    """Whether `value` is a tile of elements, not one element."""
    return value.value is not None and isinstance(value.value.type, VectorType)
