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


@pytest.mark.parametrize(("alpha", "beta"), [(0.5, 1.0), (2.5, 1.0), (1.0, 0.5), (2.0, 3.0), (0.5, 0.0)])
def test_gemm_of_integers_is_cut_off_at_last(alpha: float, beta: float) -> None:
    text = f"""<ir_version: 8, opset_import: ["" : 13]> g (int32[2, 2] a, int32[1] c) => (int32[2, 1] y)
        <int32[2, 1] b = {{3, 4}}>
        {{ y = Gemm <alpha = {alpha}, beta = {beta}, transA = 1> (a, b, c) }}"""
    model, a, c = onnx.parser.parse_model(text), np.array([[1, -5], [2, 7]], np.int32), np.array([-7], np.int32)
    wanted = (alpha * (a.T @ np.array([[3], [4]])) + beta * c).astype(np.int32)
    np.testing.assert_array_equal(aotc.compile(model)({"a": a, "c": c})["y"], wanted)


@pytest.mark.parametrize(
    ("dtype", "start", "limit", "delta"),
    [
        ("int64", -(2**63), 5, 2**62),
        ("int64", 2**62, -(2**62) - 5, -(2**61)),
        ("int32", -(2**31), 2**31 - 1, 2**30),
        ("int16", -(2**15), 2**15 - 1, 2**12 - 1),
        ("int64", 5, -(2**63), 2**62),
    ],
)
def test_a_range_may_be_longer_than_its_type(dtype: str, start: int, limit: int, delta: int) -> None:
    values = "".join(
        f"{dtype} {name} = {{{value}}}, " for name, value in zip("sld", (start, limit, delta), strict=True)
    )
    text = f"""<ir_version: 8, opset_import: ["" : 18]> g ({dtype}[1] x) => ({dtype}[N] y)
        <{values.removesuffix(", ")}> {{ r = Range (s, l, d) y = Add (r, x) }}"""
    found = aotc.compile(onnx.parser.parse_model(text))({"x": np.zeros(1, dtype)})["y"]
    np.testing.assert_array_equal(found, np.array([*range(start, limit, delta)], dtype))
