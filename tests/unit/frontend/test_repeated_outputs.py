"""Models that give out one value several times, as recurrent cells of JAX do: each output has a name of its own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest
from quick_c import open_quickly

import aotc
from aotc.cli.main import run
from aotc.model.naming import distinct_names
from aotc.pipeline.options import CompileOptions

X = np.arange(3, dtype=np.float32)
TWICE = "g (float[3] x) => (float[3] y, float[3] z, float[3] y, float[3] y) { y = Neg(x) z = Exp(x) }"
LOOP = """g (float[3] x) => (float[3] y, float[3] z) {
    trips = Constant<value_int = 3>() go = Constant<value = bool {1}>()
    y, z = Loop(trips, go, x, x) <body = b (int64 i, bool c, float[3] a, float[3] e) => (bool k, float[3] s, float[3] s)
        { k = Identity(c) s = Add(a, e) }>
}"""


def model(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 17]>\n{text}')


def test_a_number_keeps_names_apart() -> None:
    assert distinct_names(["y", "z", "y", "y_1", "y"]) == ["y", "z", "y_2", "y_1", "y_3"]


@pytest.mark.parametrize("route", ["jit", "c", "shared"])
def test_each_has_a_name(route: str, tmp_path: Path) -> None:
    path = tmp_path / "twice.onnx"
    onnx.save(model(TWICE), path)
    found = open_quickly(str(path), route, CompileOptions())({"x": X})
    assert list(found) == ["y", "z", "y_1", "y_2"]
    for name in ("y", "y_1", "y_2"):
        np.testing.assert_array_equal(found[name], -X)


def test_an_inference_session_gives_as_many_as_onnxruntime() -> None:
    data = model(TWICE).SerializeToString()
    expected = onnxruntime.InferenceSession(data).run(None, {"x": X})
    for actual, right in zip(aotc.InferenceSession(data).run(None, {"x": X}), expected, strict=True):
        np.testing.assert_allclose(actual, right, rtol=1e-6)


def test_verify_compares_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "twice.onnx"
    onnx.save(model(TWICE), path)
    assert run(["verify", str(path)]) == 0
    assert "y_2" in capsys.readouterr().out


def test_shapes_that_are_open() -> None:
    compiled = aotc.compile(model(TWICE.replace("float[3]", "float[N]")), dims={"N": "any"})
    assert list(compiled(x=np.ones(5, np.float32))) == ["y", "z", "y_1", "y_2"]


@pytest.mark.parametrize("optimize", ["0", "2"])
def test_a_body_yields_one_value_twice(optimize: str) -> None:
    found = aotc.compile(model(LOOP), optimize=optimize)(x=X)
    np.testing.assert_array_equal(found["y"], 8 * X)
    np.testing.assert_array_equal(found["z"], 8 * X)
