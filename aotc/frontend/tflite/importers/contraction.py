"""Convolutions and fully connected layers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from aotc.frontend.emitter import Tensor
from aotc.frontend.tflite import products
from aotc.frontend.tflite.importers import hybrid
from aotc.frontend.tflite.importers.hybrid import is_hybrid
from aotc.frontend.tflite.node import First, Node
from aotc.frontend.tflite.registry import tflite_op
from aotc.frontend.tflite.windows import window_attributes

_WEIGHTS = {"float32": ("float32", "float16"), "int8": ("int8",), "int16": ("int8",)}
"""The element types of weights for those of what they are multiplied with."""
_OLDER = {"uint8": ("uint8",)}
_MORE_WEIGHTS: dict[str, dict[str, tuple[str, ...]]] = {
    "CONV_2D": {"int8": ("int4",), "float32": ("int8",), **_OLDER},
    "DEPTHWISE_CONV_2D": {"int8": ("int4",), **_OLDER},
    "FULLY_CONNECTED": {"int8": ("int4", "int2"), "float32": ("int8",), **_OLDER},
}
"""Others of an operator."""


@tflite_op("CONV_2D")
def conv_2d(node: Node) -> First:
    _require_one_form(node, 0, 2, "int64", "int32")
    channels, (outputs, *kernel, inputs) = node.channels_first(0).shape[1], _filter(node)
    node.require(inputs > 0 and channels % inputs == 0, "invalid-shape", f"filters of {inputs} of {channels} channels")
    return _convolution(node, kernel, channels // inputs, (0, 3, 1, 2), [outputs, inputs, *kernel])


@tflite_op("DEPTHWISE_CONV_2D")
def depthwise_conv_2d(node: Node) -> First:
    _require_one_form(node, 0, 2, "int64")
    channels, (_, *kernel, outputs) = node.channels_first(0).shape[1], _filter(node)
    node.require(outputs % channels == 0, "invalid-shape", f"filters for {outputs} of {channels} channels")
    return _convolution(node, kernel, channels, (3, 0, 1, 2), [outputs, 1, *kernel])


def _filter(node: Node) -> tuple[int, ...]:
    """The shape of the filter."""
    shape = node.array(1, "the filter").shape
    node.require(len(shape) == 4, "invalid-shape", f"a filter of shape {list(shape)}", "it must have rank 4")
    return shape


def _convolution(
    node: Node, kernel: Sequence[int], group: int, permutation: Sequence[int], shape: Sequence[int]
) -> First:
    x = node.channels_first(0)
    given = window_attributes(node, x.shape[2:], kernel)
    weight = node.permuted(1, "the filter", permutation, shape)
    if is_hybrid(node):
        node.require(group == 1, "unsupported-type", "weights of int8 for groups of real channels")

        def of_integers(values: Tensor) -> Tensor:
            return values.emit("conv", weight, None, group=1, **given, accumulator=i32)

        return First(hybrid.layer(node, of_integers, x, axis=1))
    if not node.is_quantized:
        bias = None if node.optional(2) is None else node.optional_tensor(2)
        return First(node.activated(x.emit("conv", weight, bias, group=group, **given)))

    zero = node.input_quantization(1)[1] if x.dtype == np.uint8 else 0  # of int8 none counts

    def product(values: Tensor, start: SSAValue | None, point: int) -> Tensor:
        points = {"x_zero_point": point or None, "w_zero_point": zero or None}
        return values.emit("conv", weight, start, group=group, **given, accumulator=i32, **points)

    filters = node.array(1, "the filter").transpose(permutation).reshape(shape[0], -1).astype(np.int64) - zero
    return First(products.layer(node, product, x, filters, has_borders=any(given["pads"])))


@tflite_op("TRANSPOSE_CONV")
def transpose_conv(node: Node) -> First:
    """Each element times the filter is added to a window of the result, whose shape is the first input."""
    _require_one_form(node, 2, 3, "int64", "int16")
    x, shape = node.channels_first(2), node.results[0].shape
    filters = node.array(1, "the filter")
    outputs, *kernel, inputs = filters.shape
    fits = len(shape) == 4 and (shape[0], shape[3], inputs) == (x.shape[0], outputs, x.shape[1])
    node.require(fits, "invalid-shape", f"filters {outputs} x {inputs} from {list(x.shape)} to {list(shape)}")
    given = window_attributes(node, shape[1:3], kernel)
    more = [0, 0]
    for axis, (extent, reach) in enumerate(zip(x.shape[2:], kernel, strict=True)):
        spare = (extent - 1) * given["strides"][axis] + reach - given["pads"][axis] - shape[1 + axis]
        given["pads"][2 + axis], more[axis] = max(spare, 0), max(-spare, 0)
    weight = node.permuted(1, "the filter", (3, 0, 1, 2), [inputs, outputs, *kernel], axis=1)
    if not node.is_quantized:
        result = x.emit("conv_transpose", weight, node.optional(3), group=1, **given, output_padding=more)
        return First(node.activated(result))

    def product(values: Tensor, start: SSAValue | None, point: int) -> Tensor:
        return values.emit(
            "conv_transpose", weight, start, group=1, **given, output_padding=more, accumulator=i32,
            x_zero_point=point or None,
        )  # fmt: skip

    return First(products.layer(node, product, x, filters.reshape(outputs, -1).astype(np.int64), first=2, bias=3))


@tflite_op("FULLY_CONNECTED")
def fully_connected(node: Node) -> Tensor:
    _require_one_form(node, 0, 2, "int64", "int32")
    node.require(node.option("WeightsFormat") == 0, "unsupported-attribute", "the weights are shuffled")
    weight = node.array(1, "the weights")
    node.require(weight.ndim == 2 and weight.shape[1] > 0, "invalid-shape", f"weights of shape {list(weight.shape)}")
    x = node.tensor(0)
    count = math.prod(x.shape)
    node.require(count % weight.shape[1] == 0, "invalid-shape", f"{count} elements for rows of {weight.shape[1]}")
    x = x.reshape([count // weight.shape[1], weight.shape[1]])
    factor = node.permuted(1, "the weights", (0, 1), weight.shape)
    if is_hybrid(node):

        def of_integers(values: Tensor) -> Tensor:
            return values.emit("matmul", factor, transpose_rhs=True, accumulator=i32)

        return node.shaped(hybrid.layer(node, of_integers, x))
    if not node.is_quantized:
        real = x.emit("matmul", factor, transpose_rhs=True)
        bias = node.optional_tensor(2)
        return node.shaped(node.activated(real if bias is None else real + bias))
    numbers = node.declared(1).tensor.quantization
    has_point = x.dtype == np.uint8 or (numbers is not None and numbers.is_single)  # of several none counts
    zero = node.input_quantization(1)[1] if has_point else 0

    def product(values: Tensor, start: SSAValue | None, point: int) -> Tensor:
        points = {"lhs_zero_point": point or None, "rhs_zero_point": zero or None}
        sums = values.emit("matmul", factor, transpose_rhs=True, accumulator=i32, **points)
        return sums if start is None else sums + start

    kind = node.declared(1).tensor.dtype
    in_double = kind in ("uint8", "int2") or (kind == "int4" and numbers is not None and not numbers.is_single)
    whole = weight.astype(np.int64) - zero
    return node.shaped(products.layer(node, product, x, whole, has_borders=False, in_double=in_double))


def _require_one_form(node: Node, position: int, bias: int, *of_shorts: str) -> None:
    """Fail where an input is neither real numbers nor integers, or the weights are not what it is (hybrid operators),
    or where 16-bit numbers have a bias of other types than these, or zero points, which convolutions do not look at."""
    more = _MORE_WEIGHTS.get(node.op_type, {})
    node.require_type(position, *dict.fromkeys((*_WEIGHTS, *more)))
    given, weights = node.declared(position).tensor, node.declared(1).tensor
    what = f"input {position} is {given.kind}, and the weights are {weights.kind}"
    kinds = (*_WEIGHTS.get(given.dtype, ()), *more.get(given.dtype, ()))
    node.require(weights.dtype in kinds, "unsupported-type", what, f"the weights must be {' or '.join(kinds)}")
    to = node.results[0]
    node.require(to.dtype == given.dtype, "unsupported-type", f"{what}, and the result {to.kind}", "it must be alike")
    if given.dtype != "int16":
        return
    if node.value(bias) is not None:
        node.require_type(bias, *of_shorts)
    points = {node.quantization(each)[1] for each in (given, node.results[0])}
    allowed = node.op_type == "FULLY_CONNECTED" or points == {0}
    node.require(allowed, "unsupported-type", "its numbers of 16 bits have a zero point", "it must be 0")
