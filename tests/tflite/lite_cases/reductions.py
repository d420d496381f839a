"""Sums, means and extremes along axes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from lite_cases.case import Case, constant, single, tensor
from lite_cases.products import FLOAT

_AXES: list[tuple[str, tuple[int, ...], tuple[int, ...], bool]] = [
    ("space", (2, 4, 5, 3), (1, 2), True),
    ("space_dropped", (2, 4, 5, 3), (1, 2), False),
    ("last", (3, 7), (-1,), False),
    ("first", (6, 5), (0,), True),
    ("all", (2, 3, 4), (0, 1, 2), False),
    ("twice", (2, 3, 4), (1, -2), True),
    ("middle", (2, 3, 4, 2), (2, 0), True),
    ("large", (1, 33, 31, 2), (1, 2), True),
]


def _reduced(shape: tuple[int, ...], axes: tuple[int, ...], keep: bool) -> tuple[int, ...]:
    gone = {axis % len(shape) for axis in axes}
    kept = ((1 if axis in gone else extent) for axis, extent in enumerate(shape) if keep or axis not in gone)
    return tuple(kept)


def _reduce(code: str, row: Any, dtype: str, of: Any = (), to: Any = (), suffix: str = "", **more: Any) -> Case:
    name, shape, axes, keep = row
    inputs = [tensor(shape, dtype, *of), constant(np.array(axes, np.int32))]
    outputs = [tensor(_reduced(shape, axes, keep), dtype, *to)]
    return single(f"{code.lower()}-{name}-{dtype}{suffix}", code, inputs, outputs, keep_dims=keep, **more)


def cases() -> Iterator[Case]:
    """MEAN, SUM, REDUCE_MAX, REDUCE_MIN and REDUCE_ALL."""
    for row in _AXES:
        for code, grown in (("MEAN", 1), ("SUM", 6)):
            for dtype in ("int8", "int16"):
                zeros = (-11, 6) if dtype == "int8" else (0, 0)
                for name, scales in (
                    ("", (0.05, 0.04)),
                    ("-same", (0.05, 0.05)),
                    ("-ties", (0.25, 0.5)),
                    ("-ratio", (0.05, 0.02)),
                    ("-half", (0.07, 0.14)),
                ):
                    to = (scales[1] * grown, zeros[1])
                    yield _reduce(code, row, dtype, (scales[0], zeros[0]), to, name)
            yield _reduce(code, row, "float32", tolerance=2e-4 if row[0] == "large" else FLOAT)
        for code in ("REDUCE_MAX", "REDUCE_MIN"):
            yield _reduce(code, row, "int8", (0.05, 4), (0.05, 4))
            yield _reduce(code, row, "float32")
        yield _reduce("REDUCE_ALL", row, "bool")
