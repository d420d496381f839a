"""The order of spatial tiles: what each needs of every stage, and what of that is new.

Where a tile needs again what the one before it needed, such as the rows that windows of both read, a stage keeps that
in a rolling line buffer and computes only what is new: nothing is computed twice. Strips of tiles that differ only in
their position share code. Parts of the result, tiles in a row, may be computed at the same time.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise, product
from math import prod
from typing import Generic, TypeAlias, TypeVar

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from aotc.dialects.dtypes import byte_width
from aotc.dialects.graph.compound.staged import Stage
from aotc.dialects.graph.interfaces import ShapeError, element_type_of, shape_of
from aotc.dialects.graph.shapes import ceil_div
from aotc.passes.kernel.nests.products.matmul_nest import CACHE_LINE
from aotc.passes.kernel.spatial_tiling import Box, TiledImplementation
from aotc.passes.kernel.strategy import strategy_of

T = TypeVar("T")

_SETS = 512
"""Distances in memory should not be multiples of this many bytes: such elements share a set of a cache."""


@dataclass(frozen=True)
class Slab:
    """The part of a stage's result for a spatial tile."""

    box: Box
    """Of the stage's value."""
    implementation: TiledImplementation


SpatialTile: TypeAlias = Sequence[Slab | None]
"""The slabs that make up a spatial tile, in order; None for a stage of which nothing new is needed."""


class Walk:
    """Computes spatial tiles in order, and records which boxes of the stages' values are kept meanwhile."""

    def __init__(self, stages: Sequence[Stage]) -> None:
        self._stages = stages
        self.begin()
        self.extents = [[0] * len(shape_of(stage.value)) for stage in stages[:-1]]
        """For each stage's value but the last, the largest box that was kept, as extents."""
        self.rolling: list[int | None] = [None] * (len(stages) - 1)
        """For each value, the axis of its rolling line buffer; None where nothing was kept."""
        self.repeats = False
        """Whether anything was computed twice."""

    def begin(self) -> None:
        """Begin a part: nothing is kept from tiles before."""
        self._last: list[Box | None] = [None] * (len(self._stages) - 1)

    def tile(self, box: Box) -> SpatialTile:
        """The next tile, which computes `box` of the result; raises ShapeError where a stage cannot be tiled so."""
        tile: list[Slab | None] = [None] * len(self._stages)
        for number, stage in reversed(list(enumerate(self._stages))):
            if (found := strategy_of(stage.anchor).tiled_implementation(stage.anchor, box)) is None:
                raise ShapeError(f"{stage.anchor.name} cannot be computed in tiles {[len(axis) for axis in box]}")
            tile[number] = Slab(box, found)
            if stage.chained is None or (new := self._require(number - 1, found.boxes[stage.chained])) is None:
                break
            box = new
        return tile

    def _require(self, number: int, needed: Box) -> Box | None:
        """Keep the box `needed` of a value from now on; return what of it is new, None if nothing."""
        last = self._last[number]
        new: Box | None = needed
        if last is not None and all(map(_overlap, last, needed)):
            moved = [axis for axis, (a, b) in enumerate(zip(last, needed, strict=True)) if a != b]
            axis = moved[0] if len(moved) == 1 else None
            if not moved:
                new = None
            elif axis is not None and self.rolling[number] in (None, axis) and last[axis].start <= needed[axis].start:
                self.rolling[number] = axis
                stop = max(last[axis].stop, needed[axis].stop)
                more = range(last[axis].stop, stop)
                new = at_axis(needed, axis, more) if more else None
                needed = at_axis(needed, axis, range(needed[axis].start, stop))
            else:
                self.repeats = True
        self._last[number] = needed
        self.extents[number] = list(map(max, self.extents[number], map(len, needed)))
        return new


def at_axis(box: Box, axis: int, positions: range) -> Box:
    """`box` with other positions along an axis."""
    return (*box[:axis], positions, *box[axis + 1 :])


def _overlap(a: range, b: range) -> bool:
    return max(a.start, b.start) < min(a.stop, b.stop)


@dataclass(frozen=True)
class Strip(Generic[T]):
    """Neighbours that differ only in their position, at equal distances."""

    first: T
    count: int = 1
    distance: Sequence[int] | None = None
    """How far the starts of all boxes (`starts`) are from those of the one before; None where there is none."""


@dataclass(frozen=True)
class Place:
    """A spatial tile and its positions along an axis."""

    positions: range
    tile: SpatialTile


Grid: TypeAlias = Sequence[Sequence[range]]
"""The positions of tiles along each axis of the result."""

Part: TypeAlias = Sequence[tuple[Sequence[Strip[Place]], Sequence[Strip[Place]]]]
"""For every choice of strips along the axes before it, the strips along the axis in which tiles follow each other."""


class Plan:
    """The order in which the tiles of a result are computed; raises ShapeError where a stage cannot be tiled like that.

    Tiles follow each other in row-major order; they keep rows along the last axis that has several.
    """

    def __init__(self, stages: Sequence[Stage], tile: Sequence[int], parts: Sequence[int]) -> None:
        """`tile` gives the extents of a tile, `parts` the number of tiles of each part; none: all are one part."""
        shape = shape_of(stages[-1].value)
        grid = [
            [range(start, min(start + by, extent)) for start in range(0, extent, by)]
            for extent, by in zip(shape, tile, strict=True)
        ]
        self._stages = stages
        self._in_order = max((axis for axis, places in enumerate(grid) if len(places) > 1), default=0)
        self.walk = Walk(stages)
        """Values that are kept meanwhile, the same for each part."""
        self.parts = _strips(self._parts(grid, parts or [prod(map(len, grid))]))

    @property
    def count(self) -> int:
        """How many parts there are."""
        return sum(strip.count for strip in self.parts)

    @property
    def scratch(self) -> list[TensorType]:
        """The scratch buffers of all parts, one after the other along the first axis, for each stage but the last."""
        found: list[TensorType] = []
        for stage, extents in zip(self._stages, self.walk.extents, strict=False):
            kind = element_type_of(stage.value)
            outer, *inner = _padded_extents(extents, kind)
            found.append(TensorType(kind, [self.count * outer, *inner]))
        return found

    def _parts(self, grid: Grid, parts: Sequence[int]) -> Iterator[tuple[Part, object, list[int]]]:
        for start, stop in pairwise(accumulate(parts, initial=0)):
            part = [strips for box in _consecutive(grid, start, stop) for strips in self._box(box)]
            strips = [strip for outer, inner in part for strip in (*outer, *inner)]
            first, *others = (starts(self._stages, strip.first.tile) for strip in strips)
            moved = [[b - a for a, b in zip(first, other, strict=True)] for other in others]
            yield part, (moved, [(_code_key(strip.first.tile), strip.count, strip.distance) for strip in strips]), first

    def _box(self, grid: Grid) -> Part:
        first = tuple(places[0] for places in grid)
        found: list[tuple[Sequence[Strip[Place]], Sequence[Strip[Place]]]] = []
        for outer in product(*(self._along(grid, axis, first) for axis in range(self._in_order))):
            others = (*(strip.first.positions for strip in outer), *first[self._in_order :])
            found.append((outer, self._along(grid, self._in_order, others)))
        return found

    def _along(self, grid: Grid, axis: int, others: Box) -> list[Strip[Place]]:
        """All tiles along an axis at `others` along the others."""

        def places() -> Iterator[tuple[Place, object, list[int]]]:
            self.walk.begin()
            for positions in grid[axis]:
                if axis != self._in_order:
                    self.walk.begin()
                tile = self.walk.tile(at_axis(others, axis, positions))
                yield Place(positions, tile), _code_key(tile), starts(self._stages, tile)

        return _strips(places())


def _padded_extents(extents: Sequence[int], kind: Attribute) -> list[int]:
    """Extents, no smaller than given, such that neighbours along an axis do not share a set of a cache."""
    result, stride = list(extents), byte_width(kind)
    for axis in reversed(range(1, len(result))):
        unit = stride if axis < len(result) - 1 else max(CACHE_LINE, stride)
        if result[axis - 1] > 1 and result[axis] * stride % _SETS == 0:
            result[axis] += unit // stride
        stride *= result[axis]
    return result


def _consecutive(grid: Grid, start: int, stop: int) -> Iterator[Grid]:
    """The tiles from number `start` to `stop` in row-major order, as grids: the end of a row, whole rows, the beginning
    of a row, or what lies within one."""
    places, *inner = grid
    each = prod(map(len, inner))

    def within(row: int) -> Iterator[Grid]:
        low, high = max(start - row * each, 0), min(stop - row * each, each)
        yield from (([places[row]], *rest) for rest in _consecutive(inner, low, high))

    first, last = ceil_div(start, each), stop // each
    if start < first * each:
        yield from within(first - 1)
    if first < last:
        yield places[first:last], *inner
    if first <= last and last * each < stop:
        yield from within(last)


def _strips(found: Iterable[tuple[T, object, list[int]]]) -> list[Strip[T]]:
    """The first entries as strips: neighbours with equal second entries and equal distances between third ones."""
    strips: list[Strip[T]] = []
    last: tuple[object, list[int]] | None = None
    for each, likeness, here in found:
        if last is not None and last[0] == likeness:
            distance = [b - a for a, b in zip(last[1], here, strict=True)]
            if strips[-1].distance in (None, distance):
                strips[-1] = replace(strips[-1], count=strips[-1].count + 1, distance=distance)
                last = likeness, here
                continue
        strips.append(Strip(each))
        last = likeness, here
    return strips


def starts(stages: Sequence[Stage], tile: SpatialTile) -> list[int]:
    """Where every box begins, along all its axes: of each stage that of its value, then those of its anchor's operands.

    Of a stage without a slab, 0.
    """
    found: list[int] = []
    for stage, slab in zip(stages, tile, strict=True):
        if slab is None:
            found += [0 for value in (stage.value, *stage.anchor.operands) for _ in shape_of(value)]
        else:
            found += [axis.start for box in (slab.box, *slab.implementation.boxes) for axis in box]
    return found


def _code_key(tile: SpatialTile) -> object:
    """Equal for tiles that the same code computes, whatever their position."""
    return [
        None
        if slab is None
        else (
            [[len(axis) for axis in box] for box in (slab.box, *slab.implementation.boxes)],
            slab.implementation.properties,
        )
        for slab in tile
    ]
