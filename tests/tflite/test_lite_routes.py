"""One case of each operator and type by every way to compute it: C, cores without vectors, small code, definitions."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness import SCALAR
from lite_cases import CASES, Case
from lite_model import Array, Graph, write
from lite_oracle import ORACLES
from prefork import commands
from quick_c import c_quickly
from test_lite_import import is_refused
from test_lite_reference import assert_near

import aotc
from aotc.compiler.driver import in_process, lower
from aotc.executor import CompiledModel, compiled_in_process
from aotc.pipeline.options import CompileOptions


def _slice() -> list[str]:
    """The first case of each set of operators and types of tensors that is imported."""
    found: dict[tuple[object, ...], str] = {}
    for name, case in CASES.items():
        kinds = {tensor.dtype for graph in case.graphs for tensor in graph.tensors}
        if not is_refused(name):
            found.setdefault((*case.codes, *sorted(kinds)), name)
    return list(found.values())


SLICE = _slice()


def _by_c(model: bytes, folder: Path) -> CompiledModel:
    return c_quickly(lower(model, replace(in_process(CompileOptions()), weights="embedded")), folder)


def _in_process(**options: Any) -> Callable[[bytes, Path], CompiledModel]:
    return lambda model, folder: compiled_in_process(lower(model, in_process(CompileOptions.of(**options))))


WAYS: dict[str, Callable[[bytes, Path], CompiledModel]] = {
    "c": _by_c,
    "without-vectors": _in_process(target=SCALAR),
    "small": _in_process(target=SCALAR, optimize="s"),
    "definitions": _in_process(optimize="0"),
}


def _outputs(model: CompiledModel, inputs: list[Array]) -> list[Array]:
    given = {tensor.name: value for tensor, value in zip(model.inputs, inputs, strict=True)}
    return list(model(given).values())


def _compare(case: Case, model: CompiledModel) -> None:
    oracle = ORACLES[case.oracle](case.model)
    for inputs in case.calls:
        for found, expected in zip(_outputs(model, inputs), oracle(*inputs), strict=True):
            assert_near(found, expected, case.tolerance)


def test_the_slice_has_every_operator_that_is_imported() -> None:
    imported = {code for name, case in CASES.items() if not is_refused(name) for code in case.codes}
    assert imported == {code for name in SLICE for code in CASES[name].codes}


_TRIED = [(name, way) for way in WAYS for name in (SLICE if way in ("c", "without-vectors") else SLICE[::3])]


@pytest.mark.parametrize(("name", "way"), _TRIED)
def test_operator(name: str, way: str, tmp_path: Path) -> None:
    _compare(CASES[name], WAYS[way](CASES[name].model, tmp_path))


@pytest.mark.parametrize("name", [name for name in CASES if is_refused(name)][::97])
def test_a_refusal_names_node_and_operator(name: str, tmp_path: Path) -> None:
    """In Python, and as an error of the command."""
    case, path = CASES[name], tmp_path / "model.tflite"
    path.write_bytes(case.model)
    with pytest.raises(aotc.CompileError) as caught:
        aotc.compile(path)
    nodes = {(each.outputs[0] if each.outputs else "", each.code) for each in case.graphs[0].operators}
    assert {(each.node, each.op_type) for each in caught.value.problems} <= nodes
    command = [commands() / "aotc", "compile", path, "-o", tmp_path / "out"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 3 and all(str(each.op_type) in done.stderr for each in caught.value.problems)


@pytest.mark.parametrize("code", ["FULLY_CONNECTED", "ADD"])
def test_a_fused_tanh_is_refused(code: str) -> None:
    """TFLite Micro takes it for none."""
    graph = Graph()
    graph.tensor("x", (1, 4), "float32")
    graph.constant("w", np.ones((1, 4), np.float32))
    graph.tensor("y", (1, 1 if code == "FULLY_CONNECTED" else 4), "float32")
    graph.op(code, ["x", "w"], ["y"], fused_activation_function="TANH")
    with pytest.raises(aotc.CompileError, match="fused activation") as caught:
        aotc.compile(write([graph.ends(["x"], ["y"])]))
    assert [(each.node, each.op_type) for each in caught.value.problems] == [("y", code)]
