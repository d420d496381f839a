"""Kernels of code generators from outside (tests/support/codegens): claimed, declared, linked or called by name."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import aotc
from aotc.compiler.inspectors import inspect
from aotc.emit.external import external_kernels
from aotc.emit.model_library import read_model_library
from aotc.executor.step import RunError
from aotc.model.artifacts import NONE, Artifact, ArtifactSet

CODEGENS = Path(__file__).parents[2] / "support/codegens"
SHAPE = (2, 3, 5)
X = np.random.default_rng(0).standard_normal(SHAPE).astype(np.float32)
PACKED = {"interface_api": "packed", "operator_api": "packed", "runtime": "host"}


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(CODEGENS))


@pytest.fixture(scope="module")
def model() -> bytes:
    """relu(-relu(x) * 2), its own output, and relu(x) as well: two kernels that are alike."""
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], "first"),
        helper.make_node("Add", ["a", "a"], ["b"], "twice"),
        helper.make_node("Neg", ["b"], ["c"], "minus"),
        helper.make_node("Abs", ["c"], ["d"], "size"),
        helper.make_node("Relu", ["d"], ["y"], "second"),
    ]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, SHAPE) for name in ("x", "y", "a")]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(made)
    return made.SerializeToString()


def _check(runs: Any) -> None:
    found = runs({"x": X})
    assert np.array_equal(found["y"], np.maximum(X, 0) * 2)
    assert np.array_equal(found["a"], np.maximum(X, 0))


@pytest.mark.parametrize(
    "options",
    [
        {"emit": "c", "optimize": "0"},
        {"emit": "object"},
        {"emit": "shared", "optimize": "s"},
        {"emit": "c", "split": True},
        {"emit": "c", "threads": 2},
        {"emit": "object", "threads": 2},
        {"emit": "c", "interface_api": "micro"},
        {"emit": "object", "resource_handle": True},
        {"emit": "c", "interface_api": "packed", "operator_api": "cpacked", "operator_arguments": "values"},
        {"emit": "object", "interface_api": "packed", "runtime": "host"},
        {"emit": "c", **PACKED},
        {"emit": "object", "weights": "caller", "workspace": "caller"},
        {"emit": "c", "export_operators": True},
    ],
)
def test_a14_f2_a_kernel_that_is_linked(model: bytes, options: dict[str, Any]) -> None:
    """A14, F2, A13, D29: it is typed and linked, whatever the conventions of entry and operators are."""
    artifacts = aotc.build(model, name="m", offload="test-linked", **options)
    (made,) = [artifact for artifact in artifacts if artifact.codegen == "test-linked"]
    assert made.text().count("int32_t aotc_m_test_linked_relu_0(") == 2  # both calls are of one kernel
    assert "relu_1" not in made.text()
    _check(artifacts.load())


def test_f12_f19_f20_f21_artefacts_of_two_targets(model: bytes, tmp_path: Path) -> None:
    """F12, F19, F20, F21: each says its target and what to compile it with; they are kept apart, and round trips are
    identities."""
    artifacts = aotc.build(model, name="m", emit=("c", "object", "mlf"), offload=("test-linked",))
    listed = {each["name"]: each for each in json.loads(artifacts["m.json"].read())["artifacts"]}
    described = {"codegen": "test-linked", "loader": "native", "role": "flash", "target": "x86-64-v2"}
    assert listed["m_relu.c"] == {
        "name": "m_relu.c",
        **described,
        "flags": ["-std=c99", "-O1", "-march=x86-64-v2"],
        "sha256": artifacts["m_relu.c"].sha256,
    }
    groups = artifacts.by_target()
    assert [artifact.name for artifact in groups["x86-64-v2"]] == ["m_relu.c"]
    assert {artifact.name for artifact in groups["host"]} == {"m.c", "m.h", "m.json", "m.o", "m.tar"}
    artifacts.write(tmp_path / "folder")
    assert ArtifactSet.read(tmp_path / "folder") == artifacts
    assert ArtifactSet.of_blob(artifacts.blob()) == artifacts
    kept = read_model_library(artifacts["m.tar"].read())
    assert "m_relu.c" in kept
    _check(kept.load())
    _check(aotc.load(artifacts.export_library(tmp_path / "m.so")))


def test_f20_two_processors_with_settings_of_their_own(model: bytes, tmp_path: Path) -> None:
    """F19, F20: LLVM's code for two processors beside that for a third, each object apart, under its own target."""
    artifacts = aotc.build(model, name="m", emit="object", target="x86-64-v2", offload="test-objects")
    listed = {each["name"]: each["target"] for each in json.loads(artifacts["m.json"].read())["artifacts"]}
    expected = {"m_relu.o": "x86-64", "m_neg.o": "x86-64-v3"}
    assert listed == expected | dict.fromkeys(("m.o", "m.h", "m.json"), "x86-64-v2")
    groups = {target: [each.name for each in group] for target, group in artifacts.by_target().items()}
    assert {target: names for target, names in groups.items() if target != "x86-64-v2"} == {
        target: [name] for name, target in expected.items()
    }
    assert {"avx2", "fma"} <= {*artifacts.metadata.features}, "what any of it needs, the processor must have"
    code = {name: inspect(artifacts[name], "disassembly") for name in expected}
    assert "vmovss" in code["m_neg.o"] and "movss" in code["m_relu.o"] and "vmovss" not in code["m_relu.o"]
    artifacts.write(tmp_path / "folder")
    assert ArtifactSet.read(tmp_path / "folder").by_target() == artifacts.by_target()
    _check(artifacts.load())
    _check(aotc.load(artifacts.export_library(tmp_path / "m.so")))


def test_metadata_say_who_made_a_kernel_and_its_working_memory(model: bytes) -> None:
    """E14: the scratch buffer is the kernel's workspace, and neither input nor output."""
    info = aotc.build(model, name="m", emit="c", offload="test-linked").metadata
    (kernel,) = [each for each in info.kernels if each.codegen]
    assert (kernel.symbol, kernel.codegen, kernel.calls) == ("aotc_m_test_linked_relu_0", "test-linked", 2)
    assert kernel.nodes == ("first", "second")
    assert (kernel.workspace_bytes, kernel.io_bytes, kernel.constant_bytes) == (64, 2 * X.nbytes, 64)
    assert all(each.codegen == "" for each in info.kernels if each is not kernel)
    assert info.operator_api == "unpacked"


@pytest.mark.parametrize("emit", ["c", "object"])
def test_a_kernel_that_cannot_be_linked_is_called_by_name(model: bytes, emit: str, tmp_path: Path) -> None:
    """D13, F5, F10: its artefact goes to its own loader, here and in a library."""
    artifacts = aotc.build(model, name="m", emit=emit, offload="test-by-name", **PACKED)
    assert artifacts["m.neg"].loader == "test-by-name"
    _check(artifacts.load())
    _check(aotc.load(artifacts.export_library(tmp_path / "m.so")))


def test_both_kinds_in_one_model(model: bytes) -> None:
    artifacts = aotc.build(model, name="m", emit="c", offload="test-by-name, test-linked", **PACKED)
    assert {artifact.codegen for artifact in artifacts} == {"aotc", "c", "test-by-name", "test-linked"}
    assert artifacts.metadata.operator_api == "packed"
    _check(artifacts.load())


def test_d28_what_cannot_be_linked_needs_packed_operators(model: bytes) -> None:
    """D28: a module that cannot be linked can only be found by name."""
    with pytest.raises(aotc.UsageError, match=r"operator_api=\"packed\".*\[option-conflict\]"):
        aotc.build(model, emit="c", offload="test-by-name")


def test_in_this_process_it_is_linked_first(model: bytes) -> None:
    _check(aotc.compile(model, name="m", offload="test-linked"))
    artifacts = aotc.build(model, name="m", offload="test-linked")
    with pytest.raises(aotc.UsageError, match=r"test-linked.*\[not-loadable\]"):
        artifacts.jit()
    with pytest.raises(aotc.UsageError, match=r"'jit'.*\[option-conflict\]"):
        aotc.build(model, offload="test-linked", loader="jit")
    with pytest.raises(aotc.UsageError, match=r"test-linked.*\[option-conflict\]"):
        aotc.compile(model, offload="test-linked", profile=True)


def test_code_generators_that_are_not_there_or_broken(model: bytes) -> None:
    with pytest.raises(aotc.UsageError, match=r"test-by.*test-linked.*test-nothing.*\[unknown-code-generator\]"):
        aotc.build(model, offload="nobody")
    with pytest.raises(aotc.CompileError, match=r"test-nothing.*m\.c.*\[broken-package\]"):
        aotc.build(model, name="m", offload="test-nothing")


def test_f22_names_are_unique_within_a_code_generator(
    model: bytes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """F22: a file may have the name of another generator's, and each is compiled beside its own; two of one generator
    are refused."""
    import tested_codegens

    generate = tested_codegens.Linked.generate

    def named_as_ours(self: tested_codegens.Linked, *args: Any) -> list[Artifact]:
        (source,) = generate(self, *args)
        header = replace(source, name="m.h", loader=NONE, flags=(), content=b"#define OF_ITS_OWN 0\n")
        text = b'#include "m.h"\n' + source.read().replace(b"- 1;\n}", b"- 1 + OF_ITS_OWN;\n}")
        assert b"OF_ITS_OWN" in text
        return [replace(source, name="m.c", content=text), header]

    monkeypatch.setattr(tested_codegens.Linked, "generate", named_as_ours)
    artifacts = aotc.build(model, name="m", emit=("c", "mlf"), offload="test-linked")
    assert {"m.c", "test-linked.m.c", "m.h", "test-linked.m.h"} < {*artifacts.files}
    assert artifacts["m.c"].codegen == "c" and artifacts["test-linked.m.h"].text() == "#define OF_ITS_OWN 0\n"
    with pytest.raises(KeyError, match=r"test-linked\.m\.c"):
        _ = artifacts["relu.c"]
    assert {*artifacts.write(tmp_path)} == {tmp_path / name for name in artifacts.files}
    kept = read_model_library(artifacts["m.tar"].read())
    for each in (artifacts, ArtifactSet.read(tmp_path), ArtifactSet.of_blob(artifacts.blob()), kept):
        assert {*each.files} >= {*artifacts.files} - {"m.tar"}
        _check(each.load())
    _check(aotc.load(artifacts.export_library(tmp_path / "m.so")))
    monkeypatch.setattr(tested_codegens.Linked, "generate", lambda *args: generate(*args) * 2)
    with pytest.raises(aotc.CompileError, match=r"test-linked.*m_relu\.c.*\[duplicate-name\]"):
        aotc.build(model, name="m", emit="c", offload="test-linked")


@pytest.mark.parametrize("phase", ["schedule", "fuse", "outline", "bufferize", "plan", "loops"])
def test_a20_every_phase_can_be_written_and_read(model: bytes, phase: str, tmp_path: Path) -> None:
    """A20: what is known of a kernel that is only declared is in the text."""
    options = {"name": "m", "offload": ("test-linked", "test-by-name"), "emit": "c", **PACKED}
    whole = aotc.build(model, **options)
    aotc.compile_to(model, tmp_path, stop_after=phase, **options)
    again = aotc.build(tmp_path / f"m.{phase}.mlir", start_at=phase, **options)
    for name in ("m_relu.c", "m.neg"):
        assert again[name] == whole[name]
    assert again["m.c"].text().split("*/", 1)[1] == whole["m.c"].text().split("*/", 1)[1]


def test_the_abi_of_a_kernel(model: bytes) -> None:
    """Operands in the order of the claim, the result, scratch, then the handle."""
    from aotc.compiler.driver import lower
    from aotc.pipeline.options import CompileOptions

    options = CompileOptions.of(name="m", offload="test-linked", resource_handle=True)
    ((name, (kernel,)),) = external_kernels(lower(model, options).module).items()
    assert name == "test-linked"
    assert kernel.settings == {"count": X.size, "bound": 0.0, "what": "relu"}
    assert [(each.use, each.dtype, each.shape) for each in kernel.arguments] == [
        ("operand", "float32", SHAPE[::-1]),
        ("operand", "float32", (16,)),
        ("result", "float32", SHAPE[::-1]),
        ("scratch", "int8", (64,)),
    ]
    assert all(each.alignment >= 4 for each in kernel.arguments[:3]) and kernel.arguments[3].alignment >= 16
    assert kernel.handle
    expected = "(const float *x0, const float *x1, float *out, int8_t *scratch, void *resource_handle)"
    assert kernel.prototype() == f"int32_t aotc_m_test_linked_relu_0{expected}"


def test_its_failure_is_the_models(model: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """B20: a status that is not 0 ends the call and is handed on."""
    import tested_codegens

    def failing(self: object, kernels: Any, name: str, target: str) -> list[Artifact]:
        text = "".join(f"{kernel.prototype()} {{ return 7; }}\n" for kernel in kernels)
        return [Artifact("test-linked", "native", "f.c", f"#include <stdint.h>\n{text}".encode())]

    monkeypatch.setattr(tested_codegens.Linked, "generate", failing)
    with pytest.raises(RunError, match="failed-run"):
        aotc.build(model, name="m", offload="test-linked").load()({"x": X})


def test_an_undefined_kernel_is_refused_by_the_compiler(tmp_path: Path) -> None:
    """A kernel that is declared, and that no code generator is named for."""
    text = """
builtin.module attributes {aot.name = "m"} {
  func.func private @k(tensor<4xf32>) -> tensor<4xf32> attributes {aot.kernel, aot.in_place = [[]]}
  func.func @main(%x: tensor<4xf32> {aot.name = "x", aot.dtype = "float32"})
      -> (tensor<4xf32> {aot.name = "y", aot.dtype = "float32"}) attributes {aot.entry} {
    %0 = func.call @k(%x) : (tensor<4xf32>) -> tensor<4xf32>
    func.return %0 : tensor<4xf32>
  }
}
"""
    (tmp_path / "m.mlir").write_text(text)
    with pytest.raises(aotc.CompileError, match=r"@k.*aot\.external.*\[invalid-ir\]"):
        aotc.build(tmp_path / "m.mlir", start_at="outline", emit="c")
