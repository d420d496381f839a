"""Sums of products on integers: where, and where not, and the same numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from raised_graph import Case, Given, Graph, K, W, raised
from xdsl.dialects.builtin import f16, f32, i8, i16, i32
from xdsl.ir import Attribute, SSAValue

from aotc.dialects.arrays import Array
from aotc.dialects.constants import key_of
from aotc.dialects.graph.conversion import CastOp, QuantizeOp
from aotc.dialects.graph.elementwise import AddOp, MaxOp, MinOp, MulOp, ReluOp
from aotc.dialects.graph.matrices.matmul import MatMulOp
from aotc.dialects.graph.movement import ReshapeOp, TransposeOp
from aotc.passes.graph.quantization.epilogues import bias as bias_of

SUM = "matmul requantize"
NOT = "matmul dequantize "

AFTER: dict[str, Case] = {
    "nothing": (lambda g: g.product(lambda v: v), SUM),
    "a bias": (lambda g: g.product(lambda v: g.op(AddOp, v, [1.0, -0.25])), "matmul add requantize"),
    "a bias on the left": (lambda g: g.product(lambda v: g.op(AddOp, [1.0, -0.25], v)), "matmul add requantize"),
    "two biases": (
        lambda g: g.product(lambda v: g.op(AddOp, g.op(AddOp, v, 1.0), 1.0)),
        "matmul dequantize add add quantize",
    ),
    "a sum with itself": (lambda g: g.product(lambda v: g.op(AddOp, v, v)), NOT + "add quantize"),
    "a bias behind a relu": (
        lambda g: g.product(lambda v: g.op(AddOp, g.op(ReluOp, v), 1.0)),
        NOT + "relu add quantize",
    ),
    "a bias behind a most": (
        lambda g: g.product(lambda v: g.op(AddOp, g.op(MinOp, v, 2.0), 1.0)),
        NOT + "min add quantize",
    ),
    "a factor behind a least": (
        lambda g: g.product(lambda v: g.op(MulOp, g.op(MaxOp, v, -2.0), 0.5)),
        NOT + "max mul quantize",
    ),
    "a factor behind a most": (
        lambda g: g.product(lambda v: g.op(MulOp, g.op(MinOp, v, 2.0), 0.5)),
        NOT + "min mul quantize",
    ),
    "factors": (lambda g: g.product(lambda v: g.op(MulOp, g.op(MulOp, [0.5, 2.0], v), 2.0)), SUM),
    "factors of rows": (lambda g: g.product(lambda v: g.op(MulOp, v, [[1.0], [2.0], [4.0]])), NOT + "mul quantize"),
    "a factor of 0": (lambda g: g.product(lambda v: g.op(MulOp, v, [0.0, 1.0])), NOT + "mul quantize"),
    "a factor and a bias": (
        lambda g: g.product(lambda v: g.op(AddOp, g.op(MulOp, v, [0.5, 2.0]), [0.25, 3.0])),
        "matmul add requantize",
    ),
    "a factor below 0": (lambda g: g.product(lambda v: g.op(MulOp, v, -1.0)), NOT + "mul quantize"),
    "a factor of the input": (lambda g: g.product(lambda v: g.op(MulOp, v, g.x(kind=f32))), NOT + "mul quantize"),
    "clamps": (
        lambda g: g.product(lambda v: g.op(MinOp, 5.0, g.op(MaxOp, -3.0, g.op(ReluOp, v)))),
        SUM,
    ),
    "a least below a most": (lambda g: g.product(lambda v: g.op(MaxOp, g.op(MinOp, v, -3.0), 2.0)), SUM),
    "a relu behind a most": (lambda g: g.product(lambda v: g.op(ReluOp, g.op(MinOp, v, -3.0))), SUM),
    "several bounds": (lambda g: g.product(lambda v: g.op(MaxOp, v, [1.0, 2.0])), NOT + "max quantize"),
    "a bound of the input": (lambda g: g.product(lambda v: g.op(MaxOp, v, g.x(kind=f32))), NOT + "max quantize"),
    "a bound of more axes": (lambda g: g.product(lambda v: g.op(MaxOp, v, [[[1.0]]])), NOT + "max quantize"),
    "a bound that is no number": (lambda g: g.product(lambda v: g.op(MaxOp, v, np.nan)), NOT + "max quantize"),
    "a view": (lambda g: g.product(lambda v: g.op(ReshapeOp, v, shape=[6])), NOT + "reshape quantize"),
    "a cast": (lambda g: g.product(lambda v: g.op(CastOp, v, to=f32)), NOT + "cast quantize"),
    "half precision": (
        lambda g: g.product(lambda v: g.op(CastOp, g.op(CastOp, v, to=f16), to=f32)),
        NOT + "cast cast quantize",
    ),
    "a scale for each column": (
        lambda g: g.op(
            QuantizeOp, g.op(MatMulOp, g.real(g.x(3, 2)), g.real(W)), [0.5, 1.0], None, axis=1, block_size=0, to=i8
        ),
        NOT + "quantize",
    ),
    "integers": (lambda g: g.integers(lambda v: g.op(CastOp, v, to=f32)), SUM),
    "integers, a factor": (lambda g: g.integers(lambda v: g.op(MulOp, g.op(CastOp, v, to=f32), 0.5)), SUM),
    "integers, a bias": (
        lambda g: g.integers(lambda v: g.op(CastOp, g.op(AddOp, v, np.array([3, -4], np.int32)), to=f32)),
        "matmul add requantize",
    ),
    "integers of the input": (
        lambda g: g.integers(lambda v: g.op(CastOp, g.op(AddOp, v, g.x(2, kind=i32)), to=f32)),
        "matmul add cast quantize",
    ),
    "integers, a relu": (lambda g: g.integers(lambda v: g.op(CastOp, g.op(ReluOp, v), to=f32)), SUM),
    "integers, a factor in i32": (
        lambda g: g.integers(lambda v: g.op(CastOp, g.op(MulOp, v, np.array([3, 4], np.int32)), to=f32)),
        "matmul mul cast quantize",
    ),
    "integers in half precision": (
        lambda g: g.integers(lambda v: g.op(CastOp, g.op(CastOp, v, to=f16), to=f32)),
        "matmul cast cast quantize",
    ),
    "integers in 16 bits": (
        lambda g: g.integers(lambda v: g.op(CastOp, g.op(CastOp, v, to=i16), to=f32)),
        "matmul cast cast quantize",
    ),
}


@pytest.mark.parametrize(("build", "expected"), AFTER.values(), ids=AFTER)
def test_what_follows_a_product(build: Callable[[Graph], SSAValue], expected: str) -> None:
    assert raised(build)[0] == expected


def _i32(*values: Any) -> Array:
    return np.array(values, np.int32)


def _biased(g: Graph, bias: Given, scales: Given = 0.25, x: float = 0.5) -> SSAValue:
    """A convolution of numbers with a bias in units of sums: 1 / 8, or by a scale for each channel."""
    return g.quantized(g.conv(g.real(g.x(1, 1, 8), x), g.real(K, scales), bias))


def _added(g: Graph, bias: Given, scales: Given = 0.25) -> SSAValue:
    """A product of numbers and a bias."""
    return g.quantized(g.op(AddOp, g.op(MatMulOp, g.real(g.x(4, 2)), g.real(W, scales, axis=1)), bias))


FLOATS = "conv dequantize reshape add quantize"

BIASES: dict[str, Case] = {
    "f32": (lambda g: _biased(g, [1.0, -0.25]), "conv requantize"),
    "f32, no units": (lambda g: _biased(g, [1.0, -0.3]), FLOATS),
    "infinity": (lambda g: _biased(g, [1.0, np.inf]), FLOATS),
    "the input": (lambda g: _biased(g, g.x(2, kind=f32)), FLOATS),
    "integers": (lambda g: _biased(g, g.real(_i32(9, -4), 0.125)), "conv requantize"),
    "a scale by channel": (
        lambda g: _biased(g, g.real(_i32(9, -4), [0.125, 0.25]), [0.25, 0.5]),
        "conv requantize",
    ),
    "several equal scales": (lambda g: _biased(g, g.real(_i32(9, -4), [0.125, 0.125])), "dequantize " + FLOATS),
    "other scales": (lambda g: _biased(g, g.real(_i32(9, -4), [0.125, 0.5]), [0.25, 0.5]), "dequantize " + FLOATS),
    "integers of the input": (lambda g: _biased(g, g.real(g.x(2, kind=i32), 0.125)), "dequantize " + FLOATS),
    "a scale of the input": (lambda g: _biased(g, g.real(_i32(9, -4), g.x(kind=f32))), "dequantize " + FLOATS),
    "blocks": (lambda g: _biased(g, g.real(_i32(9, -4), [0.125], block_size=2)), "dequantize " + FLOATS),
    "a zero point": (lambda g: _biased(g, g.real(_i32(9, -4), 0.125, _i32(0)[0])), "conv requantize"),
    "another zero point": (lambda g: _biased(g, g.real(_i32(9, -4), 0.125, _i32(1)[0])), "dequantize " + FLOATS),
    "a zero point of the input": (
        lambda g: _biased(g, g.real(_i32(9, -4), 0.125, g.x(kind=i32))),
        "dequantize " + FLOATS,
    ),
    "bytes": (lambda g: _biased(g, g.real(np.array([9, -4], np.int8), 0.125, np.int8(1))), "conv requantize"),
    "rows of several scales": (
        lambda g: _added(g, g.real(_i32([1], [2], [3], [4]), [0.125] * 4), [0.25, 0.25]),
        "dequantize matmul dequantize add quantize",
    ),
    "rows": (
        lambda g: _added(g, g.real(_i32([1], [2], [3], [4]), 0.125), [0.25, 0.5]),
        "dequantize matmul dequantize add quantize",
    ),
    "rows of one scale": (lambda g: _added(g, g.real(_i32([1], [2], [3], [4]), 0.125)), "matmul add requantize"),
    "i32 of the input": (
        lambda g: g.conv(g.wide(g.x(1, 1, 8), _i32(3)[0]), K.astype(np.int32), g.x(2, kind=i32)),
        "conv reshape add",
    ),
    "i32": (
        lambda g: g.conv(g.wide(g.x(1, 1, 8), _i32(3)[0]), K.astype(np.int32), _i32(7, -9)),
        "conv",
    ),
}


@pytest.mark.parametrize(("build", "expected"), BIASES.values(), ids=BIASES)
def test_biases(build: Callable[[Graph], SSAValue], expected: str) -> None:
    assert raised(build)[0] == expected


@pytest.mark.parametrize(
    ("bias", "is_whole"),
    [
        (1 + 2.0**-22, True),
        (1 + 2.0**-21, False),
        (2.0**21, True),
        (2.0**21 + 1, False),
        (-(2.0**21), True),
        (2.0**-22, True),
        (2.0**-21, False),
    ],
)
def test_a_bias_is_as_near_to_a_whole_number_as_floats_are(bias: float, is_whole: bool) -> None:
    graph = Graph()
    value = graph.of(np.array([bias, 0], np.float32))
    assert value is not None
    found = bias_of(value, np.ones((), np.float32), graph.store)
    assert (None if found is None else found.tolist()) == ([round(bias), 0] if is_whole else None)


def _matmul(g: Graph, x: Given, y: Given, **given: Any) -> SSAValue:
    return g.op(MatMulOp, x, y, **given)


def _taken_off(g: Graph, rows: int, *shape: int, kind: Attribute = i8, transposed: bool = False) -> SSAValue:
    """A product of integers less a zero point of the input."""
    x = g.wide(g.x(rows, 2), g.wide(g.x(*shape, kind=kind)))
    return _matmul(g, x, np.ones((rows if transposed else 2, 2), np.int32), transpose_lhs=transposed or None)


SUMS: dict[str, Case] = {
    "floats": (lambda g: _matmul(g, g.x(3, 2, kind=f32), g.real(W)), "dequantize matmul"),
    "weights of the input": (lambda g: _matmul(g, g.real(g.x(3, 2)), g.x(2, 2, kind=f32)), "dequantize matmul"),
    "a convolution of two inputs": (
        lambda g: g.conv(g.real(g.x(1, 1, 8)), g.real(g.x(2, 1, 3))),
        "dequantize dequantize conv",
    ),
    "two inputs": (
        lambda g: _matmul(g, g.real(g.x(3, 2), 0.5, np.int8(3)), g.real(g.x(2, 2), 0.25)),
        "matmul dequantize",
    ),
    "two inputs, and a zero point": (
        lambda g: _matmul(g, g.real(g.x(3, 2), 0.5), g.real(g.x(2, 2), 0.25, np.int8(-5))),
        "matmul dequantize",
    ),
    "two inputs in i32": (lambda g: _matmul(g, g.wide(g.x(3, 2), np.int32(3)), g.wide(g.x(2, 2))), "matmul"),
    "a zero point of the input, of two inputs": (
        lambda g: _matmul(g, g.wide(g.x(3, 2), g.wide(g.x())), g.wide(g.x(2, 2))),
        "cast cast sub cast matmul",
    ),
    "a zero point of the input, on the right": (
        lambda g: _matmul(g, g.wide(g.x(3, 2)), g.wide(g.x(2, 2), g.wide(g.x()))),
        "cast cast cast sub matmul",
    ),
    "a zero point of the input": (lambda g: _taken_off(g, 3), "cast matmul mul sub"),
    "a zero point for each row": (lambda g: _taken_off(g, 3, 3, 1), "cast matmul mul sub"),
    "a zero point for each column": (lambda g: _taken_off(g, 3, 1, 2), "cast cast sub matmul"),
    "a zero point for each row, which is summed up": (
        lambda g: _taken_off(g, 3, 3, 1, transposed=True),
        "cast cast sub matmul",
    ),
    "a zero point of the input, in a convolution": (
        lambda g: g.conv(g.wide(g.x(1, 2, 5), g.wide(g.x())), np.arange(-2, 2).reshape(2, 2, 1).astype(np.int32)),
        "cast conv mul sub",
    ),
    "a zero point of the input, and padding": (
        lambda g: g.conv(g.wide(g.x(1, 1, 5), g.wide(g.x())), K.astype(np.int32), pads=[1, 0]),
        "cast pad conv mul sub",
    ),
    "a zero point of a transposed operand": (lambda g: _taken_off(g, 3, transposed=True), "cast matmul mul sub"),
    "a zero point of another type": (lambda g: _taken_off(g, 3, kind=i16), "cast cast sub matmul"),
    "batches": (
        lambda g: _matmul(g, g.real(g.x(2, 3, 2), 0.5, np.int8(3)), g.real(np.stack([W, 3 * W]))),
        "matmul add dequantize",
    ),
    "stored transposed": (
        lambda g: _matmul(g, g.real(g.x(3, 2), 0.5, np.int8(3)), g.real(W), transpose_rhs=True),
        "matmul add dequantize",
    ),
    "columns of several scales": (
        lambda g: _matmul(g, g.real(g.x(3, 2)), g.real(W, [0.5, 0.25], axis=1)),
        "matmul dequantize",
    ),
    "columns of several scales, stored transposed": (
        lambda g: _matmul(g, g.real(g.x(3, 2)), g.real(W, [0.5, 0.25]), transpose_rhs=True),
        "matmul dequantize",
    ),
    "terms of several scales, stored transposed": (
        lambda g: _matmul(g, g.real(g.x(3, 2)), g.real(W, [0.5, 0.25], axis=1), transpose_rhs=True),
        "dequantize dequantize matmul",
    ),
    "channels that are summed up have scales": (
        lambda g: g.conv(g.real(g.x(1, 2, 4)), g.real(np.ones((2, 2, 1), np.int8), [0.5, 0.25], axis=1)),
        "dequantize dequantize conv",
    ),
    "channels have scales": (
        lambda g: g.conv(g.real(g.x(1, 2, 4)), g.real(np.ones((2, 2, 1), np.int8), [0.5, 0.25])),
        "conv dequantize",
    ),
    "a zero point in a convolution": (
        lambda g: g.conv(g.real(g.x(1, 1, 8), 0.5, np.int8(3)), g.real(K)),
        "conv dequantize",
    ),
    "a zero point, and padding": (
        lambda g: g.conv(g.real(g.x(1, 1, 8), 0.5, np.int8(3)), g.real(K), pads=[0, 1]),
        "conv dequantize",
    ),
    "a zero point in a transposed convolution": (
        lambda g: g.transposed(g.real(g.x(1, 1, 4), 0.5, np.int8(3)), g.real(K.reshape(1, 2, 3))),
        "conv_transpose dequantize",
    ),
    "groups of a transposed convolution": (
        lambda g: g.transposed(
            g.real(g.x(1, 4, 3)), g.real(np.arange(24).reshape(4, 2, 3).astype(np.int8), [0.5, 0.25], axis=1), group=2
        ),
        "conv_transpose dequantize",
    ),
    "a product that underflows": (
        lambda g: _matmul(g, g.real(g.x(3, 2), 1e-30), g.real(W, 1e-30)),
        "dequantize dequantize matmul",
    ),
    "a quotient that underflows": (
        lambda g: g.quantized(_matmul(g, g.real(g.x(3, 2), 2.0**-60), g.real(W, 2.0**-60)), 2.0**60),
        "matmul dequantize quantize",
    ),
    "nothing known of rows": (
        lambda g: _matmul(g, g.real(g.x(3, 2), 0.5), g.real(g.op(TransposeOp, W, permutation=[1, 0]), 0.25)),
        "matmul dequantize",
    ),
    "weights less 1": (lambda g: _matmul(g, g.real(g.x(3, 2), 0.5), g.real(W, 0.25, np.int8(1))), "matmul dequantize"),
    "a bias along another axis": (
        lambda g: g.quantized(g.op(AddOp, g.conv(g.real(g.x(1, 1, 5)), g.real(K)), [[[1.0, 2.0, 3.0]]])),
        "conv add requantize",
    ),
    "a bias along channels of several scales": (
        lambda g: g.quantized(
            g.op(AddOp, g.conv(g.real(g.x(1, 1, 5)), g.real(K, [0.5, 0.25])), [[[1.0], [2.0]]]),
        ),
        "conv requantize",
    ),
    "a bias along channels": (
        lambda g: g.quantized(g.op(AddOp, g.conv(g.real(g.x(1, 1, 5)), g.real(K)), [[[1.0], [2.0]]])),
        "conv requantize",
    ),
}


@pytest.mark.parametrize(("build", "expected"), SUMS.values(), ids=SUMS)
def test_sums(build: Callable[[Graph], SSAValue], expected: str) -> None:
    assert raised(build)[0] == expected


@pytest.mark.parametrize(
    ("x", "y", "is_integer"), [(i8, i8, True), (i16, i8, False), (i8, i16, False), (i8, None, True), (i16, None, False)]
)
def test_few_bits_alone_where_registers_are_for_bytes(x: Attribute, y: Attribute | None, is_integer: bool) -> None:
    """Of constants any may have more."""

    def build(g: Graph) -> SSAValue:
        weight = g.x(2, 2, kind=y) if y is not None else W.astype(np.int16)
        return _matmul(g, g.real(g.x(1, 2, kind=x)), g.real(weight))

    assert (raised(build, most_bits=8)[0] == "matmul dequantize") == is_integer


@pytest.mark.parametrize(
    ("last", "bias", "fits"), [(-32767, 0, True), (-32768, 0, False), (-32767, 32767, True), (-32767, 32768, False)]
)
def test_sums_fit_32_bits(last: int, bias: int, fits: bool) -> None:
    """Two terms of -32768 * -32768 are 2^31."""
    weight = np.array([[-32768], [last]], np.int16)

    def build(g: Graph) -> SSAValue:
        product = _matmul(g, g.real(g.x(1, 2, kind=i16), 1.0), g.real(weight, 1.0))
        return g.quantized(g.op(AddOp, product, float(bias)), 2.0**24)

    found = raised(build)[0]
    if fits:
        assert found == ("matmul add requantize" if bias else SUM)
    else:
        assert "requantize" not in found


def test_new_weights_have_the_names_of_the_old_ones() -> None:
    """Or that of weights, where they are computed."""
    ones = np.ones((256, 4), np.int8)
    weights: list[Callable[[Graph], SSAValue]] = [
        lambda g: g.real(ones.T.copy(), 0.5),
        lambda g: g.real(ones.T.copy(), 0.5, np.int8(1)),
        lambda g: g.real(g.op(TransposeOp, ones, permutation=[1, 0]), 0.5),
    ]
    names: list[str] = []
    for weight in weights:
        _, graph = raised(lambda g, weight=weight: _matmul(g, g.real(g.x(1, 4)), weight(g)))
        product = next(op for op in graph.block.ops if isinstance(op, MatMulOp))
        names.append(str(key_of(product.rhs)).partition("_")[0])
    assert names == ["c", "c", "weight"]
