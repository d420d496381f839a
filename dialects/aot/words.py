"""Words: four neighbouring bytes in a register of 32 bits, for cores that add up two products of 16 bits at once.

What Arm's DSP extension computes of them are `aot.instruction`s (`aotc/machines/instructions/cortex_m.py`). Byte 0 of a
word is the lowest, and the one at the lowest address.

Runs: up to eight neighbouring bytes, as many as a register of Arm's vector extension (MVE) holds widened to 16 bits.
Of 16 signed ones in such a register, the products are added to one sum; a quad is four sums in a register.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, cast

from xdsl.dialects.builtin import (
    I32,
    IndexType,
    IntegerType,
    MemRefType,
    VectorType,
    f32,
    i8,
    i32,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryReadEffect, Pure
from xdsl.utils.exceptions import VerifyException

from aotc.dialects.properties import flag, int_prop, integer, unit_prop

WORD = 4
"""Bytes of a word."""
RUN = 8
"""The most bytes of a run."""
LANES = 16
"""Bytes of a register of MVE."""
QUAD = 4
"""Lanes of a quad."""

Place: TypeAlias = "tuple[SSAValue, Sequence[SSAValue]]"
"""A buffer and the indices of an element of it."""


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
        _check_bytes(self.buffer, self.indices)


@irdl_op_definition
class RunDotOp(IRDLOperation):
    """sum + the sum of (x + added) * w over the `count` bytes from a place of each of two buffers, modulo 2^32.

    x + added fits 16 bits. `x_zero_extend` and `w_zero_extend` say that bytes are unsigned.

    `aot.run_dot %x[%i, %j], %w[%k], %sum {count = 8 : i64, added = 128 : i64} : memref<8x64xi8>, memref<640xi8>`
    """

    name = "aot.run_dot"
    x = operand_def(MemRefType)
    x_indices = var_operand_def(IndexType)
    w = operand_def(MemRefType)
    w_indices = var_operand_def(IndexType)
    sum = operand_def(I32)
    count = int_prop()
    added = int_prop()
    x_zero_extend = unit_prop()
    w_zero_extend = unit_prop()
    result = result_def(I32)
    traits = traits_def(MemoryReadEffect())
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    assembly_format = "$x `[` $x_indices `]` `,` $w `[` $w_indices `]` `,` $sum attr-dict `:` type($x) `,` type($w)"

    def __init__(
        self, x: Place, w: Place, sum: SSAValue, *, count: int, added: int, unsigned: tuple[bool, bool]
    ) -> None:
        super().__init__(
            operands=[*x, *w, sum],
            result_types=[i32],
            properties={
                "count": integer(count),
                "added": integer(added),
                "x_zero_extend": flag(unsigned[0]),
                "w_zero_extend": flag(unsigned[1]),
            },
        )

    def verify_(self) -> None:
        for buffer, indices in ((self.x, self.x_indices), (self.w, self.w_indices)):
            _check_bytes(buffer, indices)
        if not 0 < self.count <= RUN:
            raise VerifyException(f"a run has 1 to {RUN} bytes, found {self.count}")
        if not -(1 << 15) <= self.added < (1 << 15) - 255:
            raise VerifyException(f"{self.added} and a byte do not fit 16 bits")


_BYTES = VectorType(i8, [LANES])
_QUAD = VectorType(i32, [QUAD])


@irdl_op_definition
class LaneDotOp(IRDLOperation):
    """sum + the sum of x * w over all lanes of signed bytes, modulo 2^32: `aot.lane_dot %x, %w, %sum : vector<16xi8>`
    (VMLADAVA).
    """

    name = "aot.lane_dot"
    x = operand_def(VectorType)
    w = operand_def(VectorType)
    sum = operand_def(I32)
    result = result_def(I32)
    traits = traits_def(Pure())
    assembly_format = "$x `,` $w `,` $sum attr-dict `:` type($x) `,` type($w)"

    def __init__(self, x: SSAValue, w: SSAValue, sum: SSAValue) -> None:
        super().__init__(operands=[x, w, sum], result_types=[i32])

    def verify_(self) -> None:
        _check_lanes(self.x, self.w)


@irdl_op_definition
class LaneSumOp(IRDLOperation):
    """sum + all lanes of signed bytes, modulo 2^32: `aot.lane_sum %w, %sum : vector<16xi8>` (VADDVA)."""

    name = "aot.lane_sum"
    w = operand_def(VectorType)
    sum = operand_def(I32)
    result = result_def(I32)
    traits = traits_def(Pure())
    assembly_format = "$w `,` $sum attr-dict `:` type($w)"

    def __init__(self, w: SSAValue, sum: SSAValue) -> None:
        super().__init__(operands=[w, sum], result_types=[i32])

    def verify_(self) -> None:
        _check_lanes(self.w)


@irdl_op_definition
class QuadOp(IRDLOperation):
    """Four integers of 32 bits side by side: `aot.quad %a, %b, %c, %d : vector<4xi32>`."""

    name = "aot.quad"
    lanes = var_operand_def(I32)
    result = result_def(VectorType)
    traits = traits_def(Pure())
    assembly_format = "$lanes attr-dict `:` type($result)"

    def __init__(self, lanes: Sequence[SSAValue]) -> None:
        super().__init__(operands=[list(lanes)], result_types=[_QUAD])

    def verify_(self) -> None:
        if len(self.lanes) != QUAD or self.result.type != _QUAD:
            raise VerifyException(f"{QUAD} integers make a vector<{QUAD}xi32>")


@irdl_op_definition
class QuadRescaleOp(IRDLOperation):
    """Four integers times factor / 2^(31 + shift), as TFLite rounds it: twice the upper half of the product to the
    nearest integer, the middle up, then its quotient, the middle away from zero (`graph.doubling_requantize`).

    Factors are not negative, shifts 0 to 30. `aot.quad_rescale %x, %factor, %shift`
    """

    name = "aot.quad_rescale"
    x = operand_def(_QUAD)
    factor = operand_def(_QUAD)
    shift = operand_def(_QUAD)
    result = result_def(_QUAD)
    traits = traits_def(Pure())
    assembly_format = "$x `,` $factor `,` $shift attr-dict"

    def __init__(self, x: SSAValue, factor: SSAValue, shift: SSAValue) -> None:
        super().__init__(operands=[x, factor, shift], result_types=[_QUAD])


@irdl_op_definition
class QuadQuantizeOp(IRDLOperation):
    """The nearest integers of four floats, to even between two, plus `zero_point`, at least `low`, at most `high`.

    The bounds fit the type of the result, of 8 or 16 bits; `zero_extend` says that it is unsigned. What is beyond 2^31
    is the bound on that side.

    `aot.quad_quantize %x {zero_point = -5, low = -128, high = 127} : vector<4xf32> -> vector<4xi8>`
    """

    name = "aot.quad_quantize"
    x = operand_def(VectorType)
    zero_point = int_prop()
    low = int_prop()
    high = int_prop()
    zero_extend = unit_prop()
    result = result_def(VectorType)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$x attr-dict `:` type($x) `->` type($result)"

    def __init__(
        self, x: SSAValue, zero_point: int, low: int, high: int, kind: IntegerType, *, unsigned: bool = False
    ) -> None:
        super().__init__(
            operands=[x],
            result_types=[VectorType(kind, [QUAD])],
            properties={
                "zero_point": integer(zero_point),
                "low": integer(low),
                "high": integer(high),
                "zero_extend": flag(unsigned),
            },
        )

    @property
    def bounds(self) -> tuple[int, int]:
        """The least and the greatest result."""
        return self.low, self.high

    @property
    def limits(self) -> tuple[int, int]:
        """Those of the result's type."""
        bits = cast(IntegerType, self.result.type.get_element_type()).width.data
        return (-(1 << bits - 1), (1 << bits - 1) - 1) if not self.zero_extend else (0, (1 << bits) - 1)

    def verify_(self) -> None:
        kind = self.result.type.get_element_type()
        is_quad = self.x.type == VectorType(f32, [QUAD]) and self.result.type.get_shape() == (QUAD,)
        if not is_quad or not isinstance(kind, IntegerType) or kind.width.data not in (8, 16):
            raise VerifyException(
                f"four f32 become integers of 8 or 16 bits, found {self.x.type} and {self.result.type}"
            )
        (low, high), (least, most) = self.bounds, self.limits
        if not least <= low <= high <= most or abs(self.zero_point) > 1 << 16:
            raise VerifyException(f"{low} and {high} are not bounds within {least} to {most}")


def _check_lanes(*values: SSAValue) -> None:
    for value in values:
        if value.type != _BYTES:
            raise VerifyException(f"expected {_BYTES}, found {value.type}")


def _check_bytes(buffer: SSAValue, indices: Sequence[SSAValue]) -> None:
    kind = cast(MemRefType[Attribute], buffer.type)
    if kind.get_num_dims() != len(indices):
        raise VerifyException(f"{len(indices)} indices for a buffer of rank {kind.get_num_dims()}")
    element = kind.get_element_type()
    if not isinstance(element, IntegerType) or element.width.data != 8:
        raise VerifyException(f"words are made of bytes, found {element}")


WORD_OPERATIONS = (
    WordLoadOp,
    RunDotOp,
    LaneDotOp,
    LaneSumOp,
    QuadOp,
    QuadRescaleOp,
    QuadQuantizeOp,
)
"""Those of the dialect."""
