"""The page for people who come from microTVM names only what there is."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import pytest

from aotc.cli.main import main

DOCS = Path(__file__).parents[3] / "docs"
RUNTIME = Path(str(files("aotc.runtime")))


def ours() -> str:
    """The right-hand columns of the tables, and the sentences."""
    text = re.sub(r"```.*?```", "", (DOCS / "from-microtvm.md").read_text(), flags=re.DOTALL)
    rows = [line.split("|")[2] for line in text.splitlines() if line.startswith("| ")]
    return "\n".join([*rows, *(line for line in text.splitlines() if not line.startswith("|"))])


def test_options(capsys: pytest.CaptureFixture[str]) -> None:
    known: set[str] = set()
    for command in ("compile", "runtime", "run"):
        with pytest.raises(SystemExit):
            main([command, "--help"])
        known |= set(re.findall(r"--[a-z-]+", capsys.readouterr().out))
    named = set(re.findall(r"(?<![\w-])--[a-z-]+", ours()))
    assert len(named) > 12 and named <= known


def test_files_and_functions() -> None:
    sources = {path.name: path.read_text() for path in RUNTIME.glob("aotc_*")}
    text = "\n".join(sources.values())
    named = set(re.findall(r"`(aotc_\w+\.[ch])`", ours()))
    assert named and named <= set(sources)
    functions = set(re.findall(r"\b(k?AOTC[A-Z][a-z]\w+)", ours()))
    assert len(functions) > 15 and all(re.search(rf"\b{name}\b", text) for name in functions)


def test_links() -> None:
    text = re.sub(r"`[^`]*`", "", (DOCS / "from-microtvm.md").read_text())
    for target in re.findall(r"\]\(([^)#]+)", text):
        assert (DOCS / target).exists(), target
