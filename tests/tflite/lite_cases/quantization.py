"""From floats to integers, back, and from one scale to another."""

from __future__ import annotations

from collections.abc import Iterator

from lite_cases.case import Case, single, tensor
from lite_cases.curves import RATIOS

_ZEROS = {"int8": (-9, 12), "uint8": (120, 131), "int16": (0, 0), "int32": (0, 0)}
_PAIRS = [
    ("int8", "int8"), ("int8", "int16"), ("int8", "int32"), ("int8", "uint8"), ("uint8", "int8"), ("int16", "int8"),
    ("int16", "int16"), ("int16", "int32"), ("int32", "int8"), ("int32", "int16"),
]  # fmt: skip


def cases() -> Iterator[Case]:
    """QUANTIZE and DEQUANTIZE."""
    for dtype in ("int8", "int16"):
        for scale in (0.05, 0.5):
            to = tensor((4, 33), dtype, scale, _ZEROS[dtype][0])
            yield single(f"quantize-float32-{dtype}-{scale}", "QUANTIZE", [tensor((4, 33), "float32")], [to])
    for of, to in _PAIRS:
        for name, scales in (
            ("near", (0.05, 0.043)),
            ("ties", (0.25, 0.5)),
            ("same", (0.1, 0.1)),
            ("grown", (0.1, 0.01)),
            *RATIOS,
        ):
            x = tensor((4, 77), of, scales[0], _ZEROS[of][0])
            y = tensor((4, 77), to, scales[1], _ZEROS[to][1])
            yield single(f"quantize-{of}-{to}-{name}", "QUANTIZE", [x], [y])
    x = tensor((4, 77), "int8", 0.1, 3)
    yield single("quantize-int8-uint8-flipped", "QUANTIZE", [x], [tensor((4, 77), "uint8", 0.1, 131)])
    for dtype in ("int8", "uint8", "int16"):
        x = tensor((4, 33), dtype, 0.037, _ZEROS[dtype][0])
        yield single(f"dequantize-{dtype}", "DEQUANTIZE", [x], [tensor((4, 33), "float32")])
