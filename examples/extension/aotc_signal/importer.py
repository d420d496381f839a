"""The ONNX operator `Preemphasis` of domain `com.example.signal`."""

from __future__ import annotations

from xdsl.ir import SSAValue

from aotc.frontend.onnx.registry import Node, onnx_op
from aotc_signal.dialect import PreemphasisOp


@onnx_op("Preemphasis", domain="com.example.signal")
def preemphasis(node: Node) -> SSAValue:
    """Attribute `coefficient` (float, default 0.97); input and output: float tensors whose last axis is time."""
    return node.emit(PreemphasisOp, node.input(0), coefficient=float(node.attr("coefficient", 0.97)))
