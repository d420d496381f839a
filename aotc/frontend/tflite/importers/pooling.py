"""Averages, extremes and sums: of windows, and along axes."""

from __future__ import annotations

import math

import numpy as np
from xdsl.dialects.builtin import i32

from aotc.dialects.dtypes import integer_range
from aotc.frontend.emitter import Tensor
from aotc.frontend.tflite.arithmetic import Multiplier
from aotc.frontend.tflite.node import First, Node
from aotc.frontend.tflite.registry import tflite_op
from aotc.frontend.tflite.windows import window_attributes
from aotc.model.weight_store import Array


def _window(node: Node) -> dict[str, list[int]]:
    kernel = [node.option("FilterHeight"), node.option("FilterWidth")]
    return {"kernel": kernel, **window_attributes(node, node.channels_first(0).shape[2:], kernel)}


@tflite_op("MAX_POOL_2D", moves=True)
def max_pool_2d(node: Node) -> First:
    node.require_type(0, "float32", "int8", "uint8", "int16")
    result = node.channels_first(0).emit("max_pool", ceil=False, **_window(node))
    if not node.is_quantized:
        return First(node.activated(result))
    low, high = node.clamp()
    least, greatest = integer_range(node.to)
    result = result if low == least else result.at_least(low)
    return First(result if high == greatest else result.at_most(high))


@tflite_op("AVERAGE_POOL_2D")
def average_pool_2d(node: Node) -> First:
    node.require_type(0, "float32", "int8", "uint8", "int16")
    x, window = node.channels_first(0), _window(node)
    if not node.is_quantized:
        return First(node.activated(x.emit("average_pool", ceil=False, **window, include_pad=False)))
    counts = np.ones((), np.int64)
    pads, strides, dilations = (window[name] for name in ("pads", "strides", "dilations"))
    for axis, (extent, size) in enumerate(zip(x.shape[2:], window["kernel"], strict=True)):
        positions = (extent + pads[axis] + pads[axis + 2] - (size - 1) * dilations[axis] - 1) // strides[axis] + 1
        taps = np.arange(positions)[:, None] * strides[axis] - pads[axis] + np.arange(size) * dilations[axis]
        counts = counts[..., None] * ((taps >= 0) & (taps < extent)).sum(1)
    node.require(counts.size > 0 and bool(counts.min() > 0), "invalid-shape", "a window has no elements")
    counts = counts.reshape(1, 1, *counts.shape)
    counts = counts[:1, :1, :1, :1].reshape(()) if bool((counts == counts.flat[0]).all()) else counts
    node.require(int(counts.max()) <= _MOST_COUNT, "too-large", f"a window has {int(counts.max())} elements")
    up, by = _quotient(counts, max(map(abs, integer_range(x.kind))))
    sums = x.emit("sum_pool", ceil=False, **window) * (1 << up)
    low, high = node.clamp()
    made = node.constant(by.factors.astype(np.int32)), node.constant((-by.exponents).astype(np.int32))
    return First(sums.emit("doubling_requantize", *made, axis=0, zero_point=0, low=low, high=high, to=node.to))


@tflite_op("L2_POOL_2D")
def l2_pool_2d(node: Node) -> First:
    """Roots of means of squares."""
    node.require_type(0, "float32")
    x = node.channels_first(0)
    means = (x * x).emit("average_pool", ceil=False, **_window(node), include_pad=False)
    return First(node.activated(means.sqrt()))


_MOST_COUNT = 1 << 14
"""Elements of a window whose mean is a product."""


def _quotient(counts: Array, most: int) -> tuple[int, Multiplier]:
    """Quotients of sums of so many integers of a magnitude, the middle away from zero, as a shift and a product that is
    rounded twice.

    A sum times 2^up is at most 2^30, so its product is off by at most a quarter before it is rounded, by three quarters
    after that: it is the whole number that it should be where the quotient is in the middle between two integers. Other
    quotients are at least 1 / (2 counts) from there, which is 2^15 / (2 counts) in the product, or more.
    """
    up = 30 - math.ceil(math.log2(most)) - math.ceil(math.log2(int(counts.max())))
    return up, Multiplier.of(2.0**-up / counts)


@tflite_op("MEAN", "SUM")
def mean(node: Node) -> Tensor:
    """Of integers: their sum, less as many zero points, times the quotient of scales; a mean divides that by their
    number, as integers."""
    is_mean = node.op_type == "MEAN"
    node.require_type(0, "float32", "int8", "int16", "uint8" if is_mean else "int32")

    def real(x: Tensor, axes: list[int]) -> Tensor:
        return x.reduce("mean" if is_mean else "sum", axes)

    def integers(x: Tensor, axes: list[int]) -> Tensor:
        (scale, point), (to, _) = node.input_quantization(0), node.quantization(node.results[0])
        count = math.prod(x.shape[axis] for axis in axes)
        node.require(0 < count < 1 << 24, "too-large", f"the {node.op_type.lower()} of {count} elements")
        sums = x.cast(i32).reduce("sum", axes)
        sums = sums - point * count if point else sums
        by = Multiplier.of(np.float64(scale) / np.float64(to))
        if is_mean:
            shift = min(count.bit_length() - 1, 32, 31 + int(by.exponents))
            by = Multiplier((by.factors << shift) // count, by.exponents - shift)
        return node.requantized(sums, by)

    return node.along_axes(integers if node.is_quantized else real)
