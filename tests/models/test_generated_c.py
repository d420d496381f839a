"""Generated C as compilers see it: no warning in C99 (D31), headers that are C++17 too, one meaning at every level."""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from lowered import Lowered
from onnx import TensorProto, helper, numpy_helper
from quick_c import write_c
from zoo import HERE, MODELS, ZooModel

import aotc
from aotc.compiler.driver import lower
from aotc.pipeline.options import CompileOptions

WARNINGS = (
    *("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-pedantic", "-Wvla", "-Wstrict-prototypes"),
    *("-Wmissing-prototypes", "-Werror"),
)
CPP_WARNINGS = ("-std=c++17", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-pedantic", "-Werror")
INTERFACES = (("c", "unpacked"), ("micro", "unpacked"), ("packed", "cpacked"))
C_COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name) is not None]
CPP_COMPILERS = [name for name in ("g++", "clang++") if shutil.which(name) is not None]

TOLD_NOTHING = "x86-64" if platform.machine() == "x86_64" else "host"
"""The processors of compilers that are told none: they need not take vectors apart that it does not have."""

pytestmark = pytest.mark.skipif(not C_COMPILERS, reason="needs gcc or clang")


def accepts(*command: str | Path) -> None:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_c_is_free_of_warnings_and_the_header_is_cpp_under_every_interface(model: ZooModel, tmp_path: Path) -> None:
    if model.folder is None:
        pytest.skip(f"{model.name} is not in AOTC_MODEL_ZOO")
    lowered = Lowered(model.folder / "model.onnx", name="m", dims=model.dims.get("", {}))
    for interface, operators in INTERFACES:
        folder = tmp_path / interface
        weights = "embedded" if model.shipped and interface == "c" else "external"
        write_c(lowered.under(interface_api=interface, operator_api=operators, weights=weights), folder)
        for compiler in C_COMPILERS:
            accepts(compiler, *WARNINGS, "-fsyntax-only", folder / "m.c")
        # Twice, and used: as an application with several source files has it.
        (folder / "user.cpp").write_text(
            '#include "m.h"\n#include "m.h"\nunsigned inputs() { return aotc_m_model.num_input_tensors; }\n'
        )
        for compiler in CPP_COMPILERS:
            accepts(compiler, *CPP_WARNINGS, "-fsyntax-only", folder / "user.cpp")


def mixed_types(path: Path) -> Path:
    """Small steps of many element types, so that the workspace is reused for another type again and again."""
    nodes: list[onnx.NodeProto] = []
    current = "x"

    def step(op: str, *more: str, **attributes: object) -> None:
        nonlocal current
        nodes.append(helper.make_node(op, [current, *more], [f"t{len(nodes)}"], **attributes))
        current = nodes[-1].output[0]

    for to in (TensorProto.INT32, TensorProto.FLOAT, TensorProto.INT64, TensorProto.DOUBLE, TensorProto.INT16):
        step("Transpose", perm=[1, 0])
        step("Cast", to=TensorProto.FLOAT)
        step("MatMul", "w")
        step("CumSum", "axis")
        step("Cast", to=to)
        step("Transpose", perm=[1, 0])
        step("CumSum" if to != TensorProto.INT16 else "Abs", *(["axis"] if to != TensorProto.INT16 else []))
    step("Cast", to=TensorProto.FLOAT)
    graph = helper.make_graph(
        nodes,
        "mixed",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 4])],
        [helper.make_tensor_value_info(current, TensorProto.FLOAT, None)],
        [
            numpy_helper.from_array(np.linspace(-1, 1, 16, dtype=np.float32).reshape(4, 4), "w"),
            numpy_helper.from_array(np.array(1), "axis"),
        ],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


DRIVER = """
#include <stdio.h>
#include "m.h"
static AOTC_M_INPUT_0_TYPE x[AOTC_M_INPUT_0_LENGTH];
static AOTC_M_OUTPUT_0_TYPE y[AOTC_M_OUTPUT_0_LENGTH];
int main(void) {
  if (fread(x, sizeof x, 1, stdin) != 1 || aotc_m_run(x, y) != 0) return 1;
  return fwrite(y, sizeof y, 1, stdout) == 1 ? 0 : 2;
}
"""


@pytest.mark.parametrize("name", ["mixed", "kws_int8", "ic_resnet_float"])
def test_memory_that_changes_its_type_means_the_same_at_every_level(name: str, tmp_path: Path) -> None:
    """Operators write one type where others read another before; inlined, or across units, nothing may be reordered."""
    if name == "mixed":
        source, x = mixed_types(tmp_path / "mixed.onnx"), np.linspace(-3, 3, 16, dtype=np.float32)
    else:
        source = HERE / "data" / name / "model.onnx"
        with np.load(HERE / "data" / name / "inputs.npz") as inputs:
            (x,) = inputs.values()
    lowered = lower(source, CompileOptions.of(name="m", target=TOLD_NOTHING))
    write_c(lowered, tmp_path)
    (tmp_path / "main.c").write_text(DRIVER)
    outputs = dict[str, bytes]()
    for compiler in C_COMPILERS:
        subprocess.run([compiler, "-std=c99", "-O3", "-c", tmp_path / "m.c", "-o", tmp_path / "m.o"], check=True)
        listing = subprocess.run(["nm", tmp_path / "m.o"], check=True, capture_output=True, text=True).stdout
        kept = {line.split()[-1].split(".")[0] for line in listing.splitlines()}
        assert {kernel.symbol for kernel in lowered.info().kernels} <= kept, "inlined: only luck would keep the order"
        for flags, unit in ((("-O0",), "m.c"), (("-O3",), "m.o"), (("-O3", "-flto"), "m.c")):
            program = tmp_path / "program"
            sources = (tmp_path / "main.c", tmp_path / unit)
            done = subprocess.run([compiler, "-std=c99", *flags, *sources, "-lm", "-o", program], capture_output=True)
            if done.returncode != 0 and "-flto" in flags:  # needs a linker plugin
                continue
            assert done.returncode == 0, done.stderr
            outputs[f"{compiler} {flags}"] = subprocess.run(
                [program], input=x.tobytes(), capture_output=True, check=True
            ).stdout
    assert len(set(outputs.values())) == 1, outputs
    if name == "mixed":
        (expected,) = aotc.compile(source, target=TOLD_NOTHING)(x.reshape(4, 4)).values()
        assert np.array_equal(np.frombuffer(outputs["gcc ('-O0',)"], np.float32), expected.ravel())
