"""Commands that are forked from a server are like those that start by themselves: streams, folder, environment, end."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import prefork
import pytest

MODULE = "builtin.module {\n}\n"


def test_streams_and_folder(tmp_path: Path) -> None:
    (tmp_path / "module.mlir").write_text(MODULE)
    command = [prefork.commands() / "aotc-opt", "module.mlir"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, MODULE.split(), "")
    (tmp_path / "checks").write_text("// CHECK: builtin.module\n")
    for text, code in ((MODULE, 0), ("nothing", 1)):
        command = [prefork.commands() / "filecheck", "checks"]
        assert subprocess.run(command, cwd=tmp_path, input=text, capture_output=True, text=True).returncode == code


@pytest.mark.parametrize(("variables", "warned"), [({}, False), ({"AOTC_CACHE_DIR": "here"}, True)])
def test_environment(variables: dict[str, str], warned: bool, tmp_path: Path) -> None:
    """`aotc cache` says where it is, which is nowhere unless a test says so."""
    command = [prefork.commands() / "aotc", "cache"]
    done = subprocess.run(command, cwd=tmp_path, env=os.environ | variables, capture_output=True, text=True)
    assert ("here" in done.stdout + done.stderr) == warned


def test_one_server_serves_all_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    before = prefork.commands()
    monkeypatch.setenv("PYTEST_CURRENT_TEST", "another")
    assert prefork.commands() == before


@pytest.mark.parametrize(("arguments", "code"), [(["ops"], 0), (["nonsense"], 2), (["check", "none.onnx"], 4)])
def test_exit_codes(arguments: list[str], code: int, tmp_path: Path) -> None:
    done = subprocess.run([prefork.commands() / "aotc", *arguments], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == code and bool(done.stderr) == bool(code)
