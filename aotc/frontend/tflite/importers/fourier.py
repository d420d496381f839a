"""Fourier transforms of real numbers, of floats and in fixed point: KISS FFT's, whose lengths have the factors 2 to 5.

Even and odd numbers are the real and imaginary parts of a transform of half the length.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import i32, i64

from aotc.dialects.graph.quantized.fourier import RADICES
from aotc.frontend.emitter import Tensor, joined
from aotc.frontend.tflite import fixed_point
from aotc.frontend.tflite.importers.movement import cut
from aotc.frontend.tflite.node import Node
from aotc.frontend.tflite.registry import tflite_op
from aotc.model.weight_store import Array


@tflite_op("SignalRfft", moves=True)
def rfft(node: Node) -> Tensor:
    """The spectrum of rows, with zeros behind them; of integers over the length."""
    transform = _Transform.of(node, sign=-1)
    x, count = node.tensor(0), transform.count
    fits = 0 < x.shape[-1] <= 2 * count
    node.require(fits, "invalid-shape", f"{x.shape[-1]} numbers for a transform of {2 * count}")
    x = x.reshape([math.prod(x.shape[:-1]), x.shape[-1]])
    if x.shape[1] < 2 * count:
        x = x.emit("pad", x.scalar(0).value, pads=[0, 0, 0, 2 * count - x.shape[1]], mode="constant")
    found = transform(x.reshape([x.shape[0], count, 2]))
    first = transform.halved(_Complex.of(cut(found, {1: (0, 1, 1)})))
    zero = first.real * 0
    ends = [_Complex(first.real + first.imaginary, zero), _Complex(first.real - first.imaginary, zero)]
    total, turned = transform.taken_apart(found)
    half = count // 2
    ahead, behind = total + turned, total - turned
    middle = [each.halves() for each in (ahead, _Complex(behind.real, behind.imaginary * -1))]
    parts = [ends[0], middle[0].cut(0, 1, (count - 1) // 2), middle[1].cut(half - 1, -1, half), ends[1]]
    return node.shaped(joined([transform.narrow(each) for each in parts if each.real.shape[1]], 1))


@tflite_op("SignalIrfft", moves=True)
def irfft(node: Node) -> Tensor:
    """The numbers of a spectrum, over the length."""
    transform = _Transform.of(node, sign=1)
    x, count = node.tensor(0), transform.count
    fits = x.shape[-1] == 2 * count + 2
    node.require(fits, "invalid-shape", f"{x.shape[-1]} numbers of a spectrum of {2 * count}")
    x = x.reshape([math.prod(x.shape[:-1]), count + 1, 2])
    low, high = (_Complex.of(cut(x, {1: (place, 1, 1)})).real for place in (0, count))
    low, high = transform.wide(low), transform.wide(high)
    first = transform.halved(transform.wrapped(_Complex(low + high, low - high)))
    total, turned = transform.taken_apart(x)
    half, back = count // 2, total - turned
    back = _Complex(back.real, back.imaginary * -1)
    parts = [first, (total + turned).cut(0, 1, (count - 1) // 2), back.cut(half - 1, -1, half)]
    found = transform(joined([transform.narrow(each) for each in parts if each.real.shape[1]], 1))
    return node.shaped(found * (0.5 / count) if transform.is_real else found)


@dataclass(frozen=True)
class _Complex:
    """Complex numbers [rows, count, 1]."""

    real: Tensor
    imaginary: Tensor

    @staticmethod
    def of(x: Tensor) -> _Complex:
        return _Complex(*(cut(x, {2: (part, 1, 1)}) for part in (0, 1)))

    def cut(self, start: int, step: int, count: int) -> _Complex:
        return _Complex(*(cut(each, {1: (start, step, count)}) for each in (self.real, self.imaginary)))

    def halves(self) -> _Complex:
        """Halves, of integers cut off downwards."""
        is_real = self.real.dtype.kind == "f"
        each = (x * 0.5 if is_real else fixed_point.right(x, 1) for x in (self.real, self.imaginary))
        return _Complex(*each)

    def __add__(self, other: _Complex) -> _Complex:
        return _Complex(self.real + other.real, self.imaginary + other.imaginary)

    def __sub__(self, other: _Complex) -> _Complex:
        return _Complex(self.real - other.real, self.imaginary - other.imaginary)


@dataclass(frozen=True)
class _Transform:
    """A transform of `count` complex numbers, and what makes it one of twice as many real ones."""

    node: Node
    count: int
    radices: Sequence[int]
    sign: int

    @staticmethod
    def of(node: Node, sign: int) -> _Transform:
        node.require_type(0, "int16", "int32", "float32")
        length = node.custom_count("fft_length", 4)
        node.require_room(length * 4, np.float64)
        left, radices = length // 2, list[int]()
        for radix in RADICES:
            while left % radix == 0:
                left //= radix
                radices.append(radix)
        is_known = length % 2 == 0 and left == 1
        what = f"fft_length is {length}"
        node.require(is_known, "unsupported-attribute", what, "it must be even, half of it with the factors 2, 3 and 5")
        return _Transform(node, length // 2, radices, sign)

    # --- numbers ------------------------------------------------------------------------------------------------------

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """The type of elements."""
        return np.dtype(self.node.declared(0).tensor.dtype)

    @property
    def is_real(self) -> bool:
        """Whether numbers are floats."""
        return self.dtype.kind == "f"

    @property
    def bits(self) -> int:
        """Bits of the fraction."""
        return 8 * self.dtype.itemsize - 1

    def wide(self, x: Tensor) -> Tensor:
        """Integers in twice their bits."""
        return x if self.is_real else x.cast(i32 if self.dtype.itemsize == 2 else i64)

    def narrow(self, x: _Complex) -> Tensor:
        """Numbers [rows, count, 2] as the result has them."""
        return joined([each.cast(self.node.to) for each in (x.real, x.imaginary)], 2)

    def wrapped(self, x: _Complex) -> _Complex:
        """The lower bits, with the sign of the highest of these."""
        if self.is_real:
            return x
        return _Complex(*(self.wide(each.cast(self.node.to)) for each in (x.real, x.imaginary)))

    def rounded(self, x: _Complex) -> _Complex:
        """Products as fractions, the middle up."""
        if self.is_real:
            return x
        half = 1 << self.bits - 1
        return self.wrapped(_Complex(*(fixed_point.right(e + half, self.bits) for e in (x.real, x.imaginary))))

    def halved(self, x: _Complex) -> _Complex:
        """Integers divided by 2, which they are before they are added."""
        factor = ((1 << self.bits) - 1) // 2
        if self.is_real:
            return x
        return self.rounded(_Complex(*(self.wide(each) * factor for each in (x.real, x.imaginary))))

    def circle(self, phases: Array) -> Array:
        """Points of the circle [.., 2]."""
        both = np.stack([np.cos(phases), np.sin(phases)], -1)
        if not self.is_real:
            both = np.floor(0.5 + ((1 << self.bits) - 1) * both)
        return both.astype(self.dtype)

    # --- transforms ---------------------------------------------------------------------------------------------------

    def __call__(self, x: Tensor) -> Tensor:
        """The transform of rows [rows, count, 2]."""
        order, node = self.order(np.arange(self.count), self.radices), self.node
        x = x.emit("gather", node.constant(order), axis=1)
        circle = self.circle(self.sign * 2 * np.pi * np.arange(self.count) / self.count)
        rows, size = x.shape[0], 1
        for radix in reversed(self.radices):
            stride = self.count // (radix * size)
            twiddles = circle[np.arange(radix)[:, None] * np.arange(size) * stride]
            turns = circle[np.arange(radix) * (self.count // radix)]
            x = x.reshape([rows * stride, radix, size, 2])
            x = x.emit("butterfly", node.constant(twiddles), node.constant(turns), inverse=self.sign > 0)
            size *= radix
        return x.reshape([rows, self.count, 2])

    def order(self, places: Array, radices: Sequence[int]) -> Array:
        """The places of numbers before the first stage."""
        if not radices:
            return places
        radix = radices[0]
        return np.concatenate([self.order(places[first::radix], radices[1:]) for first in range(radix)])

    def taken_apart(self, x: Tensor) -> tuple[_Complex, _Complex]:
        """Of numbers 1 to half the count and those as far from the end: halves of each added to the conjugate of the
        other, and their differences turned."""
        half = self.count // 2
        places = np.arange(1, half + 1)
        # The way back has a number more, the last one.
        ahead = self.halved(_Complex.of(cut(x, {1: (1, 1, half)})))
        behind = _Complex.of(cut(x, {1: (self.count - 1, -1, half)}))
        behind = self.halved(self.wrapped(_Complex(self.wide(behind.real), self.wide(behind.imaginary) * -1)))
        total, less = self.wrapped(ahead + behind), self.wrapped(ahead - behind)
        twiddles = self.circle(self.sign * np.pi * (places / self.count + 0.5))
        wide = self.wide(Tensor(self.node, self.node.constant(twiddles.reshape(1, half, 2))))
        turn = _Complex.of(wide)
        product = _Complex(
            less.real * turn.real - less.imaginary * turn.imaginary,
            less.real * turn.imaginary + less.imaginary * turn.real,
        )
        return total, self.rounded(product)
