"""Unroll every operation on tiles into operations on single registers, so that all vectors are one-dimensional.

Before:
```mlir
%x = aot.tile_load %a[%i, %k] {strides = array<i64: 64, 0, 0>} : memref<8x64xf32> -> vector<2x2x16xf32>
%w = aot.tile_load %b[%k, %j] {strides = array<i64: 0, 16, 1>, valid = 20} : memref<64x32xf32> -> vector<2x2x16xf32>
%r = math.fma %x, %w, %acc : vector<2x2x16xf32>
```
After, where `%acc` became %acc0 .. %acc3, too, and loops carry four values for it:
```mlir
%x0 = aot.tile_load %a[%i, %k] {strides = array<i64: 0>} : memref<8x64xf32> -> vector<16xf32>
%x1 = aot.tile_load %a[%i, %k] {strides = array<i64: 0>, offset = 64} : memref<8x64xf32> -> vector<16xf32>
%w0 = aot.tile_load %b[%k, %j] {strides = array<i64: 1>} : memref<64x32xf32> -> vector<16xf32>
%w1 = aot.tile_load %b[%k, %j] {strides = array<i64: 1>, offset = 16, valid = 4} : memref<64x32xf32> -> vector<16xf32>
%r0 = math.fma %x0, %w0, %acc0 : vector<16xf32>
%r1 = math.fma %x0, %w1, %acc1 : vector<16xf32>
%r2 = math.fma %x1, %w0, %acc2 : vector<16xf32>
%r3 = math.fma %x1, %w1, %acc3 : vector<16xf32>
```
What repeats within one operation is written once; where there are more columns than rows, columns come one after the
other. Registers that `valid` leaves empty are zeros and are not stored.
"""

from collections.abc import Sequence
from math import prod
from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith, builtin, func, math, vector
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Operation, SSAValue

from aotc.dialects.aot import TILE_OPERATIONS, InstructionOp, QuadOp, TileLoadOp, TileStoreOp, tiles
from aotc.dialects.aot.tile_integers import TileDotOp, TileLookupOp, TileNarrowOp
from aotc.dialects.aot.tiles import tile_shape, tile_type
from aotc.dialects.aot.words import WORD
from aotc.dialects.graph.shapes import ceil_div
from aotc.errors import CompileError
from aotc.model.progress import Progress
from aotc.passes.loops.function_pass import FunctionPass
from aotc.passes.loops.unroll_bytes import lookup, narrow, spaced, store
from aotc.passes.loops.unrolling import (
    Registers,
    Tile,
    Unroll,
    Unrolling,
    element_type,
    part_positions,
    place_properties,
    positions,
    register_places,
    register_type,
)

_EXACT_MATH = (
    math.AbsFOp,
    math.CeilOp,
    math.CopySignOp,
    math.FloorOp,
    math.FmaOp,
    math.RoundEvenOp,
    math.SqrtOp,
    math.TruncOp,
)
"""Functions that processors have as instructions on a register; the others are expanded elsewhere."""


class UnrollTilesPass(FunctionPass):
    name = "unroll-tiles"

    def apply(self, ctx: Context, op: builtin.ModuleOp) -> None:
        functions = [function for function in op.ops if isinstance(function, func.FuncOp) and function.body.blocks]
        for function in Progress.of(ctx).kernels(functions):
            self.function(ctx, function)

    def function(self, ctx: Context, function: func.FuncOp) -> None:
        Unrolling(_RULES, _elementwise).function(function)


# --- elements --------------------------------------------------------------------------------------------------------


def _elementwise(u: Unrolling, op: Operation) -> Sequence[Registers]:
    is_arithmetic = op.name.startswith(("arith.", "math.")) or isinstance(op, TILE_OPERATIONS)
    if len(op.results) != 1 or not is_arithmetic:
        raise CompileError("no-form-on-tiles", f"{op.name} cannot be applied to a tile")
    if op.name.startswith("math.") and not isinstance(op, _EXACT_MATH):
        raise CompileError("no-form-on-tiles", f"{op.name} of a tile", "no processor computes it", "expand it before")
    kind = cast(Tile, op.results[0].type)
    single, count = register_type(kind), prod(kind.get_shape()[:-1])
    operands = [
        u.registers(value) if type(value.type) is builtin.VectorType else (value,) * count for value in op.operands
    ]
    registers = list(zip(*operands, strict=True))
    made: dict[tuple[SSAValue, ...], SSAValue] = {}
    for each in _in_order(op, registers):
        if each not in made:
            made[each] = u.emit(type(op), each, single, op.properties)
    return [[made[each] for each in registers]]


def _in_order(op: Operation, registers: Sequence[tuple[SSAValue, ...]]) -> Sequence[tuple[SSAValue, ...]]:
    """The order of computation: row-major; of outer products, the fewer factors stay in registers."""
    if not isinstance(op, math.FmaOp | TileDotOp):
        return registers
    a, b = (dict.fromkeys(each[operand] for each in registers) for operand in (0, 1))
    if len(a) * len(b) != len(registers):
        return registers
    operand, factors = (0, a) if len(a) >= len(b) else (1, b)
    order = {factor: number for number, factor in enumerate(factors)}
    return sorted(registers, key=lambda each: order[each[operand]])


def _constant(u: Unrolling, op: arith.ConstantOp) -> Sequence[Registers]:
    value = op.value
    assert isinstance(value, builtin.DenseIntOrFPElementsAttr)
    kind = cast(Tile, op.result.type)
    data = value.data.data
    size = len(data) // prod(kind.get_shape()[:-1])
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    made = {piece: u.constant(piece, register_type(kind)) for piece in dict.fromkeys(pieces)}
    return [[made[piece] for piece in pieces]]


def _broadcast(u: Unrolling, op: vector.BroadcastOp) -> Sequence[Registers]:
    """A scalar, or a tile along dimensions that it lacks or whose extent is 1, repeated."""
    kind = op.vector.type
    shape, single = kind.get_shape(), register_type(kind)
    if type(op.source.type) is not builtin.VectorType:
        return [[u.emit(vector.BroadcastOp, (op.source,), single)] * prod(shape[:-1])]
    given = tile_shape(op.source)
    source = u.registers(op.source)
    if given[-1] < shape[-1]:
        source = [u.emit(vector.BroadcastOp, (u.lane(register, 0),), single) for register in source]
    strides = [prod(given[dim + 1 : -1]) if extent > 1 else 0 for dim, extent in enumerate(given[:-1])]
    strides = [0] * (len(shape) - len(given)) + strides
    return [[source[position] for position in positions(shape[:-1], strides)]]


# --- memory ----------------------------------------------------------------------------------------------------------


def _load(u: Unrolling, op: TileLoadOp) -> Sequence[Registers]:
    kind = op.result.type
    shape, single = kind.get_shape(), register_type(kind)
    lanes, stride = shape[-1], op.element_strides()[-1]
    places = register_places(op, shape)
    repeated: dict[str, Attribute] = {}
    if op.group is not None:
        repeated = {name: op.properties[name] for name in ("group", "valid") if op.properties.get(name)}
    zero = None
    if any(count == 0 or (stride == 0 and count < lanes) for _, count in places):
        zero = u.constant(bytes(lanes * cast(builtin.FixedBitwidthType, kind.element_type).size), single)
    made: dict[tuple[int, int], SSAValue] = {}
    for offset, count in dict.fromkeys(places):
        if count == 0 and zero is not None:
            made[offset, count] = zero
            continue
        in_memory = lanes if stride == 0 else count
        properties = place_properties(stride, offset, in_memory, lanes) | repeated
        if 1 < stride <= WORD and count == lanes > 1 and kind.element_type == builtin.i8:
            register = spaced(u, op, offset)
        else:
            register = u.emit(op.__class__, op.operands, single, properties)
        if count < in_memory and zero is not None:
            register = u.shuffle(register, zero, [lane + lanes * (lane >= count) for lane in range(lanes)])
        made[offset, count] = register
    return [[made[place] for place in places]]


# --- parts and shapes ------------------------------------------------------------------------------------------------


def _slice(u: Unrolling, op: tiles.TileSliceOp) -> Sequence[Registers]:
    registers = u.registers(op.tile)
    return [[registers[at] for at in part_positions(tile_shape(op.tile), tile_shape(op.result), op.offsets)]]


def _insert(u: Unrolling, op: tiles.TileInsertOp) -> Sequence[Registers]:
    registers = list(u.registers(op.tile))
    places = part_positions(tile_shape(op.tile), tile_shape(op.part), op.offsets)
    for at, register in zip(places, u.registers(op.part), strict=True):
        registers[at] = register
    return [registers]


def _transpose(u: Unrolling, op: tiles.TileTransposeOp) -> Sequence[Registers]:
    """log2(L) stages, each of which exchanges one bit of the register's number with one of the lane's.

    Within 16 bytes by interleaving (unpack of x86, zip of Arm), which takes the lane's bits from the highest down, so
    that these bits of the register's number come out reversed; beyond, by exchanging blocks.
    """
    rows = list(u.registers(op.tile))
    lanes = len(rows)
    group = min(lanes, 16 // cast(builtin.FixedBitwidthType, element_type(op.tile)).size)
    gap = 1
    while gap < group:
        low = [
            source * lanes + start + unit * gap + lane
            for start in range(0, lanes, group)
            for unit in range(group // (2 * gap))
            for source in (0, 1)
            for lane in range(gap)
        ]
        rows = _exchange(u, rows, gap, low, group // 2)
        gap *= 2
    reversed_bits = [0]
    while len(reversed_bits) < group:
        reversed_bits = [2 * bits + low for low in (0, 1) for bits in reversed_bits]
    rows = [rows[row - row % group + reversed_bits[row % group]] for row in range(lanes)]
    while gap < lanes:
        low = [lanes + lane - gap if lane & gap else lane for lane in range(lanes)]
        rows = _exchange(u, rows, gap, low, gap)
        gap *= 2
    return [rows]


def _shuffle(u: Unrolling, op: tiles.TileShuffleOp) -> Sequence[Registers]:
    lanes = [int(lane) for lane in op.lanes.get_values()]
    return [[u.shuffle(a, b, lanes) for a, b in zip(u.registers(op.a), u.registers(op.b), strict=True)]]


def _exchange(u: Unrolling, rows: Sequence[SSAValue], gap: int, low: list[int], further: int) -> list[SSAValue]:
    """Replace each two rows `gap` apart by their lanes `low` and by the lanes `further` on."""
    high = [lane + further for lane in low]
    result = list(rows)
    for first in range(len(rows)):
        if not first & gap:
            two = rows[first], rows[first | gap]
            result[first] = u.shuffle(*two, low)
            result[first | gap] = u.shuffle(*two, high)
    return result


_COMBINE: dict[str, tuple[type[Operation], type[Operation]]] = {
    "add": (arith.AddfOp, arith.AddiOp),
    "mul": (arith.MulfOp, arith.MuliOp),
    "max": (arith.MaximumfOp, arith.MaxSIOp),
    "min": (arith.MinimumfOp, arith.MinSIOp),
    "umax": (arith.MaximumfOp, arith.MaxUIOp),
    "umin": (arith.MinimumfOp, arith.MinUIOp),
}
"""The operation that combines two values in a reduction: on floats, on integers."""


def _reduce(u: Unrolling, op: tiles.TileReduceOp) -> Sequence[Registers]:
    kind = op.kind.data
    values = list(u.registers(op.tile))
    while len(values) > 1:
        half = ceil_div(len(values), 2)
        twos = list(zip(values, values[half:], strict=False))
        values = [*(_combined(u, kind, *two) for two in twos), *values[len(twos) : half]]
    (value,) = values
    lanes = tile_shape(value)[0]
    while lanes > 1:
        lanes //= 2
        low, high = (u.shuffle(value, value, range(start, start + lanes)) for start in (0, lanes))
        value = _combined(u, kind, low, high)
    return [[u.lane(value, 0)]]


def _combined(u: Unrolling, kind: str, a: SSAValue, b: SSAValue) -> SSAValue:
    """Combine two registers as a reduction of `kind` does."""
    if kind == "ogt":
        mask = tile_type(tile_shape(a), builtin.i1)
        greater = u.emit(tiles.TileCompareOp, (b, a), mask, {"predicate": builtin.StringAttr(kind)})
        return u.emit(tiles.TileSelectOp, (greater, b, a), a.type)
    is_integer = isinstance(element_type(a), builtin.IntegerType)
    properties: dict[str, Attribute] = {}
    if not is_integer:
        extreme = kind in ("max", "min")  # -0 may stand for +0, which takes half the instructions
        properties["fastmath"] = arith.FastMathFlagsAttr([FastMathFlag.NO_SIGNED_ZEROS] if extreme else "none")
    elif kind in ("add", "mul"):
        properties["overflowFlags"] = arith.IntegerOverflowAttr("none")
    return u.emit(_COMBINE[kind][is_integer], (a, b), a.type, properties)


def _bitcast(u: Unrolling, op: vector.BitcastOp) -> Sequence[Registers]:
    """The bits of each register as another type."""
    single = register_type(cast(Tile, op.result.type))
    return [[u.emit(vector.BitcastOp, (register,), single) for register in u.registers(op.source)]]


def _single(u: Unrolling, op: Operation) -> Sequence[Registers]:
    """An operation on single registers."""
    operands = [register for each in op.operands for register in u.registers(each)]
    return [[u.emit(type(op), operands, op.results[0].type, dict(op.properties))]]


_RULES: dict[type[Operation], Unroll] = {
    arith.ConstantOp: _constant,
    **dict.fromkeys((QuadOp, InstructionOp), _single),
    vector.BroadcastOp: _broadcast,
    vector.BitcastOp: _bitcast,
    TileLoadOp: _load,
    TileStoreOp: store,
    tiles.TileSliceOp: _slice,
    tiles.TileInsertOp: _insert,
    tiles.TileShuffleOp: _shuffle,
    TileLookupOp: lookup,
    TileNarrowOp: narrow,
    tiles.TileTransposeOp: _transpose,
    tiles.TileReduceOp: _reduce,
}
"""The operations that are not simply applied to each register."""
