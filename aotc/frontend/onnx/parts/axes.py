"""Where the parts of an input are in the result, for operators that treat each part along an axis by itself."""

from __future__ import annotations

from collections.abc import Sequence

from aotc.dialects.graph.shapes import normalize_axis
from aotc.frontend.onnx.importers.movement import padding
from aotc.frontend.onnx.importers.reduction import whole_axes
from aotc.frontend.onnx.node import Node

_BATCHED = frozenset(
    (
        *("AveragePool", "BatchNormalization", "Conv", "ConvTranspose", "DepthToSpace", "GlobalAveragePool"),
        *("GlobalLpPool", "GlobalMaxPool", "GroupNormalization", "InstanceNormalization", "LRN", "LpPool", "MaxPool"),
        "SpaceToDepth",
    )
)
"""Their first input is a batch along its first axis."""

_OTHER_AXES = ("CumProd", "CumSum", "Hardmax", "LpNormalization", "TopK")
"""Operators along one axis that leave the others as they are."""


def axis_of_result(node: Node, position: int, axis: int, result: Sequence[int]) -> int | None:
    """The axis of the (first) result that has the parts of input `position` along `axis`; None where none has, or where
    the operator makes more of them than each by itself."""
    shape, op_type = node.shape(position), node.op_type
    if op_type == "MatMul":
        return _of_product(node, position, axis, len(result))
    if position != 0:
        return None
    if op_type in _BATCHED:
        return 0 if axis == 0 and not node.attr("training_mode", 0) else None
    if op_type == "Gemm":
        rows = 1 if node.attr("transA", 0) else 0
        bias = () if node.optional(2) is None else node.shape(2)
        return 0 if axis == rows and (len(bias) < 2 or bias[0] == 1) else None
    if op_type in ("LayerNormalization", "RMSNormalization"):
        return axis if axis < normalize_axis(node.attr("axis", -1), len(shape)) else None
    if op_type in ("ArgMax", "ArgMin") or op_type.startswith("Reduce"):
        return _unreduced(axis, whole_axes(node), bool(node.attr("keepdims", 1)))
    if op_type in _OTHER_AXES or (op_type in ("Split", "Softmax", "LogSoftmax") and node.opset >= 13):
        return None if axis in whole_axes(node) else axis
    if op_type in ("Resize", "Upsample"):
        return axis if _is_as_long(node, axis) else None
    if op_type == "Pad":
        return None if any(amounts[axis] for amounts in padding(node)) else axis
    if op_type == "Tile":
        return axis if result[axis] == shape[axis] else None
    return None


def _is_as_long(node: Node, axis: int) -> bool:
    """Whether a resize leaves an axis as it is, however many parts it has."""
    rank = len(node.shape(0))
    if node.attr("coordinate_transformation_mode") == "tf_crop_and_resize":
        return False
    if node.attr("keep_aspect_ratio_policy", "stretch") != "stretch":
        return False
    axes = [normalize_axis(each, rank) for each in node.attr("axes", list(range(rank)))]
    if axis not in axes:
        return True
    if node.opset >= 11 and node.optional(3) is not None:
        return bool(node.constant_input(3, "the sizes")[axes.index(axis)] == node.shape(0)[axis])
    if node.opset < 7:
        return axis < 2
    scales = node.attr("scales") if node.opset < 9 else node.constant_input(2 if node.opset >= 11 else 1, "the scales")
    return bool(scales[axes.index(axis)] == 1)


def _unreduced(axis: int, axes: Sequence[int], keepdims: bool) -> int | None:
    if axis in axes:
        return None
    return axis if keepdims else axis - sum(each < axis for each in axes)


def _of_product(node: Node, position: int, axis: int, rank: int) -> int | None:
    own, other = node.shape(position), node.shape(1 - position)
    if len(own) < 2 or axis == len(own) - (1 if position == 0 else 2):  # which is summed up
        return None
    from_end = axis - len(own)
    if from_end >= -2:
        if len(other) == 1:
            return rank - 1
        return rank + from_end
    if len(other) >= -from_end and other[from_end] != 1:  # a batch of the other operand has a fixed number of parts
        return None
    return rank + from_end + (1 if len(other) == 1 else 0)
