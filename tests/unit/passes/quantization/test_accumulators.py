"""The greatest absolute value that sums of integers may have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from raised_graph import Given, Graph, K, W
from xdsl.dialects.builtin import f32, i32, i64
from xdsl.ir import SSAValue

from aotc.dialects.graph.elementwise import AddOp, MulOp
from aotc.dialects.graph.matrices.matmul import MatMulOp
from aotc.dialects.graph.reduction import ReduceOp
from aotc.dialects.graph.windows.pooling import SumPoolOp
from aotc.passes.graph.quantization.accumulators import greatest_of

ANYTHING = 2**31


def product(g: Graph, weight: Given = W, **given: Any) -> SSAValue:
    return g.op(MatMulOp, g.x(1, 2), weight, **{"accumulator": i32} | given)


def conv(g: Graph, bias: Given = None, **given: Any) -> SSAValue:
    return g.conv(g.x(1, 1, 6), K, bias, accumulator=i32, **given)


def total(g: Graph, x: Given, kind: str = "sum") -> SSAValue:
    return g.op(ReduceOp, x, kind=kind, axes=[1], keepdims=True)


def pool(g: Graph, point: int | None) -> SSAValue:
    window = {"kernel": [2], "strides": [1], "pads": [0, 0], "dilations": [1]}
    return g.op(SumPoolOp, g.x(1, 1, 6), **window, x_zero_point=point)


def times(g: Graph, x: SSAValue) -> SSAValue:
    """Times bytes."""
    return g.op(MulOp, x, g.wide(g.x(1, 2)))


@pytest.mark.parametrize(
    ("build", "axis", "expected"),
    [
        (product, -1, [512, 766]),
        (product, 1, [512, 766]),
        (product, 0, 766),
        (lambda g: product(g, transpose_rhs=True), -1, [383, 896]),
        (lambda g: product(g, transpose_rhs=True), 0, 896),
        (lambda g: product(g, lhs_zero_point=-128), -1, [1020, 1020]),
        (lambda g: product(g, np.stack([W, -W])), -1, [512, 766]),
        (lambda g: product(g, g.x(2, 2)), -1, 2 * 128 * 128),
        (lambda g: product(g, g.x(2, 2), rhs_zero_point=7), -1, 2 * 128 * 135),
        (lambda g: product(g, np.ones((2, 2), np.int8), accumulator=None), -1, ANYTHING),
        (lambda g: g.op(AddOp, product(g), np.array([10, -20], np.int32)), -1, [522, 786]),
        (lambda g: g.op(AddOp, np.array([10, -20], np.int32), product(g)), -1, [522, 786]),
        (lambda g: g.op(AddOp, product(g), np.array([[1], [2]], np.int32)), -1, ANYTHING),
        (lambda g: g.op(AddOp, product(g), g.x(2, kind=i32)), -1, ANYTHING),
        (lambda g: g.op(AddOp, product(g), np.array([[[1]]], np.int32)), 1, ANYTHING),
        (conv, 1, [128 + 254 + 384, 512 + 640 + 762]),
        (lambda g: conv(g, np.array([9, -9], np.int32)), 1, [128 + 254 + 384 + 9, 512 + 640 + 762 + 9]),
        (lambda g: conv(g, g.x(2, kind=i32)), 1, [ANYTHING] * 2),
        (lambda g: conv(g, x_zero_point=-128), 1, [255 * 4, 255 * 9]),
        (conv, 2, ANYTHING),
        (lambda g: times(g, g.wide(g.x(1, 2), np.int32(3))), 1, 131 * 128),
        (lambda g: times(g, g.wide(g.x(1, 2))), 1, 128 * 128),
        (lambda g: g.op(MulOp, g.wide(g.x(1, 2)), np.array([5, -9], np.int32)), 1, 128 * 9),
        (lambda g: times(g, g.wide(g.x(1, 2), np.array([3, 4], np.int32))), 1, ANYTHING),
        (lambda g: times(g, g.wide(g.x(1, 2), g.x(kind=i32))), 1, ANYTHING),
        (lambda g: times(g, g.x(1, 2, kind=i32)), 1, ANYTHING),
        (lambda g: times(g, g.wide(g.x(1, 2, kind=i64))), 1, ANYTHING),
        (lambda g: times(g, g.wide(g.x(1, 2, kind=f32))), 1, ANYTHING),
        (lambda g: total(g, g.wide(g.x(1, 4))), 0, 512),
        (lambda g: total(g, g.wide(g.x(1, 4)), "max"), 0, ANYTHING),
        (lambda g: total(g, g.wide(g.x(1, 4, kind=i64))), 0, ANYTHING),
        (lambda g: total(g, g.x(1, 4, kind=i32)), 0, ANYTHING),
        (lambda g: pool(g, None), 1, 256),
        (lambda g: pool(g, 7), 1, 270),
        (lambda g: g.x(1, kind=i32), 0, ANYTHING),
    ],
)
def test_greatest_sums(build: Callable[[Graph], SSAValue], axis: int, expected: int | list[int]) -> None:
    graph = Graph()
    assert greatest_of(build(graph), axis, graph.store).tolist() == expected
