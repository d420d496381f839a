"""Booleans and bits: comparison, logic, shifts, selection, bits seen as those of another type."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar, cast, get_args

from xdsl.dialects.builtin import (
    BFloat16Type,
    FixedBitwidthType,
    Float16Type,
    IntegerType,
    StringAttr,
    TensorType,
    f32,
    f64,
    i1,
    i32,
)
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def

from aotc.dialects.builder import Builder, Comparison, Reader, Scalar
from aotc.dialects.dtypes import ELEMENT_TYPES, is_encoded, is_float, is_narrow_float, is_unsigned
from aotc.dialects.graph.checks import expect_choice
from aotc.dialects.graph.elementwise import BinaryOp, BroadcastOp, Domain, UnaryOp, operator
from aotc.dialects.graph.interfaces import ElementOp, ShapeError, common_element_type, element_type_of, shape_of


@irdl_op_definition
class CompareOp(BinaryOp):
    """lhs `how` rhs as i1, `how` one of eq ne lt le gt ge; with NaN only `ne` holds."""

    name = "graph.compare"
    how = prop_def(StringAttr)
    DOMAIN: ClassVar = Domain.ANY

    def infer_types(self) -> Sequence[TensorType]:
        expect_choice(self, "how", get_args(Comparison))
        return super().infer_types()

    def result_element_type(self) -> Attribute:
        return i1

    def scalar(self, b: Builder, *operands: Scalar) -> Scalar:
        return b.compare(cast(Comparison, self.how.data), *operands)


AndOp = operator(BinaryOp, "graph.and", "Bitwise and; logical on i1.", lambda b, x, y: x & y, Domain.BITS)
OrOp = operator(BinaryOp, "graph.or", "Bitwise or; logical on i1.", lambda b, x, y: x | y, Domain.BITS)
XorOp = operator(BinaryOp, "graph.xor", "Bitwise exclusive or; logical on i1.", lambda b, x, y: x ^ y, Domain.BITS)
NotOp = operator(UnaryOp, "graph.not", "Every bit inverted; the negation of a boolean.", lambda b, x: ~x, Domain.BITS)


class ShiftOp(BinaryOp, ABC):
    """A shift by rhs bits, which counts as unsigned: every amount of the width or more shifts all bits out."""

    DOMAIN: ClassVar = Domain.INTEGER

    def _limit(self) -> int:
        """The greatest amount the machine's shift takes."""
        kind = element_type_of(self.lhs)
        assert isinstance(kind, IntegerType)
        return kind.width.data - 1


@irdl_op_definition
class ShiftLeftOp(ShiftOp):
    """lhs << rhs, zero where rhs is negative or not below the width."""

    name = "graph.shift_left"

    def scalar(self, b: Builder, *operands: Scalar) -> Scalar:
        x, by = operands
        inside = b.compare("ge", by, 0) & b.compare("le", by, self._limit())
        return b.select(inside, b.shift_left(x, by & self._limit()), 0)


@irdl_op_definition
class ShiftRightOp(ShiftOp):
    """lhs >> rhs, filling with the sign (of a signed lhs), also where rhs is negative or not below the width."""

    name = "graph.shift_right"

    def scalar(self, b: Builder, *operands: Scalar) -> Scalar:
        x, by = operands
        limit = b.const(self._limit(), by.dtype)
        inside = b.compare("ge", by, 0) & b.compare("le", by, limit)
        shifted = b.shift_right(x, b.select(inside, by, limit))
        return b.select(inside, shifted, 0) if is_unsigned(x.dtype) else shifted


@irdl_op_definition
class WhereOp(BroadcastOp):
    """x where the condition (i1) holds, else y."""

    name = "graph.where"
    condition = operand_def(TensorType)
    x = operand_def(TensorType)
    y = operand_def(TensorType)
    MOVES: ClassVar[bool] = True

    def infer_types(self) -> Sequence[TensorType]:
        Domain.BOOL.require(element_type_of(self.condition), "the condition")
        common_element_type(self.x, self.y)
        return super().infer_types()

    def result_element_type(self) -> Attribute:
        return element_type_of(self.x)

    def scalar(self, b: Builder, *operands: Scalar) -> Scalar:
        return b.select(*operands)


_U8, _U32, _U64 = (ELEMENT_TYPES[f"uint{width}"] for width in (8, 32, 64))


@irdl_op_definition
class BitCastOp(ElementOp):
    """The bits of x as elements of type `to`, which is as wide. A NaN of 16 bits may lose its payload."""

    name = "graph.bit_cast"
    x = operand_def(TensorType)
    to = prop_def(Attribute)
    MOVES: ClassVar[bool] = True

    def infer_types(self) -> Sequence[TensorType]:
        kind = element_type_of(self.x)
        if self.to not in ELEMENT_TYPES.values():
            raise ShapeError(f"{self.to} is not an element type")
        if _width(kind) != _width(self.to):
            raise ShapeError(f"{kind} has {_width(kind)} bits, {self.to} {_width(self.to)}")
        return [TensorType(self.to, shape_of(self.x))]

    def element(self, b: Builder, index: Sequence[Scalar], reads: Sequence[Reader]) -> Scalar:
        value, kind = reads[0](index), element_type_of(self.x)
        return value if kind == self.to else _from_bits(b, _bits(b, value, kind), self.to)


def _width(kind: Attribute) -> int:
    """The bits of an element; a boolean is a byte."""
    if kind == i1:
        return 8
    assert isinstance(kind, FixedBitwidthType)
    return kind.bitwidth


def _bits(b: Builder, value: Scalar, kind: Attribute) -> Scalar:
    """An element as an unsigned integer: of 64 bits, or of 32 for all that are narrower."""
    if isinstance(kind, Float16Type):
        return _bits_of_half(b, b.bitcast(value, _U32))
    if isinstance(kind, BFloat16Type):
        return b.shift_right(b.bitcast(value, _U32), b.const(16, _U32))
    if is_float(kind) and not is_encoded(kind):
        wide = kind == f64
        return b.bitcast(value, _U64 if wide else _U32)
    if is_encoded(kind):
        return b.cast(b.bitcast(value, _U8), _U32) & (2 ** _width(kind) - 1)
    if _width(kind) == 64:
        return b.cast(value, _U64)
    bits = b.cast(value, _U32)
    return bits if _width(kind) == 32 else bits & (2 ** _width(kind) - 1)


def _from_bits(b: Builder, bits: Scalar, kind: Attribute) -> Scalar:
    """The element with these bits."""
    if isinstance(kind, Float16Type):
        return _half_of_bits(b, bits)
    if is_narrow_float(kind):
        bits = b.shift_left(bits, b.const(16, _U32))
        return b.bitcast(bits, f32)
    if is_encoded(kind):
        if isinstance(kind, IntegerType) and kind not in (ELEMENT_TYPES["uint4"], ELEMENT_TYPES["uint2"]):
            by = b.const(32 - _width(kind), i32)  # the byte of memory is extended
            bits = b.shift_right(b.shift_left(b.cast(bits, i32), by), by)
        return b.bitcast(b.cast(bits, _U8), kind)
    if is_float(kind):
        return b.bitcast(bits, kind)
    return b.cast(bits, kind)


_MANTISSA, _REBIAS = 13, 112 << 23
"""The difference between an f32 and an f16: bits of the mantissa, and in the exponent."""


def _bits_of_half(b: Builder, bits: Scalar) -> Scalar:
    """The code of an f16 from that of the f32 with its value."""
    sign = b.shift_right(bits, b.const(16, _U32)) & 0x8000
    size = bits & 0x7FFFFFFF
    drop = b.const(_MANTISSA, _U32)
    normal = b.shift_right(size - _REBIAS, drop)
    special = b.shift_right(size, drop) & 0x3FF | 0x7C00
    value = b.bitcast(size, f32)
    tiny = b.compare("lt", size, 113 << 23)
    subnormal = b.cast(b.cast(b.select(tiny, value, 0.0) * 2.0**24, i32), _U32)
    code = b.select(tiny, subnormal, b.select(b.compare("ge", size, 0x7F800000), special, normal))
    return code | sign


def _half_of_bits(b: Builder, bits: Scalar) -> Scalar:
    """The f32 with the value of the f16 of this code."""
    sign = b.shift_left(bits & 0x8000, b.const(16, _U32))
    size = bits & 0x7FFF
    moved = b.shift_left(size, b.const(_MANTISSA, _U32))
    code = b.select(b.compare("ge", size, 0x7C00), moved | 0x7F800000, moved + _REBIAS) | sign
    wide = b.bitcast(code, f32)
    small = b.cast(b.cast(size, i32), f32) * 2.0**-24
    small = b.select(b.compare("eq", sign, 0), small, -small)
    return b.select(b.compare("lt", size, 0x400), small, wide)
