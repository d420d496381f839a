"""Sums in quads, requantised as TFLite does: what the definition of `graph.doubling_requantize` evaluates, in C and in
LLVM, for sums of all sizes, every shift and ties of both signs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from kernel_program import ENTRY, Array, as_loops, kernel, on_tiles, through_c, through_llvm

CHANNELS, ROWS, POINT = 124, 64, 3
LOW, HIGH = -30000, 30000
RNG = np.random.default_rng(1)
SHIFTS = np.arange(CHANNELS, dtype=np.int32) % 31
FACTORS = RNG.integers(1 << 30, 1 << 31, CHANNELS).astype(np.int32)
FACTORS[:31], FACTORS[31:40], FACTORS[-1] = 1 << 30, (1 << 31) - 1, 0
X = RNG.integers(-128, 128, (ROWS, CHANNELS), np.int8)
WEIGHT = RNG.integers(-128, 128, CHANNELS, np.int8)
BIAS = (RNG.integers(-(1 << 31) + (1 << 14), (1 << 31) - (1 << 14), CHANNELS) >> RNG.integers(0, 31, CHANNELS)).astype(
    np.int32
)


def expected(x: Array, factor: Array, shift: Array) -> Array:
    """gemmlowp's two roundings."""
    value = (x.astype(np.int64) * factor + (1 << 30)) >> 31
    size = np.abs(value) * 2 + (1 << shift.astype(np.int64))
    rounded = np.sign(value) * (size >> (shift + 1))  # the middle away from zero
    return np.clip(rounded + POINT, LOW, HIGH)


def source() -> str:
    """One tap of one position for each row: a sum is a product and a bias."""
    x, sums = f"1x1x{ROWS}x{CHANNELS}xi8", f"1x1x{ROWS}x{CHANNELS}xi32"
    operands = [x, f"1x{CHANNELS}xi8", *[f"{CHANNELS}xi32"] * 3]
    window = "strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, accumulator = i32"
    schedule = "#graph.sums_schedule<lanes = 4, positions = 2, columns = 4, word = 1, unroll = 1, specialized>"
    numbers = f"axis = 3 : i64, zero_point = {POINT} : i64, low = {LOW} : i64, high = {HIGH} : i64, to = i16"
    kinds = [f"tensor<{kind}>" for kind in (*operands, sums, sums.replace("i32", "i16"))]
    body = f"""
    %sums = graph.channels_last_depthwise_conv %x0, %x1, %x2 {{{window}, schedule = {schedule}}}
        : ({", ".join(kinds[:3])}) -> {kinds[5]}
    %r0 = graph.doubling_requantize %sums, %x3, %x4 {{{numbers}}} : ({kinds[5]}, {", ".join(kinds[3:5])}) -> {kinds[6]}
    """
    return kernel(body, operands, [sums.replace("i32", "i16")])


def test_quads_are_rounded_twice(tmp_path: Path) -> None:
    module = on_tiles(as_loops(source()))
    assert "vector<4xi64>" in str(module)
    wanted = expected(X.astype(np.int64) * WEIGHT + BIAS, FACTORS, SHIFTS)
    for run in (through_llvm(module, ENTRY), through_c(module, ENTRY, tmp_path)):
        result = np.zeros((ROWS, CHANNELS), np.int16)
        run(X, WEIGHT, BIAS, FACTORS, SHIFTS, result)
        np.testing.assert_array_equal(result, wanted)


def test_some_quotients_are_ties() -> None:
    """Of which the negative ones are rounded down."""
    value = (X.astype(np.int64) * WEIGHT + BIAS) * FACTORS + (1 << 30) >> 31
    ties = (value & ((1 << SHIFTS) - 1)) * 2 == 1 << SHIFTS
    inside = np.abs(value >> SHIFTS) < HIGH - POINT
    assert (ties & inside & (value < 0)).any() and (ties & inside & (value > 0)).any()
