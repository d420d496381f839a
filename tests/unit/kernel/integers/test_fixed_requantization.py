"""Kernels of fixed-point requantisation give what the float formula gives: sums around every middle between two
integers, of which f32 makes just the middle, in C and in LLVM."""

from __future__ import annotations

import numpy as np
import pytest
from case_model import Array, CaseModel, CaseRuns, tensor

from aotc.passes.graph.quantization.fixed_point import fixed_point

CASES = tuple(
    (multiplier, most, long_multiply)
    for multiplier, most in ((0.0123, 1 << 15), (0.1, 1 << 14), (1 / 3, 1 << 12), (2**-9, 1 << 17), (0.0007, 1 << 18))
    for long_multiply in (True, False)
)
LOW, HIGH, POINT = -128, 127, 5


def sums(multiplier: float, most: int) -> Array:
    """Those around the middles, the greatest and some others."""
    middles = (np.arange(LOW - 3, HIGH + 3) + 0.5) / float(np.float32(multiplier))
    near = (np.floor(middles)[:, None] + np.arange(-2, 4)).reshape(-1)
    others = np.random.default_rng(0).integers(-most, most + 1, 1000)
    return np.clip(np.concatenate([near, others, [-most, most]]), -most, most).astype(np.int32)


def model(route: str) -> CaseModel:
    """A kernel for each case."""
    made = CaseModel("requantized")
    for number, (multiplier, most, long_multiply) in enumerate(CASES):
        factors = np.array([multiplier], np.float32), np.array([most], np.int64)
        fixed = fixed_point(*factors, LOW - POINT, HIGH - POINT, long_multiply=long_multiply)
        assert fixed is not None and (long_multiply or fixed.split is not None)
        x = sums(multiplier, most)
        kinds = f"{made.input(f'x{number}', x)}, {made.input(f'f{number}', fixed.factors)}"
        numbers = {"axis": 0, "shift": fixed.shift, "most": fixed.most, "guard": fixed.guard, "zero_point": POINT}
        numbers |= {"low": LOW, "high": HIGH, "up": fixed.up, "drop": fixed.drop, "split": fixed.split}
        given = ", ".join(f"{name} = {value} : i64" for name, value in numbers.items() if value is not None)
        kind = tensor(x.shape, "i8")
        made.body.append(
            f"%r{number} = graph.fixed_requantize %x{number}, %f{number} {{{given}, to = i8}} : ({kinds}) -> {kind}"
        )
        made.output(f"r{number}", f"%r{number}", kind)
    return made


results = CaseRuns(model)


@pytest.mark.parametrize("route", ["jit", "c"])
@pytest.mark.parametrize("number", range(len(CASES)))
def test_kernels_round_as_floats(route: str, number: int) -> None:
    multiplier, most, _ = CASES[number]
    product = sums(multiplier, most).astype(np.float32) * np.float32(multiplier)
    expected = np.clip(np.rint(product) + POINT, LOW, HIGH)
    np.testing.assert_array_equal(results(route)[f"r{number}"], expected)


def test_some_products_are_rounded_to_the_middle() -> None:
    """Which is what upper bits cannot decide."""
    x = sums(0.1, 1 << 14)
    exact, rounded = x * float(np.float32(0.1)), x.astype(np.float32) * np.float32(0.1)
    assert ((rounded % 1 == 0.5) & (exact != rounded)).any()
