"""Words: four neighbouring bytes in a register of 32 bits, for cores that add up two products of 16 bits at once.

Arithmetic on them is written as instructions of Arm's DSP extension (`aot.instruction`). Byte 0 of a word is the
lowest, and the one at the lowest address.

Strips: up to eight neighbouring bytes, as many as a register of Arm's vector extension (MVE) holds widened to 16 bits.
A register holds 16 bytes; a quad is four sums in one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import I32, IndexType, IntegerType, MemRefType, UnitAttr, VectorType, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from aotc.dialects.operations import PureOp

WORD = 4
"""Bytes of a word."""
STRIP = 8
"""The most bytes of a strip."""
LANES = 16
"""Bytes of a register of MVE."""
QUAD = 4
"""Lanes of a quad."""


@irdl_op_definition
class WordLoadOp(IRDLOperation):
    """The word that begins at a byte of a buffer: `aot.word_load %x[%i, %k] : memref<8x64xi8>`."""

    name = "aot.word_load"
    buffer = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    aligned = opt_prop_def(UnitAttr)
    """Where it is there, the address is a multiple of four; absent: it may be any."""
    result = result_def(I32)
    traits = traits_def(MemoryReadEffect())
    assembly_format = "$buffer `[` $indices `]` (`aligned` $aligned^)? attr-dict `:` type($buffer)"

    def __init__(self, buffer: SSAValue, indices: Sequence[SSAValue], *, aligned: bool = False) -> None:
        properties = {"aligned": UnitAttr()} if aligned else {}
        super().__init__(operands=[buffer, indices], result_types=[i32], properties=properties)

    def verify_(self) -> None:
        _verify_word(self.buffer, self.indices)


@irdl_op_definition
class WordStoreOp(IRDLOperation):
    """Writes an aligned word at a byte of a buffer: `aot.word_store %w, %x[%i, %k] : memref<8x64xi8>`."""

    name = "aot.word_store"
    value = operand_def(I32)
    buffer = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$value `,` $buffer `[` $indices `]` attr-dict `:` type($buffer)"

    def __init__(self, value: SSAValue, buffer: SSAValue, indices: Sequence[SSAValue]) -> None:
        super().__init__(operands=[value, buffer, indices])

    def verify_(self) -> None:
        _verify_word(self.buffer, self.indices)


def _verify_word(buffer: SSAValue, indices: Sequence[SSAValue]) -> None:
    kind = cast(MemRefType[Attribute], buffer.type)
    if kind.get_num_dims() != len(indices):
        raise VerifyException(f"{len(indices)} indices for a buffer of rank {kind.get_num_dims()}")
    element = kind.get_element_type()
    if not isinstance(element, IntegerType) or element.width.data != 8:
        raise VerifyException(f"words are made of bytes, found {element}")


_QUAD = VectorType(i32, [QUAD])


@irdl_op_definition
class QuadOp(PureOp):
    """Four integers of 32 bits side by side: `aot.quad %a, %b, %c, %d : vector<4xi32>`."""

    name = "aot.quad"
    lanes = var_operand_def(I32)
    result = result_def(VectorType)
    assembly_format = "$lanes attr-dict `:` type($result)"

    def __init__(self, lanes: Sequence[SSAValue]) -> None:
        super().__init__(operands=[list(lanes)], result_types=[_QUAD])

    def verify_(self) -> None:
        if len(self.lanes) != QUAD or self.result.type != _QUAD:
            raise VerifyException(f"{QUAD} integers make a vector<{QUAD}xi32>")
