"""The mathematics of Resize along one axis: which elements each result element weighs, and how much.

Coordinates are computed in single precision, as onnxruntime does: which neighbour is nearest can depend on it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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

_HALF = np.float32(0.5)


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

    def coordinates(self) -> Floats:
        """For each result element its place in the operand, in elements."""
        x = np.arange(self.count, dtype=np.float32)
        scale = np.float32(self.scale)
        last, count = np.float32(self.extent - 1), np.float32(self.count)
        if self.mode == "tf_crop_and_resize":
            start, end = (np.float32(bound) for bound in self.roi)
            if self.count == 1:
                return np.array([_HALF * (start + end) * last], np.float32)
            return start * last + x * (end - start) * last / (count - 1)
        if scale == 1:
            return x
        match self.mode:
            case "asymmetric":
                return x / scale
            case "pytorch_half_pixel":
                return (x + _HALF) / scale - _HALF if self.count > 1 else np.zeros(self.count, np.float32)
            case "tf_half_pixel_for_nn":
                return (x + _HALF) / scale
            case "align_corners":
                return x * last / (count - 1) if self.count > 1 else np.zeros(self.count, np.float32)
            case "half_pixel_symmetric":
                adjustment = count / (scale * np.float32(self.extent))
                offset = np.float32(self.extent) / 2 * (1 - adjustment)
                return offset + (x + _HALF) / scale - _HALF
            case _:
                return (x + _HALF) / scale - _HALF

    def outside(self) -> NDArray[np.bool_]:
        """Which result elements show what lies beyond the operand; only `tf_crop_and_resize` extrapolates."""
        x = self.coordinates()
        return (x < 0) | (x > self.extent - 1) if self.mode == "tf_crop_and_resize" else np.zeros(x.shape, np.bool_)

    def nearest(self, rounding: str) -> Integers:
        """The nearest element of the operand; `rounding` is one of `NEAREST_MODES`."""
        x = self.coordinates()
        match rounding:
            case "floor":
                found = np.floor(x)
            case "ceil":
                found = np.ceil(x)
            case "round_prefer_ceil":
                found = np.floor(x) + (x - np.floor(x) >= _HALF)
            case "simple":
                found = np.ceil(x) if self.scale < 1 else np.trunc(x)
            case _:
                found = np.ceil(x - _HALF)
        return np.clip(found, 0, self.extent - 1).astype(np.int64)

    def linear(self, exclude_outside: bool = False, antialias: bool = False) -> tuple[Integers, Floats]:
        """Elements and weights, [count, taps] each, of linear interpolation."""
        if antialias and self.scale < 1:
            return self._filtered(lambda x: np.maximum(1 - np.abs(x), 0), 1, exclude_outside, True)
        x = np.clip(self.coordinates(), 0, self.extent - 1)
        first = x.astype(np.int64)
        share = x - first.astype(np.float32)
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
        squeeze = np.float32(min(self.scale, 1.0)) if antialias else np.float32(1)
        reach = int(np.ceil(radius / squeeze))
        x = self.coordinates()[:, None]
        places = np.floor(x) + np.arange(1 - reach, reach + 1, dtype=np.float32)
        weights = kernel((places - x) * squeeze)
        if exclude_outside:
            weights = np.where((places < 0) | (places > self.extent - 1), np.float32(0), weights)
        if exclude_outside or antialias:
            weights = weights / weights.sum(1, keepdims=True)
        return np.clip(places, 0, self.extent - 1).astype(np.int64), weights.astype(np.float32)
