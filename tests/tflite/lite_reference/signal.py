"""Operators of TFLite Micro's audio front end, and other custom ones; their options are a flexbuffer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from flatbuffers import flexbuffers

from lite_reference.fixed import Array, wide
from lite_reference.nodes import Node, computes


def options_of(node: Node) -> dict[str, Any]:
    """The options of a custom operator."""
    found = flexbuffers.Loads(node.operator.custom)
    assert isinstance(found, dict)
    return found


def _state(node: Node, size: int, dtype: Any) -> Array:
    """A state that is no tensor, at first 0."""
    return node.memory.states.setdefault((node.out.tensor.name, ""), np.zeros(size, dtype))


def _bits(x: int) -> int:
    """The place of the highest bit, from 1."""
    return int(x).bit_length()


@computes("SignalWindow")
def window(node: Node) -> Array:
    """Products shifted right, cut off downwards, saturating."""
    x = wide(node[0].array).reshape(-1, len(node[1].array))
    return np.clip((x * node[1].array) >> options_of(node)["shift"], -32768, 32767).astype(np.int16)


@computes("SignalFftAutoScale")
def auto_scale(node: Node) -> Sequence[Array]:
    """Shifted left until the greatest number has 15 bits, and by how many bits that is; nothing but zeros by none."""
    x = wide(node[0].array)
    most = int(np.abs(x).max())  # of -32768 the interpreter has -32768, whose highest bit is that of 32 bits
    shift = max(0, 15 - (_bits(most) if 0 < most < 32768 else 32))
    return [(x << shift).astype(np.int16), np.array(shift, np.int32)]


@computes("SignalEnergy")
def energy(node: Node) -> Array:
    """Squares of real and imaginary numbers from a start to an end; elsewhere nothing is written."""
    parts, options = wide(node[0].array).reshape(-1, 2), options_of(node)
    out = np.zeros(node.shape, np.uint32)
    span = slice(options["start_index"], options["end_index"])
    out[span] = (parts[span] ** 2).sum(-1).astype(np.uint32)
    return out


@computes("SignalFilterBank")
def filter_bank(node: Node) -> Array:
    """Sums of weighted energies; what is not of a channel by its weights is of the next one."""
    x, weights, others, starts, firsts, widths = (wide(node[k].array) for k in range(6))
    sums, carried = np.zeros(len(starts), np.int64), 0
    for channel, (start, first, width) in enumerate(zip(starts, firsts, widths, strict=True)):
        part, span = x[start : start + width], slice(first, first + width)
        sums[channel] = carried + (part * weights[span]).sum()
        carried = (part * others[span]).sum()
    return sums[1:].astype(np.uint64)


@computes("SignalFilterBankSquareRoot")
def square_root(node: Node) -> Array:
    """The root to the nearest integer, shifted right."""

    def root(x: int) -> int:
        low = math.isqrt(x)
        return min(low + (x - low * low > low), 0xFFFF if x >> 32 == 0 else 0xFFFFFFFF)

    roots = np.array([root(int(each)) for each in node[0].array.reshape(-1)], np.uint64)
    return (roots >> np.uint64(node[1].array.reshape(-1)[0])).astype(np.uint32)


@computes("SignalFilterBankSpectralSubtraction")
def spectral_subtraction(node: Node) -> Sequence[Array]:
    """A running estimate of noise, subtracted, but a share of the signal remains; even and odd channels apart."""
    options, x = options_of(node), node[0].array.astype(np.uint64)
    noise, odd = _state(node, len(x), np.uint32), np.arange(len(x)) % 2 == 1
    up, down = np.uint64(options["smoothing_bits"]), np.uint64(options["spectral_subtraction_bits"])

    def factor(name: str) -> Array:
        return np.where(odd, options[f"alternate_{name}"], options[name]).astype(np.uint64)

    low = np.uint64(0xFFFFFFFF)
    signal = (x << up) & low
    estimate = ((signal * factor("smoothing") + noise * factor("one_minus_smoothing")) >> down) & low
    bounded = np.minimum(estimate, signal)
    noise[...] = (bounded if options["clamping"] else estimate).astype(np.uint32)
    floor = ((x * np.uint64(options["min_signal_remaining"])) >> down) & low
    return [np.maximum((signal - bounded) >> up, floor).astype(np.uint32), noise.copy()]


@computes("SignalPCAN")
def pcan(node: Node) -> Array:
    """A gain by the noise, of which a table has quadratic pieces by the highest bit; squared where it is small."""
    shift, table = options_of(node)["snr_shift"], wide(node[2].array)

    def gain(x: int) -> int:
        if x <= 2:
            return int(table[x])
        interval = _bits(x)
        base, slope, curve = (int(each) for each in table[4 * interval - 6 : 4 * interval - 3])
        fraction = (x << (11 - interval) if interval < 11 else x >> (interval - 11)) & 0x3FF
        result = ((curve * fraction >> 5) + ((slope & 0xFFFFFFFF) << 5)) * fraction
        result = np.int64(result).astype(np.int32)
        return int(np.int64(((int(result) + (1 << 14)) >> 15) + base).astype(np.int16))

    def shrunk(x: int) -> int:
        return (x * x & 0xFFFFFFFF) >> (2 + 24 - 6) if x < 2 << 12 else (x >> 6) - (1 << 6)

    rows = zip(node[0].array.tolist(), node[1].array.tolist(), strict=True)
    ratios = [((x * (gain(noise) & 0xFFFFFFFF)) >> shift) & 0xFFFFFFFF for x, noise in rows]
    return np.array([shrunk(each) & 0xFFFFFFFF for each in ratios], np.uint32)


_LOG = (
    0, 224, 442, 654, 861, 1063, 1259, 1450, 1636, 1817, 1992, 2163, 2329, 2490, 2646, 2797, 2944, 3087, 3224, 3358,
    3487, 3611, 3732, 3848, 3960, 4068, 4172, 4272, 4368, 4460, 4549, 4633, 4714, 4791, 4864, 4934, 5001, 5063, 5123,
    5178, 5231, 5280, 5326, 5368, 5408, 5444, 5477, 5507, 5533, 5557, 5578, 5595, 5610, 5622, 5631, 5637, 5640, 5641,
    5638, 5633, 5626, 5615, 5602, 5586, 5568, 5547, 5524, 5498, 5470, 5439, 5406, 5370, 5332, 5291, 5249, 5203, 5156,
    5106, 5054, 5000, 4944, 4885, 4825, 4762, 4697, 4630, 4561, 4490, 4416, 4341, 4264, 4184, 4103, 4020, 3935, 3848,
    3759, 3668, 3575, 3481, 3384, 3286, 3186, 3084, 2981, 2875, 2768, 2659, 2549, 2437, 2323, 2207, 2090, 1971, 1851,
    1729, 1605, 1480, 1353, 1224, 1094, 963, 830, 695, 559, 421, 282, 142, 0, 0,
)  # fmt: skip
"""log2(1 + i / 128) - i / 128 in 65536ths."""


@computes("SignalFilterBankLog")
def filter_bank_log(node: Node) -> Array:
    """log2 by a table of 128 pieces, times log(2), times a scale, each rounded to 65536ths, ties up; at most 32767."""
    options = options_of(node)

    def log(x: int) -> int:
        x = (x << options["input_correction_bits"]) & 0xFFFFFFFF
        if x <= 1:
            return 0
        whole = _bits(x) - 1
        rest = x - (1 << whole)
        rest = rest << (16 - whole) if whole < 16 else rest >> (whole - 16)
        segment = rest >> 9
        fraction = rest + _LOG[segment] + (((_LOG[segment + 1] - _LOG[segment]) * (rest - (segment << 9))) >> 16)
        natural = (45426 * ((whole << 16) + fraction) + 32768) >> 16
        return min(((options["output_scale"] * natural + 32768) & 0xFFFFFFFF) >> 16, 32767)

    return np.array([log(int(each)) for each in node[0].array], np.int16)


# --- Fourier transforms ----------------------------------------------------------------------------------------------


class _Fixed:
    """Complex numbers of 16 or 32 bits, as pairs of int64 along the last axis; sums wrap, products round, ties up."""

    def __init__(self, dtype: str, inverse: bool) -> None:
        self.dtype, self.sign = np.dtype(dtype), 1 if inverse else -1
        self.bits, self.most = 8 * self.dtype.itemsize - 1, np.iinfo(dtype).max

    def wrap(self, x: Array) -> Array:
        return x.astype(self.dtype).astype(np.int64)

    def rounded(self, x: Array) -> Array:
        return self.wrap((x + (1 << (self.bits - 1))) >> self.bits)

    def divided(self, x: Array, by: int) -> Array:
        return self.rounded(x * (self.most // by))

    def times(self, a: Array, b: Array) -> Array:
        real = a[..., 0] * b[..., 0] - a[..., 1] * b[..., 1]
        imaginary = a[..., 0] * b[..., 1] + a[..., 1] * b[..., 0]
        return self.rounded(np.stack([real, imaginary], -1))

    def turn(self, phase: Array) -> Array:
        """Points of the circle."""
        both = np.stack([np.cos(phase), np.sin(phase)], -1)
        return np.floor(0.5 + self.most * both).astype(np.int64)

    def transform(self, x: Array, twiddles: Array, stride: int = 1) -> Array:
        """By radix 4 first, then 2, 3 and 5, each dividing by the radix before it adds."""
        count = len(x)
        if count == 1:
            return x
        radix = next((each for each in (4, 2, 3, 5) if count % each == 0), count)
        rows = np.stack([self.transform(x[k::radix], twiddles, stride * radix) for k in range(radix)])
        size = count // radix
        rows = self.divided(rows, radix)
        place = np.arange(size) * stride
        turned = [rows[0], *(self.times(rows[k], twiddles[place * k]) for k in range(1, radix))]
        return np.concatenate(getattr(self, f"_radix_{radix}")(turned, twiddles, stride * size))

    def _radix_2(self, rows: Sequence[Array], twiddles: Array, step: int) -> list[Array]:
        return [self.wrap(rows[0] + rows[1]), self.wrap(rows[0] - rows[1])]

    def _radix_4(self, rows: Sequence[Array], twiddles: Array, step: int) -> list[Array]:
        outer, inner = self.wrap(rows[0] - rows[2]), self.wrap(rows[0] + rows[2])
        total, less = self.wrap(rows[1] + rows[3]), self.wrap(rows[1] - rows[3])
        quarter = np.stack([-less[..., 1], less[..., 0]], -1) * self.sign
        found = (inner + total, outer + quarter, inner - total, outer - quarter)
        return [self.wrap(each) for each in found]

    def _radix_3(self, rows: Sequence[Array], twiddles: Array, step: int) -> list[Array]:
        total, less = self.wrap(rows[1] + rows[2]), self.wrap(rows[1] - rows[2])
        middle = self.wrap(rows[0] - (total >> 1))
        scaled = self.rounded(less * twiddles[step, 1])
        quarter = np.stack([-scaled[..., 1], scaled[..., 0]], -1)
        return [self.wrap(rows[0] + total), self.wrap(middle + quarter), self.wrap(middle - quarter)]

    def _radix_5(self, rows: Sequence[Array], twiddles: Array, step: int) -> list[Array]:
        ya, yb = twiddles[step], twiddles[2 * step]
        near, far = self.wrap(rows[1] + rows[4]), self.wrap(rows[2] + rows[3])
        near_less, far_less = self.wrap(rows[1] - rows[4]), self.wrap(rows[2] - rows[3])

        def pair(a: Array, b: Array, sign: int) -> tuple[Array, Array]:
            even = self.wrap(rows[0] + self.rounded(near * a[0]) + self.rounded(far * b[0]))
            odd = self.rounded(near_less * a[1]) + sign * self.rounded(far_less * b[1])
            return even, self.wrap(np.stack([odd[..., 1], -odd[..., 0]], -1))

        (e1, o1), (e2, o2) = pair(ya, yb, 1), pair(yb, ya, -1)
        found = (rows[0] + near + far, e1 - o1, e2 - o2, e2 + o2, e1 + o1)
        return [self.wrap(each) for each in found]


def _twiddles(fixed: _Fixed, count: int) -> tuple[Array, Array]:
    half = np.arange(1, count // 2 + 1)
    whole = fixed.turn(fixed.sign * 2 * np.pi * np.arange(count) / count)
    return whole, fixed.turn(fixed.sign * np.pi * (half / count + 0.5))


def _conjugate(x: Array) -> Array:
    return x * np.array([1, -1])


@computes("SignalRfft")
def rfft(node: Node) -> Array:
    """Even and odd numbers as real and imaginary of a transform of half the length, and both taken apart again;
    the result is divided by the length."""
    length, x = int(options_of(node)["fft_length"]), node[0].array
    padded = np.zeros((int(np.prod(x.shape[:-1])), length), x.dtype)
    padded[:, : x.shape[-1]] = x.reshape(len(padded), -1)
    if x.dtype == np.float32:
        found = np.fft.rfft(padded.astype(np.float64))
        return np.stack([found.real, found.imag], -1).astype(np.float32)
    fixed, count = _Fixed(node[0].dtype, False), length // 2
    whole, half = _twiddles(fixed, count)
    return np.stack([_real_spectrum(fixed, wide(row).reshape(count, 2), whole, half) for row in padded]).astype(x.dtype)


def _real_spectrum(fixed: _Fixed, x: Array, whole: Array, half: Array) -> Array:
    count, found = len(x), fixed.transform(x, whole)
    out = np.zeros((count + 1, 2), np.int64)
    first = fixed.divided(found[0], 2)
    out[0, 0], out[count, 0] = first[0] + first[1], first[0] - first[1]
    k = np.arange(1, count // 2 + 1)
    ahead, behind = fixed.divided(found[k], 2), fixed.divided(fixed.wrap(_conjugate(found[count - k])), 2)
    total, turned = fixed.wrap(ahead + behind), fixed.times(fixed.wrap(ahead - behind), half)
    out[k] = (total + turned) >> 1
    out[count - k] = np.stack([total[:, 0] - turned[:, 0], turned[:, 1] - total[:, 1]], -1) >> 1
    return fixed.wrap(out)


@computes("SignalIrfft")
def irfft(node: Node) -> Array:
    """The way back, divided by the length."""
    length, x = int(options_of(node)["fft_length"]), node[0].array
    spectra = x.reshape(-1, length // 2 + 1, 2)
    if x.dtype == np.float32:
        complex_ = spectra[..., 0].astype(np.float64) + 1j * spectra[..., 1]
        return np.fft.irfft(complex_, length).astype(np.float32)
    fixed, count = _Fixed(node[0].dtype, True), length // 2
    whole, half = _twiddles(fixed, count)
    rows: list[Array] = []
    for each in wide(spectra):
        packed = np.zeros((count, 2), np.int64)
        ends = np.array([each[0, 0] + each[count, 0], each[0, 0] - each[count, 0]])
        packed[0] = fixed.divided(fixed.wrap(ends), 2)
        k = np.arange(1, count // 2 + 1)
        ahead, behind = fixed.divided(each[k], 2), fixed.divided(fixed.wrap(_conjugate(each[count - k])), 2)
        even, odd = fixed.wrap(ahead + behind), fixed.times(fixed.wrap(ahead - behind), half)
        packed[k] = fixed.wrap(even + odd)
        packed[count - k] = fixed.wrap(_conjugate(fixed.wrap(even - odd)))
        rows.append(fixed.transform(packed, whole).reshape(-1))
    return np.stack(rows).astype(x.dtype)
