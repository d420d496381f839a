"""The arguments of a compilation, and how one model is reached from several levels."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import onnx.parser
import pytest

import aotc
from aotc.errors import CompileError
from aotc.model.metadata import BufferInfo

DATA = Path(__file__).parents[2] / "models" / "data"
RUNTIME = Path(aotc.__file__).parent / "runtime"
X = np.arange(6, dtype=np.float32).reshape(2, 3) - 3


def parsed(body: str, more: str = "") -> onnx.ModelProto:
    text = f'<ir_version: 10, opset_import: ["" : 21]> m (float[2,3] x{more}) => (float[2,3] y) {{ {body} }}'
    return onnx.parser.parse_model(text)


def test_a16_a_value_that_several_read_is_computed_once() -> None:
    """A16: also where each of its readers is a kernel of its own, and where it is written twice in the model."""
    body = "e = Exp(x) f = Exp(x) a = Softmax(e) b = Softmax<axis = 0>(f) c = Add(a, b) y = Mul(c, e)"
    artifacts = aotc.build(parsed(body), name="m", emit="c", optimize="0", target="cortex-m4")
    assert len(re.findall(r"\bstatus = aotc_m_exp\w*\(", artifacts["m.c"].text())) == 1
    e = np.exp(X)
    softmax = [np.exp(e) / np.exp(e).sum(axis, keepdims=True) for axis in (1, 0)]
    np.testing.assert_allclose(aotc.compile(parsed(body))(X)["y"], sum(softmax) * e, rtol=1e-5)


def test_a17_what_is_known_when_it_runs() -> None:
    """A17: control flow works; a shape that is open waits for a call in Python, and is an error elsewhere that says how
    to fix it."""
    then, other = (f"g () => (float[2,3] z) {{ z = {name}(x) }}" for name in ("Neg", "Abs"))
    model = aotc.compile(parsed(f"y = If<then_branch = {then}, else_branch = {other}>(c)", ", bool c"))
    for chosen, expected in ((True, -X), (False, np.abs(X))):
        assert np.array_equal(model(x=X, c=np.array(chosen))["y"], expected)
    source = parsed("y = Neg(x)")
    source.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    with pytest.raises(CompileError, match="open-shapes"):
        aotc.build(source, emit="c")
    assert np.array_equal(aotc.compile(source)(x=X[:1])["y"], -X[:1])


@pytest.mark.parametrize("operators", ["unpacked", "cpacked"])
def test_d16_what_is_checked_is_checked_at_the_entry(operators: str) -> None:
    """D16: a typed operator has no device to look at; with packed ones each has. Type and number of the device are
    looked at, once for each tensor."""
    artifacts = aotc.build(
        parsed("e = Exp(x) y = Softmax(e)"), name="m", emit="c", interface_api="packed", operator_api=operators
    )
    defined = re.findall(
        r"^[\w ]+ \**(aotc_m_\w+)\([^;{]*\)\n\{(.*?)^\}", artifacts["m.c"].text(), re.MULTILINE | re.DOTALL
    )
    checks = {
        name: [
            len(re.findall(rf"device\.device_{what} [!=]= {value}\b", body)) for what, value in (("type", 1), ("id", 0))
        ]
        for name, body in defined
    }
    tensors = {"aotc_m_run_packed": 2}
    if operators == "cpacked":
        tensors |= {each.symbol: len(each.inputs) + len(each.outputs) for each in artifacts.metadata.kernels}
    assert len(tensors) == (3 if operators == "cpacked" else 1)
    assert {name: count for name, count in checks.items() if any(count)} == {
        name: [count, count] for name, count in tensors.items()
    }


def test_b25_b26_one_script_at_every_level(tmp_path: Path) -> None:
    """B25, B26: functions by name, calls, and the entry itself, of a model in process, linked, and loaded."""
    import ctypes

    artifacts = aotc.build(parsed("y = Neg(x)"), name="m", emit="object")
    library = artifacts.export_library(tmp_path / "m.so")
    for model in (artifacts.jit(), artifacts.load(), aotc.load(library)):
        executor = model["m"](aotc.cpu())
        executor["set_input"]("x", X)
        executor["run"]()
        assert np.array_equal(executor["get_output"](0), -X) and np.array_equal(model(X)["y"], -X)
    y = np.zeros_like(X)
    run = ctypes.CDLL(str(library)).aotc_m_run
    assert run(*(array.ctypes.data_as(ctypes.c_void_p) for array in (X, y))) == 0
    assert np.array_equal(y, -X)


def test_a11_functions_are_found_by_name_without_a_registry_of_the_library() -> None:
    """A11: with `packed` operators each is a row of the model's own table; nothing is registered when it is loaded."""
    model = parsed("e = Softmax(x) f = Softmax<axis = 0>(e) y = Abs(f)")
    artifacts = aotc.build(model, name="m", emit="c", interface_api="packed", operator_api="packed", runtime="host")
    text = artifacts["m.c"].text()
    (table,) = re.findall(r"AOTCFunctionEntry aotc_m_functions\[\] = \{(.*?)\n\};", text, re.DOTALL)
    names = re.findall(r'\{"(\w+)", (\w+)\}', table)
    operators = {kernel.symbol for kernel in artifacts.metadata.kernels}
    assert len(operators) > 1 and {name for name, function in names if name == function} == operators
    assert {name for name, function in names} == {"run", "get_model_metadata", *operators}
    assert dict(names)["run"] == "aotc_m_run_packed" and len(names) == 2 + len(operators)
    assert "AOTCFuncRegisterGlobal" not in text and "constructor" not in text
    softmax = [np.exp(X) / np.exp(X).sum(1, keepdims=True)]
    softmax += [np.exp(softmax[0]) / np.exp(softmax[0]).sum(0, keepdims=True)]
    np.testing.assert_allclose(artifacts.load()(X)["y"], softmax[1], rtol=1e-5)


def test_a24_one_arena_for_what_is_inside_operators_and_between_them(tmp_path: Path) -> None:
    """A24: working memory of kernels is planned with the tensors, lies where these are not, and where others were; the
    object has no other memory that is written."""
    made = aotc.build(DATA / "ic_resnet_float" / "model.onnx", name="m", emit="object", target="x86-64-v3")
    plan, kernels = made.metadata.plan, made.metadata.kernels
    inside = [each for each in plan.buffers if each.first == each.last]
    between = [each for each in plan.buffers if each.first != each.last]
    work = [sum(each.size for each in inside if each.first == step) for step in range(len(plan.order))]
    assert {size for size in work if size} == {each.workspace_bytes for each in kernels} - {0} and len(inside) > 4
    for number, one in enumerate(plan.buffers):
        assert one.offset >= 0 and one.offset + one.size <= plan.peak_bytes
        for other in plan.buffers[number + 1 :]:
            at_once = one.first <= other.last and other.first <= one.last
            assert not (at_once and _share(one, other)), (one, other)
    assert any(_share(one, other) for one in inside for other in between)
    assert plan.peak_bytes < max(work) + max(each.offset + each.size for each in between)
    (tmp_path / "m.o").write_bytes(made["m.o"].read())
    listed = subprocess.run(["size", "-A", "m.o"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    sizes = {row[0]: int(row[1]) for line in listed.splitlines() if len(row := line.split()) == 3 and row[1].isdigit()}
    assert sizes[".bss"] == made.metadata.workspace_bytes == plan.peak_bytes and not sizes.get(".data")


def _share(one: BufferInfo, other: BufferInfo) -> bool:
    """Whether two buffers have a byte of the arena in common."""
    return one.offset < other.offset + other.size and other.offset < one.offset + one.size


A25 = """
#include <stdio.h>
#include "m.h"
#include "aotc_runtime.h"

static int64_t memory[2][4096];

int main(void) {
  const AOTCMetadata *about = AOTCModel_GetMetadata(&aotc_m_model_packed);
  DLContext cpu = {kDLCPU, 0};
  DLTensor tensors[2];
  int i, round;
  if (about == NULL || aotc_m_model_packed.num_input_tensors != 1) return 2;
  for (i = 0; i < 2; ++i) {
    const AOTCParameterInfo *info = AOTCMetadata_GetParameter(about, i);
    DLDataType dtype = info->dtype;
    if ((size_t)AOTCParameterInfo_GetBytes(info) > sizeof memory[i]) return 3;
    tensors[i] = AOTCInitializeDLTensor(memory[i], &dtype, &cpu, (int64_t *)info->shape, info->ndim);
  }
  for (round = 0; round < 3; ++round) {
    signed char *in = tensors[0].data, *out = tensors[1].data;
    for (i = 0; i < AOTCParameterInfo_GetBytes(AOTCMetadata_GetParameter(about, 0)); ++i) {
      in[i] = (signed char)(i * (7 + round) % 251 - 125);
    }
    printf("%d", AOTCRuntime_Run(&aotc_m_model_packed, tensors, 1, tensors + 1, 1));
    for (i = 0; i < AOTCParameterInfo_GetBytes(AOTCMetadata_GetParameter(about, 1)); ++i) printf(" %d", out[i]);
    printf("\\n");
  }
  printf("%d", AOTCRuntime_Run(&aotc_m_model_packed, tensors, 1, tensors + 1, 2));
  tensors[0].device.device_id = 1;
  printf(" %d", AOTCRuntime_Run(&aotc_m_model_packed, tensors, 1, tensors + 1, 1));
  return 0;
}
"""


def test_a25_one_program_in_c_for_every_executor(tmp_path: Path) -> None:
    """A25: the same source runs a model that is compiled and one in bytecode, by its descriptor, with equal results,
    and is refused alike."""
    said: list[list[str]] = []
    for executor, refusal in (("aot", -1), ("vm", -23)):
        folder = tmp_path / executor
        options = {"executor": executor, "interface_api": "packed", "operator_api": "cpacked", "target": "cortex-m4"}
        made = aotc.build(DATA / "kws_int8" / "model.onnx", name="m", emit="c", optimize="0", **options)
        made.write(folder)
        (folder / "main.c").write_text(A25)
        sources = [each.name for each in made if each.name.endswith(".c")] + ["main.c"]
        assert ("m_vm.c" in sources) == (executor == "vm")
        names = ("runtime", "memory", "metadata", "registry", *(("vm", "vm_builtins") if executor == "vm" else ()))
        sources += [str(RUNTIME / f"aotc_{name}.c") for name in names]
        flags = ["-std=c99", "-O1", "-ffp-contract=off", f"-I{RUNTIME}", "-I."]
        subprocess.run(["gcc", *flags, *sources, "-lm", "-o", "main"], cwd=folder, check=True)
        done = subprocess.run(["./main"], cwd=folder, check=True, capture_output=True, text=True)
        *rounds, refused = done.stdout.split("\n")
        assert refused == f"-3 {refusal}", "two outputs for one; an input on another device"
        said.append(rounds)
    assert said[0] == said[1] and len({*rounds}) == 3 and all(each.startswith("0 ") for each in rounds)


def test_d32_everything_lies_in_the_sections_of_the_user(tmp_path: Path) -> None:
    """D32: the code of each operator, all weights, the workspace; what is left is the entry and the descriptor."""
    made = aotc.build(DATA / "kws_int8" / "model.onnx", name="m", emit="c", target="cortex-m4", optimize="0")
    made.write(tmp_path)
    wanted = {"WEIGHTS": 'section(".slow")', "WORKSPACE": 'section(".fast")'}
    wanted["OPERATOR"] = 'noinline, section(".quick")'
    flags = [f"-DAOTC_{what}=__attribute__(({attributes}))" for what, attributes in wanted.items()]
    flags += ["-std=c99", "-O1", "-ffp-contract=off", "-fno-toplevel-reorder", "-fno-merge-constants"]
    subprocess.run(["gcc", *flags, "-c", "m.c"], cwd=tmp_path, check=True)
    listed = subprocess.run(["objdump", "-t", "m.o"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in listed.splitlines() if "aotc_m_" in line]
    places = {row[-1]: row[-3] for row in rows}
    operators = {kernel.symbol for kernel in made.metadata.kernels}
    assert operators and {places[name] for name in operators} == {".quick"}
    assert places["aotc_m_workspace"] == ".fast" and places["aotc_m_run"] == ".text"
    sizes = {row[-3]: 0 for row in rows}
    for row in rows:
        sizes[row[-3]] += int(row[-2], 16)
    assert sizes[".fast"] == made.metadata.workspace_bytes and sizes[".slow"] >= made.metadata.weights_bytes > 0
    assert {*sizes} - {".slow", ".fast", ".quick", ".text"} <= {".data.rel.ro.local", ".data.rel.ro"}
