"""Layers with a state: SVDF and LSTM."""

from __future__ import annotations

import numpy as np

from lite_reference.curves import logistic_of_words, tanh_of_words
from lite_reference.fixed import (
    Array,
    clipped,
    quantized_multiplier,
    requantized,
    requantized_wide,
    rounded,
    scaled,
    wide,
)
from lite_reference.nodes import Node, Value, computes, real_activated


def _state(node: Node, index: int) -> Array:
    """A variable of the node, at first 0, or its zero point in int8."""
    value, name = node[index], node.operator.inputs[index]
    assert name is not None
    key = (node.out.tensor.name, name)
    if key not in node.memory.states:
        first = value.zero if value.dtype == "int8" else 0
        node.memory.states[key] = np.full(value.array.shape, first, value.dtype)
    return node.memory.states[key]


@computes("SVDF")
def svdf(node: Node) -> Array:
    """A filter's newest element is the input times its weights, scaled and cut to the state's type before the zero
    point is added; sums over its memory, its rank and the bias are scaled once more. int8 has no activation."""
    x, weights, time, bias = node[0], node[1], node[2], node.get(3)
    state, rank = _state(node, 4), node.option("rank", 1)
    memory = state.reshape(x.array.shape[0], *time.array.shape)
    memory[..., :-1] = memory[..., 1:].copy()
    if x.dtype == "float32":
        memory[..., -1] = x.array @ weights.array.T
        sums = (memory.astype(np.float64) * time.array).sum(-1).reshape(len(memory), -1, rank).sum(-1)
        return real_activated(node, (sums + (bias.array if bias else 0)).astype(np.float32))
    kept = node[4]
    first = float(x.scale) * float(weights.scale) / float(kept.scale)
    last = float(kept.scale) * float(time.scale) / float(node.out.scale)
    newest = scaled(x.centered @ weights.array.astype(np.int64).T, first)
    memory[..., -1] = (clipped(newest, kept.dtype).astype(np.int64) + kept.zero).astype(kept.dtype)
    sums = ((memory.astype(np.int64) - kept.zero) * time.array.astype(np.int64)).sum(-1)
    sums = sums.reshape(len(memory), -1, rank).sum(-1) + (bias.array if bias else 0)
    return clipped(scaled(sums, last) + node.out.zero, np.int8)


# Places of an LSTM's inputs: of the input, forget, cell and output gate in this order.
_INPUT, _RECURRENT, _BIAS, _HIDDEN, _CELL = 1, 5, 12, 18, 19
_GATES = ("input", "forget", "cell", "output")
_FRACTION = 1 / 32768


def _gate(node: Node, x: Array, hidden: Array, gate: int) -> Array:
    """The number that a gate's function is applied to: two products, each requantised to 1/4096 in 16 bits, and their
    sum, saturating."""
    given, kept, bias = node[0], node[_HIDDEN], node[_BIAS + gate].array
    weights, recurrent = node[_INPUT + gate], node[_RECURRENT + gate]
    if given.dtype == "float32":
        return x @ weights.array.T + bias + hidden @ recurrent.array.T
    scale = requantized_wide if given.dtype == "int16" else requantized

    def product(value: Array, of: Value, matrix: Value, more: Array | int) -> Array:
        sums = (wide(value) - of.zero) @ matrix.centered.T + more
        factor = quantized_multiplier(float(of.scale) * float(matrix.scale) * 4096)
        return wide(clipped(scale(sums, *factor), np.int16))

    sums = product(x, given, weights, wide(bias)) + product(hidden, kept, recurrent, 0)
    return wide(clipped(sums, np.int16))


def _mul(a: Array, b: Array, real: float) -> Array:
    return requantized(wide(a) * wide(b), *quantized_multiplier(real))


@computes("UNIDIRECTIONAL_SEQUENCE_LSTM")
def lstm(node: Node) -> Array:
    """Gates by the tables of 16 bits; the cell in 16 bits of a scale that is a power of two, its products requantised
    in two roundings, their sum saturating and clipped; the output is tanh of the cell times the output gate."""
    hidden, cell = _state(node, _HIDDEN), _state(node, _CELL)
    is_real, major = node[0].dtype == "float32", node.option("time_major", False)
    steps = node[0].array if major else node[0].array.swapaxes(0, 1)
    outputs: list[Array] = []
    for x in steps:
        before = {name: _gate(node, x, hidden, place) for place, name in enumerate(_GATES)}
        step = _real_step if is_real else _integer_step
        hidden[...], cell[...] = step(node, before, cell)
        outputs.append(hidden.copy())
    return np.stack(outputs, 0 if major else 1)


def _real_step(node: Node, before: dict[str, Array], cell: Array) -> tuple[Array, Array]:
    gates = {name: 1 / (1 + np.exp(-value)) for name, value in before.items()}
    cell = gates["forget"] * cell + gates["input"] * np.tanh(before["cell"])
    clip = node.option("cell_clip", 0.0)
    cell = np.clip(cell, -clip, clip) if clip > 0 else cell
    return np.tanh(cell) * gates["output"], cell


def _integer_step(node: Node, before: dict[str, Array], cell: Array) -> tuple[Array, Array]:
    gates = {name: logistic_of_words(3 * before[name]) for name in ("input", "forget", "output")}
    update, scale = tanh_of_words(3 * before["cell"]), float(node[_CELL].scale)
    kept = wide(clipped(_mul(gates["forget"], cell, _FRACTION), np.int16))
    new = wide(clipped(_mul(gates["input"], update, _FRACTION * _FRACTION / scale), np.int16))
    cell = clipped(kept + new, np.int16)
    if (clip := node.option("cell_clip", 0.0)) > 0:
        most = int(min(float(np.float32(clip)) / scale, 32767))
        cell = np.clip(cell, -most, most)
    shift = 12 + int(rounded(np.log2(scale)))
    steps = wide(cell) * (3 << shift) if shift >= 0 else (wide(cell) * 3 + (1 << (-shift - 1))) >> -shift
    to = node[_HIDDEN]
    out = _mul(tanh_of_words(steps), gates["output"], _FRACTION * _FRACTION / float(to.scale))
    return clipped(out + to.zero, to.dtype), cell
