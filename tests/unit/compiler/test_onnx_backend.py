"""The interface of `onnx.backend`, also as the onnx package's own runner uses it."""

from __future__ import annotations

import io
import unittest

import numpy as np
import onnx.backend.test
import onnx.parser
import pytest
from onnx import helper

import aotc.backend
from aotc.errors import CompileError

TEXT = """<ir_version: 10, opset_import: ["" : 21]>
two (float[2] x, float[2] w) => (float[2] y, float[2] "1") { y = Mul(x, w)  "1" = Neg(x) }"""
X, W = np.array([1, 2], np.float32), np.array([3, 4], np.float32)


def test_prepare_and_run() -> None:
    model = onnx.parser.parse_model(TEXT.replace('"1"', "n"))
    model.graph.output[1].name = model.graph.node[1].output[0] = "1"
    prepared = aotc.backend.prepare(model, "CPU", optimize=1)
    for inputs in ([X, W], (X, W), {"w": W, "x": X}):
        result = prepared.run(inputs)
        assert np.array_equal(result[0], X * W) and np.array_equal(result.y, X * W)
        assert np.array_equal(result["1"], -X), "no name of Python"
    assert np.array_equal(aotc.backend.run_model(model, [X, W])[0], X * W)
    with pytest.raises(TypeError, match="1 arrays for 2 inputs"):
        prepared.run(X)
    with pytest.raises(TypeError, match="no option debug"):
        prepared.run([X, W], debug=1)


def test_run_node() -> None:
    clip = helper.make_node("Clip", ["x", "", "most"], ["y"])
    for inputs in ([X, np.float32(1.5)], {"x": X, "most": np.float32(1.5)}):
        (y,) = aotc.backend.run_node(clip, inputs)
        assert np.array_equal(y, [1, 1.5])
    split = helper.make_node("Split", ["x"], ["a", "b"], num_outputs=2)
    assert [each.tolist() for each in aotc.backend.run_node(split, [X])] == [[1], [2]]
    assert aotc.backend.run_node(helper.make_node("Add", ["x", "x"], ["y"]), [X, X])[0].tolist() == [2, 4]
    old = helper.make_node("Squeeze", ["x"], ["y"], axes=[0])
    assert aotc.backend.run_node(old, [X[None]], opset_version=11)[0].shape == (2,)
    with pytest.raises(CompileError, match="axes"):
        aotc.backend.run_node(old, [X[None]])


def test_devices() -> None:
    assert aotc.backend.supports_device("CPU") and not aotc.backend.supports_device("CUDA")
    with pytest.raises(ValueError, match="device CUDA"):
        aotc.backend.prepare(onnx.parser.parse_model(TEXT.replace('"1"', "n")), "CUDA")


def test_what_is_compatible() -> None:
    model = onnx.parser.parse_model(TEXT.replace('"1"', "n"))
    assert aotc.backend.is_compatible(model) and not aotc.backend.is_compatible(model, "CUDA")
    model.graph.node[1].op_type, model.graph.node[1].domain = "Frobnicate", "nowhere"
    assert not aotc.backend.is_compatible(model)


@pytest.mark.filterwarnings("ignore")  # of how the cases are made
def test_the_runner_of_the_onnx_package() -> None:
    """A slice; all of its cases take minutes."""
    runner = onnx.backend.test.BackendTest(aotc.backend, __name__)
    runner.include(r"^test_(add|gemm_default_no_bias|maxpool_2d_default|softmax_axis_1|argmax_default_axis_.*)_cpu$")
    suite = unittest.TestSuite()
    for case in runner.test_cases.values():
        suite.addTests(unittest.defaultTestLoader.loadTestsFromTestCase(case))
    result = unittest.TextTestRunner(io.StringIO()).run(suite)
    ran = result.testsRun - len(result.skipped)
    assert result.wasSuccessful() and ran == 8, (ran, result.failures + result.errors)
