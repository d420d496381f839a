"""A small model of several inputs, outputs and element types: what a user links, calls, checks and sees with nm.

B3, B7, B17, B18, C2, C4, D15, D17-D19, D21, D25, E9-E17, E22; `test_real_models` has every combination of conventions.
"""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import building
import numpy as np
import pytest
from building import COMPILERS, HERE, MODELS, WARNINGS, compile_c, compiled_runtime, identity, link, runtime

import aotc
from aotc.executor import CompiledModel, NativeModel
from aotc.model.conventions import Conventions, entry_symbol, model_symbol
from aotc.model.metadata import from_json

pytestmark = pytest.mark.skipif("gcc" not in COMPILERS, reason="needs gcc")


def compile_model(
    model: Path, folder: Path, choice: Conventions, emit: str, name: str = "toy", **options: bool
) -> list[Path]:
    """The files of `model` under `choice`; returns what the linker takes."""
    weights = building.compile_model(model, folder, choice, emit, name, **options)
    return [folder / f"{name}.{'c' if emit == 'c' else 'o'}", *([] if weights is None else [weights])]


def run(folder: Path, choice: Conventions, sources: list[Path], *flags_: str) -> str:
    """Link `sources` with the harness and the runtime, run it, return what it prints."""
    common = [*WARNINGS, "-O1"]
    if sources[0].suffix == ".c" and choice.workspace == "internal":  # half of it: sanitizers take their time
        common += ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    flags = [*common, f"-DTOY_{choice.interface_api.upper()}", *flags_]
    flags += ["-DTOY_WORKSPACE"] * (choice.workspace == "caller") + ["-DTOY_WEIGHTS"] * (choice.weights == "caller")
    more = compiled_runtime(*common) if choice.interface_api == "packed" else []
    program = link(folder, [HERE / "toy.c", *sources, *more], *flags)
    done = subprocess.run([program, folder / "toy.weights.bin"], check=True, capture_output=True, text=True)
    return done.stdout


INTERFACES = (("c", "unpacked"), ("micro", "unpacked"), ("packed", "unpacked"), ("packed", "cpacked"))
INTERFACES += (("packed", "packed"),)
MEMORY = (("internal", "embedded"), ("caller", "caller"))
COMBINATIONS = [Conventions(*apis, "c", *memory) for apis in INTERFACES for memory in MEMORY]


@pytest.fixture(scope="module")
def reference(model: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The output of the default combination, by kind of output."""
    printed: dict[str, str] = {}
    for emit in ("c", "object"):
        folder = tmp_path_factory.mktemp(emit)
        printed[emit] = run(folder, Conventions(), compile_model(model, folder, Conventions(), emit))
    return printed


@pytest.mark.parametrize("emit", ["c", "object"])
@pytest.mark.parametrize("choice", COMBINATIONS, ids=identity)
def test_d15_calls_are_checked_and_outputs_do_not_depend_on_conventions(
    model: Path, reference: dict[str, str], tmp_path: Path, choice: Conventions, emit: str
) -> None:
    """B3, B7, B17, B18, E22: the harness makes calls that are wrong in one thing, then the right one."""
    sources = compile_model(model, tmp_path, choice, emit)
    assert run(tmp_path, choice, sources) == reference[emit]


@pytest.mark.parametrize("emit", ["c", "object"])
@pytest.mark.parametrize("arguments", ["values", "pointers"])
def test_d25_operators_without_tensor_structures_compute_the_same(
    model: Path, reference: dict[str, str], tmp_path: Path, arguments: str, emit: str
) -> None:
    """D8: whether arguments are packed, and whether they are tensors, are two choices."""
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


APIS = ("c", "micro", "packed")


@pytest.mark.parametrize("emit", ["c", "object"])
@pytest.mark.parametrize("called", APIS)
def test_d18_a_caller_of_another_convention_does_not_link(model: Path, tmp_path: Path, called: str, emit: str) -> None:
    """By function and by descriptor, without the header that would have told the compiler already."""
    sources = compile_model(model, tmp_path, Conventions(called), emit)
    unit = sources[0] if emit == "object" else compile_c(sources[0], tmp_path)
    for caller in APIS:
        for symbol in (entry_symbol("toy", caller), model_symbol("toy", caller)):
            text = f"extern int {symbol};\nint main(void) {{ return {symbol}; }}\n"
            (tmp_path / "caller.c").write_text(text)
            command = ["gcc", str(tmp_path / "caller.c"), str(unit), "-lm", "-o", str(tmp_path / "program")]
            done = subprocess.run(command, capture_output=True, text=True)
            assert (done.returncode == 0) == (caller == called), f"{symbol} with {called}: {done.stderr}"
            assert done.returncode == 0 or f"undefined reference to `{symbol}'" in done.stderr


@pytest.mark.parametrize(("api", "emit"), [("micro", "c"), ("packed", "c"), ("packed", "object")])
def test_c4_two_models_and_one_of_them_twice_in_one_program(model: Path, tmp_path: Path, api: str, emit: str) -> None:
    """C2: every name carries the model's. Each gives what it gives alone, also after the others have run."""
    choice = Conventions(api, "packed" if api == "packed" else "unpacked")
    sources: list[Path] = runtime("registry") if api == "packed" else []
    expected = dict[str, aotc.CompiledModel]()
    for name in ("toy", "toy2", "sine"):
        source = MODELS / "hello_world_float" / "model.onnx" if name == "sine" else model
        sources += compile_model(source, tmp_path, choice, emit, name)
        expected[name] = aotc.compile(source, optimize="0")
    library = ctypes.CDLL(str(link(tmp_path, sources, "-ffp-contract=off", "-fPIC", "-shared")))
    linked = dict[str, aotc.CompiledModel]()
    for name in expected:
        info = from_json((tmp_path / f"{name}.json").read_text())
        address = ctypes.cast(getattr(library, entry_symbol(name, api)), ctypes.c_void_p).value
        assert address is not None
        linked[name] = CompiledModel(NativeModel(info, address))
    generator = np.random.default_rng(2)
    for name in ("sine", "toy", "toy2", "toy", "sine"):
        inputs = [(generator.random(t.shape) * 9).astype(t.dtype) for t in linked[name].inputs]
        ours, alone = linked[name](*inputs), expected[name](*inputs)
        for output, array in alone.items():
            np.testing.assert_allclose(ours[output], array, rtol=1e-6)


def test_d17_unpacked_operators_know_no_tensor_structure(model: Path, tmp_path: Path) -> None:
    """D21, A22: and no 64-bit integer, no header but the standard's. B15: no look-up of parameters."""
    compile_model(model, tmp_path, Conventions(), "c")
    text = (tmp_path / "toy.c").read_text() + (tmp_path / "toy.h").read_text()
    assert not any(word in text for word in ("DLTensor", "AOTCValue", "aotc_packed", "int64", "malloc", "lookup"))
    includes = {line.split()[1] for line in text.splitlines() if line.startswith("#include")}
    of_compiler = {"<cpuid.h>"}  # for aotc_toy_supported() on x86
    assert includes - of_compiler <= {'"toy.h"', "<stdint.h>", "<stdbool.h>", "<stddef.h>", "<math.h>"}


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
          for (i = 1; i < m->num_functions; ++i) {
            const AOTCFunctionInfo *f = &m->functions[i];
            printf("%s %d %d %d\\n", f->function_name, (int)f->workspace_size_bytes, (int)f->io_size_bytes,
                   (int)f->constant_size_bytes);
          }
          return 0;
        }
        """
    )
    program = link(tmp_path, [tmp_path / "meta.c", *sources, *runtime("registry", "metadata")])
    lines = subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()
    assert lines[0] == f"1 toy {1 + len(info.kernels)}"
    assert lines[1:6] == ["a 2 24", "b 1 4", "scores 2 40", "positive 2 6", "twice 1 4"]
    assert lines[6:8] == ["2 3", f"{info.workspace_bytes} {info.io_bytes} {info.weights_bytes}"]
    sizes = [(k.symbol, k.workspace_bytes, k.io_bytes, k.constant_bytes) for k in info.kernels]
    assert lines[8:] == [" ".join(map(str, row)) for row in sizes]  # E14
    assert sum(kernel.constant_bytes for kernel in info.kernels) >= info.weights_bytes > 0


def test_a23_the_entry_needs_no_optimiser_to_be_small(model: Path, tmp_path: Path) -> None:
    """Without optimisation, and so without anything removed, its stack frame holds a few pointers."""
    compile_model(model, tmp_path, Conventions(workspace="caller"), "c")
    compile_c(tmp_path / "toy.c", tmp_path, "-O0", "-fstack-usage")
    usage = {line.split(":")[3].split()[0]: int(line.split()[1]) for line in su_lines(tmp_path)}
    assert 0 < usage["aotc_toy_run"] <= 192


def su_lines(folder: Path) -> list[str]:
    """The numbers of gcc for the stack of each function."""
    return [line for file in folder.glob("*.su") for line in file.read_text().splitlines()]


def test_e21_the_typed_entry_gets_all_memory_from_its_caller(model: Path, tmp_path: Path) -> None:
    """A1, A2, A3, A8: files bear the model's name, and one object is all that a program links."""
    memory = {"workspace": "caller", "weights": "embedded"}
    aotc.compile_to(model, tmp_path / "all", name="my_net", emit=("c", "object", "static", "shared"), **memory)
    names = {path.name for path in (tmp_path / "all").iterdir()}
    assert names == {"my_net.c", "my_net.h", "my_net.json", "my_net.o", "libmy_net.a", "my_net.so"}
    header = (tmp_path / "all" / "my_net.h").read_text()
    prototype = "const float *a, const uint8_t *b, float *scores, bool *positive, uint8_t *twice, void *workspace"
    assert f"int32_t aotc_my_net_run({prototype});" in header

    for name in ("my_net.o", "my_net.h"):  # and nothing else: no JSON, no parameters
        (tmp_path / "all" / name).rename(tmp_path / name)
    sections = subprocess.run(["size", "-A", tmp_path / "my_net.o"], check=True, capture_output=True, text=True).stdout
    sizes = {line.split()[0]: int(line.split()[1]) for line in sections.splitlines() if line.startswith(".")}
    assert sizes.get(".bss", 0) == 0, "no memory of its own"
    (tmp_path / "main.c").write_text(
        """
        #include "my_net.h"
        int main(void) {
          static float a[6] = {1, -1}, scores[10];
          static uint8_t b[4] = {1, 2, 3, 4}, twice[4];
          static bool positive[6];
          enum { TO = AOTC_MY_NET_WORKSPACE_ALIGNMENT };
          static uint8_t workspace[AOTC_MY_NET_WORKSPACE_SIZE + TO];
          void *aligned = (void *)(((uintptr_t)workspace + TO - 1) / TO * TO);
          if (aotc_my_net_run(a, b, scores, positive, twice, aligned) != 0) return 1;
          return positive[0] && !positive[1] && twice[3] == 8 && scores[0] != 0 ? 0 : 2;
        }
        """
    )
    program = link(tmp_path, [tmp_path / "main.c", tmp_path / "my_net.o"])
    assert subprocess.run([program], check=False).returncode == 0
