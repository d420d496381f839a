"""Operators on two tensors that are broadcast."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from lite_cases.case import Case, constant, random, single, tensor

_SHAPES: list[tuple[str, tuple[int, ...], tuple[int, ...]]] = [
    ("same", (2, 3, 4), (2, 3, 4)),
    ("row", (2, 3, 4, 5), (1, 1, 1, 5)),
    ("scalar", (3, 7), ()),
    ("both", (1, 3, 1, 4), (2, 1, 5, 4)),
    ("first", (4,), (2, 3, 4)),
]
_SCALES: list[tuple[str, float, float, float]] = [
    ("near", 0.05, 0.03, 0.06),
    ("equal", 0.05, 0.05, 0.1),
    ("ties", 0.5, 0.25, 1.0),
    ("far", 0.4, 0.0007, 0.35),
    ("fine", 0.02, 0.03, 0.0004),
]
"""Scales of the inputs and the output of sums."""
_ACTIVATIONS = ("RELU", "RELU6", "RELU_N1_TO_1")


def _out(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    return np.broadcast_shapes(a, b)


def _binary(
    name: str,
    code: str,
    dtype: str,
    shapes: tuple[tuple[int, ...], tuple[int, ...]] = ((2, 3, 4), (2, 3, 4)),
    scales: tuple[float, float, float] = (0.05, 0.03, 0.06),
    zeros: tuple[int, int, int] = (-3, 7, 4),
    known: bool = False,
    **options: Any,
) -> Case:
    """A case; `known`: the second input is a constant."""
    quantized = dtype in ("int8", "int16")
    given: Any = [(scale, zero if dtype == "int8" else 0) for scale, zero in zip(scales, zeros, strict=True)]
    if not quantized:
        given = [()] * 3
    inputs = [tensor(shape, dtype, *more) for shape, more in zip(shapes, given[:2], strict=True)]
    if known:
        numbers = random(name).integers(-100, 100, shapes[1]).astype(dtype)
        inputs[1] = constant(numbers, None, *given[1])
    outputs = [tensor(_out(*shapes), dtype, *given[2])]
    return single(f"{code.lower()}-{name}-{dtype}", code, inputs, outputs, **options)


def sums() -> Iterator[Case]:
    """ADD, SUB and MUL."""
    for code in ("ADD", "SUB", "MUL"):
        for dtype in ("int8", "int16", "int32", "float32"):
            for name, *shapes in _SHAPES:
                yield _binary(name, code, dtype, (shapes[0], shapes[1]))
            for activation in _ACTIVATIONS:
                small: dict[str, Any] = {"ranges": {"x0": (-9, 9), "x1": (-3, 3)}} if dtype == "int32" else {}
                yield _binary(activation.lower(), code, dtype, fused_activation_function=activation, **small)
            yield _binary("known", code, dtype, known=True)
        for dtype in ("int8", "int16"):
            for name, *scales in _SCALES:
                grown = scales[2] * (1 if code != "MUL" else 4)
                yield _binary(f"scales_{name}", code, dtype, ((9, 31), (9, 31)), (scales[0], scales[1], grown))
        yield _binary("overflowing", code, "int32", ranges={"x0": (-(2**31), 2**31 - 1), "x1": (-(2**31), 2**31 - 1)})


def cases() -> Iterator[Case]:
    """All of this file."""
    yield from sums()
