"""Functions of one number, and softmax."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lite_cases.case import Case, constant, random, single, tensor

FLOAT = 1e-6
"""How near functions of libm must be."""

RATIOS = (("ratio", (0.05, 0.02)), ("half", (0.07, 0.14)), ("quarter", (0.03, 0.12)), ("threefold", (0.35, 0.1)))
"""Scales of which float and double have other quotients, one of them a number with many ties."""

_IN_DOUBLE = (
    (0.17465638816620402, 0.10254405096917955),
    (0.07131463497181993, 0.01774151910566932),
    (0.24670555428863217, 0.2260323606812054),
    (0.4189959555582048, 0.26876107725768666),
)
"""Scales for which RSQRT (the first two) and HARD_SWISH would have other results if a factor were taken in float."""

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
        for name, scales in (("same", (0.05, 0.05)), ("other", (0.05, 0.03)), ("ties", (0.25, 0.5)), *RATIOS):
            if code == "RELU6" and name != "same":
                continue
            zeros: Any = (-7, -7) if name == "same" else (-7, 5)
            for dtype in ("int8", "int16"):
                both = zeros if dtype == "int8" else (0, 0)
                ends = ([tensor((2, 200), dtype, scale, zero)] for scale, zero in zip(scales, both, strict=True))
                yield single(f"{code.lower()}-{name}-{dtype}", code, *ends)
        yield single(f"{code.lower()}-float32", code, [tensor((5, 9), "float32")], [tensor((5, 9), "float32")])


def _unary(code: str, name: str, dtype: str, of: Any = (), to: Any = (), **more: Any) -> Case:
    """A function of every value of 8 bits, or of some."""
    shape = (2, 256) if dtype == "int8" else (3, 70)
    ends = [tensor(shape, dtype, *of)], [tensor(shape, dtype, *to)]
    return single(f"{code.lower()}-{name}-{dtype}", code, *ends, **more)


def activations() -> Iterator[Case]:
    """HARD_SWISH, LEAKY_RELU, PRELU and ELU."""
    rows = [
        ("near", 0.05, 0.04),
        ("same", 0.06, 0.06),
        ("ties", 0.25, 0.5),
        ("fine", 0.003, 0.0025),
        ("wide", 0.4, 0.3),
        *((name, *scales) for name, scales in RATIOS),
    ]
    for of, to in _IN_DOUBLE:
        yield _unary("HARD_SWISH", f"{of:.3f}", "int8", (of, -9), (to, 14))
    for name, of, to in rows:
        yield _unary("HARD_SWISH", name, "int8", (of, -9), (to, 14))
        yield _unary("ELU", name, "int8", (of, -9), (to, 14))
        for alpha in (0.1, 0.5, -0.3, 1.7):
            yield _unary("LEAKY_RELU", f"{name}-{alpha}", "int8", (of, -9), (to, 14), alpha=alpha)
        yield _unary("LEAKY_RELU", name, "int16", (of, 0), (to, 0), alpha=0.2)
        for dtype in ("int8", "int16"):
            zeros = (-9, 5, 14) if dtype == "int8" else (0, 5, 0)
            for kind, shape in (("channels", (1, 1, 6)), ("one", (1,)), ("all", (4, 5, 6))):
                case = f"prelu-{name}-{kind}-{dtype}"
                numbers = random(case).integers(-128, 127, shape, endpoint=True).astype("int8")
                inputs = [tensor((4, 5, 6), dtype, of, zeros[0]), constant(numbers, None, 0.01, zeros[1])]
                yield single(case, "PRELU", inputs, [tensor((4, 5, 6), dtype, to, zeros[2])])
    yield _unary("HARD_SWISH", "plain", "float32", tolerance=FLOAT)
    yield _unary("ELU", "plain", "float32", tolerance=FLOAT)
    yield _unary("LEAKY_RELU", "plain", "float32", alpha=0.2)
    alpha = constant(random("prelu").normal(0, 1, 6).astype("float32"))
    yield single("prelu-plain-float32", "PRELU", [tensor((4, 5, 6), "float32"), alpha], [tensor((4, 5, 6), "float32")])


def functions() -> Iterator[Case]:
    """ABS, RSQRT and functions of floats alone."""
    for name, (of, to) in (("near", (0.05, 0.04)), ("same", (0.05, 0.05)), ("ties", (0.25, 0.5)), *RATIOS):
        yield _unary("ABS", name, "int8", (of, -9), (to, -128))
        yield _unary("ABS", name, "int16", (of, 0), (to, 0))
    yield _unary("ABS", "plain", "int16")
    for of, to in ((0.05, 0.02), (0.3, 0.01), (0.001, 0.3), *_IN_DOUBLE):
        yield _unary("RSQRT", f"{of}", "int8", (of, -20), (to, -128), ranges={"x0": (-20, 127)})
    plain = ("ABS", "NEG", "CEIL", "FLOOR", "ROUND", "SQUARE", "EXP", "SIN", "COS", "LOG", "SQRT", "RSQRT")
    for code in plain:
        positive = {"ranges": {"x0": (0.01, 90)}} if code in ("LOG", "SQRT", "RSQRT") else {}
        near = FLOAT if code in ("EXP", "SIN", "COS", "LOG", "SQRT", "RSQRT") else 0
        yield _unary(code, "plain", "float32", tolerance=near, **positive)
    halves = {"x0": (-5.5, 5.5)}
    ends = [tensor((12,), "float32")], [tensor((12,), "float32")]
    yield single("round-halves-float32", "ROUND", *ends, ranges=halves)
    yield _unary("LOGICAL_NOT", "plain", "bool")


def rows() -> Iterator[Case]:
    """LOG_SOFTMAX and L2_NORMALIZATION along the last axis."""
    for name, shape in (("row", (1, 10)), ("rows", (4, 37)), ("cube", (2, 3, 5))):
        for scale in (0.05, 0.2, 0.003):
            x, y = tensor(shape, "int8", scale, 7), tensor(shape, "int8", 16 / 256, 127)
            yield single(f"log_softmax-{name}-{scale}-int8", "LOG_SOFTMAX", [x], [y])
        x, y = tensor(shape, "int8", 0.04, 7), tensor(shape, "int8", 1 / 128, 0)
        yield single(f"l2_normalization-{name}-int8", "L2_NORMALIZATION", [x], [y])
        for code in ("LOG_SOFTMAX", "L2_NORMALIZATION"):
            ends = [tensor(shape, "float32")], [tensor(shape, "float32")]
            yield single(f"{code.lower()}-{name}-float32", code, *ends, tolerance=FLOAT)


def cases() -> Iterator[Case]:
    """All of this file."""
    for family in (curves, softmax, relus, activations, functions, rows):
        yield from family()
