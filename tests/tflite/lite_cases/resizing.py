"""Images of another size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lite_cases.case import Case, indices, single, tensor

_SIZES = [
    ("up", (3, 4), (7, 9)),
    ("twice", (4, 5), (8, 10)),
    ("down", (9, 8), (4, 3)),
    ("one", (5, 6), (1, 1)),
    ("odd", (1, 7), (3, 11)),
    ("same", (4, 4), (4, 4)),
]
_WAYS: list[tuple[str, dict[str, Any]]] = [
    ("", {}),
    ("-corners", {"align_corners": True}),
    ("-half", {"half_pixel_centers": True}),
]


def cases() -> Iterator[Case]:
    """RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR."""
    for code, dtypes in (
        ("RESIZE_BILINEAR", ("int8", "float32")),
        ("RESIZE_NEAREST_NEIGHBOR", ("int8", "int16", "float32")),
    ):
        for size, of, to in _SIZES:
            for way, options in _WAYS:
                for dtype in dtypes:
                    given = (0.05, 3) if dtype == "int8" else (0.05, 0) if dtype == "int16" else ()
                    x, y = tensor((2, *of, 3), dtype, *given), tensor((2, *to, 3), dtype, *given)
                    near = 1e-6 if (code, dtype) == ("RESIZE_BILINEAR", "float32") else 0
                    name = f"{code.lower()}-{size}{way}-{dtype}"
                    yield single(name, code, [x, indices(*to)], [y], tolerance=near, **options)
