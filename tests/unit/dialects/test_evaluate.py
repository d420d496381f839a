"""Folding of graph operations where it could differ from the kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.dialects import arith
from xdsl.dialects import test as unregistered
from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from aotc.dialects import array_builder
from aotc.dialects.builder import Builder, Scalar
from aotc.dialects.dtypes import ELEMENT_TYPES, element_type
from aotc.dialects.graph.conversion import DequantizeOp, QuantizeOp
from aotc.dialects.graph.elementwise import AddOp, BinaryOp, MaxOp, MinOp, ModOp, PowOp, RemOp, SignOp
from aotc.dialects.graph.interfaces import GraphOp, ShapeError
from aotc.dialects.graph.logical import ShiftLeftOp, ShiftRightOp
from aotc.dialects.graph.matrices.matmul import MatMulOp
from aotc.dialects.graph.normalization import NormalizeOp, SoftmaxOp
from aotc.dialects.graph.reduction import ArgReduceOp, CumulativeOp, ReduceOp
from aotc.dialects.graph.scatter import ScatterElementsOp, TopKOp
from aotc.dialects.graph.vision.sampling import ResampleOp

Array = np.ndarray[Any, Any]


def placeholder(array: Array) -> SSAValue:
    return unregistered.TestOp(result_types=[TensorType(element_type(array.dtype), array.shape)]).results[0]


def fold(op_class: type[GraphOp], *arrays: Array, **attributes: object) -> Array:
    op = op_class.get(*(placeholder(array) for array in arrays), **attributes)
    folded = op.evaluate(arrays)
    assert folded is not None and len(folded) == 1
    kind = op.results[0].type
    assert kind == TensorType(element_type(folded[0].dtype), folded[0].shape), "the value has the inferred type"
    return folded[0]


def test_arithmetic_wraps() -> None:
    assert fold(AddOp, np.array([127], np.int8), np.array([1], np.int8)).tolist() == [-128]


def test_the_two_remainders_differ_in_sign() -> None:
    x, y = np.array([7, -7, 7, -7], np.int32), np.array([3, 3, -3, -3], np.int32)
    assert fold(RemOp, x, y).tolist() == [1, -1, 1, -1]
    assert fold(ModOp, x, y).tolist() == [1, 2, -2, -1]
    assert fold(ModOp, np.array([5.0, -5.0]), np.array([-np.inf, np.inf])).tolist() == [-np.inf, np.inf]


def test_integer_powers_truncate() -> None:
    assert fold(PowOp, np.array([2, -3, 2]), np.array([-1, 3, 62])).tolist() == [0, -27, 2**62]


@pytest.mark.parametrize("by", [-1, 8, 100])
def test_shifts_by_the_width_or_more_shift_everything_out(by: int) -> None:
    x, amount = np.array([5, -5], np.int8), np.array(by, np.int8)
    assert fold(ShiftLeftOp, x, amount).tolist() == [0, 0]
    assert fold(ShiftRightOp, x, amount).tolist() == [0, -1]


def test_reductions_of_nothing() -> None:
    nothing = np.zeros((2, 0), np.float32)
    expected = {"sum": 0, "mean": 0, "prod": 1, "max": -np.inf, "min": np.inf}
    for kind, value in expected.items():
        assert fold(ReduceOp, nothing, kind=kind, axes=[1]).tolist() == [value, value]
    assert fold(ReduceOp, nothing.astype(np.int8), kind="max", axes=[1]).tolist() == [-128, -128]


def test_narrow_floats_accumulate_in_f32() -> None:
    assert fold(ReduceOp, np.full(4096, 1, np.float16), kind="sum", axes=[0]) == 4096  # in f16: 2048
    assert fold(ReduceOp, np.full(4096, 100, np.float16), kind="mean", axes=[0]) == 100  # in f16: inf


def test_sums_are_in_index_order() -> None:
    x = np.array([1e8, 1, -1e8, 1], np.float32)
    assert fold(ReduceOp, x, kind="sum", axes=[0]) == 1


def test_extrema_of_equals_and_nan() -> None:
    x = np.array([1, 3, 3, np.nan], np.float32)
    assert fold(ArgReduceOp, x, kind="max", axis=0) == 1
    assert fold(ArgReduceOp, x, kind="max", axis=0, last=True) == 2
    assert fold(ArgReduceOp, x[::-1], kind="max", axis=0) == 0


def test_running_sums() -> None:
    x = np.array([[1, 2, 3]], np.int32)
    assert fold(CumulativeOp, x, kind="sum", axis=1).tolist() == [[1, 3, 6]]
    assert fold(CumulativeOp, x, kind="sum", axis=1, exclusive=True, reverse=True).tolist() == [[5, 3, 0]]


def test_rows_over_inner_axes_keep_their_place() -> None:
    x = np.arange(24, dtype=np.float64).reshape(2, 3, 4)
    exponents = np.exp(x - x.max(axis=(0, 2), keepdims=True))
    expected = exponents / exponents.sum(axis=(0, 2), keepdims=True)
    np.testing.assert_allclose(fold(SoftmaxOp, x, axes=[0, 2]), expected, rtol=1e-12)
    normal = fold(NormalizeOp, x, axes=[1], epsilon=0.0)
    np.testing.assert_allclose(normal, (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True), rtol=1e-12)


def test_quantisation_rounds_to_even_and_saturates() -> None:
    x, scale, zero_point = np.array([0.5, 1.5, -0.5, 1e9, np.nan], np.float32), np.float32(1), np.array(3, np.uint8)
    q = fold(QuantizeOp, x, np.asarray(scale), zero_point, to=ELEMENT_TYPES["uint8"])
    assert q.tolist() == [3, 5, 3, 255, 0]


def test_blocks_share_a_scale() -> None:
    q, scale = np.ones((2, 4), np.int8), np.array([[1, 2], [3, 4]], np.float32)
    x = fold(DequantizeOp, q, scale, axis=1, block_size=2, to=ELEMENT_TYPES["float32"])
    assert x.tolist() == [[1, 1, 2, 2], [3, 3, 4, 4]]


def test_operands_that_do_not_fit_are_refused() -> None:
    x = placeholder(np.zeros((2, 3), np.float32))
    with pytest.raises(ShapeError, match="expected integer"):
        ShiftLeftOp.get(x, x)
    with pytest.raises(ShapeError, match="name an axis twice"):
        ReduceOp.get(x, kind="sum", axes=[0, -2])


def test_what_would_take_too_long_is_not_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.arange(64, dtype=np.float32)
    op = TopKOp.get(placeholder(x), k=8, axis=0)
    assert op.evaluate([x]) is not None
    monkeypatch.setattr(array_builder, "MOST_WORK", 1 << 16)
    assert op.evaluate([x]) is None


def test_what_would_be_read_outside_of_an_operand_is_not_folded() -> None:
    x, weights = np.ones((1, 4), np.float32), np.ones((2, 1), np.float32)
    for places, folds in (([[0], [3]], True), ([[0], [4]], False), ([[-1], [0]], False)):
        operands = [x, np.array(places), weights]
        op = ResampleOp.get(*map(placeholder, operands), axis=1)
        assert (op.evaluate(operands) is not None) is folds


def test_what_writes_operations_of_ir_is_not_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    def inserted(self: BinaryOp, b: Builder, *operands: Scalar) -> Scalar:
        return b.scalar(b.insert(arith.AddfOp(operands[0].ssa, operands[1].ssa)), operands[0].dtype)

    monkeypatch.setattr(AddOp, "scalar", inserted)
    x = np.ones(3, np.float32)
    assert AddOp.get(placeholder(x), placeholder(x)).evaluate([x, x]) is None


def test_each_update_of_a_narrow_float_is_rounded() -> None:
    x, indices, update = np.ones(1, np.float16), np.zeros(9, np.int64), np.float16(1.0009765625)
    expected = x[0]
    for _ in indices:
        expected = np.float16(np.float32(expected) * np.float32(update))
    assert fold(ScatterElementsOp, x, indices, np.full(9, update), axis=0, reduction="mul") == expected


def test_products_are_summed_in_index_order() -> None:
    """Whatever BLAS does."""
    x = np.array([[1e8, 1, -1e8, 1]], np.float32)
    assert fold(MatMulOp, x, np.ones((4, 1), np.float32)) == 1


def test_zeros_keep_their_sign() -> None:
    assert np.signbit(fold(SignOp, np.array([-0.0], np.float32)))[0]
    assert not np.signbit(fold(MaxOp, np.array([-0.0, 0.0]), np.array([0.0, -0.0]))).any()
    assert np.signbit(fold(MinOp, np.array([-0.0, 0.0]), np.array([0.0, -0.0]))).all()
