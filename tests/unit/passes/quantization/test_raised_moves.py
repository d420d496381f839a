"""Movement and means on integers: where, and where not, and the same numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from raised_graph import Case, Given, Graph, K, W, raised
from xdsl.dialects.builtin import f32, i8, i64
from xdsl.ir import Attribute, SSAValue

from aotc.dialects.graph.elementwise import AddOp, MulOp, ReluOp
from aotc.dialects.graph.movement import PadOp, TransposeOp
from aotc.dialects.graph.reduction import ReduceOp
from aotc.dialects.graph.vision.sampling import ResampleOp
from aotc.dialects.graph.windows.pooling import AveragePoolOp
from aotc.passes.graph.quantization.pooling import _is_decided  # pyright: ignore[reportPrivateUsage]
from aotc.passes.graph.quantization.real_values import Dequantized


def _pad(g: Graph, x: Given, value: Given = None, mode: str = "constant") -> SSAValue:
    return g.op(PadOp, x, value, pads=[0, 0, 0, 0, 0, 2], mode=mode)


def _resampled(g: Graph, places: Any, weights: Any) -> SSAValue:
    x = g.real(g.x(1, 4), 0.5, np.int8(3))
    return g.op(ResampleOp, x, np.array(places), weights, axis=1)


MOVES: dict[str, Case] = {
    "a maximum": (
        lambda g: g.op(ReduceOp, g.real(g.x(2, 3), 0.5, np.int8(3)), kind="max", axes=[1], keepdims=False),
        "reduce dequantize",
    ),
    "a product of elements": (
        lambda g: g.op(ReduceOp, g.real(g.x(2, 2), 0.5), kind="prod", axes=[1], keepdims=False),
        "dequantize reduce",
    ),
    "a maximum of nothing": (
        lambda g: g.op(ReduceOp, g.real(g.x(0, 3), 0.5), kind="max", axes=[0], keepdims=False),
        "dequantize reduce",
    ),
    "padding": (lambda g: _pad(g, g.real(g.x(1, 1, 3), 0.5, np.int8(3))), "pad dequantize"),
    "padding with ends": (lambda g: _pad(g, g.real(g.x(1, 1, 3), 0.5), mode="edge"), "pad dequantize"),
    "padding with a number": (lambda g: _pad(g, g.real(g.x(1, 1, 3), 0.5), 1.5), "pad dequantize"),
    "padding with a fraction": (lambda g: _pad(g, g.real(g.x(1, 1, 3), 0.5), 1.25), "dequantize pad"),
    "padding with infinity": (lambda g: _pad(g, g.real(g.x(1, 1, 3), 0.5), np.inf), "dequantize pad"),
    "padding with no number": (lambda g: _pad(g, g.real(g.x(1, 1, 3), 0.5), np.nan), "dequantize pad"),
    "padding with the input": (lambda g: _pad(g, g.real(g.x(1, 1, 3), 0.5), g.x(kind=f32)), "dequantize pad"),
    "padding of integers with the input": (
        lambda g: g.conv(g.real(_pad(g, g.x(1, 1, 6), g.x())), g.real(K)),
        "pad conv dequantize",
    ),
    "padding of integers with a number": (
        lambda g: g.conv(g.real(_pad(g, g.x(1, 1, 6), np.int8(5))), g.real(K)),
        "pad conv dequantize",
    ),
    "padding of integers with ends": (
        lambda g: g.conv(g.real(_pad(g, g.x(1, 1, 6), mode="edge")), g.real(K)),
        "pad conv dequantize",
    ),
    "padding with the least": (lambda g: _pad(g, g.real(g.x(1, 1, 3), 0.5), -64.0), "pad dequantize"),
    "padding with less": (lambda g: _pad(g, g.real(g.x(1, 1, 3), 0.5), -64.5), "dequantize pad"),
    "padding with the greatest": (lambda g: _pad(g, g.real(g.x(1, 1, 3), 0.5), 63.5), "pad dequantize"),
    "padding with more": (lambda g: _pad(g, g.real(g.x(1, 1, 3), 0.5), 64.0), "dequantize pad"),
    "weights in blocks": (
        lambda g: g.op(
            TransposeOp,
            g.real(np.arange(8).reshape(2, 4).astype(np.int8), np.ones((2, 2), np.float32) / 2, axis=1, block_size=2),
            permutation=[1, 0],
        ),
        "dequantize transpose",
    ),
    "weights in channels": (
        lambda g: g.op(TransposeOp, g.real(W, [0.5, 0.25]), permutation=[1, 0]),
        "transpose dequantize",
    ),
    "activations in channels": (
        lambda g: g.op(TransposeOp, g.real(g.x(2, 2), [0.5, 0.25]), permutation=[1, 0]),
        "dequantize transpose",
    ),
    "parts of one scale": (lambda g: g.joined(g.real(g.x(1, 2)), g.real(g.x(2, 2))), "concat dequantize"),
    "parts of several scales": (
        lambda g: g.joined(g.real(g.x(1, 2)), g.real(g.x(2, 2), 0.25)),
        "dequantize dequantize concat",
    ),
    "parts that are quantised apart": (
        lambda g: g.quantized(g.joined(g.real(g.x(1, 2), 0.25), g.real(g.x(2, 2)), g.x(1, 2, kind=f32))),
        "dequantize quantize quantize concat",
    ),
    "parts of which numbers are read": (
        lambda g: g.op(ReluOp, g.joined(g.real(g.x(1, 2), 0.25), g.x(1, 2, kind=f32))),
        "dequantize concat relu",
    ),
    "floats that are quantised": (
        lambda g: g.quantized(g.joined(g.x(1, 2, kind=f32), g.x(1, 2, kind=f32))),
        "concat quantize",
    ),
    "parts by scales": (
        lambda g: g.quantized(g.joined(g.real(g.x(1, 2), 0.25), g.x(1, 2, kind=f32)), [0.5, 0.25]),
        "dequantize concat quantize",
    ),
    "one place": (lambda g: _resampled(g, [[1], [3]], [[1.0], [1.0]]), "gather dequantize"),
    "two places": (lambda g: _resampled(g, [[1, 2], [3, 0]], [[0.5, 0.5], [1.0, 0.0]]), "dequantize resample"),
    "two whole places": (lambda g: _resampled(g, [[1, 2]], [[1.0, 1.0]]), "dequantize resample"),
    "a place and a weight": (lambda g: _resampled(g, [[1], [2]], [[1.0], [0.5]]), "dequantize resample"),
    "a place of the input": (
        lambda g: g.op(ResampleOp, g.real(g.x(1, 4)), g.x(2, 1, kind=i64), [[1.0], [1.0]], axis=1),
        "dequantize resample",
    ),
    "a weight of the input": (
        lambda g: _resampled(g, [[1], [2]], g.x(2, 1, kind=f32)),
        "dequantize resample",
    ),
    "a scale that is joined": (
        lambda g: g.quantized(g.x(3, kind=f32), g.joined(g.real(g.x(0)), [0.5])),
        "dequantize concat quantize",
    ),
    "integers back": (lambda g: g.quantized(g.real(g.x(3), 0.5, np.int8(3)), 0.5, np.int8(3)), ""),
    "integers at another scale": (
        lambda g: g.quantized(g.real(g.x(3), 0.5, np.int8(3)), 0.25, np.int8(3)),
        "dequantize quantize",
    ),
    "integers by scales": (
        lambda g: g.quantized(g.real(g.x(2), [0.5, 0.25]), [0.5, 0.25]),
        "dequantize quantize",
    ),
    "integers of floats": (lambda g: g.quantized(g.x(2, kind=f32), [0.5, 0.25]), "quantize"),
}


@pytest.mark.parametrize(("build", "expected"), MOVES.values(), ids=MOVES)
def test_moves(build: Callable[[Graph], SSAValue], expected: str) -> None:
    assert raised(build)[0] == expected


def _mean(
    g: Graph,
    *shape: int,
    axes: Sequence[int] = (2, 3),
    keepdims: bool = True,
    after: Callable[[SSAValue], SSAValue] = lambda v: v,
    scales: tuple[float, float] = (0.5, 0.5),
    kind: str = "mean",
) -> SSAValue:
    x = g.real(g.x(*shape), scales[0], np.int8(3))
    return g.quantized(after(g.op(ReduceOp, x, kind=kind, axes=axes, keepdims=keepdims)), scales[1])


def _pool(
    g: Graph, size: int = 2, pads: int = 0, scale: float = 0.5, to: Attribute = i8, point: Given = None, **given: Any
) -> SSAValue:
    x = g.real(g.x(1, 1, 4, kind=to), 0.5, point)
    window = {"kernel": [size], "strides": [1], "pads": [pads] * 2, "dilations": [1]}
    return g.quantized(g.op(AveragePoolOp, x, **window | given), scale, to=to)


MEAN = "cast reduce add requantize"
FLOAT = "dequantize reduce quantize"

MEANS: dict[str, Case] = {
    "a channel": (lambda g: _mean(g, 1, 2, 2, 2), MEAN),
    "a channel without its axes": (lambda g: _mean(g, 1, 2, 2, 2, keepdims=False), FLOAT),
    "an axis": (lambda g: _mean(g, 1, 2, 2, 2, axes=[3]), FLOAT),
    "odd numbers have no middle": (lambda g: _mean(g, 1, 2, 2, 3, axes=[3]), MEAN),
    "nothing": (lambda g: _mean(g, 2, 2, axes=[], scales=(0.5, 1.0)), FLOAT),
    "floats": (
        lambda g: g.quantized(g.op(ReduceOp, g.x(1, 2, 2, 2, kind=f32), kind="mean", axes=[2, 3], keepdims=True)),
        "reduce quantize",
    ),
    "windows with a zero point": (lambda g: _pool(g, 3, point=np.int8(3)), "sum_pool requantize"),
    "a sum": (lambda g: _mean(g, 1, 2, 2, 2, kind="sum"), FLOAT),
    "no elements": (lambda g: _mean(g, 1, 2, 0, 2), FLOAT),
    "2^15 elements": (lambda g: _mean(g, 1, 1, 1, 1 << 15), MEAN),
    "more elements": (lambda g: _mean(g, 1, 1, 2, (1 << 14) + 1), FLOAT),
    "and a bias": (
        lambda g: _mean(g, 1, 2, 2, 2, after=lambda v: g.op(AddOp, v, 0.5)),
        "dequantize reduce add quantize",
    ),
    "and a factor": (
        lambda g: _mean(g, 1, 2, 2, 2, after=lambda v: g.op(MulOp, v, 0.5)),
        "dequantize reduce mul quantize",
    ),
    "and factors of rows": (
        lambda g: _mean(g, 2, 2, 2, 2, after=lambda v: g.op(MulOp, v, np.array([[[[1]]], [[[2]]]], np.float32))),
        "dequantize reduce mul quantize",
    ),
    "and a relu": (lambda g: _mean(g, 1, 2, 2, 2, after=lambda v: g.op(ReluOp, v)), MEAN),
    "and no quantisation": (
        lambda g: g.op(ReduceOp, g.real(g.x(1, 2, 2, 2)), kind="mean", axes=[2, 3], keepdims=True),
        "dequantize reduce",
    ),
    "a quotient that underflows": (lambda g: _mean(g, 1, 2, 2, 2, scales=(2.0**-90, 2.0**59)), FLOAT),
    "windows": (lambda g: _pool(g, 3), "sum_pool requantize"),
    "windows of even sizes": (lambda g: _pool(g, 2), "dequantize average_pool quantize"),
    "padding": (lambda g: _pool(g, 3, 1, include_pad=True), "sum_pool requantize"),
    "padding that does not count": (lambda g: _pool(g, 3, 1), "dequantize average_pool quantize"),
}


@pytest.mark.parametrize(("build", "expected"), MEANS.values(), ids=MEANS)
def test_means(build: Callable[[Graph], SSAValue], expected: str) -> None:
    assert raised(build)[0] == expected


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda g: _pool(g, 2), "fixed_average_pool"),
        (lambda g: _pool(g, 3), "sum_pool requantize"),
        (lambda g: _pool(g, 2, scale=2.0**-30), "sum_pool requantize"),
        (lambda g: _mean(g, 1, 2, 2, 2, axes=[3]), MEAN),
    ],
)
def test_all_means(build: Callable[[Graph], SSAValue], expected: str) -> None:
    """Wanted, and in fixed point where floats decide; those may differ in the middle between two integers."""
    assert raised(build, means=True, averages=True)[0] == expected


def test_a_mean_may_be_as_far_from_the_middle_as_errors_of_floats() -> None:
    """254 elements of 8 bits, times 1: half a unit is 2^-24 * (258 * 254 * 128 + 2^9)."""
    x = Graph().x(1)
    assert not _is_decided(Dequantized(x, 0, np.float32(1)), 254, 1.0)
    assert _is_decided(Dequantized(x, 0, np.float32(1)), 253, 1.0)
