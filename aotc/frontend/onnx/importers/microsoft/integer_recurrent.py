"""Recurrent layers whose weights are integers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from aotc.dialects.graph.quantized.bytes import FLIPPED, UI8
from aotc.dialects.graph.recurrent.cells import RoundedLstmOp
from aotc.frontend.onnx.importers.contraction import multiply
from aotc.frontend.onnx.importers.microsoft.layers import DOMAIN
from aotc.frontend.onnx.importers.quantization import dynamic_quantize
from aotc.frontend.onnx.importers.recurrent import Direction, Layer
from aotc.frontend.onnx.node import Tensor
from aotc.frontend.onnx.registry import Node, onnx_op
from aotc.model.weight_store import Array


@onnx_op("DynamicQuantizeLSTM", domain=DOMAIN)
def dynamic_quantize_lstm(node: Node) -> list[Tensor]:
    """An LSTM whose inputs, of all steps together, and whose state, in each step, are rounded to 8 bits.

    The sums are of integers. onnxruntime rounds the states of rows that one thread computes together, here each line
    is rounded alone.
    """
    inputs, state = _Weight.of(node, 1, 8), _Weight.of(node, 2, 10).signed()
    integers = [node.constant(each.integers.swapaxes(1, 2).copy()) for each in (inputs, state)]
    node.inputs = [node.inputs[0], *integers, *node.inputs[3:8]]
    return _RoundedLayer(node, inputs, state).results()


@dataclass(frozen=True)
class _Weight:
    """A weight of integers [directions, depth, 4 * units]; the scale and the zero point of each column."""

    integers: Array
    scales: Array
    """[directions, 4 * units]."""
    points: Array
    """As the scales, i32."""

    @classmethod
    def of(cls, node: Node, position: int, scale: int) -> _Weight:
        """The input at `position`, its scale and zero point at `scale` and behind; these are one number for each
        direction, or for each of its columns."""
        integers = node.constant_input(position, "the weight")
        if integers.ndim != 3:
            what = f"the weight (input {position}) must have three axes, found {list(integers.shape)}"
            node.fail("invalid-shape", what)
        directions, _, columns = integers.shape

        def along(values: Array) -> Array:
            return np.broadcast_to(values.reshape(directions, -1), [directions, columns])

        point = node.known(scale + 1)
        points = np.zeros([directions], np.int32) if point is None else point.astype(np.int32)
        scales = along(node.constant_input(scale, "its scale")).astype(np.float32)
        return cls(integers, scales, along(points))

    def signed(self) -> _Weight:
        """The same weight in i8."""
        if self.integers.dtype == np.int8:
            return self
        integers = (self.integers.astype(np.int16) - FLIPPED).astype(np.int8)
        return _Weight(integers, self.scales, self.points - FLIPPED)


class _RoundedLayer(Layer):
    def __init__(self, node: Node, inputs: _Weight, state: _Weight) -> None:
        super().__init__(node, RoundedLstmOp, ["Sigmoid", "Tanh", "Tanh"])
        self._inputs = inputs
        self._state = state

    def _product(self, rows: Tensor, direction: Direction) -> Tensor:
        node, weight, number = self.node, self._inputs, direction.number
        quantized, scale, point = dynamic_quantize(rows)
        left = quantized.cast(i32) - point.cast(i32)
        right, points = Tensor(node, node.constant(weight.integers[number])).cast(i32), weight.points[number]
        if points.any():
            right -= Tensor(node, node.constant(points.astype(weight.integers.dtype))).cast(i32)
        factors = scale * node.constant(weight.scales[number].copy())
        return multiply(left, right).cast(f32) * factors

    def _integers(self, direction: Direction) -> Sequence[SSAValue | None]:
        number, weight = direction.number, self._state
        points = weight.points[number]
        sums = weight.integers[number].sum(axis=0, dtype=np.int32) - len(weight.integers[number]) * points
        given = [weight.scales[number], sums, points if points.any() else None]
        return [None if each is None else self.node.constant(each.astype(each.dtype)) for each in given]

    def _options(self, direction: Direction) -> dict[str, Any]:
        return super()._options(direction) | {"state_type": UI8}
