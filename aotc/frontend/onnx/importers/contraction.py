"""Matrix multiplications, convolutions and pooling; Einstein sums, as transposes, sums and products of two operands."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.dialects.builtin import f32, f64, i32
from xdsl.ir import Attribute, SSAValue

from aotc.dialects.dtypes import is_float
from aotc.frontend.onnx.node import Tensor
from aotc.frontend.onnx.registry import Node, onnx_op


def window_attributes(
    node: Node, extents: Sequence[int], kernel: Sequence[int], crop: bool = False
) -> dict[str, list[int]]:
    """strides, dilations and explicit pads (all begins, then all ends) of a window of `kernel` over `extents`.

    Where strides are larger than the kernel, the pads that auto_pad asks for are negative: with `crop` they stay so.
    """
    rank = len(kernel)
    strides: list[int] = node.attr("strides", [1] * rank)
    dilations: list[int] = node.attr("dilations", [1] * rank)
    pads: list[int] = [0] * (2 * rank)
    match node.attr("auto_pad", ""):
        case "" | "NOTSET":
            pads = node.attr("pads", pads)
            if any(amount < 0 for amount in pads):
                node.fail("invalid-attribute", f"pads {pads} must not be negative")
        case "VALID":
            pass
        case "SAME_UPPER" | "SAME_LOWER" as mode:
            if any(stride < 1 for stride in strides):
                node.fail("invalid-attribute", f"strides {strides} must be positive")
            begins: list[int] = []
            ends: list[int] = []
            for extent, size, stride, dilation in zip(extents, kernel, strides, dilations, strict=False):
                span = (size - 1) * dilation + 1
                total = (-(-extent // stride) - 1) * stride + span - extent
                total = total if crop else max(total, 0)
                begins.append(math.trunc((total if mode == "SAME_UPPER" else total + 1) / 2))
                ends.append(total - begins[-1])
            pads = begins + ends
        case other:
            why = "it must be NOTSET, VALID, SAME_UPPER or SAME_LOWER"
            node.fail("invalid-attribute", f'auto_pad is "{other}"', why)
    return {"strides": strides, "pads": pads, "dilations": dilations}


def _pool(node: Node, operation: str, x: SSAValue, **attributes: object) -> SSAValue:
    kernel: list[int] = node.attr("kernel_shape", [])
    windows = window_attributes(node, node.shape(0)[2:], kernel, crop=True)
    pads, dilations = windows["pads"], windows["dilations"]
    spans = [(size - 1) * dilation + 1 for size, dilation in zip(kernel, dilations, strict=False)]
    if any(pad >= span for pad, span in zip(pads, spans * 2, strict=False)):
        why = "a window would lie in the padding alone and have no elements"
        node.fail("unsupported-attribute", f"pads {pads} must be smaller than the kernel, which spans {spans}", why)
    return node.emit(operation, x, kernel=kernel, ceil=bool(node.attr("ceil_mode", 0)), **windows, **attributes)


@onnx_op("MaxPool")
def max_pool(node: Node) -> list[SSAValue | None]:
    result = _pool(node, "max_pool", node.input(0))
    if node.outputs[1:] in ([], [""]):
        return [result]
    return [result, _pool(node, "max_pool_indices", node.input(0), column_major=bool(node.attr("storage_order", 0)))]


@onnx_op("AveragePool")
def average_pool(node: Node) -> SSAValue:
    return _pool(node, "average_pool", node.input(0), include_pad=bool(node.attr("count_include_pad", 0)))


@onnx_op("LpPool")
def lp_pool(node: Node) -> SSAValue:
    return _pool(node, "lp_pool", node.input(0), p=node.attr("p", 2))


@onnx_op("GlobalAveragePool", "GlobalMaxPool")
def global_pool(node: Node) -> SSAValue:
    axes = list(range(2, len(node.shape(0))))
    kind = "mean" if node.op_type == "GlobalAveragePool" else "max"
    return node.emit("reduce", node.input(0), kind=kind, axes=axes, keepdims=True)


@onnx_op("GlobalLpPool")
def global_lp_pool(node: Node) -> SSAValue:
    kernel = node.shape(0)[2:]
    rank, p = len(kernel), node.attr("p", 2)
    ones = [1] * rank
    return node.emit("lp_pool", node.input(0), kernel=kernel, strides=ones, dilations=ones, pads=[0] * 2 * rank, p=p)


@onnx_op("Gemm")
def gemm(node: Node) -> Tensor:
    transposed = {"transpose_lhs": bool(node.attr("transA", 0)), "transpose_rhs": bool(node.attr("transB", 0))}
    product = node.tensor(0).emit("matmul", node.input(1), **transposed)
    alpha, beta, kind = node.attr("alpha", 1.0), node.attr("beta", 1.0), product.kind
    addend = node.optional_tensor(2) if beta != 0.0 else None
    factors = [alpha] if addend is None else [alpha, beta]
    if not is_float(kind) and not all(factor.is_integer() for factor in factors):
        product = product.cast(f64)  # of integers the whole sum is real, and cut off at last
    if alpha != 1.0:
        product *= alpha
    if addend is None:
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
    windows = window_attributes(node, x.shape[2:], kernel_of(node, weight))
    return x.emit("conv", weight, bias, group=node.attr("group", 1), **windows)


def kernel_of(node: Node, weight: Tensor) -> tuple[int, ...]:
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
    extents, kernel = node.shape(0)[2:], kernel_of(node, node.tensor(1))
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


@dataclass(frozen=True)
class _Term:
    """A tensor whose axes have names."""

    value: Tensor
    axes: str

    def extent(self, axis: str) -> int:
        """Elements along one."""
        return self.value.shape[self.axes.index(axis)]

    def extents(self, axes: Sequence[str]) -> list[int]:
        """Elements along each of `axes`."""
        return [self.extent(axis) for axis in axes]


@onnx_op("Einsum")
def einsum(node: Node) -> Tensor:
    inputs, output = _names(node)
    extents: dict[str, int] = {}
    for position, axes in enumerate(inputs):
        for axis, extent in zip(axes, node.shape(position), strict=True):
            if extents.setdefault(axis, extent) == 1:
                extents[axis] = extent
            elif extent not in (1, extents[axis]):
                what = f"input {position} has {extent} elements along an axis that has {extents[axis]} elsewhere"
                node.fail("invalid-shape", what)
    terms = [
        _squeezed(_without_diagonals(_Term(node.tensor(position).widened(), axes)), extents)
        for position, axes in enumerate(inputs)
    ]
    result = terms[0]
    for position, term in enumerate(terms[1:], 2):
        remaining = set(output).union(*(later.axes for later in terms[position:]))
        result = _product(_summed(result, remaining | set(term.axes)), term, remaining, output)
    return _arranged(_summed(result, set(output)), output).value.cast(node.element_type(0))


def _names(node: Node) -> tuple[list[str], str]:
    """The axes of each input and of the output, a character for each; what `...` stands for gets digits."""
    equation: str = node.attr("equation", "").replace(" ", "")
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    if len(terms) != len(node.inputs):
        node.fail("invalid-attribute", f'equation "{equation}" has {len(terms)} terms for {len(node.inputs)} inputs')
    given = [part for part in (*terms, right) if not part.replace("...", "", 1).isalpha() and part not in ("", "...")]
    if given:
        what = f'"{given[0]}" of equation "{equation}" is not a term'
        node.fail("invalid-attribute", what, "a term is letters and at most one ...")
    counts = [len(node.shape(position)) - len(term.replace("...", "")) for position, term in enumerate(terms)]
    for position, (term, count) in enumerate(zip(terms, counts, strict=True)):
        if count < 0 or (count and "..." not in term):
            what = f'term "{term}" does not fit input {position} of shape {list(node.shape(position))}'
            node.fail("invalid-shape", what)
    # Private code points, the last axes first: shorter ones are aligned at their ends.
    most = max(counts)
    more = "".join(chr(0xE000 + axis) for axis in range(most))
    inputs = [term.replace("...", more[most - count :]) for term, count in zip(terms, counts, strict=True)]
    if not arrow:
        occurrences = Counter("".join(terms).replace(".", ""))
        once = sorted(axis for axis, times in occurrences.items() if times == 1)
        right = "".join(["..." if "..." in left else "", *once])
    output = right.replace("...", more)
    unknown = [axis for axis in right.replace("...", "") if not any(axis in axes for axes in inputs)]
    if unknown or len(set(output)) < len(output):
        what = f'the result "{right}" of equation "{equation}" must name axes of inputs, once each'
        node.fail("invalid-attribute", what)
    return inputs, output


def _without_diagonals(term: _Term) -> _Term:
    """Axes of one name as one axis: every n + 1st element of them flattened."""
    for axis in sorted(set(term.axes)):
        while term.axes.count(axis) > 1:
            shape, first = term.value.shape, term.axes.index(axis)
            second = term.axes.index(axis, first + 1)
            rest = [k for k in range(len(term.axes)) if k not in (first, second)]
            size, other = shape[first], shape[second]
            if size != other:
                what = f"the axes {axis} of one input have {size} and {other} elements"
                term.value.node.fail("invalid-shape", what)
            outer = [shape[k] for k in rest]
            flat = term.value.transpose([*rest, first, second]).reshape([*outer, size * size])
            starts, steps = [0] * (len(rest) + 1), [1] * len(rest) + [size + 1]
            diagonal = flat.emit("slice", starts=starts, steps=steps, shape=[*outer, size])
            term = _Term(diagonal, "".join(term.axes[k] for k in rest) + axis)
    return term


def _squeezed(term: _Term, extents: dict[str, int]) -> _Term:
    """Without the axes of one element that are longer elsewhere: these broadcast."""
    remaining = "".join(axis for axis in term.axes if term.extent(axis) == extents[axis])
    return _Term(term.value.reshape(term.extents(remaining)), remaining)


def _summed(term: _Term, remaining: set[str]) -> _Term:
    """The sum over all axes but those kept."""
    gone = [k for k, axis in enumerate(term.axes) if axis not in remaining]
    if not gone:
        return term
    left = "".join(axis for axis in term.axes if axis in remaining)
    return _Term(term.value.reduce("sum", gone, keepdims=False), left)


def _arranged(term: _Term, axes: Sequence[str]) -> _Term:
    """The same axes in another order."""
    permutation = [term.axes.index(axis) for axis in axes]
    if permutation == list(range(len(axes))):
        return term
    return _Term(term.value.transpose(permutation), "".join(axes))


def _product(lhs: _Term, rhs: _Term, remaining: set[str], output: str) -> _Term:
    """Both multiplied, and summed over the axes that are not kept."""
    rhs = _summed(rhs, remaining | set(lhs.axes))
    shared = [axis for axis in lhs.axes if axis in rhs.axes]
    batch, inner = [a for a in shared if a in remaining], [a for a in shared if a not in remaining]
    rows, columns = ([a for a in x.axes if a not in shared] for x in (lhs, rhs))
    if rows and columns and output.find(rows[-1]) > output.find(columns[-1]):
        return _product(rhs, lhs, remaining, output)  # as the result wants them
    axes = "".join([*batch, *rows, *columns])
    if not inner:
        return _Term(_aligned(lhs, axes) * _aligned(rhs, axes), axes)
    left, right = _arranged(lhs, [*batch, *rows, *inner]), _arranged(rhs, [*batch, *inner, *columns])
    outer = [lhs.extent(axis) for axis in batch]
    height, depth, width = lhs.extents(rows), lhs.extents(inner), rhs.extents(columns)
    matrix = left.value.reshape([*outer, prod(height), prod(depth)])
    product = matrix @ right.value.reshape([*outer, prod(depth), prod(width)])
    return _Term(product.reshape([*outer, *height, *width]), axes)


def _aligned(term: _Term, axes: str) -> Tensor:
    """The term as it broadcasts to `axes`."""
    arranged = _arranged(term, [axis for axis in axes if axis in term.axes])
    return arranged.value.reshape([term.extent(axis) if axis in term.axes else 1 for axis in axes])
