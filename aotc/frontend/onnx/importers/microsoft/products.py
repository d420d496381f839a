"""Products with what belongs to them: scales, activations, weights of few bits, integers quantised on the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from aotc.dialects.graph.interfaces import Array
from aotc.frontend.onnx.importers.contraction import along, centred, convolve, gemm, multiply
from aotc.frontend.onnx.importers.elementwise import leaky
from aotc.frontend.onnx.importers.microsoft.layers import DOMAIN
from aotc.frontend.onnx.importers.movement import cut
from aotc.frontend.onnx.importers.quantization import dynamic_quantize
from aotc.frontend.onnx.node import Tensor
from aotc.frontend.onnx.registry import Node, onnx_op


def _clip(x: Tensor, low: float, high: float) -> Tensor:
    return x.at_least(low).at_most(high)


_ACTIVATIONS: Mapping[str, tuple[Callable[..., Tensor], tuple[str, ...], tuple[float, ...]]] = {
    "Relu": (lambda x: x.emit("relu"), (), ()),
    "Sigmoid": (lambda x: x.emit("sigmoid"), (), ()),
    "Tanh": (lambda x: x.emit("tanh"), (), ()),
    "LeakyRelu": (leaky, ("activation_alpha",), (0.01,)),
    "HardSigmoid": (
        lambda x, alpha, beta: _clip(x * alpha + beta, 0, 1),
        ("activation_alpha", "activation_beta"),
        (0.2, 0.5),
    ),
    "Clip": (_clip, ("activation_alpha", "activation_beta"), (-3.4e38, 3.4e38)),
}
"""A function that an optimiser fuses, of operand and parameters; the names of these, and their defaults."""


def _activated(x: Tensor, addend: SSAValue | None = None) -> Tensor:
    """The activation of the node, behind an addition."""
    node = x.node
    if addend is not None:
        x += addend
    name: str = node.attr("activation", "")
    if not name:
        return x
    node.require_choice("activation", name, _ACTIVATIONS)
    function, names, defaults = _ACTIVATIONS[name]
    listed: list[float] = list(node.attr("activation_params", []))
    given = [*listed, *defaults[len(listed) :]][: len(defaults)]
    return function(x, *(node.attr(each, value) for each, value in zip(names, given, strict=True)))


@onnx_op("FusedConv", domain=DOMAIN)
def fused_conv(node: Node) -> Tensor:
    return _activated(convolve(node.tensor(0), node.tensor(1), node.optional(2)), node.optional(3))


@onnx_op("NhwcConv", "NhwcFusedConv", domain=DOMAIN)
def nhwc_conv(node: Node) -> Tensor:
    """Channels last: of the operand, the result and what is added; and of NhwcConv's weight."""
    rank = len(node.shape(0))
    first, last = [0, rank - 1, *range(1, rank - 1)], [0, *range(2, rank), 1]
    x, weight = node.tensor(0).transpose(first), node.tensor(1)
    if node.op_type == "NhwcConv":
        weight = weight.transpose(first)
    return _activated(convolve(x, weight, node.optional(2)).transpose(last), node.optional(3))


@onnx_op("FusedGemm", domain=DOMAIN)
def fused_gemm(node: Node) -> Tensor:
    return _activated(gemm(node))


@onnx_op("FusedMatMul", "TransposeMatMul", domain=DOMAIN)
def fused_matmul(node: Node) -> Tensor:
    """transBatchA moves the batch axes of a matrix behind its rows; after it transA as elsewhere."""
    operands: list[Tensor] = []
    flags: dict[str, bool] = {}
    for position, letter, side in ((0, "A", "lhs"), (1, "B", "rhs")):
        x, rank = node.tensor(position), len(node.shape(position))
        if node.attr(f"transBatch{letter}", 0) and rank > 2:
            # stored [rows, batch.., columns]
            x = x.transpose([*range(1, rank - 1), 0, rank - 1])
        if node.attr(f"trans{letter}", 0) and rank > 1:
            flags[f"transpose_{side}"] = True
        operands.append(x)
    lhs, rhs = operands
    vector = any(len(x.shape) < 2 for x in operands)
    product = multiply(lhs, rhs) if vector else lhs.emit("matmul", rhs, **flags)
    alpha = node.attr("alpha", 1.0)
    return product if alpha == 1.0 else product * alpha


@onnx_op("CDist", domain=DOMAIN)
def distances(node: Node) -> Tensor:
    """How far apart each row of one matrix is from each of another, by |a|^2 - 2 a b + |b|^2."""
    metric = node.attr("metric", "sqeuclidean")
    node.require_choice("metric", metric, ("euclidean", "sqeuclidean"))
    a, b = node.tensor(0), node.tensor(1)
    if len(a.shape) != 2 or len(b.shape) != 2 or a.shape[1] != b.shape[1]:
        what = f"matrices {list(a.shape)} and {list(b.shape)} must have as many columns"
        node.fail("invalid-shape", what)
    left, right = ((each * each).reduce("sum", [1]) for each in (a, b))
    product = a.emit("matmul", b, transpose_rhs=True)
    found = (left + right.reshape([1, b.shape[0]]) - product * 2).at_least(0)
    return found.sqrt() if metric == "euclidean" else found


# Integers


def _scaled(sums: Tensor, scale: Tensor, bias: SSAValue | None) -> Tensor:
    product = sums.cast(f32) * scale
    return product if bias is None else product + bias


@onnx_op("MatMulIntegerToFloat", domain=DOMAIN)
def matmul_integer_to_float(node: Node) -> Tensor:
    sums = multiply(centred(node, 0, 4, -2), centred(node, 1, 5, -1))
    scales = along(node.tensor(2), -2, len(node.shape(0))), along(node.tensor(3), -1, len(node.shape(1)))
    return _scaled(sums, scales[0] * scales[1], node.optional(6))


@onnx_op("DynamicQuantizeMatMul", domain=DOMAIN)
def dynamic_quantize_matmul(node: Node) -> Tensor:
    quantized, scale, point = dynamic_quantize(node.tensor(0))
    sums = multiply(quantized.cast(i32) - point.cast(i32), centred(node, 1, 3, -1))
    return _scaled(sums, scale * along(node.tensor(2), -1, len(node.shape(1))), node.optional(4))


# Weights of few bits


@onnx_op("MatMulNBits", domain=DOMAIN)
def matmul_n_bits(node: Node) -> Tensor:
    """The weight [N, K] stays as it is stored, several elements in a byte, and is widened where it is read."""
    columns, depth, bits, block = (
        node.attr(name, default) for name, default in (("N", 0), ("K", 0), ("bits", 4), ("block_size", 0))
    )
    if bits not in (2, 4, 8) or columns < 1 or depth < 1 or block < 1:
        what = f"N = {columns}, K = {depth}, bits = {bits}, block_size = {block} are not supported"
        node.fail("unsupported-attribute", what, fix="bits may be 2, 4 or 8")
    blocks = -(-depth // block)
    packed = node.constant_input(1, "the weight")
    if packed.size != columns * blocks * block * bits // 8:
        what = f"the weight has {packed.size} bytes, expected {columns * blocks * block * bits // 8}"
        node.fail("invalid-shape", what)
    whole = blocks * block
    x, packed = node.tensor(0), packed.reshape(columns, whole * bits // 8).view(np.uint8)
    if (places := _places(node, depth, block)) is not None:
        fields = _fields(packed, bits)
        fields[:, :depth] = fields[:, places]
        shifted = fields.reshape(columns, -1, 8 // bits) << (np.arange(8 // bits, dtype=np.uint8) * np.uint8(bits))
        packed = np.bitwise_or.reduce(shifted, axis=-1)
        x = x.emit("gather", node.constant(places), axis=len(x.shape) - 1)
    weight = Tensor(node, node.constant(packed))
    weight = weight.emit("unpack_bits", bits=bits) if bits < 8 else weight
    weight = weight.reshape([columns, whole])
    scales = node.tensor(2).reshape([columns, blocks])
    point = _zero_points(node, columns, blocks, bits)
    weight = cut(weight, {1: (0, 1, depth)})
    real = weight.emit("dequantize", scales, point, axis=1, block_size=block, to=scales.kind)
    product = x.emit("matmul", real.cast(x.kind), transpose_rhs=True)
    return product if node.optional(5) is None else product + node.input(5)


def _places(node: Node, depth: int, block: int) -> Array | None:
    """The rows of the weight in the order in which those of a block are neighbours, by g_idx, which has the block of
    each; None where they are so already."""
    if node.optional(4) is None:
        return None
    groups = node.constant_input(4, "g_idx").reshape(-1)[:depth]
    places = np.argsort(groups, kind="stable").astype(np.int64)
    if groups.size != depth or not (groups[places] == np.arange(depth) // block).all():
        what = f"g_idx does not put {block} columns into each block"
        node.fail("unsupported-value", what, fix="export the model with blocks of equal size")
    return None if bool((places == np.arange(depth)).all()) else places


def _fields(packed: Array, bits: int) -> Array:
    """The elements of rows of bytes, the lowest bits first, as u8."""
    shifts = np.arange(8 // bits, dtype=np.uint8) * np.uint8(bits)
    return ((packed[:, :, None] >> shifts) & np.uint8((1 << bits) - 1)).reshape(len(packed), -1)


def _zero_points(node: Node, columns: int, blocks: int, bits: int) -> SSAValue | Tensor:
    """[columns, blocks] of u8, or of the type of the scales; the middle of the range where there are none."""
    given = node.optional_tensor(3)
    if given is None:
        return node.constant(node.filled([columns, blocks], 1 << (bits - 1), np.uint8))
    if given.kind == node.element_type(2):
        return given.reshape([columns, blocks])
    if given.dtype != np.uint8:
        node.fail("invalid-shape", "the zero points are neither packed like the weight nor of the type of the scales")
    found = node.constant_input(3, "the zero points").reshape(columns, -1)
    return node.constant(np.ascontiguousarray(_fields(found, bits)[:, :blocks]))
