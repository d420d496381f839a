"""Code for other vector widths than the host's: run natively where the processor can, else under emulation."""

from __future__ import annotations

import platform
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import aotc
from aotc.machines.targets import lookup, machine_of

Array = np.ndarray[Any, Any]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Array, Array]:
    """A network of every family of kernels, an input, and what onnxruntime computes."""
    import onnxruntime

    rng = np.random.default_rng(0)
    weights = {
        "w1": (20, 3, 3, 3),
        "b1": (20,),
        "w2": (20, 1, 3, 3),
        "w3": (37, 20, 1, 1),
        "w4": (37, 37, 3, 3),
        "w5": (37, 50),
        "w6": (50, 10),
    }
    arrays = {name: 0.2 * rng.standard_normal(shape, np.float32) for name, shape in weights.items()}
    nodes = [
        helper.make_node("Conv", ["x", "w1", "b1"], ["a"], strides=[2, 2], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Conv", ["b", "w2"], ["c"], pads=[1, 1, 1, 1], group=20),
        helper.make_node("HardSwish", ["c"], ["d"]),
        helper.make_node("Conv", ["d", "w3"], ["e"]),
        helper.make_node("Conv", ["e", "w4"], ["f"], pads=[1, 1, 1, 1]),
        helper.make_node("Sigmoid", ["f"], ["g"]),
        helper.make_node("Add", ["e", "g"], ["h"]),
        helper.make_node("MaxPool", ["h"], ["i"], kernel_shape=[3, 3], strides=[2, 2]),
        helper.make_node("GlobalAveragePool", ["i"], ["j"]),
        helper.make_node("Flatten", ["j"], ["k"]),
        helper.make_node("MatMul", ["k", "w5"], ["l"]),
        helper.make_node("Erf", ["l"], ["m"]),
        helper.make_node("MatMul", ["m", "w6"], ["n"]),
        helper.make_node("Softmax", ["n"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "families",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 23, 19])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 10])],
        [numpy_helper.from_array(array, name) for name, array in arrays.items()],
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = tmp_path_factory.mktemp("families") / "families.onnx"
    onnx.save(proto, path)
    x = rng.standard_normal((1, 3, 23, 19), np.float32)
    (y,) = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(None, {"x": x})
    return path, x, np.asarray(y)


@pytest.fixture(scope="module")
def compiled(model: tuple[Path, Array, Array], tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of the network for a target: m.o and m.ll, and where it may run here m.so. Each is made once."""

    @cache
    def compile_for(target: str) -> Path:
        folder = tmp_path_factory.mktemp(target)
        linked = (
            ["shared"] if target.startswith("x86") and platform.machine() == "x86_64" and shutil.which("cc") else []
        )
        aotc.compile_to(model[0], folder, name="m", emit=["object", "llvm-ir", *linked], target=target)
        return folder

    return compile_for


@pytest.mark.parametrize(
    ("target", "feature"),
    [("x86-64", "sse2"), ("x86-64-v2", "sse4.2"), ("x86-64-v3", "avx2"), ("x86-64-v4", "avx512vl")],
)
def test_every_level_of_x86_computes_the_same(
    model: tuple[Path, Array, Array], compiled: Callable[[str], Path], target: str, feature: str
) -> None:
    _, x, expected = model
    if f"+{feature}" not in lookup("host").features.split(","):
        pytest.skip(f"the processor is no {target}")
    np.testing.assert_allclose(aotc.load(compiled(target) / "m.so")(x)["y"], expected, rtol=1e-4, atol=1e-6)


@pytest.mark.skipif(
    shutil.which("qemu-aarch64") is None or shutil.which("aarch64-linux-gnu-gcc") is None,
    reason="needs qemu-aarch64 and a compiler for it",
)
@pytest.mark.parametrize("source", ["m.c", "m.o"])
def test_neon_computes_the_same_under_emulation(model: tuple[Path, Array, Array], tmp_path: Path, source: str) -> None:
    path, x, expected = model
    np.savez(tmp_path / "in.npz", x=x)
    np.savez(tmp_path / "out.npz", y=expected)
    aotc.compile_to(
        path,
        tmp_path,
        name="m",
        emit="c,object",
        target="aarch64",
        selftest=str(tmp_path / "in.npz"),
        selftest_outputs=str(tmp_path / "out.npz"),
    )
    (tmp_path / "main.c").write_text('#include "m.h"\nint main(void) { return aotc_m_selftest(); }\n')
    command = ["aarch64-linux-gnu-gcc", "-std=c99", "-O2", "-static", "main.c", source, "-o", "program", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert subprocess.run(["qemu-aarch64", str(tmp_path / "program")], check=False).returncode == 0


@pytest.mark.parametrize("target", ["x86-64-v4", "x86-64", "aarch64", "armv7", "rv64gcv", "wasm32-simd128"])
def test_every_machine_with_vectors_gets_kernels_on_vectors(compiled: Callable[[str], Path], target: str) -> None:
    machine = lookup(target).vectors
    assert machine is not None and machine == machine_of(target)
    folder = compiled(target)
    assert f"<{machine.vector_bytes // 4} x float>" in (folder / "m.ll").read_text()
    assert (folder / "m.o").stat().st_size > 1000
