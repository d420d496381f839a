"""Matrix multiplications and convolutions."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import f32, f64, i32
from xdsl.ir import Attribute, SSAValue

from aotc.dialects.dtypes import is_float
from aotc.dialects.graph.conversion import QuantizeOp
from aotc.dialects.graph.convolution import ConvOp, ConvTransposeOp
from aotc.dialects.graph.elementwise import AddOp, DivOp, MulOp, SubOp
from aotc.dialects.graph.interfaces import element_type_of, shape_of
from aotc.dialects.graph.matrices.determinant import DeterminantOp
from aotc.dialects.graph.matrices.matmul import MatMulOp
from aotc.frontend.onnx.composition import cast, require_broadcast, reshape, scalar
from aotc.frontend.onnx.importers.pooling import window_attributes
from aotc.frontend.onnx.registry import Node, onnx_op


@onnx_op("Gemm")
def gemm(node: Node) -> SSAValue:
    product = node.emit(
        MatMulOp,
        node.input(0),
        node.input(1),
        transpose_lhs=bool(node.attr("transA", 0)),
        transpose_rhs=bool(node.attr("transB", 0)),
    )
    addend, kind = node.optional(2), element_type_of(product)
    alpha, beta = node.attr("alpha", 1.0), node.attr("beta", 1.0)
    has_addend = addend is not None and beta != 0.0
    if not is_float(kind) and not all(factor.is_integer() for factor in (alpha, beta if has_addend else 1.0)):
        product = cast(node, product, f64)  # of integers the whole sum is real, and cut off at last
    if alpha != 1.0:
        product = node.emit(MulOp, product, scalar(node, alpha, product))
    if addend is None or not has_addend:
        return cast(node, product, kind)
    require_broadcast(node, 2, shape_of(product), "the product")
    addend = cast(node, addend, element_type_of(product))
    if beta != 1.0:
        addend = node.emit(MulOp, addend, scalar(node, beta, product))
    return cast(node, node.emit(AddOp, product, addend), kind)


@onnx_op("Det")
def determinant(node: Node) -> SSAValue:
    return node.emit(DeterminantOp, node.input(0))


@onnx_op("MatMul")
def matmul(node: Node) -> SSAValue:
    return multiply(node, node.input(0), node.input(1))


def multiply(node: Node, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """numpy.matmul: a vector on the left is a row, on the right a column, and its axis leaves the result."""
    left, right = shape_of(lhs), shape_of(rhs)
    if not left or not right:
        node.fail("invalid-shape", "an operand is a scalar", "MatMul takes vectors, matrices and batches of matrices")
    if len(left) == 1:
        lhs = reshape(node, lhs, [1, *left])
    if len(right) == 1:
        rhs = reshape(node, rhs, [*right, 1])
    result = node.emit(MatMulOp, lhs, rhs)
    if len(left) > 1 and len(right) > 1:
        return result
    batch, (m, n) = shape_of(result)[:-2], shape_of(result)[-2:]
    shape = [*batch, *([m] if len(left) > 1 else []), *([n] if len(right) > 1 else [])]
    return reshape(node, result, shape)


@onnx_op("Conv")
def conv(node: Node) -> SSAValue:
    return convolve(node, node.input(0), node.input(1), node.optional(2))


def convolve(node: Node, x: SSAValue, weight: SSAValue, bias: SSAValue | None) -> SSAValue:
    """The convolution that the attributes of `node` describe."""
    kernel = shape_of(weight)[2:]
    if tuple(node.attr("kernel_shape", kernel)) != kernel:
        node.fail("invalid-attribute", f"kernel_shape is {node.attr('kernel_shape')}, the weight's is {list(kernel)}")
    windows = window_attributes(node, shape_of(x)[2:], kernel)
    return node.emit(ConvOp, x, weight, bias, group=node.attr("group", 1), **windows)


def centred(node: Node, position: int, zero_point: int, axis: int, kind: Attribute = i32) -> SSAValue:
    """Input `position` as `kind` less its zero point: one for all, one for each index of `axis`, or broadcast."""
    x = cast(node, node.input(position), kind)
    offset = node.optional(zero_point)
    known = node.known(zero_point)
    if offset is None or (known is not None and not known.any()):
        return x
    return node.emit(SubOp, x, cast(node, along(node, offset, axis, len(node.shape(position))), kind))


def along(node: Node, x: SSAValue, axis: int, rank: int) -> SSAValue:
    """A vector as a tensor of `rank` that extends along `axis`; anything else as it is."""
    shape = shape_of(x)
    return reshape(node, x, [*shape, *[1] * (rank - 1 - axis % rank)]) if len(shape) == 1 else x


@onnx_op("MatMulInteger")
def matmul_integer(node: Node) -> SSAValue:
    return multiply(node, centred(node, 0, 2, -2), centred(node, 1, 3, -1))


@onnx_op("ConvInteger")
def conv_integer(node: Node) -> SSAValue:
    return convolve(node, centred(node, 0, 2, -1), centred(node, 1, 3, 0), None)


@onnx_op("QLinearMatMul")
def qlinear_matmul(node: Node) -> SSAValue:
    kind = f32 if any(is_float(node.element_type(position)) for position in (0, 3)) else i32
    product = multiply(node, centred(node, 0, 2, -2, kind), centred(node, 3, 5, -1, kind))
    scales = along(node, node.input(1), -2, len(node.shape(0))), along(node, node.input(4), -1, len(node.shape(3)))
    return _requantized(node, product, *scales, 6)


@onnx_op("QLinearConv")
def qlinear_conv(node: Node) -> SSAValue:
    sums = convolve(node, centred(node, 0, 2, -1), centred(node, 3, 5, 0), node.optional(8))
    return _requantized(node, sums, node.input(1), along(node, node.input(4), 1, len(node.shape(0))), 6)


def _requantized(node: Node, sums: SSAValue, lhs_scale: SSAValue, rhs_scale: SSAValue, position: int) -> SSAValue:
    """`sums` of products at the scale and zero point that are inputs `position` and the one after."""
    scale = node.emit(MulOp, cast(node, lhs_scale, f32), cast(node, rhs_scale, f32))
    scale = node.emit(DivOp, scale, cast(node, node.input(position), f32))
    scaled = node.emit(MulOp, cast(node, sums, f32), scale)
    zero_point = node.input(position + 1)
    one = node.constant(node.filled(shape_of(zero_point), 1, np.float32))
    return node.emit(QuantizeOp, scaled, one, zero_point, to=element_type_of(zero_point))


@onnx_op("ConvTranspose")
def conv_transpose(node: Node) -> SSAValue:
    x, weight = node.input(0), node.input(1)
    extents, kernel = node.shape(0)[2:], node.shape(1)[2:]
    rank = len(kernel)
    if tuple(node.attr("kernel_shape", kernel)) != kernel:
        node.fail("invalid-attribute", f"kernel_shape is {node.attr('kernel_shape')}, the weight's is {list(kernel)}")
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
                node.fail("invalid-attribute", f"{name} has {len(values)} values for {rank} spatial axes")
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
