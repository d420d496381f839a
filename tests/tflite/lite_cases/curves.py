"""Functions of one number, and softmax."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lite_cases.case import Case, single, tensor

FLOAT = 1e-6
"""How near functions of libm must be."""

_SCALES = (0.1, 0.03, 0.0625, 0.01, 0.7)
_WORDS = (1 / 4096, 1 / 2048, 0.001, 0.0001, 1 / 8192, 0.02)
"""Scales of int16, among them powers of two with a way of their own."""


def curves() -> Iterator[Case]:
    """LOGISTIC and TANH of every value of 8 bits, at several scales."""
    for code, out, zero in (("LOGISTIC", 1 / 256, -128), ("TANH", 1 / 128, 0)):
        low = code.lower()
        for scale in _SCALES:
            ends = [tensor((2, 256), "int8", scale, 11)], [tensor((2, 256), "int8", out, zero)]
            yield single(f"{low}-{scale}-int8", code, *ends)
        for scale in _WORDS:
            ends = [tensor((3, 300), "int16", scale)], [tensor((3, 300), "int16", 1 / 32768)]
            yield single(f"{low}-{scale:.6f}-int16", code, *ends)
        ends = [tensor((3, 50), "float32")], [tensor((3, 50), "float32")]
        yield single(f"{low}-float32", code, *ends, tolerance=FLOAT, ranges={"x0": (-30, 30)})


def softmax() -> Iterator[Case]:
    """SOFTMAX along the last axis."""
    shapes: list[tuple[str, tuple[int, ...]]] = [
        ("row", (1, 10)),
        ("rows", (4, 37)),
        ("cube", (2, 3, 5)),
        ("1d", (12,)),
    ]
    for name, shape in shapes:
        for scale in (0.05, 0.2, 0.003):
            for beta in (1.0, 0.5) if name == "row" else (1.0,):
                x, case = tensor(shape, "int8", scale, 7), f"softmax-{name}-{scale}-{beta}"
                yield single(f"{case}-int8", "SOFTMAX", [x], [tensor(shape, "int8", 1 / 256, -128)], beta=beta)
        x = tensor(shape, "int8", 0.1, -20)
        yield single(
            f"softmax-{name}-int8-int16", "SOFTMAX", [x], [tensor(shape, "int16", 1 / 65536, -32768)], beta=1.0
        )
        for scale in (0.001, 0.0003):
            x = tensor(shape, "int16", scale)
            yield single(f"softmax-{name}-{scale}-int16", "SOFTMAX", [x], [tensor(shape, "int16", 1 / 32768)], beta=1.0)
        ends = [tensor(shape, "float32")], [tensor(shape, "float32")]
        yield single(f"softmax-{name}-float32", "SOFTMAX", *ends, beta=1.0, tolerance=FLOAT)


def relus() -> Iterator[Case]:
    """RELU and RELU6."""
    for code in ("RELU", "RELU6"):
        for name, scales in (("same", (0.05, 0.05)), ("other", (0.05, 0.03)), ("ties", (0.25, 0.5))):
            if code == "RELU6" and name != "same":
                continue
            zeros: Any = (-7, -7) if name == "same" else (-7, 5)
            for dtype in ("int8", "int16"):
                both = zeros if dtype == "int8" else (0, 0)
                ends = ([tensor((2, 200), dtype, scale, zero)] for scale, zero in zip(scales, both, strict=True))
                yield single(f"{code.lower()}-{name}-{dtype}", code, *ends)
        yield single(f"{code.lower()}-float32", code, [tensor((5, 9), "float32")], [tensor((5, 9), "float32")])


def cases() -> Iterator[Case]:
    """All of this file."""
    yield from curves()
    yield from softmax()
    yield from relus()
