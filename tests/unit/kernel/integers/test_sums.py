"""Sums in the registers of a core without vectors: the same kernels scheduled, as they are defined, and in numpy.

All cases are kernels of one model, which is compiled once each way: integers must agree to the bit, in C and in LLVM.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import prod
from typing import Any

import numpy as np
import pytest
from case_model import Array, CaseRuns, array_attributes, tensor, window_values

from aotc.dialects.graph.packed.integers.channels_last import words
from aotc.dialects.graph.schedules import ScheduleAttr, SumsSchedule
from aotc.dialects.graph.windows.sliding import SlidingWindow, sliding_windows

CONV, DEPTHWISE, MATMUL = "channels_last_conv", "channels_last_depthwise_conv", "interleaved_matmul"
BATCH = 2


@dataclass(frozen=True)
class Case:
    """One kernel; of a product `extents` are the rows, `channels` the depth. A tile is positions, columns, unroll."""

    op: str
    extents: tuple[int, ...]
    kernel: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()
    pads: tuple[int, ...] = ()
    dilations: tuple[int, ...] = ()
    channels: int = 4
    outputs: int = 5
    word: int = 1
    tile: tuple[int, int, int] = (2, 2, 1)
    specialized: bool = True
    bias: bool = True
    x: str = "int8"
    weight: str = "int8"
    zero_point: int = 0
    groups: int = 1
    """Of a convolution: x has as many times `channels`."""
    lanes: int = 1
    """4: sums become quads."""
    outside: int = 0
    """The value of elements outside of x."""
    patch: bool = False
    """Whether what a position sees is copied first."""
    paired: bool = False
    """Whether weights are of 4 bits, those of two outputs in a byte."""

    @property
    def is_float(self) -> bool:
        return self.x == "float32"

    def windows(self) -> list[SlidingWindow]:
        """One for each axis."""
        values = window_values(self.kernel, self.strides, self.pads, self.dilations)
        return sliding_windows(self.extents, self.kernel, values["strides"], values["pads"], values["dilations"])

    def rows(self) -> tuple[int, int]:
        """How many rows of weights an output has, and of how many weights each."""
        rows, strip = prod(self.kernel), self.channels
        if self.op == CONV and self.groups == 1 and (self.dilations or (1,))[-1] == 1:
            rows, strip = rows // self.kernel[-1], strip * self.kernel[-1]
        if self.patch:
            rows, strip = 1, rows * strip
        return rows, strip

    @cache  # noqa: B019
    def arrays(self) -> tuple[Array, Array, Array]:
        """x with its channels last, weights [M, taps.., C] (of a depthwise convolution [taps.., C]), bias."""
        rng = np.random.default_rng(prod((*self.extents, self.channels)))

        def some(shape: Sequence[int], dtype: str) -> Array:
            if dtype == "float32":
                return rng.standard_normal(shape).astype(np.float32)
            info = np.iinfo(dtype)
            array = rng.integers(info.min, info.max, shape, np.dtype(dtype), endpoint=True)
            array.reshape(-1)[: array.size // 4] = info.min  # products of these are the greatest
            return array

        batch = () if self.op == MATMUL else (BATCH,)
        outputs = () if self.op == DEPTHWISE else (self.outputs,)
        x, weight = (
            some((*batch, *self.extents, self.groups * self.channels), self.x),
            some((*outputs, *self.kernel, self.channels), self.weight),
        )
        weight = weight >> 4 if self.paired else weight
        bias = some(self.result_shape()[-1:], "float32" if self.is_float else "int32")
        return x, weight, bias

    def result_shape(self) -> tuple[int, ...]:
        if self.op == MATMUL:
            return (*self.extents, self.outputs)
        positions = (window.positions for window in self.windows())
        return (BATCH, 1, *positions, self.channels if self.op == DEPTHWISE else self.outputs)

    def result_type(self) -> str:
        return tensor(self.result_shape(), "f32" if self.is_float else "i32")

    def inputs(self) -> list[Array]:
        """As the operation takes them."""
        x, weight, bias = self.arrays()
        if self.paired:
            weight = np.concatenate([weight, weight[:1] * 0])[: self.outputs + self.outputs % 2]
            weight = weight[::2] & 15 | weight[1::2] << 4
        if self.op == DEPTHWISE:
            x = x[:, None]
        else:
            weight = words(self.tile[1] // (2 if self.paired else 1), self.word).pack(weight.reshape(-1, *self.rows()))
        if self.op == CONV:
            x = x.reshape(*x.shape[:-2], -1)
        return [x, weight, *([bias] if self.bias else [])]

    def expected(self) -> Array:
        """In 64 bits, then modulo 2^32."""
        kind: Any = np.float64 if self.is_float else np.int64
        x, weight, bias = (array.astype(kind) for array in self.arrays())
        x = x - self.zero_point
        start = bias if self.bias else np.zeros_like(bias)
        if self.op == MATMUL:
            return self._wrapped(x @ weight.T + start)
        result = np.empty(self.result_shape(), kind)
        windows = self.windows()
        for position in itertools.product(*(range(window.positions) for window in windows)):
            total = np.broadcast_to(start, (BATCH, len(start))).copy()
            for taps in itertools.product(*(range(window.size) for window in windows)):
                axes = list(zip(windows, position, taps, strict=True))
                places = [p * w.stride + tap * w.dilation - w.before for w, p, tap in axes]
                inside = all(0 <= place < w.extent for w, place in zip(windows, places, strict=True))
                if inside or self.outside:
                    seen = x[(slice(None), *places)] if inside else np.full((BATCH, x.shape[-1]), self.outside, kind)
                    depthwise = self.op == DEPTHWISE
                    total += seen * weight[taps] if depthwise else self._grouped(seen, weight[(slice(None), *taps)])
            result[(slice(None), 0, *position)] = total
        return self._wrapped(result)

    def _grouped(self, seen: Array, weight: Array) -> Array:
        """The products of each group, side by side."""
        parts = zip(np.split(seen, self.groups, -1), np.split(weight, self.groups), strict=True)
        return np.concatenate([x @ w.T for x, w in parts], -1)

    def _wrapped(self, result: Array) -> Array:
        return result if self.is_float else result.astype(np.uint64).astype(np.uint32).view(np.int32)

    def attributes(self, scheduled: bool) -> str:
        """As in the IR."""
        texts: list[str] = []
        if self.op != MATMUL:
            texts.append(array_attributes(window_values(self.kernel, self.strides, self.pads, self.dilations)))
        if self.op == CONV:
            texts += [
                array_attributes({"kernel_shape": self.kernel}),
                f"channels = {self.groups * self.channels} : i64",
            ]
            texts += [f"group = {self.groups} : i64"] if self.groups > 1 else []
        if self.op != DEPTHWISE:
            numbers = {"outputs": self.outputs, "columns": self.tile[1], "word": self.word}
            texts += [f"{name} = {number} : i64" for name, number in numbers.items()]
            texts += ["paired = true"] if self.paired else []
        if not self.is_float:
            point = "lhs_zero_point" if self.op == MATMUL else "x_zero_point"
            texts += ["accumulator = i32", f"{point} = {self.zero_point} : i64"]
        texts += [f"outside = {self.outside} : i64"] if self.outside else []
        if scheduled:
            positions, columns, unroll = self.tile
            sizes = self.lanes, positions, columns, self.word, unroll
            schedule = SumsSchedule(*sizes, self.specialized, self.patch)
            texts.append(f"schedule = {ScheduleAttr.of(schedule)}")
        return ", ".join(texts)


BORDER = (1, 1, 1, 1)
QUADS: Any = {"lanes": 4, "word": 16, "tile": (1, 4, 1)}
FIXED = (
    # One element at a time.
    Case(CONV, (6, 7), (3, 3), pads=BORDER, zero_point=-7),
    Case(CONV, (6, 7), (3, 3), pads=BORDER, zero_point=-7, specialized=False),
    Case(CONV, (5, 9), (1, 1), tile=(4, 4, 2), outputs=11, channels=9),
    Case(CONV, (5, 9), (1, 1), outputs=1, tile=(2, 3, 1)),  # fewer outputs than a tile has
    Case(CONV, (9, 8), (3, 2), (2, 3), (0, 1, 2, 2), channels=3, tile=(3, 1, 4), zero_point=5),
    Case(CONV, (7, 12), (2, 3), (1, 2), (1, 2, 0, 3), (2, 2), channels=3, tile=(2, 3, 1), zero_point=5),
    Case(CONV, (30,), (5,), pads=(2, 2), channels=2, tile=(3, 2, 1), bias=False),
    Case(CONV, (3, 4, 6), (2, 3, 3), pads=(1, 0, 1, 0, 1, 2), channels=2),
    Case(CONV, (40,), (21,), pads=(20, 20), channels=1, zero_point=3),  # most windows are cut
    Case(CONV, (3, 2), (5, 5), pads=(2, 2, 2, 2), zero_point=3),  # all are
    Case(CONV, (2, 2), (1, 1), pads=(2, 1, 0, 2)),  # some see nothing
    Case(CONV, (6, 7), (3, 3), pads=BORDER, x="int16", weight="int8", zero_point=300),
    Case(CONV, (6, 7), (3, 3), pads=BORDER, x="uint8", weight="uint8", zero_point=200),
    Case(CONV, (6, 7), (3, 3), pads=BORDER, x="float32", weight="float32", tile=(4, 4, 1)),
    # Words of four.
    Case(CONV, (6, 7), (3, 3), pads=BORDER, word=4, zero_point=-128),
    Case(CONV, (6, 7), (3, 3), pads=BORDER, word=4, zero_point=-128, specialized=False),
    Case(CONV, (6, 7), (3, 3), pads=BORDER, word=4, zero_point=127, channels=3, tile=(3, 2, 1)),
    Case(CONV, (9, 20), (4, 8), (2, 2), (1, 3, 2, 3), word=4, zero_point=-128, channels=1, tile=(2, 4, 1)),
    Case(CONV, (6, 19), (3, 3), (1, 1), (1, 1, 1, 1), word=4, zero_point=1, channels=8, tile=(2, 3, 2)),
    Case(CONV, (5, 9), (1, 1), word=4, tile=(2, 2, 3), outputs=7, channels=23),
    Case(CONV, (5, 12), (2, 2), (1, 1), (0, 2, 1, 2), (1, 2), word=4, channels=6, zero_point=9),
    Case(CONV, (6, 7), (3, 3), pads=BORDER, word=4, x="uint8", zero_point=255),
    Case(CONV, (6, 7), (3, 3), pads=BORDER, word=4, x="uint8", weight="uint8", zero_point=1),
    Case(CONV, (6, 7), (3, 3), pads=BORDER, word=4, weight="uint8"),
    Case(CONV, (9, 20), (4, 8), (2, 2), (1, 3, 2, 3), word=4, zero_point=-128, channels=1, specialized=False),
    Case(CONV, (6, 7), (3, 2), pads=BORDER, word=4, channels=2, outputs=7, tile=(1, 3, 1), specialized=False),
    # Runs of eight.
    Case(CONV, (9, 20), (4, 8), (2, 2), (1, 3, 2, 3), word=8, zero_point=-128, channels=1, tile=(4, 1, 1)),
    Case(CONV, (6, 7), (3, 3), pads=BORDER, word=8, zero_point=127, channels=3, tile=(3, 1, 1)),
    Case(CONV, (5, 19), (3, 3), pads=BORDER, word=8, zero_point=1, channels=11, tile=(2, 1, 1)),
    Case(CONV, (5, 9), (1, 1), word=8, tile=(2, 1, 1), outputs=7, channels=50),
    Case(CONV, (5, 9), (1, 1), word=8, tile=(1, 1, 1), channels=16, specialized=False),
    Case(CONV, (5, 12), (2, 2), (1, 1), (0, 2, 1, 2), (1, 2), word=8, channels=9, zero_point=9, tile=(3, 1, 1)),
    Case(CONV, (6, 7), (3, 3), pads=BORDER, word=8, x="uint8", zero_point=255, tile=(3, 1, 1)),
    Case(CONV, (6, 7), (3, 3), pads=BORDER, word=8, x="uint8", weight="uint8", zero_point=1, tile=(3, 1, 1)),
    Case(CONV, (6, 7), (3, 3), pads=BORDER, word=8, weight="uint8", tile=(2, 1, 1), bias=False),
    # Groups.
    Case(CONV, (6, 7), (3, 3), pads=BORDER, channels=3, outputs=8, groups=4, tile=(3, 2, 1), zero_point=-7),
    Case(CONV, (6, 7), (3, 3), pads=BORDER, channels=3, outputs=8, groups=4, zero_point=9, specialized=False),
    Case(CONV, (9, 8), (3, 2), (2, 3), (0, 1, 2, 2), (1, 2), channels=1, outputs=6, groups=3, tile=(2, 2, 1)),
    Case(CONV, (6, 7), (3, 3), pads=BORDER, channels=6, outputs=9, groups=3, word=4, tile=(2, 3, 1), zero_point=-128),
    Case(CONV, (6, 7), (3, 3), pads=BORDER, channels=8, outputs=4, groups=2, word=4, x="uint8", specialized=False),
    Case(CONV, (6, 7), (3, 3), pads=BORDER, channels=11, outputs=4, groups=2, word=8, tile=(4, 1, 1), zero_point=1),
    Case(CONV, (20,), (5,), pads=(2, 2), channels=4, outputs=6, groups=3, x="float32", weight="float32"),
    # Depthwise.
    Case(DEPTHWISE, (6, 7), (3, 3), pads=BORDER, tile=(3, 1, 1), zero_point=-7),
    Case(DEPTHWISE, (6, 7), (3, 3), pads=BORDER, tile=(2, 3, 1), zero_point=-7, channels=8, specialized=False),
    Case(DEPTHWISE, (5, 12), (2, 3), (2, 1), (0, 2, 1, 2), (1, 2), tile=(2, 1, 1), bias=False),
    Case(DEPTHWISE, (4, 5, 6), (3, 2, 3), pads=(1, 0, 1, 1, 1, 1), tile=(2, 1, 1), channels=3),
    Case(DEPTHWISE, (20,), (5,), pads=(2, 1), tile=(3, 1, 1), zero_point=4),
    Case(DEPTHWISE, (9, 9), (5, 5), pads=(2, 2, 2, 2), tile=(2, 1, 1), x="float32", weight="float32"),
    Case(DEPTHWISE, (6, 7), (3, 3), pads=BORDER, tile=(1, 4, 1), word=4, channels=10, zero_point=-128),
    Case(DEPTHWISE, (9, 8), (3, 3), (2, 2), (0, 0, 1, 1), tile=(1, 4, 1), word=4, channels=8, x="uint8", zero_point=9),
    Case(DEPTHWISE, (40,), (21,), pads=(20, 20), tile=(1, 4, 1), word=4, weight="uint8", bias=False),
    # Quads: registers of 16 bytes of one position, of four outputs.
    Case(CONV, (6, 7), (3, 3), pads=BORDER, **QUADS, channels=16, outputs=8, outside=-128),
    Case(CONV, (6, 7), (3, 3), pads=BORDER, **QUADS, channels=16, outputs=8, outside=-128, specialized=False),
    Case(CONV, (6, 7), (3, 3), pads=BORDER, **QUADS, channels=5, outputs=7, outside=127),
    Case(CONV, (9, 20), (4, 8), (2, 2), (1, 3, 2, 3), **QUADS, channels=3, outputs=9, outside=3, bias=False),
    Case(CONV, (5, 9), (1, 1), **QUADS, channels=83, outputs=6),
    Case(CONV, (5, 12), (2, 2), (1, 1), (0, 2, 1, 2), (2, 2), **QUADS, channels=18, outputs=4, outside=9),
    Case(CONV, (3, 2), (5, 5), pads=(2, 2, 2, 2), **QUADS, channels=2, outputs=4, outside=5),  # all are cut
    Case(CONV, (2, 2), (1, 1), pads=(2, 1, 0, 2), **QUADS, channels=2, outputs=4, outside=5),  # some see nothing
    Case(CONV, (2, 2), (1, 1), pads=(2, 1, 0, 2), **QUADS, channels=16, outputs=4, outside=5, specialized=False),
    Case(CONV, (2, 3), (3, 2), pads=(4, 3, 5, 1), **QUADS, channels=16, outputs=4, outside=-6, specialized=False),
    Case(CONV, (3, 4, 6), (2, 3, 3), pads=(1, 0, 1, 0, 1, 2), **QUADS, channels=2, outputs=4, outside=-7),
    Case(CONV, (6, 7), (3, 3), pads=BORDER, **QUADS, channels=18, outputs=8, groups=2, outside=-5),
    # Patches.
    Case(CONV, (9, 20), (4, 8), (2, 2), (1, 3, 2, 3), **QUADS, channels=1, outputs=9, outside=-3, patch=True),
    Case(CONV, (6, 7), (3, 3), pads=BORDER, **QUADS, channels=3, outputs=4, outside=9, patch=True, bias=False),
    Case(CONV, (6, 7), (3, 3), **QUADS, channels=19, outputs=5, patch=True),
    Case(CONV, (5, 12), (2, 2), (1, 1), (0, 2, 1, 2), (2, 2), **QUADS, channels=3, outputs=4, outside=9, patch=True),
    Case(CONV, (2, 2), (1, 1), pads=(2, 1, 0, 2), **QUADS, channels=2, outputs=4, outside=5, patch=True),
    Case(CONV, (20,), (5,), pads=(2, 1), **QUADS, channels=2, outputs=4, outside=5, patch=True),
    # Channels in quads.
    Case(DEPTHWISE, (6, 7), (3, 3), pads=BORDER, lanes=4, tile=(3, 4, 1), channels=10, outside=-128),
    Case(DEPTHWISE, (6, 7), (3, 3), pads=BORDER, lanes=4, tile=(1, 4, 1), channels=4, outside=7, specialized=False),
    Case(DEPTHWISE, (9, 8), (3, 3), (2, 2), (0, 0, 1, 1), lanes=4, tile=(4, 4, 1), channels=8, x="uint8", bias=False),
    Case(DEPTHWISE, (5, 12), (2, 3), (2, 1), (0, 2, 1, 2), (1, 2), lanes=4, tile=(2, 4, 1), x="int16", outside=300),
    Case(DEPTHWISE, (40,), (21,), pads=(20, 20), lanes=4, tile=(4, 4, 1), weight="uint8", outside=4),
    # Products.
    Case(MATMUL, (3,), channels=37, outputs=9, **QUADS),
    Case(MATMUL, (2, 3), channels=64, outputs=4, **QUADS, bias=False),
    Case(MATMUL, (7,), channels=13, tile=(2, 2, 2), zero_point=11),
    Case(MATMUL, (2, 3), channels=5, tile=(2, 4, 1), bias=False),
    Case(MATMUL, (1,), channels=37, outputs=9, tile=(1, 4, 2), word=4),
    Case(MATMUL, (5,), channels=40, outputs=3, tile=(2, 2, 1), word=4, x="uint8", zero_point=255),
    Case(MATMUL, (), channels=6, tile=(1, 2, 1)),
    Case(MATMUL, (5,), channels=83, outputs=3, tile=(2, 1, 1), word=8, zero_point=-3),
    Case(MATMUL, (1,), channels=21, outputs=4, tile=(1, 1, 1), word=8, x="uint8", zero_point=255),
    Case(MATMUL, (5,), channels=12, tile=(4, 4, 1), x="float32", weight="float32"),
)


def random_case(rng: np.random.Generator) -> Case:
    """A convolution or product of any shape."""

    def some(low: int, high: int, count: int = 1) -> tuple[int, ...]:
        return tuple(int(each) for each in rng.integers(low, high + 1, count))

    op = (CONV, CONV, DEPTHWISE, MATMUL)[some(0, 3)[0]]
    signs = {name: ("int8", "uint8")[some(0, 1)[0]] for name in ("x", "weight")}
    (point,), (word,) = some(-128, 127) if signs["x"] == "int8" else some(0, 255), rng.choice([1, 4, 8], 1).tolist()
    common = {**signs, "zero_point": point, "bias": bool(some(0, 1)[0]), "specialized": bool(some(0, 3)[0])}
    (positions,), (columns,), (unroll,) = some(1, 4), some(1, 4), some(1, 3)
    if op == MATMUL:
        tile = positions, 1 if word == 8 else columns, unroll
        return Case(op, some(1, 6), channels=some(8, 40)[0], outputs=some(1, 9)[0], word=word, tile=tile, **common)
    rank = some(1, 2)[0]
    kernel, strides, dilations = some(1, 4, rank), some(1, 3, rank), some(1, 2, rank)
    pads = tuple(min(pad, size - 1) for pad, size in zip(some(0, 3, 2 * rank), kernel * 2, strict=True))
    window = some(8, 14, rank), kernel, strides, pads, dilations
    if op == DEPTHWISE:
        word = min(word, 4)
        tile = (1, 4, 1) if word == 4 else (positions, columns, 1)
        return Case(op, *window, channels=some(4, 13)[0], word=word, tile=tile, **common)
    (groups,), (share,) = some(1, 3), some(1, 3)
    columns = 1 if word == 8 else columns
    outputs = share * columns * groups if groups > 1 else some(1, 9)[0]
    sizes = {"channels": some(1, 9)[0], "outputs": outputs, "groups": groups}
    return Case(op, *window, **sizes, word=word, tile=(positions, columns, unroll), **common)


PAIRED = tuple(
    replace(case, paired=True)
    for case in FIXED
    if case.op != DEPTHWISE and (case.weight, case.tile[1] % 2) == ("int8", 0) and case.word != 8
)
CASES = (*FIXED, *PAIRED, *map(random_case, np.random.default_rng(12).spawn(16)))


PATCHES = {n: tensor((prod(case.rows()),), "i8") for n, case in enumerate(CASES) if case.patch}
results = CaseRuns.of(CASES, PATCHES)


@pytest.mark.parametrize("route", ["jit", "c"])
@pytest.mark.parametrize("number", range(len(CASES)), ids=lambda number: f"{number}-{CASES[number].op}")
def test_schedules_definitions_and_numpy_agree(route: str, number: int) -> None:
    case, found = CASES[number], results(route)
    plain, sums = found[f"plain{number}"], found[f"tiled{number}"]
    if case.is_float:
        np.testing.assert_allclose(sums, plain, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(plain, case.expected(), rtol=1e-5, atol=1e-5)
    else:
        np.testing.assert_array_equal(sums, plain)
        np.testing.assert_array_equal(plain, case.expected())


def test_pairs_have_even_and_odd_numbers_of_outputs_in_all_sizes_of_words() -> None:
    assert {(case.word, case.outputs % 2) for case in PAIRED} == {(word, odd) for word in (1, 4, 16) for odd in (0, 1)}


@pytest.mark.parametrize("shape", [(5, 3, 11), (4, 1, 8), (1, 2, 3), (7, 1, 1), (6, 2, 12)])
@pytest.mark.parametrize("columns", [1, 2, 4])
@pytest.mark.parametrize("word", [1, 4, 16])
def test_the_first_words_are_those_of_the_first_outputs(shape: tuple[int, ...], columns: int, word: int) -> None:
    x = np.arange(prod(shape), dtype=np.int32).reshape(shape)
    packed, width = words(columns, word).pack(x), min(columns, shape[0])
    if word == 1:
        np.testing.assert_array_equal(packed[:width], x[:width, 0, 0])
    elif shape[2] >= word:
        np.testing.assert_array_equal(packed[: width * word], x[:width, 0, :word].reshape(-1))
