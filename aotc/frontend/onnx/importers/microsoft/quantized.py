"""Operators on quantised tensors that onnxruntime's quantiser writes (domain com.microsoft).

Each is what it stands for: operands dequantised, the operator on real numbers, the result quantised.
`raise-quantization` computes them on integers where it can.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import f32

from aotc.dialects.graph.shapes import normalize_axis
from aotc.frontend.onnx.importers.contraction import window_attributes
from aotc.frontend.onnx.importers.elementwise import leaky
from aotc.frontend.onnx.importers.microsoft.layers import DOMAIN
from aotc.frontend.onnx.importers.quantization import dequantize_linear, quantize_linear
from aotc.frontend.onnx.node import Tensor
from aotc.frontend.onnx.registry import Node, onnx_op


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
