"""The outcome of a case: it is compiled as a user would, run on the recorded inputs, and its outputs are compared."""

from __future__ import annotations

import re
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import onnx
from harness import assert_close, reference
from node_suite.cases import Case
from onnx import ModelProto

import aotc
from aotc.errors import AotcError, CompileError
from aotc.executor import CompiledModel
from aotc.measuring.routes import build_shared

EXPECTED = Path(__file__).parent / "expected_failures.toml"
AT_RUN_TIME = "run time"
"""The end of every refusal that goes away once an input is a constant."""
RUNTIME = Path(aotc.__file__).parent / "runtime"
FLAGS = ("-std=c99", "-Og", "-ffp-contract=off", "-fPIC", "-shared")
"""How C is built: quickly."""

_BOUNDED = ("NonMaxSuppression", "NonZero", "Unique", "Compress")
"""Operators whose results have data-dependent extents."""

Status = Literal["passed", "failed", "skipped"]


@dataclass(frozen=True)
class Outcome:
    """The outcome of a case, with the reason where it did not pass."""

    name: str
    status: Status
    reason: str = ""
    constants: tuple[str, ...] = ()
    """Inputs that were given as constants, because they are shapes, axes and the like."""
    departs: bool = False
    """Whether the outputs are those of onnxruntime and not those recorded."""


@dataclass(frozen=True)
class Route:
    """How a case is compiled: `jit` (LLVM, in this process) or `c`, at a level, for a target, its entry to code or to
    bytecode."""

    name: Literal["jit", "c"] = "jit"
    optimize: str = "0"
    target: str | None = None
    executor: Literal["aot", "vm"] = "aot"

    def compiled(
        self, model: ModelProto, constants: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]
    ) -> CompiledModel:
        """The model, ready to run; `shapes` are those of the tensors of sequences. Raises AotcError."""
        options: dict[str, Any] = {
            "optimize": self.optimize,
            "constants": dict(constants),
            "input_shapes": dict(shapes),
            "executor": self.executor,
        }
        if self.target is not None:
            options["target"] = self.target
        if self.name == "jit":
            return aotc.compile(model, **options)
        with tempfile.TemporaryDirectory(prefix="aotc-") as folder:
            path = Path(folder) / "model.onnx"
            onnx.save(model, path)
            written = aotc.compile_to(path, folder, emit=("c",), weights="embedded", **options)
            source, *bytecode = (each for each in written.files if each.suffix == ".c")
            machine = [*bytecode, RUNTIME / "aotc_vm.c", RUNTIME / "aotc_vm_builtins.c"] if bytecode else []
            return aotc.load(build_shared(source, (*FLAGS, f"-I{RUNTIME}", *map(str, machine))))

    def outputs(
        self,
        model: ModelProto,
        feed: Mapping[str, Any],
        constants: Sequence[str],
        shapes: Mapping[str, tuple[int, ...]],
    ) -> dict[str, Any]:
        """The model's results for a feed, of which some inputs are constants; with an entry in bytecode what it gives
        with a compiled one, bit for bit. Raises AotcError, and AssertionError where the two differ."""
        known = {name: feed[name] for name in constants}
        given = {name: value for name, value in feed.items() if name not in constants}
        found = self.compiled(model, known, shapes)(given)
        if self.executor == "vm":
            expected = replace(self, executor="aot").compiled(model, known, shapes)(given)
            for name, value in expected.items():
                assert found[name].tobytes() == value.tobytes(), f"{name}: bytecode and code differ"
        return found


@dataclass(frozen=True)
class _Counted:
    """An output of which only so many parts along an axis mean anything."""

    value: Any
    count: int

    def like(self, expected: Any) -> Any:
        """These parts along the first axis where that gives the shape of `expected`; else the whole."""
        for axis in range(self.value.ndim):
            cut = self.value[(slice(None),) * axis + (slice(self.count),)]
            if cut.shape == expected.shape and self.count <= self.value.shape[axis]:
                return cut
        return self.value


@cache
def expected_failures() -> dict[str, str]:
    """Names of cases (patterns of whole names) that do not pass, and why."""
    groups = tomllib.loads(EXPECTED.read_text(encoding="utf-8"))["group"]
    return {pattern: group["reason"] for group in groups for pattern in group["cases"]}


def expected_reason(name: str) -> str | None:
    """Why a case is not expected to pass; None where it must."""
    found = (reason for pattern, reason in expected_failures().items() if re.fullmatch(pattern, name))
    return next(found, None)


def outcome(case: Case, route: Route, computed: Sequence[Any] | None = None) -> Outcome:
    """The outcome of a case, beside the committed list: an unexpected pass has failed, an expected failure is
    skipped. `computed` are its outputs, in order, where the model is compiled already."""
    found = attempt(case, route, computed)
    reason = expected_reason(case.name)
    if reason is None:
        return found
    if found.status == "passed":
        return replace(found, status="failed", reason=f"it passes, and is listed as failing: {reason}")
    return replace(found, status="skipped", reason=reason)


def attempt(case: Case, route: Route, computed: Sequence[Any] | None = None) -> Outcome:
    """The outcome of a case by itself; `computed` as of `outcome`."""
    departs, constants = False, ()
    try:
        for feed, expected in case.data():
            constants, outputs = _run(case.model, feed, route) if computed is None else ((), computed)
            departs = departs or not _agrees(case, feed, outputs, expected)
    except AotcError as error:
        return Outcome(case.name, "failed", str(error))
    except Exception as error:
        words = str(error).strip().replace("\n", " ")
        return Outcome(case.name, "failed", f"{type(error).__name__}: {words[:600]}", constants)
    return Outcome(case.name, "passed", "", constants, departs)


def _run(model: ModelProto, feed: Mapping[str, Any], route: Route) -> tuple[tuple[str, ...], list[Any]]:
    """The inputs that had to be constants, and the outputs in order."""
    names: tuple[str, ...] = ()
    sequences = {name: value for name, value in feed.items() if isinstance(value, list)}
    items = {f"{name}_{place}": item for name, value in sequences.items() for place, item in enumerate(value)}
    shapes = {name: item.shape for name, item in items.items()}
    shapes |= {name: feed[name].shape for name in open_inputs(model) if name in feed}
    whole = feed
    feed = {name: value for name, value in feed.items() if name not in sequences} | items
    try:
        outputs = route.outputs(model, feed, names, shapes)
    except CompileError as error:
        names = known_inputs(whole)
        if AT_RUN_TIME not in str(error) or not names:
            raise
        outputs = route.outputs(model, feed, names, shapes)
    return names, cut_to_counts(outputs)


def cut_to_counts(outputs: Mapping[str, Any]) -> list[Any]:
    """The outputs in order, those that have a count beside them with it."""
    counts = {name: int(outputs[f"{name}_count"]) for name in outputs if f"{name}_count" in outputs}
    beside = {f"{name}_count" for name in counts}
    whole = {name: value for name, value in outputs.items() if name not in beside}
    return [_Counted(value, counts[name]) if name in counts else value for name, value in whole.items()]


def open_inputs(model: ModelProto) -> list[str]:
    """The tensors among the inputs whose shape the model leaves open."""
    initializers = {tensor.name for tensor in model.graph.initializer}
    return [
        value.name
        for value in model.graph.input
        if value.name not in initializers
        and any(not dim.HasField("dim_value") for dim in value.type.tensor_type.shape.dim)
    ]


def is_of_tensors(model: ModelProto) -> bool:
    """Whether inputs and outputs are tensors of known shape, and none has a data-dependent extent."""
    values = (*model.graph.input, *model.graph.output)
    of_tensors = all(value.type.HasField("tensor_type") for value in values) and not open_inputs(model)
    return of_tensors and not any(node.op_type in _BOUNDED for node in model.graph.node)


def known_inputs(feed: Mapping[str, Any]) -> tuple[str, ...]:
    """The inputs that may be shapes, axes and the like: integers and single numbers of at most one axis, and what
    follows the first input in such a form."""
    found: list[str] = []
    for position, (name, value) in enumerate(feed.items()):
        small = isinstance(value, np.ndarray) and value.ndim <= 1
        if small and (position or value.ndim == 0 or value.dtype == np.int64):
            found.append(name)
    return tuple(found)


def _agrees(case: Case, feed: Mapping[str, Any], outputs: Sequence[Any], expected: Sequence[Any]) -> bool:
    """Whether the outputs are those recorded; False where they are those of onnxruntime instead. Raises AssertionError
    where they are neither."""
    flat = [part for value in expected for part in (value if isinstance(value, list) else [value])]
    try:
        _compare(outputs, flat, case.source.rtol)
    except AssertionError:
        found = reference(case.model, feed)
        if found is None:
            raise
        _compare(outputs, found)
        return False
    return True


def _compare(outputs: Sequence[Any], expected: Sequence[Any], relative: float = 0.0) -> None:
    """Raise AssertionError where an output is not as expected, by our tolerance nor by a relative one of floats."""
    assert len(outputs) == len(expected), f"{len(outputs)} outputs, expected {len(expected)}"
    for position, (actual, value) in enumerate(zip(outputs, expected, strict=True)):
        actual = actual.like(value) if isinstance(actual, _Counted) else actual
        compare(f"output {position}", actual, value, relative)


def compare(name: str, actual: Any, expected: Any, relative: float = 0.0) -> None:
    """Raise AssertionError where a tensor is not as expected, by our tolerance nor by a relative one of floats."""
    try:
        assert_close(name, actual, expected)
    except AssertionError:
        if (actual.dtype, actual.shape) != (expected.dtype, expected.shape) or expected.dtype.kind != "f":
            raise
        np.testing.assert_allclose(actual, expected, rtol=relative, err_msg=name)
