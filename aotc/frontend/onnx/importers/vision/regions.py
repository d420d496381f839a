"""Regions of pictures, and boxes."""

from __future__ import annotations

from xdsl.dialects.builtin import f32, i64
from xdsl.ir import SSAValue

from aotc.frontend.onnx.node import Bound
from aotc.frontend.onnx.registry import Node, onnx_op


@onnx_op("RoiAlign")
def roi_align(node: Node) -> SSAValue:
    default = "half_pixel" if node.opset >= 16 else "output_half_pixel"
    where, mode = node.attr("coordinate_transformation_mode", default), node.attr("mode", "avg")
    node.require_choice("coordinate_transformation_mode", where, ("half_pixel", "output_half_pixel"))
    node.require_choice("mode", mode, ("avg", "max"))
    return node.emit(
        "roi_align",
        node.input(0),
        node.input(1),
        node.input(2),
        size=[node.attr("output_height", 1), node.attr("output_width", 1)],
        scale=float(node.attr("spatial_scale", 1.0)),
        ratio=node.attr("sampling_ratio", 0),
        half_pixel=where == "half_pixel",
        maximum=mode == "max",
    )


@onnx_op("MaxRoiPool")
def max_roi_pool(node: Node) -> SSAValue:
    scale = float(node.attr("spatial_scale", 1.0))
    return node.emit("roi_max", node.input(0), node.input(1), size=node.attr("pooled_shape"), scale=scale)


@onnx_op("NonMaxSuppression")
def non_max_suppression(node: Node) -> SSAValue:
    """At most as many boxes as there are; fewer where the greatest number of a class is a constant."""
    count = node.shape(0)[1] if len(node.shape(0)) == 3 else 0
    most, known = node.optional_tensor(2), node.known(2)
    limit = count if most is not None else 0  # the default is none at all
    if known is not None and known.size == 1:
        most, limit = None, min(max(int(known.reshape(())), 0), count)
    options = [most, node.optional_tensor(3), node.optional_tensor(4)]
    kinds = (i64, f32, f32)
    singles = [None if v is None else v.reshape([1]).cast(kind) for v, kind in zip(options, kinds, strict=True)]
    boxes, scores = node.input(0), node.input(1)
    centered = bool(node.attr("center_point_box", 0))
    selected, length, *_ = node.emit_all("suppress", boxes, scores, *singles, limit=limit, centered=centered)
    return node.bounded(selected, Bound(0, length))
