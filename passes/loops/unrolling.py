"""How a function's tiles become registers: one walk, which rules for single operations guide."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from math import prod
from typing import Any, TypeAlias, cast

from xdsl.dialects import arith, func, scf, vector
from xdsl.dialects.builtin import BytesAttr, DenseArrayBase, DenseIntOrFPElementsAttr, VectorType
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue
from xdsl.rewriter import Rewriter

from aotc.dialects.aot import TileLoadOp, TileStoreOp
from aotc.dialects.aot.tiles import tile_shape, tile_type
from aotc.dialects.operations import make, take_name
from aotc.dialects.properties import int_array, integer
from aotc.errors import CompileError

Registers: TypeAlias = Sequence[SSAValue]
"""The registers of a tile, row-major: one-dimensional vectors along the lanes; or one scalar."""
Tile: TypeAlias = VectorType[Attribute]

Unroll: TypeAlias = "Callable[[Unrolling, Any], Sequence[Registers]]"
"""The registers of each result of an operation."""


class Unrolling:
    """Rewrites one function, in one walk, by rules: `rules` for some kinds of operations, `other` for all others."""

    def __init__(self, rules: Mapping[type[Operation], Unroll], other: Unroll) -> None:
        self._rules = rules
        self._other = other
        self._registers: dict[SSAValue, Registers] = {}
        self._replaced: list[Operation] = []
        self._new: list[Operation] = []
        """The operations that replace the current one."""
        self._parts: dict[SSAValue, tuple[SSAValue, int]] = {}
        """Of registers that are lanes of a larger one: that, and the first of these lanes."""

    def function(self, function: func.FuncOp) -> None:
        self._block(function.body.block)
        for op in reversed(self._replaced):  # users first
            Rewriter.erase_op(op)
        for part in self._parts:  # most are stored, or looked up, together
            if isinstance(part, OpResult) and part.op.parent is not None and not part.uses.get_length():
                Rewriter.erase_op(part.op)

    def _block(self, block: Block) -> None:
        for op in list(block.ops):
            if op.regions:
                self._structured(op, block)
            elif _has_tiles(op):
                if isinstance(op, scf.YieldOp):
                    op.operands = self._flat(op.operands)
                else:
                    self._replace(op, self._rules.get(type(op), self._other)(self, op), block)

    def _replace(self, op: Operation, results: Iterable[Registers], block: Block) -> None:
        for result, registers in zip(op.results, results, strict=True):
            self._become(result, registers)
        block.insert_ops_before(self._new, op)
        self._new = []
        self._replaced.append(op)

    # Control

    def _structured(self, op: Operation, block: Block) -> None:
        """A loop or a conditional: its regions, with a value for each register of each tile that it carries."""
        carries = _has_tiles(op)
        if carries and not isinstance(op, scf.ForOp | scf.IfOp):
            raise CompileError("no-form-on-tiles", f"{op.name} carries tiles", "only scf.for and scf.if can")
        if carries and isinstance(op, scf.ForOp):
            self._arguments(op.body.block)
        for region in op.regions:
            for inner in region.blocks:
                self._block(inner)
        if not carries:
            return
        unrolled = type(op).create(
            operands=self._flat(op.operands),
            result_types=[kind for result in op.results for kind in register_types(result.type)],
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
        kinds = [kind for argument in body.args for kind in register_types(argument.type)]
        new = body.split_before(body.first_op, arg_types=kinds)
        region.detach_block(body)
        for old, registers in zip(body.args, _grouped(body.args, new.args), strict=True):
            self._become(old, registers)

    def _become(self, value: SSAValue, registers: Registers) -> None:
        """Let a tile be registers, with its name; any other value the only one."""
        if type(value.type) is VectorType:
            self._registers[value] = registers
            for register in registers:
                take_name(register, value)
        else:
            value.replace_all_uses_with(registers[0])

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
        op = make(kind, operands, result, properties)
        self._new.append(op)
        return op.results[0]

    def effect(self, kind: type[Operation], operands: Sequence[SSAValue], properties: dict[str, Attribute]) -> None:
        """Emit an operation without result."""
        self._new.append(make(kind, operands, None, properties))

    def shuffle(self, a: SSAValue, b: SSAValue, lanes: Sequence[int]) -> SSAValue:
        """The `lanes` of a and b; lanes of b are numbered after those of a."""
        kind = tile_type([len(lanes)], element_type(a))
        return self.emit(vector.ShuffleOp, (a, b), kind, {"mask": int_array(tuple(lanes))})

    def part(self, whole: SSAValue, first: int, lanes: int) -> SSAValue:
        """The `lanes` of a register from `first` on."""
        if lanes == tile_shape(whole)[0]:
            return whole
        register = self.shuffle(whole, whole, range(first, first + lanes))
        self._parts[register] = whole, first
        return register

    def joined(self, registers: Sequence[SSAValue], *, padded: bool = False) -> SSAValue | None:
        """`registers` side by side, where they are so in a larger one; `padded`: all of that, whose first lanes they
        are. Else None."""
        if any(register not in self._parts for register in registers):
            return None
        (whole, start), lanes = self._parts[registers[0]], tile_shape(registers[0])[0]
        places = [(whole, start + number * lanes) for number in range(len(registers))]
        if [self._parts[register] for register in registers] != places:
            return None
        if padded:
            return whole if start == 0 else None
        return self.part(whole, start, len(registers) * lanes)

    def lane(self, a: SSAValue, lane: int) -> SSAValue:
        """One lane as a scalar."""
        return self.emit(vector.ExtractOp, (a,), element_type(a), {"static_position": int_array((lane,))})

    def constant(self, data: bytes, kind: Tile) -> SSAValue:
        """A register of the given bytes."""
        value = DenseIntOrFPElementsAttr(cast(Any, kind), BytesAttr(data))
        return self.emit(arith.ConstantOp, (), kind, {"value": value})


def _has_tiles(op: Operation) -> bool:
    return any(type(value.type) is VectorType for value in (*op.operands, *op.results))


def element_type(value: SSAValue) -> Attribute:
    return cast(Tile, value.type).element_type


@lru_cache(maxsize=4096)
def register_type(kind: Tile) -> Tile:
    return tile_type(kind.get_shape()[-1:], kind.element_type)


def register_types(kind: Attribute) -> list[Attribute]:
    """The types of the registers of a tile; any other type itself."""
    if not isinstance(kind, VectorType):
        return [kind]
    return [register_type(cast(Tile, kind))] * prod(kind.get_shape()[:-1])


def _grouped(old: Sequence[SSAValue], new: Sequence[SSAValue]) -> list[Registers]:
    """The values `new`, grouped by the value of `old` that they come from."""
    result: list[Registers] = []
    start = 0
    for value in old:
        count = len(register_types(value.type))
        result.append(new[start : start + count])
        start += count
    return result


# --- places of registers: numbers only --------------------------------------------------------------------------------


def positions(shape: Sequence[int], strides: Sequence[int], start: int = 0) -> list[int]:
    """`start` plus the sum of index times stride, for each index into `shape`, row-major."""
    result = [start]
    for extent, stride in zip(shape, strides, strict=True):
        result = [base + index * stride for base in result for index in range(extent)]
    return result


def register_places(op: TileLoadOp | TileStoreOp, shape: Sequence[int]) -> list[tuple[int, int]]:
    """The offset of each register, and how many of its lanes are in memory; of repeated groups, all count."""
    lanes = shape[-1]
    offsets = positions(shape[:-1], op.element_strides()[:-1], op.displacement())
    if (valid := op.count()) is None or (isinstance(op, TileLoadOp) and op.group is not None):
        return [(offset, lanes) for offset in offsets]
    last = shape[-2] if len(shape) > 1 else 1
    counts = [min(max(valid - index * lanes, 0), lanes) for index in range(last)]
    return [(offset, counts[index % last]) for index, offset in enumerate(offsets)]


def place_properties(stride: int, offset: int, count: int, lanes: int) -> dict[str, Attribute]:
    """The properties of an access to one register, of which `count` lanes are in memory."""
    properties: dict[str, Attribute] = {"strides": int_array((stride if lanes > 1 else 1,))}
    if offset:
        properties["offset"] = integer(offset)
    if count < lanes:
        properties["valid"] = integer(count)
    return properties


def part_positions(whole: Sequence[int], part: Sequence[int], given: DenseArrayBase[Any]) -> list[int]:
    """The positions of the registers of a part among those of the whole; both shapes end with the lanes."""
    strides = [prod(whole[dim + 1 : -1]) for dim in range(len(whole) - 1)]
    start = sum(int(low) * stride for low, stride in zip(given.get_values(), strides, strict=True))
    return positions(part[:-1], strides, start)
