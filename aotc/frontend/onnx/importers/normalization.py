"""Reductions over axes, the positions of extrema, running sums; normalisations as `graph.normalize` or reductions, then
scale and bias."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np
from xdsl.dialects.builtin import f32, f64
from xdsl.ir import SSAValue

from aotc.dialects.dtypes import is_float
from aotc.dialects.graph.shapes import normalize_axis
from aotc.frontend.onnx.node import Operand, Tensor
from aotc.frontend.onnx.registry import Node, onnx_op


def axes_of(node: Node) -> list[int]:
    """The axes to reduce, as an attribute or (by version) an input; all where none are given, or none at all."""
    if node.opset >= (13 if node.op_type == "ReduceSum" else 18):
        given = [] if node.optional(1) is None else [int(axis) for axis in node.constant_input(1, "the axes")]
    else:
        given = list(node.attr("axes", []))
    if given or node.attr("noop_with_empty_axes", 0):
        return given
    return list(range(len(node.shape(0))))


_ONE_AXIS = {
    **dict.fromkeys(("ArgMax", "ArgMin", "Split"), 0),
    **dict.fromkeys(("Hardmax", "LogSoftmax", "LpNormalization", "Softmax", "TopK"), -1),
}
"""Operators along one axis that an attribute says, and its default."""


def whole_axes(node: Node) -> list[int]:
    """The axes along which an operator takes all elements together."""
    if node.op_type.startswith("Reduce"):
        given = axes_of(node)
    elif node.op_type in ("CumSum", "CumProd"):
        given = [int(node.constant_input(1, "the axis").reshape(()))]
    else:
        given = [node.attr("axis", _ONE_AXIS[node.op_type])]
    return [normalize_axis(axis, len(node.shape(0))) for axis in given]


def _reduce(x: Tensor, kind: str, keepdims: bool | None = None) -> Tensor:
    axes = axes_of(x.node)
    keep = bool(x.node.attr("keepdims", 1)) if keepdims is None else keepdims
    return x.reduce(kind, axes, keep) if axes else x


def _real(x: Tensor) -> Tensor:
    """The operand of a function of floats: integers go through f64."""
    return x if is_float(x.kind) else x.cast(f64)


@onnx_op("ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum")
def plain_reduction(node: Node) -> Tensor:
    return _reduce(node.tensor(0), node.op_type.removeprefix("Reduce").lower())


@onnx_op("ReduceL1")
def reduce_l1(node: Node) -> Tensor:
    return _reduce(node.tensor(0).emit("abs"), "sum")


@onnx_op("ReduceSumSquare", "ReduceL2")
def reduce_squares(node: Node) -> Tensor:
    x = node.tensor(0).widened()
    squares = _reduce(x * x, "sum")
    return (_real(squares).sqrt() if node.op_type == "ReduceL2" else squares).cast(node.element_type(0))


@onnx_op("ReduceLogSum")
def reduce_log_sum(node: Node) -> Tensor:
    total = _reduce(node.tensor(0).widened(), "sum")
    return _real(total).emit("log").cast(node.element_type(0))


@onnx_op("ReduceLogSumExp")
def reduce_log_sum_exp(node: Node) -> Tensor:
    x = _real(node.tensor(0).widened())
    if not axes_of(node):
        return node.tensor(0)
    # The greatest element is taken out of the exponents, so that none overflows, unless it is infinite itself.
    top = _reduce(x, "max", keepdims=True)
    top = (top.emit("abs") < np.inf).choose(top, 0)
    total = _reduce((x - top).emit("exp"), "sum")
    return (total.emit("log") + top.reshape(total.shape)).cast(node.element_type(0))


@onnx_op("ArgMax", "ArgMin")
def arg_reduction(node: Node) -> SSAValue:
    return node.emit(
        "arg_reduce",
        node.input(0),
        kind=node.op_type.removeprefix("Arg").lower(),
        axis=node.attr("axis", 0),
        keepdims=bool(node.attr("keepdims", 1)),
        last=bool(node.attr("select_last_index", 0)),
    )


@onnx_op("CumSum", "CumProd")
def cumulative(node: Node) -> SSAValue:
    return node.emit(
        "cumulative",
        node.input(0),
        kind=node.op_type.removeprefix("Cum").lower(),
        axis=int(node.constant_input(1, "the axis").reshape(())),
        exclusive=bool(node.attr("exclusive", 0)),
        reverse=bool(node.attr("reverse", 0)),
    )


def _affine(x: Tensor, scale: Operand, bias: Operand | None) -> Tensor:
    return x * scale if bias is None else x * scale + bias


def rms(x: Tensor, axes: Sequence[int], epsilon: float) -> Tensor:
    """The root of the mean square of floats along axes."""
    return ((x * x).reduce("mean", axes) + epsilon).sqrt()


def _softmax_axes(node: Node) -> list[int]:
    """The one axis of a row or, before version 13, all from `axis` on: the operand was seen as a matrix."""
    rank = len(node.shape(0))
    if node.opset >= 13:
        return [node.attr("axis", -1)]
    axis = node.attr("axis", 1)
    return list(range(axis + rank if axis < 0 else axis, rank))


@onnx_op("Softmax", "LogSoftmax")
def softmax(node: Node) -> SSAValue:
    return node.emit("softmax", node.input(0), axes=_softmax_axes(node), log=node.op_type == "LogSoftmax")


@onnx_op("Hardmax")
def hardmax(node: Node) -> Tensor:
    x, shape = node.tensor(0), node.shape(0)
    axes = [axis % len(shape) for axis in _softmax_axes(node)]
    row = int(np.prod([shape[axis] for axis in axes]))
    # rows of several axes are the last ones: flattened for the search
    viewed = [*shape[: axes[0]], row, *shape[axes[-1] + 1 :]] if axes else [*shape, 1]
    axis = axes[0] if axes else len(shape)
    top = x.reshape(viewed).emit("arg_reduce", kind="max", axis=axis, keepdims=True)
    positions = node.constant(node.numbers(row).reshape([-1 if i == axis else 1 for i in range(len(viewed))]), np.int64)
    return top.compare("eq", positions).cast(x.kind).reshape(shape)


@onnx_op("LayerNormalization", everywhere=True)
def layer_normalization(node: Node) -> Sequence[Tensor | None]:
    x, rank = node.tensor(0), len(node.shape(0))
    epsilon = float(node.attr("epsilon", 1e-5))
    axis = node.attr("axis", -1)
    axes = list(range(axis + rank if axis < 0 else axis, rank))
    normal = x.emit("normalize", axes=axes, epsilon=epsilon)
    outputs: list[Tensor | None] = [_affine(normal, node.input(1), node.optional(2)), None, None]
    if any(node.outputs[1:]):
        outputs[1:] = statistics(x, axes, epsilon)
    return outputs[: len(node.outputs)]


def statistics(x: Tensor, axes: Sequence[int], epsilon: float) -> list[Tensor]:
    """The mean of x along `axes`, and one over the standard deviation, in f32."""
    wide = x.cast(f32)
    mean = wide.reduce("mean", axes)
    rounded = wide - mean
    distance = rounded - rounded.reduce("mean", axes)
    deviation = rms(distance, axes, epsilon)
    return [mean, 1 / deviation]


@onnx_op("RMSNormalization")
def rms_normalization(node: Node) -> Tensor:
    x, rank, kind = node.tensor(0).widened(), len(node.shape(0)), node.element_type(1)
    axes = range(normalize_axis(node.attr("axis", -1), rank), rank)
    normal = (x / rms(x, axes, node.attr("epsilon", 1e-5))).cast(node.element_type(0))
    return (normal.cast(kind) * node.input(1)).cast(kind)


@onnx_op("InstanceNormalization")
def instance_normalization(node: Node) -> Tensor:
    rank = len(node.shape(0))
    normal = _normalized(node.tensor(0), range(2, rank))
    column = [node.shape(0)[1], *[1] * (rank - 2)]
    return _affine(normal, *(node.tensor(place).reshape(column) for place in (1, 2)))


def _normalized(x: Tensor, axes: Sequence[int]) -> Tensor:
    return x.emit("normalize", axes=list(axes), epsilon=float(x.node.attr("epsilon", 1e-5)))


@onnx_op("GroupNormalization")
def group_normalization(node: Node) -> Tensor:
    x, (batch, channels, *space) = node.tensor(0), node.shape(0)
    groups = node.attr("num_groups")
    if groups < 1 or channels % groups:
        node.fail("invalid-shape", f"{channels} channels do not divide into num_groups = {groups} groups")
    grouped = x.reshape([batch, groups, channels // groups, *space])
    normal = _normalized(grouped, range(2, len(space) + 3))
    # one scale and bias for each group in version 18, for each channel since
    per_group = [1] if node.opset < 21 else [channels // groups]
    column = [groups, *per_group, *[1] * len(space)]
    return _affine(normal, *(node.tensor(place).reshape(column) for place in (1, 2))).reshape(x.shape)


@onnx_op("MeanVarianceNormalization", everywhere=True)
def mean_variance_normalization(node: Node) -> Tensor:
    # The definition adds 1e-9 to the deviation, here its square is added to the variance: all that matters is 0 / 0.
    x, axes = node.tensor(0), node.attr("axes", [0, 2, 3])
    # before version 9 ONNX had no definition: two attributes are onnxruntime's
    axes = [0, 1, 2, 3] if node.attr("across_channels", 0) else axes
    if not node.attr("normalize_variance", 1):
        return x - x.reduce("mean", axes)
    axes = [normalize_axis(axis, len(node.shape(0))) for axis in axes]
    return x.emit("normalize", axes=axes, epsilon=1e-18)


@onnx_op("LpNormalization")
def lp_normalization(node: Node) -> Tensor:
    x, p = node.tensor(0).widened(), node.attr("p", 2)
    node.require_choice("p", p, (1, 2))
    magnitude = x.emit("abs") if p == 1 else x * x
    norm = magnitude.reduce("sum", [node.attr("axis", -1)])
    norm = norm if p == 1 else norm.sqrt()
    # where the norm is 0 so are all elements, and stay so
    norm = norm.compare("eq", 0).choose(1, norm)
    return (x / norm).cast(node.element_type(0))


@onnx_op("BatchNormalization")
def batch_normalization(node: Node) -> Tensor | Sequence[Tensor]:
    epsilon = float(node.attr("epsilon", 1e-5))
    x, scale, bias, mean, variance = (node.tensor(position) for position in range(5))
    if node.attr("training_mode", 0) or any(node.outputs[1:]) or (node.opset < 7 and not node.attr("is_test", 0)):
        return _normalized_by_batch(node, epsilon)
    if node.attr("spatial", 1):
        return x.emit("batch_norm", scale, bias, mean, variance, epsilon=epsilon)
    # version 7: one of each for every element of a sample
    deviation = (variance + epsilon).sqrt()
    return _affine((x - mean) / deviation, scale, bias)


def _normalized_by_batch(node: Node, epsilon: float) -> Sequence[Tensor]:
    """Training: by the mean and variance of each channel in this batch, which the running ones follow."""
    x, scale, bias, *running = (node.tensor(position) for position in range(5))
    if not node.attr("spatial", 1):
        what = "training with spatial = 0 is not supported"
        node.fail("unsupported-attribute", what, fix="export the model for inference")
    others = [axis for axis in range(len(x.shape)) if axis != 1]
    wide = x.widened()
    mean = wide.reduce("mean", others, keepdims=False)
    apart = wide - mean.reshape([x.shape[1], *[1] * (len(x.shape) - 2)])
    variance = (apart * apart).reduce("mean", others, keepdims=False)
    own = [each.cast(x.kind) for each in (mean, variance)]
    y = x.emit("batch_norm", scale.cast(x.kind), bias.cast(x.kind), *own, epsilon=epsilon)
    momentum = node.attr("momentum", 0.9)
    moved: list[Tensor] = []
    for before, now in zip(running, (mean, variance), strict=True):
        now = now.cast(before.kind)
        moved.append(before * momentum + now * (1 - momentum))
    return [y, *moved, *own]


@onnx_op("LRN")
def local_response_normalization(node: Node) -> Tensor:
    """x / (bias + alpha / size * the sum of squares of `size` neighbouring channels) ** beta."""
    x, shape, size = node.tensor(0), node.shape(0), int(node.attr("size", 0))
    if size < 1 or len(shape) < 2:
        what = f"size is {size}, the input has shape {list(shape)}"
        node.fail("invalid-attribute", what, "size is positive, the input [N, C, ...]")
    wide = x.widened()
    before, axes = (size - 1) // 2, len(shape)
    pads = [0, before, *[0] * (axes - 1), size - 1 - before, *[0] * (axes - 2)]
    padded = (wide * wide).emit("pad", wide.scalar(0), pads=pads, mode="constant")
    taps = [
        padded.emit("slice", starts=[0, tap, *[0] * (axes - 2)], steps=[1] * axes, shape=shape)
        for tap in range(min(size, before + shape[1]))
    ]
    factor = node.attr("alpha", 1e-4) / size
    base = reduce(Tensor.__add__, taps) * factor + node.attr("bias", 1.0)
    return (wide / base.emit("pow", wide.scalar(node.attr("beta", 0.75)))).cast(x.kind)
