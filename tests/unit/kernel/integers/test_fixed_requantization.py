"""Kernels of fixed-point requantisation give what the float formula gives: sums around every middle between two
integers, of which f32 makes just the middle, in C and in LLVM."""

from __future__ import annotations

import numpy as np
import pytest
from case_model import Array, CaseModel, CaseRuns, tensor
from xdsl.dialects.builtin import IntegerType, TensorType, i32
from xdsl.utils.test_value import create_ssa_value

from aotc.dialects.graph.quantized.requantization import FixedRequantizeOp
from aotc.passes.graph.fix_requantization import FixedPoint, fixed_point

CASES = tuple(
    (bits, multiplier, most, long_multiply)
    for bits, multiplier, most in (
        *((8, 0.0123, 1 << 15), (8, 0.1, 1 << 14), (8, 1 / 3, 1 << 12), (8, 2**-9, 1 << 17), (8, 0.0007, 1 << 18)),
        *((8, 0.00465, (1 << 20) - 1), (8, 1.1 * 2**-14, 1 << 22), (8, 1.3 * 2**-17, (1 << 24) - 1)),
        *((16, 1.1 * 2**-9, 1 << 23), (16, 1.1 * 2**-11, (1 << 24) - 1), (16, 2**-11, (1 << 24) - 1)),
    )
    for long_multiply in (True, False)
)
POINT = 5


def bounds(bits: int) -> tuple[int, int]:
    """Of what is computed: all integers of 8 bits, and many of 16."""
    return -(1 << bits - 1), (1 << bits - 1) - 1


def sums(bits: int, multiplier: float, most: int) -> Array:
    """Those around the middles, the greatest and some others."""
    low, high = bounds(bits)
    integers = np.arange(low - 3, high + 3, 1 if bits == 8 else 7)
    middles = (integers + 0.5) / float(np.float32(multiplier))
    near = (np.floor(middles)[:, None] + np.arange(-2, 4)).reshape(-1)
    others = np.random.default_rng(0).integers(-most, most + 1, 1000)
    return np.clip(np.concatenate([near, others, [-most, most]]), -most, most).astype(np.int32)


def parameters(bits: int, multiplier: float, most: int, long_multiply: bool) -> FixedPoint:
    """Those of a case."""
    low, high = bounds(bits)
    factors = np.array([multiplier], np.float32), np.array([most], np.int64)
    fixed = fixed_point(*factors, low - POINT, high - POINT, long_multiply=long_multiply)
    assert fixed is not None
    return fixed


def model(route: str) -> CaseModel:
    """A kernel for each case."""
    made = CaseModel("requantized")
    for number, (bits, multiplier, most, long_multiply) in enumerate(CASES):
        low, high = bounds(bits)
        fixed = parameters(bits, multiplier, most, long_multiply)
        x = sums(bits, multiplier, most)
        kinds = f"{made.input(f'x{number}', x)}, {made.input(f'f{number}', fixed.factors)}"
        numbers = {"axis": 0, "shift": fixed.shift, "most": fixed.most, "guard": fixed.guard, "zero_point": POINT}
        numbers |= {"low": low, "high": high, "up": fixed.up, "drop": fixed.drop, "split": fixed.split}
        given = ", ".join(f"{name} = {value} : i64" for name, value in numbers.items() if value is not None)
        kind = tensor(x.shape, f"i{bits}")
        made.body.append(
            f"%r{number} = graph.fixed_requantize %x{number}, %f{number} {{{given}, to = i{bits}}} :"
            f" ({kinds}) -> {kind}"
        )
        made.output(f"r{number}", f"%r{number}", kind)
    return made


results = CaseRuns(model)


@pytest.mark.parametrize("route", ["jit", "c"])
@pytest.mark.parametrize("number", range(len(CASES)))
def test_kernels_round_as_floats(route: str, number: int) -> None:
    bits, multiplier, most, _ = CASES[number]
    product = sums(bits, multiplier, most).astype(np.float32) * np.float32(multiplier)
    expected = np.clip(np.rint(product) + POINT, *bounds(bits))
    np.testing.assert_array_equal(results(route)[f"r{number}"], expected)


def test_some_products_are_rounded_to_the_middle() -> None:
    """Which is what upper bits cannot decide."""
    x = sums(8, 0.1, 1 << 14)
    exact, rounded = x * float(np.float32(0.1)), x.astype(np.float32) * np.float32(0.1)
    assert ((rounded % 1 == 0.5) & (exact != rounded)).any()


def test_distances_of_bytes_are_in_32_bits() -> None:
    """Where products are of 64 bits; those of many integers of 16 bits are not, nor are those where factors of large
    sums are split."""
    near: dict[tuple[int, bool], set[bool]] = {}
    for bits, multiplier, most, long_multiply in CASES:
        fixed = parameters(bits, multiplier, most, long_multiply)
        numbers: dict[str, object] = {
            name: getattr(fixed, name) for name in ("shift", "most", "guard", "up", "drop", "split")
        }
        low, high = bounds(bits)
        numbers |= {"low": low, "high": high, "to": IntegerType(bits)}
        op = FixedRequantizeOp.get(*(create_ssa_value(TensorType(i32, [1])) for _ in range(2)), axis=0, **numbers)
        near.setdefault((bits, fixed.split is not None), set()).add(op.is_near)
    assert near == {(8, False): {True}, (8, True): {True, False}, (16, False): {True, False}}
