"""docs/vm.md: its program runs, and it has every built-in function and status."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from aotc.vm.builtins import REGISTERED

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "vm.md").read_text(encoding="utf-8")


def test_the_program_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(program, {})
    assert capsys.readouterr().out.startswith("VM executable statistics:")


def test_every_builtin_function_is_in_the_table() -> None:
    table = PAGE.split("## Built-in functions")[1].split("\n## ")[0]
    named = set(re.findall(r"`(\w+)(?:\(.*?\))?`", "\n".join(re.findall(r"^\| (.*?) \|", table, re.MULTILINE))))
    assert named == {name.removeprefix("vm.builtin.") for name in REGISTERED if name.startswith("vm.builtin.")}


def test_every_status_is_in_the_table() -> None:
    header = (ROOT / "aotc/runtime/aotc_vm.h").read_text()
    statuses = dict(re.findall(r"(kAOTCVMError\w+) = (-\d+)", header))
    assert statuses and dict(re.findall(r"^\| `(kAOTCVMError\w+)` \| (-\d+) \|", PAGE, re.MULTILINE)) == statuses


def test_c_has_the_functions_of_python() -> None:
    """All but `print`."""
    header = (ROOT / "aotc/runtime/aotc_vm.h").read_text()
    ours = {name.removeprefix("vm.builtin.") for name in REGISTERED if name.startswith("vm.builtin.")}
    assert set(re.findall(r"DO\((\w+)\)", header)) == ours - {"print"}
