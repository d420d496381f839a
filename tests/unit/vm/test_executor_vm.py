"""`--executor vm`: the entry is bytecode instead of code, by every way to compile and to run, with equal bits."""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from control_cases import CASES, Case
from quick_c import quickly

import aotc
from aotc.cli.main import run
from aotc.errors import UsageError
from aotc.executor import CompiledModel, RunError
from aotc.model.artifacts import ArtifactSet
from aotc.pipeline.options import CompileOptions

MODELS = Path(__file__).parents[2] / "models" / "data"
RUNTIME = Path(aotc.__file__).parent / "runtime"
LOOPING = "everything at once"


def inputs_of(name: str, case: str = "") -> list[np.ndarray[Any, Any]]:
    with np.load(MODELS / name / f"inputs{case}.npz") as archive:
        return list(archive.values())


def same(one: CompiledModel, other: CompiledModel, *given: Any) -> None:
    """Two models answer with the same bits."""
    expected, found = one(*given), other(*given)
    assert {name: value.tobytes() for name, value in found.items()} == {
        name: value.tobytes() for name, value in expected.items()
    }


@pytest.fixture(scope="module")
def artifacts() -> ArtifactSet:
    return aotc.build(MODELS / "kws_int8" / "model.onnx", name="m", emit=("c", "object", "shared"), executor="vm")


def test_g17_the_machine_in_python_and_in_c_and_compiled_code_agree(artifacts: ArtifactSet, tmp_path: Path) -> None:
    """In process; an object that is linked; C; a library that was written."""
    model = MODELS / "kws_int8" / "model.onnx"
    expected = aotc.compile(model, optimize="2")
    artifacts.write(tmp_path)
    ways = {
        "in process": aotc.compile(model, executor="vm"),
        "an object in memory": artifacts.jit(),
        "linked": aotc.build(model, emit="object", executor="vm").load(),
        "in C": quickly(aotc.build(model, emit="c", executor="vm", operator_api="packed")).load(),
        "a library": aotc.load(tmp_path / "m.so"),
        "a copy of it": ArtifactSet.of_blob(artifacts.blob()).load(),
    }
    for model in ways.values():
        assert model.metadata.executor == "vm"
        for case in ("", "_1"):
            same(expected, model, *inputs_of("kws_int8", case))
    assert expected.metadata.executor == "aot"


def test_the_metadata_is_that_of_the_compiled_entry(artifacts: ArtifactSet) -> None:
    compiled = aotc.build(
        MODELS / "kws_int8" / "model.onnx", name="m", emit="c", interface_api="packed", operator_api="cpacked"
    ).metadata
    found = artifacts.metadata
    for what in ("inputs", "outputs", "workspace_bytes", "weights_bytes", "io_bytes", "plan", "interface_api"):
        assert getattr(found, what) == getattr(compiled, what), what
    assert [(each.nodes, each.calls) for each in found.kernels] == [
        (each.nodes, each.calls) for each in compiled.kernels
    ]


def test_a_call_bound_to_arrays_and_threads(artifacts: ArtifactSet) -> None:
    """The model is a CompiledModel like any other."""
    for model in (aotc.compile(MODELS / "kws_int8" / "model.onnx", executor="vm"), artifacts.load()):
        given = [inputs_of("kws_int8", case) for case in ("", "_1")] * 8
        expected = [model(*each) for each in given]
        step = model.bind(*given[1])
        assert step()["Identity"].tobytes() == expected[1]["Identity"].tobytes()
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda each, called=model: called(*each), given))
        assert [each["Identity"].tobytes() for each in found] == [each["Identity"].tobytes() for each in expected]
        assert len(model.clone().packed_functions()) == len(model.metadata.kernels)


@pytest.mark.parametrize("name", [LOOPING, "scan forward and backward", "images until one is bright", "nested if"])
def test_g1_g4_control_flow_by_the_machine_in_c(name: str) -> None:
    case = next(each for each in CASES if each.name == name)
    expected = quickly(aotc.build(case.model, emit="c", interface_api="packed", operator_api="cpacked")).load()
    found = quickly(aotc.build(case.model, emit="c", executor="vm")).load()
    for feed in case.feeds:
        same(expected, found, feed)


def test_the_memory_of_the_machine_in_c_does_not_depend_on_how_often_a_loop_runs() -> None:
    """Static memory of some hundred bytes, and a view in each of 20,000 iterations."""
    case = Case(
        "many",
        """m (float[20000, 4] x, float[4] s) => (float[4] t, float[20000, 4] y) {
            t, y = Scan <num_scan_inputs = 1, body = b (float[4] a, float[4] r) => (float[4] c, float[4] d) {
                c = Add(a, r)  d = Mul(c, r)
            }> (s, x)
        }""",
        ({"x": np.ones((20000, 4), np.float32), "s": np.zeros(4, np.float32)},),
    )
    expected = aotc.compile(case.model)
    artifacts = quickly(aotc.build(case.model, emit="c", executor="vm"))
    (feed,) = case.feeds
    same(expected, artifacts.load(), feed)


def test_the_c_has_the_entry_as_bytecode_alone(artifacts: ArtifactSet, tmp_path: Path) -> None:
    """Under the strictest warnings; the header has the same function as ever."""
    artifacts.write(tmp_path)
    text = (tmp_path / "m.c").read_text()
    assert "aotc_m_run(" not in text and "type_codes" not in text and "aotc_m_workspace" not in text
    assert "int32_t aotc_m_run_packed(void *args" in (tmp_path / "m.h").read_text()
    (tmp_path / "use.c").write_text('#include "m.h"\nint main(void) { return aotc_m_model_packed.run_func == 0; }\n')
    strict = ("-std=c99", "-Wall", "-Wextra", "-pedantic", "-Wconversion", "-Wmissing-prototypes", "-Werror")
    files = ["m.c", "m_vm.c", "use.c", *(str(RUNTIME / f"aotc_{name}.c") for name in ("vm", "vm_builtins"))]
    flags = [*strict, f"-I{RUNTIME}", "-I.", "-Og", "-march=native", "-ffp-contract=off"]
    subprocess.run(["gcc", *flags, *files, "-lm", "-o", "use"], cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "use"], check=False).returncode == 0


@pytest.mark.parametrize(("model", "paged"), [("kws_int8", True), ("hello_world_int8", False)])
def test_large_static_memory_begins_a_page(model: str, paged: bool, artifacts: ArtifactSet, tmp_path: Path) -> None:
    """Where it begins within one changes the time of large networks, and is up to the linker otherwise."""
    made = artifacts if paged else aotc.build(MODELS / model / "model.onnx", name="m", emit="object", executor="vm")
    table = subprocess.run(
        ["nm", made.export_library(tmp_path / "m.so")], capture_output=True, text=True, check=True
    ).stdout
    addresses = [int(line.split()[0], 16) for line in table.splitlines() if " b memory." in line]
    assert len(addresses) == 1 or not paged
    assert not any(address % 4096 for address in addresses if paged)
    assert ("aligned(4096)" in made["m_vm.c"].text()) == paged


def test_a_model_without_a_workspace_has_no_static_memory() -> None:
    """So that its calls may be made at the same time."""
    case = next(each for each in CASES if each.name == "if with captures")
    small = Case("small", "m (float[4] x) => (float[4] y) { y = Relu(x) }", ({"x": np.ones(4, np.float32)},))
    for each, static in ((case, True), (small, False)):
        artifacts = aotc.build(each.model, name="m", emit="c", executor="vm")
        assert ("static AOTCVM vm;" in artifacts["m_vm.c"].text()) == static
        assert (artifacts.metadata.workspace_bytes > 0) == static


def test_what_operators_refuse_is_an_error_of_the_run() -> None:
    """An index out of range, with --check-indices, and in C a tensor that is none of the model's."""
    case = Case(
        "gather",
        "m (float[4, 8] x, int64[3] i) => (float[3, 8] y) { y = Gather<axis = 0>(x, i) }",
        ({"x": np.ones((4, 8), np.float32), "i": np.array([0, 9, 1])},),
    )
    for emit in (None, "c"):
        options: dict[str, Any] = {"executor": "vm", "check_indices": True}
        model = aotc.compile(case.model, **options) if emit is None else None
        model = model or quickly(aotc.build(case.model, emit="c", **options)).load()
        with pytest.raises(RunError, match="returned -1"):
            model(case.feeds[0])


@pytest.mark.parametrize(
    "options, wrong",
    [
        (
            {"interface_api": "c"},
            r'interface_api="c".*executor="vm".*interface_api="packed".*executor="aot".*\[option-conflict\]',
        ),
        ({"interface_api": "micro"}, r'interface_api="micro".*executor="vm".*\[option-conflict\]'),
        ({"operator_api": "unpacked"}, r'executor="vm".*\[option-conflict\]'),
        ({"operator_arguments": "values"}, r'executor="vm".*\[option-conflict\]'),
        ({"workspace": "caller"}, r'workspace="caller".*executor="vm".*\[option-conflict\]'),
        ({"weights": "external"}, r'weights="external".*executor="vm".*\[option-conflict\]'),
        ({"io": "workspace"}, r'executor="vm".*io="workspace".*\[option-conflict\]'),
        ({"threads": 2}, r'executor="vm".*threads=2.*threads=1.*\[option-conflict\]'),
        ({"selftest": "x.npz"}, r'executor="vm".*\[option-conflict\]'),
        ({"packed_wrapper": True}, r'executor="vm".*\[option-conflict\]'),
        ({"resource_handle": True}, r'executor="vm".*\[option-conflict\]'),
        ({"offload": "blas"}, r'executor="vm".*\[option-conflict\]'),
        ({"ram": 10}, r'ram=10.*executor="vm".*\[option-conflict\]'),
        ({"flash": 10}, "option-conflict"),
        ({"stack": 10}, "option-conflict"),
        ({"cc": "gcc"}, "option-conflict"),
        ({"executor": "graph"}, "unknown-choice"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_combinations_without_a_meaning_are_refused_by_name(
    options: dict[str, Any], wrong: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=wrong):
        aotc.compile_to(MODELS / "kws_int8" / "model.onnx", tmp_path, **{"executor": "vm", **options})


def test_profiles_are_refused() -> None:
    with pytest.raises(UsageError, match=r"--executor vm.*\[option-conflict\]"):
        CompileOptions(executor="vm", profile=True)


def test_the_commands_take_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = str(MODELS / "kws_int8" / "model.onnx")
    assert run(["verify", model, "--executor", "vm"]) == 0
    assert "Identity: ok" in capsys.readouterr().out
    assert run(["compile", model, "-o", str(tmp_path), "--executor", "vm", "--emit", "shared"]) == 0
    assert run(["run", str(tmp_path / "model.so")]) == 0
    assert "Identity: int8" in capsys.readouterr().out
