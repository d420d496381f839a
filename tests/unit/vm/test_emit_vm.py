"""`--emit vm`: an executable as a file for hosts, and as a table in C for firmware, beside the kernels."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aotc
from aotc.errors import UsageError
from aotc.model.artifacts import ArtifactSet
from aotc.pipeline.options import CompileOptions
from aotc.vm import Executable, VirtualMachine

MODEL = Path(__file__).parents[2] / "models" / "data" / "kws_int8"
RUNTIME = Path(aotc.__file__).parent / "runtime"
PACKED = {"interface_api": "packed", "operator_api": "packed"}


@pytest.fixture(scope="module")
def artifacts() -> ArtifactSet:
    return aotc.build(MODEL / "model.onnx", name="m", emit="c,shared,vm", **PACKED)


def test_g13_the_file_runs_on_the_library(artifacts: ArtifactSet, tmp_path: Path) -> None:
    """A12, E25: kernels and entry come from one compilation; packed operators are found by the machine."""
    artifacts.write(tmp_path)
    library = aotc.load(tmp_path / "m.so")
    main = VirtualMachine(Executable.load(tmp_path / "m.vm"), library)["main"]
    for case in ("", "_1"):
        with np.load(MODEL / f"inputs{case}.npz") as inputs:
            (x,) = inputs.values()
        y = np.empty(library.outputs[0].shape, library.outputs[0].dtype)
        assert main(x, y) is y
        np.testing.assert_array_equal(y, library(x)[library.outputs[0].name])


def test_the_table_in_c_has_the_bytes_of_the_file(artifacts: ArtifactSet, tmp_path: Path) -> None:
    """Compiled with the warnings that generated code is clean under; functions are by the number of their names."""
    artifacts.write(tmp_path)
    program = tmp_path / "main.c"
    program.write_text(
        """
        #include <stdio.h>
        #include "aotc_vm.h"
        extern const uint64_t aotc_m_vm[];
        extern const AOTCPackedFunction aotc_m_vm_functions[];
        int main(void) {
          static uint64_t memory[4096];
          AOTCVM vm;
          if (AOTCVM_Open(&vm, aotc_m_vm, SIZE, aotc_m_vm_functions, memory, sizeof memory) != 0) return 1;
          return fwrite(aotc_m_vm, 1, SIZE, stdout) == SIZE ? 0 : 2;
        }
        """
    )
    blob = artifacts["m.vm"].read()
    strict = ("-std=c99", "-Wall", "-Wextra", "-pedantic", "-Wconversion", "-Wmissing-prototypes", "-Werror")
    sources = [
        tmp_path / "m.c",
        tmp_path / "m_vm.c",
        *(RUNTIME / f"aotc_{n}.c" for n in ("vm", "vm_check", "vm_builtins", "registry")),
    ]
    command = ["gcc", "-march=native", f"-I{RUNTIME}", f"-I{tmp_path}", "-lm", "-o", tmp_path / "main"]
    subprocess.run(["gcc", *strict, f"-I{RUNTIME}", "-c", tmp_path / "m_vm.c", "-o", tmp_path / "x.o"], check=True)
    subprocess.run([*command[:4], f"-DSIZE={len(blob)}", program, *sources, *command[4:]], check=True)
    assert subprocess.run([tmp_path / "main"], capture_output=True, check=True).stdout == blob


@pytest.mark.parametrize(
    "given, operators",
    [({}, "cpacked"), ({"interface_api": "packed"}, "cpacked"), ({"operator_api": "packed"}, "packed")],
)
@pytest.mark.parametrize("runtime", ["c", "host"])
def test_conventions_that_bytecode_needs_are_chosen(given: dict[str, Any], operators: str, runtime: str) -> None:
    options = CompileOptions.of(emit="vm", runtime=runtime, **given)
    assert (options.interface_api, options.operator_api) == ("packed", operators)


@pytest.mark.parametrize(
    "options, wrong",
    [
        ({"interface_api": "c"}, r'emit="vm".*interface_api="packed".*\[option-conflict\]'),
        ({"operator_api": "unpacked"}, r'emit="vm".*operator_api="cpacked".*\[option-conflict\]'),
        ({**PACKED, "io": "workspace"}, r'emit="vm".*io="workspace".*\[option-conflict\]'),
        ({**PACKED, "threads": 2}, r'emit="vm".*threads=2.*\[option-conflict\]'),
        ({"interface_api": "packed", "operator_api": "cpacked", "operator_arguments": "values"}, "option-conflict"),
    ],
)
def test_options_that_bytecode_has_no_room_for(options: dict[str, Any], wrong: str) -> None:
    with pytest.raises(UsageError, match=wrong):
        aotc.build(MODEL / "model.onnx", emit="vm", **options)


def test_the_package_needs_no_compiler(tmp_path: Path) -> None:
    """Neither `aotc` nor `aotc.vm` loads xDSL, onnx or llvmlite."""
    import sys

    program = "import sys, aotc, aotc.vm; print(*{'xdsl', 'onnx', 'llvmlite'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
