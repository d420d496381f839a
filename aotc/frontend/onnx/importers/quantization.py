"""Affine quantisation, executed as written."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, SSAValue

from aotc.dialects.dtypes import ELEMENT_TYPES, byte_width, dtype_name, is_float, is_minifloat
from aotc.frontend.onnx.node import Tensor
from aotc.frontend.onnx.registry import Node, onnx_op

_UI8 = ELEMENT_TYPES["uint8"]


def _type_attribute(node: Node, name: str) -> Attribute | None:
    """The element type that the attribute `name` asks for; None where it is absent or 0."""
    return node.type_attr(name) if node.attr(name, 0) else None


def _division_type(node: Node) -> Attribute | None:
    """The type that the quotient is rounded to; None: nothing narrower than f32. Since version 23 that is the scale's
    type."""
    given = _type_attribute(node, "precision")
    return node.element_type(1) if given is None and node.opset >= 23 and _is_narrow(node.element_type(1)) else given


def _is_narrow(dtype: Attribute) -> bool:
    return is_float(dtype) and byte_width(dtype) < 4


@onnx_op("QuantizeLinear")
def quantize_linear(node: Node) -> SSAValue:
    to = _type_attribute(node, "output_dtype")
    if to is None:
        to = _UI8 if node.optional(2) is None else node.element_type(2)
    overflow = is_minifloat(to) and not node.attr("saturate", 1)
    return _affine(node, "quantize", to=to, precision=_division_type(node), keep_overflow=overflow)


def _affine(node: Node, operation: str, **attributes: object) -> SSAValue:
    """Input 0 by the scale and the zero point that are inputs 1 and 2, each along an axis or a block of it."""
    blocks = {"axis": node.attr("axis", 1), "block_size": node.attr("block_size", 0)}
    return node.emit(operation, node.input(0), node.input(1), node.optional(2), **blocks, **attributes)


@onnx_op("DequantizeLinear")
def dequantize_linear(node: Node) -> SSAValue:
    to = _type_attribute(node, "output_dtype") or node.element_type(1)
    if is_minifloat(to):
        what = f"its result would be {dtype_name(to)}, like the scale"
        node.fail("invalid-type", what, "set output_dtype to float, float16 or bfloat16")
    return _affine(node, "dequantize", to=to)


@onnx_op("DynamicQuantizeLinear")
def dynamic_quantize_linear(node: Node) -> Sequence[Tensor]:
    return dynamic_quantize(node.tensor(0))


def dynamic_quantize(x: Tensor) -> list[Tensor]:
    """`x` as u8, its scale and its zero point, by its least and its greatest element.

    The ONNX definition divides zero by zero where all elements are equal; the scale is 1 then.
    """
    axes, zero, levels = range(len(x.shape)), x.scalar(0), x.scalar(255)
    low = x.reduce("min", axes, keepdims=False).at_most(zero)
    high = x.reduce("max", axes, keepdims=False).at_least(zero)
    extent = high - low
    flat = extent.compare("eq", zero)
    scale = flat.choose(x.scalar(1), extent / levels)
    offset = zero - low / scale
    zero_point = offset.emit("quantize", x.scalar(1), None, to=_UI8)
    return [x.emit("quantize", scale, zero_point, to=_UI8), scale, zero_point]
