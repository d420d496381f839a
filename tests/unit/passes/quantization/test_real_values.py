"""For which integers values stand, and which stand for none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import TensorType, f16, f32, i8, i32, i64
from xdsl.ir import Attribute, Block, SSAValue

from aotc.dialects.constants import constant_op
from aotc.dialects.graph.conversion import CastOp, DequantizeOp, QuantizeOp
from aotc.dialects.graph.elementwise import SubOp
from aotc.dialects.graph.interfaces import GraphOp
from aotc.model.weight_store import WeightStore
from aotc.passes.graph.quantization.real_values import dequantized, quantization, quantized, weights

Array = np.ndarray[Any, Any]
ROWS = np.array([[5, -6, 7], [8, 9, -10]], np.int8)
SCALES = np.array([0.5, 0.25], np.float32)


class Values:
    """Values of one block: arrays are constants, types are arguments."""

    def __init__(self) -> None:
        self.store, self.block = WeightStore(), Block()

    def of(self, given: Array | Attribute | None) -> SSAValue | None:
        if given is None:
            return None
        if isinstance(given, Attribute):
            return self.block.insert_arg(given, len(self.block.args))
        return self.add(constant_op(given, "c", self.store))

    def add(self, op: Any) -> SSAValue:
        self.block.add_op(op)
        return op.results[0]

    def dequantize(
        self, x: Any, scale: Any, point: Any = None, axis: int = 0, block_size: int = 0, to: Attribute = f32
    ) -> SSAValue:
        operands = [self.of(each) for each in (x, scale, point)]
        return self.add(DequantizeOp.get(*operands, axis=axis, block_size=block_size, to=to))


@pytest.mark.parametrize(
    "point, axis, expected",
    [
        (None, 0, ROWS),
        (np.array(2, np.int8), 0, ROWS - 2),
        (np.array([2], np.int8), 0, ROWS - 2),
        (np.array([1, 2], np.int8), 0, ROWS - np.array([[1], [2]])),
        (np.array([1, 2], np.int8), -2, ROWS - np.array([[1], [2]])),
        (np.array([1, 2, 3], np.int8), 1, ROWS - np.array([1, 2, 3])),
    ],
)
def test_weights_are_less_their_zero_points(point: Array | None, axis: int, expected: Array) -> None:
    made = Values()
    shape = (ROWS.shape[axis],) if point is None else point.shape
    scale = np.resize(np.array([0.5, 0.25, 0.125], np.float32), shape)
    found = weights(made.dequantize(ROWS, scale, point, axis), made.store)
    assert found is not None and found.axis == axis % 2
    np.testing.assert_array_equal(found.values, expected)
    np.testing.assert_array_equal(found.scale, scale if scale.size > 1 else scale.reshape(()))


@pytest.mark.parametrize(
    "given",
    [
        {"x": TensorType(i8, [2, 3])},
        {"x": ROWS.astype(np.int32)},
        {"scale": TensorType(f32, [2])},
        {"scale": np.array([0.5, np.inf], np.float32)},
        {"scale": np.array([0.5, 0.0], np.float32)},
        {"point": TensorType(i8, [2])},
        {"to": f16},
    ],
)
def test_what_no_weights_are(given: dict[str, Any]) -> None:
    made = Values()
    assert weights(made.dequantize(**{"x": ROWS, "scale": SCALES} | given), made.store) is None


@pytest.mark.parametrize(
    "array, fits", [([3, -40], True), ([255, 0], True), ([256, -1], True), ([40000, -1], False), (i32, False)]
)
def test_narrow_integers_in_i32_are_weights(array: list[int] | Attribute, fits: bool) -> None:
    made = Values()
    value = made.of(TensorType(i32, [2]) if isinstance(array, Attribute) else np.array(array, np.int32))
    assert value is not None
    assert (weights(value, made.store) is not None) == fits


@pytest.mark.parametrize(
    "given, expected",
    [
        ({}, (0.5, 0)),
        ({"point": np.array(3, np.int8)}, (0.5, 3)),
        ({"point": TensorType(i8, [])}, None),
        ({"scale": TensorType(f32, [])}, None),
        ({"scale": SCALES}, None),
        ({"x": TensorType(i32, [2, 3])}, None),
        ({"to": f16}, None),
    ],
)
def test_tensors_have_one_scale_and_zero_point(given: dict[str, Any], expected: tuple[float, int] | None) -> None:
    made = Values()
    value = made.dequantize(**{"x": TensorType(i8, [2, 3]), "scale": np.array(0.5, np.float32)} | given)
    found = dequantized(value, made.store)
    assert (None if found is None else (found.scale, found.zero_point)) == expected


@pytest.mark.parametrize(
    "x, point, expected",
    [
        (i8, None, 0),
        (i64, None, None),
        (i8, np.array(7, np.int32), 7),
        (i8, np.array([7, 7, 7], np.int32), 7),
        (i8, np.array([7, 7, 8], np.int32), None),
        (i8, np.array(200, np.int32), None),
        (i8, np.zeros((2, 1, 3), np.int32), None),
    ],
)
def test_integers_less_a_zero_point(x: Attribute, point: Array | None, expected: int | None) -> None:
    made = Values()
    given = made.of(TensorType(x, [1, 3]))
    assert given is not None
    value = made.add(CastOp.get(given, to=i32))
    if (subtracted := made.of(point)) is not None:
        value = made.add(SubOp.get(value, subtracted))
    found = quantized(value, made.store)
    assert (None if found is None else found.zero_point) == expected


@pytest.mark.parametrize("to, given, fits", [(i8, f32, True), (i8, f16, False), (i32, f32, False)])
def test_what_is_quantised_to_narrow_integers(to: Attribute, given: Attribute, fits: bool) -> None:
    made = Values()
    x, scale = made.of(TensorType(given, [3])), made.of(np.array(0.5, np.float32))
    op = QuantizeOp.get(x, scale, None, axis=0, block_size=0, to=to)
    assert isinstance(op, GraphOp)
    assert (quantization(op, made.store) is not None) == fits
