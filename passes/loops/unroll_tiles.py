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

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any, TypeAlias, cast

from xdsl.context import Context
from xdsl.dialects import arith, func, math, scf, vector
from xdsl.dialects.builtin import (
    BytesAttr,
    DenseIntOrFPElementsAttr,
    FixedBitwidthType,
    IntegerType,
    ModuleOp,
    StringAttr,
    VectorType,
    i1,
)
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass

from aotc.dialects.aot import TILE_OPERATIONS, tiles
from aotc.dialects.aot.dots import TileDotOp
from aotc.dialects.aot.lookups import TileLookupOp
from aotc.dialects.aot.tiles import tile_shape, tile_type
from aotc.dialects.aot.words import LaneDotOp, LaneSumOp, QuadOp, QuadQuantizeOp, QuadRescaleOp
from aotc.dialects.graph.shapes import ceil_div
from aotc.errors import CompileError, Problem
from aotc.model.progress import Progress
from aotc.passes.loops.registers import part_positions, place_properties, positions, register_places

Registers: TypeAlias = Sequence[SSAValue]
"""The registers of a tile, row-major: one-dimensional vectors along the lanes; or one scalar."""
Tile: TypeAlias = VectorType[Attribute]

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


@dataclass(frozen=True)
class UnrollTilesPass(ModulePass):
    """See the module."""

    name = "unroll-tiles"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [function for function in op.ops if isinstance(function, func.FuncOp) and function.body.blocks]
        for function in Progress.of(ctx).kernels(functions):
            self.function(function)

    def function(self, function: func.FuncOp) -> None:
        """One function, which needs no other one for it."""
        _Unrolling().function(function)


class _Unrolling:
    """Rewrites one function, in one walk."""

    def __init__(self) -> None:
        self._registers: dict[SSAValue, Registers] = {}
        self._replaced: list[Operation] = []
        self._new: list[Operation] = []
        """The operations that replace the current one."""

    def function(self, function: func.FuncOp) -> None:
        self._block(function.body.block)
        for op in reversed(self._replaced):  # users first
            op.detach()
            op.erase()

    def _block(self, block: Block) -> None:
        for op in list(block.ops):
            if op.regions:
                self._structured(op, block)
            elif _has_tiles(op):
                if isinstance(op, scf.YieldOp):
                    op.operands = self._flat(op.operands)
                else:
                    self._replace(op, _UNROLLING.get(type(op), _elementwise)(self, op), block)

    def _replace(self, op: Operation, results: Iterable[Registers], block: Block) -> None:
        for result, registers in zip(op.results, results, strict=True):
            if type(result.type) is VectorType:
                self._registers[result] = registers
                _name(registers, result)
            else:
                result.replace_all_uses_with(registers[0])
        block.insert_ops_before(self._new, op)
        self._new = []
        self._replaced.append(op)

    # Control

    def _structured(self, op: Operation, block: Block) -> None:
        """A loop or a conditional: its regions, with a value for each register of each tile that it carries."""
        carries = _has_tiles(op)
        if carries and not isinstance(op, scf.ForOp | scf.IfOp):
            raise CompileError(Problem(f"{op.name} carries tiles", why="only scf.for and scf.if can"))
        if carries and isinstance(op, scf.ForOp):
            self._arguments(op.body.block)
        for region in op.regions:
            for inner in region.blocks:
                self._block(inner)
        if not carries:
            return
        unrolled = type(op).create(
            operands=self._flat(op.operands),
            result_types=[kind for result in op.results for kind in _register_types(result.type)],
            properties=op.properties,
            attributes=op.attributes,
            location=op.location,
            regions=[op.detach_region(0) for _ in range(len(op.regions))],
        )
        self._new.append(unrolled)
        self._replace(op, _grouped(op.results, unrolled.results), block)

    def _arguments(self, body: Block) -> None:
        """Move a loop's body to a block with an argument for each register; the old block is erased."""
        region = body.parent
        assert body.first_op is not None and region is not None
        kinds = [kind for argument in body.args for kind in _register_types(argument.type)]
        new = body.split_before(body.first_op, arg_types=kinds)
        region.detach_block(body)
        for old, registers in zip(body.args, _grouped(body.args, new.args), strict=True):
            if type(old.type) is VectorType:
                self._registers[old] = registers
                _name(registers, old)
            else:
                old.replace_all_uses_with(registers[0])

    # Operations

    def registers(self, value: SSAValue) -> Registers:
        """The registers of a tile; of a scalar, itself."""
        return self._registers[value] if type(value.type) is VectorType else (value,)

    def _flat(self, values: Iterable[SSAValue]) -> list[SSAValue]:
        return [register for value in values for register in self.registers(value)]

    def emit(
        self,
        kind: type[Operation],
        operands: Sequence[SSAValue],
        result: Attribute,
        properties: dict[str, Attribute] | None = None,
    ) -> SSAValue:
        """Emit an operation in place of the current one; its result."""
        op = kind.create(operands=operands, result_types=(result,), properties=properties or {})
        self._new.append(op)
        return op.results[0]

    def effect(self, kind: type[Operation], operands: Sequence[SSAValue], properties: dict[str, Attribute]) -> None:
        """Emit an operation without result."""
        self._new.append(kind.create(operands=operands, properties=properties))

    def shuffle(self, a: SSAValue, b: SSAValue, lanes: Sequence[int]) -> SSAValue:
        """The `lanes` of a and b; lanes of b are numbered after those of a."""
        kind = tile_type([len(lanes)], _element(a))
        return self.emit(vector.ShuffleOp, (a, b), kind, {"mask": tiles.int_array(tuple(lanes))})

    def lane(self, a: SSAValue, lane: int) -> SSAValue:
        """One lane as a scalar."""
        return self.emit(vector.ExtractOp, (a,), _element(a), {"static_position": tiles.int_array((lane,))})

    def constant(self, data: bytes, kind: Tile) -> SSAValue:
        """A register of the given bytes."""
        value = DenseIntOrFPElementsAttr(cast(Any, kind), BytesAttr(data))
        return self.emit(arith.ConstantOp, (), kind, {"value": value})


Unroll: TypeAlias = Callable[[_Unrolling, Any], Sequence[Registers]]
"""The registers of each result of an operation."""


def _has_tiles(op: Operation) -> bool:
    return any(type(value.type) is VectorType for value in (*op.operands, *op.results))


def _element(value: SSAValue) -> Attribute:
    return cast(Tile, value.type).element_type


@cache
def _register_type(kind: Tile) -> Tile:
    return tile_type(kind.get_shape()[-1:], kind.element_type)


def _register_types(kind: Attribute) -> list[Attribute]:
    """The types of the registers of a tile; any other type itself."""
    if not isinstance(kind, VectorType):
        return [kind]
    return [_register_type(cast(Tile, kind))] * prod(kind.get_shape()[:-1])


def _grouped(old: Sequence[SSAValue], new: Sequence[SSAValue]) -> list[Registers]:
    """The values `new`, grouped by the value of `old` that they come from."""
    result: list[Registers] = []
    start = 0
    for value in old:
        count = len(_register_types(value.type))
        result.append(new[start : start + count])
        start += count
    return result


def _name(registers: Registers, tile: SSAValue) -> None:
    """Give registers the name of their tile."""
    if (name := tile.name_hint) is not None:
        for register in registers:
            if register.name_hint is None:
                register.name_hint = name


# --- elements --------------------------------------------------------------------------------------------------------


def _elementwise(u: _Unrolling, op: Operation) -> Sequence[Registers]:
    is_arithmetic = op.name.startswith(("arith.", "math.")) or isinstance(op, TILE_OPERATIONS)
    if len(op.results) != 1 or not is_arithmetic:
        raise CompileError(Problem(f"{op.name} cannot be applied to a tile"))
    if op.name.startswith("math.") and not isinstance(op, _EXACT_MATH):
        raise CompileError(Problem(f"{op.name} of a tile", why="no processor computes it", fix="expand it before"))
    kind = cast(Tile, op.results[0].type)
    single, count = _register_type(kind), prod(kind.get_shape()[:-1])
    operands = [u.registers(value) if type(value.type) is VectorType else (value,) * count for value in op.operands]
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


def _constant(u: _Unrolling, op: arith.ConstantOp) -> Sequence[Registers]:
    value = op.value
    assert isinstance(value, DenseIntOrFPElementsAttr)
    kind = cast(Tile, op.result.type)
    data = value.data.data
    size = len(data) // prod(kind.get_shape()[:-1])
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    made = {piece: u.constant(piece, _register_type(kind)) for piece in dict.fromkeys(pieces)}
    return [[made[piece] for piece in pieces]]


def _broadcast(u: _Unrolling, op: vector.BroadcastOp) -> Sequence[Registers]:
    """A scalar, or a tile along dimensions that it lacks or whose extent is 1, repeated."""
    kind = op.vector.type
    shape, single = kind.get_shape(), _register_type(kind)
    if type(op.source.type) is not VectorType:
        return [[u.emit(vector.BroadcastOp, (op.source,), single)] * prod(shape[:-1])]
    given = tile_shape(op.source)
    source = u.registers(op.source)
    if given[-1] < shape[-1]:
        source = [u.emit(vector.BroadcastOp, (u.lane(register, 0),), single) for register in source]
    steps = [prod(given[dim + 1 : -1]) if extent > 1 else 0 for dim, extent in enumerate(given[:-1])]
    steps = [0] * (len(shape) - len(given)) + steps
    return [[source[position] for position in positions(shape[:-1], steps)]]


# --- memory ----------------------------------------------------------------------------------------------------------


def _load(u: _Unrolling, op: tiles.TileLoadOp) -> Sequence[Registers]:
    kind = op.result.type
    shape, single = kind.get_shape(), _register_type(kind)
    lanes, step = shape[-1], op.steps()[-1]
    places = register_places(op, shape)
    repeated: dict[str, Attribute] = {}
    if op.group is not None:
        repeated = {name: op.properties[name] for name in ("group", "valid") if op.properties.get(name)}
    zero = None
    if any(count == 0 or (step == 0 and count < lanes) for _, count in places):
        zero = u.constant(bytes(lanes * cast(FixedBitwidthType, kind.element_type).size), single)
    made: dict[tuple[int, int], SSAValue] = {}
    for offset, count in dict.fromkeys(places):
        if count == 0 and zero is not None:
            made[offset, count] = zero
            continue
        in_memory = lanes if step == 0 else count
        properties = place_properties(step, offset, in_memory, lanes) | repeated
        register = u.emit(op.__class__, op.operands, single, properties)
        if count < in_memory and zero is not None:
            register = u.shuffle(register, zero, [lane + lanes * (lane >= count) for lane in range(lanes)])
        made[offset, count] = register
    return [[made[place] for place in places]]


def _store(u: _Unrolling, op: tiles.TileStoreOp) -> Sequence[Registers]:
    shape = tile_shape(op.tile)
    lanes, step = shape[-1], op.steps()[-1]
    for register, (offset, count) in zip(u.registers(op.tile), register_places(op, shape), strict=True):
        if count:
            operands = (register, op.buffer, *op.indices)
            u.effect(tiles.TileStoreOp, operands, place_properties(step, offset, count, lanes))
    return []


# --- parts and shapes ------------------------------------------------------------------------------------------------


def _slice(u: _Unrolling, op: tiles.TileSliceOp) -> Sequence[Registers]:
    registers = u.registers(op.tile)
    return [[registers[at] for at in part_positions(tile_shape(op.tile), tile_shape(op.result), op.offsets)]]


def _insert(u: _Unrolling, op: tiles.TileInsertOp) -> Sequence[Registers]:
    registers = list(u.registers(op.tile))
    places = part_positions(tile_shape(op.tile), tile_shape(op.part), op.offsets)
    for at, register in zip(places, u.registers(op.part), strict=True):
        registers[at] = register
    return [registers]


def _transpose(u: _Unrolling, op: tiles.TileTransposeOp) -> Sequence[Registers]:
    """log2(L) stages, each of which exchanges one bit of the register's number with one of the lane's.

    Within 16 bytes by interleaving (unpack of x86, zip of Arm), which takes the lane's bits from the highest down, so
    that these bits of the register's number come out reversed; beyond, by exchanging blocks.
    """
    rows = list(u.registers(op.tile))
    lanes = len(rows)
    group = min(lanes, 16 // cast(FixedBitwidthType, _element(op.tile)).size)
    step = 1
    while step < group:
        low = [
            source * lanes + start + unit * step + lane
            for start in range(0, lanes, group)
            for unit in range(group // (2 * step))
            for source in (0, 1)
            for lane in range(step)
        ]
        rows = _exchange(u, rows, step, low, group // 2)
        step *= 2
    reversed_bits = [0]
    while len(reversed_bits) < group:
        reversed_bits = [2 * bits + low for low in (0, 1) for bits in reversed_bits]
    rows = [rows[row - row % group + reversed_bits[row % group]] for row in range(lanes)]
    while step < lanes:
        low = [lanes + lane - step if lane & step else lane for lane in range(lanes)]
        rows = _exchange(u, rows, step, low, step)
        step *= 2
    return [rows]


def _shuffle(u: _Unrolling, op: tiles.TileShuffleOp) -> Sequence[Registers]:
    lanes = [int(lane) for lane in op.lanes.get_values()]
    return [[u.shuffle(a, b, lanes) for a, b in zip(u.registers(op.a), u.registers(op.b), strict=True)]]


def _lookup(u: _Unrolling, op: TileLookupOp) -> Sequence[Registers]:
    """As many registers together as are looked up at once, the last ones repeated."""
    registers, table = u.registers(op.x), [register for tile in op.table for register in u.registers(tile)]
    lanes, width = tile_shape(op.x)[-1], op.width.value.data
    at_once, found = width // lanes, list[SSAValue]()
    for start in range(0, len(registers), at_once):
        some = registers[start : start + at_once]
        whole = [some[number % len(some)] for number in range(at_once)]
        while len(whole) > 1:
            size = 2 * tile_shape(whole[0])[0]
            whole = [u.shuffle(low, high, range(size)) for low, high in zip(whole[::2], whole[1::2], strict=True)]
        result = u.emit(TileLookupOp, (*whole, *table), whole[0].type, {"width": op.width})
        for first in range(0, len(some) * lanes, lanes):
            found.append(result if lanes == width else u.shuffle(result, result, range(first, first + lanes)))
    return [found]


def _exchange(u: _Unrolling, rows: Sequence[SSAValue], step: int, low: list[int], further: int) -> list[SSAValue]:
    """Replace each two rows `step` apart by their lanes `low` and by the lanes `further` on."""
    high = [lane + further for lane in low]
    result = list(rows)
    for first in range(len(rows)):
        if not first & step:
            pair = rows[first], rows[first | step]
            result[first] = u.shuffle(*pair, low)
            result[first | step] = u.shuffle(*pair, high)
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


def _reduce(u: _Unrolling, op: tiles.TileReduceOp) -> Sequence[Registers]:
    kind = op.kind.data
    values = list(u.registers(op.tile))
    while len(values) > 1:
        half = ceil_div(len(values), 2)
        pairs = list(zip(values, values[half:], strict=False))
        values = [*(_combined(u, kind, *pair) for pair in pairs), *values[len(pairs) : half]]
    (value,) = values
    lanes = tile_shape(value)[0]
    while lanes > 1:
        lanes //= 2
        low, high = (u.shuffle(value, value, range(start, start + lanes)) for start in (0, lanes))
        value = _combined(u, kind, low, high)
    return [[u.lane(value, 0)]]


def _combined(u: _Unrolling, kind: str, a: SSAValue, b: SSAValue) -> SSAValue:
    """Combine two registers as a reduction of `kind` does."""
    if kind == "ogt":
        mask = tile_type(tile_shape(a), i1)
        greater = u.emit(tiles.TileCompareOp, (b, a), mask, {"predicate": StringAttr(kind)})
        return u.emit(tiles.TileSelectOp, (greater, b, a), a.type)
    is_integer = isinstance(_element(a), IntegerType)
    properties: dict[str, Attribute] = {}
    if not is_integer:
        extreme = kind in ("max", "min")  # -0 may stand for +0, which takes half the instructions
        properties["fastmath"] = arith.FastMathFlagsAttr([FastMathFlag.NO_SIGNED_ZEROS] if extreme else "none")
    elif kind in ("add", "mul"):
        properties["overflowFlags"] = arith.IntegerOverflowAttr("none")
    return u.emit(_COMBINE[kind][is_integer], (a, b), a.type, properties)


def _bitcast(u: _Unrolling, op: vector.BitcastOp) -> Sequence[Registers]:
    """The bits of each register as another type."""
    single = _register_type(cast(Tile, op.result.type))
    return [[u.emit(vector.BitcastOp, (register,), single) for register in u.registers(op.source)]]


def _single(u: _Unrolling, op: Operation) -> Sequence[Registers]:
    """An operation on single registers."""
    operands = [register for each in op.operands for register in u.registers(each)]
    return [[u.emit(type(op), operands, op.results[0].type, dict(op.properties))]]


_UNROLLING: dict[type[Operation], Unroll] = {
    arith.ConstantOp: _constant,
    **dict.fromkeys((QuadOp, QuadRescaleOp, QuadQuantizeOp, LaneDotOp, LaneSumOp), _single),
    vector.BroadcastOp: _broadcast,
    vector.BitcastOp: _bitcast,
    tiles.TileLoadOp: _load,
    tiles.TileStoreOp: _store,
    tiles.TileSliceOp: _slice,
    tiles.TileInsertOp: _insert,
    tiles.TileShuffleOp: _shuffle,
    TileLookupOp: _lookup,
    tiles.TileTransposeOp: _transpose,
    tiles.TileReduceOp: _reduce,
}
"""The operations that are not simply applied to each register."""
