"""Products with what belongs to them: scales, activations, weights of few bits, integers quantised on the way.

Operators on quantised tensors that onnxruntime's quantiser writes are what they stand for: operands dequantised, the
operator on real numbers, the result quantised. `raise-quantization` computes them on integers where it can.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from aotc.dialects.graph.interfaces import Array
from aotc.dialects.graph.shapes import normalize_axis
from aotc.frontend.onnx.importers.contraction import along, centred, convolve, gemm, multiply, window_attributes
from aotc.frontend.onnx.importers.elementwise import leaky
from aotc.frontend.onnx.importers.microsoft.layers import DOMAIN
from aotc.frontend.onnx.importers.movement import cut
from aotc.frontend.onnx.importers.quantization import dequantize_linear, dynamic_quantize, quantize_linear
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
        flags[f"transpose_{side}"] = bool(node.attr(f"trans{letter}", 0))
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
    if len(a.shape) != 2 or len(b.shape) != 2:
        node.fail("invalid-shape", f"operands must be matrices, found {list(a.shape)} and {list(b.shape)}")
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


def _real(node: Node, position: int, axis: int = 0) -> Tensor:
    """Input `position` as the real numbers that it stands for; its scale and zero point are the next two."""
    scale, point = node.input(position + 1), node.optional(position + 2)
    return node.tensor(position).emit("dequantize", scale, point, axis=axis, to=f32)


def _quantized(value: Tensor, position: int, like: int = 0) -> Tensor:
    """Real numbers at the scale that is input `position` and the zero point after it, of input `like`'s type."""
    node, point = value.node, value.node.optional_tensor(position + 1)
    to = node.element_type(like) if point is None else point.kind
    return value.emit("quantize", node.input(position), point, to=to)


onnx_op("QuantizeLinear", domain=DOMAIN)(quantize_linear)
onnx_op("DequantizeLinear", domain=DOMAIN)(dequantize_linear)


@onnx_op("QLinearAdd", "QLinearMul", domain=DOMAIN)
def qlinear_arithmetic(node: Node) -> Tensor:
    operation = node.op_type.removeprefix("QLinear").lower()
    return _quantized(_real(node, 0).emit(operation, _real(node, 3)), 6)


@onnx_op("QLinearSigmoid", domain=DOMAIN)
def qlinear_sigmoid(node: Node) -> Tensor:
    return _quantized(_real(node, 0).emit("sigmoid"), 3)


@onnx_op("QLinearLeakyRelu", domain=DOMAIN)
def qlinear_leaky_relu(node: Node) -> Tensor:
    return _quantized(leaky(_real(node, 0), node.attr("alpha", 0.01)), 3)


@onnx_op("QLinearSoftmax", domain=DOMAIN)
def qlinear_softmax(node: Node) -> Tensor:
    """Before version 13 of the ONNX operators, which an attribute names, a row is all axes from `axis` on."""
    rank, axis = len(node.shape(0)), node.attr("axis", -1)
    axes = [axis] if node.attr("opset", 13) >= 13 else list(range(normalize_axis(axis, rank), rank))
    return _quantized(_real(node, 0).emit("softmax", axes=axes), 3)


def _pooled(node: Node, pool: Callable[[Tensor], Tensor]) -> Tensor:
    """A pooling whose operand has its channels last if the node says so."""
    x, rank = _real(node, 0), len(node.shape(0))
    if not node.attr("channels_last", 0):
        return _quantized(pool(x), 3)
    first = x.transpose([0, rank - 1, *range(1, rank - 1)])
    return _quantized(pool(first).transpose([0, *range(2, rank), 1]), 3)


@onnx_op("QLinearGlobalAveragePool", domain=DOMAIN)
def qlinear_global_average_pool(node: Node) -> Tensor:
    return _pooled(node, lambda x: x.reduce("mean", range(2, len(x.shape))))


@onnx_op("QLinearAveragePool", domain=DOMAIN)
def qlinear_average_pool(node: Node) -> Tensor:
    kernel: list[int] = node.attr("kernel_shape", [])

    def pool(x: Tensor) -> Tensor:
        windows = window_attributes(node, x.shape[2:], kernel, crop=True)
        flags = {"ceil": bool(node.attr("ceil_mode", 0)), "include_pad": bool(node.attr("count_include_pad", 0))}
        return x.emit("average_pool", kernel=kernel, **windows, **flags)

    return _pooled(node, pool)


@onnx_op("QLinearConcat", domain=DOMAIN)
def qlinear_concat(node: Node) -> Tensor:
    """The result's scale and zero point, then each part with its own."""
    parts = [_real(node, position) for position in range(2, len(node.inputs), 3)]
    axis = normalize_axis(node.attr("axis"), len(node.shape(2)))
    return _quantized(Tensor(node, node.emit("concat", parts, axis=axis)), 0, 2)


@onnx_op("QGemm", domain=DOMAIN)
def qgemm(node: Node) -> Tensor:
    """alpha * A * B + C, where C is i32 at the scale of the product; without a scale of the result, real numbers."""
    transposed = {"transpose_lhs": bool(node.attr("transA", 0)), "transpose_rhs": bool(node.attr("transB", 0))}
    along = 0 if node.attr("transB", 0) else 1
    product = _real(node, 0).emit("matmul", _real(node, 3, axis=along), **transposed)
    alpha = node.attr("alpha", 1.0)
    if alpha != 1.0:
        product *= alpha
    if (addend := node.optional_tensor(6)) is not None:
        scale = node.tensor(1) * node.input(4)
        if alpha != 1.0:
            scale *= alpha
        if scale.shape in ((), (1,)) or len(addend.shape) == 1:
            product += addend.emit("dequantize", scale, None, axis=0, to=f32)
        else:
            product += addend.cast(f32) * scale
    return product if node.optional(7) is None else _quantized(product, 7)
