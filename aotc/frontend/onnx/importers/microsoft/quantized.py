"""Operators on quantised tensors that onnxruntime's quantiser writes (domain com.microsoft).

Each is what it stands for: operands dequantised, the operator on real numbers, the result quantised.
`raise-quantization` computes them on integers where it can.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from aotc.dialects.graph.conversion import DequantizeOp, QuantizeOp
from aotc.dialects.graph.elementwise import AddOp, MulOp
from aotc.dialects.graph.functions import SigmoidOp
from aotc.dialects.graph.interfaces import element_type_of, shape_of
from aotc.dialects.graph.logical import CompareOp, WhereOp
from aotc.dialects.graph.matrices.matmul import MatMulOp
from aotc.dialects.graph.movement import ConcatOp, TransposeOp
from aotc.dialects.graph.normalization import SoftmaxOp
from aotc.dialects.graph.reduction import ReduceOp
from aotc.dialects.graph.shapes import normalize_axis
from aotc.dialects.graph.windows.pooling import AveragePoolOp
from aotc.frontend.onnx.composition import cast, scalar
from aotc.frontend.onnx.importers.pooling import window_attributes
from aotc.frontend.onnx.importers.quantization import dequantize_linear, quantize_linear
from aotc.frontend.onnx.registry import Node, onnx_op

_DOMAIN = "com.microsoft"


def _real(node: Node, position: int, axis: int = 0) -> SSAValue:
    """Input `position` as the real numbers that it stands for; its scale and zero point are the next two."""
    scale, point = node.input(position + 1), node.optional(position + 2)
    return node.emit(DequantizeOp, node.input(position), scale, point, axis=axis, to=f32)


def _quantized(node: Node, value: SSAValue, position: int, like: int = 0) -> SSAValue:
    """Real numbers at the scale that is input `position` and the zero point after it, of input `like`'s type."""
    point = node.optional(position + 1)
    to = node.element_type(like) if point is None else element_type_of(point)
    return node.emit(QuantizeOp, value, node.input(position), point, to=to)


onnx_op("QuantizeLinear", domain=_DOMAIN)(quantize_linear)
onnx_op("DequantizeLinear", domain=_DOMAIN)(dequantize_linear)


@onnx_op("QLinearAdd", "QLinearMul", domain=_DOMAIN)
def qlinear_arithmetic(node: Node) -> SSAValue:
    op_class = AddOp if node.op_type == "QLinearAdd" else MulOp
    return _quantized(node, node.emit(op_class, _real(node, 0), _real(node, 3)), 6)


def _function(node: Node, function: Callable[[SSAValue], SSAValue]) -> SSAValue:
    """A function of a tensor, quantised at inputs 3 and 4."""
    return _quantized(node, function(_real(node, 0)), 3)


@onnx_op("QLinearSigmoid", domain=_DOMAIN)
def qlinear_sigmoid(node: Node) -> SSAValue:
    return _function(node, lambda x: node.emit(SigmoidOp, x))


@onnx_op("QLinearLeakyRelu", domain=_DOMAIN)
def qlinear_leaky_relu(node: Node) -> SSAValue:
    def leaky(x: SSAValue) -> SSAValue:
        negative = node.emit(CompareOp, x, scalar(node, 0, x), how="lt")
        return node.emit(WhereOp, negative, node.emit(MulOp, scalar(node, node.attr("alpha", 0.01), x), x), x)

    return _function(node, leaky)


@onnx_op("QLinearSoftmax", domain=_DOMAIN)
def qlinear_softmax(node: Node) -> SSAValue:
    """Before version 13 of the ONNX operators, which an attribute names, a row is all axes from `axis` on."""
    rank, axis = len(node.shape(0)), node.attr("axis", -1)
    axes = [axis] if node.attr("opset", 13) >= 13 else list(range(normalize_axis(axis, rank), rank))
    return _function(node, lambda x: node.emit(SoftmaxOp, x, axes=axes))


def _channels_first(node: Node, pool: Callable[[SSAValue], SSAValue]) -> SSAValue:
    """A pooling whose operand has its channels last if the node says so."""
    rank = len(node.shape(0))
    if not node.attr("channels_last", 0):
        return _function(node, pool)

    def turned(x: SSAValue) -> SSAValue:
        first = node.emit(TransposeOp, x, permutation=[0, rank - 1, *range(1, rank - 1)])
        return node.emit(TransposeOp, pool(first), permutation=[0, *range(2, rank), 1])

    return _function(node, turned)


@onnx_op("QLinearGlobalAveragePool", domain=_DOMAIN)
def qlinear_global_average_pool(node: Node) -> SSAValue:
    axes = list(range(2, len(node.shape(0))))
    return _channels_first(node, lambda x: node.emit(ReduceOp, x, kind="mean", axes=axes, keepdims=True))


@onnx_op("QLinearAveragePool", domain=_DOMAIN)
def qlinear_average_pool(node: Node) -> SSAValue:
    kernel: list[int] = node.attr("kernel_shape", [])

    def pool(x: SSAValue) -> SSAValue:
        windows = window_attributes(node, shape_of(x)[2:], kernel, crop=True)
        flags = {"ceil": bool(node.attr("ceil_mode", 0)), "include_pad": bool(node.attr("count_include_pad", 0))}
        return node.emit(AveragePoolOp, x, kernel=kernel, **windows, **flags)

    return _channels_first(node, pool)


@onnx_op("QLinearConcat", domain=_DOMAIN)
def qlinear_concat(node: Node) -> SSAValue:
    """The result's scale and zero point, then each part with its own."""
    parts = [_real(node, position) for position in range(2, len(node.inputs), 3)]
    return _quantized(
        node, node.emit(ConcatOp, parts, axis=normalize_axis(node.attr("axis"), len(node.shape(2)))), 0, 2
    )


@onnx_op("QGemm", domain=_DOMAIN)
def qgemm(node: Node) -> SSAValue:
    """alpha * A * B + C, where C is i32 at the scale of the product; without a scale of the result, real numbers."""
    transposed = {"transpose_lhs": bool(node.attr("transA", 0)), "transpose_rhs": bool(node.attr("transB", 0))}
    along = 0 if node.attr("transB", 0) else 1
    product = node.emit(MatMulOp, _real(node, 0), _real(node, 3, axis=along), **transposed)
    alpha = node.attr("alpha", 1.0)
    if alpha != 1.0:
        product = node.emit(MulOp, product, scalar(node, alpha, product))
    if (addend := node.optional(6)) is not None:
        scale = node.emit(MulOp, node.input(1), node.input(4))
        if alpha != 1.0:
            scale = node.emit(MulOp, scale, scalar(node, alpha, scale))
        if shape_of(scale) in ((), (1,)) or len(shape_of(addend)) == 1:
            real = node.emit(DequantizeOp, addend, scale, None, axis=0, to=f32)
        else:
            real = node.emit(MulOp, cast(node, addend, f32), scale)
        product = node.emit(AddOp, product, real)
    return product if node.optional(7) is None else _quantized(node, product, 7)
