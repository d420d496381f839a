"""Rules of convolutions, pools, products, reductions and what leaves shapes as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aotc.dialects.graph.shapes import normalize_axis
from aotc.frontend.onnx.symbolic.movement_rules import count_of
from aotc.frontend.onnx.symbolic.rules import Fact, NotKnown, Shape, SymbolicNode, array_of, broadcast, known, rule
from aotc.model.extents import Size, divided


@rule(
    *("Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "BitwiseNot", "Ceil", "Celu", "Clip", "Cos", "Cosh"),
    *("CumSum", "DequantizeLinear", "Elu", "Erf", "Exp", "Floor", "Gelu", "HardSigmoid", "HardSwish", "Hardmax"),
    *("GroupNormalization", "InstanceNormalization", "IsInf", "IsNaN", "LRN", "LeakyRelu", "Log", "LogSoftmax"),
    *("LpNormalization", "MeanVarianceNormalization", "Mish", "Not", "PRelu", "QuantizeLinear", "RMSNormalization"),
    *("Reciprocal", "Relu", "Round", "Selu", "Shrink", "Sigmoid", "Sign", "Sin", "Sinh", "Softmax", "Softplus"),
    *("Softsign", "Sqrt", "Swish", "Tan", "Tanh", "ThresholdedRelu", "Trilu"),
)
def as_input(node: SymbolicNode) -> Fact:
    return Fact(node.shape(0))


@rule("BatchNormalization", "Dropout", "LayerNormalization")
def first_as_input(node: SymbolicNode) -> list[Fact]:
    return [Fact(node.shape(0)), *[Fact()] * (node.outputs - 1)]


@rule(
    *("And", "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"),
    *("Max", "Mean", "Min", "Mod", "Or", "Pow", "Sum", "Xor"),
)
def element_by_element(node: SymbolicNode) -> Fact:
    return Fact(broadcast([node.shape(place) for place in range(len(node.inputs))]))


# --- products --------------------------------------------------------------------------------------------------------


@rule("MatMul", "MatMulInteger")
def matmul(node: SymbolicNode) -> Fact:
    return Fact(_product(node.shape(0), node.shape(1)))


@rule("QLinearMatMul")
def quantized_matmul(node: SymbolicNode) -> Fact:
    return Fact(_product(node.shape(0), node.shape(3)))


def _product(a: Shape, b: Shape) -> Shape:
    left, right = a if len(a) > 1 else (1, *a), b if len(b) > 1 else (*b, 1)
    rows = left[-2:-1] if len(a) > 1 else ()
    columns = right[-1:] if len(b) > 1 else ()
    return (*broadcast([left[:-2], right[:-2]]), *rows, *columns)


@rule("Gemm")
def gemm(node: SymbolicNode) -> Fact:
    a, b = node.shape(0), node.shape(1)
    return Fact((a[1] if node.attr("transA", 0) else a[0], b[0] if node.attr("transB", 0) else b[1]))


# --- windows ---------------------------------------------------------------------------------------------------------


@rule("Conv", "ConvInteger")
def conv(node: SymbolicNode) -> Fact:
    return _convolved(node, node.shape(1))


@rule("QLinearConv")
def quantized_conv(node: SymbolicNode) -> Fact:
    return _convolved(node, node.shape(3))


def _convolved(node: SymbolicNode, weight: Shape) -> Fact:
    x = node.shape(0)
    kernel = node.attr("kernel_shape", list(weight[2:]))
    return Fact((x[0], weight[0], *_windows(node, x[2:], kernel)))


@rule("AveragePool", "LpPool", "MaxPool")
def pool(node: SymbolicNode) -> list[Fact]:
    x = node.shape(0)
    return [Fact((*x[:2], *_windows(node, x[2:], node.attr("kernel_shape"))))] * node.outputs


@rule("GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool")
def global_pool(node: SymbolicNode) -> Fact:
    x = node.shape(0)
    return Fact((*x[:2], *(1,) * (len(x) - 2)))


def _windows(node: SymbolicNode, extents: Sequence[Size | None], kernel: Sequence[Any]) -> list[Size | None]:
    """How many windows there are along each axis."""
    ones = [1] * len(extents)
    strides, dilations = node.attr("strides", ones), node.attr("dilations", ones)
    pads = node.attr("pads", [0] * 2 * len(extents))
    auto, up = node.attr("auto_pad") or "NOTSET", node.attr("ceil_mode", 0)
    if up:
        raise NotKnown
    found: list[Size | None] = []
    for axis, (extent, window) in enumerate(zip(extents, kernel, strict=True)):
        stride = strides[axis]
        if extent is None or not isinstance(window, int):
            found.append(None)
        elif auto.startswith("SAME"):
            found.append(divided(extent + (stride - 1), stride))
        else:
            padding = pads[axis] + pads[axis + len(extents)] if auto == "NOTSET" else 0
            found.append(divided(extent + (padding - dilations[axis] * (window - 1) - 1), stride) + 1)
    return found


@rule("DepthToSpace")
def depth_to_space(node: SymbolicNode) -> Fact:
    n, c, h, w = node.shape(0)
    block = node.attr("blocksize")
    if not isinstance(c, int):
        raise NotKnown
    return Fact((n, c // block**2, *(None if each is None else each * block for each in (h, w))))


@rule("SpaceToDepth")
def space_to_depth(node: SymbolicNode) -> Fact:
    n, c, h, w = node.shape(0)
    block = node.attr("blocksize")
    if not isinstance(c, int):
        raise NotKnown
    return Fact((n, c * block**2, *(None if each is None else divided(each, block) for each in (h, w))))


@rule("Resize", "Upsample")
def resize(node: SymbolicNode) -> Fact:
    """Where the sizes are given; with scales extents are rounded as floats are."""
    source = node.shape(0)
    if node.opset < 11 or not node.has(3):
        raise NotKnown
    sizes = node.elements(3).tolist()
    if len(sizes) != len(source) or node.attr("keep_aspect_ratio_policy", "stretch") != "stretch":
        raise NotKnown
    return Fact(tuple(sizes))


# --- reductions ------------------------------------------------------------------------------------------------------


@rule(
    *("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin"),
    *("ReduceProd", "ReduceSum", "ReduceSumSquare"),
)
def reduce(node: SymbolicNode) -> Fact:
    source = node.shape(0)
    since = 13 if node.op_type == "ReduceSum" else 18
    given = node.given("axes", 1, since)
    if not given and node.attr("noop_with_empty_axes", 0):
        return Fact(source)
    axes = {normalize_axis(axis, len(source)) for axis in given or range(len(source))}
    fact = node.inputs[0]
    if node.op_type == "ReduceProd" and len(source) == 1 and fact is not None and fact.elements is not None:
        found = count_of(tuple(fact.elements.tolist()))
        return known(array_of([found] if node.attr("keepdims", 1) else found))
    return _without(source, axes, node.attr("keepdims", 1))


@rule("ArgMax", "ArgMin")
def arg_reduce(node: SymbolicNode) -> Fact:
    source = node.shape(0)
    return _without(source, {normalize_axis(node.attr("axis", 0), len(source))}, node.attr("keepdims", 1))


def _without(source: Shape, axes: set[int], keeps: int) -> Fact:
    if keeps:
        return Fact(tuple(1 if axis in axes else extent for axis, extent in enumerate(source)))
    return Fact(tuple(extent for axis, extent in enumerate(source) if axis not in axes))


@rule("TopK")
def top_k(node: SymbolicNode) -> list[Fact]:
    source = node.shape(0)
    axis = normalize_axis(node.attr("axis", -1), len(source))
    (count,) = node.elements(1).reshape(-1).tolist() if node.opset >= 10 else (node.attr("k"),)
    return [Fact((*source[:axis], count, *source[axis + 1 :]))] * 2


@rule("GRU", "LSTM", "RNN")
def recurrent(node: SymbolicNode) -> list[Fact]:
    x, recurrence = node.shape(0), node.shape(2)
    directions, hidden = recurrence[0], recurrence[2]
    if node.attr("layout", 0):
        state: Shape = (x[0], directions, hidden)
        return [Fact((x[0], x[1], directions, hidden)), Fact(state), Fact(state)][: node.outputs]
    state = (directions, x[1], hidden)
    return [Fact((x[0], directions, x[1], hidden)), Fact(state), Fact(state)][: node.outputs]


@rule("DynamicQuantizeLinear")
def dynamic_quantize(node: SymbolicNode) -> list[Fact]:
    return [Fact(node.shape(0)), Fact(()), Fact(())]
