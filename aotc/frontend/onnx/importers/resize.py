"""Resize and Upsample: one gather (nearest) or one weighted sum (linear, cubic) along each axis that changes."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import AnyFloat, f32, f64, i1

from aotc.dialects.dtypes import ELEMENT_TYPES, byte_width
from aotc.dialects.graph.shapes import normalize_axis
from aotc.frontend.onnx.interpolation import COORDINATE_MODES, NEAREST_MODES, ResizedAxis
from aotc.frontend.onnx.node import Tensor
from aotc.frontend.onnx.registry import Node, onnx_op

_CUT_OFF = tuple(ELEMENT_TYPES[name] for name in ("int8", "uint8", "int32"))
"""Types whose linear interpolation onnxruntime cuts off; it has no other integers, which the standard rounds."""


@onnx_op("Upsample")
def upsample(node: Node) -> Tensor:
    if node.opset < 7:
        scales = [1.0, 1.0, node.attr("height_scale"), node.attr("width_scale")]
    else:
        scales = node.attr("scales") if node.opset < 9 else node.constant_input(1, "the scales").tolist()
    return _resize(node, _scaled(node, scales, "asymmetric"), "simple")


@onnx_op("Resize")
def resize(node: Node) -> Tensor:
    if node.opset < 11:
        scales = node.constant_input(1, "the scales").tolist()
        return _resize(node, _scaled(node, scales, "asymmetric"), "simple")
    mode = node.attr("coordinate_transformation_mode", "half_pixel")
    rounding = node.attr("nearest_mode", "round_prefer_floor")
    if mode not in COORDINATE_MODES or rounding not in NEAREST_MODES:
        what = f'coordinate_transformation_mode "{mode}" or nearest_mode "{rounding}" is not known'
        node.fail("invalid-attribute", what)
    shape = node.shape(0)
    axes = [normalize_axis(axis, len(shape)) for axis in node.attr("axes", list(range(len(shape))))]
    roi = [0.0] * len(axes) + [1.0] * len(axes)
    if mode == "tf_crop_and_resize":
        roi = node.constant_input(1, "the region of interest").tolist()
        if len(roi) != 2 * len(axes):
            what = f"the region of interest {roi} must have a start and an end for each of the axes {axes}"
            node.fail("invalid-value", what)
    scales = node.constant_input(2, "the scales").tolist() if node.optional(2) is not None else []
    if scales:
        resized = _scaled(node, scales, mode, axes)
    else:
        resized = _sized(node, [int(size) for size in node.constant_input(3, "the sizes")], mode, axes)
    for position, axis in enumerate(axes):
        one = resized[axis]
        bounds = (roi[position], roi[position + len(axes)])
        resized[axis] = ResizedAxis(one.extent, one.count, one.scale, mode, bounds)
    return _resize(node, resized, rounding)


def _scaled(node: Node, scales: list[float], mode: str, axes: list[int] | None = None) -> dict[int, ResizedAxis]:
    """The extents of the axes by scales."""
    shape = node.shape(0)
    axes = list(range(len(shape))) if axes is None else axes
    if len(scales) != len(axes) or any(not scale > 0 for scale in scales):
        node.fail("invalid-value", f"scales {scales} must be a positive number for each of the axes {axes}")
    return {
        axis: ResizedAxis(shape[axis], _times(node, shape[axis], scale), scale, mode)
        for axis, scale in zip(axes, scales, strict=True)
    }


def _times(node: Node, extent: int, scale: float) -> int:
    with np.errstate(over="ignore", invalid="ignore"):
        product = float(np.float32(extent) * np.float32(scale))
    node.require_countable([product])
    return int(product)


def _sized(node: Node, sizes: list[int], mode: str, axes: list[int]) -> dict[int, ResizedAxis]:
    """The extents of the axes by sizes."""
    shape = node.shape(0)
    if len(sizes) != len(axes) or any(size < 0 for size in sizes) or any(shape[axis] == 0 for axis in axes):
        node.fail("invalid-value", f"sizes {sizes} must be one for each of the axes {axes} of {list(shape)}")
    scales = [size / shape[axis] for axis, size in zip(axes, sizes, strict=True)]
    policy = node.attr("keep_aspect_ratio_policy", "stretch")
    if policy != "stretch":
        scales = [min(scales) if policy == "not_larger" else max(scales)] * len(axes)
        sizes = [int(np.floor(shape[axis] * scale + 0.5)) for axis, scale in zip(axes, scales, strict=True)]
    return {
        axis: ResizedAxis(shape[axis], size, scale, mode) for axis, size, scale in zip(axes, sizes, scales, strict=True)
    }


def _resize(node: Node, resized: dict[int, ResizedAxis], rounding: str) -> Tensor:
    x, mode, antialias = node.tensor(0), node.attr("mode", "nearest"), bool(node.attr("antialias", 0))
    exclude_outside, kind = bool(node.attr("exclude_outside", 0)), x.kind
    moving = {
        axis: one
        for axis, one in resized.items()
        if one.count != one.extent or one.scale != 1 or one.mode == "tf_crop_and_resize"
    }
    node.require_countable([one.count for one in resized.values()])
    for one in moving.values():
        node.require_room(max(one.count, 1) * one.taps(mode, antialias), np.float64)
    if mode == "nearest":
        for axis, one in moving.items():
            x = x.emit("gather", node.constant(one.nearest(rounding)), axis=axis)
    elif mode in ("linear", "cubic"):
        x = x.cast(kind if isinstance(kind, AnyFloat) else f64 if byte_width(kind) > 2 else f32)
        for axis in _in_order(moving):
            one = moving[axis]
            if mode == "linear":
                places, weights = one.linear(exclude_outside, antialias)
            else:
                places, weights = one.cubic(node.attr("cubic_coeff_a", -0.75), exclude_outside, antialias)
            weights = node.constant(weights, x.dtype)
            x = x.emit("resample", node.constant(places), weights, axis=axis)
    else:
        node.fail("invalid-attribute", f'mode is "{mode}"', "it must be nearest, linear or cubic")
    for axis, one in moving.items():
        if (outside := one.outside()).any():
            mask = outside.reshape([-1 if a == axis else 1 for a in range(len(node.shape(0)))])
            filling = x.scalar(node.attr("extrapolation_value", 0.0))
            x = Tensor(node, node.constant(mask)).choose(filling, x)
    if isinstance(kind, AnyFloat) or kind == i1 or (mode == "linear" and not antialias and kind in _CUT_OFF):
        return x.cast(kind)
    return x.saturated(kind)


def _in_order(moving: dict[int, ResizedAxis]) -> list[int]:
    """The axes in the order to resample along: first what shrinks, then what grows, the last axis of these first. So
    most is summed along the first axes, where what lies side by side has the same weights."""
    shrinking = [axis for axis, one in moving.items() if one.count < one.extent]
    return [*sorted(shrinking), *sorted(moving.keys() - set(shrinking), reverse=True)]
