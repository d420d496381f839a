"""Operators in a file of their own (A7): who makes them, and what passes between them and the entry."""

from __future__ import annotations

import json
import re
import subprocess
import tarfile
from pathlib import Path

import pytest
from building import (
    COMPILERS,
    HERE,
    MODELS,
    WARNINGS,
    compile_c,
    compile_model,
    compiled_runtime,
    exported,
    link,
    support,
)

import aotc
from aotc.model.conventions import Conventions, entry_symbol, model_symbol

pytestmark = pytest.mark.skipif("gcc" not in COMPILERS, reason="needs gcc")

CHOICES = [Conventions("c"), Conventions("packed", "cpacked"), Conventions("packed", "packed")]
NAMES = ("toy", "toy_operators")
PROTOTYPE = re.compile(r"int32_t (aotc_toy_(?!run|supported)\w+)\(([^)]*)\);")


def run(folder: Path, choice: Conventions, sources: list[Path]) -> str:
    """The output of the harness."""
    more = compiled_runtime() if choice.interface_api == "packed" else []
    program = link(folder, [HERE / "toy.c", *sources, *more], f"-DTOY_{choice.interface_api.upper()}")
    return subprocess.run([program], check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("choice", CHOICES, ids=lambda choice: choice.operator_api)
def test_a7_operators_and_network_are_two_files(model: Path, tmp_path: Path, choice: Conventions) -> None:
    compile_model(model, tmp_path / "one", choice, "c", "toy")
    compile_model(model, tmp_path, choice, "c", "toy", split=True)
    units = [compile_c(tmp_path / f"{name}.c", tmp_path, *WARNINGS) for name in ("toy", "toy_operators")]
    operators = {symbol for symbol, _ in PROTOTYPE.findall((tmp_path / "toy.h").read_text())}
    assert len(operators) >= 4 and exported(units[1]) == operators
    api = choice.interface_api
    assert exported(units[0]) == {entry_symbol("toy", api), model_symbol("toy", api)} | support("toy")
    assert run(tmp_path, choice, units) == run(tmp_path / "one", choice, [tmp_path / "one" / "toy.c"])


@pytest.mark.parametrize("choice", CHOICES[:2], ids=lambda choice: choice.operator_api)
def test_a13_one_entry_calls_operators_whoever_made_them(model: Path, tmp_path: Path, choice: Conventions) -> None:
    """A18: the entry in C, the operators from LLVM. Where both are, one of the entries is made local."""
    compile_model(model, tmp_path, choice, "c", "toy", split=True)
    network, own = (compile_c(tmp_path / f"{name}.c", tmp_path) for name in ("toy", "toy_operators"))
    expected = run(tmp_path, choice, [network, own])
    compile_model(model, tmp_path / "llvm", choice, "object", "toy", export_operators=True)
    theirs = tmp_path / "llvm" / "toy.o"
    api = choice.interface_api
    for symbol in (entry_symbol("toy", api), model_symbol("toy", api), *support("toy")):
        subprocess.run(["objcopy", f"--localize-symbol={symbol}", theirs], check=True)
    assert run(tmp_path, choice, [network, theirs]) == expected


@pytest.mark.parametrize("choice", CHOICES, ids=lambda choice: choice.operator_api)
def test_a18_entry_and_operators_of_either_kind_link(model: Path, tmp_path: Path, choice: Conventions) -> None:
    """A18: with `--split --emit c,object` each half is a file of C and an object, and all four pairs are one model."""
    compile_model(model, tmp_path, choice, ["c", "object"], "toy", split=True)
    halves = {
        kind: [compile_c(tmp_path / f"{name}.c", tmp_path) if kind == "c" else tmp_path / f"{name}.o" for name in NAMES]
        for kind in ("c", "object")
    }
    api = choice.interface_api
    public = {entry_symbol("toy", api), model_symbol("toy", api)} | support("toy")
    assert exported(halves["object"][0]) == exported(halves["c"][0]) == public
    assert exported(halves["object"][1]) == exported(halves["c"][1])
    printed = {run(tmp_path, choice, [halves[a][0], halves[b][1]]) for a in halves for b in halves}
    compile_model(model, tmp_path / "one", choice, "c", "toy")
    assert printed == {run(tmp_path, choice, [tmp_path / "one" / "toy.c"])}


@pytest.mark.parametrize("choice", CHOICES, ids=lambda choice: choice.operator_api)
def test_b20_the_entry_stops_at_the_first_operator_that_fails(model: Path, tmp_path: Path, choice: Conventions) -> None:
    """A14: modules from elsewhere take the place of operators. B19: each is handed the resource handle."""
    compile_model(model, tmp_path, choice, "c", "toy", split=True, resource_handle=True)
    operators = PROTOTYPE.findall((tmp_path / "toy.h").read_text())
    (tmp_path / "wrappers.c").write_text(
        '#include "toy.h"\nint handle, calls, fails_at;\n'
        + "".join(wrapper(symbol, parameters) for symbol, parameters in operators)
    )
    packed = choice.interface_api == "packed"
    typed = "aotc_toy_run(a, b, scores, positive, twice, &handle)"
    call = "aotc_toy_run_packed(values, codes, 5, &value, &code, &handle)" if packed else typed
    (tmp_path / "main.c").write_text(
        f"#define PACKED {int(packed)}\n#define CALL {call}\n#define OPERATORS {len(operators)}\n{MAIN}"
    )
    flags = [f"-Wl,--wrap={symbol}" for symbol, _ in operators]
    sources = [tmp_path / name for name in ("main.c", "wrappers.c", "toy.c", "toy_operators.c")]
    more = compiled_runtime() if packed else []
    done = subprocess.run([link(tmp_path, [*sources, *more], *flags)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def wrapper(symbol: str, parameters: str) -> str:
    """A function that counts the calls of `symbol`, and fails when its turn has come."""
    names = [re.findall(r"\w+", parameter)[-1] for parameter in parameters.split(",")]
    assert names[-1] == "resource_handle"
    return (
        f"int32_t __real_{symbol}({parameters});\nint32_t __wrap_{symbol}({parameters});\n"
        f"int32_t __wrap_{symbol}({parameters}) {{\n"
        "  if (resource_handle != &handle) return 99;\n  if (++calls == fails_at) return 7;\n"
        f"  return __real_{symbol}({', '.join(names)});\n}}\n"
    )


MAIN = """
#include <stdbool.h>
#include <stdio.h>
#include "toy.h"
#if PACKED
#include "aotc_runtime.h"
#endif
extern int handle, calls, fails_at;
int main(void) {
  static float a[6] = {1, -1}, scores[10];
  static uint8_t b[4] = {1, 2}, twice[4];
  static bool positive[6];
  int total, status;
#if PACKED
  void *data[5] = {a, b, scores, positive, twice};
  static DLTensor tensors[5];
  AOTCValue values[5], value;
  int32_t codes[5], code, i;
  for (i = 0; i < 5; ++i) {
    const AOTCParameterInfo *info = &aotc_toy_model.metadata->functions[0].params[i];
    DLDataType dtype = info->dtype;
    DLDevice cpu = {kDLCPU, 0};
    tensors[i] = AOTCInitializeDLTensor(data[i], &dtype, &cpu, (int64_t *)info->shape, info->ndim);
    values[i].v_handle = &tensors[i];
    codes[i] = kAOTCDLTensorHandle;
  }
#endif
  status = CALL;
  total = calls;
  if (status != 0 || total < OPERATORS) return printf("status %d after %d calls\\n", status, total);
  for (fails_at = 1; fails_at <= total; ++fails_at) {
    calls = 0;
    status = CALL;
    if (status != 7 || calls != fails_at) return printf("%d: status %d after %d calls\\n", fails_at, status, calls);
  }
  return 0;
}
"""


def test_e18_the_metadata_in_a_model_library(tmp_path: Path) -> None:
    """Sizes in total and of each operator, beside sources, header and parameters, the same bytes each time."""
    source = MODELS / "kws_int8" / "model.onnx"
    done = aotc.compile_to(source, tmp_path, name="kws", emit="mlf,header", split=True, weights="external")
    info = done.info
    assert info is not None
    with tarfile.open(tmp_path / "kws.tar") as archive:
        files = {member.name: archive.extractfile(member) for member in archive.getmembers()}
        content = {name: stream.read() for name, stream in files.items() if stream is not None}
    folders = ("codegen/host/src/kws.c", "codegen/host/src/kws_operators.c", "codegen/host/include/kws.h")
    assert set(content) == {*folders, "parameters/kws.weights.bin", "kws.json", "metadata.json"}
    assert content["codegen/host/include/kws.h"] == (tmp_path / "kws.h").read_bytes()
    assert len(content["parameters/kws.weights.bin"]) == info.weights_bytes
    memory = json.loads(content["metadata.json"])["modules"]["kws"]["memory"]["functions"]
    assert memory["main"][0]["workspace_size_bytes"] == info.workspace_bytes
    assert memory["main"][0]["inputs"]["input_1"] == {"dtype": "int8", "shape": [1, 49, 10, 1], "size": 490}
    operators = {each["function_name"]: each["constants_size_bytes"] for each in memory["operator_functions"]}
    assert operators == {kernel.symbol: kernel.constant_bytes for kernel in info.kernels}
    before = (tmp_path / "kws.tar").read_bytes()
    aotc.compile_to(source, tmp_path, name="kws", emit="mlf", split=True, weights="external")
    assert (tmp_path / "kws.tar").read_bytes() == before
