"""The code of dot products of narrow integers on each processor, evaluated in numpy by the meanings of instructions."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from selected import TARGETS, Evaluating

from aotc.machines.expansions.dots import dot, dot_pair
from aotc.machines.instructions.evaluation import Array, ArrayValue
from aotc.machines.instructions.values import bounds
from aotc.machines.targets import instructions_of

CASES = 4000
RANDOM = np.random.default_rng(5)


def _numbers(dtype: str, lanes: int) -> Array:
    """Of a type, [cases, lanes], many of them at the ends of its range."""
    low, high = bounds(dtype)
    values = RANDOM.integers(low, high, (CASES, lanes), endpoint=True)
    return np.where(RANDOM.random(values.shape) < 0.5, RANDOM.choice([low, high, 0, low + 1], values.shape), values)


def _sum(x: Array, w: Array, group: int) -> Array:
    """The products of each group."""
    return (x.astype(np.int64) * w).reshape(CASES, -1, group).sum(axis=-1)


def _wrapped(sums: Array) -> Array:
    return sums.astype(np.int64).astype(np.int32)


@pytest.mark.parametrize("lanes", [4, 8, 16])
@pytest.mark.parametrize("target", TARGETS)
def test_factors_of_any_signs(target: str, lanes: int) -> None:
    for bits, first, second in product((8, 16), "su", "su"):
        kinds, wide = (f"{first}{bits}", f"{second}{bits}"), lanes * 32 // bits
        x, w = (_numbers(kind, wide) for kind in kinds)
        sums = _numbers("s32", lanes)
        values = (ArrayValue(each, kind) for each, kind in zip((x, w, sums), (*kinds, "s32"), strict=True))
        found = dot(Evaluating(instructions_of(target)), *values, narrow=False, complement=False)
        expected = _wrapped(sums + _sum(x, w, 32 // bits))
        np.testing.assert_array_equal(found.array.view(np.int32), expected, err_msg=f"{kinds}")


@pytest.mark.parametrize("lanes", [4, 8, 16])
@pytest.mark.parametrize("target", TARGETS)
def test_narrow_pairs(target: str, lanes: int) -> None:
    """|w| + |w'| <= 128 in each pair of x without sign; every w but -128 of x with one."""
    sums = _numbers("s32", lanes)
    for kind in ("u8", "s8"):
        x, w = _numbers(kind, 4 * lanes), np.maximum(_numbers("s8", 4 * lanes), -127)
        if kind == "u8":
            w[:, 1::2] = np.clip(w[:, 1::2], np.abs(w[:, ::2]) - 128, 128 - np.abs(w[:, ::2]))
            w[:, 1::2] = np.minimum(w[:, 1::2], 127)
        p = Evaluating(instructions_of(target))
        values = ArrayValue(x, kind), ArrayValue(w, "s8"), ArrayValue(sums, "s32")
        found = dot(p, *values, narrow=True, complement=False)
        np.testing.assert_array_equal(found.array.view(np.int32), _wrapped(sums + _sum(x, w, 4)), err_msg=kind)


@pytest.mark.parametrize("lanes", [4, 8, 16])
@pytest.mark.parametrize("target", TARGETS)
def test_complements(target: str, lanes: int) -> None:
    """x * |w| or (-1 - x) * |w|; an x without sign counts as x - 128."""
    sums, w = _numbers("s32", lanes), _numbers("s8", 4 * lanes)
    for kind in ("s8", "u8"):
        x = _numbers(kind, 4 * lanes)
        values = ArrayValue(x, kind), ArrayValue(w, "s8"), ArrayValue(sums, "s32")
        found = dot(Evaluating(instructions_of(target)), *values, narrow=False, complement=True)
        counted = x.astype(np.int64) - (128 if kind == "u8" else 0)
        expected = _wrapped(sums + _sum(counted, w, 4) + _sum(np.ones_like(w), np.minimum(w, 0), 4))
        np.testing.assert_array_equal(found.array, expected, err_msg=kind)


@pytest.mark.parametrize("lanes", [4, 8, 16])
@pytest.mark.parametrize("target", TARGETS)
def test_two_steps(target: str, lanes: int) -> None:
    """Of weights four of which are at most 128 together, 255 with complements."""
    sums = _numbers("s32", lanes)
    for kind, complement, most in (("u8", False, 128), ("s8", True, 255), ("u8", True, 255)):
        weights = RANDOM.dirichlet(np.full(4, 0.3), (CASES, 2 * lanes)) * most
        four = np.minimum(np.floor(weights), 127) * RANDOM.choice([-1, 1], weights.shape)
        w, v = (np.ascontiguousarray(four[..., part : part + 2].reshape(CASES, -1)) for part in (0, 2))
        x, y = (_numbers(kind, 4 * lanes) for _ in range(2))
        steps = [(ArrayValue(a, kind), ArrayValue(b, "s8")) for a, b in ((x, w), (y, v))]
        p = Evaluating(instructions_of(target))
        found = dot_pair(p, (steps[0], steps[1]), ArrayValue(sums, "s32"), complement=complement)
        expected = sums.astype(np.int64)
        for factor, weight in ((x, w), (y, v)):
            counted = factor.astype(np.int64) - (128 if complement and kind == "u8" else 0)
            expected = expected + _sum(counted, weight.astype(np.int64), 4)
            if complement:
                expected = expected + _sum(np.ones_like(weight), np.minimum(weight, 0), 4)
        np.testing.assert_array_equal(found.array.view(np.int32), _wrapped(expected), err_msg=f"{kind} {complement}")
        if f"pmaddubsw.{32 * lanes}" in instructions_of(target):
            assert "pmaddubsw" in " ".join(p.used)
