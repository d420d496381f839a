"""Recurrent layers whose weights are integers."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from aotc.dialects.graph.elementwise import MulOp, SubOp
from aotc.dialects.graph.recurrent.cells import LstmOp
from aotc.frontend.onnx.expressions import cast
from aotc.frontend.onnx.importers.contraction import multiply
from aotc.frontend.onnx.importers.microsoft.layers import DOMAIN
from aotc.frontend.onnx.importers.quantization import dynamic_quantize
from aotc.frontend.onnx.importers.recurrent import Direction, Layer
from aotc.frontend.onnx.registry import Node, onnx_op
from aotc.model.weights import Array


@onnx_op("DynamicQuantizeLSTM", domain=DOMAIN)
def dynamic_quantize_lstm(node: Node) -> list[SSAValue]:
    """An LSTM whose inputs, of all steps together, and whose state, in each step, are rounded to 8 bits.

    The sums are of integers. onnxruntime rounds the states of a batch together, here each line is rounded alone.
    """
    inputs, state = _Weight(node, 1, 8), _Weight(node, 2, 10)
    integers = [node.constant(each.centred.swapaxes(1, 2).astype(np.float32)) for each in (inputs, state)]
    node.inputs = [node.inputs[0], *integers, *node.inputs[3:8]]
    return _RoundedLayer(node, inputs, state).results()


class _Weight:
    """A weight of integers [directions, depth, 4 * units]; the zero point and the scale of each column."""

    def __init__(self, node: Node, position: int, scale: int) -> None:
        self.integers = node.constant_input(position, "the weight")
        if self.integers.ndim != 3:
            node.fail(f"the weight (input {position}) must have three axes, found {list(self.integers.shape)}")
        directions, _, columns = self.integers.shape
        self.scales = self._along(node.constant_input(scale, "its scale"), columns).astype(np.float32)
        point = node.known(scale + 1)
        self.points = np.zeros([directions, columns]) if point is None else self._along(point, columns)

    def _along(self, values: Array, columns: int) -> Array:
        """One number for each direction, or for each of its columns, as [directions, columns]."""
        return np.broadcast_to(values.reshape(len(self.integers), -1), [len(self.integers), columns])

    @property
    def centred(self) -> Array:
        """The integers less their zero points."""
        return self.integers.astype(np.int32) - self.points.astype(np.int32)[:, None, :]


class _RoundedLayer(Layer):
    ROUNDED = True

    def __init__(self, node: Node, inputs: _Weight, state: _Weight) -> None:
        super().__init__(node, LstmOp, ["Sigmoid", "Tanh", "Tanh"])
        self._inputs = inputs
        self._state = state

    def _product(self, rows: SSAValue, direction: Direction) -> SSAValue:
        node, weight, number = self.node, self._inputs, direction.number
        quantized, scale, point = dynamic_quantize(node, rows)
        left = node.emit(SubOp, cast(node, quantized, i32), cast(node, point, i32))
        right, points = cast(node, node.constant(weight.integers[number]), i32), weight.points[number]
        if points.any():
            right = node.emit(SubOp, right, cast(node, node.constant(points.astype(weight.integers.dtype)), i32))
        factors = node.emit(MulOp, scale, node.constant(weight.scales[number].copy()))
        return node.emit(MulOp, cast(node, multiply(node, left, right), f32), factors)

    def _state_scales(self, direction: Direction) -> SSAValue:
        return self.node.constant(self._state.scales[direction.number].copy())
