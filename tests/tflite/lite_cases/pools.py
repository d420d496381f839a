"""Pools of windows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lite_cases.case import Case, single, tensor
from lite_cases.products import FLOAT, spread

_WINDOWS: list[tuple[str, tuple[int, ...], dict[str, Any]]] = [
    ("same", (1, 5, 6, 3), {"filter_height": 3, "filter_width": 3}),
    ("valid", (2, 5, 6, 3), {"filter_height": 2, "filter_width": 3, "padding": "VALID"}),
    ("stride", (1, 7, 7, 2), {"filter_height": 2, "filter_width": 2, "stride_h": 2, "stride_w": 2}),
    ("wide", (1, 4, 9, 2), {"filter_height": 1, "filter_width": 5, "stride_h": 1, "stride_w": 3}),
    ("whole", (1, 6, 5, 9), {"filter_height": 6, "filter_width": 5, "padding": "VALID"}),
    ("larger", (1, 3, 3, 2), {"filter_height": 5, "filter_width": 5}),
]


def _pool(code: str, name: str, dtype: str, shape: tuple[int, ...], options: dict[str, Any]) -> Case:
    options = {"padding": "SAME", "stride_h": 1, "stride_w": 1} | options
    out = spread(shape, (options["filter_height"], options["filter_width"]), shape[3], options)
    given = {"int8": (0.05, 9), "int16": (0.001, 0)}.get(dtype, ())
    near = FLOAT if dtype == "float32" and code != "MAX_POOL_2D" else 0
    ends = [tensor(shape, dtype, *given)], [tensor(out, dtype, *given)]
    return single(f"{code.lower()}-{name}-{dtype}", code, *ends, tolerance=near, **options)


def cases() -> Iterator[Case]:
    """AVERAGE_POOL_2D, MAX_POOL_2D and L2_POOL_2D, which is of floats alone."""
    for code in ("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D"):
        for dtype in ("int8", "int16", "float32") if code != "L2_POOL_2D" else ("float32",):
            for name, shape, options in _WINDOWS:
                yield _pool(code, name, dtype, shape, options)
            for activation in ("RELU", "RELU6", "RELU_N1_TO_1"):
                fused = _WINDOWS[0][2] | {"fused_activation_function": activation}
                yield _pool(code, activation.lower(), dtype, (1, 5, 6, 3), fused)
