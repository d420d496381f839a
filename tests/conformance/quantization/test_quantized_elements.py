"""Quantised operators that work element by element, window by window, or move elements, and those of 16 bits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from quantized import Graph, assert_close, assert_equal, pick, scale_of_sums


def sum_of_two(g: Graph) -> None:
    """With broadcasting, or a constant, integers or not; a relu or clip behind it."""
    dtype, shape = pick(g, np.int8, np.uint8), (2, int(g.r.integers(1, 6)), 8)
    value = g.real(g.input(dtype, *shape), *g.parameters(dtype, g.scale(0.01, 0.05)))
    other_shape = pick(g, shape, (shape[1], 1), (8,))
    match pick(g, "input", "integers", "floats"):
        case "input":
            other = g.real(g.input(dtype, *other_shape), *g.parameters(dtype, g.scale(0.01, 0.05)))
        case "integers":
            integers = g.constant(g.r.integers(0, 128, other_shape).astype(dtype))
            other = g.real(integers, *g.parameters(dtype, g.scale(0.01, 0.05)))
        case _:
            other = g.constant(g.r.normal(0, 2, other_shape).astype(np.float32))
    sides = [value, other] if g.r.integers(2) else [other, value]
    value = g.node(pick(g, "Add", "Sub"), *sides)
    match pick(g, "none", "relu", "clip"):
        case "relu":
            value = g.node("Relu", value)
        case "clip":
            value = g.node("Clip", value, g.constant(np.float32(-1)), g.constant(np.float32(3)))
        case _:
            pass
    g.integers(value, dtype, g.scale(0.02, 0.1))


def product_of_two(g: Graph) -> None:
    dtype = pick(g, np.int8, np.uint8)
    sides = [g.real(g.input(dtype, *shape), *g.parameters(dtype, g.scale(0.01, 0.05))) for shape in ((3, 4, 8), (4, 1))]
    g.integers(g.node("Mul", *sides), dtype, g.scale(0.02, 0.1))


def rescaled(g: Graph) -> None:
    """By numbers that are quantised themselves, as TFLite has all of them."""
    dtype = pick(g, np.int8, np.uint8)
    value = g.real(g.input(dtype, 3, 4, 8), *g.parameters(dtype, g.scale(0.01, 0.05)))
    for op_type in ("Mul", "Add"):
        number = g.constant(np.full(pick(g, (), (1,), (1, 1)), g.r.integers(1, 128)).astype(dtype))
        number = g.real(number, *g.parameters(dtype, g.scale(0.002, 0.02)))
        scale, point = g.parameters(dtype, g.scale(0.02, 0.1))
        g.outputs.append(g.node("QuantizeLinear", g.node(op_type, value, number), scale, point))
        value = g.real(g.outputs[-1], scale, point)


def functions_that_meet(g: Graph) -> None:
    """A function of each side before they are added or multiplied, as in a gate."""
    dtype = pick(g, np.int8, np.uint8)
    sides = [g.real(g.input(dtype, 4, 16), *g.parameters(dtype, g.scale(0.01, 0.05))) for _ in range(2)]
    sides[0] = g.node(pick(g, "Sigmoid", "Relu", "HardSigmoid"), sides[0])
    g.integers(g.node(pick(g, "Add", "Mul"), *sides), dtype, g.scale(0.02, 0.1))


def mean(g: Graph) -> None:
    dtype, scale = pick(g, np.int8, np.uint8), g.scale()
    value = g.real(g.input(dtype, 2, 3, 5, 7), *g.parameters(dtype, scale))
    axes = pick(g, [1], [2], [3], [1, 3], [2, 3])
    value = g.node("ReduceMean", value, axes=axes, keepdims=int(g.r.integers(2)))
    g.integers(value, dtype, np.float32(scale * pick(g, 1, 0.7)))


def padded_means(g: Graph) -> None:
    """Of windows with fewer elements at borders."""
    dtype, scale = pick(g, np.int8, np.uint8), g.scale()
    value = g.real(g.input(dtype, 1, 2, 7, 8), *g.parameters(dtype, scale))
    pads = [int(each) for each in g.r.integers(0, 3, 4)]
    value = g.node("AveragePool", value, kernel_shape=[3, 3], strides=[2, 1], pads=pads, count_include_pad=0)
    g.integers(value, dtype, np.float32(scale * 0.7))


def long_softmax(g: Graph) -> None:
    """Of many, along any axis, to any scale."""
    dtype = pick(g, np.int8, np.uint8)
    value = g.real(g.input(dtype, 3, pick(g, 20, 200), 2), *g.parameters(dtype, g.scale(0.01, 0.2)))
    g.integers(g.node("Softmax", value, axis=pick(g, 1, 2)), dtype, pick(g, np.float32(1 / 256), g.scale(0.001, 0.01)))


CLOSE: tuple[Callable[[Graph], None], ...] = (
    sum_of_two,
    product_of_two,
    rescaled,
    functions_that_meet,
    mean,
    padded_means,
    long_softmax,
)


def resize(g: Graph) -> None:
    dtype = pick(g, np.int8, np.uint8)
    scale, point = g.parameters(dtype, g.scale())
    value = g.real(g.input(dtype, 1, 2, 4, 5), scale, point)
    factors = g.constant(np.float32([1, 1, pick(g, 2, 3), pick(g, 1, 2)]))
    attributes = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    g.outputs.append(g.node("QuantizeLinear", g.node("Resize", value, "", factors, **attributes), scale, point))


def pad(g: Graph) -> None:
    dtype = pick(g, np.int8, np.uint8)
    scale, point = g.parameters(dtype, g.scale())
    value = g.real(g.input(dtype, 2, 3, 4), scale, point)
    amounts = g.constant(g.r.integers(0, 2, 6))
    mode = pick(g, "constant", "edge", "reflect")
    g.outputs.append(g.node("QuantizeLinear", g.node("Pad", value, amounts, mode=mode), scale, point))


def concatenation(g: Graph) -> None:
    """Of parts with scales of their own."""
    dtype = pick(g, np.int8, np.uint8)
    parts = [g.real(g.input(dtype, 2, 3, 4), *g.parameters(dtype, g.scale())) for _ in range(int(g.r.integers(2, 4)))]
    g.integers(g.node("Concat", *parts, axis=int(g.r.integers(3))), dtype, g.scale())


def conv_integer(g: Graph) -> None:
    """With zero points that are known, and data-dependent ones, which are taken off the sums."""
    kind, group = pick(g, np.int8, np.uint8), pick(g, 1, 2)
    w = g.constant(g.r.integers(0, 129, (4, 2 // group, 3, 3)).astype(kind))
    zero = g.constant(np.array(g.r.integers(0, 128), kind))
    point = g.constant(np.array(g.r.integers(256), np.uint8)) if g.r.integers(3) == 0 else g.input(np.uint8)
    pads = [int(each) for each in g.r.integers(0, 3, 4)]
    x = g.input(np.uint8, 1, 2, 6, 7)
    g.outputs.append(g.node("ConvInteger", x, w, point, zero, pads=pads, group=group))


EXACT: tuple[Callable[[Graph], None], ...] = (resize, pad, concatenation, conv_integer)


def wide_conv(g: Graph) -> None:
    x = g.real(g.input(np.int16, 1, 2, 6, 6), *g.parameters(np.int16, g.scale(1e-4, 1e-3)))
    w, ws, wz, _ = g.weight(0, 3, 2, 3, 3)
    value = g.node("Conv", x, g.real(w, ws, wz, axis=0), pads=[1, 1, 1, 1])
    g.integers(value, pick(g, np.int16, np.int8), np.float32(scale_of_sums(g, np.int16)))


def wide_matmul(g: Graph) -> None:
    x = g.real(g.input(np.int16, 5, 12), *g.parameters(np.int16, g.scale(1e-4, 1e-3)))
    w, ws, wz, _ = g.weight(1, 12, 7)
    g.integers(g.node("MatMul", x, g.real(w, ws, wz, axis=1)), np.int16, scale_of_sums(g, np.int16))


def wide_movement(g: Graph) -> None:
    dtype = pick(g, np.int16, np.uint16)
    scale, point = g.parameters(dtype, g.scale())
    value = g.node("Transpose", g.real(g.input(dtype, 2, 3, 4), scale, point), perm=[2, 0, 1])
    g.outputs.append(g.node("QuantizeLinear", g.node("Concat", value, value, axis=0), scale, point))


def wide_arithmetic(g: Graph) -> None:
    dtype = pick(g, np.int16, np.uint16)
    sides = [g.real(g.input(dtype, 4, 16), *g.parameters(dtype, g.scale(1e-4, 1e-3))) for _ in range(2)]
    g.integers(g.node(pick(g, "Add", "Sub", "Mul"), *sides), dtype, g.scale(1e-3, 1e-2))


def wide_function(g: Graph) -> None:
    dtype = pick(g, np.int16, np.uint16)
    value = g.real(g.input(dtype, 4, 16), *g.parameters(dtype, g.scale(1e-4, 1e-3)))
    g.integers(g.node(pick(g, "Sigmoid", "Relu", "Softmax"), value), dtype, g.scale(1e-5, 1e-4))


SIXTEEN: tuple[Callable[[Graph], None], ...] = (
    wide_conv,
    wide_matmul,
    wide_movement,
    wide_arithmetic,
    wide_function,
)
"""Of 16 bits, which onnxruntime computes with floats."""


@pytest.mark.parametrize("make", EXACT, ids=lambda make: make.__name__)
def test_integers_are_those_of_onnxruntime(make: Callable[[Graph], None]) -> None:
    assert_equal(make)


@pytest.mark.parametrize("make", CLOSE, ids=lambda make: make.__name__)
def test_integers_are_next_to_those_of_onnxruntime(make: Callable[[Graph], None]) -> None:
    assert_close(make)


@pytest.mark.parametrize("make", SIXTEEN, ids=lambda make: make.__name__)
def test_integers_of_16_bits_are_next_to_those_of_onnxruntime(make: Callable[[Graph], None]) -> None:
    assert_close(make, opset=21)
