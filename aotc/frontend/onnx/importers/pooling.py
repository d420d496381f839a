"""Pooling operators, and the attributes that pooling and convolution share."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.ir import SSAValue

from aotc.frontend.onnx.registry import Node, onnx_op


def window_attributes(
    node: Node, extents: Sequence[int], kernel: Sequence[int], crop: bool = False
) -> dict[str, list[int]]:
    """strides, dilations and explicit pads (all begins, then all ends) of a window of `kernel` over `extents`.

    Where strides are larger than the kernel, the pads that auto_pad asks for are negative: with `crop` they stay so.
    """
    rank = len(kernel)
    strides: list[int] = node.attr("strides", [1] * rank)
    dilations: list[int] = node.attr("dilations", [1] * rank)
    pads: list[int] = [0] * (2 * rank)
    match node.attr("auto_pad", ""):
        case "" | "NOTSET":
            pads = node.attr("pads", pads)
            if any(amount < 0 for amount in pads):
                node.fail("invalid-attribute", f"pads {pads} must not be negative")
        case "VALID":
            pass
        case "SAME_UPPER" | "SAME_LOWER" as mode:
            if any(stride < 1 for stride in strides):
                node.fail("invalid-attribute", f"strides {strides} must be positive")
            begins: list[int] = []
            ends: list[int] = []
            for extent, size, stride, dilation in zip(extents, kernel, strides, dilations, strict=False):
                span = (size - 1) * dilation + 1
                total = (-(-extent // stride) - 1) * stride + span - extent
                total = total if crop else max(total, 0)
                begins.append(math.trunc((total if mode == "SAME_UPPER" else total + 1) / 2))
                ends.append(total - begins[-1])
            pads = begins + ends
        case other:
            why = "it must be NOTSET, VALID, SAME_UPPER or SAME_LOWER"
            node.fail("invalid-attribute", f'auto_pad is "{other}"', why)
    return {"strides": strides, "pads": pads, "dilations": dilations}


def _pool(node: Node, operation: str, x: SSAValue, **attributes: object) -> SSAValue:
    kernel: list[int] = node.attr("kernel_shape", [])
    windows = window_attributes(node, node.shape(0)[2:], kernel, crop=True)
    pads, dilations = windows["pads"], windows["dilations"]
    spans = [(size - 1) * dilation + 1 for size, dilation in zip(kernel, dilations, strict=False)]
    if any(pad >= span for pad, span in zip(pads, spans * 2, strict=False)):
        why = "a window would lie in the padding alone and have no elements"
        node.fail("unsupported-attribute", f"pads {pads} must be smaller than the kernel, which spans {spans}", why)
    return node.emit(operation, x, kernel=kernel, ceil=bool(node.attr("ceil_mode", 0)), **windows, **attributes)


@onnx_op("MaxPool")
def max_pool(node: Node) -> list[SSAValue | None]:
    result = _pool(node, "max_pool", node.input(0))
    if len(node.outputs) < 2 or not node.outputs[1]:
        return [result]
    return [result, _pool(node, "max_pool_indices", node.input(0), column_major=bool(node.attr("storage_order", 0)))]


@onnx_op("AveragePool")
def average_pool(node: Node) -> SSAValue:
    return _pool(node, "average_pool", node.input(0), include_pad=bool(node.attr("count_include_pad", 0)))


@onnx_op("LpPool")
def lp_pool(node: Node) -> SSAValue:
    return _pool(node, "lp_pool", node.input(0), p=node.attr("p", 2))


@onnx_op("GlobalAveragePool", "GlobalMaxPool")
def global_pool(node: Node) -> SSAValue:
    axes = list(range(2, len(node.shape(0))))
    kind = "mean" if node.op_type == "GlobalAveragePool" else "max"
    return node.emit("reduce", node.input(0), kind=kind, axes=axes, keepdims=True)


@onnx_op("GlobalLpPool")
def global_lp_pool(node: Node) -> SSAValue:
    kernel = node.shape(0)[2:]
    rank, p = len(kernel), node.attr("p", 2)
    ones = [1] * rank
    return node.emit("lp_pool", node.input(0), kernel=kernel, strides=ones, dilations=ones, pads=[0] * 2 * rank, p=p)
