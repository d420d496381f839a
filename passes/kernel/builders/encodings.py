"""Encoded elements: minifloats and sub-byte integers, decoded and encoded in kernels.

A scalar of such an element type is an i8, the byte in memory. `decode` gives the number that it stands for, an f32 or
an 8-bit integer, on which arithmetic works; `encode` goes back. Both are written in operations that every emitter has.
Of a sub-byte integer only the low bits in memory count; `encode` extends them to the byte. `arrays.convert` does the
same on arrays.
"""

from typing import cast

import ml_dtypes
import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    FloatNanEncoding,
    FloatNonfiniteBehavior,
    FloatSemantics,
    IntegerType,
    ReducedPrecisionFloatType,
    Signedness,
    f32,
    i32,
)
from xdsl.ir import Attribute, Operation

from aotc.dialects import arrays
from aotc.dialects.builder import Builder, Rounding, Scalar
from aotc.dialects.dtypes import ELEMENT_TYPES, Array, compute_type, extended, is_encoded, is_float, numpy_dtype

_U8, _U32 = ELEMENT_TYPES["uint8"], ELEMENT_TYPES["uint32"]
_SIGN = 0x8000_0000
_INFINITY = 0x7F80_0000
_MANTISSA = 23
_BIAS = 127


def constant(b: Builder, value: Array, dtype: Attribute) -> Scalar:
    """A single element of `dtype` as memory holds it."""
    if not is_encoded(dtype):
        return b.const(value.item(), dtype)
    return Scalar(b, dtype, constant=int(extended(value.reshape(1)).view(np.uint8).item()))


def _nearest(b: Builder, value: Scalar) -> Scalar:
    """The nearest whole number, of two the one away from zero; the difference that decides is exact."""
    whole = b.math("trunc", value)
    further = b.select(b.compare("lt", value, 0), whole - 1, whole + 1)
    return b.select(b.compare("ge", b.math("absf", value - whole), 0.5), further, whole)


def low_bits(b: Builder, value: Scalar, dtype: IntegerType) -> Scalar:
    """The low bits of a byte as an integer of `dtype`, extended to the byte."""
    width = dtype.width.data
    if dtype.signedness.data is Signedness.UNSIGNED:
        return value & (2**width - 1)
    by = b.const(8 - width, value.dtype)
    return b.shift_right(b.shift_left(value, by), by)


def _as_type(b: Builder, value: Scalar, dtype: Attribute) -> Scalar:
    """The bits of an f32 as an integer of 32 bits, or the reverse."""
    target = f32 if dtype == f32 else i32
    return b.scalar(b.insert(cast(Operation, arith.BitcastOp(value.ssa, target))), dtype)


# An encoded float is sign, exponent, mantissa like an f32, each field narrower. With the fields shifted to those of f32
# it is a float that is too small by a constant power of two, subnormal numbers included: one exact multiplication
# corrects all of them.


def _decode_float(b: Builder, bits: Scalar, format: FloatSemantics) -> Scalar:
    sign_shift, mantissa = format.sign_shift, format.mantissa_bits
    top = b.shift_left(bits, b.const(31 - sign_shift, i32))
    aligned = b.shift_right(top, b.const(8 - format.exponent_bits, i32))
    fields = aligned & (((2**sign_shift - 1) << (_MANTISSA - mantissa)) - 2**31)
    value = _as_type(b, fields, f32) * 2.0 ** (_BIAS - format.exponent_bias)
    match format.nonfinite, format.nan_encoding:
        case FloatNonfiniteBehavior.FINITE_ONLY, _:
            return value
        case _, FloatNanEncoding.NEGATIVE_ZERO:
            return b.select(b.compare("eq", bits, 1 << sign_shift), b.const(float("nan"), f32), value)
        case _, FloatNanEncoding.ALL_ONES:
            least = _number(format, 2**sign_shift - 1)
            return b.select(b.compare("lt", b.math("absf", value), least), value, b.const(float("nan"), f32))
        case _:
            least = _number(format, format.max_exponent << mantissa)
            special = _as_type(b, fields | _INFINITY, f32)  # infinity, or NaN where there is a mantissa
            return b.select(b.compare("lt", b.math("absf", value), least), value, special)


def _number(format: FloatSemantics, code: int) -> float:
    """The number that the fields of `code` stand for, ignoring reserved encodings."""
    exponent, mantissa = code >> format.mantissa_bits, code & format.max_mantissa
    return (1 + mantissa / 2**format.mantissa_bits) * 2.0 ** (exponent - format.exponent_bias)


def _encode_float(b: Builder, value: Scalar, dtype: ReducedPrecisionFloatType, saturate: bool) -> Scalar:
    format = dtype.SEMANTICS
    mantissa, bias, sign_shift = format.mantissa_bits, format.exponent_bias, format.sign_shift
    dropped = _MANTISSA - mantissa
    all_bits = _as_type(b, value, i32)
    size = all_bits & (_SIGN - 1)
    # Normal numbers: add half of what is dropped, less one for an even mantissa, and let it carry into the exponent.
    odd = b.shift_right(size, b.const(dropped, i32)) & 1
    rounded = size + odd + (2 ** (dropped - 1) - 1 - ((_BIAS - bias) << _MANTISSA))
    normal = b.shift_right(rounded, b.const(dropped, i32))
    # Subnormal ones: next to this number the steps of f32 are those of the format, so that adding it rounds.
    anchor = 2.0 ** (_MANTISSA + 1 - bias - mantissa)
    lifted = _as_type(b, _as_type(b, size, f32) + anchor, i32)
    subnormal = lifted - int(np.float32(anchor).view(np.int32))
    code = b.select(b.compare("lt", size, (_BIAS - bias + 1) << _MANTISSA), subnormal, normal)
    greatest, overflow, nan = _reserved(dtype)
    if saturate:
        code = b.min(code, greatest)
    else:
        code = b.select(b.compare("gt", code, greatest), b.const(overflow, i32), code)
    sign = b.shift_right(b.scalar(all_bits.ssa, _U32), b.const(31 - sign_shift, _U32))
    sign = b.scalar(sign.ssa, i32) & (1 << sign_shift)
    is_nan = b.compare("ne", value, value)
    if format.nan_encoding is FloatNanEncoding.NEGATIVE_ZERO:
        signed = b.select(b.compare("eq", code, 0), code, code | sign)
        return b.select(is_nan, b.const(nan, i32), signed)
    return b.select(is_nan, b.const(nan, i32), code) | sign


def _reserved(dtype: Attribute) -> tuple[int, int, int]:
    """The encodings, without sign, of the greatest finite number, of overflow (the same: always saturate), of NaN."""
    kind = numpy_dtype(dtype)
    numbers = np.array([ml_dtypes.finfo(kind).max, np.inf, np.nan], np.float32)
    greatest, overflow, nan = arrays.convert(numbers, kind, saturate=False).view(np.uint8).tolist()
    return greatest, overflow, nan


# f8E8M0FNU is the exponent of an f32 and nothing else: powers of two from 2^-127, subnormal in f32, to 2^127, and NaN.

_POWER_NAN, _POWER_GREATEST = 0xFF, 0xFE
_LEAST_POWER, _GREATEST_POWER = 0x0040_0000, 0x7F00_0000
"""The bits of 2^-127 and 2^127. Without saturation what is less or more is NaN, wherever it would be rounded to."""
_LEAST_NORMAL = 0x0080_0000


def _decode_power(b: Builder, bits: Scalar) -> Scalar:
    shifted = b.shift_left(bits, b.const(_MANTISSA, i32))
    number = _as_type(b, b.select(b.compare("eq", bits, 0), b.const(_LEAST_POWER, i32), shifted), f32)
    return b.select(b.compare("eq", bits, _POWER_NAN), b.const(float("nan"), f32), number)


def _encode_power(b: Builder, value: Scalar, saturate: bool, rounding: Rounding) -> Scalar:
    bits = _as_type(b, value, i32)
    # How far above a power of two a number may be and still belong to it: in general, and above 2^-127.
    more, least_more = {"up": (0x7F_FFFF, 1), "nearest": (0x40_0000, 0x20_0000), "down": (0, _LEAST_POWER)}[rounding]
    normal = b.shift_right(b.scalar((bits + more).ssa, _U32), b.const(_MANTISSA, _U32))
    subnormal = b.cast(b.compare("ge", bits, _LEAST_POWER + least_more), i32)
    code = b.select(b.compare("lt", bits, _LEAST_NORMAL), subnormal, b.scalar(normal.ssa, i32))
    if saturate:
        code = b.min(code, _POWER_GREATEST)
    else:
        code = b.select(b.compare("gt", bits, _GREATEST_POWER), b.const(_POWER_NAN, i32), code)
    too_small = b.compare("lt", bits, _LEAST_POWER)  # and what is negative
    code = b.select(too_small, b.const(0 if saturate else _POWER_NAN, i32), code)
    return b.select(b.compare("ne", value, value), b.const(_POWER_NAN, i32), code)


class EncodingBuilder(Builder):
    """A builder to which memory may give encoded elements, and from which it takes them."""

    def zero(self, dtype: Attribute) -> Scalar:
        return Scalar(self, compute_type(dtype) if not is_encoded(dtype) else dtype, constant=0)

    def decode(self, element: Scalar) -> Scalar:
        dtype = element.dtype
        if not is_encoded(dtype):
            return element
        if element.constant is not None:
            array = np.array([int(element.constant) & 0xFF], np.uint8).view(numpy_dtype(dtype))
            return self.const(arrays.widen(array).item(), compute_type(dtype))
        if isinstance(dtype, IntegerType):
            return self.scalar(element.ssa, compute_type(dtype))
        assert isinstance(dtype, ReducedPrecisionFloatType)
        bits = self.cast(self.scalar(element.ssa, _U8), i32)
        return _decode_power(self, bits) if not dtype.SEMANTICS.has_sign else _decode_float(self, bits, dtype.SEMANTICS)

    def encode(self, value: Scalar, dtype: Attribute, *, saturate: bool = True, rounding: Rounding = "up") -> Scalar:
        """As ONNX's Cast defines it. Formats that have neither infinity nor NaN always saturate; NaN becomes -0.0 in
        them, as in ml_dtypes. `value` is of `dtype` already, or of the type that `decode` gives."""
        if not is_encoded(dtype) or value.dtype == dtype:
            return value
        assert value.dtype == compute_type(dtype), f"{value.dtype} has no code as {dtype}"
        if value.constant is not None:
            number = np.array([value.constant]).astype(numpy_dtype(value.dtype))
            stored = arrays.convert(number, numpy_dtype(dtype), saturate=saturate, rounding=rounding)
            return constant(self, stored, dtype)
        if isinstance(dtype, IntegerType):
            return self.scalar(low_bits(self, value, dtype).ssa, dtype)
        assert isinstance(dtype, ReducedPrecisionFloatType)
        if dtype.SEMANTICS.has_sign:
            code = _encode_float(self, value, dtype, saturate)
        else:
            code = _encode_power(self, value, saturate, rounding)
        return self.scalar(self.cast(code, _U8).ssa, dtype)

    def convert_element(
        self, value: Scalar, dtype: Attribute, *, saturate: bool = True, rounding: Rounding = "up"
    ) -> Scalar:
        """The result is encoded where `dtype` is (see `encode`). Floats become sub-byte integers by rounding to
        nearest, ties away from zero; other integers truncate."""
        value, wide = self.decode(value), compute_type(dtype)
        if not is_encoded(dtype):
            return self.convert(value, dtype)
        if is_float(value.dtype) and not is_float(wide):
            value = _nearest(self, value)
        return self.encode(self.convert(value, wide), dtype, saturate=saturate, rounding=rounding)
