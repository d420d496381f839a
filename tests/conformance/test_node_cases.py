"""The onnx package's own cases, compiled in process without schedules; `python -m tests.conformance` says more.

A case on the list of expected failures must fail: what is mended leaves the list.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from node_suite import cases
from node_suite.cases import KINDS, Case, load_cases
from node_suite.outcomes import Route, expected_failures, expected_reason, outcome
from onnx.backend.test import loader

CASES = load_cases(KINDS)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.removeprefix("test_"))
def test_node_case(case: Case) -> None:
    found = outcome(case, Route())
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
    for damaged, computed in ((False, 1), (False, 1), (True, 2), (False, 2)):
        for path in (tmp_path / "build").glob("*") if damaged else ():
            path.write_bytes(path.read_bytes()[:-100])
        found = cases.node_cases.__wrapped__()
        assert [(each.name, each.model) for each in found] == [(each.name, each.model) for each in made]
        assert len(calls) == computed and len(list((tmp_path / "build").iterdir())) == 1


def test_a_pass_that_is_not_expected_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    case = next(case for case in CASES if case.name == "test_relu")
    assert outcome(case, Route()).status == "passed"
    monkeypatch.setattr("node_suite.outcomes.expected_failures", lambda: {"test_relu": "no reason"})
    assert expected_reason(case.name) == "no reason"
    found = outcome(case, Route())
    assert found.status == "failed" and "it passes" in found.reason
