"""Values of operators on quantised tensors, as folding computes them."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.dialects import test as unregistered
from xdsl.dialects.builtin import TensorType, i8, i32
from xdsl.ir import SSAValue

from aotc.dialects.dtypes import ELEMENT_TYPES, element_type
from aotc.dialects.graph.interfaces import GraphOp
from aotc.dialects.graph.matrices.matmul import MatMulOp
from aotc.dialects.graph.quantized.bytes import LookupOp
from aotc.dialects.graph.quantized.requantization import RequantizeOp

Array = np.ndarray[Any, Any]


def _placeholder(array: Array) -> SSAValue:
    return unregistered.TestOp(result_types=[TensorType(element_type(array.dtype), array.shape)]).results[0]


def _fold(op_class: type[GraphOp], *arrays: Array, **attributes: object) -> Array:
    op = op_class.get(*(_placeholder(array) for array in arrays), **attributes)
    values = op.evaluate(arrays)
    assert values is not None
    (value,) = values
    assert op.results[0].type == TensorType(element_type(value.dtype), value.shape)
    return value


def _requantize(sums: list[int], multiplier: list[float] | float, **attributes: object) -> list[int]:
    given = {"axis": 0, "zero_point": 0, "low": -128, "high": 127, "to": i8, **attributes}
    return _fold(RequantizeOp, np.array(sums, np.int32), np.array(multiplier, np.float32), **given).tolist()


def test_requantisation_rounds_ties_to_even() -> None:
    assert _requantize([1, 3, 5, -1, -3], 0.5) == [0, 2, 2, 0, -2]


def test_requantisation_adds_the_zero_point_to_what_is_rounded() -> None:
    assert _requantize([1, 3], 0.5, zero_point=1) == [1, 3]


def test_requantisation_clamps() -> None:
    assert _requantize([-(2**31), 2**31 - 1, -4, 4], 1.0, low=-3, high=2) == [-3, 2, -3, 2]
    assert _requantize([-5, 300], 1.0, low=0, high=255, to=ELEMENT_TYPES["uint8"]) == [0, 255]


def test_sums_are_rounded_to_f32_before_the_product() -> None:
    assert _requantize([2**24 + 1], 2.0**-19, low=-128, high=127) == [32]
    exact = 2**24 + 3  # f32 has 2**24 + 4
    assert _requantize([exact], 1.5 * 2.0**-20) == [24]


def test_each_channel_has_its_multiplier() -> None:
    assert _requantize([10, 10], [1.0, 0.5]) == [10, 5]


def test_sums_of_products_wrap_and_leave_out_zero_points() -> None:
    x, w = np.array([[0, 255]], np.uint8), np.array([[-128], [127]], np.int8)
    assert _fold(MatMulOp, x, w, accumulator=i32, lhs_zero_point=128, rhs_zero_point=-1).tolist() == [
        [-128 * -127 + 127 * 128]
    ]
    x = np.full((1, 3), -(2**15), np.int16)
    assert _fold(MatMulOp, x, x.reshape(3, 1), accumulator=i32).tolist() == [[3 * 2**30 - 2**32]]


def test_lookups_take_the_bits_of_an_integer() -> None:
    table = np.arange(256, dtype=np.uint8)
    x = np.array([[0, -1], [-128, 127]], np.int8)
    assert _fold(LookupOp, x, table).tolist() == [[0, 255], [128, 127]]
