"""The custom operator `Preemphasis` of TensorFlow Lite."""

from __future__ import annotations

from aotc.frontend.emitter import Tensor
from aotc.frontend.tflite.node import Node
from aotc.frontend.tflite.registry import tflite_op
from aotc_signal.dialect import PreemphasisOp


@tflite_op("Preemphasis")
def preemphasis(node: Node) -> Tensor:
    """Option `coefficient` of the flexbuffer (a number, default 0.97); the last axis of the float32 input is time."""
    node.require_type(0, "float32")
    return node.tensor(0).emit(PreemphasisOp, coefficient=float(node.custom("coefficient", 0.97)))
