"""Attributes of nodes are f32, whatever the operands are."""

from __future__ import annotations

import numpy as np
import onnx.parser

import aotc


def test_a_default_is_rounded_as_a_given_value_is() -> None:
    x = np.array([-1.0, -3.0, 2.0])
    for attributes in ("", "<alpha = 0.01>"):
        text = f"""<ir_version: 8, opset_import: ["" : 17]> g (double[3] x) => (double[3] y)
            {{ y = LeakyRelu {attributes} (x) }}"""
        found = aotc.compile(onnx.parser.parse_model(text))({"x": x})["y"]
        np.testing.assert_array_equal(found, np.where(x < 0, np.float64(np.float32(0.01)) * x, x))
