"""`--io workspace`: inputs and outputs at offsets of the arena, their space reused, the same bits as ever."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import aotc
from aotc.errors import UsageError

N = 1000


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """y = exp(exp(a) transposed) of a large input that dies at once; z needs the small input b at the very end."""
    nodes = [
        helper.make_node("Transpose", ["a"], ["t"], perm=[1, 0]),
        helper.make_node("Softmax", ["t"], ["s"], axis=1),
        helper.make_node("Transpose", ["s"], ["y"], perm=[1, 0]),
        helper.make_node("ReduceMax", ["s"], ["m"], keepdims=0),
        helper.make_node("Mul", ["m", "b"], ["z"]),
    ]
    shapes = {"a": [10, N // 10], "b": [2], "unused": [3], "y": [10, N // 10], "z": [2]}
    values = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()}
    graph = helper.make_graph(nodes, "g", [values[x] for x in ("a", "b", "unused")], [values[y] for y in "yz"])
    path = tmp_path_factory.mktemp("io") / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path


@pytest.mark.parametrize("emit", ["c", "object", "static"])
@pytest.mark.parametrize("workspace", ["internal", "caller"])
def test_same_bits_as_with_the_callers_tensors(model: Path, tmp_path: Path, emit: str, workspace: str) -> None:
    generator = np.random.default_rng(1)
    a, b = generator.standard_normal(N, np.float32), generator.standard_normal(2, np.float32)
    plain = aotc.compile_to(model, tmp_path / "plain", emit="shared").files[0]
    outputs = aotc.load(plain)({"a": a.reshape(10, -1), "b": b, "unused": np.zeros(3, np.float32)})
    expected = np.concatenate([outputs["y"].reshape(-1), outputs["z"]])
    info = aotc.compile_to(model, tmp_path, emit=emit, io="workspace", workspace=workspace).info
    assert info is not None and info.io == "workspace" and info.ram_bytes == info.workspace_bytes
    arena = "aotc_m_workspace" if workspace == "internal" else "arena"
    main = f"""
#include "m.h"
#include <stdio.h>
#include <string.h>
{"" if workspace == "internal" else "static unsigned char arena[AOTC_M_WORKSPACE_SIZE] __attribute__((aligned(16)));"}
int main(void) {{
  for (int i = 0; i < 2; ++i) {{ /* inputs are gone after a run, and come again */
    if (fread({arena} + AOTC_M_INPUT_0_OFFSET, 1, AOTC_M_INPUT_0_SIZE, stdin) != AOTC_M_INPUT_0_SIZE) return 2;
    if (fread({arena} + AOTC_M_INPUT_1_OFFSET, 1, AOTC_M_INPUT_1_SIZE, stdin) != AOTC_M_INPUT_1_SIZE) return 2;
    if (aotc_m_model.run_func({"" if workspace == "internal" else arena}) != 0) return 1;
    fwrite({arena} + AOTC_M_OUTPUT_0_OFFSET, 1, AOTC_M_OUTPUT_0_SIZE, stdout);
    fwrite({arena} + AOTC_M_OUTPUT_1_OFFSET, 1, AOTC_M_OUTPUT_1_SIZE, stdout);
  }}
  return 0;
}}
"""
    (tmp_path / "main.c").write_text(main)
    parts = [str(path) for name in ("m.c", "m.o", "libm.a") for path in tmp_path.glob(name)]
    flags = [
        "-std=c99",
        "-O2",
        "-march=native",
        "-ffp-contract=off",
        "-Wall",
        "-Wextra",
        "-pedantic",
        "-Werror",
        "-no-pie",
    ]
    command = ["gcc", *flags, str(tmp_path / "main.c"), *parts, "-o", str(tmp_path / "main"), "-lm"]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    given = a.tobytes() + b.tobytes()
    got = subprocess.run([tmp_path / "main"], input=given * 2, capture_output=True, check=True).stdout
    assert got == expected.tobytes() * 2


def test_the_space_of_dead_inputs_is_used_again(model: Path, tmp_path: Path) -> None:
    inside = aotc.compile_to(model, tmp_path, io="workspace").info
    outside = aotc.compile_to(model, tmp_path).info
    assert inside is not None and outside is not None
    assert inside.ram_bytes < outside.ram_bytes
    a, y = inside.inputs[0], inside.outputs[0]
    assert a.offset is not None and y.offset is not None
    assert inside.plan.peak_bytes < 3 * 4 * N, "input, softmax and output in two places"
    assert all(buffer.last < len(inside.plan.order) for buffer in inside.plan.buffers)
    text = (tmp_path / "m.h").read_text()
    assert "OFFSET" not in text, "written by the second compilation"


def test_only_entries_without_tensors(model: Path, tmp_path: Path) -> None:
    for interface in ("micro", "packed"):
        with pytest.raises(UsageError, match="option-conflict"):
            aotc.compile_to(model, tmp_path / "out", io="workspace", interface_api=interface)
    with pytest.raises(UsageError):
        aotc.compile_to(model, tmp_path / "out", io="workspace", packed_wrapper=True)
    library = aotc.compile_to(model, tmp_path / "so", emit="shared", io="workspace").files[0]
    with pytest.raises(ValueError, match="in its workspace"):
        aotc.load(library)
    assert not (tmp_path / "out").exists()


def test_the_reports_inputs_say_where_they_are(model: Path, tmp_path: Path) -> None:
    from aotc.model.metadata import from_json

    aotc.compile_to(model, tmp_path, io="workspace")
    info = from_json((tmp_path / "m.json").read_text())
    offsets = [tensor.offset for tensor in info.tensors]
    assert all(offset is not None and offset % info.plan.alignment == 0 for offset in offsets)
