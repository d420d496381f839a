"""Rules for tiles of bytes, several registers of which are loaded, made, looked up and stored at once.

What makes a whole register of bytes of several registers of wider lanes takes those whose bytes are neighbours where
they are stored, so that they are stored together, too.
"""

from collections.abc import Sequence

from xdsl.dialects.builtin import i8
from xdsl.ir import SSAValue

from aotc.dialects.aot import tiles
from aotc.dialects.aot.tile_integers import TileLookupOp, TileNarrowOp
from aotc.dialects.aot.tiles import tile_shape, tile_type
from aotc.dialects.properties import integer
from aotc.machines.expansions.narrowing import NARROWED
from aotc.passes.loops.unrolling import Registers, Unrolling, place_properties, register_places


def narrow(u: Unrolling, op: TileNarrowOp) -> Sequence[Registers]:
    """As many registers together as fill one with their bytes; instead of one that lacks, the last one."""
    (tile,) = op.parts
    registers, lanes = u.registers(tile), tile_shape(tile)[-1]
    found = dict[int, SSAValue]()
    for some in _together(op.result, len(registers), NARROWED):
        missing = 0 if len(some) == 1 else NARROWED - len(some)
        places = [*some, *[some[-1]] * missing]
        operands, kind = [registers[place] for place in places], tile_type([lanes * len(places)], i8)
        bytes_ = u.emit(TileNarrowOp, operands, kind, op.properties)
        for number, place in enumerate(some):
            found[place] = u.part(bytes_, number * lanes, lanes)
    return [[found[place] for place in range(len(registers))]]


def lookup(u: Unrolling, op: TileLookupOp) -> Sequence[Registers]:
    """As many registers together as are looked up at once, the last ones repeated."""
    registers, table = u.registers(op.x), [register for tile in op.table for register in u.registers(tile)]
    lanes, width = tile_shape(op.x)[-1], op.width
    found = dict[int, SSAValue]()
    for some in _together(op.result, len(registers), width // lanes):
        x = _beside(u, [registers[place] for place in some], width)
        result = u.emit(TileLookupOp, (x, *table), x.type, {"width": integer(width)})
        for number, place in enumerate(some):
            found[place] = u.part(result, number * lanes, lanes)
    return [[found[place] for place in range(len(registers))]]


def spaced(u: Unrolling, op: tiles.TileLoadOp, offset: int) -> SSAValue:
    """One register of bytes a few elements apart: of two that overlap, of which neither goes beyond the last one."""
    lanes, (stride,) = tile_shape(op.result)[-1], op.element_strides()[-1:]
    span = (lanes - 1) * stride + 1
    size = 1 << span.bit_length() - 1
    first, last = (
        u.emit(tiles.TileLoadOp, op.operands, tile_type([size], i8), place_properties(1, offset + at, size, size))
        for at in (0, span - size)
    )
    return u.shuffle(first, last, [at if at < size else at - span + 2 * size for at in range(0, span, stride)])


def _beside(u: Unrolling, some: Sequence[SSAValue], width: int) -> SSAValue:
    """A register of `width` lanes whose first ones are those of `some`."""
    whole = u.joined(some, padded=True)
    if whole is not None and tile_shape(whole)[0] == width:
        return whole
    rows = [some[number % len(some)] for number in range(width // tile_shape(some[0])[0])]
    while len(rows) > 1:
        size = 2 * tile_shape(rows[0])[0]
        rows = [u.shuffle(low, high, range(size)) for low, high in zip(rows[::2], rows[1::2], strict=True)]
    return rows[0]


def store(u: Unrolling, op: tiles.TileStoreOp) -> Sequence[Registers]:
    """Registers that are neighbours in memory and in a larger one are stored at once, a power of two of them."""
    lanes, stride = tile_shape(op.tile)[-1], op.element_strides()[-1]
    registers, places = u.registers(op.tile), register_places(op, tile_shape(op.tile))
    for strip in _strips(places, stride, lanes):
        rest = list(strip)
        while rest:
            count = 1 << len(rest).bit_length() - 1
            joined = None
            while joined is None:
                some = [registers[place] for place in rest[:count]]
                joined = u.joined(some) if count > 1 else some[0]
                count = count if joined is not None else count // 2
            offset, valid = places[rest[0]]
            if valid:
                size = lanes * count
                properties = place_properties(stride, offset, valid if count == 1 else size, size)
                u.effect(tiles.TileStoreOp, (joined, op.buffer, *op.indices), properties)
            rest = rest[count:]
    return []


def _together(tile: SSAValue, registers: int, most: int) -> Sequence[Sequence[int]]:
    """The registers of a tile in groups of at most `most`, neighbours where it is stored."""
    strips: Sequence[Sequence[int]] = [range(registers)]
    if (found := _stored(tile)) is not None:
        shape = tile_shape(found.tile)
        strips = _strips(register_places(found, shape), found.element_strides()[-1], shape[-1])
    return [strip[start : start + most] for strip in strips for start in range(0, len(strip), most)]


def _stored(tile: SSAValue) -> tiles.TileStoreOp | None:
    """The store of a tile, or of each of its elements."""
    for use in tile.uses:
        user = use.operation
        if isinstance(user, tiles.TileStoreOp):
            return user
        if [result.type for result in user.results] == [tile.type] and (found := _stored(user.results[0])) is not None:
            return found
    return None


def _strips(places: Sequence[tuple[int, int]], stride: int, lanes: int) -> Sequence[Sequence[int]]:
    """The registers at `places` (offset, lanes in memory) in strips of neighbours in memory; where they have none, in
    order."""
    strips: list[list[int]] = []
    end: int | None = None
    order = sorted(range(len(places)), key=lambda number: places[number][0]) if stride == 1 else range(len(places))
    for number in order:
        offset, valid = places[number]
        if end == offset and valid == lanes:
            strips[-1].append(number)
        else:
            strips.append([number])
        end = offset + lanes if stride == 1 and valid == lanes else None
    return strips
