"""Vectorised loop nests for kernels without an anchor: pointwise chains, broadcasts, transposes, concatenations.

A first pass over the expression, into a block that is dropped, tells where the index space must be split (between the
parts of a concatenation, at the border of padding) and how each operand lies along its loops. Neighbouring loops that
every operand traverses like a single one are merged into a `Band`. The band along which the result is contiguous holds
the lanes, and further registers; where it is short, these lie along the next band. Where an operand is contiguous along
another band, tiles are squares over both, which `TileBuilder.load` transposes in registers. The tail of a band is a
smaller tile.

A result of bytes whose last dimension is four, as that of an image with few channels, is words of four bytes: each lane
computes all four, so that operands that are contiguous along another dimension are read as they lie, and those that
have fewer channels last.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias, cast

from xdsl.dialects.builtin import IntegerType, MemRefType
from xdsl.ir import Attribute, Block

from aotc.dialects.aot.words import WORD
from aotc.dialects.builder import INDEX, Scalar
from aotc.dialects.graph.schedules import ElementwiseSchedule
from aotc.dialects.graph.shapes import Segment, ceil_div, segments
from aotc.passes.kernel.builders.space_builder import Access, Loop, Refine, Space, SpaceBuilder
from aotc.passes.kernel.builders.tiles import NotVectorizable, Tile

Write: TypeAlias = Callable[[SpaceBuilder, Sequence[Scalar]], None]
"""Computes and stores the results at an index."""

_Sides: TypeAlias = "dict[Band | None, tuple[Segment, dict[int, int]]]"
"""For each band along which a tile lies: how much of it the tile covers, and the steps of the tile's axes."""

MOST_SPACES = 64
"""The most parts that an index space is split into."""


@dataclass(frozen=True, eq=False)
class Band:
    """Neighbouring loops, outermost first, that all addresses traverse like a single loop of as many steps."""

    loops: tuple[Loop, ...]

    @property
    def extent(self) -> int:
        """The number of steps."""
        return prod(loop.extent for loop in self.loops)

    def stride(self, access: Access) -> int:
        """How many elements an address moves in a step."""
        return access.stride(self.loops[-1])


@dataclass(frozen=True)
class Nest:
    """The loops over one space: its bands, the two along which tiles lie, and the largest tile along both.

    Without `lanes` every element is computed on its own.
    """

    space: Space
    bands: tuple[Band, ...]
    lanes: Band | None = None
    length: int = 1
    rows: Band | None = None
    height: int = 1


def write_on_tiles(b: SpaceBuilder, schedule: ElementwiseSchedule, shape: tuple[int, ...], write: Write) -> None:
    """Write the nests that compute results of `shape`; NotVectorizable where nothing in them can be vectorised."""
    if 0 in shape:
        return
    if len(shape) > 1 and shape[-1] == WORD and _write_words(b, schedule, shape[:-1], write):
        return
    nests = [_nest(space, probe, schedule) for space, probe in _probed(Space.of(shape), write)]
    if len(nests) == 1 and nests[0].lanes is None:
        raise NotVectorizable("no axis is contiguous along the lanes")
    for nest in nests:
        _emit(b, nest, schedule.lanes, write)


def _write_words(b: SpaceBuilder, schedule: ElementwiseSchedule, shape: tuple[int, ...], write: Write) -> bool:
    """Write the nests of a result of bytes whose last dimension, beyond `shape`, is four of them, a word for a lane,
    where operands are contiguous along another dimension, byte by byte elsewhere (at the border of padding); return
    whether they are anywhere."""

    def apart(b: SpaceBuilder, index: Sequence[Scalar]) -> None:
        for byte in range(WORD):
            write(b, [*index, b.index(byte)])

    def words(b: SpaceBuilder, index: Sequence[Scalar]) -> None:
        stores = b.gathered(lambda: apart(b, index))
        count = len(stores) // WORD
        for first in range(count):
            parts = stores[first::count]
            _, buffer, place = parts[0]
            kind = cast("MemRefType[Attribute]", buffer.type).get_element_type()
            if not isinstance(kind, IntegerType) or kind.width.data != 8:
                raise NotVectorizable(f"words of {kind}")
            b.store_words([value for value, *_ in parts], buffer, place)

    try:
        probed = _probed(Space.of(shape), words)
    except NotVectorizable:
        return False
    nests = [_nest(space, probe, schedule, WORD) for space, probe in probed]
    if all(nest.lanes is None for nest in nests):
        return False
    for nest in nests:
        _emit(b, nest, schedule.lanes, apart if nest.lanes is None else words)
    return True


# What the expression does in which part of the index space


def _probed(space: Space, write: Write) -> list[tuple[Space, SpaceBuilder]]:
    """The spaces that `space` is split into, each with a builder that has written the expression for it."""
    done: list[tuple[Space, SpaceBuilder]] = []
    pending = [space]
    while pending:
        if len(done) + len(pending) > MOST_SPACES:
            raise NotVectorizable("the index space would be split into too many parts")
        current = pending.pop(0)
        block = Block(arg_types=[INDEX] * len(current.loops))
        probe = SpaceBuilder(block)
        probe.place({loop: probe.scalar(arg, INDEX) for loop, arg in zip(current.loops, block.args, strict=True)})
        try:
            write(probe, [probe.affine(form) for form in current.index])
            done.append((current, probe))
        except Refine as refine:
            pending[:0] = current.refined(refine.refinement)
        finally:
            block.erase(safe_erase=False)
    return done


# How to go through a part


def _nest(space: Space, probe: SpaceBuilder, schedule: ElementwiseSchedule, unit: int = 1) -> Nest:
    """Choose the tiles of one space, whose lanes store `unit` neighbouring elements each."""
    accesses = probe.accesses
    store = next(access for access in accesses if access.stored)
    loops = sorted(space.loops, key=lambda loop: -store.stride(loop))
    bands = _bands(loops, probe)
    free = [band for band in bands if not probe.uniform.intersection(band.loops)]
    lanes = next((band for band in free if band.stride(store) == unit), None)
    if lanes is None or (2 * lanes.extent <= schedule.lanes and not probe.computes_functions):
        return Nest(space, bands)  # few lanes would be used: scalar code is better, unless elements are expensive
    others = [band for band in free if band is not lanes]
    across = [access for access in accesses if not access.stored and lanes.stride(access) not in (0, 1)]
    if unit > 1 and (any(lanes.stride(a) >= unit for a in across) or all(access.stored for access in accesses)):
        return Nest(space, bands)
    partners = {band: sum(band.stride(access) == 1 for access in across if unit == 1) for band in others}
    partner = max(others, key=lambda band: partners[band], default=None)
    if partner is not None and partners[partner]:
        return Nest(space, bands, lanes, schedule.lanes, partner, schedule.lanes)
    registers = schedule.registers
    columns = min(registers, ceil_div(lanes.extent, schedule.lanes))
    height = registers // columns if others else 1
    return Nest(space, bands, lanes, columns * schedule.lanes, others[-1] if height > 1 else None, height)


def _bands(loops: Iterable[Loop], probe: SpaceBuilder) -> tuple[Band, ...]:
    """Merge neighbouring loops, in order, where for all addresses an outer step is a whole strip of the inner loop."""
    bands: list[Band] = []
    for loop in loops:
        inner = Band((loop,))
        merges = bands and not probe.uniform.intersection((*bands[-1].loops, loop))
        if merges and all(bands[-1].stride(a) == inner.stride(a) * loop.extent for a in probe.accesses):
            inner = Band((*bands.pop().loops, loop))
        bands.append(inner)
    return tuple(bands)


def _emit(b: SpaceBuilder, nest: Nest, lanes: int, write: Write) -> None:
    """The loops over all bands, once for each combination of whole and remaining tiles."""
    for column in segments(nest.lanes.extent, nest.length) if nest.lanes else [Segment(0, 1, 1)]:
        for row in segments(nest.rows.extent, nest.height) if nest.rows else [Segment(0, 1, 1)]:
            registers = ceil_div(column.size, lanes)
            tile = Tile((row.size, registers, lanes), column.size if column.size % lanes else None)
            sides = {nest.lanes: (column, {-2: lanes, -1: 1}), nest.rows: (row, {0: 1})}

            def body(at: Sequence[Scalar], tile: Tile = tile, sides: _Sides = sides) -> None:
                positions: dict[Loop, Scalar] = {}
                for band, position in zip(nest.bands, at, strict=True):
                    if band in sides:
                        segment, steps = sides[band]
                        position = tile.index(b, position * segment.size + segment.start, steps)
                    positions |= dict.fromkeys(band.loops[:-1], b.index(0))
                    positions[band.loops[-1]] = position
                b.place(positions)
                write(b, [b.affine(form) for form in nest.space.index])

            b.parallel_for([sides[band][0].count if band in sides else band.extent for band in nest.bands], body)
