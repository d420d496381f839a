"""Recurrent layers: LSTM, GRU, RNN, and those of com.microsoft whose weights are integers.

Each direction is one graph operation; what the inputs contribute to the gates is one product for all steps before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from aotc.dialects.dtypes import numpy_dtype
from aotc.dialects.graph.functions import ACTIVATIONS, Activation
from aotc.dialects.graph.quantized.bytes import FLIPPED, UI8
from aotc.dialects.graph.recurrent.cells import GruOp, LstmCell, LstmOp, RnnOp, RoundedLstmOp
from aotc.dialects.graph.recurrent.recurrence import RecurrenceOp
from aotc.frontend.onnx.importers.contraction import multiply
from aotc.frontend.onnx.importers.microsoft.layers import DOMAIN
from aotc.frontend.onnx.importers.movement import cut
from aotc.frontend.onnx.importers.quantization import dynamic_quantize
from aotc.frontend.onnx.node import Operands, Tensor, joined
from aotc.frontend.onnx.registry import Node, onnx_op
from aotc.model.weight_store import Array

_DIRECTIONS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}
"""For each value of `direction` whether the steps of each of its directions are in reverse."""

_NAMES = {name.replace("_", ""): name for name in ACTIVATIONS}
"""Names of activations by their ONNX names in lower case."""


_LAYERS: dict[str, tuple[type[RecurrenceOp], list[str]]] = {
    "RNN": (RnnOp, ["Tanh"]),
    "GRU": (GruOp, ["Sigmoid", "Tanh"]),
    "LSTM": (LstmOp, ["Sigmoid", "Tanh", "Tanh"]),
}
"""The operation of one direction, and the activations that it has unless the node says others."""


@onnx_op(*_LAYERS)
def recurrent(node: Node) -> list[Tensor]:
    return Layer(node, *_LAYERS[node.op_type]).results()


@dataclass(frozen=True)
class Direction:
    """One direction of a layer."""

    number: int
    reverse: bool


class Layer:
    """A node of a recurrent layer while it is imported; raises CompileError where its inputs do not fit."""

    def __init__(self, node: Node, op_class: type[RecurrenceOp], activations: Sequence[str]) -> None:
        self.node = node
        self.op_class = op_class
        direction, layout = node.attr("direction", "forward"), node.attr("layout", 0)
        node.require_choice("direction", direction, _DIRECTIONS)
        node.require_choice("layout", layout, (0, 1))
        self.batch_first = bool(layout)
        self.directions = [Direction(*each) for each in enumerate(_DIRECTIONS[direction])]
        x, weight = node.shape(0), node.shape(2)
        if len(x) != 3 or len(weight) != 3:
            node.fail("invalid-shape", f"X {list(x)} and R {list(weight)} must have three axes each")
        self.steps, self.batch, self.inputs = (x[1], x[0], x[2]) if self.batch_first else x
        self.units = weight[2]
        self.count = len(self.directions)
        if node.attr("hidden_size", self.units) != self.units:
            node.fail("invalid-attribute", f"hidden_size is {node.attr('hidden_size')}, R is for {self.units}")
        gates = op_class.GATES * self.units
        self._require(1, "W", (self.count, gates, self.inputs))
        self._require(2, "R", (self.count, gates, self.units))
        self._require(3, "B", (self.count, 2 * gates))
        self._require(4, "sequence_lens", (self.batch,))
        self.state = (self.batch, self.count, self.units) if self.batch_first else (self.count, self.batch, self.units)
        self._require(5, "initial_h", self.state)
        self.is_lstm = issubclass(op_class, LstmCell)
        if self.is_lstm:
            self._require(6, "initial_c", self.state)
            self._require(7, "P", (self.count, 3 * self.units))
        self.clip = node.attr("clip")
        if self.clip is not None and not self.clip > 0:
            what = f"clip = {self.clip} is not supported"
            node.fail("invalid-attribute", what, "it is a limit on both sides of 0", "use a positive one")
        self.activations = self._activations(activations)

    def _require(self, position: int, name: str, shape: tuple[int, ...]) -> None:
        value = self.node.optional_tensor(position)
        if value is not None and value.shape != shape:
            what = f"{name} (input {position}) must be {list(shape)}, found {list(value.shape)}"
            self.node.fail("invalid-shape", what)

    def _activations(self, defaults: Sequence[str]) -> list[tuple[str, float, float]]:
        """Name, alpha and beta of each; the lists of alphas and betas are for those that have one, in order."""
        node = self.node
        names: list[str] = node.attr("activations", list(defaults) * self.count)
        if len(names) != len(defaults) * self.count:
            what = f"{len(names)} activations for {self.count} x {len(defaults)}"
            node.fail("invalid-attribute", what, fix="give those of each direction")
        given = [list(node.attr(name, [])) for name in ("activation_alpha", "activation_beta")]
        found: list[tuple[str, float, float]] = []
        for name in names:
            node.require_choice("activation", name.lower(), _NAMES)
            row = ACTIVATIONS[_NAMES[name.lower()]]
            alpha, beta = [
                0.0 if place >= row.parameters else float(left.pop(0)) if left else self._default(name, row, place)
                for place, left in enumerate(given)
            ]
            found.append((_NAMES[name.lower()], alpha, beta))
        return found

    def _default(self, name: str, row: Activation, place: int) -> float:
        if row.defaults:
            return row.defaults[place]
        what = f"activation {name} has no {('alpha', 'beta')[place]}"
        fix = "give activation_alpha and activation_beta, in the order of the activations that have them"
        self.node.fail("missing-attribute", what, "ONNX has no default for it", fix)

    # Parts of the inputs

    def _of(self, position: int, direction: Direction) -> Tensor | None:
        """The part of a direction in an optional input whose first axis counts directions."""
        value = self.node.optional_tensor(position)
        return None if value is None else _part(value, 0, direction.number, 1).reshape(value.shape[1:])

    def _initial(self, position: int, direction: Direction) -> Tensor | None:
        """The state [B, H] to begin with; zeros for sequences without elements, of which it is the last one, too:
        onnxruntime has it so."""
        node, value = self.node, self.node.optional_tensor(position)
        if value is None:
            return None
        part = _part(value, 1 if self.batch_first else 0, direction.number, 1)
        state = part.reshape([self.batch, self.units])
        known = node.known(4)
        if node.optional(4) is None or (known is not None and bool((known > 0).all())):
            return state
        there = node.tensor(4).reshape([self.batch, 1]) > 0
        return there.choose(state, 0)

    def _lengths(self) -> SSAValue | None:
        """The lengths, where not all sequences are known to be whole."""
        known = self.node.known(4)
        return None if known is not None and bool((known == self.steps).all()) else self.node.optional(4)

    # Results

    def results(self) -> list[Tensor]:
        """Y and the states after the last step, of all directions."""
        x = self.node.tensor(0)
        if self.batch_first:
            x = x.transpose([1, 0, 2])
        rows = x.reshape([self.steps * self.batch, self.inputs])
        found = [self._direction(rows, direction) for direction in self.directions]
        y, *states = (list(values) for values in zip(*found, strict=True))
        whole = [joined([each.reshape([self.steps, 1, self.batch, self.units]) for each in y], 1)]
        whole += [joined([e.reshape([1, self.batch, self.units]) for e in each], 0) for each in states]
        if not self.batch_first:
            return whole
        permutations = [[2, 0, 1, 3], *[[1, 0, 2]] * len(states)]
        return [value.transpose(order) for value, order in zip(whole, permutations, strict=True)]

    def _direction(self, rows: Tensor, direction: Direction) -> list[Tensor]:
        """Y [T, B, H] and the states [B, H] of one direction."""
        node, units, gates = self.node, self.units, self.op_class.GATES
        weight, bias = self._of(2, direction), self._of(3, direction)
        extra: Sequence[Operands] = []
        recurrent: Tensor | None = None
        if bias is not None:
            recurrent = _part(bias, 0, gates * units, gates * units)
            bias = _part(bias, 0, 0, gates * units)
        if self.op_class is GruOp:
            assert weight is not None
            candidate = _part(weight, 0, 2 * units, units)
            candidate_bias = None if recurrent is None else _part(recurrent, 0, 2 * units, units)
            if self.node.attr("linear_before_reset", 0):
                extra = [None, candidate_bias]
                if recurrent is not None:
                    zeros = node.constant(node.filled([units], 0, numpy_dtype(node.element_type(0))))
                    recurrent = joined([_part(recurrent, 0, 0, 2 * units), Tensor(node, zeros)], 0)
            else:
                extra, weight = [candidate, None], _part(weight, 0, 0, 2 * units)
        elif self.is_lstm:
            multiplied = [None] * 5  # inputs and states that the layer multiplies itself
            extra = [self._initial(6, direction), self._of(7, direction), *multiplied, *self._integers(direction)]
        product = self._product(rows, direction)
        if bias is not None and recurrent is not None:
            product += bias + recurrent
        x = product.reshape([self.steps, self.batch, gates * units])
        values = node.emit_all(
            self.op_class, x, weight, self._initial(5, direction), self._lengths(), *extra, **self._options(direction)
        )
        return [Tensor(node, value) for value in values[: 1 + self.op_class.STATES]]

    def _product(self, rows: Tensor, direction: Direction) -> Tensor:
        """The rows of all steps times the weight of the inputs."""
        return rows.emit("matmul", self._of(1, direction), transpose_rhs=True)

    def _integers(self, direction: Direction) -> Sequence[SSAValue | None]:
        """The operands that follow where the weight for the state is of integers."""
        return []

    def _options(self, direction: Direction) -> dict[str, Any]:
        each = self.op_class.ACTIVATIONS
        mine = self.activations[direction.number * each : (direction.number + 1) * each]
        names, alphas, betas = zip(*mine, strict=True)
        node = self.node
        return {
            "activations": list(names),
            "alphas": list(alphas),
            "betas": list(betas),
            "clip": None if self.clip is None else float(self.clip),
            "reverse": direction.reverse,
            "input_forget": bool(node.attr("input_forget", 0)) if self.is_lstm else None,
            "gated": True if self.op_class is GruOp and not node.attr("linear_before_reset", 0) else None,
        }


def _part(value: Tensor, axis: int, start: int, size: int) -> Tensor:
    """`size` indices of an axis, from `start` on."""
    return cut(value, {axis: (start, 1, size)})


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
