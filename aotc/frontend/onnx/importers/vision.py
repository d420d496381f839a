"""Pictures sampled at computed places, and put together from windows; regions of pictures, and boxes."""

from __future__ import annotations

import math

import numpy as np
from xdsl.dialects.builtin import f32, i64
from xdsl.ir import SSAValue

from aotc.dialects.dtypes import dtype_name, is_float, numpy_dtype
from aotc.frontend.onnx.importers.contraction import kernel_of, window_attributes
from aotc.frontend.onnx.importers.movement import cut
from aotc.frontend.onnx.node import Bound, Tensor
from aotc.frontend.onnx.registry import Node, onnx_op
from aotc.model.weight_store import Array

_GRID_MODES = {"bilinear": "linear", "bicubic": "cubic"}
"""Version 16's names of modes that later ones call otherwise."""


@onnx_op("GridSample")
def grid_sample(node: Node) -> SSAValue:
    mode = node.attr("mode", "linear")
    if mode != "nearest" and not is_float(kind := node.element_type(0)):
        why = "what is between two elements has to be rounded, and ONNX does not say how"
        fix = "give it floats (Cast before and after it), or mode = nearest"
        node.fail("unsupported-type", f"mode = {mode} of {dtype_name(kind)}", why, fix)
    if len(x := node.shape(0)) != len(grid := node.shape(1)):
        node.fail("invalid-shape", f"the grid {list(grid)} must have as many axes as X {list(x)}")
    return node.emit(
        "grid_sample",
        node.input(0),
        node.input(1),
        mode=_GRID_MODES.get(mode, mode),
        padding=node.attr("padding_mode", "zeros"),
        align_corners=bool(node.attr("align_corners", 0)),
    )


@onnx_op("AffineGrid")
def affine_grid(node: Node) -> Tensor:
    """theta [N, d, d + 1] times the places of the grid, the last axis of the size first. ONNX's own definition drops
    the batch where it is 1."""
    batch, *extents = (int(each) for each in node.constant_input(1, "the size"))
    count = len(extents) - 1
    if count not in (2, 3) or list(node.shape(0)) != [batch, count, count + 1]:
        what = f"theta {list(node.shape(0))} does not fit the size {[batch, *extents]}"
        node.fail("invalid-shape", what, "it is [N, d, d + 1]")
    dtype = numpy_dtype(node.element_type(0))
    node.require_room(max(math.prod(extents[1:]), *extents[1:]) * (count + 1), dtype)
    axes = [_places(extent, bool(node.attr("align_corners", 0))) for extent in extents[1:]]
    mesh = np.meshgrid(*axes, indexing="ij")
    grid = np.stack([*mesh[::-1], np.ones_like(mesh[0])], axis=-1).reshape(-1, count + 1)
    theta = node.tensor(0).transpose([0, 2, 1])
    points = Tensor(node, node.constant(grid.astype(dtype))) @ theta
    return points.reshape([batch, *extents[1:], count])


def _places(extent: int, align_corners: bool) -> Array:
    """From -1 to 1: the first and the last element, or the edges of these."""
    corners = np.linspace(-1, 1, extent) if extent != 1 else np.ones(1)
    return corners if align_corners else corners * (extent - 1) / max(extent, 1)


@onnx_op("DeformConv")
def deform_conv(node: Node) -> Tensor:
    x, weight = node.shape(0), node.shape(1)
    if len(weight) != len(x) or len(x) < 3:
        node.fail("invalid-shape", f"W {list(weight)} must have the rank of X {list(x)}, 3 or more")
    kernel = list(kernel_of(node, node.tensor(1)))
    group = node.attr("group", 1)
    if group < 1 or weight[0] % group or weight[1] * group != x[1]:
        node.fail("invalid-shape", f"W {list(weight)} in {group} groups does not fit X {list(x)}")
    windows = window_attributes(node, x[2:], kernel)
    columns = node.tensor(0).emit("deform", node.input(2), node.optional(4), kernel=kernel, **windows)
    if node.shape(2)[1] != node.attr("offset_group", 1) * math.prod(kernel) * len(kernel):
        what = f"offset_group is {node.attr('offset_group', 1)}, the offsets are {list(node.shape(2))}"
        node.fail("invalid-attribute", what)
    outer = columns.shape[3:]
    taps = weight[1] * math.prod(kernel)
    columns = columns.reshape([x[0], group, taps, math.prod(outer)])
    rows = node.tensor(1).reshape([group, weight[0] // group, taps])
    result, bias = (rows @ columns).reshape([x[0], weight[0], *outer]), node.optional_tensor(3)
    return result if bias is None else result + bias.reshape([weight[0], *[1] * len(outer)])


@onnx_op("Col2Im")
def col2im(node: Node) -> SSAValue:
    image = [int(extent) for extent in node.constant_input(1, "the shape of the image").reshape(-1)]
    kernel = [int(extent) for extent in node.constant_input(2, "the shape of the blocks").reshape(-1)]
    windows = window_attributes(node, image, kernel)
    return node.emit("fold", node.input(0), image=image, kernel=kernel, **windows)


@onnx_op("MaxUnpool")
def max_unpool(node: Node) -> Tensor:
    x, kernel = node.shape(0), node.attr("kernel_shape")
    if len(kernel) != len(x) - 2 or node.shape(1) != x:
        node.fail("invalid-shape", f"kernel_shape {kernel} and indices {list(node.shape(1))} must fit X {list(x)}")
    windows = window_attributes(node, x[2:], kernel)
    axes, pads = len(kernel), windows["pads"]
    inferred = list(x[:2])
    for axis, (extent, size, stride) in enumerate(zip(x[2:], kernel, windows["strides"], strict=True)):
        inferred.append((extent - 1) * stride - pads[axis] - pads[axes + axis] + size)
    if any(extent < 0 for extent in inferred):
        node.fail("invalid-attribute", f"pads {pads} remove more than there is of {list(x)}")
    zero = node.constant(np.zeros((), numpy_dtype(node.element_type(0))))
    zeros = Tensor(node, node.emit("broadcast", zero, shape=[math.prod(inferred)]))
    flat = [node.tensor(position).reshape([math.prod(x)]) for position in (1, 0)]
    filled = zeros.emit("scatter_elements", *flat, axis=0, reduction="none").reshape(inferred)
    if node.optional(2) is None:
        return filled
    # indices are into the tensor without output_shape; what that has more is zero, at the end of each axis
    wanted = [int(extent) for extent in node.constant_input(2, "the shape of the output").reshape(-1)]
    if len(wanted) != len(inferred):
        node.fail("invalid-value", f"output_shape {wanted} must have an extent for each axis of {inferred}")
    filled = cut(filled, {axis: (0, 1, min(both)) for axis, both in enumerate(zip(wanted, inferred, strict=True))})
    more = [max(want - have, 0) for want, have in zip(wanted, inferred, strict=True)]
    return filled.emit("pad", None, pads=[*[0] * len(more), *more], mode="constant") if any(more) else filled


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
