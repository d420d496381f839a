"""`--selftest`: the generated function proves a good build, and numbers the first element that a bad one gets wrong."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import TensorProto, helper, numpy_helper

import aotc
from aotc.errors import UsageError
from aotc.pipeline.options import CompileOptions

Arrays = dict[str, np.ndarray[Any, Any]]

FLAGS = ["-std=c99", "-O1", "-ffp-contract=off", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-pedantic", "-Werror"]
OUTPUTS = ("f", "u", "b", "i", "h")
COUNTS = (8, 4, 8, 2, 8)
FIRST = {name: sum(COUNTS[:position]) + 1 for position, name in enumerate(OUTPUTS)}
"""The number of the first element of each output."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Outputs of every kind that is compared in a way of its own: float, quantised, bool, 64-bit integer, f16."""
    kinds = {"f": TensorProto.FLOAT, "u": TensorProto.UINT8, "b": TensorProto.BOOL, "i": TensorProto.INT64}
    kinds["h"] = TensorProto.FLOAT16
    shapes = {"f": [2, 4], "u": [4], "b": [2, 4], "i": [2, 1], "h": [2, 4]}
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["f"]),
        helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["d"]),
        helper.make_node("Relu", ["d"], ["r"]),
        helper.make_node("QuantizeLinear", ["r", "scale", "zero"], ["u"]),
        helper.make_node("Greater", ["f", "limit"], ["b"]),
        helper.make_node("ArgMax", ["f"], ["i"], axis=1),
        helper.make_node("Cast", ["f"], ["h"], to=TensorProto.FLOAT16),
    ]
    weights = {
        "w": np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32),
        "scale": np.float32(0.5),
        "zero": np.uint8(100),
        "limit": np.float32(0),
    }
    graph = helper.make_graph(
        nodes,
        "g",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3]),
            helper.make_tensor_value_info("q", TensorProto.UINT8, [4]),
        ],
        [helper.make_tensor_value_info(name, kinds[name], shapes[name]) for name in OUTPUTS],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in weights.items()],
    )
    path = tmp_path_factory.mktemp("selftest") / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    inputs = {"x": np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3), "q": np.uint8([0, 99, 150, 255])}
    np.savez(path.with_name("in.npz"), **inputs)
    return path


@pytest.fixture(scope="module")
def expected(model: Path) -> Arrays:
    import onnxruntime

    with np.load(model.with_name("in.npz")) as archive:
        inputs = dict(archive)
    return dict(zip(OUTPUTS, onnxruntime.InferenceSession(model.read_bytes()).run(None, inputs), strict=True))


def run_c(folder: Path, *, workspace: str = "internal", weights: str = "embedded", handle: bool = False) -> int:
    """Build what was compiled into `folder`, C or object, with a main that calls the self-test."""
    given: list[str] = []
    code = ['#include "m.h"', "#include <stdio.h>"]
    if workspace == "caller":
        code.append("static unsigned char arena[AOTC_M_WORKSPACE_SIZE] __attribute__((aligned(64)));")
        given.append("arena")
    if weights != "embedded":
        blob = (folder / "m.weights.bin").read_bytes()
        name, linkage = ("blob", "static ") if weights == "caller" else ("aotc_m_weights", "")
        values = ", ".join(map(str, blob))
        code.append(f"{linkage}const unsigned char {name}[] __attribute__((aligned(8))) = {{{values}}};")
        given += ["blob"] if weights == "caller" else []
    given += ["NULL"] if handle else []
    code.append(f'int main(void) {{ printf("%d", (int)aotc_m_selftest({", ".join(given)})); return 0; }}')
    (folder / "main.c").write_text("\n".join(code))
    parts = [str(path) for path in (*folder.glob("m.c"), *folder.glob("m.o"))]
    built = subprocess.run(
        ["gcc", *FLAGS, "-no-pie", f"-I{folder}", str(folder / "main.c"), *parts, "-o", str(folder / "main"), "-lm"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    return int(subprocess.run([folder / "main"], capture_output=True, text=True, check=True).stdout)


@pytest.mark.parametrize("emit", ["c", "object"])
@pytest.mark.parametrize(
    ("interface", "workspace", "weights", "io"),
    [
        ("c", "internal", "embedded", "caller"),
        ("c", "caller", "external", "caller"),
        ("micro", "caller", "caller", "caller"),
        ("c", "internal", "external", "workspace"),
        ("c", "caller", "caller", "workspace"),
    ],
)
def test_every_mode_passes(
    model: Path, tmp_path: Path, emit: str, interface: str, workspace: str, weights: str, io: str
) -> None:
    inputs = str(model.with_name("in.npz"))
    options = {"interface_api": interface, "workspace": workspace, "weights": weights, "io": io}
    aotc.compile_to(model, tmp_path, emit=emit, selftest=inputs, **options)
    assert run_c(tmp_path, workspace=workspace, weights=weights, handle=interface == "micro") == 0


@pytest.mark.parametrize(("emit", "workspace"), [("c", "internal"), ("object", "caller")])
def test_states_are_reset_first(tmp_path: Path, emit: str, workspace: str) -> None:
    """With first values that no memory has by chance; they are not among the recorded inputs, nor the next ones."""
    text = """<ir_version: 8, opset_import: ["" : 17]> g (float[2] x, float[2] s) => (float[2] y, float[2] t)
    <float[2] s = {3.0, -4.0}> { t = Add(x, s) y = Tanh(t) }"""
    np.savez(tmp_path / "in.npz", x=np.float32([0.5, 0.25]))
    options = {"selftest": str(tmp_path / "in.npz"), "state": {"t": "s"}, "workspace": workspace, "name": "m"}
    aotc.compile_to(onnx.parser.parse_model(text), tmp_path / "out", emit=(emit, "header"), **options)
    assert run_c(tmp_path / "out", workspace=workspace) == 0


def test_packed_models_test_themselves_without_the_runtime(model: Path, tmp_path: Path) -> None:
    options = {"interface_api": "packed", "operator_api": "cpacked"}
    aotc.compile_to(model, tmp_path, selftest=str(model.with_name("in.npz")), **options)
    assert run_c(tmp_path, handle=True) == 0


@pytest.mark.parametrize(
    ("name", "position", "change", "verdict"),
    [
        ("f", 3, 1.0, FIRST["f"] + 3),
        ("f", 3, 1e-6, 0),
        ("f", 0, np.nan, FIRST["f"]),
        ("f", 1, np.inf, FIRST["f"] + 1),
        ("u", 2, 1, 0),
        ("u", 2, 2, FIRST["u"] + 2),
        ("i", 1, 1, FIRST["i"] + 1),
        ("h", 7, 0.5, FIRST["h"] + 7),
    ],
)
@pytest.mark.parametrize("emit", ["c", "shared"])
def test_the_first_wrong_element_is_numbered(
    model: Path, expected: Arrays, tmp_path: Path, emit: str, name: str, position: int, change: float, verdict: int
) -> None:
    outputs = {key: array.copy() for key, array in expected.items()}
    outputs[name].reshape(-1)[position] += change
    np.savez(tmp_path / "out.npz", **outputs)
    inputs = str(model.with_name("in.npz"))
    folder = tmp_path / "out"
    aotc.compile_to(model, folder, emit=emit, selftest=inputs, selftest_outputs=str(tmp_path / "out.npz"))
    got = run_c(folder) if emit == "c" else ctypes.CDLL(str(folder / "m.so")).aotc_m_selftest()
    assert got == verdict


def test_booleans_and_a_wrong_weight(model: Path, expected: Arrays, tmp_path: Path) -> None:
    outputs = dict(expected, b=~expected["b"])
    np.savez(tmp_path / "out.npz", **outputs)
    inputs = str(model.with_name("in.npz"))
    aotc.compile_to(model, tmp_path, selftest=inputs, selftest_outputs=str(tmp_path / "out.npz"))
    assert run_c(tmp_path) == FIRST["b"]
    folder = tmp_path / "caller"
    aotc.compile_to(model, folder, selftest=inputs, weights="caller")
    blob = bytearray((folder / "m.weights.bin").read_bytes())
    blob[3] ^= 0x40  # an exponent
    (folder / "m.weights.bin").write_bytes(blob)
    assert run_c(folder, weights="caller") > 0


def test_the_recorded_values_are_no_weights_and_the_outputs_are_in_the_arena(model: Path, tmp_path: Path) -> None:
    inputs = str(model.with_name("in.npz"))
    plain = aotc.compile_to(model, tmp_path).info
    tested = aotc.compile_to(model, tmp_path, selftest=inputs).info
    assert plain is not None and tested is not None
    assert tested.weights_bytes == plain.weights_bytes
    assert tested.workspace_bytes >= plain.workspace_bytes + tested.io_bytes - sum(
        np.load(inputs)[x].nbytes for x in "xq"
    )


def test_without_onnxruntime_the_model_itself_is_the_reference(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "onnxruntime", None)
    aotc.compile_to(model, tmp_path, selftest=str(model.with_name("in.npz")))
    assert run_c(tmp_path) == 0


def test_files_that_do_not_fit_are_refused(model: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "bad.npz", x=np.zeros((3, 2), np.float32))
    with pytest.raises(UsageError) as refusal:
        aotc.compile_to(model, tmp_path / "out", selftest=str(tmp_path / "bad.npz"))
    text = str(refusal.value)
    assert "'x' is float32[3, 2]; the model has float32[2, 3]" in text and "no array 'q'" in text
    with pytest.raises(UsageError):
        CompileOptions.of(selftest_outputs="out.npz")
    assert not (tmp_path / "out").exists()
