"""Layers with a state; inputs of a case are calls in a row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from lite_model import Tensor

from lite_cases.case import Case, constant, random, single, tensor

FLOAT = 1e-5


def _svdf(
    name: str, dtype: str, batch: int, rank: int, state: str = "int16", zero: int = 0, fused: str = "NONE"
) -> Case:
    """Units 5, inputs 7, memory of 4."""
    case, filters = f"svdf-{name}", 5 * rank
    rng = random(case)
    if dtype == "float32":
        arrays = [rng.normal(0, 0.4, size).astype(np.float32) for size in ((filters, 7), (filters, 4), (5,))]
        given: list[Tensor | None] = [tensor((batch, 7), dtype), *(constant(array) for array in arrays)]
        kept, out = tensor((batch, filters * 4), dtype, variable=True), tensor((batch, 5), dtype)
    else:
        features = constant(rng.integers(-127, 127, (filters, 7)).astype(np.int8), None, 0.01)
        scale = 0.004 if state == "int16" else 0.2
        limit = 2000 if state == "int16" else 100
        times = constant(rng.integers(-limit, limit, (filters, 4)).astype(state), None, 0.001)
        bias = constant(rng.integers(-90_000, 90_000, 5).astype(np.int32), None, scale * 0.001)
        given = [tensor((batch, 7), dtype, 0.05, -3), features, times, bias]
        kept = tensor((batch, filters * 4), state, scale, zero, variable=True)
        out = tensor((batch, 5), dtype, 0.2 if state == "int16" else 0.03, 7)
    near = FLOAT if dtype == "float32" else 0
    more: dict[str, Any] = {"rank": rank, "fused_activation_function": fused}
    return single(case, "SVDF", [*given, kept], [out], tolerance=near, **more)


def svdf() -> Iterator[Case]:
    """SVDF with states of 16 and 8 bits, several batches and ranks."""
    yield _svdf("int8", "int8", 1, 1)
    yield _svdf("batches-int8", "int8", 3, 2)
    yield _svdf("narrow-int8", "int8", 2, 1, "int8")
    yield _svdf("narrow_zero-int8", "int8", 1, 2, "int8", 5)
    yield _svdf("float32", "float32", 1, 1)
    yield _svdf("batches-float32", "float32", 2, 3)
    yield _svdf("relu-float32", "float32", 2, 1, fused="RELU")


def _lstm(
    name: str, dtype: str, *, batch: int = 1, steps: int = 5, major: bool = False, clip: float = 0.0, power: int = -11
) -> Case:
    """Six units, four inputs."""
    case, units, depth = f"lstm-{name}", 6, 4
    rng = random(case)
    shape = (steps, batch, depth) if major else (batch, steps, depth)
    out = (*shape[:2], units)
    inputs: list[Tensor | None] = [None] * 24
    if dtype == "float32":
        inputs[0], y = tensor(shape, dtype), tensor(out, dtype)
        for place in range(1, 9):
            size = (units, depth if place < 5 else units)
            inputs[place] = constant(rng.normal(0, 0.5, size).astype(np.float32))
        for place in range(12, 16):
            inputs[place] = constant(rng.normal(0, 0.5, units).astype(np.float32))
        inputs[18], inputs[19] = (tensor((batch, units), dtype, variable=True) for _ in range(2))
    else:
        fine = 1 if dtype == "int8" else 256
        scale, zero, hidden = 0.02 / fine, -4 if dtype == "int8" else 0, (0.0075 / fine, 3 if dtype == "int8" else 0)
        inputs[0], y = tensor(shape, dtype, scale, zero), tensor(out, dtype, *hidden)
        for place in range(1, 9):
            size = (units, depth if place < 5 else units)
            inputs[place] = constant(rng.integers(-127, 127, size).astype(np.int8), None, rng.uniform(0.004, 0.012))
        for place in range(12, 16):
            numbers = rng.integers(-4000, 4000, units) * fine
            weights = inputs[place - 11]
            assert weights is not None and isinstance(weights.scale, float)
            inputs[place] = constant(numbers.astype("int32" if fine == 1 else "int64"), None, scale * weights.scale)
        inputs[18] = tensor((batch, units), dtype, *hidden, variable=True)
        inputs[19] = tensor((batch, units), "int16", 2.0**power, 0, variable=True)
    more: dict[str, Any] = {"fused_activation_function": "TANH", "time_major": major, "cell_clip": clip}
    near = FLOAT if dtype == "float32" else 0
    return single(case, "UNIDIRECTIONAL_SEQUENCE_LSTM", inputs, [y], tolerance=near, **more)


def lstm() -> Iterator[Case]:
    """UNIDIRECTIONAL_SEQUENCE_LSTM: batches, time first, clipped cells, cells of several scales."""
    for dtype in ("int8", "int16", "float32"):
        yield _lstm(f"one-{dtype}", dtype)
        yield _lstm(f"batches-{dtype}", dtype, batch=2)
        yield _lstm(f"step-{dtype}", dtype, batch=2, steps=1)
        yield _lstm(f"major-{dtype}", dtype, batch=2, major=True)
        yield _lstm(f"clipped-{dtype}", dtype, clip=0.6)
    for power in (-13, -12, -9):
        yield _lstm(f"cell{power}-int8", "int8", power=power)


def cases() -> Iterator[Case]:
    """All of this file."""
    yield from svdf()
    yield from lstm()
