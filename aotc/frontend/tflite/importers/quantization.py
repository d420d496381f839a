"""Between real numbers and integers, and from integers to others."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import i32

from aotc.dialects.dtypes import integer_range
from aotc.frontend.emitter import Tensor
from aotc.frontend.tflite import fixed_point
from aotc.frontend.tflite.arithmetic import Multiplier
from aotc.frontend.tflite.importers.elementwise import function
from aotc.frontend.tflite.node import PLACES, First, Node
from aotc.frontend.tflite.registry import tflite_op


@tflite_op("QUANTIZE", moves=True)
def quantize(node: Node) -> Tensor | First:
    """Of real numbers: their quotient by the scale, the middle between two integers away from zero."""
    node.require_type(0, "float32", "int8", "uint8", "int16", "int32")
    scale, point = node.quantization(node.results[0])
    node.require(node.results[0].dtype != "float32", "unsupported-type", "the result is float32, not of integers")
    low, high = integer_range(node.to)
    if (given := node.declared(0).tensor).dtype != "float32":
        own, zero = node.input_quantization(0)
        by = Multiplier.of(np.float64(own) / np.float64(scale))
        if given.dtype in ("int8", "uint8"):
            return function(node, lambda x: x, lambda x: np.clip(by(x - zero) + point, low, high))
        (x,), ordered = node.alike(0)
        return ordered(node.requantized(node.integers(x, zero), by))
    (x,), ordered = node.alike(0)
    nearest = fixed_point.nearest(x.emit("div", node.constant(np.asarray(scale))))
    nearest = nearest.at_least(float(low - point)).at_most(float(high - point)).cast(i32)
    return ordered((nearest + point if point else nearest).cast(node.to))


@tflite_op("DENSIFY", moves=True)
def densify(node: Node) -> Tensor | First:
    """All elements of a sparse constant, which are there by now."""
    (x,), ordered = node.alike(0)
    return ordered(x)


@tflite_op("DEQUANTIZE", moves=True)
def dequantize(node: Node) -> Tensor | First:
    node.require_type(0, "int8", "uint8", "int16", "float16", "int4", "int2")
    (x,), ordered = node.alike(0)
    tensor = node.declared(0).tensor
    if tensor.quantization is None:
        return ordered(x.cast(node.to))
    axis = tensor.quantization.axis
    if ordered is First:
        axis = PLACES[axis]
    return ordered(Tensor(node, node.dequantized(x.value, tensor, axis)))
