"""The bits of floats and polynomials of them: what functions of f32 are written with, on tiles and single elements."""

from collections.abc import Sequence

import numpy as np
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, f32, i32
from xdsl.ir import Attribute, SSAValue

from aotc.dialects.aot.tiles import tile_shape, tile_type
from aotc.dialects.builder import Scalar
from aotc.passes.kernel.builders.tile_builder import TileBuilder


def _reinterpret(b: TileBuilder, x: Scalar, dtype: Attribute) -> Scalar:
    shape = tile_shape(x.ssa)
    return Scalar(b, dtype, b.emit(arith.BitcastOp(x.ssa, tile_type(shape, dtype) if shape else dtype)))


def as_bits(b: TileBuilder, x: Scalar) -> Scalar:
    """The bits of x as i32."""
    return _reinterpret(b, x, i32)


def bits_of(value: float) -> int:
    """The bits of a number as f32."""
    return int(np.float32(value).view(np.int32))


def as_float(b: TileBuilder, x: Scalar) -> Scalar:
    """The number whose bits are x."""
    return _reinterpret(b, x, f32)


def number(b: TileBuilder, value: float) -> Scalar:
    """`value` as f32."""
    return b.const(value, f32)


def polynomial(b: TileBuilder, x: Scalar, coefficients: Sequence[float]) -> Scalar:
    """The sum of coefficients[k] * x^k, by Horner's rule."""
    value = number(b, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        value = b.fma(x, value, number(b, coefficient))
    return value


def with_sign(b: TileBuilder, magnitude: Scalar, sign: Scalar) -> Scalar:
    """`magnitude` with the sign of `sign`."""
    return Scalar(b, f32, b.emit(math.CopySignOp(magnitude.ssa, sign.ssa)))


ROUNDER = 1.5 * 2.0**23
"""Added to a small number, it leaves that rounded to an integer in the low bits of the sum."""


def constant_number(value: SSAValue) -> float | None:
    """The number that is `value`, or every element of it."""
    attribute = value.owner.value if isinstance(value.owner, arith.ConstantOp) else None
    if isinstance(attribute, DenseIntOrFPElementsAttr) and attribute.is_splat():
        return float(np.asarray(attribute.get_values()[0]))
    return attribute.value.data if isinstance(attribute, FloatAttr) else None
