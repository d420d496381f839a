"""Normalisations as `graph.normalize` or reductions, then scale and bias."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from aotc.dialects.graph.elementwise import AbsOp, AddOp, DivOp, MulOp, PowOp, SubOp
from aotc.dialects.graph.functions import SqrtOp
from aotc.dialects.graph.interfaces import element_type_of, shape_of
from aotc.dialects.graph.logical import CompareOp, WhereOp
from aotc.dialects.graph.movement import PadOp, SliceOp
from aotc.dialects.graph.normalization import BatchNormOp, NormalizeOp, SoftmaxOp
from aotc.dialects.graph.reduction import ArgReduceOp, ReduceOp
from aotc.dialects.graph.shapes import normalize_axis
from aotc.frontend.onnx.composition import cast, reshape, scalar, widen
from aotc.frontend.onnx.registry import Node, onnx_op


def _affine(node: Node, x: SSAValue, scale: SSAValue, bias: SSAValue | None) -> SSAValue:
    scaled = node.emit(MulOp, x, scale)
    return scaled if bias is None else node.emit(AddOp, scaled, bias)


def _softmax_axes(node: Node) -> list[int]:
    """The one axis of a row or, before version 13, all from `axis` on: the operand was seen as a matrix."""
    rank = len(node.shape(0))
    if node.opset >= 13:
        return [node.attr("axis", -1)]
    axis = node.attr("axis", 1)
    return list(range(axis + rank if axis < 0 else axis, rank))


@onnx_op("Softmax", "LogSoftmax")
def softmax(node: Node) -> SSAValue:
    return node.emit(SoftmaxOp, node.input(0), axes=_softmax_axes(node), log=node.op_type == "LogSoftmax")


@onnx_op("Hardmax")
def hardmax(node: Node) -> SSAValue:
    x, shape = node.input(0), node.shape(0)
    axes = [axis % len(shape) for axis in _softmax_axes(node)]
    row = int(np.prod([shape[axis] for axis in axes]))
    # rows of several axes are the last ones: flattened for the search
    seen = [*shape[: axes[0]], row, *shape[axes[-1] + 1 :]] if axes else [*shape, 1]
    axis = axes[0] if axes else len(shape)
    top = node.emit(ArgReduceOp, reshape(node, x, seen), kind="max", axis=axis, keepdims=True)
    positions = node.constant(node.numbers(row).reshape([-1 if i == axis else 1 for i in range(len(seen))]), np.int64)
    hit = node.emit(CompareOp, top, positions, how="eq")
    return reshape(node, cast(node, hit, node.element_type(0)), shape)


@onnx_op("LayerNormalization", everywhere=True)
def layer_normalization(node: Node) -> Sequence[SSAValue | None]:
    x, rank = node.input(0), len(node.shape(0))
    epsilon = float(node.attr("epsilon", 1e-5))
    axis = node.attr("axis", -1)
    axes = list(range(axis + rank if axis < 0 else axis, rank))
    normal = node.emit(NormalizeOp, x, axes=axes, epsilon=epsilon)
    outputs: list[SSAValue | None] = [_affine(node, normal, node.input(1), node.optional(2)), None, None]
    if any(node.outputs[1:]):
        outputs[1:] = statistics(node, x, axes, epsilon)
    return outputs[: len(node.outputs)]


def statistics(node: Node, x: SSAValue, axes: Sequence[int], epsilon: float) -> list[SSAValue]:
    """The mean of x along `axes`, and one over the standard deviation, in f32."""
    wide, along = cast(node, x, f32), list(axes)
    mean = node.emit(ReduceOp, wide, kind="mean", axes=along, keepdims=True)
    rounded = node.emit(SubOp, wide, mean)
    distance = node.emit(SubOp, rounded, node.emit(ReduceOp, rounded, kind="mean", axes=along, keepdims=True))
    variance = node.emit(ReduceOp, node.emit(MulOp, distance, distance), kind="mean", axes=along, keepdims=True)
    deviation = node.emit(SqrtOp, node.emit(AddOp, variance, scalar(node, epsilon, wide)))
    return [mean, node.emit(DivOp, scalar(node, 1, wide), deviation)]


@onnx_op("RMSNormalization")
def rms_normalization(node: Node) -> SSAValue:
    x, rank = widen(node, node.input(0)), len(node.shape(0))
    axis = normalize_axis(node.attr("axis", -1), rank)
    squares = node.emit(ReduceOp, node.emit(MulOp, x, x), kind="mean", axes=list(range(axis, rank)), keepdims=True)
    root = node.emit(SqrtOp, node.emit(AddOp, squares, scalar(node, node.attr("epsilon", 1e-5), x)))
    normal = cast(node, node.emit(DivOp, x, root), node.element_type(0))
    return cast(node, node.emit(MulOp, cast(node, normal, node.element_type(1)), node.input(1)), node.element_type(1))


@onnx_op("InstanceNormalization")
def instance_normalization(node: Node) -> SSAValue:
    x, rank = node.input(0), len(node.shape(0))
    normal = node.emit(NormalizeOp, x, axes=list(range(2, rank)), epsilon=float(node.attr("epsilon", 1e-5)))
    column = [-1] + [1] * (rank - 2)
    column[0] = node.shape(0)[1]
    return _affine(node, normal, reshape(node, node.input(1), column), reshape(node, node.input(2), column))


@onnx_op("GroupNormalization")
def group_normalization(node: Node) -> SSAValue:
    x, (batch, channels, *space) = node.input(0), node.shape(0)
    groups = node.attr("num_groups")
    if groups < 1 or channels % groups:
        node.fail("invalid-shape", f"{channels} channels do not divide into num_groups = {groups} groups")
    grouped = reshape(node, x, [batch, groups, channels // groups, *space])
    rank = len(space) + 3
    normal = node.emit(NormalizeOp, grouped, axes=list(range(2, rank)), epsilon=float(node.attr("epsilon", 1e-5)))
    # one scale and bias for each group in version 18, for each channel since
    per_group = [1] if node.opset < 21 else [channels // groups]
    column = [groups, *per_group, *[1] * len(space)]
    result = _affine(node, normal, reshape(node, node.input(1), column), reshape(node, node.input(2), column))
    return reshape(node, result, node.shape(0))


@onnx_op("MeanVarianceNormalization", everywhere=True)
def mean_variance_normalization(node: Node) -> SSAValue:
    # The definition adds 1e-9 to the deviation, here its square is added to the variance: all that matters is 0 / 0.
    x, axes = node.input(0), node.attr("axes", [0, 2, 3])
    if node.opset < 9:  # ONNX had no definition, this is onnxruntime's
        axes = [0, 1, 2, 3] if node.attr("across_channels", 0) else axes
        if not node.attr("normalize_variance", 1):
            return node.emit(SubOp, x, node.emit(ReduceOp, x, kind="mean", axes=axes, keepdims=True))
    axes = [normalize_axis(axis, len(node.shape(0))) for axis in axes]
    return node.emit(NormalizeOp, x, axes=axes, epsilon=1e-18)


@onnx_op("LpNormalization")
def lp_normalization(node: Node) -> SSAValue:
    x = widen(node, node.input(0))
    p = node.attr("p", 2)
    node.require_choice("p", p, (1, 2))
    magnitude = node.emit(AbsOp, x) if p == 1 else node.emit(MulOp, x, x)
    norm = node.emit(ReduceOp, magnitude, kind="sum", axes=[node.attr("axis", -1)], keepdims=True)
    norm = norm if p == 1 else node.emit(SqrtOp, norm)
    # where the norm is 0 so are all elements, and stay so
    zero, one = scalar(node, 0, x), scalar(node, 1, x)
    norm = node.emit(WhereOp, node.emit(CompareOp, norm, zero, how="eq"), one, norm)
    return cast(node, node.emit(DivOp, x, norm), node.element_type(0))


@onnx_op("BatchNormalization")
def batch_normalization(node: Node) -> SSAValue | Sequence[SSAValue]:
    epsilon = float(node.attr("epsilon", 1e-5))
    x, *parameters = (node.input(position) for position in range(5))
    if node.attr("training_mode", 0) or any(node.outputs[1:]) or (node.opset < 7 and not node.attr("is_test", 0)):
        return _normalized_by_batch(node, epsilon)
    if node.attr("spatial", 1):
        return node.emit(BatchNormOp, x, *parameters, epsilon=epsilon)
    # version 7: one of each for every element of a sample
    scale, bias, mean, variance = parameters
    deviation = node.emit(SqrtOp, node.emit(AddOp, variance, scalar(node, epsilon, variance)))
    normal = node.emit(DivOp, node.emit(SubOp, x, mean), deviation)
    return _affine(node, normal, scale, bias)


def _normalized_by_batch(node: Node, epsilon: float) -> Sequence[SSAValue]:
    """Training: by the mean and variance of each channel in this batch, which the running ones follow."""
    x, scale, bias, *running = (node.input(position) for position in range(5))
    if not node.attr("spatial", 1):
        what = "training with spatial = 0 is not supported"
        node.fail("unsupported-attribute", what, fix="export the model for inference")
    shape = shape_of(x)
    others = [axis for axis in range(len(shape)) if axis != 1]
    wide = widen(node, x)
    mean = node.emit(ReduceOp, wide, kind="mean", axes=others, keepdims=False)
    apart = node.emit(SubOp, wide, reshape(node, mean, [shape[1], *[1] * (len(shape) - 2)]))
    variance = node.emit(ReduceOp, node.emit(MulOp, apart, apart), kind="mean", axes=others, keepdims=False)
    kind = element_type_of(x)
    own = [cast(node, each, kind) for each in (mean, variance)]
    parameters = [cast(node, each, kind) for each in (scale, bias)]
    y = node.emit(BatchNormOp, x, *parameters, *own, epsilon=epsilon)
    momentum = node.attr("momentum", 0.9)
    moved: list[SSAValue] = []
    for before, now in zip(running, (mean, variance), strict=True):
        now = cast(node, now, element_type_of(before))
        parts = [
            node.emit(MulOp, each, scalar(node, factor, each))
            for each, factor in ((before, momentum), (now, 1 - momentum))
        ]
        moved.append(node.emit(AddOp, *parts))
    return [y, *moved, *own]


@onnx_op("LRN")
def local_response_normalization(node: Node) -> SSAValue:
    """x / (bias + alpha / size * the sum of squares of `size` neighbouring channels) ** beta."""
    x, shape, size = node.input(0), node.shape(0), int(node.attr("size", 0))
    if size < 1 or len(shape) < 2:
        what = f"size is {size}, the input has shape {list(shape)}"
        node.fail("invalid-attribute", what, "size is positive, the input [N, C, ...]")
    wide = widen(node, x)
    before, axes = (size - 1) // 2, len(shape)
    pads = [0, before, *[0] * (axes - 1), size - 1 - before, *[0] * (axes - 2)]
    padded = node.emit(PadOp, node.emit(MulOp, wide, wide), scalar(node, 0, wide), pads=pads, mode="constant")
    taps = [
        node.emit(SliceOp, padded, starts=[0, tap, *[0] * (axes - 2)], steps=[1] * axes, shape=shape)
        for tap in range(min(size, before + shape[1]))
    ]
    total = taps[0]
    for tap in taps[1:]:
        total = node.emit(AddOp, total, tap)
    factor = scalar(node, node.attr("alpha", 1e-4) / size, wide)
    base = node.emit(AddOp, node.emit(MulOp, total, factor), scalar(node, node.attr("bias", 1.0), wide))
    divisor = node.emit(PowOp, base, scalar(node, node.attr("beta", 0.75), wide))
    return cast(node, node.emit(DivOp, wide, divisor), node.element_type(0))
