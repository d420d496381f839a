"""Convolutions, fully connected layers and products of matrices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from lite_model import Tensor

from lite_cases.case import Case, constant, random, single, tensor

FLOAT = 2e-5
"""How near sums of floats must be, in another order."""


def _weights(name: str, shape: tuple[int, ...], kind: str, axis: int, scales: int) -> Tensor:
    """Weights of a case: float32, or int8 or int4 with one scale or one for each channel of `axis`."""
    rng = random(name)
    if kind == "float32":
        return constant(rng.normal(0, 0.5, shape).astype(np.float32))
    limit = 127 if kind == "int8" else 7
    scale = rng.uniform(0.002, 0.02, scales) if scales > 1 else 0.0078
    return constant(rng.integers(-limit, limit, shape, endpoint=True).astype(np.int8), kind, scale, axis=axis)


def _layer(
    name: str,
    code: str,
    x: tuple[int, ...],
    weights: tuple[int, ...],
    y: tuple[int, ...],
    dtype: str = "int8",
    *,
    kind: str = "int8",
    per: bool = True,
    bias: str | None = "int32",
    in_scale: float = 0.03,
    in_zero: int = -5,
    out_scale: float | None = None,
    out_zero: int = 3,
    most: int | None = None,
    oracle: str = "micro",
    **options: Any,
) -> Case:
    """A layer whose channels are the last axis of depthwise weights, else the first."""
    axis = 3 if code == "DEPTHWISE_CONV_2D" else 0
    channels = weights[axis]
    if dtype == "float32":
        ends = [tensor(x, dtype), tensor(y, dtype)]
        values = constant(random(name).normal(0, 1, channels).astype(np.float32)) if bias else None
        w = _weights(name, weights, "float32", axis, 1)
    else:
        zeros = (in_zero, out_zero) if dtype != "int16" else (0, 0)
        w = _weights(name, weights, kind, axis, channels if per else 1)
        scales = np.float32(in_scale) * np.atleast_1d(np.asarray(w.scale, np.float32))
        step = 74.0 * (74 if kind == "int8" else 4) * float(scales.mean()) * np.sqrt(np.prod(weights) / channels)
        ends = [tensor(x, dtype, in_scale, zeros[0]), tensor(y, dtype, out_scale or step / 60, zeros[1])]
        most = most or (2000 if dtype != "int16" else 300_000)
        data = random(name + "bias").integers(-most, most, channels)
        values = constant(data.astype(bias), None, scales) if bias else None
    inputs = [ends[0], w, values]
    if code == "DEPTHWISE_CONV_2D" and values is None:
        inputs.pop()  # the interpreter reads a third input that is -1
    return single(name, code, inputs, [ends[1]], oracle=oracle, tolerance=FLOAT if dtype == "float32" else 0, **options)


_CONVOLUTIONS: list[tuple[str, tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ("point", (1, 4, 5, 6), (7, 1, 1, 6), {}),
    ("same", (1, 5, 6, 3), (8, 3, 3, 3), {}),
    ("valid", (1, 5, 6, 3), (8, 3, 3, 3), {"padding": "VALID"}),
    ("stride", (2, 7, 8, 3), (5, 3, 3, 3), {"stride_h": 2, "stride_w": 2}),
    ("strides", (1, 9, 8, 2), (4, 3, 2, 2), {"stride_h": 3, "stride_w": 1}),
    ("dilated", (1, 9, 9, 2), (4, 3, 3, 2), {"dilation_h_factor": 2, "dilation_w_factor": 3}),
    ("even", (1, 6, 6, 2), (3, 2, 4, 2), {"stride_h": 2, "stride_w": 2}),
    ("grouped", (1, 5, 5, 6), (8, 3, 3, 3), {}),
    ("audio", (1, 12, 1, 1), (8, 5, 1, 1), {"stride_h": 2, "stride_w": 1}),
]


def _windowed(x: int, side: int, stride: int, dilation: int, padding: str) -> int:
    reach = (side - 1) * dilation + 1
    return -(-x // stride) if padding == "SAME" else (x - reach + stride) // stride


def spread(x: tuple[int, ...], sides: tuple[int, ...], channels: int, options: dict[str, Any]) -> tuple[int, ...]:
    """The shape that a window of `sides` gives."""
    padding = options["padding"]
    rows, columns = (
        _windowed(size, side, options[f"stride_{letter}"], options.get(f"dilation_{letter}_factor", 1), padding)
        for size, side, letter in zip(x[1:3], sides, "hw", strict=True)
    )
    return x[0], rows, columns, channels


_DEFAULTS: dict[str, Any] = {"padding": "SAME", "stride_h": 1, "stride_w": 1}
_KINDS: list[tuple[str, dict[str, Any]]] = [
    ("int8", {}),
    ("int8-one_scale", {"per": False}),
    ("int16", {"dtype": "int16", "bias": "int64", "in_scale": 0.0002}),
    ("float32", {"dtype": "float32"}),
]
_ONCE: list[tuple[str, dict[str, Any]]] = [
    ("int8-no_bias", {"bias": None}),
    ("int8-relu", {"fused_activation_function": "RELU"}),
    ("int8-relu6", {"fused_activation_function": "RELU6"}),
    ("int8-relu_n1_to_1", {"fused_activation_function": "RELU_N1_TO_1"}),
    ("int8-int4", {"kind": "int4"}),
    ("int8-int4-one_scale", {"kind": "int4", "per": False}),
    ("int8-ties", {"per": False, "in_scale": 0.5, "out_scale": 0.0078 * 64}),
    ("int8-ratio", {"per": False, "in_scale": 0.3, "out_scale": 64 * float(np.float32(0.3) * np.float32(0.0078))}),
    ("int8-ratio_of_channels", {"in_scale": 0.3, "out_scale": 0.3 * 0.0078 * 80}),
    ("int8-above_one", {"per": False, "in_scale": 4.0, "out_scale": 0.0078}),
    ("int8-tiny", {"in_scale": 1e-6, "out_scale": 1e3}),
    ("int16-int32_bias", {"dtype": "int16", "bias": "int32", "in_scale": 0.0002}),
    ("int16-no_bias", {"dtype": "int16", "bias": None, "in_scale": 0.0002}),
    ("int16-relu6", {"dtype": "int16", "bias": "int64", "in_scale": 0.0002, "fused_activation_function": "RELU6"}),
    ("int16-above_one", {"dtype": "int16", "bias": "int64", "per": False, "in_scale": 0.02, "out_scale": 0.00003}),
    ("int16-far_above", {"dtype": "int16", "bias": "int64", "per": False, "in_scale": 0.02, "out_scale": 0.000001}),
    ("int16-tiny", {"dtype": "int16", "bias": "int64", "in_scale": 1e-6, "out_scale": 1e-2}),
    ("int16-great_bias", {"dtype": "int16", "bias": "int64", "in_scale": 0.0002, "most": 1 << 36, "out_scale": 9.0}),
    ("float32-no_bias", {"dtype": "float32", "bias": None}),
    ("float32-relu6", {"dtype": "float32", "fused_activation_function": "RELU6"}),
    ("float32-relu_n1_to_1", {"dtype": "float32", "fused_activation_function": "RELU_N1_TO_1"}),
]


def _conv(name: str, x: tuple[int, ...], w: tuple[int, ...], options: dict[str, Any], more: dict[str, Any]) -> Case:
    options = _DEFAULTS | options
    return _layer(name, "CONV_2D", x, w, spread(x, w[1:3], w[0], options), **options, **more)


def _depthwise(
    name: str, x: tuple[int, ...], w: tuple[int, ...], options: dict[str, Any], more: dict[str, Any]
) -> Case:
    sides, outs = w[1:3], x[3] * options.pop("depth_multiplier", 1)
    options = _DEFAULTS | options
    shape = spread(x, sides, outs, options)
    options["depth_multiplier"] = outs // x[3]
    return _layer(name, "DEPTHWISE_CONV_2D", x, (1, *sides, outs), shape, **options, **more)


def convolutions() -> Iterator[Case]:
    """CONV_2D: every geometry in the usual types, and one geometry in every type."""
    for name, x, w, options in _CONVOLUTIONS:
        for kind, more in _KINDS:
            yield _conv(f"conv_2d-{name}-{kind}", x, w, options, more)
    for kind, more in _ONCE:
        yield _conv(f"conv_2d-once-{kind}", (1, 5, 6, 3), (8, 3, 3, 3), {}, more)
    yield _conv("conv_2d-deep-int16", (1, 3, 3, 160), (4, 3, 3, 160), {}, dict(_KINDS)["int16"])


def depthwise_convolutions() -> Iterator[Case]:
    """DEPTHWISE_CONV_2D, and out channels that are several of an in channel."""
    for name, x, w, options in _CONVOLUTIONS:
        for kind, more in _KINDS:
            if name not in ("point", "grouped"):
                yield _depthwise(f"depthwise_conv_2d-{name}-{kind}", x, w, dict(options), more)
    for kind, more in _KINDS:
        wide = {"depth_multiplier": 4}
        yield _depthwise(f"depthwise_conv_2d-multiplied-{kind}", (1, 5, 6, 3), (1, 3, 3), wide, more)
    for kind, more in _ONCE:
        if kind != "int16-int32_bias":  # it is read as int64
            yield _depthwise(f"depthwise_conv_2d-once-{kind}", (1, 5, 6, 4), (1, 3, 3), {}, more)


def fully_connected() -> Iterator[Case]:
    """FULLY_CONNECTED."""
    for name, x, y in [("row", (1, 20), (1, 9)), ("rows", (3, 17), (3, 8)), ("kept", (2, 3, 12), (2, 3, 5))]:
        more_options = {"keep_num_dims": True} if name == "kept" else {}
        for kind, more in _KINDS:
            weights = (y[-1], x[-1])
            yield _layer(f"fully_connected-{name}-{kind}", "FULLY_CONNECTED", x, weights, y, **more_options, **more)
    yield _layer("fully_connected-flattened-int8", "FULLY_CONNECTED", (2, 2, 3, 4), (5, 12), (4, 5), per=False)
    for kind, more in _ONCE:
        if kind != "int8-int4":  # of weights of 4 bits the interpreter takes one scale alone
            yield _layer(f"fully_connected-once-{kind}", "FULLY_CONNECTED", (2, 15), (6, 15), (2, 6), **more)
    deep: Any = {"dtype": "int16", "bias": "int64", "in_scale": 0.0002}  # sums that i32 does not hold
    yield _layer("fully_connected-deep-int16", "FULLY_CONNECTED", (2, 1500), (6, 1500), (2, 6), **deep)
    ratio = next(more for kind, more in _ONCE if kind == "int8-ratio")
    yield _layer("fully_connected-many-int8-ratio", "FULLY_CONNECTED", (64, 15), (6, 15), (64, 6), **ratio)
    name = "fully_connected-weights_with_a_zero_point"
    layer = _layer(name, "FULLY_CONNECTED", (2, 15), (6, 15), (2, 6), per=False)
    next(each for each in layer.graphs[0].tensors if each.name == "x1").zero = 7
    yield layer


def transposed_convolutions() -> Iterator[Case]:
    """TRANSPOSE_CONV: inputs are the output's shape, weights, image and bias."""
    rows: list[tuple[str, tuple[int, ...], tuple[int, int], int, str, tuple[int, int]]] = [
        ("same", (1, 3, 4, 2), (3, 3), 2, "SAME", (6, 8)),
        ("valid", (2, 3, 4, 2), (3, 2), 2, "VALID", (7, 8)),
        ("one", (1, 4, 4, 3), (3, 3), 1, "SAME", (4, 4)),
        ("even", (1, 3, 3, 2), (2, 2), 2, "SAME", (6, 6)),
        ("far", (1, 2, 3, 2), (2, 2), 3, "VALID", (5, 8)),
    ]
    kinds = [*_KINDS, *(row for row in _ONCE if row[0] in ("int8-no_bias", "int8-relu6", "int16-no_bias"))]
    for name, x, sides, stride, padding, out in rows:
        for kind, more in kinds if name == "same" else kinds[:4]:
            shape, y = (3, *sides, x[3]), (x[0], *out, 3)
            options: dict[str, Any] = {"padding": padding, "stride_h": stride, "stride_w": stride}
            layer = _layer(f"transpose_conv-{name}-{kind}", "TRANSPOSE_CONV", x, shape, y, **options, **more)
            graph = layer.graphs[0]
            graph.constant("shape", np.array(y, np.int32))
            image, weights, *bias = graph.operators[0].inputs
            graph.operators[0].inputs = ["shape", weights, image, *(each for each in bias if each)]
            yield layer


def products_of_matrices() -> Iterator[Case]:
    """BATCH_MATMUL: batches that are broadcast, either side the other way round, constants."""
    rows: list[tuple[str, tuple[int, ...], tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
        ("matrix", (3, 7), (7, 4), (3, 4), {}),
        ("batch", (2, 3, 7), (2, 7, 4), (2, 3, 4), {}),
        ("broadcast", (2, 3, 7), (1, 7, 4), (2, 3, 4), {}),
        ("right", (2, 3, 7), (2, 4, 7), (2, 3, 4), {"adj_y": True}),
        ("left", (2, 7, 3), (2, 7, 4), (2, 3, 4), {"adj_x": True}),
        ("heads", (1, 2, 3, 5), (1, 2, 4, 5), (1, 2, 3, 4), {"adj_y": True}),
    ]
    for name, a, b, y, options in rows:
        for dtype in ("int8", "int16", "float32"):
            given: Any = {"int8": [(0.05, -3), (0.03, 7), (0.4, 5)], "int16": [(0.001, 0), (0.002, 0), (0.15, 0)]}
            given = given.get(dtype, [(), (), ()])
            inputs = [tensor(shape, dtype, *each) for shape, each in zip((a, b), given, strict=False)]
            near = FLOAT if dtype == "float32" else 0
            case = f"batch_matmul-{name}-{dtype}"
            outputs = [tensor(y, dtype, *given[2])]
            yield single(case, "BATCH_MATMUL", inputs, outputs, tolerance=near, **options)
            if name == "batch":
                numbers = random(case).integers(-100, 100, b).astype(dtype)
                known = [tensor(a, dtype, *given[0]), constant(numbers, None, *given[1])]
                outputs = [tensor(y, dtype, *given[2])]
                yield single(f"{case}-known", "BATCH_MATMUL", known, outputs, tolerance=near, **options)


def ratios() -> Iterator[Case]:
    """BATCH_MATMUL and SVDF with scales whose product is another one in float, and has ties there."""
    a, b = np.float32(0.3), np.float32(0.0078)
    inputs = [tensor((64, 20), "int8", 0.3), tensor((20, 16), "int8", 0.0078)]
    outputs = [tensor((64, 16), "int8", 64 * float(a * b))]
    few = {"x0": (-60, 60), "x1": (-60, 60)}
    yield single("batch_matmul-ratio-int8", "BATCH_MATMUL", inputs, outputs, ranges=few)
    name, a, b, time = "svdf-ratio-int8", np.float32(0.03), np.float32(0.07), np.float32(0.01)
    kept = np.float32(64 * float(a * b))
    features = random(name).integers(-90, 90, (8, 20)).astype(np.int8)
    given = [tensor((64, 20), "int8", a), constant(features, None, b), constant(np.ones((8, 1), np.int8), None, time)]
    given += [constant(np.zeros(8, np.int32), None, kept * time), tensor((64, 8), "int8", kept, variable=True)]
    yield single(name, "SVDF", given, [tensor((64, 8), "int8", 4 * float(kept * time))], rank=1)


def cases() -> Iterator[Case]:
    """All of this file."""
    yield from transposed_convolutions()
    yield from products_of_matrices()
    yield from ratios()
    yield from convolutions()
    yield from depthwise_convolutions()
    yield from fully_connected()
