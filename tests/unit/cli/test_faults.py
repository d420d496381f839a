"""Faults of the compiler, as users meet them: one line, an exit code, a report on demand, never a traceback."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx.parser
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

import aotc
from aotc.cli.main import run
from aotc.emit.artifacts import Emission
from aotc.errors import EXIT_INTERNAL, InternalError
from aotc.passes.fuse.fuse_epilogues import FuseEpiloguesPass

MODEL = """<ir_version: 8, opset_import: ["" : 17]> g (float[4] x) => (float[4] y) { [the_node] y = Tanh(x) }"""


@pytest.fixture
def model(tmp_path: Path) -> str:
    path = tmp_path / "model.onnx"
    onnx.save(onnx.parser.parse_model(MODEL), path)
    return str(path)


def visit(op: Operation) -> None:
    raise IndexError("tuple index out of range")


def broken(self: FuseEpiloguesPass, ctx: Any, op: ModuleOp) -> None:
    for each in op.walk():
        if each.name == "graph.tanh":
            visit(each)


def test_a_fault_in_a_pass_names_pass_node_and_place(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(FuseEpiloguesPass, "apply", broken)
    assert run(["compile", model, "-o", str(tmp_path / "out")]) == EXIT_INTERNAL == 70
    shown = capsys.readouterr().err
    assert shown.startswith("error: the_node (graph.tanh): internal error in the pass fuse-epilogues; IndexError: ")
    assert "test_faults.py:" in shown
    assert "--crash-report DIR" in shown
    assert "Traceback" not in shown
    assert not (tmp_path / "out").exists()


def test_the_report_has_all_to_see_it_again(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(FuseEpiloguesPass, "apply", broken)
    crash = tmp_path / "crash"
    assert run(["run", model, "--crash-report", str(crash)]) == EXIT_INTERNAL
    assert {path.name for path in crash.iterdir()} == {
        "model.onnx",
        "model.schedule.mlir",
        "model.schedule.npz",
        "report.txt",
    }
    report = (crash / "report.txt").read_text()
    for part in ("aotc run", "the_node", "internal-error", "Traceback", "IndexError", "xdsl ", "--start-at schedule"):
        assert part in report
    capsys.readouterr()
    resumed = ["compile", str(crash / "model.schedule.mlir"), "--start-at", "schedule", "-o", str(tmp_path / "out")]
    assert run(resumed) == EXIT_INTERNAL
    assert "the_node" in capsys.readouterr().err
    monkeypatch.undo()
    assert run(resumed) == 0


def test_faults_outside_of_passes(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def failing(self: Emission) -> None:
        raise KeyError("sizes")

    monkeypatch.setattr(Emission, "info", property(failing))
    assert run(["compile", model, "-o", str(tmp_path / "out")]) == EXIT_INTERNAL
    assert "internal error in what is written; KeyError: 'sizes'" in capsys.readouterr().err
    monkeypatch.setattr("aotc.frontend.onnx.support", lambda: 1 // 0)
    assert run(["ops"]) == EXIT_INTERNAL
    assert "internal error in aotc ops; ZeroDivisionError" in capsys.readouterr().err


def test_python_callers_get_one_class_of_errors(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FuseEpiloguesPass, "apply", broken)
    with pytest.raises(InternalError, match="internal-error") as caught:
        aotc.compile(model)
    assert caught.value.phase == "fuse"
    assert isinstance(caught.value.__cause__, IndexError)
    assert isinstance(caught.value, aotc.AotcError)
