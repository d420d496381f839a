"""Recurrent layers whose weights are integers."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from aotc.dialects.graph.recurrent.cells import LstmOp
from aotc.frontend.onnx.importers.microsoft.layers import DOMAIN
from aotc.frontend.onnx.importers.recurrent import Layer
from aotc.frontend.onnx.registry import Node, onnx_op
from aotc.model.weights import Array


@onnx_op("DynamicQuantizeLSTM", domain=DOMAIN)
def dynamic_quantize_lstm(node: Node) -> list[SSAValue]:
    """An LSTM on the real numbers that the weights stand for.

    onnxruntime rounds the input and the state of every step to 8 bits, too: that is for speed, and is not done here.
    """
    weights = [node.constant(_real(node, position, scale)) for position, scale in ((1, 8), (2, 10))]
    node.inputs = [node.inputs[0], *weights, *node.inputs[3:8]]
    return Layer(node, LstmOp, ["Sigmoid", "Tanh", "Tanh"]).results()


def _real(node: Node, position: int, scale: int) -> Array:
    """A weight [directions, columns, 4 * units] as real numbers [directions, 4 * units, columns]."""
    weight = node.constant_input(position, "the weight")
    if weight.ndim != 3:
        node.fail(f"the weight (input {position}) must have three axes, found {list(weight.shape)}")
    factor = node.constant_input(scale, "its scale").astype(np.float32)
    point = node.known(scale + 1)
    point = np.zeros_like(factor) if point is None else point.astype(np.float32)

    def along(values: Array) -> Array:
        """One for each direction, or one for each of its rows."""
        return values.reshape(len(weight), 1, -1)

    return ((weight.astype(np.float32) - along(point)) * along(factor)).swapaxes(1, 2)
