"""Tiles in memory at any static strides: loaded, stored and prefetched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import DenseArrayBase, IndexType, IntegerType, MemRefType, StringAttr, VectorType, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from aotc.dialects.aot.tiles import fill, tile_shape, tile_type
from aotc.dialects.properties import int_array, integer, ints, opt_int_prop
from aotc.machines.instructions import INSTRUCTIONS
from aotc.machines.instructions.rows import Instruction
from aotc.machines.instructions.values import bits_of


def _place(strides: Sequence[int], valid: int | None, offset: int) -> dict[str, Attribute | None]:
    return {
        "strides": int_array(tuple(strides)),
        "valid": None if valid is None else integer(valid),
        "offset": integer(offset) if offset else None,
    }


class _TileInMemory(IRDLOperation):
    """Element (i, .., l) of the tile is at `indices` plus `offset` + i * strides[0] + .. + l * strides[-1] elements.

    What is at `indices` is in the buffer itself, or right behind its end: no pointer goes further."""

    strides = prop_def(DenseArrayBase.constr(i64))
    offset = opt_int_prop()
    """A constant part of the address, so that registers at one base differ in a displacement only; 0 where absent."""
    valid = opt_int_prop()
    """Only the first `valid` lanes are in memory (all, where absent): the rest of a load is zero, of a store dropped.

    With more than one dimension, counts along the last two together: register j of the last has the lanes from j * L
    on, so only the last registers are partial or missing."""
    instruction = opt_prop_def(StringAttr)
    """One that widens integers as it loads them, or narrows them as it stores them (`select-instructions`)."""

    @property
    def row(self) -> Instruction | None:
        """The kind of the instruction."""
        return None if self.instruction is None else INSTRUCTIONS[self.instruction.data]

    def in_memory(self, tile: Attribute) -> VectorType[Attribute]:
        """The type of a tile as it is in memory."""
        assert isinstance(tile, VectorType)
        if self.row is None:
            return cast("VectorType[Attribute]", tile)
        return tile_type(tile.get_shape(), IntegerType(bits_of(self.row.moved[0].dtype)))

    def element_strides(self) -> tuple[int, ...]:
        """`strides` as ints."""
        return ints(self.strides)

    def displacement(self) -> int:
        """`offset` as an int."""
        return self.offset or 0

    def count(self) -> int | None:
        """`valid` as an int."""
        return self.valid

    def _verify(self, buffer: SSAValue, indices: Sequence[SSAValue], tile: Attribute, how: str) -> None:
        if self.instruction is not None:
            row = INSTRUCTIONS.get(self.instruction.data)
            if row is None or row.memory != how or self.element_strides() != (1,):
                raise VerifyException(f"no instruction {self.instruction} by which contiguous lanes are {how}")
            register = row.moved[1]
            if tile != tile_type([register.count], IntegerType(bits_of(register.dtype))):
                raise VerifyException(f"{self.instruction.data} is on {register}, found {tile}")
            tile = self.in_memory(tile)
        assert isinstance(buffer.type, MemRefType) and isinstance(tile, VectorType)
        kind = cast(MemRefType[Attribute], buffer.type)
        if kind.get_num_dims() != len(indices):
            raise VerifyException(f"{len(indices)} indices for a buffer of rank {kind.get_num_dims()}")
        if kind.get_element_type() != tile.get_element_type():
            raise VerifyException(f"a buffer of {kind.get_element_type()} for a tile of {tile.get_element_type()}")
        shape = tile.get_shape()
        if len(self.element_strides()) != len(shape):
            raise VerifyException(f"{len(self.element_strides())} strides for a tile of rank {len(shape)}")
        if (count := self.count()) is not None and not 0 < count <= shape[-1] * (shape[-2] if len(shape) > 1 else 1):
            raise VerifyException(f"{count} valid elements in a tile of shape {list(shape)}")


@irdl_op_definition
class TileLoadOp(_TileInMemory):
    """A tile out of memory. A stride of 0 repeats: along the lanes it is the broadcast of one element.

    `aot.tile_load %x[%i, %k] {strides = array<i64: 64, 0, 0>} : memref<8x64xf32> -> vector<4x2x16xf32>`

    With `group`, the number of lanes that take 32 bits, it is the broadcast of that many neighbouring elements, to each
    group of lanes; `valid` then counts those in memory, the rest of each group being zero:

    `aot.tile_load %x[%i, %k] {strides = array<i64: 64, 0, 0>, group = 4} : memref<8x64xi8> -> vector<4x2x64xi8>`
    """

    name = "aot.tile_load"
    buffer = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    group = opt_int_prop()
    result = result_def(VectorType)
    traits = traits_def(MemoryReadEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$buffer `[` $indices `]` attr-dict `:` type($buffer) `->` type($result)"

    def __init__(
        self,
        buffer: SSAValue,
        indices: Sequence[SSAValue],
        shape: Sequence[int],
        strides: Sequence[int],
        valid: int | None = None,
        offset: int = 0,
        group: int = 1,
    ) -> None:
        assert isinstance(buffer.type, MemRefType)
        element = cast(MemRefType[Attribute], buffer.type).get_element_type()
        place = _place(strides, valid, offset) | {"group": integer(group) if group > 1 else None}
        fill(self, [buffer, *indices], [tile_type(shape, element)], place)

    def repeated(self) -> int:
        """`group` as an int: how many elements a stride of 0 along the lanes repeats."""
        return 1 if self.group is None else self.group

    def verify_(self) -> None:
        self._verify(self.buffer, self.indices, self.result.type, "loaded")
        if self.group is None:
            return
        lanes, count, kind = tile_shape(self.result)[-1], self.count(), self.result.type.element_type
        bits = kind.width.data if isinstance(kind, IntegerType) else 0
        if self.repeated() < 2 or self.repeated() * bits != 32 or lanes % self.repeated() or self.element_strides()[-1]:
            raise VerifyException("groups of integers that take 32 bits, of stride 0 along the lanes, are repeated")
        if count is not None and count > self.repeated():
            raise VerifyException(f"{count} valid elements in a group of {self.repeated()}")


@irdl_op_definition
class TileStoreOp(_TileInMemory):
    """A tile into memory; no stride is 0.

    `aot.tile_store %t, %y[%i, %j] {strides = array<i64: 64, 16, 1>} : vector<4x2x16xf32>, memref<8x64xf32>`
    """

    name = "aot.tile_store"
    tile = operand_def(VectorType)
    buffer = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    traits = traits_def(MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$tile `,` $buffer `[` $indices `]` attr-dict `:` type($tile) `,` type($buffer)"

    def __init__(
        self,
        tile: SSAValue,
        buffer: SSAValue,
        indices: Sequence[SSAValue],
        strides: Sequence[int],
        valid: int | None = None,
        offset: int = 0,
    ) -> None:
        fill(self, [tile, buffer, *indices], [], _place(strides, valid, offset))

    def verify_(self) -> None:
        self._verify(self.buffer, self.indices, self.tile.type, "stored")
        for extent, stride in zip(tile_shape(self.tile), self.element_strides(), strict=True):
            if stride == 0 and extent > 1:
                raise VerifyException("a stride of 0 would store several elements in one place")


@irdl_op_definition
class PrefetchOp(IRDLOperation):
    """Ask for the cache line of an element, which is soon read: `aot.prefetch %w[%i] : memref<4096xf32>`.

    Emitters keep it where the target has such an instruction. The address may lie outside the buffer."""

    name = "aot.prefetch"
    buffer = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$buffer `[` $indices `]` attr-dict `:` type($buffer)"

    def __init__(self, buffer: SSAValue, indices: Sequence[SSAValue]) -> None:
        fill(self, [buffer, *indices])
