"""Custom operators whose state is what came before: delays, frames, stacks, overlaps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lite_reference.fixed import Array, wide
from lite_reference.nodes import Node, computes
from lite_reference.signal import options_of


def _kept(node: Node, first: Array) -> Array:
    return node.memory.states.setdefault((node.out.tensor.name, ""), first)


def _keep(node: Node, value: Array) -> None:
    node.memory.states[node.out.tensor.name, ""] = value


@computes("SignalDelay")
def delay(node: Node) -> Array:
    """The input of some numbers ago, at first 0; each row by itself."""
    x = node[0].array.reshape(-1, node[0].array.shape[-1])
    before = _kept(node, np.zeros((len(x), options_of(node)["delay_length"]), np.int16))
    both = np.concatenate([before, x], 1)
    _keep(node, both[:, x.shape[1] :])
    return np.ascontiguousarray(both[:, : x.shape[1]])


@computes("SignalFramer")
def framer(node: Node) -> Sequence[Array]:
    """Overlapping frames, and whether there are enough numbers for all; else what was in the output stays there."""
    options, x = options_of(node), node[0].array.reshape(-1, node[0].array.shape[-1])
    size, step = options["frame_size"], options["frame_step"]
    begin = np.zeros((len(x), size - step if options["prefill"] else 0), np.int16)
    queue, valid = _kept(node, begin), True
    frames = np.zeros((len(x), x.shape[1] // step, size), np.int16)
    for place in range(x.shape[1] // step):
        queue = np.concatenate([queue, x[:, place * step : (place + 1) * step]], 1)
        if queue.shape[1] >= size:
            frames[:, place], queue = queue[:, :size], queue[:, step:]
        else:
            valid = False
    _keep(node, queue)
    return [frames, np.array(valid)]


@computes("SignalStacker")
def stacker(node: Node) -> Sequence[Array]:
    """Neighbouring frames side by side, the first repeated to its left, and whether there are enough."""
    options = options_of(node)
    channels, left, right = (
        options[name] for name in ("num_channels", "stacker_left_context", "stacker_right_context")
    )
    queue, frame = _kept(node, np.zeros(0, np.int16)), node[0].array.reshape(-1)
    is_first = (node.out.tensor.name, "begun") not in node.memory.states
    node.memory.states[node.out.tensor.name, "begun"] = np.array(True)
    queue = np.concatenate([queue, *([frame] * (left + 1 if is_first else 1))])
    size, out = channels * (left + right + 1), np.zeros(node.shape, np.int16)
    valid = len(queue) >= size
    if valid:
        out, queue = queue[:size], queue[channels * options["stacker_step"] :]
    _keep(node, queue)
    return [out, np.array(valid)]


@computes("SignalOverlapAdd")
def overlap_add(node: Node) -> Array:
    """Frames added where they overlap, saturating in int16."""
    x, step = node[0].array, options_of(node)["frame_step"]
    frames = x.reshape(-1, *x.shape[-2:])
    sums = _kept(node, np.zeros((len(frames), x.shape[-1]), x.dtype))
    out: list[Array] = []
    for place in range(frames.shape[1]):
        if x.dtype == np.int16:
            sums = np.clip(wide(sums) + frames[:, place], -32768, 32767).astype(np.int16)
        else:
            sums = sums + frames[:, place]
        out.append(sums[:, :step])
        sums = np.concatenate([sums[:, step:], np.zeros((len(sums), step), x.dtype)], 1)
    _keep(node, sums)
    return np.concatenate(out, 1)


@computes("CIRCULAR_BUFFER")
def circular_buffer(node: Node) -> Array:
    """The last inputs, the newest behind, at first the zero point; with `cycles_max` above 1 other calls end there."""
    slots = _kept(node, np.full(node.shape, node.out.zero, np.int8))
    _keep(node, np.concatenate([slots[:, 1:], node[0].array], 1))
    return _kept(node, slots)
