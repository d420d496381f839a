"""From floats to narrow integers: data sets, `aotc quantize` and `aotc evaluate`."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest

from aotc.cli.main import run
from aotc.cli.precision import workers
from aotc.errors import UsageError
from aotc.measuring.precision.data import Input, count, samples
from aotc.measuring.precision.evaluating import Journal, area, evaluate
from aotc.pipeline.options import CompileOptions

_random = np.random.default_rng(35)
X = [Input("x", (1, 4), np.dtype(np.float32))]
TEXT = """<ir_version: 8, opset_import: ["" : 17]>
    net (float[1, 2, 6, 6] x) => (float[1, 3] y) {
      c = Conv <kernel_shape = [3, 3]> (x, w)
      n = BatchNormalization (c, s, b, m, v)
      r = Relu (n)
      p = GlobalAveragePool (r)
      f = Flatten (p)
      y = Gemm (f, g)
    }"""


def network(path: Path) -> Path:
    model = onnx.parser.parse_model(TEXT)
    for index, node in enumerate(model.graph.node):
        node.name = f"{node.op_type}_{index}"
    shapes = {"w": (8, 2, 3, 3), "s": (8,), "b": (8,), "m": (8,), "v": (8,), "g": (8, 3)}
    for name, shape in shapes.items():
        array = _random.normal(size=shape).astype(np.float32)
        model.graph.initializer.append(onnx.numpy_helper.from_array(abs(array) + 0.5 if name == "v" else array, name))
    onnx.save(model, path)
    return path


def recorded(path: Path, rows: int = 40, **others: Any) -> Path:
    np.savez(path, x=_random.normal(size=(rows, 2, 6, 6)).astype(np.float32), **others)
    return path


def answer(capsys: pytest.CaptureFixture[str], *arguments: object) -> Any:
    assert run([*map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def ids(caught: pytest.ExceptionInfo[UsageError]) -> list[str]:
    return [each.id for each in caught.value.problems]


def weight_of(graph: onnx.GraphProto) -> list[np.ndarray[Any, Any]]:
    """The integers of the convolution's weight, their scales and zero points."""
    arrays = {each.name: each for each in graph.initializer}
    makers = {node.output[0]: node for node in graph.node}
    (convolution,) = (node for node in graph.node if node.op_type == "Conv")
    return [onnx.numpy_helper.to_array(arrays[name]) for name in makers[convolution.input[1]].input]


# --- data ------------------------------------------------------------------------------------------------------------


def test_samples_of_a_file_of_a_folder_and_of_a_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = _random.normal(size=(3, 4)).astype(np.float32)
    np.savez(tmp_path / "all.npz", x=rows, labels=[2, 0, 1], other=np.zeros(7))
    folder = tmp_path / "folder"
    folder.mkdir()
    for place, row in enumerate(rows):
        np.savez(folder / f"{place}.npz", x=row[None], labels=place)
    (tmp_path / "given_rows.py").write_text(
        "import numpy as np\ndef pairs():\n    for i in range(3):\n        yield {'x': np.full(4, i, np.float64)}, i\n"
    )
    monkeypatch.chdir(tmp_path)
    of_file = list(samples("all.npz", X))
    assert [each.inputs["x"].tolist() for each in of_file] == [[row.tolist()] for row in rows]
    assert [int(each.label) for each in of_file if each.label is not None] == [2, 0, 1]
    of_folder = list(samples("folder", X))
    assert np.array_equal(of_folder[1].inputs["x"], rows[1:2]) and [int(s.label or 0) for s in of_folder] == [0, 1, 2]
    of_function = list(samples("given_rows:pairs", X, 1))
    assert [each.inputs["x"].tolist() for each in of_function] == [[[1.0] * 4], [[2.0] * 4]]
    assert of_function[0].inputs["x"].dtype == np.float32
    assert [count("all.npz", X), count("all.npz", X, 2), len(list(samples("folder", X, 1, 2)))] == [3, 2, 1]


@pytest.mark.parametrize(
    ("arrays", "problem"),
    [
        ({"y": np.zeros((2, 4))}, "missing-array"),
        ({"x": np.zeros((2, 5))}, "mismatched-array"),
        ({"x": np.zeros((2, 2, 4))}, "mismatched-array"),
        ({"x": np.zeros((2, 4), complex)}, "mismatched-array"),
        ({"x": np.zeros((2, 4)), "labels": np.zeros(3)}, "mismatched-array"),
        ({"x": np.zeros((0, 4))}, "missing-array"),
    ],
)
def test_samples_that_do_not_fit(arrays: dict[str, Any], problem: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "data.npz", **arrays)
    with pytest.raises(UsageError) as caught:
        count(str(tmp_path / "data.npz"), X)
    assert ids(caught) == [problem]


def test_sources_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        count(str(tmp_path / "none"), X)
    (tmp_path / "text.npz").write_text("no archive")
    for source, problem in ((str(tmp_path / "text.npz"), "invalid-file"), ("no_such_module:f", "invalid-option")):
        with pytest.raises(UsageError) as caught:
            count(source, X)
        assert ids(caught) == [problem]


# --- quantize --------------------------------------------------------------------------------------------------------


def test_a_model_becomes_integers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, data = network(tmp_path / "net.onnx"), recorded(tmp_path / "data.npz")
    made = tmp_path / "int8.onnx"
    said = answer(capsys, "quantize", model, "--data", data, "-o", made, "--target", "cortex-m4")
    assert said["floats"] == [] and said["integers"] >= 3
    graph = onnx.load(made).graph
    assert "BatchNormalization" not in {node.op_type for node in graph.node}, "it is folded"
    weight, scale, zero = weight_of(graph)
    assert weight.dtype == np.int8 and scale.shape == (8,), "a scale for each channel"
    assert not np.any(zero), "weights are symmetric"
    found = answer(capsys, "evaluate", model, made, "--data", data, "--target", "cortex-m4")
    rows = {(Path(row["model"]).name, row["route"]): row for row in found["rows"]}
    assert found["samples"] == 40 and rows["net.onnx", "onnxruntime"]["error"] == 0
    assert rows["int8.onnx", "compiled"]["score"] >= 0.8 and rows["net.onnx", "compiled"]["score"] == 1
    assert rows["int8.onnx", "compiled"]["error"] == pytest.approx(rows["int8.onnx", "onnxruntime"]["error"], rel=0.2)
    assert 0 < rows["int8.onnx", "compiled"]["ram"] < rows["net.onnx", "compiled"]["ram"]
    assert len(rows["int8.onnx", "compiled"]["worst"]) == 5
    assert found["layers"] and all(20 < layer["decibels"] < 80 for layer in found["layers"])


@pytest.mark.parametrize(("target", "kind"), [("cortex-m4", "INT8"), ("x86-64-v3", "UINT8")])
def test_activations_are_what_the_target_multiplies(
    target: str, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, data = network(tmp_path / "net.onnx"), recorded(tmp_path / "data.npz", 4)
    made = tmp_path / "made.onnx"
    answer(capsys, "quantize", model, "--data", data, "-o", made, "--target", target, "--samples", 3)
    graph = onnx.load(made).graph
    arrays = {each.name: each for each in graph.initializer}
    first = next(node for node in graph.node if node.op_type == "QuantizeLinear" and node.input[0] == "x")
    assert arrays[first.input[2]].data_type == getattr(onnx.TensorProto, kind)
    most = np.abs(weight_of(graph)[0].astype(int)).max()
    assert most <= 64 if kind == "UINT8" else most > 64, "pairs of products in 16 bits do not saturate"


def test_weights_of_four_bits_and_nodes_on_floats(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, data = network(tmp_path / "net.onnx"), recorded(tmp_path / "data.npz", 4)
    made = tmp_path / "made.onnx"
    command = ("quantize", model, "--data", data, "-o", made, "--target", "cortex-m4")
    answer(capsys, *command, "--weights", "int4")
    assert onnx.TensorProto.INT4 in {each.data_type for each in onnx.load(made).graph.initializer}
    said = answer(capsys, *command, "--keep-float", "Gemm_5")
    assert {"node": "Gemm_5", "operator": "Gemm"} in said["floats"]
    assert run([*map(str, command), "--keep-float", "nothing"]) == 2
    assert "nothing" in capsys.readouterr().err


# --- evaluate --------------------------------------------------------------------------------------------------------


def test_the_area_under_a_curve() -> None:
    assert area([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1]) == 0.75
    assert area([1, 1, 1], [0, 1, 1]) == 0.5 and np.isnan(area([1, 2], [1, 1]))


def test_metrics_of_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = str(network(tmp_path / "net.onnx"))
    monkeypatch.chdir(tmp_path)
    data = str(recorded(tmp_path / "data.npz", 12))
    (tmp_path / "my_metrics.py").write_text("def first(outputs, label):\n    return outputs[0].shape[1] + 0.5\n")
    options = CompileOptions()
    assert {row.score for row in evaluate([model], data, options, metric="my_metrics:first").rows} == {3.5}
    assert evaluate([model], data, options, metric="mse").rows[0].score == 0
    for metric, problem in (("auc", "missing-array"), ("best", "unknown-choice")):
        with pytest.raises(UsageError) as caught:
            evaluate([model], data, options, metric=metric)
        assert ids(caught) == [problem]


def test_an_evaluation_goes_on_where_it_ended_and_workers_find_the_same(tmp_path: Path) -> None:
    model = str(network(tmp_path / "net.onnx"))
    data = str(recorded(tmp_path / "data.npz", 70, labels=_random.integers(0, 3, 70)))
    resume = tmp_path / "done.json"
    alone = evaluate([model], data, CompileOptions(), resume=resume)
    said: list[str] = []
    again = evaluate([model], data, CompileOptions(), resume=resume, report=said.append)
    assert again == alone and not any("pieces" in each for each in said), "nothing was computed again"
    with ThreadPoolExecutor(2) as executor:
        shared = evaluate([model], data, CompileOptions(), executor=executor)
    assert [(row.score, row.error, row.worst) for row in shared.rows] == [
        (row.score, row.error, row.worst) for row in alone.rows
    ]
    resume.write_text("[1]")
    with pytest.raises(UsageError) as caught:
        Journal(resume).known  # noqa: B018
    assert ids(caught) == ["invalid-file"]


def test_workers_that_are_none() -> None:
    for asked in ("none", "0"):
        with pytest.raises(UsageError) as caught, workers(asked):
            pass
        assert ids(caught) == ["invalid-option"]


def test_a_cluster_of_dask(tmp_path: Path) -> None:
    distributed: Any = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    model, data = str(network(tmp_path / "net.onnx")), str(recorded(tmp_path / "data.npz", 40))
    local = distributed.LocalCluster(1, processes=False, dashboard_address=None)
    with local as cluster, workers(cluster.scheduler_address) as executor:
        found = evaluate([model], data, CompileOptions(), executor=executor)
    assert found.rows[1].score == 1
