"""Commands and functions of Python on .tflite files."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from lite_cases import CASES
from lite_model import Graph, write
from test_lite_import import dense

import aotc
from aotc.cli.main import run
from aotc.compiler.checking.tflite_reference import interpreter
from aotc.compiler.driver import lower
from aotc.compiler.session import InferenceSession
from aotc.dialects.aot.contract import RECORDED
from aotc.pipeline.options import CompileOptions


@pytest.fixture
def model(tmp_path: Path) -> str:
    path = tmp_path / "dense.tflite"
    path.write_bytes(dense())
    return str(path)


def test_inspect_says_what_is_in_the_file(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["inspect", model, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["inputs"] == [{"name": "x", "dtype": "int8", "shape": [1, 4]}]
    assert (found["operators"], found["parameters"], found["weights_bytes"]) == ({"FULLY_CONNECTED": 1}, 12, 12)


@pytest.mark.parametrize("command", [["check"], ["plan", "--target", "cortex-m4"], ["run"], ["check", "--ram", "1K"]])
def test_commands_take_it(command: list[str], model: str) -> None:
    assert run([command[0], model, *command[1:]]) == 0


@pytest.mark.parametrize("options", [[], ["--emit", "c"], ["--requantize", "exact"]])
def test_verify_compares_with_the_interpreter(
    options: list[str], model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["verify", model, "--json", *options]) == 0
    found = json.loads(capsys.readouterr().out)
    allowed = 1.0 if "exact" in options else 0.0
    assert (found["reference"], [each["tolerance"] for each in found["outputs"]]) == ("TFLite Micro", [allowed])


INTEGERS, PLANES = ["--io", "quantized"], ["--input-layout", "x=nchw", "--output-layout", "y=nchw"]


def _convolution(*, is_read: bool = False) -> bytes:
    """A convolution of integers whose input and output are floats; the output may be read by another operator, too."""
    random, body = np.random.default_rng(0), Graph()
    each = {"scale": [0.01] * 8, "zero": [0] * 8, "axis": 0}
    body.tensor("x", (1, 6, 5, 3), "float32")
    body.tensor("q", (1, 6, 5, 3), "int8", scale=0.05, zero=3)
    body.tensor("w", (8, 3, 3, 3), "int8", **each, data=random.integers(-127, 128, (8, 3, 3, 3)).astype(np.int8))
    body.tensor("c", (1, 6, 5, 8), "int8", scale=0.1, zero=-7)
    body.tensor("y", (1, 6, 5, 8), "float32")
    body.tensor("z", (1, 6, 5, 8), "float32")
    body.op("QUANTIZE", ["x"], ["q"])
    strides = {"stride_w": 1, "stride_h": 1, "dilation_w_factor": 1, "dilation_h_factor": 1}
    body.op("CONV_2D", ["q", "w", None], ["c"], padding="SAME", **strides)
    body.op("DEQUANTIZE", ["c"], ["y"])
    if is_read:
        body.op("ABS", ["y"], ["z"])
    return write([body.ends(["x"], ["y", "z"] if is_read else ["y"])])


@pytest.mark.parametrize("is_read", [False, True])
@pytest.mark.parametrize("given", [INTEGERS, PLANES, [*INTEGERS, *PLANES]], ids=["integers", "planes", "both"])
def test_callers_have_integers_and_other_layouts(given: list[str], is_read: bool, tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(_convolution(is_read=is_read))
    assert run(["verify", str(path), *given]) == 0
    layouts = {"input_layouts": {"x": "nchw"}, "output_layouts": {"y": "nchw"}} if PLANES[0] in given else {}
    model = aotc.compile(str(path), io="quantized" if INTEGERS[0] in given else "caller", **layouts)
    assert isinstance(model, aotc.CompiledModel)
    found = [(each.name, each.dtype, each.shape[-1]) for each in (*model.inputs, model.outputs[0])]
    dtype = "int8" if INTEGERS[0] in given else "float32"
    assert found == [("x", dtype, 5 if layouts else 3), ("y", dtype, 5 if layouts else 8)]


def test_a_model_of_floats_has_no_integers_for_callers(tmp_path: Path) -> None:
    body = Graph()
    body.tensor("x", (1, 4), "float32")
    body.tensor("y", (1, 4), "float32")
    body.op("ABS", ["x"], ["y"])
    with pytest.raises(aotc.CompileError, match=r"\[not-quantized\]"):
        aotc.compile(write([body.ends(["x"], ["y"])]), io="quantized")


@pytest.mark.parametrize("expected", ["recorded", "interpreted", "computed"])
def test_a_selftest_expects_what_is_recorded_or_interpreted(
    expected: str, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = np.array([[1, 100, -128, 4]], np.int8)
    inputs, outputs = tmp_path / "inputs.npz", tmp_path / "outputs.npz"
    np.savez(inputs, x=x)
    np.savez(outputs, y=aotc.compile(model)({"x": x})["y"])
    more = {"selftest_outputs": str(outputs)} if expected == "recorded" else {}
    if expected == "computed":
        monkeypatch.setitem(sys.modules, "tflite_micro", None)
        monkeypatch.setitem(sys.modules, "ai_edge_litert.interpreter", None)
    compilation = lower(model, CompileOptions(selftest=str(inputs), stop_after="import", **more))
    recorded = RECORDED.get(compilation.module)
    assert recorded is not None
    found = [compilation.store[key] for key in (*recorded.inputs, *recorded.outputs)]
    np.testing.assert_array_equal(found[1], np.load(outputs)["y"].reshape(-1))
    np.testing.assert_array_equal(found[0], x.reshape(-1))


def test_verify_names_the_interpreter_that_is_there(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tflite_micro", None)
    assert interpreter(Path(model).read_bytes()).kind == "LiteRT's reference kernels"
    monkeypatch.setitem(sys.modules, "ai_edge_litert.interpreter", None)
    with pytest.raises(aotc.UsageError, match=r"no interpreter takes the model.*\[missing-tool\]"):
        interpreter(Path(model).read_bytes())


def test_without_the_package_of_the_schema(
    model: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "tflite", None)
    assert run(["check", model]) == 2
    assert "pip install aotc[tflite] [missing-tool]" in capsys.readouterr().err


@pytest.mark.parametrize("options", [["--per-op"], ["--reference", "onnxruntime"]])
def test_what_is_for_onnx_models(options: list[str], model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", model, *options]) == 2
    assert "[option-conflict]" in capsys.readouterr().err


def test_models_of_onnx_have_no_such_arithmetic() -> None:
    path = Path(__file__).parents[1] / "models/data/hello_world_int8/model.onnx"
    with pytest.raises(aotc.UsageError, match=r"with an ONNX model.*\[option-conflict\]"):
        aotc.compile(path, requantize="tflite")


def test_a_session_runs_it(model: str) -> None:
    session, x = InferenceSession(model), np.array([[1, 2, 3, 4]], np.int8)
    (found,) = session.run(None, {"x": x})
    assert found.tolist() == aotc.compile(dense())({"x": x})["y"].tolist()
    assert session.get_modelmeta().graph_name == "dense"


def test_between_convolutions_nothing_is_transposed() -> None:
    """Sums, pools and concatenations take channels where convolutions have them."""
    graph, r = Graph(), np.random.default_rng(1)
    wide, pooled = (1, 4, 4, 8), (1, 2, 2, 8)
    shapes = {"x": wide, "a": wide, "b": wide, "sum": wide, "pool": pooled, "both": (1, 2, 2, 16), "y": (1, 2, 2, 4)}
    for name, shape in shapes.items():
        graph.tensor(name, shape, "int8", scale=0.05, zero=1)
    for name, shape in (("v", (8, 1, 1, 8)), ("w", (4, 1, 1, 16))):
        graph.constant(name, r.integers(-9, 9, shape).astype(np.int8), scale=[0.1] * shape[0])
    graph.op("CONV_2D", ["x", "v", None], ["a"], stride_w=1, stride_h=1, padding="SAME")
    graph.op("CONV_2D", ["a", "v", None], ["b"], stride_w=1, stride_h=1, padding="SAME")
    graph.op("ADD", ["a", "b"], ["sum"])
    graph.op("MAX_POOL_2D", ["sum"], ["pool"], filter_width=2, filter_height=2, stride_w=2, stride_h=2, padding="VALID")
    graph.op("CONCATENATION", ["pool", "pool"], ["both"], axis=3)
    graph.op("CONV_2D", ["both", "w", None], ["y"], stride_w=1, stride_h=1, padding="SAME")
    module = lower(write([graph.ends(["x"], ["y"])]), CompileOptions(stop_after="graph")).module
    assert str(module).count("graph.transpose") == 2


def test_an_interpreter_gives_the_outputs_of_each_call() -> None:
    case = CASES["add-same-int8"]
    found = interpreter(case.model)
    steps = [dict(zip(found.inputs, inputs, strict=True)) for inputs in case.calls[:2]]
    assert [each[found.outputs[0]].shape for each in found.sequence(steps, [])] == [(2, 3, 4)] * 2
