"""Custom operators of audio front ends: windows, energies, filter banks, and what is done with their channels.

Numbers without sign are computed with as such; what does not fit into their 32 or 64 bits is cut off.
"""

from __future__ import annotations

import math

import numpy as np
from xdsl.dialects.builtin import f64, i16, i32, i64

from aotc.dialects.dtypes import element_type
from aotc.frontend.emitter import Tensor
from aotc.frontend.tflite import fixed_point
from aotc.frontend.tflite.importers.movement import cut
from aotc.frontend.tflite.node import Node
from aotc.frontend.tflite.registry import tflite_op
from aotc.model.weight_store import Array

_UI32, _UI64 = element_type("uint32"), element_type("uint64")


def _vector(node: Node, dtype: str, position: int = 0) -> Tensor:
    """An input of a type with one axis."""
    node.require_type(position, dtype)
    x = node.tensor(position)
    node.require(len(x.shape) == 1, "invalid-shape", f"input {position} has shape {list(x.shape)}", "it has one axis")
    return x


@tflite_op("SignalWindow", moves=True)
def window(node: Node) -> Tensor:
    """Products with a window, shifted right, saturating."""
    node.require_type(0, "int16")
    x, weights, shift = node.tensor(0), _vector(node, "int16", 1), node.custom_count("shift", 0, 31)
    product = fixed_point.right(x.cast(i32) * weights.cast(i32), shift)
    return product.at_least(-(2**15)).at_most(2**15 - 1).cast(i16)


@tflite_op("SignalFftAutoScale", moves=True)
def auto_scale(node: Node) -> list[Tensor]:
    """Numbers shifted left until the greatest has 15 bits, and by how many bits; nothing but zeros by none."""
    node.require_type(0, "int16")
    node.require_outputs(2)
    x = node.tensor(0).cast(i32)
    axes = list(range(len(x.shape)))
    most = x.emit("abs").reduce("max", axes, keepdims=False)
    room = (most < Tensor(node, node.constant(np.int32(1) << np.arange(1, 15, dtype=np.int32)))).cast(i32)
    shift = (most > 0).choose(room.reduce("sum", [0], keepdims=False), 0)
    return [fixed_point.left(x, shift).cast(i16), shift.reshape(node.results[1].shape)]


@tflite_op("SignalEnergy", moves=True)
def energy(node: Node) -> Tensor:
    """Squares of complex numbers from a start to an end; 0 elsewhere."""
    x = _vector(node, "int16")
    count = x.shape[0] // 2
    end = node.custom_count("end_index", 0, min(count, node.results[0].shape[0]))
    start = node.custom_count("start_index", 0, end)
    parts = cut(x.cast(i32), {0: (2 * start, 1, 2 * (end - start))}).reshape([end - start, 2])
    found = (parts * parts).cast(_UI32).reduce("sum", [1], keepdims=False)
    rest = [start, node.results[0].shape[0] - end]
    return found.emit("pad", found.scalar(0).value, pads=rest, mode="constant") if any(rest) else found


@tflite_op("SignalFilterBank", moves=True)
def filter_bank(node: Node) -> Tensor:
    """Sums of energies times the weights of a channel; what they leave is of the next one. They are differences of
    running sums."""
    x = _vector(node, "uint32")
    names = ("the weights", "the other weights", "the starts", "the starts of weights", "the widths")
    weights, others, *rows = (node.array(position, name).astype(np.int64) for position, name in enumerate(names, 1))
    channels = node.custom_count("num_channels", 1)
    fits = all(len(row) == channels + 1 for row in rows) and node.results[0].shape == (channels,)
    node.require(fits, "invalid-shape", f"{channels} channels have {[len(row) for row in rows]} starts and widths")
    inside = all(
        begin >= 0 and begin + width <= count
        for begins, count in ((rows[0], x.shape[0]), (rows[1], min(len(weights), len(others))))
        for begin, width in zip(begins.tolist(), rows[2].tolist(), strict=True)
    )
    node.require(inside and min(rows[2]) >= 0, "invalid-value", "a channel has frequencies or weights beyond the last")
    places, factors, ends = list[Array](), list[Array](), [0]
    for channel in range(channels):
        for each, table in ((channel, others), (channel + 1, weights)):
            start, first, width = (int(row[each]) for row in rows)
            places.append(np.arange(start, start + width))
            factors.append(table[first : first + width])
        ends.append(ends[-1] + int(rows[2][channel] + rows[2][channel + 1]))
    terms = x.emit("gather", node.constant(np.concatenate(places)), axis=0).cast(i64)
    terms = terms * node.constant(np.concatenate(factors))
    sums = terms.emit("pad", terms.scalar(0).value, pads=[1, 0], mode="constant").emit("cumulative", kind="sum", axis=0)
    high, low = (sums.emit("gather", node.constant(np.array(each)), axis=0) for each in (ends[1:], ends[:-1]))
    return (high - low).cast(_UI64)


@tflite_op("SignalFilterBankSquareRoot", moves=True)
def square_root(node: Node) -> Tensor:
    """The root to the nearest integer, shifted right: by that of f64, which may be one off."""
    x, shift = _vector(node, "uint64"), node.tensor(1).reshape([])
    root = x.cast(f64).sqrt().emit("floor").at_most(float(2**32 - 1)).cast(_UI64)
    root = root - (root * root > x).cast(_UI64)
    root = root + (x - root * root > root * 2).cast(_UI64)
    most = (fixed_point.right(x, 32) > 0).choose(2**32 - 1, root.scalar(2**16 - 1))
    nearest = (root + (x - root * root > root).cast(_UI64)).at_most(most)
    return fixed_point.right(nearest, shift.cast(_UI64)).cast(_UI32)


@tflite_op("SignalFilterBankSpectralSubtraction", moves=True)
def spectral_subtraction(node: Node) -> list[Tensor]:
    """The estimate of noise that each channel has taken off; a share of the signal remains. Even and odd channels have
    each their smoothing."""
    x = _vector(node, "uint32")
    count = x.shape[0]
    fits = node.custom_count("num_channels") == count
    node.require(fits, "invalid-attribute", f"num_channels is {node.custom('num_channels')}, there are {count}")
    up, down = node.custom_count("smoothing_bits", 0, 31), node.custom_count("spectral_subtraction_bits", 0, 63)

    def factors(name: str) -> Tensor:
        both = [node.custom_count(each) for each in (name, f"alternate_{name}")]
        return Tensor(node, node.constant(np.resize(np.array(both, np.uint64), count)))

    noise = node.memory("noise", [count], "uint32")
    signal = fixed_point.left(x, up)
    sums = signal.cast(_UI64) * factors("smoothing") + noise().cast(_UI64) * factors("one_minus_smoothing")
    estimate = fixed_point.right(sums, down).cast(_UI32)
    bounded = estimate.at_most(signal)
    following = bounded if node.custom("clamping") else estimate
    noise.becomes(following)
    least = node.custom_count("min_signal_remaining")
    remaining = fixed_point.right(x.cast(_UI64) * least, down).cast(_UI32)
    return [fixed_point.right(signal - bounded, up).at_least(remaining), following]


@tflite_op("SignalPCAN", moves=True)
def pcan(node: Node) -> Tensor:
    """A gain by the noise, of which a table has a quadratic piece for each highest bit; squared where it is small."""
    x, noise, shift = _vector(node, "uint32"), _vector(node, "uint32", 1), node.custom_count("snr_shift", 0, 63)
    table = node.array(2, "the table")
    node.require(table.size >= 125, "invalid-shape", f"the table has {table.size} numbers, not 125 or more")
    interval = fixed_point.bit_length(noise).cast(i32)
    first, is_small = interval * 4 - 6, noise <= 2
    first = is_small.choose(noise.cast(i32), first)
    entries = Tensor(node, node.constant(table.reshape(-1).astype(np.int32)))
    base, slope, curve = (entries.emit("gather", (first + more).at_most(124), axis=0) for more in range(3))
    fine = fixed_point.left(noise, (11 - interval).at_least(0).cast(_UI32))
    fine = fixed_point.right(fine, (interval - 11).at_least(0).cast(_UI32))
    fraction = fine.emit("and", fine.scalar(0x3FF)).cast(i32)
    piece = (fixed_point.right(curve * fraction, 5) + fixed_point.left(slope, 5)) * fraction
    gain = (fixed_point.right(piece + (1 << 14), 15) + base).cast(i16).cast(i32)
    gain = is_small.choose(base, gain).cast(_UI32).cast(_UI64)
    ratio = fixed_point.right(x.cast(_UI64) * gain, shift).cast(_UI32)
    return (ratio < 1 << 13).choose(fixed_point.right(ratio * ratio, 20), fixed_point.right(ratio, 6) - (1 << 6))


_SEGMENTS = 128
_LN_2 = 45426
"""The logarithm of 2 in 65536ths."""


@tflite_op("SignalFilterBankLog", moves=True)
def filter_bank_log(node: Node) -> Tensor:
    """The logarithm to base 2 by a table of pieces, times that of 2, times a scale: each rounded to 65536ths, the
    middle up; at most 32767."""
    x, scale = _vector(node, "uint32"), node.custom_count("output_scale")
    x = fixed_point.left(x, node.custom_count("input_correction_bits", 0, 31))
    share = np.arange(_SEGMENTS + 1) / _SEGMENTS
    table = np.append(np.round(65536 * (np.log2(1 + share) - share)), 0).astype(np.int32)
    whole = (fixed_point.bit_length(x.at_least(1)) - 1).cast(i32)
    rest = x - fixed_point.left(x.scalar(1), whole.cast(_UI32))
    rest = fixed_point.left(rest, (16 - whole).at_least(0).cast(_UI32))
    rest = fixed_point.right(rest, (whole - 16).at_least(0).cast(_UI32)).cast(i32)
    segment = fixed_point.right(rest, 9)
    low, rise = (
        Tensor(node, node.constant(each)).emit("gather", segment.at_least(0), axis=0)
        for each in (table[:-1], np.diff(table))
    )
    fraction = rest + low + fixed_point.right(rise * rest.emit("and", rest.scalar(511)), 16)
    both = (fixed_point.left(whole, 16) + fraction).cast(i64)
    natural = fixed_point.right(both * _LN_2 + (1 << 15), 16)
    found = fixed_point.right((natural * scale + (1 << 15)).cast(_UI32), 16).at_most(2**15 - 1)
    return (x > 1).choose(found.cast(i16), 0)


# --- what came before -------------------------------------------------------------------------------------------------


def _rows(node: Node, *dtypes: str) -> Tensor:
    """The first input with one axis before the last."""
    node.require_type(0, *dtypes)
    x = node.tensor(0)
    *outer, extent = x.shape or (0,)
    node.require(extent > 0, "invalid-shape", f"rows of shape {list(x.shape)}")
    return x.reshape([math.prod(outer), extent])


def _behind(x: Tensor, before: Tensor) -> Tensor:
    """Rows, each behind what came before it."""
    return Tensor(x.node, x.node.emit("concat", [before, x], axis=1)) if before.shape[1] else x


@tflite_op("SignalDelay", moves=True)
def delay(node: Node) -> Tensor:
    """The numbers of each row some places ago, at first 0."""
    x, length = _rows(node, "int16"), node.custom_count("delay_length")
    if not length:
        return node.shaped(x)
    before = node.memory("before", [x.shape[0], length], "int16")
    both = _behind(x, before())
    before.becomes(cut(both, {1: (x.shape[1], 1, length)}))
    return node.shaped(cut(both, {1: (0, 1, x.shape[1])}))


@tflite_op("SignalFramer", moves=True)
def framer(node: Node) -> list[Tensor]:
    """Frames that overlap, and whether all of them are complete; one that is not is undefined."""
    node.require_outputs(2)
    x, size, stride = _rows(node, "int16"), node.custom_count("frame_size", 1), node.custom_count("frame_step", 1)
    rows, extent = x.shape
    is_whole = stride <= size and extent % stride == 0
    what = f"rows of {extent} in frames of {size}, {stride} apart"
    node.require(is_whole, "invalid-attribute", what)
    needed = -(-size // stride)
    """Of the strides that are given, as many until the first frame, unless there are zeros before."""
    is_filled = bool(node.custom("prefill"))
    history = size - stride if is_filled else (needed - 1) * stride
    before = node.memory("before", [rows, history], "int16")
    both = _behind(x, before()) if history else x
    if history:
        before.becomes(cut(both, {1: (extent, 1, history)}))
    places = np.arange(extent // stride)[:, None] * stride + np.arange(size)
    node.require_room(places.size, np.int64)
    frames = both.emit("gather", node.constant(places), axis=1)
    valid = Tensor(node, node.constant(np.array(True)))
    if not is_filled and needed > 1:
        count = node.memory("count", [], "int32")
        valid = count() >= needed - 1
        count.becomes((count() + extent // stride).at_most(needed - 1))
    return [node.shaped(frames), valid.reshape(node.results[1].shape)]


@tflite_op("SignalStacker", moves=True)
def stacker(node: Node) -> list[Tensor]:
    """The last frames side by side, before the first one that one again, and whether there are enough for the next
    stack; one that is not complete is undefined."""
    node.require_outputs(2)
    x = _rows(node, "int16")
    channels, stride = node.custom_count("num_channels", 1), node.custom_count("stacker_step", 1)
    left, right = (node.custom_count(f"stacker_{side}_context") for side in ("left", "right"))
    others = left + right
    what = f"{math.prod(x.shape)} numbers in frames of {channels}, {left} before and {right} behind, {stride} apart"
    node.require(math.prod(x.shape) == channels and stride <= others + 1, "invalid-attribute", what)
    x = x.reshape([1, channels])
    # 0 before the first frame, else how many frames are missing, and one more.
    waiting = node.memory("waiting", [], "int32")
    has_begun = waiting() > 0
    missing = has_begun.choose(waiting() - 1, right)
    valid = missing <= 0
    waiting.becomes(valid.choose(stride, missing))
    if not others:
        return [node.shaped(x), valid.reshape(node.results[1].shape)]
    before = node.memory("before", [1, others * channels], "int16")
    first = x.reshape([1, 1, channels]).emit("broadcast", shape=[1, others, channels]).reshape([1, others * channels])
    both = _behind(x, has_begun.choose(before(), first))
    before.becomes(cut(both, {1: (channels, 1, others * channels)}))
    return [node.shaped(both), valid.reshape(node.results[1].shape)]


@tflite_op("SignalOverlapAdd", moves=True)
def overlap_add(node: Node) -> Tensor:
    """Frames added where they overlap, integers saturating."""
    node.require_type(0, "int16", "float32")
    x, stride = node.tensor(0), node.custom_count("frame_step", 1)
    node.require(len(x.shape) > 1, "invalid-shape", f"frames of shape {list(x.shape)}", "they have two axes or more")
    *outer, count, size = x.shape
    node.require(stride <= size, "invalid-attribute", f"frames of {size} are {stride} apart")
    rows, later = math.prod(outer), size - stride
    sums = node.memory("sums", [rows, later], x.dtype.name)

    def add(frame: Tensor, before: Tensor | None = None) -> tuple[list[Tensor], Tensor]:
        if before is not None:
            whole = before.emit("pad", before.scalar(0).value, pads=[0, 0, 0, stride], mode="constant")
            frame = frame + whole if x.dtype.kind == "f" else _saturated(frame.cast(i32) + whole.cast(i32))
        return [cut(frame, {1: (stride, 1, later)})] if later else [], cut(frame, {1: (0, 1, stride)})

    begin = [sums()] if later else []
    frames = x.reshape([rows, count, size])
    if count == 1:
        following, found = add(frames.reshape([rows, size]), *begin)
    else:
        following, found = node.steps([frames.transpose([1, 0, 2])], begin, add)
        found = found.transpose([1, 0, 2])
    for each in following:
        sums.becomes(each)
    return node.shaped(found)


def _saturated(x: Tensor) -> Tensor:
    return x.at_least(-(2**15)).at_most(2**15 - 1).cast(i16)


@tflite_op("CIRCULAR_BUFFER", moves=True)
def circular_buffer(node: Node) -> Tensor:
    """The last inputs, the newest behind; the output is the state."""
    node.require_type(0, "int8")
    x, shape = node.tensor(0), node.results[0].shape
    fits = len(shape) == 4 == len(x.shape) and x.shape == (shape[0], 1, *shape[2:]) and shape[0] == 1
    node.require(fits, "invalid-shape", f"{list(x.shape)} into a buffer {list(shape)}")
    cycles = node.custom("cycles_max", 0)
    every = cycles == 1 or (cycles <= 0 and shape[1] in _EVERY)
    what = f"the buffer ends calls but each {int(cycles) or 2}th"
    node.require(every, "unsupported-attribute", what, "there is no result of the others")
    node.require(node.results[0].is_variable, "invalid-model", "the output is no variable tensor")
    buffer = node.memory_of(node.results[0])
    found = Tensor(node, node.emit("concat", [cut(buffer(), {1: (1, 1, shape[1] - 1)}), x], axis=1))
    buffer.becomes(found)
    return found


_EVERY = (5, 13, 25)
"""Lengths of buffers that do not wait, where nothing is said."""
