"""Conversion between element types: casts and affine quantisation."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import StringAttr, TensorType, f32, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, opt_prop_def, prop_def

from aotc.dialects.builder import Builder, Reader, Rounding, Scalar
from aotc.dialects.dtypes import ELEMENT_TYPES, byte_width, compute_type, integer_range, is_float, is_minifloat
from aotc.dialects.graph.elementwise import BroadcastOp, Domain
from aotc.dialects.graph.interfaces import ElementOp, Quantization, ShapeError, element_type_of, shape_of
from aotc.dialects.graph.shapes import ceil_div, normalize_axis
from aotc.dialects.properties import int_prop, opt_bool_prop


@irdl_op_definition
class CastOp(BroadcastOp):
    """x as element type `to`: integers wrap, floats round to nearest or truncate, a boolean is `!= 0` (see `convert`).

    Values too large for a minifloat become its greatest number, or with `keep_overflow` infinity or NaN; `rounding`
    ("up", "down" or "nearest", by default the first) is how f8E8M0FNU rounds.
    """

    name = "graph.cast"
    x = operand_def(TensorType)
    to = prop_def(Attribute)
    keep_overflow = opt_bool_prop()
    rounding = opt_prop_def(StringAttr)

    def infer_types(self) -> Sequence[TensorType]:
        if self.to not in ELEMENT_TYPES.values():
            raise ShapeError(f"{self.to} is not an element type")
        if self._rounding() not in ("up", "down", "nearest"):
            raise ShapeError(f"the rounding must be up, down or nearest, found {self._rounding()!r}")
        return super().infer_types()

    def _rounding(self) -> Rounding:
        return "up" if self.rounding is None else cast(Rounding, self.rounding.data)

    def result_element_type(self) -> Attribute:
        return self.to

    def scalar(self, b: Builder, *operands: Scalar) -> Scalar:
        return b.convert_element(operands[0], self.to, saturate=not self.keep_overflow, rounding=self._rounding())


def _is_single(shape: Sequence[int]) -> bool:
    return tuple(shape) in ((), (1,))


class AffineOp(ElementOp, ABC):
    """Affine quantisation of `x` by a scale and a zero point, one of each for each tensor, index of an axis, or block.

    The scale is a single element; or has one element per index of `axis`; or has the rank of x and, along `axis`, one
    element per `block_size` of x's. The zero point, if there is one, has the shape of the scale, or is single like it;
    that of blocks may be single whatever the scale.
    """

    x = operand_def(TensorType)
    scale = operand_def(TensorType)
    zero_point = opt_operand_def(TensorType)
    axis = int_prop(1)
    block_size = int_prop(0)
    to = prop_def(Attribute)

    def infer_types(self) -> Sequence[TensorType]:
        shape, scales = shape_of(self.x), shape_of(self.scale)
        block = self.block_size
        points = scales if self.zero_point is None else shape_of(self.zero_point)
        if points != scales and not (_is_single(points) and (_is_single(scales) or block)):
            raise ShapeError(f"the zero point's shape {points} is not the scale's {scales}")
        if not _is_single(scales) or block:
            axis = normalize_axis(self.axis, len(shape))
            expected = (
                tuple(ceil_div(extent, block) if i == axis else extent for i, extent in enumerate(shape))
                if block > 0
                else (shape[axis],)
            )
            if scales != expected:
                raise ShapeError(f"the scale's shape is {scales}, for x of shape {shape} along axis {axis} {expected}")
        Domain.NUMBER.require(element_type_of(self.scale), "the scale")
        return [TensorType(self.to, shape)]

    def single_elements(self) -> Iterable[int]:
        return range(1, len(self.operands))

    def operand_axes(self, axis: int) -> Mapping[int, int] | None:
        """That of x, and those of scales: there may be one for each index of `self.axis`, or for each block of x."""
        is_blocked = self.block_size > 0
        is_along = self.axis % len(shape_of(self.x)) == axis
        axes = {0: axis} if shape_of(self.x)[axis] > 1 else {}
        for place, shape in enumerate(map(shape_of, self.operands[1:]), 1):
            if not _is_single(shape) and (is_blocked or is_along):
                own = axis if is_blocked else 0
                if is_blocked and is_along and shape[own] > 1:
                    return None
                if shape[own] > 1:
                    axes[place] = own
        return axes

    def _parameters(self, b: Builder, index: Sequence[Scalar], reads: Sequence[Reader]) -> list[Scalar]:
        """The scale and, if there is one, the zero point for the element at `index`."""
        block = self.block_size
        axis = self.axis

        def place(value: SSAValue) -> list[Scalar]:
            if _is_single(shape_of(value)):
                return [b.index(0)] * len(shape_of(value))
            if not block:
                return [index[axis]]
            return [each / block if i == axis % len(index) else each for i, each in enumerate(index)]

        return [read(place(value)) for read, value in zip(reads[1:], self.operands[1:], strict=True)]


@irdl_op_definition
class QuantizeOp(AffineOp):
    """saturate(round(x / scale) + zero_point), rounding to even; NaN becomes the least integer.

    Minifloats round after the zero point has been added; values too large for them saturate too, or with
    `keep_overflow` become infinity or NaN. The quotient is rounded to `precision` first where that is given.
    """

    name = "graph.quantize"
    precision = opt_prop_def(Attribute)
    keep_overflow = opt_bool_prop()

    def result_quantization(self) -> Quantization | None:
        return Quantization(self.scale, self.zero_point)

    def infer_types(self) -> Sequence[TensorType]:
        Domain.NUMBER.require(element_type_of(self.x), "the operand")
        Domain.NUMBER.require(self.to, "the result")
        if is_float(self.to) and not is_minifloat(self.to):
            raise ShapeError(f"the result has element type {self.to}, expected integer or minifloat")
        if self.zero_point is not None and element_type_of(self.zero_point) != self.to:
            raise ShapeError(f"the zero point has element type {element_type_of(self.zero_point)}, not {self.to}")
        return super().infer_types()

    def element(self, b: Builder, index: Sequence[Scalar], reads: Sequence[Reader]) -> Scalar:
        scale, *zero_point = self._parameters(b, index, reads)
        quotient = b.cast(reads[0](index), f32) / b.cast(scale, f32)
        if self.precision is not None:
            quotient = b.cast(b.decode(b.convert_element(quotient, self.precision)), f32)
        if is_minifloat(self.to):
            value = quotient + b.cast(zero_point[0], f32) if zero_point else quotient
            return b.convert_element(value, self.to, saturate=not self.keep_overflow)
        bounds = integer_range(self.to)
        if byte_width(self.to) <= 2:  # clamped first, which is the same, and then far from 2^22
            low, high = ((b.const(each, f32) - b.cast(zero_point[0], f32)) if zero_point else each for each in bounds)
            value = b.rounded(b.limited(quotient, low, high))
            value = value + b.cast(zero_point[0], i32) if zero_point else value
            return b.bitcast(b.cast(value, compute_type(self.to)), self.to)
        low, high = bounds
        value = b.math("roundeven", quotient)
        value = value + b.cast(zero_point[0], f32) if zero_point else value
        return b.bitcast(b.cast(b.limited(value, low, high), compute_type(self.to)), self.to)


@irdl_op_definition
class DequantizeOp(AffineOp):
    """(x - zero_point) * scale in the precision of the result; the zero point of blocks may be a float like it."""

    name = "graph.dequantize"

    def operand_quantization(self) -> Quantization | None:
        return Quantization(self.scale, self.zero_point)

    def infer_types(self) -> Sequence[TensorType]:
        Domain.NUMBER.require(element_type_of(self.x), "the operand")
        if is_float(element_type_of(self.x)) and not is_minifloat(element_type_of(self.x)):
            raise ShapeError(f"the operand has element type {element_type_of(self.x)}, expected integer or minifloat")
        Domain.FLOAT.require(self.to, "the result")
        point = None if self.zero_point is None else element_type_of(self.zero_point)
        if point not in (None, element_type_of(self.x)) and not (self.block_size and point == self.to):
            raise ShapeError(f"the zero point has element type {point}, not {element_type_of(self.x)}")
        return super().infer_types()

    def element(self, b: Builder, index: Sequence[Scalar], reads: Sequence[Reader]) -> Scalar:
        scale, *zero_point = self._parameters(b, index, reads)
        kinds = [element_type_of(each) for each in (self.x, self.zero_point) if each is not None]
        stored = f32 if any(map(is_float, kinds)) else i32
        value = b.cast(reads[0](index), stored)
        if zero_point:
            value = value - b.cast(zero_point[0], stored)
        kind = compute_type(self.to)
        return b.cast(value, kind) * b.cast(scale, kind)
