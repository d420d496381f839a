"""Operators that ONNX has not, or not so: those of com.microsoft that are what ONNX's of the same name were when it got
them; and of ONNX's own set experimental ones of before ONNX 1.0, which converters of Core ML and CNTK models wrote."""

from __future__ import annotations

import math

import numpy as np

from aotc.dialects.graph.shapes import normalize_axis
from aotc.frontend.onnx.importers.microsoft.layers import DOMAIN
from aotc.frontend.onnx.importers.movement import cut, slice_
from aotc.frontend.onnx.importers.shape import range_
from aotc.frontend.onnx.node import Tensor
from aotc.frontend.onnx.registry import IMPORTERS, Node, Results, onnx_op

_SAME = {"GatherND": 12, "GridSample": 16, "Pad": 11, "Trilu": 14}
"""The version of the ONNX operators that the node is one of."""


@onnx_op(*_SAME, domain=DOMAIN)
def same(node: Node) -> Results:
    return IMPORTERS["", node.op_type](node.in_version(_SAME[node.op_type]))


@onnx_op("Range", domain=DOMAIN)
def range_by_one(node: Node) -> Results:
    """The delta may be left out, and all three may be vectors of one element."""
    start, limit, delta = node.tensor(0).reshape([]), node.tensor(1).reshape([]), node.optional_tensor(2)
    delta = start.scalar(1) if delta is None else delta.reshape([])
    return range_(node.in_version(11, [start.value, limit.value, delta.value]))


@onnx_op("ExpandDims", domain=DOMAIN)
def expand_dims(node: Node) -> Tensor:
    shape = [*node.shape(0)]
    if math.prod(node.shape(1)) != 1:
        node.fail("invalid-shape", f"the axis is one number, found {list(node.shape(1))}")
    axis = int(node.constant_input(1, "the axis").reshape(()))
    shape.insert(normalize_axis(axis, len(shape) + 1), 1)
    return node.tensor(0).reshape(shape)


def _scaled(x: Tensor, name: str, default: float | None = None) -> Tensor:
    """x times an attribute."""
    node: Node = x.node
    factor = node.attr(name, default)
    if factor is None:
        node.fail("missing-attribute", f"the attribute {name} is missing", "the operator requires it")
    return x if factor == 1 else x * factor


@onnx_op("Affine", everywhere=True)
def affine(node: Node) -> Tensor:
    return _scaled(node.tensor(0), "alpha", 1.0) + node.attr("beta", 0.0)


@onnx_op("Scale", everywhere=True)
def scale(node: Node) -> Tensor:
    return _scaled(node.tensor(0), "scale", 1.0)


@onnx_op("ScaledTanh", "ParametricSoftplus", everywhere=True)
def scaled_function(node: Node) -> Tensor:
    function = "tanh" if node.op_type == "ScaledTanh" else "softplus"
    return _scaled(_scaled(node.tensor(0), "beta").emit(function), "alpha")


@onnx_op("ThresholdedRelu", everywhere=True)
def thresholded_relu(node: Node) -> Tensor:
    x = node.tensor(0)
    return (x > node.attr("alpha", 1.0)).choose(x, 0)


@onnx_op("ImageScaler", everywhere=True)
def image_scaler(node: Node) -> Tensor:
    """[N, C, H, W] times a number, plus one number for each channel."""
    bias = np.asarray(node.attr("bias", []), np.float32)
    if len(node.shape(0)) != 4 or len(bias) != node.shape(0)[1]:
        node.fail("invalid-attribute", f"bias has {len(bias)} numbers, the picture is {list(node.shape(0))}")
    return _scaled(node.tensor(0), "scale", 1.0) + node.constant(bias.reshape(-1, 1, 1))


@onnx_op("Crop", everywhere=True)
def crop(node: Node) -> Tensor:
    """[N, C, H, W] without a border (left, top, right, bottom), or as much of it as `scale` (height, width) says."""
    shape, border = node.shape(0), node.attr("border", [])
    if len(shape) != 4 or len(border) != 4:
        what = f"border {border} must be four numbers, the picture {list(shape)} have four axes"
        node.fail("invalid-attribute", what)
    left, top, right, bottom = border
    height, width = node.attr("scale", [shape[2] - top - bottom, shape[3] - left - right])
    if min(left, top, height, width) < 0 or top + height > shape[2] or left + width > shape[3]:
        node.fail("invalid-attribute", f"{height} x {width} from ({top}, {left}) on do not lie in {list(shape)}")
    return cut(node.tensor(0), {2: (top, 1, height), 3: (left, 1, width)})


@onnx_op("DynamicSlice", everywhere=True)
def dynamic_slice(node: Node) -> Tensor:
    """Slice as it has been since version 10."""
    return slice_(node.in_version(10))
