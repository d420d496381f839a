"""Operators of ONNX's own set that ONNX has not, or not in these versions, and onnxruntime has kept: experimental ones
of before ONNX 1.0, which converters of Core ML and CNTK models wrote."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue

from aotc.dialects.graph.elementwise import AddOp, MulOp
from aotc.dialects.graph.functions import SoftplusOp, TanhOp
from aotc.dialects.graph.logical import CompareOp, WhereOp
from aotc.frontend.onnx.composition import scalar
from aotc.frontend.onnx.importers.movement import cut, slice_
from aotc.frontend.onnx.registry import Node, onnx_op


def _scaled(node: Node, x: SSAValue, name: str, default: float | None = None) -> SSAValue:
    """x times an attribute."""
    factor = node.attr(name, default)
    if factor is None:
        node.fail("missing-attribute", f"the attribute {name} is missing", "the operator requires it")
    return x if factor == 1 else node.emit(MulOp, x, scalar(node, factor, x))


@onnx_op("Affine", everywhere=True)
def affine(node: Node) -> SSAValue:
    x = _scaled(node, node.input(0), "alpha", 1.0)
    return node.emit(AddOp, x, scalar(node, node.attr("beta", 0.0), x))


@onnx_op("Scale", everywhere=True)
def scale(node: Node) -> SSAValue:
    return _scaled(node, node.input(0), "scale", 1.0)


@onnx_op("ScaledTanh", everywhere=True)
def scaled_tanh(node: Node) -> SSAValue:
    return _scaled(node, node.emit(TanhOp, _scaled(node, node.input(0), "beta")), "alpha")


@onnx_op("ParametricSoftplus", everywhere=True)
def parametric_softplus(node: Node) -> SSAValue:
    return _scaled(node, node.emit(SoftplusOp, _scaled(node, node.input(0), "beta")), "alpha")


@onnx_op("ThresholdedRelu", everywhere=True)
def thresholded_relu(node: Node) -> SSAValue:
    x = node.input(0)
    above = node.emit(CompareOp, x, scalar(node, node.attr("alpha", 1.0), x), how="gt")
    return node.emit(WhereOp, above, x, scalar(node, 0, x))


@onnx_op("ImageScaler", everywhere=True)
def image_scaler(node: Node) -> SSAValue:
    """[N, C, H, W] times a number, plus one number for each channel."""
    x, bias = node.input(0), np.asarray(node.attr("bias", []), np.float32)
    if len(node.shape(0)) != 4 or len(bias) != node.shape(0)[1]:
        node.fail("invalid-attribute", f"bias has {len(bias)} numbers, the picture is {list(node.shape(0))}")
    return node.emit(AddOp, _scaled(node, x, "scale", 1.0), node.constant(bias.reshape(-1, 1, 1)))


@onnx_op("Crop", everywhere=True)
def crop(node: Node) -> SSAValue:
    """[N, C, H, W] without a border (left, top, right, bottom), or as much of it as `scale` (height, width) says."""
    shape, border = node.shape(0), node.attr("border", [])
    if len(shape) != 4 or len(border) != 4:
        what = f"border {border} must be four numbers, the picture {list(shape)} have four axes"
        node.fail("invalid-attribute", what)
    left, top, right, bottom = border
    height, width = node.attr("scale", [shape[2] - top - bottom, shape[3] - left - right])
    if min(left, top, height, width) < 0 or top + height > shape[2] or left + width > shape[3]:
        node.fail("invalid-attribute", f"{height} x {width} from ({top}, {left}) on do not lie in {list(shape)}")
    return cut(node, node.input(0), {2: (top, 1, height), 3: (left, 1, width)})


@onnx_op("DynamicSlice", everywhere=True)
def dynamic_slice(node: Node) -> SSAValue | Sequence[SSAValue | None]:
    """Slice as it has been since version 10."""
    return slice_(node.in_version(10))
