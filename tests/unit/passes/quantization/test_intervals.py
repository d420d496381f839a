"""Between which numbers channels are: those that there are for some input, and no others; or nothing is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from raised_graph import Given, Graph
from xdsl.dialects.builtin import f32, i8, i16, i32
from xdsl.dialects.func import ReturnOp
from xdsl.ir import SSAValue

from aotc.dialects.dtypes import integer_range
from aotc.dialects.graph.convolution import ConvTransposeOp
from aotc.dialects.graph.elementwise import AddOp, MulOp, NegOp
from aotc.dialects.graph.interfaces import element_type_of, shape_of
from aotc.dialects.graph.matrices.matmul import MatMulOp
from aotc.dialects.graph.movement import ReshapeOp, TransposeOp
from aotc.dialects.graph.quantized.bytes import LookupOp
from aotc.dialects.graph.quantized.requantization import FixedAddOp, RequantizeOp
from aotc.dialects.graph.windows.pooling import MaxPoolOp, SumPoolOp
from aotc.passes.graph.channels.flow import flows
from aotc.passes.graph.channels.intervals import Intervals

SPAN = 256
"""Positions of the input: each has all bytes, and the two channels all corners."""
WEIGHT = np.array([[[1], [-2]], [[0], [3]], [[-4], [0]]], np.int8)
DIAGONAL = np.diag(np.array([3, -2, 1], np.int8))[:, :, None]
BIAS = np.array([100, -50, 7], np.int32)
WINDOW: dict[str, Any] = {"kernel": [3], "strides": [1], "pads": [0, 0], "dilations": [1]}
CLAMP: dict[str, Any] = {"zero_point": -3, "low": -100, "high": 90, "to": i8}


def conv(g: Graph, x: Given, weight: Given = WEIGHT, bias: Given = BIAS, **given: Any) -> SSAValue:
    return g.conv(x, weight, bias, accumulator=i32, **given)


def sums(g: Graph, **given: Any) -> SSAValue:
    """Three channels of i32."""
    return conv(g, g.x(1, 2, SPAN), **given)


def bytes_of(g: Graph, value: SSAValue | None = None) -> SSAValue:
    """Three channels of i8, requantised by factors that differ."""
    value = sums(g) if value is None else value
    return g.op(RequantizeOp, value, np.array([0.1, 0.05, 0.2], np.float32), axis=1, **CLAMP)


def constant(g: Graph) -> SSAValue:
    """Three channels that are -100."""
    return bytes_of(g, sums(g, bias=np.full(3, -(10**6), np.int32)))


def depthwise(g: Graph, x: Given, outputs: int = 3, **given: Any) -> SSAValue:
    weight = np.arange(-2, outputs - 2, dtype=np.int8).reshape(-1, 1, 1)
    return conv(g, x, weight, np.arange(outputs, dtype=np.int32), group=3, **given)


def product(g: Graph, x: Given, weight: Given, **given: Any) -> SSAValue:
    return g.op(MatMulOp, x, weight, accumulator=i32, **given)


def added(g: Graph, x: Given, y: Given, **given: Any) -> SSAValue:
    fixed = {"x_factor": 130, "y_factor": -70, "offset": 99, "shift": 7, **CLAMP} | given
    return g.op(FixedAddOp, x, y, **fixed)


def row(g: Graph) -> SSAValue:
    """[1, 3] of i32, channels along the last axis."""
    return product(g, g.x(1, 2), WEIGHT[:, :, 0].T.copy(), lhs_zero_point=5)


EXACT: dict[str, Callable[[Graph], SSAValue]] = {
    "sums": sums,
    "sums without bias": lambda g: sums(g, bias=None),
    "a zero point": lambda g: sums(g, x_zero_point=-128),
    "a zero point, and borders": lambda g: sums(g, x_zero_point=-128, pads=[1, 0]),
    "a zero point of the weight": lambda g: sums(g, w_zero_point=2),
    "sums of bytes": lambda g: conv(g, bytes_of(g), DIAGONAL, x_zero_point=-128),
    "sums of bytes at borders": lambda g: conv(g, bytes_of(g), DIAGONAL, x_zero_point=-128, pads=[1, 0]),
    "requantised": bytes_of,
    "depthwise": lambda g: depthwise(g, bytes_of(g)),
    "depthwise with a zero point": lambda g: depthwise(g, bytes_of(g), x_zero_point=-100),
    "depthwise at borders": lambda g: depthwise(g, bytes_of(g), x_zero_point=-101, pads=[1, 1]),
    "depthwise, several of each": lambda g: depthwise(g, bytes_of(g), 6),
    "depthwise constants at an end": lambda g: depthwise(g, constant(g), x_zero_point=-128, pads=[1, 0]),
    "sums of constants at an end": lambda g: conv(g, constant(g), DIAGONAL, x_zero_point=-128, pads=[0, 1]),
    "windows of constants": lambda g: g.op(SumPoolOp, constant(g), **WINDOW),
    "products of constants": lambda g: g.op(MulOp, c := constant(g), c),
    "the least sums": lambda g: sums(g, bias=np.full(3, 508 - 2**31, np.int32)),
    "the greatest sums": lambda g: sums(g, bias=np.full(3, 2**31 - 1 - 512, np.int32)),
    "sums that just do not wrap": lambda g: g.op(AddOp, sums(g), np.full((3, 1), 2**31 - 1 - 519, np.int32)),
    "greatest of windows": lambda g: g.op(MaxPoolOp, bytes_of(g), **WINDOW | {"kernel": [1]}),
    "sums of windows": lambda g: g.op(SumPoolOp, bytes_of(g), **WINDOW | {"kernel": [1]}, x_zero_point=-7),
    "sums of windows at borders": lambda g: g.op(
        SumPoolOp, bytes_of(g), **WINDOW | {"kernel": [1], "pads": [1, 0]}, x_zero_point=-101
    ),
    "joined": lambda g: g.joined(b := bytes_of(g), g.op(NegOp, b), axis=1),
    "a table": lambda g: g.op(LookupOp, bytes_of(g), np.roll(np.arange(-128, 128), 99).astype(np.int8)),
    "a function of bytes": lambda g: g.op(NegOp, bytes_of(g)),
    "bytes and a number of each": lambda g: g.op(AddOp, bytes_of(g), np.array([[[1], [-9], [120]]], np.int8)),
    "the same along an axis": lambda g: g.op(ReshapeOp, bytes_of(g), shape=[1, 3, 16, 16]),
    "in front": lambda g: g.op(ReshapeOp, bytes_of(g), shape=[1, 1, 3, 256]),
    "a sum and a number of each": lambda g: g.op(AddOp, sums(g), np.array([[[1], [-9], [5]]], np.int32)),
    "two that grow": lambda g: added(g, b := bytes_of(g), g.op(LookupOp, b, np.full(256, 5, np.int8))),
    "rows": row,
    "rows, stored transposed": lambda g: product(g, g.x(1, 2), WEIGHT[:, :, 0], transpose_rhs=True),
}
AXES = {"in front": 2}


def found(build: Callable[[Graph], SSAValue], axis: int) -> tuple[Graph, SSAValue, Any]:
    graph = Graph()
    value = build(graph)
    intervals = Intervals(graph.store)
    for flow in flows(graph.block, graph.store):
        intervals.add(flow)
    return graph, value, intervals.of(value, axis)


def inputs(shape: Sequence[int]) -> list[np.ndarray[Any, Any]]:
    """All bytes along the positions, ends against ends, in all places."""
    sweep = np.arange(-128, 128, dtype=np.int8)
    ends = np.tile(np.array([-128, -128, 127, 127], np.int8), 64), np.tile(np.array([-128, 127], np.int8), 128)
    both = [np.stack([sweep, sweep[::-1]]), np.stack(ends), np.stack([sweep, sweep])]
    if len(shape) == 3:
        return [each[None] for each in both]
    return [np.array([[a, b]], np.int8) for a in (-128, 127) for b in (-128, 127)]


@pytest.mark.parametrize("name", EXACT)
def test_intervals_are_those_of_all_inputs(name: str) -> None:
    axis = AXES.get(name, 1)
    graph, value, interval = found(EXACT[name], axis)
    graph.block.add_op(ReturnOp(value))
    results = [graph.results([x])[0] for x in inputs(shape_of(graph.block.args[0]))]
    along = np.concatenate([np.moveaxis(each, axis, 0).reshape(each.shape[axis], -1) for each in results], axis=1)
    assert interval.low.tolist() == along.min(axis=1).tolist()
    assert interval.high.tolist() == along.max(axis=1).tolist()


FEW = np.arange(-3, 3, dtype=np.int8)

UNKNOWN: dict[str, tuple[Callable[[Graph], SSAValue], int]] = {
    "the input": (lambda g: g.x(1, 3, 4), 1),
    "weights of the input": (lambda g: conv(g, g.x(1, 2, 4), g.x(3, 2, 1), None), 1),
    "a bias of the input": (lambda g: conv(g, g.x(1, 2, 4), bias=g.x(3, kind=i32)), 1),
    "groups": (lambda g: conv(g, g.x(1, 2, 4), FEW[:4].reshape(4, 1, 1), None, group=2), 1),
    "groups of two": (
        lambda g: conv(g, g.joined(b := bytes_of(g), b, axis=1), np.ones((3, 2, 1), np.int8), None, group=3),
        1,
    ),
    "depthwise weights of the input": (
        lambda g: conv(g, bytes_of(g), g.x(3, 1, 1), None, group=3),
        1,
    ),
    "a transposed convolution": (
        lambda g: g.op(
            ConvTransposeOp,
            g.x(1, 2, 4),
            FEW.reshape(2, 3, 1),
            None,
            strides=[1],
            pads=[0, 0],
            dilations=[1],
            output_padding=[0],
            group=1,
            accumulator=i32,
        ),
        1,
    ),
    "a product of a transposed operand": (
        lambda g: product(g, g.x(2, 1), FEW.reshape(2, 3), transpose_lhs=True),
        1,
    ),
    "products of several matrices": (lambda g: product(g, g.x(1, 1, 2), FEW.reshape(1, 2, 3)), 2),
    "windows of the input": (lambda g: g.op(SumPoolOp, g.x(1, 2, 8), **WINDOW), 1),
    "turned": (lambda g: g.op(TransposeOp, bytes_of(g), permutation=[0, 2, 1]), 2),
    "channels that are mixed": (lambda g: g.op(ReshapeOp, bytes_of(g), shape=[1, 2, 3 * SPAN // 2]), 1),
    "channels with positions": (lambda g: g.op(ReshapeOp, bytes_of(g), shape=[1, SPAN, 3]), 2),
    "joined along positions": (lambda g: g.joined(b := bytes_of(g), b, axis=2), 1),
    "joined with the input": (lambda g: g.joined(bytes_of(g), g.x(1, 1, SPAN), axis=1), 1),
    "numbers along positions": (
        lambda g: g.op(AddOp, bytes_of(g), np.ones((1, 1, SPAN), np.int8)),
        1,
    ),
    "numbers of the input": (lambda g: g.op(AddOp, bytes_of(g), g.x(1, 3, 1)), 1),
    "a table of the input": (lambda g: g.op(LookupOp, bytes_of(g), g.x(256)), 1),
    "rows and channels": (
        lambda g: g.op(AddOp, g.op(ReshapeOp, row(g), shape=[1, 3, 1]), g.op(ReshapeOp, row(g), shape=[1, 1, 3])),
        1,
    ),
    "depthwise in 8 bits": (lambda g: g.conv(bytes_of(g), FEW[:3].reshape(3, 1, 1), None, group=3), 1),
    "floats between": (lambda g: g.quantized(g.real(bytes_of(g))), 1),
    "a number added to sums that wrap": (
        lambda g: g.op(AddOp, sums(g, bias=np.full(3, 2**31 - 1, np.int32)), np.ones((3, 1), np.int32)),
        1,
    ),
    "sums that just wrap": (lambda g: g.op(AddOp, sums(g), np.full((3, 1), 2**31 - 519, np.int32)), 1),
    "products": (lambda g: g.op(MulOp, s := sums(g), s), 1),
    "sums that wrap": (lambda g: g.op(AddOp, s := sums(g, bias=np.full(3, 2**30, np.int32)), s), 1),
    "fixed sums that wrap": (lambda g: added(g, b := bytes_of(g), b, x_factor=1 << 24, low=-128, high=127), 1),
}


PASSED = (
    "products",
    "sums that wrap",
    "fixed sums that wrap",
    "numbers along positions",
    "a table of the input",
    "depthwise in 8 bits",
    "floats between",
    "a number added to sums that wrap",
    "sums that just wrap",
)
"""Their channels are known, not between which numbers they are."""


@pytest.mark.parametrize(("build", "axis"), UNKNOWN.values(), ids=UNKNOWN)
def test_intervals_of_which_nothing_is_known(build: Callable[[Graph], SSAValue], axis: int) -> None:
    graph, value, interval = found(build, axis)
    is_passed = any(flow.op.results[0] is value for flow in flows(graph.block, graph.store))
    assert is_passed == (build in [UNKNOWN[name][0] for name in PASSED])
    low, high = integer_range(element_type_of(value))
    channels = shape_of(value)[axis]
    assert (interval.low.tolist(), interval.high.tolist()) == ([low] * channels, [high] * channels)


def test_what_is_constant_of_a_product() -> None:
    channels = np.array([-(10**6), 0, -(10**6)], np.int32)
    interval = found(lambda g: g.op(MulOp, b := bytes_of(g, sums(g, bias=channels)), b), 1)[2]
    assert (interval.low.tolist(), interval.high.tolist()) == ([16, -128, 16], [16, 127, 16])


@pytest.mark.parametrize(("ceil", "low"), [(True, 0), (False, 56)])
def test_windows_across_the_end_have_fewer_terms(ceil: bool, low: int) -> None:
    window = WINDOW | {"kernel": [2], "strides": [3]}
    interval = found(lambda g: g.op(SumPoolOp, constant(g), **window, x_zero_point=-128, ceil=ceil or None), 1)[2]
    assert (interval.low.tolist(), interval.high.tolist()) == ([low] * 3, [56] * 3)


def test_floats_have_no_channels() -> None:
    graph = Graph()
    graph.op(MatMulOp, graph.x(1, 2, kind=f32), np.zeros((2, 3), np.float32))
    assert not list(flows(graph.block, graph.store))


def test_parts_of_a_channel_are_as_the_channel_is() -> None:
    whole = found(bytes_of, 1)[2]
    halves = found(lambda g: g.op(ReshapeOp, bytes_of(g), shape=[1, 6, SPAN // 2]), 1)[2]
    assert (halves.low.tolist(), halves.high.tolist()) == (whole.low.repeat(2).tolist(), whole.high.repeat(2).tolist())
    one = found(lambda g: g.op(ReshapeOp, sums(g, weight=WEIGHT[:1], bias=BIAS[:1]), shape=[1, SPAN]), 1)[2]
    assert (one.low.tolist(), one.high.tolist()) == ([-282] * SPAN, [483] * SPAN)


@pytest.mark.parametrize(("kind", "is_known"), [(f32, False), (i16, True)])
def test_intervals_are_of_integers(kind: Any, is_known: bool) -> None:
    assert (found(lambda g: g.x(1, 3, 4, kind=kind), 1)[2] is not None) == is_known
