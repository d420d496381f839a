"""A loop nest while it is written, the one argument of all that writes one; and how it accesses memory.

A nest calls a reader or a writer for each tile, and what is fused into the nest is evaluated there, at an index of
which some entries are `TileIndex`es. Whether the fused operations can be vectorised, and whether their loads are
contiguous, depends on how the tile lies in the tensor, not on where it begins. A nest accesses memory at many places
but in few distinct ways: it is enough to look at each distinct way, an `AccessPattern`, once. (These are the affine
access relations of polyhedral compilers, without the constants.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Self, TypeVar

from xdsl.ir import Attribute, Block, SSAValue

from aotc.dialects.aot.tiles import tile_type
from aotc.dialects.builder import Reader, Scalar, Writer
from aotc.dialects.dtypes import compute_type, storage_type
from aotc.dialects.graph.interfaces import AnchorOp, GraphOp, element_type_of, shape_of
from aotc.dialects.graph.schedules import Schedule
from aotc.passes.kernel.builders.loop_builder import LoopBuilder
from aotc.passes.kernel.builders.tile_builder import TileBuilder
from aotc.passes.kernel.builders.tiles import NotVectorizable, Tile, TileIndex, is_tile

Op = TypeVar("Op", bound=GraphOp, covariant=True)
S = TypeVar("S", bound=Schedule)


@dataclass(frozen=True)
class Row:
    """One position along an axis of a result, or some that are neighbours."""

    axis: int
    place: Scalar
    """The first position."""
    count: int = 1
    """How many there are; more than one for nests that say so (`KernelStrategy.rows_at_once`)."""
    end: Scalar | None = None
    """The position behind the last one, where there may be fewer."""


@dataclass(frozen=True)
class LoopNest(Generic[Op]):
    """The scalar loops of an operation: what they compute, what writes them, where elements come from and go to."""

    op: Op
    b: LoopBuilder
    reads: Sequence[Reader]
    """Of the operands, then of the scratch buffers."""
    writes: Sequence[Writer]
    """Of the results, scratch buffers included."""
    only: Row | None = field(default=None, kw_only=True)
    """The part of the results that is computed; None: all."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the first result."""
        return shape_of(self.op.results[0])

    def reader(self, value: SSAValue | None) -> Reader | None:
        """That of an operand or a scratch buffer; None for one that is absent."""
        if value is None:
            return None
        scratch = self.op.scratch() if isinstance(self.op, AnchorOp) else ()
        return self.reads[[*self.op.operands, *scratch].index(value)]

    def write(self, index: Sequence[Scalar], value: Scalar) -> None:
        """Write an element of the first result."""
        self.writes[0](index, value)

    def place(self, axis: int) -> Scalar | None:
        """The position along an axis that alone is computed; None where all are."""
        row = self.rows_along(axis)
        return None if row is None else row.place

    def rows_along(self, axis: int) -> Row | None:
        """The positions along an axis that alone are computed; None where all are."""
        return self.only if self.only is not None and self.only.axis == axis else None

    def over(self, axes: Sequence[int], body: Callable[[list[Scalar]], None]) -> None:
        """Parallel loops over what is computed of the first result along some axes."""
        places = [self.place(axis) for axis in axes]
        extents = [self.shape[axis] if place is None else 1 for axis, place in zip(axes, places, strict=True)]

        def at(index: list[Scalar]) -> None:
            body([i if place is None else place for i, place in zip(index, places, strict=True)])

        self.b.parallel_for(extents, at)


@dataclass(frozen=True)
class Nest(LoopNest[Op], Generic[Op, S]):
    """The loops of an operation on register tiles, as a schedule says."""

    b: TileBuilder
    schedule: S

    @property
    def lanes(self) -> int:
        """Of a vector register."""
        return self.schedule.lanes

    @classmethod
    def of(cls, nest: Nest[Op, S], **more: Any) -> Self:
        """The same, as one of a class that knows how these loops are written."""
        return cls(nest.op, nest.b, nest.reads, nest.writes, nest.schedule, only=nest.only, **more)

    def emit(self) -> None:
        """Write the loops, where the class knows them; every element of the results is written once."""
        raise NotImplementedError


@dataclass(frozen=True)
class AccessPattern:
    """How a tile lies in a tensor."""

    shape: tuple[int, ...]
    """The shape of the tile: counts of registers, then the lanes of one."""
    valid: int | None
    """Elements of a tail that exist in memory (see `Tile`)."""
    steps: tuple[tuple[tuple[int, int], ...], ...]
    """For each axis of the tensor, the tile axes that lie along it, each with its step; empty where all elements of the
    tile have the same position."""

    @classmethod
    def of(cls, index: Sequence[Scalar]) -> AccessPattern | None:
        """The pattern of an index; None for a single element. Raises NotVectorizable where it mixes several tiles."""
        along = [each for each in index if isinstance(each, TileIndex)]
        if not along:
            return None
        tile = along[0].tile
        if any(each.tile is not tile for each in along):
            raise NotVectorizable("an index mixes two tiles")
        steps = (tuple(sorted(each.steps.items())) if isinstance(each, TileIndex) else () for each in index)
        return cls(tile.shape, tile.valid, tuple(steps))

    def index(self, b: TileBuilder, begin: Sequence[Scalar]) -> list[Scalar]:
        """An index with this pattern that begins at `begin`, which has an entry for each axis of the tensor."""
        tile = Tile(self.shape, self.valid)
        return [tile.index(b, each, dict(steps)) for each, steps in zip(begin, self.steps, strict=True)]


@dataclass(frozen=True)
class WritePattern:
    """How a tile of results is written."""

    at: AccessPattern
    dtype: Attribute
    """The graph type of what is written."""
    value: Attribute
    """Its type in the kernel: a vector, or a scalar that is the same for all elements."""


@dataclass(frozen=True)
class Accesses:
    """The distinct patterns of a vectorised nest, in the order of its readers and writers.

    Reads and writes of single elements are left out: anything can be evaluated there.
    """

    reads: tuple[tuple[AccessPattern, ...], ...]
    """For each operand, then for each scratch buffer."""
    writes: tuple[tuple[WritePattern, ...], ...]
    """For each result, scratch buffers included."""


def traced(op: Op, schedule: S, write: Callable[[Nest[Op, S]], None]) -> Accesses | None:
    """The accesses of the nest of an anchor that `write` writes, recorded while it does so into a block that is
    dropped; None where it raises NotVectorizable."""
    assert isinstance(op, AnchorOp)
    block = Block()
    recorder = _Recorder(block)
    types = [compute_type(element_type_of(value)) for value in (*op.operands, *op.scratch())]
    reads: list[dict[AccessPattern, None]] = [{} for _ in types]
    writes: list[dict[WritePattern, None]] = [{} for _ in op.results]
    try:
        readers, writers = list(map(recorder.reader, types, reads)), list(map(recorder.writer, writes))
        write(Nest(op, recorder, readers, writers, schedule))
    except NotVectorizable:
        return None
    finally:
        block.erase(safe_erase=False)
    return Accesses(tuple(map(tuple, reads)), tuple(map(tuple, writes)))


class _Recorder(TileBuilder):
    """Writes a nest on unknown operands and records how it accesses them."""

    def __init__(self, block: Block) -> None:
        super().__init__(block)
        self._unknown: dict[Attribute, SSAValue] = {}

    def reader(self, dtype: Attribute, patterns: dict[AccessPattern, None]) -> Reader:
        """A reader that returns an unknown value of `dtype` and adds to `patterns`."""

        def read(index: Sequence[Scalar]) -> Scalar:
            kind = storage_type(dtype)
            if (pattern := AccessPattern.of(index)) is not None:
                patterns[pattern] = None
                kind = tile_type(pattern.shape, kind)
            if kind not in self._unknown:
                self._unknown[kind] = self._entry.insert_arg(kind, len(self._entry.args))
            return Scalar(self, dtype, self._unknown[kind])

        return read

    def writer(self, patterns: dict[WritePattern, None]) -> Writer:
        """A writer that drops the value and adds to `patterns`."""

        def write(index: Sequence[Scalar], value: Scalar) -> None:
            if (at := AccessPattern.of(index)) is not None:
                patterns[WritePattern(at, value.dtype, value.ssa.type)] = None
            elif is_tile(value):
                raise NotVectorizable("a tile is stored to a single element")

        return write
