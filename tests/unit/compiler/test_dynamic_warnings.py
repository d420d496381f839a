"""Warnings of models with open shapes: each thing once, whatever shapes arrive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import TensorProto, helper

import aotc

HEAD = '<ir_version: 10, opset_import: ["" : 18]> '
RELU = "m (float[n] x) => (float[n] y) { y = Relu(x) }"


def parsed(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(HEAD + text)


def test_of_what_is_the_same_for_every_shape_it_warns_once(capsys: pytest.CaptureFixture[str]) -> None:
    rows = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 1])
    ends = helper.make_tensor_value_info("l", TensorProto.STRING, ["n"])
    numbers = {"coefficients": [1.0, -1.0], "intercepts": [0.0, 0.0], "classlabels_strings": ["cat", "dog"]}
    node = helper.make_node("LinearClassifier", ["x"], ["l", "s"], domain="ai.onnx.ml", **numbers)
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)]
    made = helper.make_model(helper.make_graph([node], "g", [rows], [ends]), opset_imports=sets, ir_version=8)
    for _ in range(2):  # each model once
        model = aotc.compile(made, name="warned")
        for n in (1, 2, 3):
            assert model(np.ones((n, 1), np.float32))["l"].tolist() == [0] * n
        assert capsys.readouterr().err.count("[changed-output]") == 1


def test_buckets_are_suggested_once_where_shapes_are_too_many(caplog: pytest.LogCaptureFixture) -> None:
    def said(shapes: Sequence[int], **options: Any) -> int:
        caplog.clear()
        model = aotc.compile(parsed(RELU), max_shapes=2, **options)
        for n in shapes:
            model(np.zeros(n, np.float32))
        return sum("buckets={'n': " in record.getMessage() for record in caplog.records)

    assert said([1, 2, 1, 2]) == 0
    assert said([1, 2, 3, 1, 2, 3]) == 1
    assert said([1, 2, 3], buckets=[1, 2, 3]) == 0


def test_values_that_are_compiled_for_have_no_buckets(caplog: pytest.LogCaptureFixture) -> None:
    text = "m (float[2] x, int64[1] k) => (float[r] y) { y = Tile(x, k) }"
    model = aotc.compile(parsed(text), constants={"k": "any"}, max_shapes=1)
    for k in (1, 2, 3):
        assert model(np.ones(2, np.float32), np.array([k]))["y"].shape == (2 * k,)
    assert "buckets" not in caplog.text
