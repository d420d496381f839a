"""Operators that move elements: between windows, which have channels first, and where a model asks for what is not
there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from lite_cases import CASES
from lite_cases.case import Case, constant, indices, single, tensor
from lite_model import Graph, Tensor
from lite_oracle import Micro

import aotc
from aotc.errors import CompileError

_POOL: dict[str, Any] = {"filter_height": 1, "filter_width": 1, "stride_h": 1, "stride_w": 1}
_GIVEN: dict[str, Any] = {"scale": 0.05, "zero": 3}
_BETWEEN: list[tuple[str, tuple[int, ...], list[Tensor], dict[str, Any]]] = [
    ("DEPTH_TO_SPACE", (1, 4, 12, 2), [], {"block_size": 2}),
    ("SPACE_TO_DEPTH", (1, 1, 3, 32), [], {"block_size": 2}),
    ("RESIZE_NEAREST_NEIGHBOR", (1, 5, 3, 8), [indices(5, 3)], {}),
    ("RESIZE_BILINEAR", (1, 5, 3, 8), [indices(5, 3)], {}),
    ("REVERSE_V2", (1, 2, 6, 8), [indices(3)], {}),
    ("ZEROS_LIKE", (1, 2, 6, 8), [], {}),
]


@pytest.mark.parametrize(("code", "shape", "more", "options"), _BETWEEN, ids=[row[0] for row in _BETWEEN])
def test_between_windows(code: str, shape: tuple[int, ...], more: list[Tensor], options: dict[str, Any]) -> None:
    graph = Graph()
    for name, extents in (("x", (1, 2, 6, 8)), ("a", (1, 2, 6, 8)), ("b", shape), ("y", shape)):
        graph.tensor(name, extents, "int8", **_GIVEN)
    for number, each in enumerate(more):
        assert each.data is not None
        graph.constant(f"c{number}", each.data)
    graph.op("MAX_POOL_2D", ["x"], ["a"], **_POOL)
    graph.op(code, ["a", *(f"c{number}" for number in range(len(more)))], ["b"], **options)
    graph.op("MAX_POOL_2D", ["b"], ["y"], **_POOL)
    case = Case(f"between-{code}", [graph.ends(["x"], ["y"])])
    model, oracle = aotc.compile(case.model), Micro(case.model)
    for inputs in case.calls:
        np.testing.assert_array_equal(model({"x": inputs[0]})["y"], oracle(*inputs)[0])


@pytest.mark.parametrize("name", ["transpose_conv-same-int8", "resize_bilinear-up-half-int8", "if-int8"])
def test_real_numbers_are_as_near_as_a_unit(name: str) -> None:
    case = CASES[name]
    exact, own = (aotc.compile(case.model, requantize=each) for each in ("exact", "tflite"))
    for inputs in case.calls:
        given = {tensor.name: value for tensor, value in zip(own.inputs, inputs, strict=True)}
        (found,), (expected,) = (list(model(given).values()) for model in (exact, own))
        assert np.abs(found.astype(int) - expected.astype(int)).max() <= 1


def _x(*shape: int, dtype: str = "float32") -> Tensor:
    return tensor(shape, dtype)


def _pads(before: int, after: int) -> Tensor:
    return constant(np.array([[before, after]], np.int32))


_REFUSED: list[tuple[str, list[Tensor], Sequence[Tensor], dict[str, Any], str]] = [
    ("SLICE", [_x(2, 3), tensor((2,), "int32"), indices(1, 1)], [_x(1, 1)], {}, "unknown-value"),
    ("SLICE", [_x(2, 3), indices(0), indices(1)], [_x(1, 3)], {}, "invalid-value"),
    ("SLICE", [_x(2, 3), indices(0, 2), indices(1, 2)], [_x(1, 2)], {}, "invalid-shape"),
    ("STRIDED_SLICE", [_x(4), indices(0), indices(4), indices(0)], [_x(4)], {}, "invalid-value"),
    ("STRIDED_SLICE", [_x(4), indices(0, 0), indices(1, 4), indices(1, 1)], [_x(4)], {}, "invalid-value"),
    ("STRIDED_SLICE", [_x(4), *(indices(1, 1) for _ in range(3))], [_x(4)], {"ellipsis_mask": 3}, "invalid-value"),
    ("STRIDED_SLICE", [_x(4), indices(4), indices(5), indices(1)], [_x()], {"shrink_axis_mask": 1}, "invalid-value"),
    ("SPLIT", [indices(0), _x(5)], [_x(2), _x(2)], {"num_splits": 2}, "invalid-value"),
    ("SPLIT_V", [_x(5), indices(2, 2), indices(0)], [_x(2), _x(2)], {"num_splits": 2}, "invalid-value"),
    ("SPLIT_V", [_x(4), indices(2, 2), indices(1)], [_x(2), _x(2)], {"num_splits": 2}, "invalid-value"),
    ("UNPACK", [_x(2, 2)], [_x(2)], {"num": 1, "axis": 0}, "invalid-value"),
    ("PACK", [_x(2), _x(2)], [_x(2, 2)], {"values_count": 2, "axis": 2}, "invalid-value"),
    ("MIRROR_PAD", [_x(3), _pads(3, 0)], [_x(6)], {"mode": "REFLECT"}, "invalid-value"),
    ("MIRROR_PAD", [_x(3), _pads(0, 4)], [_x(7)], {"mode": "SYMMETRIC"}, "invalid-value"),
    ("DEPTH_TO_SPACE", [_x(1, 2, 2, 6)], [_x(1, 4, 4, 1)], {"block_size": 2}, "invalid-shape"),
    ("SPACE_TO_DEPTH", [_x(1, 3, 4, 1)], [_x(1, 1, 2, 4)], {"block_size": 2}, "invalid-shape"),
    ("SPACE_TO_DEPTH", [_x(1, 4, 4, 1)], [_x(1, 2, 2, 4)], {"block_size": 0}, "invalid-shape"),
    ("SPACE_TO_BATCH_ND", [_x(1, 3, 1), indices(2), _pads(0, 0)], [_x(2, 1, 1)], {}, "invalid-shape"),
    ("SPACE_TO_BATCH_ND", [_x(1, 4, 1), indices(2), _pads(-1, 1)], [_x(2, 2, 1)], {}, "invalid-value"),
    ("BATCH_TO_SPACE_ND", [_x(3, 2, 1), indices(2), _pads(0, 0)], [_x(1, 4, 1)], {}, "invalid-shape"),
    ("GATHER", [_x(2, 3), tensor((2, 2), "int32")], [_x(2, 2)], {"axis": 0, "batch_dims": 1}, "invalid-attribute"),
    ("GATHER", [_x(2, 3), tensor((2,), "int32")], [_x(2, 2)], {"axis": 2}, "invalid-value"),
    ("DYNAMIC_UPDATE_SLICE", [_x(4), _x(5), tensor((1,), "int32")], [_x(4)], {}, "invalid-shape"),
    ("DYNAMIC_UPDATE_SLICE", [_x(4), _x(2), tensor((2,), "int32")], [_x(4)], {}, "invalid-shape"),
    ("TILE", [_x(2, 3), indices(2)], [_x(4, 3)], {}, "invalid-value"),
    ("RESIZE_BILINEAR", [_x(1, 2, 2, 1), indices(4)], [_x(1, 4, 4, 1)], {}, "invalid-value"),
    ("RESIZE_BILINEAR", [_x(1, 2, 2, 1, dtype="int16"), indices(4, 4)], [_x(1, 4, 4, 1)], {}, "unsupported-type"),
    ("RESIZE_NEAREST_NEIGHBOR", [_x(1, 2, 2), indices(4, 4)], [_x(1, 4, 4)], {}, "invalid-value"),
    ("L2_POOL_2D", [tensor((1, 2, 2, 1), "int8", 0.5)], [tensor((1, 2, 2, 1), "int8", 0.5)], _POOL, "unsupported-type"),
    (
        "TRANSPOSE_CONV", [indices(1, 4, 4, 1), constant(np.ones((1, 2, 2, 3), np.float32)), _x(1, 2, 2, 2)],
        [_x(1, 4, 4, 1)], {"stride_h": 2, "stride_w": 2}, "invalid-shape",
    ),
    (
        "EMBEDDING_LOOKUP", [tensor((2,), "int32"), constant(np.ones((3, 2), np.int8), None, 0.5, 1)], [_x(2, 2)], {},
        "unsupported-type",
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("code", "given", "made", "options", "problem"), _REFUSED, ids=[f"{row[0]}-{row[4]}" for row in _REFUSED]
)
def test_what_is_wrong_is_said(
    code: str, given: list[Tensor], made: list[Tensor], options: dict[str, Any], problem: str
) -> None:
    case = single("wrong", code, given, made, **options)
    with pytest.raises(CompileError) as caught:
        aotc.compile(case.model)
    assert [(each.id, each.node, each.op_type) for each in caught.value.problems] == [(problem, "y0", code)]
