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
    ("ratio", 0.3, 0.7, 0.06),
    ("half", 0.07, 0.14, 0.14),
]
"""Scales of the inputs and the output of sums."""
_FAR_FROM_ZERO = {"x0": (40, 127)}
"""Dividends whose quotients are not so near 0 that the interpreter shifts by more than 31 bits, which C leaves open."""
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
        wide: Any = {"scales": (0.5, 0.4, 0.8), "fused_activation_function": "RELU6"}
        yield _binary("relu6_tie", code, "int8", **wide)  # 6 / 0.8 is 7.5 in float
        for dtype in ("int8", "int16"):
            for name, *scales in _SCALES:
                grown = scales[2] * (1 if code != "MUL" else 4)
                yield _binary(f"scales_{name}", code, dtype, ((9, 31), (9, 31)), (scales[0], scales[1], grown))
        yield _binary("overflowing", code, "int32", ranges={"x0": (-(2**31), 2**31 - 1), "x1": (-(2**31), 2**31 - 1)})


def comparisons() -> Iterator[Case]:
    """Comparisons, which have an output of truth values, and logic."""
    for code in ("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL"):
        for name, *shapes in (_SHAPES[0], _SHAPES[3]):
            for dtype in ("int8", "int32", "int64", "float32") + (("bool",) if "EQUAL" in code[-9:] else ()):
                if dtype == "bool" and code not in ("EQUAL", "NOT_EQUAL"):
                    continue
                given = [(0.03, -4), (0.05, 6)] if dtype == "int8" else [(), ()]
                inputs = [tensor(shape, dtype, *more) for shape, more in zip(shapes, given, strict=True)]
                few = {f"x{k}": (-5, 5) for k in (0, 1)} if dtype not in ("int8", "bool") else {}
                yield single(
                    f"{code.lower()}-{name}-{dtype}", code, inputs, [tensor(_out(*shapes), "bool")], ranges=few
                )
        for name, scales in (("same", (0.05, 0.05)), ("ties", (0.25, 0.5)), ("near", (0.0371, 0.037))):
            inputs = [tensor((9, 40), "int8", scale, 3) for scale in scales]
            few = {"x0": (-20, 20), "x1": (-20, 20)}
            yield single(f"{code.lower()}-scales_{name}-int8", code, inputs, [tensor((9, 40), "bool")], ranges=few)
    for code in ("LOGICAL_AND", "LOGICAL_OR"):
        for name, *shapes in (_SHAPES[0], _SHAPES[3]):
            inputs = [tensor(shape, "bool") for shape in shapes]
            yield single(f"{code.lower()}-{name}-bool", code, inputs, [tensor(_out(*shapes), "bool")])


def extremes() -> Iterator[Case]:
    """MAXIMUM and MINIMUM."""
    for code in ("MAXIMUM", "MINIMUM"):
        for name, *shapes in _SHAPES:
            for dtype in ("int8", "int16", "int32", "float32"):
                same: Any = {"scales": (0.05,) * 3, "zeros": (3,) * 3}
                yield _binary(name, code, dtype, (shapes[0], shapes[1]), **same)
        inputs = [tensor((3, 4), "int64") for _ in range(2)]
        yield single(f"{code.lower()}-same-int64", code, inputs, [tensor((3, 4), "int64")])


def squares_and_quotients() -> Iterator[Case]:
    """SQUARED_DIFFERENCE, DIV, FLOOR_DIV and FLOOR_MOD; no divisor is zero."""
    for dtype in ("int8", "int16", "int32", "float32"):
        for name, *shapes in _SHAPES:
            scales = (0.05, 0.03, 0.9) if dtype == "int8" else (0.0005, 0.0003, 0.02)
            yield _binary(name, "SQUARED_DIFFERENCE", dtype, (shapes[0], shapes[1]), scales)
    for name, *scales in _SCALES:
        grown = scales[2] * 8
        yield _binary(f"scales_{name}", "SQUARED_DIFFERENCE", "int8", ((9, 31), (9, 31)), (scales[0], scales[1], grown))
    for name, *shapes in _SHAPES:
        for sign in (1, -1):
            divisors = {"x1": (20, 127) if sign > 0 else (-128, -10)}
            case = f"{name}-{'positive' if sign > 0 else 'negative'}"
            yield _binary(case, "DIV", "int8", (shapes[0], shapes[1]), ranges=_FAR_FROM_ZERO | divisors)
            whole = {"x1": (1, 50) if sign > 0 else (-50, -1)}
            yield _binary(case, "DIV", "int32", (shapes[0], shapes[1]), ranges=whole)
            real = {"x1": (0.1, 3.0) if sign > 0 else (-3.0, -0.1)}
            for code in ("DIV", "FLOOR_DIV", "FLOOR_MOD"):
                yield _binary(case, code, "float32", (shapes[0], shapes[1]), ranges=real)
    for activation in _ACTIVATIONS:
        fused: dict[str, Any] = {"fused_activation_function": activation}
        yield _binary(activation.lower(), "DIV", "int8", ranges=_FAR_FROM_ZERO | {"x1": (20, 127)}, **fused)
        yield _binary(activation.lower(), "DIV", "float32", ranges={"x1": (0.1, 2)}, **fused)
    for name, *scales in _SCALES:
        shapes, given = ((9, 31), (9, 31)), (scales[0], scales[1], scales[2] * 4)
        yield _binary(f"scales_{name}", "DIV", "int8", shapes, given, ranges=_FAR_FROM_ZERO | {"x1": (20, 127)})


def selections() -> Iterator[Case]:
    """SELECT_V2, ARG_MAX and ARG_MIN."""
    rows: list[tuple[str, list[tuple[int, ...]]]] = [
        ("same", [(3, 4)] * 3),
        ("row", [(2, 3, 1), (1, 3, 4), (2, 1, 4)]),
        ("scalar", [(3, 4), (), (3, 4)]),
        ("condition", [(), (3, 4), (3, 4)]),
    ]
    for name, shapes in rows:
        for dtype in ("int8", "int16", "float32"):
            given = (0.05, 3) if dtype == "int8" else (0.05, 0) if dtype == "int16" else ()
            inputs = [tensor(shapes[0], "bool"), *(tensor(shape, dtype, *given) for shape in shapes[1:])]
            out = np.broadcast_shapes(*shapes)
            yield single(f"select_v2-{name}-{dtype}", "SELECT_V2", inputs, [tensor(out, dtype, *given)])
    for code in ("ARG_MAX", "ARG_MIN"):
        for axis in (0, 1, -1):
            for dtype, given, few in (("int8", (0.05, 3), (-5, 5)), ("float32", (), (-2, 2))):
                axes = constant(np.array([axis], np.int32))
                out = tuple(extent for place, extent in enumerate((3, 5, 4)) if place != axis % 3)
                inputs = [tensor((3, 5, 4), dtype, *given), axes]
                name = f"{code.lower()}-{axis}-{dtype}"
                yield single(name, code, inputs, [tensor(out, "int32")], ranges={"x0": few})


def cases() -> Iterator[Case]:
    """All of this file."""
    for family in (sums, comparisons, extremes, squares_and_quotients, selections):
        yield from family()
