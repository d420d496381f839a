"""The onnx package's own cases, compiled in process without schedules; `python -m tests.conformance` says more.

Those of operators that another one has are compiled side by side: the first takes as long as several more. `make
conformance` compiles each alone.

A case on the list of expected failures must fail: what is mended leaves the list.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from harness import Array
from node_suite import cases
from node_suite.cases import KINDS, Case, load_cases
from node_suite.outcomes import Route, cut_to_counts, expected_failures, expected_reason, is_of_tensors, outcome
from onnx.backend.test import loader
from together import batches, computed, imported

import aotc

CASES = load_cases(KINDS)


TOGETHER = 20
"""How many cases make one model."""


def _is_plain(case: Case) -> bool:
    """Whether a model is made of operators alone, from tensors to tensors, and must pass."""
    model = case.model
    only_operators = not model.functions and not case.has_control_flow and len(model.graph.input) > 0
    return case.kind == "node" and only_operators and is_of_tensors(model) and expected_reason(case.name) is None


@cache
def _batches() -> list[list[Case]]:
    """Of the cases that are plain those with the same operators as one before them."""
    compiled_alone: set[tuple[str, ...]] = set()
    found: list[Case] = []
    for case in filter(_is_plain, CASES):
        operators = tuple(node.op_type for node in case.model.graph.node)
        if operators in compiled_alone:
            found.append(case)
        compiled_alone.add(operators)
    return batches(found, imported, TOGETHER)


@cache
def _places() -> dict[str, tuple[int, int]]:
    """The number of a case's batch, and its own in that, by its name."""
    return {case.name: (k, i) for k, batch in enumerate(_batches()) for i, case in enumerate(batch)}


@cache
def _together(batch: int) -> list[dict[str, Array] | None]:
    parts = [(case.model, next(case.data())[0]) for case in _batches()[batch]]
    return computed(parts, lambda model, feed: aotc.compile(model, optimize=0)(feed))


def _beside_others(case: Case) -> list[Any] | None:
    """The outputs of a case in one model with others; None where it is compiled alone."""
    if case.name not in _places():
        return None
    batch, number = _places()[case.name]
    found = _together(batch)[number]
    return None if found is None else cut_to_counts(found)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.removeprefix("test_"))
def test_node_case(case: Case) -> None:
    outputs = _beside_others(case)
    found = outcome(case, Route(), outputs)
    if found.status == "failed" and outputs is not None:
        found = replace(found, reason=f"beside others {found.reason}; alone it has {outcome(case, Route()).status}")
    assert found.status != "failed", found.reason
    if found.status == "skipped":
        pytest.skip(found.reason)


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.has_control_flow], ids=lambda case: case.name.removeprefix("test_")
)
def test_control_flow_by_both_executors(case: Case) -> None:
    """The entry as code and as bytecode: equal bits."""
    found = outcome(case, Route(executor="vm"))
    assert found.status != "failed", found.reason
    if found.status == "skipped":
        pytest.skip(found.reason)


def test_every_expected_failure_is_a_case() -> None:
    unknown = [each for each in expected_failures() if not any(re.fullmatch(each, case.name) for case in CASES)]
    assert not unknown


def test_cases_are_computed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And again where the file in which they are kept is damaged."""
    made = [case.source for case in CASES if case.name in ("test_relu", "test_abs")]
    calls: list[None] = []
    monkeypatch.setattr(cases, "_BUILD", tmp_path / "build")
    monkeypatch.setattr(loader, "load_node_model_tests", lambda: calls.append(None) or made)
    for damaged, count in ((False, 1), (False, 1), (True, 2), (False, 2)):
        for path in (tmp_path / "build").glob("*") if damaged else ():
            path.write_bytes(path.read_bytes()[:-100])
        found = cases.node_cases.__wrapped__()
        assert [(each.name, each.model) for each in found] == [(each.name, each.model) for each in made]
        assert len(calls) == count and len(list((tmp_path / "build").iterdir())) == 1


def test_a_pass_that_is_not_expected_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    case = next(case for case in CASES if case.name == "test_relu")
    assert outcome(case, Route()).status == "passed"
    monkeypatch.setattr("node_suite.outcomes.expected_failures", lambda: {"test_relu": "no reason"})
    assert expected_reason(case.name) == "no reason"
    found = outcome(case, Route())
    assert found.status == "failed" and "it passes" in found.reason
