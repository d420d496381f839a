"""Every legal combination of interface, operators, workspace and weights, from C and from LLVM objects: same outputs.

D1-D5, D7, D29, B4, B7, B17, C3, C4, D18, D19, E16: what a user links, calls, and sees with nm.
"""

from __future__ import annotations

import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import aotc
from aotc.conventions import Conventions, entry_symbol, legal, model_symbol

HERE = Path(__file__).parent / "conventions"
RUNTIME = Path(str(files("aotc.runtime")))
WARNINGS = (
    *("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-pedantic", "-Wvla", "-Wstrict-prototypes"),
    *("-Wmissing-prototypes", "-Werror"),
)

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two inputs and three outputs of three element types, weights, and steps that need a workspace."""
    rng = np.random.default_rng(1)
    weights = {
        "w0": rng.standard_normal((3, 40), np.float32),
        "w1": rng.standard_normal((40, 5), np.float32),
        "bias": rng.standard_normal(5, np.float32),
        "zero": np.zeros((), np.float32),
    }
    nodes = [
        helper.make_node("MatMul", ["a", "w0"], ["h"]),
        helper.make_node("Softmax", ["h"], ["p"], axis=-1),
        helper.make_node("MatMul", ["p", "w1"], ["q"]),
        helper.make_node("Add", ["q", "bias"], ["scores"]),
        helper.make_node("Greater", ["a", "zero"], ["positive"]),
        helper.make_node("Add", ["b", "b"], ["twice"]),
    ]
    graph = helper.make_graph(
        nodes,
        "toy",
        [
            helper.make_tensor_value_info("a", TensorProto.FLOAT, [2, 3]),
            helper.make_tensor_value_info("b", TensorProto.UINT8, [4]),
        ],
        [
            helper.make_tensor_value_info("scores", TensorProto.FLOAT, [2, 5]),
            helper.make_tensor_value_info("positive", TensorProto.BOOL, [2, 3]),
            helper.make_tensor_value_info("twice", TensorProto.UINT8, [4]),
        ],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    path = tmp_path_factory.mktemp("model") / "toy.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def compile_model(
    model: Path, folder: Path, choice: Conventions, emit: str, name: str = "toy", **options: bool
) -> list[Path]:
    """The files of `model` under `choice`; returns what the linker takes."""
    aotc.compile_to(
        model,
        folder,
        name=name,
        emit=emit,
        interface_api=choice.interface_api,
        operator_api=choice.operator_api,
        runtime=choice.runtime,
        workspace=choice.workspace,
        weights=choice.weights,
        operator_arguments=choice.operator_arguments,
        **options,
    )
    inputs = [folder / f"{name}.{'c' if emit == 'c' else 'o'}"]
    if choice.weights == "external":
        source = folder / "weights.S"
        source.write_text(
            f".section .rodata\n.balign 8\n.global aotc_{name}_weights\n"
            f'aotc_{name}_weights:\n.incbin "{name}.weights.bin"\n'
            '.section .note.GNU-stack,"",%progbits\n'
        )
        inputs.append(source)
    return inputs


def run(folder: Path, choice: Conventions, sources: list[Path], *flags_: str) -> str:
    """Link `sources` with the harness and the runtime, run it, return what it prints."""
    flags = [f"-DTOY_{choice.interface_api.upper()}", *flags_]
    flags += ["-DTOY_WORKSPACE"] * (choice.workspace == "caller") + ["-DTOY_WEIGHTS"] * (choice.weights == "caller")
    runtime = ["aotc_runtime.c", "aotc_memory.c", "aotc_registry.c"] if choice.interface_api == "packed" else []
    if sources[0].suffix == ".c" and choice.workspace == "internal":  # half of it: sanitizers take their time
        flags += ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    command = ["gcc", *WARNINGS, *flags, "-O1"]
    command += [f"-I{folder}", f"-I{RUNTIME}", f"-Wa,-I{folder}", str(HERE / "main.c"), *map(str, sources)]
    command += [*(str(RUNTIME / name) for name in runtime), "-lm", "-o", str(folder / "program")]
    subprocess.run(command, check=True)
    done = subprocess.run([folder / "program", folder / "toy.weights.bin"], check=True, capture_output=True, text=True)
    return done.stdout


def exported(file: Path) -> set[str]:
    """The defined symbols that `nm -g` shows."""
    listing = subprocess.run(["nm", "-g", "--defined-only", file], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1] for line in listing.splitlines() if line.strip()}


COMBINATIONS = [choice for choice in legal() if choice.runtime == "c"]
"""The runtime decides who may call what, not what is generated."""


def identity(choice: Conventions) -> str:
    return "-".join((choice.interface_api, choice.operator_api, choice.workspace, choice.weights))


@pytest.fixture(scope="module")
def reference(model: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the default combination prints, by kind of output."""
    printed: dict[str, str] = {}
    for emit in ("c", "object"):
        folder = tmp_path_factory.mktemp(emit)
        printed[emit] = run(folder, Conventions(), compile_model(model, folder, Conventions(), emit))
    return printed


@pytest.mark.parametrize("emit", ["c", "object"])
@pytest.mark.parametrize("choice", COMBINATIONS, ids=identity)
def test_d28_d29_every_legal_combination_gives_the_same_bits(
    model: Path, reference: dict[str, str], tmp_path: Path, choice: Conventions, emit: str
) -> None:
    sources = compile_model(model, tmp_path, choice, emit)
    assert run(tmp_path, choice, sources) == reference[emit]
    unit = sources[0]
    if emit == "c":
        unit = tmp_path / "unit.o"
        subprocess.run(["gcc", "-std=c99", f"-I{RUNTIME}", "-c", str(sources[0]), "-o", str(unit)], check=True)
    api = choice.interface_api
    assert exported(unit) == {entry_symbol("toy", api), model_symbol("toy", api)}  # B4, C3


@pytest.mark.parametrize("emit", ["c", "object"])
@pytest.mark.parametrize("arguments", ["values", "pointers"])
def test_d25_operators_without_tensor_structures_compute_the_same(
    model: Path, reference: dict[str, str], tmp_path: Path, arguments: str, emit: str
) -> None:
    choice = Conventions("packed", "cpacked", operator_arguments=arguments)
    sources = compile_model(model, tmp_path, choice, emit)
    assert run(tmp_path, choice, sources) == reference[emit]


@pytest.mark.parametrize("emit", ["c", "object"])
@pytest.mark.parametrize("api", ["c", "micro"])
def test_d19_a_packed_wrapper_over_the_small_interface(
    model: Path, reference: dict[str, str], tmp_path: Path, api: str, emit: str
) -> None:
    sources = compile_model(model, tmp_path, Conventions(api, workspace="caller"), emit, packed_wrapper=True)
    packed = Conventions("packed", "unpacked", workspace="caller")
    assert run(tmp_path, packed, sources, "-DTOY_WRAPPED") == reference[emit]


def test_the_outputs_are_onnxruntimes(model: Path, reference: dict[str, str]) -> None:
    ort = pytest.importorskip("onnxruntime")
    a = np.array([(i * 37 % 11 - 5) / 4 for i in range(6)], np.float32).reshape(2, 3)
    b = np.array([i * 77 % 256 for i in range(4)], np.uint8)
    wanted = ort.InferenceSession(str(model), providers=["CPUExecutionProvider"]).run(None, {"a": a, "b": b})
    for printed in reference.values():
        scores, positive, twice = (bytes.fromhex(line) for line in printed.split())
        np.testing.assert_allclose(np.frombuffer(scores, np.float32), wanted[0].ravel(), rtol=1e-5, atol=1e-6)
        assert np.array_equal(np.frombuffer(positive, np.bool_), wanted[1].ravel())
        assert np.array_equal(np.frombuffer(twice, np.uint8), wanted[2].ravel())


CALLERS = {
    "c": "int32_t aotc_toy_run(void); int main(void) { return aotc_toy_run(); }",
    "micro": "int32_t aotc_toy_run_micro(void); int main(void) { return aotc_toy_run_micro(); }",
    "packed": "int32_t aotc_toy_run_packed(void); int main(void) { return aotc_toy_run_packed(); }",
    "c descriptor": "extern int aotc_toy_model; int main(void) { return aotc_toy_model; }",
    "micro descriptor": "extern int aotc_toy_model_micro; int main(void) { return aotc_toy_model_micro; }",
    "packed descriptor": "extern int aotc_toy_model_packed; int main(void) { return aotc_toy_model_packed; }",
}


@pytest.mark.parametrize("emit", ["c", "object"])
def test_d18_a_caller_of_another_convention_does_not_link(model: Path, tmp_path: Path, emit: str) -> None:
    for api in ("c", "micro", "packed"):
        choice = Conventions(api, "unpacked")
        folder = tmp_path / api
        folder.mkdir()
        sources = compile_model(model, folder, choice, emit)
        for caller, text in CALLERS.items():
            (folder / "caller.c").write_text(f"#include <stdint.h>\n{text}\n")
            command = [
                "gcc",
                f"-I{RUNTIME}",
                str(folder / "caller.c"),
                *map(str, sources),
                "-lm",
                "-o",
                str(folder / "x"),
            ]
            done = subprocess.run(command, capture_output=True, text=True)
            assert (done.returncode == 0) == (caller.split()[0] == api), f"{caller} with {api}: {done.stderr}"
            if done.returncode:
                assert "undefined reference" in done.stderr


@pytest.mark.parametrize("emit", ["c", "object"])
@pytest.mark.parametrize("api", ["c", "micro", "packed"])
def test_c2_c4_the_model_under_two_names_links_into_one_program(
    model: Path, tmp_path: Path, emit: str, api: str
) -> None:
    choice = Conventions(api, "packed" if api == "packed" else "unpacked")
    inputs = [str(path) for name in ("toy", "toy2") for path in compile_model(model, tmp_path, choice, emit, name)]
    symbols = [entry_symbol(name, api) for name in ("toy", "toy2")]
    (tmp_path / "two.c").write_text(
        "#include <stdint.h>\n"
        + "".join(f"int32_t {symbol}(void);\n" for symbol in symbols)
        + f"int main(void) {{ return {symbols[0]} == {symbols[1]}; }}\n"
    )
    runtime = [str(RUNTIME / "aotc_registry.c")] if api == "packed" else []
    command = ["gcc", f"-I{RUNTIME}", str(tmp_path / "two.c"), *inputs, *runtime, "-lm", "-o", str(tmp_path / "two")]
    subprocess.run(command, check=True)
    subprocess.run([tmp_path / "two"], check=True)


def test_d17_unpacked_operators_know_no_tensor_structure(model: Path, tmp_path: Path) -> None:
    """D21, A22: and no 64-bit integer, no header but the standard's."""
    compile_model(model, tmp_path, Conventions(), "c")
    text = (tmp_path / "toy.c").read_text() + (tmp_path / "toy.h").read_text()
    assert not any(word in text for word in ("DLTensor", "AOTCValue", "aotc_packed", "int64", "malloc"))
    includes = {line.split()[1] for line in text.splitlines() if line.startswith("#include")}
    assert includes <= {'"toy.h"', "<stdint.h>", "<stdbool.h>", "<stddef.h>", "<math.h>"}


@pytest.mark.parametrize("emit", ["c", "object"])
def test_e16_metadata_through_the_packed_function_and_the_accessors(model: Path, tmp_path: Path, emit: str) -> None:
    """E9-E14, E17: one structure, read back from the linked model."""
    choice = Conventions("packed", "cpacked", workspace="caller")
    sources = compile_model(model, tmp_path, choice, emit)
    info = aotc.compile_to(model, tmp_path, name="toy", emit=emit, interface_api="packed", operator_api="cpacked").info
    assert info is not None
    (tmp_path / "meta.c").write_text(
        """
        #include <stdio.h>
        #include "aotc_runtime.h"
        #include "toy.h"
        int main(void) {
          AOTCPackedFunction f;
          AOTCValue value;
          int32_t code, i;
          const AOTCMetadata *m = AOTCModel_GetMetadata(&aotc_toy_model);
          if (AOTCModel_GetFunction(&aotc_toy_model, "get_model_metadata", &f) != 0) return 1;
          if (f(NULL, NULL, 0, &value, &code, NULL) != 0 || code != kAOTCOpaqueHandle || value.v_handle != m) return 2;
          printf("%d %s %d\\n", (int)m->version, m->module_name, (int)m->num_functions);
          for (i = 0; i < 5; ++i) {
            const AOTCParameterInfo *p = AOTCMetadata_GetParameter(m, i);
            printf("%s %d %d\\n", p->relay_name_hint, (int)p->ndim, (int)AOTCParameterInfo_GetBytes(p));
            if (AOTCMetadata_GetPosition(m, p->relay_name_hint) != i) return 3;
          }
          printf("%d %d\\n", (int)m->functions[0].num_inputs, (int)m->functions[0].num_outputs);
          printf("%d %d %d\\n", (int)m->functions[0].workspace_size_bytes, (int)m->functions[0].io_size_bytes,
                 (int)m->functions[0].constant_size_bytes);
          for (i = 1; i < m->num_functions; ++i) printf("%s\\n", m->functions[i].function_name);
          return 0;
        }
        """
    )
    runtime = [str(RUNTIME / f"aotc_{part}.c") for part in ("registry", "metadata")]
    command = [
        "gcc",
        "-std=c99",
        f"-I{tmp_path}",
        f"-I{RUNTIME}",
        str(tmp_path / "meta.c"),
        *map(str, sources),
        *runtime,
    ]
    subprocess.run([*command, "-lm", "-o", str(tmp_path / "meta")], check=True)
    lines = subprocess.run([tmp_path / "meta"], check=True, capture_output=True, text=True).stdout.splitlines()
    assert lines[0] == f"1 toy {1 + len(info.kernels)}"
    assert lines[1:6] == ["a 2 24", "b 1 4", "scores 2 40", "positive 2 6", "twice 1 4"]
    assert lines[6:8] == ["2 3", f"{info.workspace_bytes} {info.io_bytes} {info.weights_bytes}"]
    assert lines[8:] == [kernel.symbol for kernel in info.kernels]


@pytest.mark.parametrize("pages", ["0", "(1<<2)"])
@pytest.mark.parametrize("operators", ["unpacked", "cpacked"])
def test_b22_b23_the_self_contained_example_is_one_cc_line(tmp_path: Path, pages: str, operators: str) -> None:
    """With a workspace of the caller's the runtime's pages serve; with the exact, internal one there need be none."""
    model = Path(__file__).parents[1] / "models" / "data" / "hello_world_float" / "model.onnx"
    choice = Conventions("packed", operators, workspace="internal" if pages == "0" else "caller")
    compile_model(model, tmp_path, choice, "c", "network")
    for name in ("aotc_runtime.c", "aotc_memory.c", "aotc_runtime.h"):
        shutil.copy(RUNTIME / name, tmp_path)
    (tmp_path / "main.c").write_text(
        """
        #include <stdio.h>
        #include "aotc_runtime.h"
        #include "network.h"
        int main(void) {
          static float x[AOTC_NETWORK_INPUT_0_LENGTH] = {1.0f}, y[AOTC_NETWORK_OUTPUT_0_LENGTH];
          int64_t x_shape[] = AOTC_NETWORK_INPUT_0_SHAPE, y_shape[] = AOTC_NETWORK_OUTPUT_0_SHAPE;
          DLDataType f32 = {kDLFloat, 32, 1};
          DLContext cpu = {kDLCPU, 0};
          DLTensor inputs[1], outputs[1];
          aotc_error_t status;
          inputs[0] = AOTCInitializeDLTensor(x, &f32, &cpu, x_shape, AOTC_NETWORK_INPUT_0_NDIM);
          outputs[0] = AOTCInitializeDLTensor(y, &f32, &cpu, y_shape, AOTC_NETWORK_OUTPUT_0_NDIM);
          status = AOTCRuntime_Run(&aotc_network_model, inputs, 1, outputs, 1);
          printf("%.3f\\n", y[0]);
          return (int)status;
        }
        """
    )
    sources = ["main.c", "network.c", "aotc_runtime.c", "aotc_memory.c"]
    command = ["cc", *WARNINGS, *sources, f"-DAOTC_MEMORY_NUM_PAGES={pages}", "-lm", "-o", "program"]
    subprocess.run(command, cwd=tmp_path, check=True)
    printed = subprocess.run([tmp_path / "program"], check=True, capture_output=True, text=True).stdout
    assert abs(float(printed) - np.sin(1.0)) < 0.1
