"""Older and other forms of weights, which TFLite Micro refuses: LiteRT's reference kernels say what they mean."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from lite_model import Graph, Tensor

from lite_cases.case import Case, constant, indices, random, single, tensor
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
    name = "fully_connected-ties-uint8"
    x, y = tensor((40, 15), "uint8", 0.5, 120), tensor((40, 6), "uint8", 4.0, 130)
    weights = constant(random(name).integers(125, 138, (6, 15)).astype(np.uint8), None, 0.25, 131)
    yield single(name, "FULLY_CONNECTED", [x, weights, None], [y], oracle="lite")
    for code in ("ADD", "SUB", "MUL"):
        ends = [image(), image(0.05, 140)], [image(0.07 if code != "MUL" else 0.2, 100)]
        yield single(f"{code.lower()}-uint8", code, *ends, oracle="lite")
    for code in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
        options = _WINDOW | {"filter_height": 3, "filter_width": 3}
        yield single(f"{code.lower()}-uint8", code, [image()], [image()], oracle="lite", **options)
    ends = [image(), image()], [image(depth=6)]
    yield single("concatenation-uint8", "CONCATENATION", *ends, oracle="lite", axis=3)


def unsigned_functions() -> Iterator[Case]:
    """Functions of uint8, which are those of int8 with other zero points."""

    def of(shape: tuple[int, ...], scale: float = 0.05, zero: int = 120) -> Tensor:
        return tensor(shape, "uint8", scale, zero)

    yield single("softmax-uint8", "SOFTMAX", [of((9, 30))], [of((9, 30), 1 / 256, 0)], oracle="lite", beta=1.0)
    for scale in (0.05, 0.01, 0.2):
        every = (2, 256)
        yield single(f"logistic-{scale}-uint8", "LOGISTIC", [of(every, scale)], [of(every, 1 / 256, 0)], oracle="lite")
        yield single(f"tanh-{scale}-uint8", "TANH", [of(every, scale)], [of(every, 1 / 128, 128)], oracle="lite")
    yield single("relu6-uint8", "RELU6", [of((2, 256))], [of((2, 256))], oracle="lite")
    for name, y in (("same", of((4, 1, 1, 3))), ("near", of((4, 1, 1, 3), 0.04, 110))):
        axes, more = indices(1, 2), dict[str, Any](keep_dims=True)
        yield single(f"mean-{name}-uint8", "MEAN", [of((4, 5, 6, 3)), axes], [y], oracle="lite", **more)
    yield single("pad-uint8", "PAD", [of((2, 3)), constant(np.array([[1, 0], [2, 1]], np.int32))], [of((3, 6))],
                 oracle="lite")  # fmt: skip
    ends = [of((1, 5, 6, 3)), indices(9, 11)], [of((1, 9, 11, 3))]
    yield single("resize_nearest_neighbor-uint8", "RESIZE_NEAREST_NEIGHBOR", *ends, oracle="lite")


def narrow() -> Iterator[Case]:
    """FULLY_CONNECTED with weights of 4 bits and several scales, or of 2 bits: rescaled in double."""
    for kind, least in (("int4", -8), ("int2", -2)):
        each: list[tuple[str, Any]]
        each = [("scales", [0.1, 0.13, 0.07, 0.2, 0.11, 0.3]), ("ties", [0.25, 0.5] * 3), ("one", 0.25)]
        for name, scales in each:
            if (kind, name) == ("int4", "one"):
                continue  # which TFLite Micro takes
            case = f"fully_connected-{name}-int8-{kind}"
            x, y = tensor((40, 15), "int8", 0.5, -4), tensor((40, 6), "int8", -2.0 * least, 3)
            numbers = random(case).integers(least, -least, (6, 15)).astype(np.int8)
            bias = constant(
                random(case).integers(-90, 90, 6).astype(np.int32),
                None,
                np.float32(0.5) * np.asarray(scales, np.float32),
            )
            yield single(case, "FULLY_CONNECTED", [x, constant(numbers, kind, scales), bias], [y], oracle="lite")


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
    graph = Graph()  # blocks of 1 x 4, of a matrix of 3 x 8
    graph.tensor("x", (2, 8), "float32")
    stored = ([0, 1, 1, 3], [1, 0, 1])
    numbers = random("blocks").normal(0, 1, 12).astype(np.float32)
    graph.constant("few", numbers, sparsity=([0, 1, 2], [1], [3, stored, 4]))
    graph.tensors[-1].shape = (3, 8)
    graph.tensor("w", (3, 8), "float32")
    graph.tensor("y", (2, 3), "float32")
    graph.op("DENSIFY", ["few"], ["w"])
    graph.op("FULLY_CONNECTED", ["x", "w", None], ["y"])
    yield Case("densify-blocks-float32", [graph.ends(["x"], ["y"])], "lite", FLOAT)


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
    name, image = "fully_connected-scales-hybrid-float32", (2, 5, 6, 3)
    weights = constant(weights.data, None, random(name).uniform(0.005, 0.02, 6))
    ends = [tensor(x, "float32"), weights, bias], [tensor(y, "float32")]
    relu: Any = {"fused_activation_function": "RELU"}
    yield single(name, "FULLY_CONNECTED", *ends, oracle="lite", tolerance=FLOAT, **relu)
    for name, scales in (("", random("scales").uniform(0.005, 0.02, 4)), ("-one_scale", 0.01), ("-same", [0.01] * 4)):
        name = f"conv_2d{name}-hybrid-float32"
        weights = constant(random(name).integers(-127, 127, (4, 3, 3, 3)).astype(np.int8), None, scales)
        y = spread(image, (3, 3), 4, _WINDOW)
        bias = constant(random(name).normal(0, 1, 4).astype(np.float32))
        ends = [tensor(image, "float32"), weights, bias], [tensor(y, "float32")]
        yield single(name, "CONV_2D", *ends, oracle="lite", tolerance=FLOAT, **_WINDOW)


def cases() -> Iterator[Case]:
    """All of this file."""
    for family in (unsigned, unsigned_functions, narrow, halves, sparse, hybrid):
        yield from family()
