"""Inputs, outputs and weights of types that memory codes in a byte, at every interface of a compiled model."""

from __future__ import annotations

import json
import subprocess
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, helper, numpy_helper, save
from quick_c import open_quickly

import aotc
from aotc.cli.main import run
from aotc.compiler.checking.recordings import random_array, read_arrays
from aotc.dialects.dtypes import ELEMENT_TYPES, element_type, is_encoded, numpy_dtype
from aotc.frontend.onnx.tensors import ONNX_TYPES
from aotc.model.dlpack import DLPACK_TYPES
from aotc.model.metadata import TensorInfo
from aotc.model.weight_store import npz_bytes
from aotc.pipeline.options import CompileOptions

Array = np.ndarray[Any, Any]
ENCODED = [name for name, kind in ELEMENT_TYPES.items() if is_encoded(kind)]
MOVED = [name for name in ENCODED if not name.startswith("float6")]
"""Those that ONNX allows more operators than conversions."""
FLAGS = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-pedantic", "-Werror"]


@pytest.fixture(scope="module")
def given() -> dict[str, Array]:
    return {name: (np.arange(3) - (name[0] != "u")).astype(np.float32).astype(numpy_dtype(name)) for name in MOVED}


@pytest.fixture(scope="module")
def path(given: dict[str, Array], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Each input reversed, followed by a constant of 70 elements and one of two; a sum of all as floats."""
    nodes, weights = [], {}
    for name in MOVED:
        weights[f"many_{name}"] = np.resize(given[name], 70)
        nodes.append(helper.make_node("Identity", [f"many_{name}"], [f"constant_{name}"]))
        nodes.append(helper.make_node("Pad", [f"in.{name}", "pads"], [f"out.{name}"], mode="reflect"))
        nodes.append(helper.make_node("Cast", [f"out.{name}"], [f"float_{name}"], to=1))
        nodes.append(helper.make_node("Cast", [f"many_{name}"], [f"wide_{name}"], to=1))
    weights["pads"] = np.array([2, 0])
    nodes.append(helper.make_node("Sum", [f"float_{name}" for name in MOVED], ["narrow"]))
    nodes.append(helper.make_node("Sum", [f"wide_{name}" for name in MOVED], ["wide"]))
    onnx_type = {name: ONNX_TYPES[ELEMENT_TYPES[name]] for name in MOVED}
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(f"in.{name}", onnx_type[name], [3]) for name in MOVED],
        [
            *(helper.make_tensor_value_info(f"out.{name}", onnx_type[name], [5]) for name in MOVED),
            *(helper.make_tensor_value_info(f"constant_{name}", onnx_type[name], [70]) for name in MOVED),
            helper.make_tensor_value_info("narrow", 1, [5]),
            helper.make_tensor_value_info("wide", 1, [70]),
        ],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    model: ModelProto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=13)
    file = tmp_path_factory.mktemp("encoded") / "encoded.onnx"
    save(model, file)
    return file


def fed(given: dict[str, Array]) -> dict[str, Array]:
    return {f"in.{name}": array for name, array in given.items()}


@pytest.mark.parametrize("interface", ["c", "micro", "packed"])
@pytest.mark.parametrize("route", ["jit", "c"])
def test_every_interface_takes_and_gives_them(route: str, interface: str, path: Path, given: dict[str, Array]) -> None:
    model = open_quickly(str(path), route, CompileOptions(interface_api=interface))
    outputs = model(fed(given))
    for name in MOVED:
        assert outputs[f"out.{name}"].dtype == numpy_dtype(name)
        moved = given[name][[2, 1, 0, 1, 2]].astype(np.float32)
        np.testing.assert_array_equal(outputs[f"out.{name}"].astype(np.float32), moved)
        np.testing.assert_array_equal(
            outputs[f"constant_{name}"].astype(np.float32), np.resize(given[name], 70).astype(np.float32)
        )
    assert outputs["out.int4"].view(np.int8).tolist() == [1, 0, -1, 0, 1], "extended to the byte"
    assert outputs["constant_int2"].view(np.int8)[:3].tolist() == [-1, 0, 1]
    assert [info.dtype for info in model.inputs] == MOVED


def test_headers_and_metadata_name_them(path: Path, tmp_path: Path) -> None:
    aotc.compile_to(path, tmp_path, interface_api="packed", emit="c")
    header = (tmp_path / "encoded.h").read_text()
    position = MOVED.index("float8_e5m2")
    assert f'#define AOTC_ENCODED_INPUT_{position}_DTYPE "float8_e5m2"' in header
    assert f"#define AOTC_ENCODED_INPUT_{position}_TYPE uint8_t" in header
    assert f"#define AOTC_ENCODED_INPUT_{MOVED.index('int4')}_TYPE int8_t" in header
    assert f"#define AOTC_ENCODED_INPUT_{position}_SIZE 3" in header
    report = json.loads((tmp_path / "encoded.json").read_text())
    assert [tensor["dtype"] for tensor in report["inputs"]] == MOVED
    assert sorted(DLPACK_TYPES) == sorted(ELEMENT_TYPES)


def test_the_selftest_knows_them(path: Path, given: dict[str, Array], tmp_path: Path) -> None:
    (tmp_path / "in.npz").write_bytes(npz_bytes(fed(given)))
    aotc.compile_to(path, tmp_path, selftest=str(tmp_path / "in.npz"))
    (tmp_path / "main.c").write_text('#include "encoded.h"\nint main(void) { return (int)aotc_encoded_selftest(); }\n')
    subprocess.run(["cc", *FLAGS, "encoded.c", "main.c", "-o", "main", "-lm"], cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "main"]).returncode == 0


@pytest.mark.parametrize("name", [*ENCODED, "bfloat16"])
def test_recordings_keep_them(name: str, tmp_path: Path) -> None:
    wanted = [TensorInfo("x", "x", name, (2, 3))]
    array = random_array(wanted[0])
    assert array.dtype == numpy_dtype(name)
    file = tmp_path / "x.npz"
    file.write_bytes(npz_bytes({"x": array}))
    assert read_arrays(str(file), wanted)["x"].tobytes() == array.tobytes()
    if is_encoded(element_type(name)):
        np.savez(file, x=array.view(np.uint8))
        assert read_arrays(str(file), wanted)["x"].tobytes() == array.tobytes()


def test_the_command_line_takes_them(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["inspect", str(path)]) == 0
    assert "float8_e4m3fnuz" in capsys.readouterr().out
    assert run(["run", str(path)]) == 0
    assert "out.int4: int4 [5]" in capsys.readouterr().out
    assert run(["run", str(path), "--outputs", str(tmp_path / "out.npz")]) == 0
    with np.load(BytesIO((tmp_path / "out.npz").read_bytes()), allow_pickle=False) as archive:
        assert archive["out.int4"].dtype.itemsize == 1


def test_their_ir_is_read_back(path: Path, given: dict[str, Array], tmp_path: Path) -> None:
    aotc.compile_to(path, tmp_path, stop_after="fuse")
    resumed = aotc.compile(tmp_path / "encoded.fuse.mlir", start_at="fuse")(fed(given))
    for name, array in aotc.compile(path)(fed(given)).items():
        assert array.tobytes() == resumed[name].tobytes(), name
