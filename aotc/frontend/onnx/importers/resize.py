"""Resize and Upsample: one gather (nearest) or one weighted sum (linear, cubic) along each axis that changes.

`ResizedAxis` is the mathematics along one axis: which elements each result element weighs, and how much. Coordinates
are exact: which neighbour is nearest does not depend on how they are rounded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import AnyFloat, f32, f64, i1

from aotc.dialects.dtypes import ELEMENT_TYPES, byte_width
from aotc.dialects.graph.shapes import normalize_axis
from aotc.frontend.onnx.node import Tensor
from aotc.frontend.onnx.registry import Node, onnx_op

Floats = NDArray[np.float32]
Integers = NDArray[np.int64]

COORDINATE_MODES = (
    "asymmetric",
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "tf_half_pixel_for_nn",
    "align_corners",
    "tf_crop_and_resize",
)
NEAREST_MODES = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "simple")

_HALF = Fraction(1, 2)


@dataclass(frozen=True)
class ResizedAxis:
    """An axis of `extent` elements that becomes one of `count`, `scale` being about their ratio."""

    extent: int
    count: int
    scale: float
    mode: str
    """How a coordinate of the result maps to one of the operand: one of `COORDINATE_MODES`."""
    roi: tuple[float, float] = (0.0, 1.0)
    """The part of the operand that `tf_crop_and_resize` shows, in parts of its extent."""

    @property
    def ratio(self) -> Fraction:
        """The scale: that of the extents where it is as good as single precision can have it, else as it was given."""
        if self.extent and np.float32(self.count / self.extent) == np.float32(self.scale):
            return Fraction(self.count, self.extent)
        return Fraction(float(np.float32(self.scale)))

    def affine(self) -> tuple[Fraction, Fraction]:
        """The slope and the start of the place in the operand, in elements, as it grows with the result element."""
        scale, last = self.ratio, self.extent - 1
        if self.mode == "tf_crop_and_resize":
            start, end = (Fraction(float(np.float32(bound))) for bound in self.roi)
            if self.count == 1:
                return Fraction(0), _HALF * (start + end) * last
            return (end - start) * last / (self.count - 1), start * last
        if scale == 1:
            return Fraction(1), Fraction(0)
        half_pixel = _HALF / scale - _HALF
        match self.mode:
            case "asymmetric":
                return 1 / scale, Fraction(0)
            case "pytorch_half_pixel":
                return (1 / scale, half_pixel) if self.count > 1 else (Fraction(0), Fraction(0))
            case "tf_half_pixel_for_nn":
                return 1 / scale, _HALF / scale
            case "align_corners":
                return (Fraction(last, self.count - 1) if self.count > 1 else Fraction(0)), Fraction(0)
            case "half_pixel_symmetric":
                # What the rounded number of elements adds or lacks is on both sides alike.
                return 1 / scale, half_pixel + Fraction(self.extent, 2) * (1 - self.count / (scale * self.extent))
            case _:
                return 1 / scale, half_pixel

    def places(self) -> tuple[Integers, int]:
        """For each result element its place in the operand, in elements, times a number, and that number: Python's
        integers, since others would round large ones."""
        slope, start = self.affine()
        by = slope.denominator * start.denominator
        return np.arange(self.count).astype(object) * int(slope * by) + int(start * by), by

    def coordinates(self) -> NDArray[np.float64]:
        """For each result element its place in the operand, in elements."""
        places, by = self.places()
        return (places / by).astype(np.float64)

    def outside(self) -> NDArray[np.bool_]:
        """Which result elements show what lies beyond the operand; only `tf_crop_and_resize` extrapolates."""
        if self.mode != "tf_crop_and_resize":
            return np.zeros(self.count, np.bool_)
        places, by = self.places()
        return ((places < 0) | (places > (self.extent - 1) * by)).astype(np.bool_)

    def nearest(self, rounding: str) -> Integers:
        """The nearest element of the operand; `rounding` is one of `NEAREST_MODES`."""
        x, by = self.places()
        match rounding:
            case "floor":
                found = x // by
            case "ceil":
                found = -(-x // by)
            case "round_prefer_ceil":
                found = (2 * x + by) // (2 * by)
            case "simple":
                found = -(-x // by) if self.ratio < 1 else x // by
            case _:
                found = -((by - 2 * x) // (2 * by))
        return np.clip(found, 0, self.extent - 1).astype(np.int64)

    def taps(self, mode: str, antialias: bool) -> int:
        """How many elements of the operand each of the result weighs, in the mode nearest, linear or cubic."""
        return 1 if mode == "nearest" else 2 * self._reach(1 if mode == "linear" else 2, antialias)

    def _squeeze(self, antialias: bool) -> np.float32:
        return np.float32(min(self.scale, 1.0)) if antialias else np.float32(1)

    def _reach(self, radius: int, antialias: bool) -> int:
        """The elements on either side that a kernel of that radius is stretched over."""
        with np.errstate(over="ignore"):
            return int(min(np.ceil(radius / self._squeeze(antialias)), 1 << 31))

    def linear(self, exclude_outside: bool = False, antialias: bool = False) -> tuple[Integers, Floats]:
        """Elements and weights, [count, taps] each, of linear interpolation."""
        if antialias and self.scale < 1:
            return self._filtered(lambda x: np.maximum(1 - np.abs(x), 0), 1, exclude_outside, True)
        x = np.clip(self.coordinates(), 0, self.extent - 1)
        first = x.astype(np.int64)
        share = (x - first).astype(np.float32)
        return np.stack([first, np.minimum(first + 1, self.extent - 1)], 1), np.stack([1 - share, share], 1)

    def cubic(self, a: float, exclude_outside: bool, antialias: bool = False) -> tuple[Integers, Floats]:
        """Elements and weights, [count, taps] each, of cubic convolution with the coefficient `a`."""

        def kernel(x: Floats) -> Floats:
            x = np.abs(x)
            near = ((a + 2) * x - (a + 3)) * x * x + 1
            far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
            return np.where(x <= 1, near, np.where(x < 2, far, 0)).astype(np.float32)

        return self._filtered(kernel, 2, exclude_outside, antialias)

    def _filtered(
        self, kernel: Callable[[Floats], Floats], radius: int, exclude_outside: bool, antialias: bool
    ) -> tuple[Integers, Floats]:
        """Elements under a kernel of that radius, stretched over more of them where `antialias` shrinks the axis.

        Beyond the operand lie copies of its outermost elements or, with `exclude_outside`, nothing.
        """
        squeeze, reach = self._squeeze(antialias), self._reach(radius, antialias)
        x = self.coordinates()[:, None]
        places = np.floor(x) + np.arange(1 - reach, reach + 1)
        weights = kernel(((places - x) * squeeze).astype(np.float32))
        if exclude_outside:
            weights = np.where((places < 0) | (places > self.extent - 1), np.float32(0), weights)
        if exclude_outside or antialias:
            weights = weights / weights.sum(1, keepdims=True)
        return np.clip(places, 0, self.extent - 1).astype(np.int64), weights.astype(np.float32)


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
    if len(sizes) != len(axes) or any(size < 1 for size in sizes) or any(shape[axis] == 0 for axis in axes):
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
    moving = {axis: one for axis, one in resized.items() if one.scale != 1 or one.mode == "tf_crop_and_resize"}
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
    if x.kind == kind or kind == i1 or (mode == "linear" and not antialias and kind in _CUT_OFF):
        return x.cast(kind)
    return x.saturated(kind)


def _in_order(moving: dict[int, ResizedAxis]) -> list[int]:
    """The axes in the order to resample along: first what shrinks, then what grows, the last axis of these first. So
    most is summed along the first axes, where what lies side by side has the same weights."""
    shrinking = [axis for axis, one in moving.items() if one.count < one.extent]
    return [*sorted(shrinking), *sorted(moving.keys() - set(shrinking), reverse=True)]
