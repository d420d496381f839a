"""Real numbers that integers stand for, as a graph says them: by a dequantisation, or by casts and zero points."""

from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Attribute, SSAValue

from aotc.dialects.arrays import widen
from aotc.dialects.constants import computed_array
from aotc.dialects.dtypes import element_type, integer_range, is_narrow_integer, is_subbyte_integer, numpy_dtype
from aotc.dialects.graph.conversion import CastOp, DequantizeOp, QuantizeOp
from aotc.dialects.graph.elementwise import SubOp
from aotc.dialects.graph.interfaces import Array, element_type_of, producer, shape_of
from aotc.model.weight_store import WeightStore


@dataclass(frozen=True)
class Parameters:
    """How integers stand for real numbers: by (integer - zero_point) * scale, for all of a tensor."""

    scale: np.float32
    zero_point: int
    kind: Attribute
    """The integers' type."""


@dataclass(frozen=True)
class Quantized:
    """A tensor whose elements stand for (value - zero_point) * scale."""

    value: SSAValue
    zero_point: int
    scale: np.float32 | None
    """None: they stand for integers."""
    offset: SSAValue | None = None
    """A zero point that is known at run time only, i32, one for all or for each row: `zero_point` is 0."""

    @property
    def greatest(self) -> int:
        """The greatest absolute value of an element less the zero point."""
        low, high = integer_range(element_type_of(self.value))
        if self.offset is not None:
            return high - low
        return max(self.zero_point - low, high - self.zero_point)


@dataclass(frozen=True)
class Dequantized(Quantized):
    """One that a dequantisation makes of integers."""

    scale: np.float32

    @property
    def parameters(self) -> Parameters:
        """How its integers stand for it."""
        return Parameters(self.scale, self.zero_point, element_type_of(self.value))


@dataclass(frozen=True)
class Weights:
    """A constant whose elements stand for values * scale."""

    source: SSAValue
    """The integers as the model has them, with a zero point of their own."""
    values: Array
    """Less their zero points, i32."""
    scale: Array | None
    """One f32, or one for each index of `axis`; None: they stand for integers."""
    axis: int


def dequantized(value: SSAValue, store: WeightStore) -> Dequantized | None:
    """The narrow integers that the f32 `value` stands for, where one scale and one zero point hold for all of them."""
    op = producer(value, DequantizeOp)
    if op is None or op.to != f32 or not is_narrow_integer(element_type_of(op.x)):
        return None
    found = _single_parameters(op, store)
    return None if found is None else Dequantized(op.x, found[1], found[0])


def quantized(value: SSAValue, store: WeightStore) -> Quantized | None:
    """As `dequantized`, and the narrow integers that an i32 `value` is made of, by a cast, perhaps less a zero
    point."""
    if element_type_of(value) != i32:
        return dequantized(value, store)
    point, offset, op = 0, None, producer(value, SubOp)
    if op is not None:
        known, value = computed_array(op.rhs, store), op.lhs
        if shape_of(op.lhs) != shape_of(op.result):
            return None
        if known is None:
            offset = op.rhs
        elif known.size and bool((known == known.flat[0]).all()):
            point = int(known.flat[0])
        else:
            return None
    cast = producer(value, CastOp)
    if cast is None or not is_narrow_integer(element_type_of(cast.x)):
        return None
    if offset is not None:
        narrow = producer(offset, CastOp)
        if narrow is None or element_type_of(narrow.x) != element_type_of(cast.x):
            return None  # it need not be one of the operand's integers
        return Quantized(cast.x, 0, None, offset)
    low, high = integer_range(element_type_of(cast.x))
    return Quantized(cast.x, point, None) if low <= point <= high else None


def weights(value: SSAValue, store: WeightStore) -> Weights | None:
    """The integers that a constant stands for: dequantised, or i32 of which each is narrow."""
    if element_type_of(value) == i32:
        array = computed_array(value, store)
        return None if array is None or narrowest(array) is None else Weights(value, array, None, 0)
    op = producer(value, DequantizeOp)
    if op is None or op.to != f32 or op.block_size or not is_narrow_integer(element_type_of(op.x)):
        return None
    array, scale = computed_array(op.x, store), computed_array(op.scale, store)
    point = np.zeros((), np.int32) if op.zero_point is None else computed_array(op.zero_point, store)
    if array is None or scale is None or point is None or not is_scale(scale):
        return None
    axis, rank = op.axis % max(array.ndim, 1), array.ndim
    points = widen(point).astype(np.int32)
    if points.size > 1:
        points = points.reshape([-1 if each == axis else 1 for each in range(rank)])
    else:
        points = points.reshape(())
    values = widen(array).astype(np.int32) - points
    if narrowest(values) is None:
        return None
    return Weights(op.x, values, scale.reshape(-1) if scale.size > 1 else scale.reshape(()), axis)


def quantization(op: QuantizeOp, store: WeightStore) -> Parameters | None:
    """To what narrow integers `op` quantises, where that is as for all of the tensor."""
    if op.precision is not None or not is_narrow_integer(op.to) or element_type_of(op.x) != f32:
        return None
    found = _single_parameters(op, store)
    return None if found is None else Parameters(*found, op.to)


def _single_parameters(op: DequantizeOp | QuantizeOp, store: WeightStore) -> tuple[np.float32, int] | None:
    """The one scale, a positive number of f32, and zero point."""
    scale = computed_array(op.scale, store)
    point = np.zeros((), np.int32) if op.zero_point is None else computed_array(op.zero_point, store)
    if scale is None or point is None or scale.size != 1 or op.block_size or not is_scale(scale):
        return None
    return np.float32(scale.item()), int(widen(point).item())


def is_scale(array: Array) -> bool:
    """Whether these are finite numbers of f32 above 0."""
    return array.dtype == np.float32 and bool((np.isfinite(array) & (array > 0)).all())


_WIDTHS = ("int8", "uint8", "int16")


def narrowest(values: Array, given: Attribute | None = None) -> Attribute | None:
    """The type for constant integers: i8, ui8 or i16, the first that holds them all; None: they are too wide.

    With `given`, an integer type of less than a byte, also i4 or i2.
    """
    low, high = (int(values.min()), int(values.max())) if values.size else (0, 0)
    names = ("int2", "int4", *_WIDTHS) if given is not None and is_subbyte_integer(given) else _WIDTHS
    for name in names:
        kind = element_type(name)
        least, greatest = integer_range(kind)
        if least <= low and high <= greatest:
            return kind
    return None


def as_type(values: Array, kind: Attribute) -> Array:
    """Integers as an array of a type that holds them."""
    return values.astype(numpy_dtype(kind))
