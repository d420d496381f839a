"""Layers with a state: filters over what came before, and LSTM."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import i16, i32

from aotc.dialects.dtypes import element_type, integer_range
from aotc.frontend.emitter import Tensor, joined
from aotc.frontend.tflite import fixed_point, words
from aotc.frontend.tflite.arithmetic import Multiplier, wrapped
from aotc.frontend.tflite.importers.movement import cut
from aotc.frontend.tflite.node import Node
from aotc.frontend.tflite.registry import tflite_op
from aotc.model.weight_store import Array


@tflite_op("SVDF", moves=True)
def svdf(node: Node) -> Tensor:
    """Each filter is a product with the input, of which it remembers the last ones, and with these; `rank` of them are
    added. The state [batch, filters, memory] has the newest product last. Integers have no activation."""
    node.require_type(0, "float32", "int8")
    x, features, times, state = node.tensor(0), node.array(1, "the features"), node.array(2, "the times"), node.state(4)
    fits = len(x.shape) == 2 == features.ndim == times.ndim and features.shape == (len(times), x.shape[1])
    node.require(fits, "invalid-shape", f"filters {list(features.shape)} and {list(times.shape)} of {list(x.shape)}")
    (batch, _), (filters, memory), rank = x.shape, times.shape, node.option("Rank", 1)
    divides = rank > 0 and filters % rank == 0 and memory > 0
    node.require(divides, "invalid-attribute", f"{filters} filters of {memory} have the rank {rank}")
    fits = np.prod(state.tensor.shape, dtype=np.int64) == batch * filters * memory
    node.require(bool(fits), "invalid-shape", f"a state {list(state.tensor.shape)} of {batch} x {filters} x {memory}")
    newest = x.emit("matmul", node.constant(features), transpose_rhs=True) if x.dtype == np.float32 else None
    newest = _newest(node, x, features) if newest is None else newest
    older = cut(state().reshape([batch, filters, memory]), {2: (1, 1, memory - 1)})
    last = joined([older, newest.reshape([batch, filters, 1])], 2)
    state.becomes(last)
    rows, weights = last.reshape([batch, filters // rank, rank * memory]), times.reshape(filters // rank, -1)
    if x.dtype == np.float32:
        sums = (rows * node.constant(weights)).reduce("sum", [2], keepdims=False)
        bias = node.optional_tensor(3)
        return node.activated(sums if bias is None else sums + bias)
    scale, point = node.quantization(state.tensor)
    (of, _), (to, point_of_result) = node.input_quantization(2), node.quantization(node.results[0])
    sums = (node.integers(rows, point) * node.constant(weights.astype(np.int32))).reduce("sum", [2], keepdims=False)
    bias = node.optional_tensor(3)
    found = node.rescaled(sums if bias is None else sums + bias, Multiplier.of(_product(scale, of, to)))
    return (found + point_of_result).at_least(-128).at_most(127).cast(node.to)


def _product(one: np.float32, other: np.float32, to: np.float32) -> np.float64:
    return np.float64(one) * np.float64(other) / np.float64(to)


def _newest(node: Node, x: Tensor, features: Array) -> Tensor:
    """The products with the input, as the state has them: cut to its type before its zero point is added."""
    kind = node.declared(4).tensor.dtype
    node.require_type(1, "int8")
    node.require_type(4, "int8", "int16")
    node.require_type(2, kind)
    (of, point), (by, _), (to, zero) = (node.input_quantization(position) for position in (0, 1, 4))
    start = wrapped(-features.astype(np.int64).sum(1) * point).astype(np.int32)
    sums = x.emit("matmul", node.constant(features), transpose_rhs=True, accumulator=i32) + node.constant(start)
    low, high = integer_range(element_type(kind))
    newest = node.rescaled(sums, Multiplier.of(_product(of, by, to))).at_least(low).at_most(high)
    return (newest + zero if zero else newest).cast(element_type(kind))


# --- LSTM -------------------------------------------------------------------------------------------------------------

_GATES = 4
_INPUT, _RECURRENT, _BIAS, _HIDDEN, _CELL = 1, 5, 12, 18, 19
"""Where the inputs of the input, forget, cell and output gate begin, and the states."""
_WITHOUT = (9, 10, 11, 16, 17, 20, 21, 22, 23)
"""Inputs of layers that look at the cell, project the state, or normalise."""
_FRACTION = np.float32(2**-15)
"""Of what logistic and tanh give."""


@tflite_op("UNIDIRECTIONAL_SEQUENCE_LSTM", moves=True)
def lstm(node: Node) -> Tensor:
    """One time step after the other of all sequences. Gates of integers are in 4096ths, the cell in a power of two."""
    node.require_type(0, "float32", "int8", "int16")
    given = [position for position in _WITHOUT if node.value(position) is not None]
    what = f"there are inputs {', '.join(map(str, given))}"
    node.require(not given, "unsupported-attribute", what, "only layers without peepholes, projection and norms")
    x, is_major = node.tensor(0), bool(node.option("TimeMajor"))
    node.require(len(x.shape) == 3, "invalid-shape", f"sequences of shape {list(x.shape)}", "they have three axes")
    x = x if is_major else x.transpose([1, 0, 2])
    layer = _Layer(node, *x.shape)
    return_, cell = (node.state(position) for position in (_HIDDEN, _CELL))
    states = [each().reshape([layer.batch, layer.units]) for each in (return_, cell)]
    if x.shape[0] == 1:
        following, y = layer.step(x.reshape(x.shape[1:]), *states)
        y = y.reshape([1, *y.shape])
    else:
        following, y = node.steps([x], states, layer.step)
    for state, value in zip((return_, cell), following, strict=True):
        state.becomes(value)
    return y if is_major else y.transpose([1, 0, 2])


class _Layer:
    """A layer of `units` on a `batch` of sequences."""

    def __init__(self, node: Node, steps: int, batch: int, depth: int) -> None:
        self.node, self.batch = node, batch
        self.is_real = node.declared(0).tensor.dtype == "float32"
        self.units = node.results[0].shape[-1] if node.results[0].shape else 0
        self.inputs = self._weights(_INPUT, depth)
        self.recurrent = self._weights(_RECURRENT, self.units)
        biases = [node.array(_BIAS + gate, "a bias").reshape(-1) for gate in range(_GATES)]
        node.require(
            all(len(each) == self.units for each in biases), "invalid-shape", f"a bias has not {self.units} numbers"
        )
        self.bias = np.concatenate(biases)
        self.clip = np.float32(node.real_option("CellClip"))
        kinds = ("float32", "float32") if self.is_real else (node.declared(0).tensor.dtype, "int16")
        for position, kind in zip((_HIDDEN, _CELL), kinds, strict=True):
            node.require_type(position, kind)
            size = int(np.prod(node.declared(position).tensor.shape, dtype=np.int64))
            node.require(size == batch * self.units, "invalid-shape", f"a state has {size} numbers")

    def _weights(self, first: int, depth: int) -> list[Array]:
        """The matrices of all gates [units, depth]."""
        node = self.node
        for position in range(first, first + _GATES):
            node.require_type(position, "float32" if self.is_real else "int8")
        found = [node.array(position, "a matrix") for position in range(first, first + _GATES)]
        fits = all(each.shape == (self.units, depth) for each in found)
        node.require(fits, "invalid-shape", f"a matrix is not [{self.units}, {depth}]")
        return found

    def step(self, x: Tensor, hidden: Tensor, cell: Tensor) -> tuple[Sequence[Tensor], Tensor]:
        """The states [batch, units] after a time step of x [batch, depth], and the output."""
        gates = self._real_gates(x, hidden) if self.is_real else self._gates(x, hidden)
        parts = [cut(gates, {1: (gate * self.units, 1, self.units)}) for gate in range(_GATES)]
        cell, hidden = (self._next_real if self.is_real else self._next)(parts, cell)
        return [hidden, cell], hidden

    # --- real numbers -------------------------------------------------------------------------------------------------

    def _real_gates(self, x: Tensor, hidden: Tensor) -> Tensor:
        node = self.node
        given, last = (node.constant(np.concatenate(each)) for each in (self.inputs, self.recurrent))
        sums = x.emit("matmul", given, transpose_rhs=True) + node.constant(self.bias)
        return sums + hidden.emit("matmul", last, transpose_rhs=True)

    def _next_real(self, gates: Sequence[Tensor], cell: Tensor) -> tuple[Tensor, Tensor]:
        enter, forget, update, out = gates
        cell = forget.emit("sigmoid") * cell + enter.emit("sigmoid") * update.emit("tanh")
        if self.clip > 0:
            cell = cell.at_least(-float(self.clip)).at_most(float(self.clip))
        return cell, cell.emit("tanh") * out.emit("sigmoid")

    # --- integers -----------------------------------------------------------------------------------------------------

    def _gates(self, x: Tensor, hidden: Tensor) -> Tensor:
        """The arguments of the functions of gates, in 4096ths of 16 bits: two products, each saturating, and their
        sum, too."""
        given = self._scaled(x, 0, _INPUT, self.inputs, self.bias)
        last = self._scaled(hidden, _HIDDEN, _RECURRENT, self.recurrent, np.zeros_like(self.bias))
        return _saturated(given.cast(i32) + last.cast(i32))

    def _scaled(self, x: Tensor, position: int, first: int, matrices: Sequence[Array], bias: Array) -> Tensor:
        """Products with all matrices, in 4096ths of 16 bits."""
        node, (scale, point) = self.node, self.node.input_quantization(position)
        numbers = [node.input_quantization(first + gate) for gate in range(_GATES)]
        real = np.repeat([np.float64(scale) * np.float64(each) * 4096 for each, _ in numbers], self.units)
        zeros = [zero for _, zero in numbers]
        whole = np.concatenate([each.astype(np.int64) - zero for each, zero in zip(matrices, zeros, strict=True)])
        start = bias.astype(np.int64) - whole.sum(1) * point
        if any(zeros):
            node.require(whole.min() >= -128 and whole.max() <= 127, "unsupported-type", "a matrix has a zero point")
        matrix = whole.astype(np.int8)
        if x.dtype == np.int16:
            return _saturated(words.requantized(words.products(x, matrix, start), Multiplier.of(real)))
        start = node.constant(wrapped(start).astype(np.int32))
        sums = x.emit("matmul", node.constant(matrix), transpose_rhs=True, accumulator=i32) + start
        return _saturated(node.rescaled(sums, Multiplier.of(real), axis=1))

    def _next(self, gates: Sequence[Tensor], cell: Tensor) -> tuple[Tensor, Tensor]:
        node, (scale, _) = self.node, self.node.input_quantization(_CELL)
        power = int(np.round(np.log2(np.float64(scale))))
        node.require(2.0**power == scale, "unsupported-type", f"the scale of the cell, {scale}, is no power of two")
        enter, forget, out = (words.logistic(gates[gate].cast(i32) * 3) for gate in (0, 1, 3))
        update = words.tanh(gates[2].cast(i32) * 3)
        last = node.rescaled(forget * cell.cast(i32), Multiplier.of(np.float64(_FRACTION)))
        new = node.rescaled(enter * update, Multiplier.of(_product(_FRACTION, _FRACTION, scale)))
        cell = _saturated(_saturated(last).cast(i32) + _saturated(new).cast(i32))
        if self.clip > 0:
            most = int(min(np.float64(self.clip) / np.float64(scale), 32767))
            cell = cell.at_least(-most).at_most(most)
        to, point = node.input_quantization(_HIDDEN)
        shift, wide = power + 12, cell.cast(i32) * 3
        fine = wide * (1 << shift) if shift >= 0 else fixed_point.right(wide + (1 << -shift - 1), -shift)
        hidden = node.rescaled(words.tanh(fine) * out, Multiplier.of(_product(_FRACTION, _FRACTION, to))) + point
        kind = element_type(node.declared(_HIDDEN).tensor.dtype)
        low, high = integer_range(kind)
        return cell, hidden.at_least(low).at_most(high).cast(kind)


def _saturated(x: Tensor) -> Tensor:
    """i32 as i16."""
    return x.at_least(-(2**15)).at_most(2**15 - 1).cast(i16)
