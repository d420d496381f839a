"""Casts, affine quantisation as it is written, and the operators that change nothing at inference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from onnx import TensorProto
from xdsl.ir import Attribute, SSAValue

from aotc.dialects.dtypes import ELEMENT_TYPES, byte_width, dtype_name, is_minifloat, numpy_dtype
from aotc.frontend.onnx.importers.signal import random
from aotc.frontend.onnx.node import Tensor
from aotc.frontend.onnx.registry import Node, onnx_op
from aotc.frontend.onnx.tensors import DTYPES

_UI8 = ELEMENT_TYPES["uint8"]


def _type_attribute(node: Node, name: str) -> Attribute | None:
    """The element type that the attribute `name` asks for; None where it is absent or 0."""
    return node.type_attr(name) if node.attr(name, 0) else None


def _division_type(node: Node) -> Attribute | None:
    """The type that the quotient is rounded to; None: nothing narrower than f32. Since version 23 that is the scale's
    type."""
    given = _type_attribute(node, "precision")
    scale = node.element_type(1)
    return scale if given is None and node.opset >= 23 and byte_width(scale) < 4 else given


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


@onnx_op("Cast")
def cast_to_attribute(node: Node) -> Tensor:
    to = node.attr("to")
    if node.opset < 6:  # by name
        if to not in {TensorProto.DataType.Name(code) for code in DTYPES}:
            node.fail("invalid-attribute", f"to = {to!r} is not an element type")
        node.attributes["to"] = TensorProto.DataType.Value(to)
    return _cast(node, node.type_attr("to"))


@onnx_op("CastLike")
def cast_like(node: Node) -> Tensor:
    return _cast(node, node.element_type(1))


def _cast(node: Node, to: Attribute) -> Tensor:
    """The first input as `to`, which may be the type it has."""
    x = node.tensor(0)
    if x.kind == to or not is_minifloat(to):
        return x.cast(to)
    rounding = node.attr("round_mode", "up")
    node.require_choice("round_mode", rounding, ("up", "down", "nearest"))
    direction = None if rounding == "up" else rounding
    return x.emit("cast", to=to, keep_overflow=not node.attr("saturate", 1), rounding=direction)


@onnx_op("BitCast")
def bit_cast(node: Node) -> SSAValue:
    return node.emit("bit_cast", node.input(0), to=node.type_attr("to"))


@onnx_op("Identity")
def identity(node: Node) -> SSAValue:
    return node.input(0)


@onnx_op("Dropout")
def dropout(node: Node) -> Sequence[SSAValue | Tensor]:
    if node.optional(2) is not None:
        training, ratio = node.known(2), node.known(1)
        if (training is None or training.any()) and (ratio is None or ratio.any()):
            return _dropped(node)
    if node.opset < 7 and not node.attr("is_test", 0):
        return _dropped(node)
    x = node.input(0)
    if len(node.outputs) < 2 or not node.outputs[1]:
        return [x]
    # What the mask says at inference: all kept, before version 12 (in onnxruntime) nothing at all.
    mask = np.full((), node.opset >= 12, np.bool_ if node.opset >= 10 else numpy_dtype(node.element_type(0)))
    return [x, node.emit("broadcast", node.constant(mask), shape=list(node.shape(0)))]


def _dropped(node: Node) -> Sequence[Tensor]:
    """Dropout while training: a share of the elements, drawn at random, is 0, the others are larger by as much.

    Where data say whether this is training, the share is 0 while it is not, which keeps every element as it is.
    """
    x = node.tensor(0)
    wide = x.widened()
    ratio = wide.scalar(node.attr("ratio", 0.5))
    if (given := node.optional_tensor(1)) is not None:
        ratio = given.reshape([]).cast(wide.kind)
    if node.optional(2) is not None and node.known(2) is None:
        ratio = node.tensor(2).reshape([]).choose(ratio, 0)
    mask = random(node, x.shape, wide.kind) >= ratio
    scaled = wide / (1 - ratio)
    return [mask.choose(scaled, 0).cast(x.kind), mask]
