"""Attributes of nodes: f32, whatever the operands are; and what those that are empty mean."""

from __future__ import annotations

import numpy as np
import onnx.parser
import pytest
from harness import reference

import aotc


def test_a_default_is_rounded_as_a_given_value_is() -> None:
    x = np.array([-1.0, -3.0, 2.0])
    for attributes in ("", "<alpha = 0.01>"):
        text = f"""<ir_version: 8, opset_import: ["" : 17]> g (double[3] x) => (double[3] y)
            {{ y = LeakyRelu {attributes} (x) }}"""
        found = aotc.compile(onnx.parser.parse_model(text))({"x": x})["y"]
        np.testing.assert_array_equal(found, np.where(x < 0, np.float64(np.float32(0.01)) * x, x))


@pytest.mark.parametrize("op_type", ["Conv", "MaxPool"])
def test_an_empty_auto_pad_is_none(op_type: str) -> None:
    window = "kernel_shape = [2, 2]" if op_type == "MaxPool" else "group = 1"
    weight = "" if op_type == "MaxPool" else ", w"
    text = f"""<ir_version: 8, opset_import: ["" : 13]>
    g (float[1, 2, 5, 4] x, float[2, 2, 2, 2] w) => (float[1, 2, M, N] y) {{
        y = {op_type} <auto_pad = "", pads = [1, 0, 1, 1], {window}> (x{weight})
    }}"""
    model = onnx.parser.parse_model(text)
    random = np.random.default_rng(8)
    feed = {
        name: random.normal(size=shape).astype(np.float32) for name, shape in (("x", (1, 2, 5, 4)), ("w", (2,) * 4))
    }
    (wanted,) = reference(model, feed) or [None]
    assert wanted is not None
    np.testing.assert_allclose(aotc.compile(model)(feed)["y"], wanted, atol=1e-6)
