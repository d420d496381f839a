"""Classifiers whose labels are text, and ZipMap: what callers get is what onnxruntime returns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from ml_cases import DOMAIN, as_version_3, draw_trees
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper

import aotc
from aotc.cli.main import run
from aotc.errors import CompileError
from aotc.executor import CompiledModel

_random = np.random.default_rng(33)
X = _random.normal(size=(6, 4)).astype(np.float32)
NAMES = ["cat", "dög", 'a "quoted"']
"""Of classes; one is not ASCII, one has to be escaped in C."""


def floats(count: int) -> list[float]:
    return _random.normal(size=count).astype(np.float32).tolist()


def node(op_type: str, inputs: list[str], outputs: list[str], domain: str = DOMAIN, **attributes: Any) -> NodeProto:
    return helper.make_node(op_type, inputs, outputs, f"{op_type}_of_{outputs[0]}", domain=domain, **attributes)


def linear(names: list[str], binary: bool = False) -> NodeProto:
    rows = 1 if binary else len(names)
    numbers = {"coefficients": floats(4 * rows), "intercepts": floats(rows)}
    return node("LinearClassifier", ["x"], ["l", "s"], classlabels_strings=names, post_transform="SOFTMAX", **numbers)


def machine() -> NodeProto:
    numbers = {"coefficients": floats(2 * 6), "support_vectors": floats(6 * 4), "vectors_per_class": [2, 3, 1]}
    kernel = {"kernel_type": "RBF", "kernel_params": [0.3, 0.0, 0.0], "rho": floats(3)}
    return node("SVMClassifier", ["x"], ["l", "s"], classlabels_strings=NAMES, **numbers, **kernel)


def trees() -> NodeProto:
    drawn = draw_trees(_random, trees=5, depth=3, features=4, modes=["BRANCH_LEQ"], targets=[[0], [1], [2]])
    return node("TreeEnsembleClassifier", ["x"], ["l", "s"], classlabels_strings=NAMES, **as_version_3(drawn, "class"))


def model(nodes: list[NodeProto], outputs: list[ValueInfoProto], rows: int | str = 6) -> ModelProto:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, 4])
    axes = helper.make_tensor("shape", TensorProto.INT64, [2], [-1, 1])
    graph = helper.make_graph(nodes, "classifier", [x], outputs, [axes])
    sets = [helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 3)]
    return helper.make_model(graph, opset_imports=sets, ir_version=8)


def text(name: str, *shape: int | str) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.STRING, shape)


def maps(name: str, key: int) -> ValueInfoProto:
    values = helper.make_tensor_type_proto(TensorProto.FLOAT, [])
    return helper.make_value_info(name, helper.make_sequence_type_proto(helper.make_map_type_proto(key, values)))


def scores(name: str, *shape: int | str) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def zipped(first: NodeProto, rows: int | str = 6) -> ModelProto:
    """Labels as they are and in a column, scores as they are and as maps of text and of numbers."""
    names = [each.decode() for each in next(a.strings for a in first.attribute if a.name == "classlabels_strings")]
    nodes = [
        first,
        node("Reshape", ["l", "shape"], ["column"], ""),
        node("Identity", ["column"], ["same"], ""),
        node("ZipMap", ["s"], ["by_name"], classlabels_strings=names),
        node("ZipMap", ["s"], ["by_number"], classlabels_int64s=[7 - each for each in range(len(names))]),
    ]
    ends = [text("l", rows), text("same", rows, 1), scores("s", rows, len(names))]
    return model(nodes, [*ends, maps("by_name", TensorProto.STRING), maps("by_number", TensorProto.INT64)], rows)


CLASSIFIERS = {
    "linear": lambda: linear(NAMES),
    "two": lambda: linear(["no", "yes"]),
    "one-score": lambda: linear(["no", "yes"], binary=True),
    "equal-names": lambda: linear(["a", "b", "a"]),
    "machine": machine,
    "trees": trees,
}


@pytest.mark.parametrize("rows", [6, "batch"])
@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_a_session_returns_what_onnxruntime_returns(kind: str, rows: int | str) -> None:
    proto = zipped(CLASSIFIERS[kind](), rows)
    theirs = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    ours = aotc.InferenceSession(proto)
    for mine, right in zip(ours.get_outputs(), theirs.get_outputs(), strict=True):
        assert (mine.name, mine.type) == (right.name, right.type)
        assert mine.shape == right.shape or (rows == "batch" and mine.name == "same")
    for mine, right in zip(ours.run(None, {"x": X}), theirs.run(None, {"x": X}), strict=True):
        assert type(mine) is type(right)
        if isinstance(right, list):
            assert [row.keys() for row in mine] == [{**row}.keys() for row in right]
            for row, expected in zip(mine, right, strict=True):
                assert row == pytest.approx(expected, rel=1e-4, abs=1e-5)
        elif right.dtype == object:
            assert mine.dtype == object and mine.shape == right.shape
            assert mine.tolist() == right.tolist()
        else:
            np.testing.assert_allclose(mine, right, rtol=1e-4, atol=1e-5)


def looked_up(rows: int | str = 6) -> ModelProto:
    """Names of numbers, by a table of them, or one for each key."""
    nodes = [
        node("ArgMax", ["x"], ["i"], "", axis=1, keepdims=1),
        node("ArrayFeatureExtractor", ["names", "i"], ["a"]),
        node("Reshape", ["a", "shape"], ["extracted"], ""),
        node("Gather", ["names", "i"], ["gathered"], ""),
        node("LabelEncoder", ["i"], ["encoded"], keys_int64s=[0, 2], values_strings=["zero", "two"], default_string=""),
        node("LabelEncoder", ["i"], ["unused"], keys_int64s=[2, 3], values_strings=["b", "b"]),
    ]
    ends = [text(name, rows, 1) for name in ("extracted", "gathered", "encoded", "unused")]
    found = model(nodes, ends, rows)
    found.graph.initializer.append(
        helper.make_tensor("names", TensorProto.STRING, [4], [*map(str.encode, NAMES), b"cat"])
    )
    return found


@pytest.mark.parametrize("rows", [6, "batch"])
def test_text_that_is_looked_up(rows: int | str, tmp_path: Path) -> None:
    proto = looked_up(rows)
    theirs = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    for mine, right in zip(aotc.InferenceSession(proto).run(None, {"x": X}), theirs.run(None, {"x": X}), strict=True):
        assert mine.tolist() == right.tolist()
    if rows == 6:
        onnx.save(proto, tmp_path / "looked_up.onnx")
        for command in (["verify"], ["verify", "--per-op"], ["inspect"]):
            assert run([command[0], str(tmp_path / "looked_up.onnx"), *command[1:]]) == 0


def test_names_are_in_every_description(tmp_path: Path) -> None:
    path = tmp_path / "classes.onnx"
    onnx.save(zipped(linear(NAMES)), path)
    expected = {"l": tuple(NAMES), "same": tuple(NAMES), "by_name": tuple(NAMES), "by_number": (7, 6, 5), "s": ()}
    compiled = aotc.compile(path)
    assert isinstance(compiled, CompiledModel)
    assert {each.name: each.labels for each in compiled.outputs} == expected
    assert aotc.InferenceSession(path).model.outputs[0].labels == tuple(NAMES)
    aotc.compile_to(path, tmp_path / "out", emit=["shared", "header"])
    assert {each.name: each.labels for each in aotc.load(tmp_path / "out" / "classes.so").outputs} == expected
    said = json.loads((tmp_path / "out" / "classes.json").read_text())
    assert [each.get("labels") for each in said["outputs"]] == [NAMES, NAMES, None, NAMES, [7, 6, 5]]
    header = (tmp_path / "out" / "classes.h").read_text()
    assert (
        '_OUTPUT_0_NUM_LABELS 3\n#define AOTC_CLASSES_OUTPUT_0_LABELS {"cat", "d\\303\\266g", "a \\"quoted\\""}'
        in header
    )
    assert "_OUTPUT_4_LABELS {7, 6, 5}" in header
    assert "_OUTPUT_2_LABELS" not in header


def test_ir_keeps_them(tmp_path: Path) -> None:
    path = tmp_path / "classes.onnx"
    onnx.save(zipped(linear(NAMES)), path)
    aotc.compile_to(path, tmp_path, emit="header", stop_after="graph")
    (module,) = tmp_path.glob("*.mlir")
    compiled = aotc.compile(module, start_at="graph")
    assert [each.labels for each in compiled.outputs][3:] == [tuple(NAMES), (7, 6, 5)]


@pytest.mark.parametrize("more", [[], ["--per-op"], ["--reference", "loops"]])
def test_verify(more: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "classes.onnx"
    onnx.save(zipped(trees()), path)
    assert run(["verify", str(path), *more]) == 0
    assert "l: ok, max difference 0 (allowed 0)" in capsys.readouterr().out


def test_verify_sees_another_label(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "classes.onnx"
    onnx.save(zipped(linear(NAMES)), path)
    call = CompiledModel.__call__

    def other(self: CompiledModel, *inputs: Any, **named: Any) -> dict[str, Any]:
        return {name: 1 - value if name == "l" else value for name, value in call(self, *inputs, **named).items()}

    monkeypatch.setattr(CompiledModel, "__call__", other)
    assert run(["verify", str(path)]) == 1


def test_a_selftest_has_the_numbers(tmp_path: Path) -> None:
    path = tmp_path / "classes.onnx"
    onnx.save(zipped(linear(NAMES)), path)
    np.savez(tmp_path / "inputs.npz", x=X)
    aotc.compile_to(path, tmp_path, emit="c", selftest=str(tmp_path / "inputs.npz"))
    assert "aotc_classes_selftest" in (tmp_path / "classes.h").read_text()


def test_text_that_is_computed_with_is_refused() -> None:
    nodes = [linear(["1", "20"]), node("Cast", ["l"], ["number"], "", to=TensorProto.INT64)]
    number = helper.make_tensor_value_info("number", TensorProto.INT64, [6])
    with pytest.raises(CompileError) as caught:
        aotc.compile(model(nodes, [number]))
    (problem,) = caught.value.problems
    assert (problem.id, problem.node) == ("unsupported-type", "Cast_of_number")


def test_text_of_a_function_is_refused() -> None:
    inner = linear(["no", "yes"])
    sets = [helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 3)]
    function = helper.make_function("local", "Classify", ["x"], ["l"], [inner], sets)
    proto = model([node("Classify", ["x"], ["l"], "local")], [text("l", 6)])
    proto.functions.append(function)
    proto.opset_import.append(helper.make_opsetid("local", 1))
    with pytest.raises(CompileError, match=r"output 'l' is text.*\[unsupported-type\]"):
        aotc.compile(proto)


def test_a_table_of_text_has_its_elements() -> None:
    proto = looked_up()
    del proto.graph.initializer[-1].string_data[0]
    with pytest.raises(CompileError, match=r"'names': it has 3 elements of text.*\[invalid-data\]"):
        aotc.compile(proto)
