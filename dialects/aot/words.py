"""Words: four neighbouring bytes in a register of 32 bits, for cores that add up two products of 16 bits at once.

Arm's DSP extension has an instruction for each (SXTB16, SXTAB16, UXTB16, UXTAB16, SMLAD); elsewhere a few others give
the same bits. Byte 0 of a word is the lowest, and the one at the lowest address.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import I32, IndexType, IntegerType, MemRefType, UnitAttr, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryReadEffect, Pure
from xdsl.utils.exceptions import VerifyException

WORD = 4
"""Bytes of a word."""


@irdl_op_definition
class WordLoadOp(IRDLOperation):
    """The word that begins at a byte of a buffer, aligned or not: `aot.word_load %x[%i, %k] : memref<8x64xi8>`."""

    name = "aot.word_load"
    buffer = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    result = result_def(I32)
    traits = traits_def(MemoryReadEffect())
    assembly_format = "$buffer `[` $indices `]` attr-dict `:` type($buffer)"

    def __init__(self, buffer: SSAValue, indices: Sequence[SSAValue]) -> None:
        super().__init__(operands=[buffer, indices], result_types=[i32])

    def verify_(self) -> None:
        kind = cast(MemRefType[Attribute], self.buffer.type)
        if kind.get_num_dims() != len(self.indices):
            raise VerifyException(f"{len(self.indices)} indices for a buffer of rank {kind.get_num_dims()}")
        element = kind.get_element_type()
        if not isinstance(element, IntegerType) or element.width.data != 8:
            raise VerifyException(f"words are made of bytes, found {element}")


@irdl_op_definition
class WordWidenOp(IRDLOperation):
    """Bytes 0 and 2 of a word, or with `odd` 1 and 3, as two integers of 16 bits: sign-extended, or zero-extended.

    The optional second operand is two such integers to add, each modulo 2^16. (SXTB16 and its relatives.)

    `aot.word_widen %word, %added {odd, zero_extend}`
    """

    name = "aot.word_widen"
    word = operand_def(I32)
    added = opt_operand_def(I32)
    odd = opt_prop_def(UnitAttr)
    zero_extend = opt_prop_def(UnitAttr)
    result = result_def(I32)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$word (`,` $added^)? attr-dict"

    def __init__(
        self, word: SSAValue, added: SSAValue | None = None, *, odd: bool = False, zero_extend: bool = False
    ) -> None:
        flags = {"odd": odd, "zero_extend": zero_extend}
        super().__init__(
            operands=[word, added],
            result_types=[i32],
            properties={name: UnitAttr() for name, given in flags.items() if given},
        )


@irdl_op_definition
class WordDotOp(IRDLOperation):
    """sum + a0 * b0 + a1 * b1 modulo 2^32, of the signed halves of a and b: `aot.word_dot %a, %b, %sum` (SMLAD)."""

    name = "aot.word_dot"
    a = operand_def(I32)
    b = operand_def(I32)
    sum = operand_def(I32)
    result = result_def(I32)
    traits = traits_def(Pure())
    assembly_format = "$a `,` $b `,` $sum attr-dict"

    def __init__(self, a: SSAValue, b: SSAValue, sum: SSAValue) -> None:
        super().__init__(operands=[a, b, sum], result_types=[i32])


WORD_OPERATIONS = (WordLoadOp, WordWidenOp, WordDotOp)
"""Those of the dialect."""
