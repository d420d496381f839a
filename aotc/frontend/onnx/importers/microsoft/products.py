"""Products with what belongs to them: scales, activations, weights of few bits, integers quantised on the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from aotc.dialects.dtypes import numpy_dtype
from aotc.dialects.graph.conversion import DequantizeOp
from aotc.dialects.graph.elementwise import AddOp, MaxOp, MinOp, MulOp, ReluOp, SubOp
from aotc.dialects.graph.functions import SigmoidOp, SqrtOp, TanhOp
from aotc.dialects.graph.indexing import GatherOp
from aotc.dialects.graph.interfaces import Array, element_type_of, shape_of
from aotc.dialects.graph.logical import CompareOp, WhereOp
from aotc.dialects.graph.matrices.inverse import InverseOp
from aotc.dialects.graph.matrices.matmul import MatMulOp
from aotc.dialects.graph.movement import TransposeOp
from aotc.dialects.graph.quantized.nibbles import UnpackBitsOp
from aotc.dialects.graph.reduction import ReduceOp
from aotc.frontend.onnx.composition import cast, reshape, scalar
from aotc.frontend.onnx.importers.contraction import along, centred, convolve, gemm, multiply
from aotc.frontend.onnx.importers.microsoft.layers import DOMAIN
from aotc.frontend.onnx.importers.movement import cut
from aotc.frontend.onnx.importers.quantization import dynamic_quantize
from aotc.frontend.onnx.registry import Node, onnx_op


def _leaky(node: Node, x: SSAValue, slope: float) -> SSAValue:
    negative = node.emit(CompareOp, x, scalar(node, 0, x), how="lt")
    return node.emit(WhereOp, negative, node.emit(MulOp, x, scalar(node, slope, x)), x)


def _hard_sigmoid(node: Node, x: SSAValue, alpha: float, beta: float) -> SSAValue:
    linear = node.emit(AddOp, node.emit(MulOp, x, scalar(node, alpha, x)), scalar(node, beta, x))
    return node.emit(MinOp, node.emit(MaxOp, linear, scalar(node, 0, x)), scalar(node, 1, x))


def _clip(node: Node, x: SSAValue, low: float, high: float) -> SSAValue:
    return node.emit(MinOp, node.emit(MaxOp, x, scalar(node, low, x)), scalar(node, high, x))


_ACTIVATIONS: Mapping[str, tuple[Callable[..., SSAValue], tuple[str, ...], tuple[float, ...]]] = {
    "Relu": (lambda node, x: node.emit(ReluOp, x), (), ()),
    "Sigmoid": (lambda node, x: node.emit(SigmoidOp, x), (), ()),
    "Tanh": (lambda node, x: node.emit(TanhOp, x), (), ()),
    "LeakyRelu": (_leaky, ("activation_alpha",), (0.01,)),
    "HardSigmoid": (_hard_sigmoid, ("activation_alpha", "activation_beta"), (0.2, 0.5)),
    "Clip": (_clip, ("activation_alpha", "activation_beta"), (-3.4e38, 3.4e38)),
}
"""A function that an optimiser fuses: a function of node, operand and parameters; the names of these, and their
defaults."""


def _activated(node: Node, x: SSAValue) -> SSAValue:
    name: str = node.attr("activation", "")
    if not name:
        return x
    node.require_choice("activation", name, _ACTIVATIONS)
    function, names, defaults = _ACTIVATIONS[name]
    listed: list[float] = list(node.attr("activation_params", []))
    given = [*listed, *defaults[len(listed) :]][: len(defaults)]
    return function(node, x, *(node.attr(each, value) for each, value in zip(names, given, strict=True)))


@onnx_op("FusedConv", domain=DOMAIN)
def fused_conv(node: Node) -> SSAValue:
    result = convolve(node, node.input(0), node.input(1), node.optional(2))
    if (addend := node.optional(3)) is not None:
        result = node.emit(AddOp, result, addend)
    return _activated(node, result)


@onnx_op("NhwcConv", "NhwcFusedConv", domain=DOMAIN)
def nhwc_conv(node: Node) -> SSAValue:
    """Channels last: of the operand, the result and what is added; and of NhwcConv's weight."""
    rank = len(node.shape(0))
    first, last = [0, rank - 1, *range(1, rank - 1)], [0, *range(2, rank), 1]
    x = node.emit(TransposeOp, node.input(0), permutation=first)
    weight = node.input(1)
    if node.op_type == "NhwcConv":
        weight = node.emit(TransposeOp, weight, permutation=first)
    result = node.emit(TransposeOp, convolve(node, x, weight, node.optional(2)), permutation=last)
    if (addend := node.optional(3)) is not None:
        result = node.emit(AddOp, result, addend)
    return _activated(node, result)


@onnx_op("FusedGemm", domain=DOMAIN)
def fused_gemm(node: Node) -> SSAValue:
    product = gemm(node)
    assert isinstance(product, SSAValue)
    return _activated(node, product)


@onnx_op("FusedMatMul", "TransposeMatMul", domain=DOMAIN)
def fused_matmul(node: Node) -> SSAValue:
    """transBatchA moves the batch axes of a matrix behind its rows; after it transA as elsewhere."""
    operands: list[SSAValue] = []
    flags: dict[str, bool] = {}
    for position, letter, side in ((0, "A", "lhs"), (1, "B", "rhs")):
        x, rank = node.input(position), len(node.shape(position))
        if node.attr(f"transBatch{letter}", 0) and rank > 2:
            # stored [rows, batch.., columns]
            x = node.emit(TransposeOp, x, permutation=[*range(1, rank - 1), 0, rank - 1])
        if node.attr(f"trans{letter}", 0) and rank > 1:
            flags[f"transpose_{side}"] = True
        operands.append(x)
    vector = any(len(shape_of(x)) < 2 for x in operands)
    product = multiply(node, *operands) if vector else node.emit(MatMulOp, *operands, **flags)
    alpha = node.attr("alpha", 1.0)
    return product if alpha == 1.0 else node.emit(MulOp, product, scalar(node, alpha, product))


@onnx_op("CDist", domain=DOMAIN)
def distances(node: Node) -> SSAValue:
    """How far apart each row of one matrix is from each of another, by |a|^2 - 2 a b + |b|^2."""
    metric = node.attr("metric", "sqeuclidean")
    node.require_choice("metric", metric, ("euclidean", "sqeuclidean"))
    a, b = node.input(0), node.input(1)
    if len(node.shape(0)) != 2 or len(node.shape(1)) != 2 or node.shape(0)[1] != node.shape(1)[1]:
        what = f"matrices {list(node.shape(0))} and {list(node.shape(1))} must have as many columns"
        node.fail("invalid-shape", what)
    left, right = (
        node.emit(ReduceOp, node.emit(MulOp, each, each), kind="sum", axes=[1], keepdims=True) for each in (a, b)
    )
    product = node.emit(MatMulOp, a, b, transpose_rhs=True)
    squares = node.emit(AddOp, left, reshape(node, right, [1, node.shape(1)[0]]))
    found = node.emit(SubOp, squares, node.emit(MulOp, product, scalar(node, 2, product)))
    found = node.emit(MaxOp, found, scalar(node, 0, found))
    return node.emit(SqrtOp, found) if metric == "euclidean" else found


@onnx_op("Inverse", domain=DOMAIN)
def inverse(node: Node) -> SSAValue:
    return node.emit(InverseOp, node.input(0))


# Integers


def _scaled(node: Node, sums: SSAValue, scales: list[SSAValue], bias: SSAValue | None) -> SSAValue:
    product = cast(node, sums, f32)
    scale = node.emit(MulOp, *scales)
    product = node.emit(MulOp, product, scale)
    return product if bias is None else node.emit(AddOp, product, bias)


@onnx_op("MatMulIntegerToFloat", domain=DOMAIN)
def matmul_integer_to_float(node: Node) -> SSAValue:
    sums = multiply(node, centred(node, 0, 4, -2), centred(node, 1, 5, -1))
    scales = [along(node, node.input(2), -2, len(node.shape(0))), along(node, node.input(3), -1, len(node.shape(1)))]
    return _scaled(node, sums, scales, node.optional(6))


@onnx_op("DynamicQuantizeMatMul", domain=DOMAIN)
def dynamic_quantize_matmul(node: Node) -> SSAValue:
    quantized, scale, point = dynamic_quantize(node, node.input(0))
    left = node.emit(SubOp, cast(node, quantized, i32), cast(node, point, i32))
    sums = multiply(node, left, centred(node, 1, 3, -1))
    return _scaled(node, sums, [scale, along(node, node.input(2), -1, len(node.shape(1)))], node.optional(4))


# Weights of few bits


@onnx_op("MatMulNBits", domain=DOMAIN)
def matmul_n_bits(node: Node) -> SSAValue:
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
    x, packed = node.input(0), packed.reshape(columns, whole * bits // 8).view(np.uint8)
    if (places := _places(node, depth, block)) is not None:
        fields = _fields(packed, bits)
        fields[:, :depth] = fields[:, places]
        shifted = fields.reshape(columns, -1, 8 // bits) << (np.arange(8 // bits, dtype=np.uint8) * np.uint8(bits))
        packed = np.bitwise_or.reduce(shifted, axis=-1)
        x = node.emit(GatherOp, x, node.constant(places), axis=len(shape_of(x)) - 1)
    stored = node.constant(packed)
    weight = node.emit(UnpackBitsOp, stored, bits=bits) if bits < 8 else stored
    weight = reshape(node, weight, [columns, whole])
    scales = reshape(node, node.input(2), [columns, blocks])
    point = _zero_points(node, columns, blocks, bits)
    weight = cut(node, weight, {1: (0, 1, depth)})
    real = node.emit(DequantizeOp, weight, scales, point, axis=1, block_size=block, to=element_type_of(scales))
    product = node.emit(MatMulOp, x, cast(node, real, element_type_of(x)), transpose_rhs=True)
    return product if node.optional(5) is None else node.emit(AddOp, product, node.input(5))


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


def _zero_points(node: Node, columns: int, blocks: int, bits: int) -> SSAValue:
    """[columns, blocks] of u8, or of the type of the scales; the middle of the range where there are none."""
    given = node.optional(3)
    if given is None:
        return node.constant(node.filled([columns, blocks], 1 << (bits - 1), np.uint8))
    if element_type_of(given) == node.element_type(2):
        return reshape(node, given, [columns, blocks])
    if numpy_dtype(element_type_of(given)) != np.uint8:
        node.fail("invalid-shape", "the zero points are neither packed like the weight nor of the type of the scales")
    found = node.constant_input(3, "the zero points").reshape(columns, -1)
    return node.constant(np.ascontiguousarray(_fields(found, bits)[:, :blocks]))
