"""Fourier transforms, as products with constant matrices, and what belongs to spectra; random numbers.

A complex tensor has a last axis of two elements, a real one of one. A node of random numbers without a seed has one
that follows from its name: each run of a model gives the same.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import IntegerType, f32, i64
from xdsl.ir import Attribute, SSAValue

from aotc.dialects.dtypes import DType, is_float
from aotc.dialects.graph.shapes import normalize_axis
from aotc.frontend.onnx.importers.movement import cut
from aotc.frontend.onnx.node import Tensor
from aotc.frontend.onnx.registry import Node, onnx_op
from aotc.frontend.onnx.tensors import dtype_of
from aotc.model.weight_store import Array

_WORTH = 4
"""How many times fewer products two matrices must have than one to be used for a transform."""


@onnx_op("DFT")
def dft(node: Node) -> Tensor:
    shape = node.shape(0)
    if node.opset >= 20:
        given = node.optional(2)
        axis = -2 if given is None else int(node.constant_input(2, "the axis").reshape(()))
    else:
        axis = node.attr("axis", 1)
    axis = normalize_axis(axis, len(shape))
    if axis == len(shape) - 1 or shape[-1] not in (1, 2):
        what = f"the input {list(shape)} must have another last axis than {axis}, of one or two elements"
        node.fail("invalid-shape", what)
    inverse, one_sided = bool(node.attr("inverse", 0)), bool(node.attr("onesided", 0))
    default = 2 * (shape[axis] - 1) if inverse and one_sided else shape[axis]
    length = default if node.optional(1) is None else int(node.constant_input(1, "the length").reshape(()))
    return _transform(node.tensor(0), axis, length, inverse, one_sided)


@onnx_op("STFT")
def stft(node: Node) -> Tensor:
    shape = node.shape(0)
    hop = int(node.constant_input(1, "the step between frames").reshape(()))
    window = node.optional_tensor(2)
    if node.optional(3) is not None:
        length = int(node.constant_input(3, "the length of frames").reshape(()))
    elif window is not None:
        (length,) = window.shape
    else:
        node.fail("missing-input", "neither a window nor the length of frames is there")
    signal = node.tensor(0)
    signal = signal.reshape([*shape, 1]) if len(shape) == 2 else signal
    batch, samples, parts = signal.shape
    if hop < 1 or not 1 <= length <= samples:
        node.fail("invalid-value", f"frames of {length} by steps of {hop} do not lie in {samples} samples")
    count = (samples - length) // hop + 1
    node.require_room(count * length, np.int64)
    places = np.arange(count)[:, None] * hop + np.arange(length)
    frames = signal.emit("gather", node.constant(places, np.int64), axis=1)
    if window is not None:
        if window.shape != (length,):
            what = f"the window {list(window.shape)} must have the {length} elements of a frame"
            node.fail("invalid-shape", what)
        frames *= window.reshape([length, 1])
    assert frames.shape == (batch, count, length, parts)
    return _transform(frames, 2, length, inverse=False, one_sided=bool(node.attr("onesided", 1)))


def _transform(x: Tensor, axis: int, length: int, inverse: bool, one_sided: bool) -> Tensor:
    """The transform of `x` along an axis, of its last but one in `_dense` and `_in_two`."""
    node, shape = x.node, x.shape
    if length < 1:
        node.fail("invalid-value", f"a transform of length {length}", fix="use a positive one")
    used = min(shape[axis], length // 2 + 1 if inverse and one_sided else length)
    x = cut(x, {axis: (0, 1, used)})
    last = len(shape) - 2
    order = [*(each for each in range(last + 1) if each != axis), axis, last + 1]
    if axis != last:
        x = x.transpose(order)
    outer = x.shape[:last]
    rows = x.reshape([math.prod(outer), used, shape[-1]])
    count = length // 2 + 1 if one_sided and not inverse else length
    first = next(each for each in range(math.isqrt(length), 0, -1) if length % each == 0)
    if used == length and not (inverse and one_sided) and _WORTH * (first + length // first) <= length:
        result = _in_two(rows, first, count, inverse)
    else:
        result = _dense(rows, length, (count, 1 if inverse and one_sided else 2), inverse)
    result = result.reshape([*outer, *result.shape[1:]])
    return result if axis == last else result.transpose([order.index(each) for each in range(len(order))])


def _dense(rows: Tensor, length: int, shape: Sequence[int], inverse: bool) -> Tensor:
    """[R, U, P] as [R, *shape], by one matrix."""
    node, (count, used, parts) = rows.node, rows.shape
    node.require_room(used * parts * math.prod(shape), rows.dtype)
    matrix = _matrix(used, parts, length, shape, inverse, rows.dtype)
    return (rows.reshape([count, used * parts]) @ Tensor(node, node.constant(matrix))).reshape([count, *shape])


def _in_two(rows: Tensor, first: int, count: int, inverse: bool) -> Tensor:
    """[R, N, P] as [R, count, 2], by transforms of lengths `first` and N / first (J. Cooley and J. Tukey: An algorithm
    for the machine calculation of complex Fourier series, 1965). The matrices of the first have the factors between."""
    node, (batch, length, parts) = rows.node, rows.shape
    second = length // first
    columns = min(-(-count // first), second)
    node.require_room(length * parts * first * 2, rows.dtype)
    turns = np.exp((2j if inverse else -2j) * np.pi / length * np.arange(length))
    scale = 1 / length if inverse else 1
    here, there = np.arange(first), np.arange(second)[:, None, None]
    one = _real(turns[here * (second * here[:, None] + there) % length] * scale, parts, rows.dtype)
    other = _real(turns[first * np.outer(there, np.arange(columns)) % length], 2, rows.dtype)
    strided = rows.reshape([batch, first, second, parts]).transpose([2, 0, 1, 3])
    found = strided.reshape([second, batch, first * parts]) @ Tensor(node, node.constant(one))
    fibers = found.reshape([second, batch, first, 2]).transpose([1, 2, 0, 3]).reshape([batch * first, second * 2])
    found = (fibers @ Tensor(node, node.constant(other))).reshape([batch, first, columns, 2])
    return cut(found.transpose([0, 2, 1, 3]).reshape([batch, columns * first, 2]), {1: (0, 1, count)})


def _real(matrix: Array, parts: int, dtype: DType) -> Array:
    """[.., M, N], complex, as [.., M * parts, N * 2]: from real (and imaginary) parts to both."""
    rows = [np.stack([turned.real, turned.imag], -1) for turned in (matrix, 1j * matrix)[:parts]]
    found = np.stack(rows, -3)
    return found.reshape(*found.shape[:-4], matrix.shape[-2] * parts, matrix.shape[-1] * 2).astype(dtype)


def _matrix(used: int, given: int, length: int, shape: Sequence[int], inverse: bool, dtype: DType) -> Array:
    """[used * given, count * parts], `shape` being the last two: from real (and imaginary) parts of the input to those
    of the result. Beside it there is one row at a time."""
    angles = 2 * np.pi / length * np.arange(length)
    cosine, sine = np.cos(angles), np.sin(angles) if inverse else -np.sin(angles)
    if inverse:
        cosine, sine = cosine / length, sine / length
    count, parts = shape
    found = np.empty((used, given, count, parts), dtype)
    for row in range(used):
        turns = row * np.arange(count) % length
        # of half a spectrum, and a real result, each element but the first and the middle one has a conjugate
        times = 2 if parts == 1 and row and 2 * row != length else 1
        found[row, 0, :, 0] = cosine[turns] * times
        if parts > 1:
            found[row, 0, :, 1] = sine[turns]
        if given > 1:
            found[row, 1, :, 0] = -sine[turns] * times
        if given > 1 and parts > 1:
            found[row, 1, :, 1] = cosine[turns]
    return found.reshape(used * given, count * parts)


@onnx_op("MelWeightMatrix")
def mel_weight_matrix(node: Node) -> SSAValue:
    names = ("the number of bins", "the length", "the sample rate", "the lower edge", "the upper edge")
    bins, length, rate, lower, upper = (
        node.constant_input(position, name).reshape(()).item() for position, name in enumerate(names)
    )
    rows = int(length) // 2 + 1
    node.require_room(rows * int(bins), np.float64)
    low, high = (2595 * math.log10(1 + edge / 700) for edge in (lower, upper))
    edges = low + np.arange(int(bins) + 2) * ((high - low) / (int(bins) + 2))
    places = np.floor((int(length) + 1) * 700 * (10 ** (edges / 2595) - 1) / rate).astype(np.int64)
    if places.min() < 0 or places.max() > rows:
        what = f"the edges {lower} and {upper} Hz are not within the spectrum of {rate} samples a second"
        node.fail("invalid-value", what)
    result = np.zeros((rows, int(bins)))
    index = np.arange(rows)
    for column, (left, center, right) in enumerate(zip(places, places[1:], places[2:], strict=False)):
        rising, falling = (index - left) / max(center - left, 1), (right - index) / max(right - center, 1)
        result[:, column] = np.maximum(np.minimum(rising, falling), 0)
        result[index == center, column] = 1
    return node.constant(result.astype(dtype_of(node.attr("output_datatype", 1))))


def random(
    node: Node,
    shape: Sequence[int],
    kind: Attribute,
    how: str = "uniform",
    low: float = 0.0,
    high: float = 1.0,
) -> Tensor:
    """Random floats from the seed of a node."""
    options = {"distribution": how, "low": float(low), "high": float(high), "seed": seed_of(node)}
    return Tensor(node, node.emit("random", **options, shape=list(shape), to=kind))


def seed_of(node: Node) -> int:
    """The attribute `seed`, by its bits, or a checksum of the node's name and output; 63 bits."""
    given = node.attr("seed")
    if given is None:
        return zlib.crc32(f"{node.name}/{node.outputs[0]}".encode("utf-8", "replace"))
    bits = struct.pack("<d", float(given))
    return int.from_bytes(bits, "little") & (2**63 - 1)


@onnx_op("RandomUniform", "RandomUniformLike", "RandomNormal", "RandomNormalLike")
def random_numbers(node: Node) -> Tensor:
    """Of a given shape, or of that of the first input."""
    like = node.op_type.endswith("Like")
    kind = node.type_attr("dtype") if node.attr("dtype") is not None else node.element_type(0) if like else f32
    if not is_float(kind):
        node.fail("invalid-type", f"random numbers of type {kind}", "they are floats", "give dtype")
    shape = node.shape(0) if like else node.attr("shape")
    if "Uniform" in node.op_type:
        return random(node, shape, kind, "uniform", node.attr("low", 0.0), node.attr("high", 1.0))
    return random(node, shape, kind, "normal", node.attr("mean", 0.0), node.attr("scale", 1.0))


@onnx_op("Bernoulli")
def bernoulli(node: Node) -> Tensor:
    x = node.tensor(0)
    drawn = random(node, x.shape, x.kind)
    return (drawn < x).cast(x.kind if node.attr("dtype") is None else node.type_attr("dtype"))


@onnx_op("Multinomial")
def multinomial(node: Node) -> Tensor:
    """The first class up to which the probabilities add up to more than a uniform number."""
    x, samples = node.tensor(0), node.attr("sample_size", 1)
    if len(x.shape) != 2 or samples < 1:
        what = f"the input {list(x.shape)} must be a matrix, and sample_size {samples} positive"
        node.fail("invalid-shape", what)
    batch, classes = x.shape
    sums = x.emit("softmax", axes=[1]).emit("cumulative", kind="sum", axis=1)
    drawn = random(node, [batch, samples, 1], x.kind)
    below = sums.reshape([batch, 1, classes]) <= drawn
    kind = IntegerType(32) if node.attr("dtype") is None else node.type_attr("dtype")
    return below.cast(i64).reduce("sum", [2], keepdims=False).at_most(classes - 1).cast(kind)
