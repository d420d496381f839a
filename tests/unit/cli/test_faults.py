"""Faults of the compiler, as users meet them: one line, an exit code, a report on demand, never a traceback."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import onnx.parser
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

import aotc
from aotc.cli import parser
from aotc.cli.main import run
from aotc.emit.artifacts import Emission
from aotc.errors import EXIT_INTERNAL, EXIT_MODEL, InternalError
from aotc.passes.fuse.fuse_epilogues import FuseEpiloguesPass

MODEL = """<ir_version: 8, opset_import: ["" : 17]> g (float[4] x) => (float[4] y) { [the_node] y = Tanh(x) }"""

COMMANDS = Path(sys.executable).parent


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


def short_of_memory(self: FuseEpiloguesPass, ctx: Any, op: ModuleOp) -> None:
    for each in op.walk():
        if each.name == "graph.tanh":
            allocate(each)


def allocate(op: Operation) -> None:
    raise MemoryError("Unable to allocate 9. GiB")


def test_where_memory_is_short_that_is_the_error(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(FuseEpiloguesPass, "apply", short_of_memory)
    assert run(["compile", model, "-o", str(tmp_path / "out")]) == EXIT_MODEL == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: the_node (graph.tanh): there is not enough memory for the pass fuse-epilogues; ")
    assert "Unable to allocate 9. GiB" in line and line.endswith(" [out-of-memory]")
    with pytest.raises(MemoryError):
        aotc.compile(model)


def test_memory_that_is_short_outside_of_any_step(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def allocating() -> None:
        raise MemoryError

    monkeypatch.setattr(parser, "build_parser", allocating)
    assert run(["phases"]) == EXIT_MODEL
    assert capsys.readouterr().err == "error: there is not enough memory [out-of-memory]\n"


def test_a_command_asks_for_no_more_memory_than_it_takes(model: str, tmp_path: Path) -> None:
    def bounded() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))

    command = [COMMANDS / "aotc", "compile", model, "-o", str(tmp_path)]
    done = subprocess.run(command, preexec_fn=bounded, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


LOADING = """
import os, signal, sys
from aotc.cli import commands, main
def loads_a_module(arguments):
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt:  # as import_umath of numpy does in C
        sys.excepthook(*sys.exc_info())
        raise ImportError("numpy._core.umath failed to import") from None
commands.phases_command = loads_a_module
main.main(["phases"])
"""


def test_an_interrupt_of_a_module_in_c_that_is_loaded_is_one() -> None:
    def listen() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    done = subprocess.run(
        [sys.executable, "-c", LOADING], preexec_fn=listen, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (130, "error: interrupted; no file is half written\n")


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
