"""Resampling vectorised against numpy, over ranks, axes, numbers of taps and sizes that tiles do not divide."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from kernel_program import ENTRY, Array, as_loops, kernel, lowered, on_tiles, through_c, through_llvm

from aotc.dialects.graph.schedules import Schedule, ScheduleAttr
from aotc.dialects.graph.vision.sampling import ResampleOp
from aotc.machines.families import ARM32_NEON, X86_AVX512
from aotc.machines.machine import Machine
from aotc.passes.kernel.strategy import strategy_of

MACHINES = (X86_AVX512, ARM32_NEON)
CASES = (
    ((2, 3, 5, 7, 16), 3, 2),
    ((2, 3, 5, 7, 16), 2, 4),
    ((1, 1, 9, 6, 12), 3, 7),
    ((1, 4, 6, 45), 2, 2),
    ((3, 33), 0, 3),
    ((2, 5, 80, 1), 1, 2),
)
"""Shape, axis, taps."""


def operation(shape: tuple[int, ...], axis: int, taps: int, schedule: Schedule | None) -> str:
    chosen = "" if schedule is None else f", schedule = {ScheduleAttr.of(schedule)}"
    types = [f"tensor<{kind}>" for kind in kinds(shape, axis, taps)]
    operands = f"%x0, %x1, %x2 {{axis = {axis}{chosen}}}"
    return f"%r0 = graph.resample {operands} : ({', '.join(types[:3])}) -> {types[3]}"


def kinds(shape: tuple[int, ...], axis: int, taps: int) -> list[str]:
    count = 2 * shape[axis] - 1
    result = (*shape[:axis], count, *shape[axis + 1 :])
    whole, out = ("x".join(map(str, each)) for each in (shape, result))
    return [f"{whole}xf32", f"{count}x{taps}xi64", f"{count}x{taps}xf32", f"{out}xf32"]


def source(shape: tuple[int, ...], axis: int, taps: int, schedule: Schedule | None) -> str:
    *operands, result = kinds(shape, axis, taps)
    return kernel(operation(shape, axis, taps, schedule), operands, [result])


def resample(shape: tuple[int, ...], axis: int, taps: int) -> ResampleOp:
    (op,) = (op for op in lowered(source(shape, axis, taps, None), "").walk() if isinstance(op, ResampleOp))
    return op


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: f"{machine.vector_bytes} bytes")
@pytest.mark.parametrize(("shape", "axis", "taps"), CASES)
def test_against_numpy(shape: tuple[int, ...], axis: int, taps: int, machine: Machine, tmp_path: Path) -> None:
    op = resample(shape, axis, taps)
    schedule = strategy_of(op).schedule(op, machine)
    assert schedule is not None
    rng = np.random.default_rng(taps)
    count = 2 * shape[axis] - 1
    x: Array = rng.normal(0, 2, shape).astype(np.float32)
    places: Array = rng.integers(0, shape[axis], (count, taps))
    weights: Array = rng.normal(0, 1, (count, taps)).astype(np.float32)
    (expected,) = op.evaluate([x, places, weights]) or ()
    module = on_tiles(as_loops(source(shape, axis, taps, schedule)))
    results = [np.full(expected.shape, 77, np.float32) for _ in range(2)]
    through_llvm(module, ENTRY)(x, places, weights, results[0])
    through_c(module, ENTRY, tmp_path)(x, places, weights, results[1])
    np.testing.assert_allclose(results[0], expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(results[0], results[1])


@pytest.mark.parametrize(("shape", "axis"), [((2, 3, 5, 7), 3), ((2, 30, 40, 1), 2), ((2, 8, 5, 3), 2)])
def test_elements_from_anywhere(shape: tuple[int, ...], axis: int) -> None:
    """Along the axis itself, or a short one, nothing is contiguous for long enough."""
    op = resample(shape, axis, 2)
    assert strategy_of(op).schedule(op, MACHINES[0]) is None


def test_candidates_are_other_tiles() -> None:
    op = resample(*CASES[0])
    strategy = strategy_of(op)
    schedule = strategy.schedule(op, MACHINES[0])
    candidates = list(strategy.candidates(op, schedule, MACHINES[0]))
    assert schedule not in candidates
    sizes = {(each.rows, each.registers) for each in candidates}
    assert {(1, 1), (2, 4), (8, 1)} <= sizes
    assert max(rows * registers for rows, registers in sizes) == 8
