"""Older and other forms of weights, which TFLite Micro refuses: LiteRT's reference kernels say what they mean."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from lite_model import Graph, Tensor

from lite_cases.case import Case, constant, random, single, tensor
from lite_cases.products import FLOAT, spread

_WINDOW: dict[str, Any] = {"padding": "SAME", "stride_h": 1, "stride_w": 1}


def _weights(name: str, shape: tuple[int, ...], axis: int = 0) -> tuple[Tensor, Tensor]:
    """uint8 with a zero point, and a bias."""
    rng = random(name)
    weights = constant(rng.integers(0, 255, shape, endpoint=True).astype(np.uint8), None, 0.008, 131)
    return weights, constant(rng.integers(-2000, 2000, shape[axis]).astype(np.int32), None, np.float32(0.03 * 0.008))


def unsigned() -> Iterator[Case]:
    """uint8, the type of quantised models before int8."""

    def image(scale: float = 0.03, zero: int = 120, depth: int = 3) -> Tensor:
        return tensor((1, 5, 6, depth), "uint8", scale, zero)

    options: dict[str, Any]
    for fused in ("NONE", "RELU", "RELU6"):
        options = _WINDOW | {"fused_activation_function": fused}
        name = f"conv_2d-{fused.lower()}-uint8"
        y = tensor((1, 5, 6, 8), "uint8", 0.1, 110)
        yield single(name, "CONV_2D", [image(), *_weights(name, (8, 3, 3, 3))], [y], oracle="lite", **options)
    name = "depthwise_conv_2d-uint8"
    y = tensor((1, 5, 6, 6), "uint8", 0.05, 110)
    options = _WINDOW | {"depth_multiplier": 2}
    weights = _weights(name, (1, 3, 3, 6), 3)
    yield single(name, "DEPTHWISE_CONV_2D", [image(), *weights], [y], oracle="lite", **options)
    name = "fully_connected-uint8"
    x, y = tensor((2, 15), "uint8", 0.03, 120), tensor((2, 6), "uint8", 0.1, 130)
    yield single(name, "FULLY_CONNECTED", [x, *_weights(name, (6, 15))], [y], oracle="lite")
    for code in ("ADD", "SUB", "MUL"):
        ends = [image(), image(0.05, 140)], [image(0.07 if code != "MUL" else 0.2, 100)]
        yield single(f"{code.lower()}-uint8", code, *ends, oracle="lite")
    for code in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
        options = _WINDOW | {"filter_height": 3, "filter_width": 3}
        yield single(f"{code.lower()}-uint8", code, [image()], [image()], oracle="lite", **options)
    ends = [image(), image()], [image(depth=6)]
    yield single("concatenation-uint8", "CONCATENATION", *ends, oracle="lite", axis=3)


def halves() -> Iterator[Case]:
    """float16 weights, dequantised in the model."""
    for code, x, weights, y in (
        ("FULLY_CONNECTED", (2, 12), (5, 12), (2, 5)), ("CONV_2D", (1, 5, 6, 3), (4, 3, 3, 3), (1, 5, 6, 4)),
    ):  # fmt: skip
        graph, name = Graph(), f"{code.lower()}-float16"
        graph.tensor("x", x, "float32")
        graph.constant("half", random(name).normal(0, 0.3, weights).astype(np.float16))
        graph.tensor("w", weights, "float32")
        graph.constant("b", random(name).normal(0, 0.3, y[-1]).astype(np.float32))
        graph.tensor("y", y, "float32")
        graph.op("DEQUANTIZE", ["half"], ["w"])
        graph.op(code, ["x", "w", "b"], ["y"], **(_WINDOW if code == "CONV_2D" else {}))
        yield Case(name, [graph.ends(["x"], ["y"])], "lite", FLOAT)


def sparse() -> Iterator[Case]:
    """Weights of which a few are stored, made dense in the model."""
    graph = Graph()
    graph.tensor("x", (2, 4), "float32")
    stored = ([0, 1, 3, 3], [2, 0, 3])
    graph.constant("few", np.array([5, 6, 7], np.float32), sparsity=([0, 1], [], [3, stored]))
    graph.tensors[-1].shape = (3, 4)
    graph.tensor("w", (3, 4), "float32")
    graph.tensor("y", (2, 3), "float32")
    graph.op("DENSIFY", ["few"], ["w"])
    graph.op("FULLY_CONNECTED", ["x", "w", None], ["y"])
    yield Case("densify-float32", [graph.ends(["x"], ["y"])], "lite", FLOAT)


def hybrid() -> Iterator[Case]:
    """int8 weights of float layers: each row of the input is quantised when it comes."""
    x, y, shape = (2, 15), (2, 6), (6, 15)
    name = "fully_connected-hybrid-float32"
    weights = constant(random(name).integers(-127, 127, shape).astype(np.int8), None, 0.01)
    bias = constant(random(name).normal(0, 1, 6).astype(np.float32))
    yield single(
        name, "FULLY_CONNECTED", [tensor(x, "float32"), weights, bias], [tensor(y, "float32")],
        oracle="lite", tolerance=FLOAT,
    )  # fmt: skip
    name, image = "conv_2d-hybrid-float32", (1, 5, 6, 3)
    scales = random(name).uniform(0.005, 0.02, 4)
    weights = constant(random(name).integers(-127, 127, (4, 3, 3, 3)).astype(np.int8), None, scales)
    y = spread(image, (3, 3), 4, _WINDOW)
    bias = constant(random(name).normal(0, 1, 4).astype(np.float32))
    ends = [tensor(image, "float32"), weights, bias], [tensor(y, "float32")]
    yield single(name, "CONV_2D", *ends, oracle="lite", tolerance=FLOAT, **_WINDOW)


def cases() -> Iterator[Case]:
    """All of this file."""
    for family in (unsigned, halves, sparse, hybrid):
        yield from family()
