"""Convolutions and fully connected layers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import i32

from aotc.frontend.emitter import Tensor
from aotc.frontend.tflite.arithmetic import Multiplier, wrapped
from aotc.frontend.tflite.node import First, Node
from aotc.frontend.tflite.registry import tflite_op
from aotc.frontend.tflite.windows import window_attributes
from aotc.model.weight_store import Array


@tflite_op("CONV_2D")
def conv_2d(node: Node) -> First:
    _require_one_form(node, 0)
    channels, (outputs, *kernel, inputs) = node.channels_first(0).shape[1], node.array(1, "the filter").shape
    node.require(inputs > 0 and channels % inputs == 0, "invalid-shape", f"filters of {inputs} of {channels} channels")
    return _convolution(node, kernel, channels // inputs, (0, 3, 1, 2), [outputs, inputs, *kernel])


@tflite_op("DEPTHWISE_CONV_2D")
def depthwise_conv_2d(node: Node) -> First:
    _require_one_form(node, 0)
    channels, (_, *kernel, outputs) = node.channels_first(0).shape[1], node.array(1, "the filter").shape
    node.require(outputs % channels == 0, "invalid-shape", f"filters for {outputs} of {channels} channels")
    return _convolution(node, kernel, channels, (3, 0, 1, 2), [outputs, 1, *kernel])


def _convolution(
    node: Node, kernel: Sequence[int], group: int, permutation: Sequence[int], shape: Sequence[int]
) -> First:
    x = node.channels_first(0)
    given = window_attributes(node, x.shape[2:], kernel)
    weight = node.permuted(1, "the filter", permutation, shape)
    if not node.is_quantized:
        bias = None if node.optional(2) is None else node.optional_tensor(2)
        return First(node.activated(x.emit("conv", weight, bias, group=group, **given)))
    filters = node.array(1, "the filter").transpose(permutation).reshape(shape[0], -1)
    point, bias = _start(node, filters, has_borders=any(given["pads"]))
    start = None if bias is None else node.constant(bias)
    sums = x.emit("conv", weight, start, group=group, **given, accumulator=i32, x_zero_point=point or None)
    return First(node.requantized(sums, _multiplier(node), axis=1))


@tflite_op("TRANSPOSE_CONV")
def transpose_conv(node: Node) -> First:
    """Each element times the filter is added to a window of the result, whose shape is the first input."""
    _require_one_form(node, 2)
    x, shape = node.channels_first(2), node.results[0].shape
    outputs, *kernel, inputs = node.array(1, "the filter").shape
    fits = len(shape) == 4 and (shape[0], shape[3], inputs) == (x.shape[0], outputs, x.shape[1])
    node.require(fits, "invalid-shape", f"filters {outputs} x {inputs} from {list(x.shape)} to {list(shape)}")
    given = window_attributes(node, shape[1:3], kernel)
    more = [0, 0]
    for axis, (extent, reach) in enumerate(zip(x.shape[2:], kernel, strict=True)):
        spare = (extent - 1) * given["strides"][axis] + reach - given["pads"][axis] - shape[1 + axis]
        given["pads"][2 + axis], more[axis] = max(spare, 0), max(-spare, 0)
    permutation, of = (3, 0, 1, 2), [inputs, outputs, *kernel]
    weight = node.permuted(1, "the filter", permutation, of, axis=1)
    if not node.is_quantized:
        result = x.emit("conv_transpose", weight, node.optional(3), group=1, **given, output_padding=more)
        return First(node.activated(result))
    _, point = node.input_quantization(2)
    bias = None if node.value(3) is None else node.constant(node.array(3, "the bias").astype(np.int32))
    sums = x.emit(
        "conv_transpose", weight, bias, group=1, **given, output_padding=more, accumulator=i32,
        x_zero_point=point or None,
    )  # fmt: skip
    return First(node.requantized(sums, _multiplier(node, 2), axis=1))


@tflite_op("FULLY_CONNECTED")
def fully_connected(node: Node) -> Tensor:
    _require_one_form(node, 0)
    node.require(node.option("WeightsFormat") == 0, "unsupported-attribute", "the weights are shuffled")
    weight = node.array(1, "the weights")
    node.require(weight.ndim == 2 and weight.shape[1] > 0, "invalid-shape", f"weights of shape {list(weight.shape)}")
    x = node.tensor(0)
    count = math.prod(x.shape)
    node.require(count % weight.shape[1] == 0, "invalid-shape", f"{count} elements for rows of {weight.shape[1]}")
    x = x.reshape([count // weight.shape[1], weight.shape[1]])
    factor = node.permuted(1, "the weights", (0, 1), weight.shape)
    if not node.is_quantized:
        product = x.emit("matmul", factor, transpose_rhs=True)
        bias = node.optional_tensor(2)
        return node.shaped(node.activated(product if bias is None else product + bias))
    numbers = node.declared(1).tensor.quantization
    zero = int(numbers.zero_points[0]) if numbers is not None and numbers.is_single else 0  # of several none counts
    point, bias = _start(node, weight.astype(np.int64) - zero, has_borders=False)
    points = {"lhs_zero_point": point or None, "rhs_zero_point": zero or None}
    sums = x.emit("matmul", factor, transpose_rhs=True, accumulator=i32, **points)
    sums = sums if bias is None else sums + node.constant(bias)
    return node.shaped(node.requantized(sums, _multiplier(node), axis=1))


def _require_one_form(node: Node, position: int) -> None:
    """Fail where an input is neither real numbers nor bytes, or the weights are not what it is (hybrid operators)."""
    node.require_type(position, "float32", "int8")
    given, weights = node.declared(position).tensor, node.declared(1).tensor
    what = f"input {position} is {given.kind}, and the weights are {weights.kind}"
    is_one = (given.dtype == "float32") == (weights.dtype in ("float32", "float16"))
    node.require(is_one, "unsupported-type", what, "both must be real numbers, or both integers")


def _start(node: Node, weight: Array, *, has_borders: bool) -> tuple[int, Array | None]:
    """The zero point that sums take off the first operand, and what they start with, i32; `weight` has the outputs
    along the first axis.

    A zero point that all sums of a channel take off as often is in the latter.
    """
    _, point = node.input_quantization(0)
    bias = None if node.value(2) is None else node.array(2, "the bias").astype(np.int64)
    if point and not has_borders:
        less = weight.astype(np.int64).sum(1) * point
        bias, point = -less if bias is None else bias - less, 0
    return point, None if bias is None else wrapped(bias).astype(np.int32)


def _multiplier(node: Node, position: int = 0) -> Multiplier:
    """The scales of sums over that of the result; the first factor is the input at `position`."""
    (given, _), (result, _) = node.input_quantization(position), node.quantization(node.results[0])
    weights = node.declared(1).tensor.quantization
    if weights is None:
        node.fail("unsupported-type", "the weights have no scale", "their integers must stand for real numbers")
    real = np.float64(given) * weights.scales.astype(np.float64) / np.float64(result)
    return Multiplier.of(real.reshape(()) if weights.is_single else real)
