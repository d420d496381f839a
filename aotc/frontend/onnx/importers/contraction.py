"""Matrix multiplications and convolutions."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import f32, f64, i32
from xdsl.ir import Attribute, SSAValue

from aotc.dialects.dtypes import is_float
from aotc.frontend.onnx.importers.pooling import window_attributes
from aotc.frontend.onnx.node import Tensor
from aotc.frontend.onnx.registry import Node, onnx_op


@onnx_op("Gemm")
def gemm(node: Node) -> Tensor:
    transposed = {"transpose_lhs": bool(node.attr("transA", 0)), "transpose_rhs": bool(node.attr("transB", 0))}
    product = node.tensor(0).emit("matmul", node.input(1), **transposed)
    addend, kind = node.optional_tensor(2), product.kind
    alpha, beta = node.attr("alpha", 1.0), node.attr("beta", 1.0)
    has_addend = addend is not None and beta != 0.0
    if not is_float(kind) and not all(factor.is_integer() for factor in (alpha, beta if has_addend else 1.0)):
        product = product.cast(f64)  # of integers the whole sum is real, and cut off at last
    if alpha != 1.0:
        product *= alpha
    if addend is None or not has_addend:
        return product.cast(kind)
    node.require_broadcast(2, product.shape, "the product")
    addend = addend.cast(product.kind)
    if beta != 1.0:
        addend *= beta
    return (product + addend).cast(kind)


@onnx_op("MatMul")
def matmul(node: Node) -> Tensor:
    return multiply(node.tensor(0), node.tensor(1))


def multiply(lhs: Tensor, rhs: Tensor) -> Tensor:
    """numpy.matmul: a vector on the left is a row, on the right a column, and its axis leaves the result."""
    left, right = lhs.shape, rhs.shape
    if not left or not right:
        what, why = "an operand is a scalar", "MatMul takes vectors, matrices and batches of matrices"
        lhs.node.fail("invalid-shape", what, why)
    if len(left) == 1:
        lhs = lhs.reshape([1, *left])
    if len(right) == 1:
        rhs = rhs.reshape([*right, 1])
    result = lhs @ rhs
    if len(left) > 1 and len(right) > 1:
        return result
    *batch, m, n = result.shape
    return result.reshape([*batch, *([m] if len(left) > 1 else []), *([n] if len(right) > 1 else [])])


@onnx_op("Conv")
def conv(node: Node) -> Tensor:
    return convolve(node.tensor(0), node.tensor(1), node.optional(2))


def convolve(x: Tensor, weight: Tensor, bias: SSAValue | None) -> Tensor:
    """The convolution that the attributes of the node describe."""
    node = x.node
    windows = window_attributes(node, x.shape[2:], _kernel(node, weight))
    return x.emit("conv", weight, bias, group=node.attr("group", 1), **windows)


def _kernel(node: Node, weight: Tensor) -> tuple[int, ...]:
    """The extents of the windows, which an attribute may say, too."""
    kernel = weight.shape[2:]
    if tuple(node.attr("kernel_shape", kernel)) != kernel:
        node.fail("invalid-attribute", f"kernel_shape is {node.attr('kernel_shape')}, the weight's is {list(kernel)}")
    return kernel


def centred(node: Node, position: int, zero_point: int, axis: int, kind: Attribute = i32) -> Tensor:
    """Input `position` as `kind` less its zero point: one for all, one for each index of `axis`, or broadcast."""
    x = node.tensor(position).cast(kind)
    offset = node.optional_tensor(zero_point)
    known = node.known(zero_point)
    if offset is None or (known is not None and not known.any()):
        return x
    return x - along(offset, axis, len(x.shape)).cast(kind)


def along(x: Tensor, axis: int, rank: int) -> Tensor:
    """A vector as a tensor of `rank` that extends along `axis`; anything else as it is."""
    return x.reshape([*x.shape, *[1] * (rank - 1 - axis % rank)]) if len(x.shape) == 1 else x


@onnx_op("MatMulInteger")
def matmul_integer(node: Node) -> Tensor:
    return multiply(centred(node, 0, 2, -2), centred(node, 1, 3, -1))


@onnx_op("ConvInteger")
def conv_integer(node: Node) -> Tensor:
    return convolve(centred(node, 0, 2, -1), centred(node, 1, 3, 0), None)


@onnx_op("QLinearMatMul")
def qlinear_matmul(node: Node) -> SSAValue:
    kind = f32 if any(is_float(node.element_type(position)) for position in (0, 3)) else i32
    product = multiply(centred(node, 0, 2, -2, kind), centred(node, 3, 5, -1, kind))
    scales = along(node.tensor(1), -2, len(node.shape(0))), along(node.tensor(4), -1, len(node.shape(3)))
    return _requantized(product, *scales)


@onnx_op("QLinearConv")
def qlinear_conv(node: Node) -> SSAValue:
    sums = convolve(centred(node, 0, 2, -1), centred(node, 3, 5, 0), node.optional(8))
    return _requantized(sums, node.tensor(1), along(node.tensor(4), 1, len(node.shape(0))))


def _requantized(sums: Tensor, lhs_scale: Tensor, rhs_scale: Tensor) -> SSAValue:
    """`sums` of products at the scale and zero point that are inputs 6 and 7."""
    node = sums.node
    scale = lhs_scale.cast(f32) * rhs_scale.cast(f32) / node.tensor(6).cast(f32)
    scaled, zero_point = sums.cast(f32) * scale, node.tensor(7)
    one = node.constant(node.filled(zero_point.shape, 1, np.float32))
    return node.emit("quantize", scaled, one, zero_point, to=zero_point.kind)


@onnx_op("ConvTranspose")
def conv_transpose(node: Node) -> SSAValue:
    extents, kernel = node.shape(0)[2:], _kernel(node, node.tensor(1))
    rank = len(kernel)
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
    windows = {"strides": strides, "pads": pads, "dilations": dilations, "output_padding": more}
    operands = node.input(0), node.input(1), node.optional(2)
    return node.emit("conv_transpose", *operands, group=node.attr("group", 1), **windows)
