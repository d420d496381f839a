"""Matrix multiplications and convolutions."""

from __future__ import annotations

from xdsl.ir import SSAValue

from aotc.dialects.graph.contraction import ConvOp, ConvTransposeOp, MatMulOp
from aotc.dialects.graph.elementwise import AddOp, MulOp
from aotc.dialects.graph.interfaces import shape_of
from aotc.dialects.graph.movement import ReshapeOp
from aotc.dtypes import numpy_dtype
from aotc.frontend.onnx.importers.window import window_attributes
from aotc.frontend.onnx.registry import Node, onnx_op


@onnx_op("Gemm")
def gemm(node: Node) -> SSAValue:
    dtype = numpy_dtype(node.element_type(0))
    product = node.emit(
        MatMulOp,
        node.input(0),
        node.input(1),
        transpose_lhs=True if node.attr("transA", 0) else None,
        transpose_rhs=True if node.attr("transB", 0) else None,
    )
    alpha, beta = node.attr("alpha", 1.0), node.attr("beta", 1.0)
    if alpha != 1.0:
        product = node.emit(MulOp, product, node.constant(alpha, dtype))
    addend = node.optional(2)
    if addend is None or beta == 0.0:
        return product
    if beta != 1.0:
        addend = node.emit(MulOp, addend, node.constant(beta, dtype))
    return node.emit(AddOp, product, addend)


@onnx_op("MatMul")
def matmul(node: Node) -> SSAValue:
    return multiply(node, node.input(0), node.input(1))


def multiply(node: Node, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """numpy.matmul: a vector on the left is a row, on the right a column, and its axis leaves the result."""
    left, right = shape_of(lhs), shape_of(rhs)
    if not left or not right:
        node.fail("an operand is a scalar", "MatMul takes vectors, matrices and batches of matrices")
    if len(left) == 1:
        lhs = node.emit(ReshapeOp, lhs, shape=[1, *left])
    if len(right) == 1:
        rhs = node.emit(ReshapeOp, rhs, shape=[*right, 1])
    result = node.emit(MatMulOp, lhs, rhs)
    if len(left) > 1 and len(right) > 1:
        return result
    batch, (m, n) = shape_of(result)[:-2], shape_of(result)[-2:]
    shape = [*batch, *([m] if len(left) > 1 else []), *([n] if len(right) > 1 else [])]
    return node.emit(ReshapeOp, result, shape=shape)


@onnx_op("Conv")
def conv(node: Node) -> SSAValue:
    return convolve(node, node.input(0), node.input(1), node.optional(2))


def convolve(node: Node, x: SSAValue, weight: SSAValue, bias: SSAValue | None) -> SSAValue:
    """The convolution that the attributes of `node` describe."""
    kernel = shape_of(weight)[2:]
    if tuple(node.attr("kernel_shape", kernel)) != kernel:
        node.fail(f"kernel_shape is {node.attr('kernel_shape')}, the weight's is {list(kernel)}")
    windows = window_attributes(node, shape_of(x)[2:], kernel)
    return node.emit(ConvOp, x, weight, bias, group=node.attr("group", 1), **windows)


@onnx_op("ConvTranspose")
def conv_transpose(node: Node) -> SSAValue:
    x, weight = node.input(0), node.input(1)
    extents, kernel = node.shape(0)[2:], node.shape(1)[2:]
    rank = len(kernel)
    if tuple(node.attr("kernel_shape", kernel)) != kernel:
        node.fail(f"kernel_shape is {node.attr('kernel_shape')}, the weight's is {list(kernel)}")
    strides: list[int] = node.attr("strides", [1] * rank)
    dilations: list[int] = node.attr("dilations", [1] * rank)
    more: list[int] = list(node.attr("output_padding", [0] * rank))
    pads: list[int] = list(node.attr("pads", [0] * (2 * rank)))
    mode: str = node.attr("auto_pad", "NOTSET")
    if mode == "VALID":
        pads = [0] * (2 * rank)
    output_shape: list[int] | None = node.attr("output_shape")
    if output_shape is not None or mode in ("SAME_UPPER", "SAME_LOWER"):
        for name, values in (("strides", strides), ("dilations", dilations), ("output_padding", more)):
            if len(values) != rank:
                node.fail(f"{name} has {len(values)} values for {rank} spatial axes")
        for axis in range(rank):
            span = (kernel[axis] - 1) * dilations[axis] + 1
            natural = (extents[axis] - 1) * strides[axis] + span + more[axis]
            wanted = extents[axis] * strides[axis] if output_shape is None else output_shape[-rank:][axis]
            total = max(natural - wanted, 0)
            begin = total // 2 if mode == "SAME_UPPER" else total - total // 2
            pads[axis], pads[rank + axis] = begin, total - begin
            if output_shape is not None:
                more[axis] += max(wanted - natural, 0)
    return node.emit(
        ConvTransposeOp,
        x,
        weight,
        node.optional(2),
        strides=strides,
        pads=pads,
        dilations=dilations,
        output_padding=more,
        group=node.attr("group", 1),
    )
