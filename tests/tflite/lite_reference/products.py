"""Convolutions, fully connected layers and products of matrices.

int8: sums of int32, `requantized` in two roundings. 16 bits by 8: sums of int64 and `requantized_wide` in one, with a
factor of 15 bits; with a bias of int32 as for int8.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lite_reference.fixed import Array, quantized_multiplier, requantized, requantized_wide, rounded, wide, wrapped
from lite_reference.nodes import Node, Value, activated, computes, real_activated


def padding_before(size: int, window: int, stride: int, dilation: int, out: int, padding: str) -> int:
    """Elements of padding before an axis; of an odd number one more lies behind."""
    if padding == "VALID":
        return 0
    return max(0, (out - 1) * stride + (window - 1) * dilation + 1 - size) // 2


def windows(x: Array, node: Node, window: tuple[int, int], fill: Any) -> Array:
    """Elements that each output position is computed of: batch, height, width, window height, window width, channels;
    `fill` outside of the image."""
    padding, (out_height, out_width) = node.option("padding", "SAME"), node.shape[1:3]
    axes: list[Array] = []
    for axis, (size, side, out) in enumerate(zip(x.shape[1:3], window, (out_height, out_width), strict=True)):
        letter = "hw"[axis]
        stride, dilation = node.option(f"stride_{letter}"), node.option(f"dilation_{letter}_factor", 1)
        before = padding_before(size, side, stride, dilation, out, padding)
        axes.append(np.arange(out)[:, None] * stride - before + np.arange(side) * dilation)
    rows, columns = axes
    inside = ((rows >= 0) & (rows < x.shape[1]))[:, None, :, None] & ((columns >= 0) & (columns < x.shape[2]))[:, None]
    taken = x[:, rows.clip(0, x.shape[1] - 1)][:, :, :, columns.clip(0, x.shape[2] - 1)]
    return np.where(inside[None, ..., None], taken.transpose(0, 1, 3, 2, 4, 5), fill)


def requantized_sums(node: Node, sums: Array, scale: Array, axis: int = -1) -> Array:
    """Sums of products as numbers of the output: bias, real factor of each channel, zero point, activation."""
    bias, is_wide = node.get(2), node[0].dtype == "int16"
    if bias is not None:
        sums, is_wide = sums + bias.array.astype(np.int64), bias.dtype == "int64"
    elif node.option("quantized_bias_type") == "int32":
        is_wide = False
    factors = [quantized_multiplier(float(each)) for each in np.broadcast_to(scale, sums.shape[axis])]
    multiplier, shift = wide([each[0] for each in factors]), wide([each[1] for each in factors])
    scaled = requantized_wide if is_wide else requantized
    return activated(node, scaled(sums if is_wide else wrapped(sums), multiplier, shift) + node.out.zero)


def channel_factors(node: Node) -> Array:
    """Real factors of the channels, in double: input's scale, times weights', divided by output's."""
    return np.float64(node[0].scale) * node[1].scales.astype(np.float64) / np.float64(node.out.scale)


def real_sums(node: Node, sums: Array) -> Array:
    """Sums of floats with bias and activation."""
    bias = node.get(2)
    return real_activated(node, (sums if bias is None else sums + bias.array).astype(np.float32))


def _input(node: Node) -> Array:
    """The input as wide as sums need; numbers of 16 bits have no zero point, whatever the file says."""
    if node[0].dtype == "float32":
        return node[0].array.astype(np.float64)
    return node[0].array.astype(np.int64) if node[0].dtype == "int16" else node[0].centered


def _kernel(node: Node) -> Array:
    """Weights as wide; those of uint8 have a zero point that counts."""
    if node[1].dtype == "uint8":
        return node[1].centered
    return node[1].array.astype(np.float64 if node[0].dtype == "float32" else np.int64)


@computes("CONV_2D")
def conv_2d(node: Node) -> Array:
    """Weights are out channels, height, width, in channels of a group; their zero points are not looked at."""
    if (node[0].dtype, node[1].dtype) == ("float32", "int8"):
        return _hybrid_convolution(node)
    x, weights = _input(node), _kernel(node)
    outs, height, width, depth = weights.shape
    taken = windows(x, node, (height, width), 0)
    groups = x.shape[3] // depth
    taken = taken.reshape(*taken.shape[:-1], groups, depth)
    weights = weights.reshape(groups, outs // groups, height, width, depth)
    sums = np.einsum("bhwyxgc,goyxc->bhwgo", taken, weights).reshape(*taken.shape[:3], outs)
    return real_sums(node, sums) if node[0].dtype == "float32" else requantized_sums(node, sums, channel_factors(node))


def _hybrid_convolution(node: Node) -> Array:
    """Floats by int8 weights: each image is quantised to the range of its numbers and 0, in float32; where all scales
    are the same, to its greatest magnitude."""
    x, weights = node[0].array, node[1].array.astype(np.int64)
    if (node[1].scales == node[1].scale).all():
        scale = np.abs(x).max((1, 2, 3), keepdims=True) / np.float32(127)
        whole = rounded(np.divide(x, scale, out=np.zeros_like(x), where=scale > 0)).astype(np.int64)
        sums = np.einsum("bhwyxc,oyxc->bhwo", windows(whole, node, weights.shape[1:3], 0), weights)
        return real_sums(node, sums * (scale * node[1].scales))
    low, high = (np.minimum(x.min((1, 2, 3)), 0), np.maximum(x.max((1, 2, 3)), 0))
    wide_scale = np.where(high > low, (high.astype(np.float64) - low) / 255, 1)[:, None, None, None]
    zero = np.clip(rounded(-128 - low[:, None, None, None] / wide_scale), -128, 127).astype(np.float32)
    scale = wide_scale.astype(np.float32)
    inverse = (1 / scale.astype(np.float64)).astype(np.float32)
    whole = (np.clip(rounded(zero + inverse * x), -128, 127) - zero).astype(np.int64)
    sums = np.einsum("bhwyxc,oyxc->bhwo", windows(whole, node, weights.shape[1:3], 0), weights)
    return real_sums(node, sums * (scale * node[1].scales))


@computes("DEPTHWISE_CONV_2D")
def depthwise_conv_2d(node: Node) -> Array:
    """Weights are 1, height, width, out channels; out channel `c * multiplier + m` is of channel `c`."""
    x, weights = _input(node), _kernel(node)
    _, height, width, outs = weights.shape
    taken = np.repeat(windows(x, node, (height, width), 0), outs // x.shape[3], axis=-1)
    sums = np.einsum("bhwyxc,yxc->bhwc", taken, weights[0])
    return real_sums(node, sums) if node[0].dtype == "float32" else requantized_sums(node, sums, channel_factors(node))


def _rows(value: Value, depth: int) -> Array:
    return value.array.reshape(-1, depth)


@computes("FULLY_CONNECTED")
def fully_connected(node: Node) -> Array:
    """Weights are out, in. With one scale their zero point counts, with several it does not."""
    x, weights = _rows(node[0], node[1].array.shape[-1]), node[1].array
    if (node[0].dtype, node[1].dtype) == ("float32", "int8"):
        scale = np.abs(x).max(1, keepdims=True) / np.float32(127)
        whole = rounded(np.divide(x, scale, out=np.zeros_like(x), where=scale > 0)).astype(np.int64)
        return real_sums(node, (whole @ weights.astype(np.int64).T) * (scale * node[1].scales))
    if node[0].dtype == "float32":
        return real_sums(node, x.astype(np.float64) @ weights.astype(np.float64).T)
    whole = len(node[1].scales) == 1
    centered = node[1].centered if whole else weights.astype(np.int64)
    sums = (x.astype(np.int64) - node[0].zero) @ centered.T
    few = node[1].dtype == "int2" or (node[1].dtype == "int4" and len(node[1].scales) > 1)
    if node[0].dtype == "uint8" or few:  # LiteRT's, which rounds once, in double
        bias = node.get(2)
        whole_sums = sums if bias is None else sums + bias.array
        return activated(node, rounded(whole_sums * channel_factors(node)).astype(np.int64) + node.out.zero)
    return requantized_sums(node, sums, channel_factors(node))


@computes("TRANSPOSE_CONV")
def transpose_conv(node: Node) -> Array:
    """Inputs are the shape, weights of out channels, height, width, in channels, the image and a bias. Each element is
    scattered; requantised as CONV_2D."""
    image, weights = node[2], node[1].array
    is_real = image.dtype == "float32"
    kind = np.float64 if is_real else np.int64
    x = image.array.astype(kind) - (0 if is_real or image.dtype == "int16" else image.zero)
    batch, height, width, outs = node.shape
    sides, padding = weights.shape[1:3], node.option("padding", "SAME")
    strides = [node.option(f"stride_{letter}") for letter in "hw"]
    before = [
        padding_before(out, side, stride, 1, -(-out // stride), padding)
        for out, side, stride in zip((height, width), sides, strides, strict=True)
    ]
    reach = [(x.shape[1 + k] - 1) * strides[k] + sides[k] for k in (0, 1)]
    sums = np.zeros((batch, max(reach[0], before[0] + height), max(reach[1], before[1] + width), outs), kind)
    for row in range(sides[0]):
        for column in range(sides[1]):
            each = np.einsum("bhwc,oc->bhwo", x, weights[:, row, column].astype(kind))
            rows = slice(row, row + x.shape[1] * strides[0], strides[0])
            sums[:, rows, column : column + x.shape[2] * strides[1] : strides[1]][:, : x.shape[1], : x.shape[2]] += each
    sums = sums[:, before[0] : before[0] + height, before[1] : before[1] + width]
    view = _Layer(node)
    return real_sums(view, sums) if is_real else requantized_sums(view, sums, channel_factors(view))


class _Layer(Node):
    """A transposed convolution seen as a layer: image, weights, bias."""

    def __init__(self, node: Node) -> None:
        self.__dict__.update(node.__dict__)
        self.inputs = [node.inputs[2], node.inputs[1], *node.inputs[3:]]


@computes("BATCH_MATMUL")
def batch_matmul(node: Node) -> Array:
    """Both sides have zero points; one factor. int16: sums of int64, one rounding."""
    sides: list[Array] = []
    for k, name in enumerate(("adj_x", "adj_y")):
        value = node[k].array.astype(np.float64) if node[k].dtype == "float32" else node[k].centered
        sides.append(value.swapaxes(-1, -2) if node.option(name, False) else value)
    sums = sides[0] @ sides[1]
    if node[0].dtype == "float32":
        return sums.astype(np.float32)
    factor = quantized_multiplier(float(node[0].scale) * float(node[1].scale) / float(node.out.scale))
    scaled = requantized_wide if node[0].dtype == "int16" else requantized
    return activated(node, scaled(sums, *factor) + node.out.zero)
