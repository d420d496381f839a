"""Windows that slide over images: strides, dilations and padding as TensorFlow Lite has them."""

from __future__ import annotations

from collections.abc import Sequence

from aotc.frontend.tflite.node import Node

_SAME = 0
"""The number of that padding in the schema."""


def window_attributes(node: Node, extents: Sequence[int], kernel: Sequence[int]) -> dict[str, list[int]]:
    """strides, dilations and explicit pads of a window of `kernel` over `extents`, height and width."""
    strides = [node.option("StrideH", 1), node.option("StrideW", 1)]
    dilations = [node.option("DilationHFactor", 1), node.option("DilationWFactor", 1)]
    is_positive = min(*strides, *dilations, *kernel) > 0
    node.require(is_positive, "invalid-attribute", "a stride, dilation or extent is not positive")
    before, after = [0, 0], [0, 0]
    if node.option("Padding") == _SAME:
        for axis, (extent, size, stride, dilation) in enumerate(zip(extents, kernel, strides, dilations, strict=True)):
            total = max((-(-extent // stride) - 1) * stride + (size - 1) * dilation + 1 - extent, 0)
            before[axis], after[axis] = total // 2, total - total // 2
    return {"strides": strides, "dilations": dilations, "pads": before + after}
