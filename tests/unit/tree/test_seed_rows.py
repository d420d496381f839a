"""Each required row of the table of capabilities (execution: A to E, artefacts: F, virtual machine: G) is
named by a test that pins it.

A row is named by its id: `test_d10_...`, `D10` in the docstring of a test or the comment of a test that is not Python.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2]

COUNTS = {"A": 25, "B": 29, "C": 5, "D": 33, "E": 29, "F": 23, "G": 24}
"""Rows by group: A compile flow and outputs, B runner, descriptor, C runtime, C names, D calling conventions, E
module-based interface and metadata, F artefacts and how they are loaded, G virtual machine."""
LATER = {"B28", "E23", "E26", "G24"}
"""Inputs and outputs by name in typed C; devices beside the processor; a profile by operator of the executor; open
shapes ahead of time."""


ROW = re.compile(r"\b[A-G]\d+\b")
DIRECTIVE = re.compile(r"\s*// *(?![A-G]\d+[:,])[\w-]+:")
"""A line of lit or FileCheck: `RUN:`, `CHECK-NEXT:`; what begins with an id is none."""


def named_rows(path: Path) -> set[str]:
    """The ids that a test file pins: in Python those of its tests' names and docstrings, and of its own docstring if it
    has tests; elsewhere those of comments that are no directives. Variables and other comments name nothing."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return _named_in_python(ast.parse(text))
    if path.suffix == ".mlir":
        lines = [line for line in text.splitlines() if line.lstrip().startswith("//") and not DIRECTIVE.match(line)]
        return set(ROW.findall("\n".join(lines))) if "RUN:" in text else set()
    return set(ROW.findall(" ".join(re.findall(r"/\*.*?\*/|//[^\n]*", text, re.DOTALL))))


def _named_in_python(module: ast.Module) -> set[str]:
    tests = [each for each in ast.walk(module) if isinstance(each, ast.FunctionDef) and each.name.startswith("test_")]
    words = {word.upper() for test in tests for word in test.name.split("_")}
    texts = [ast.get_docstring(each) or "" for each in (*tests, *([module] if tests else []))]
    return {word for word in words if ROW.fullmatch(word)} | set(ROW.findall("\n".join(texts)))


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.py", "# D1\nX = 'D2'\ndef helper():\n    'D3'\ndef test_d4_d5():\n    'D6: it is.'\n", "D4 D5 D6"),
        ("a.py", "'D1'\ndef helper(): pass\n", ""),
        ("a.py", "'D1'\ndef test_it(): pass\n", "D1"),
        ("a.mlir", "// RUN: x\n// D1, D2: a\n// CHECK: %[[D3:.*]] = D4\n// X-NEXT: D5\nD6\n// D7: b\n", "D1 D2 D7"),
        ("a.mlir", "// D1: nothing runs it\n", ""),
        ("a.c", "int D1; /* D2: and\n D3 */ f(D4); // D5\n", "D2 D3 D5"),
    ],
)
def test_what_names_a_row(name: str, text: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    assert named_rows(tmp_path / name) == set(expected.split())


def test_every_required_row_is_named_by_a_test() -> None:
    required = {f"{group}{number}" for group, count in COUNTS.items() for number in range(1, count + 1)} - LATER
    files = [
        path
        for folder in (TESTS, *(TESTS.parent / "examples").glob("*/tests"))
        for path in folder.rglob("*")
        if path.suffix in (".py", ".mlir", ".c", ".cpp") and "Output" not in path.parts and path != Path(__file__)
    ]
    named = {row for path in files for row in named_rows(path)}
    assert not required - named
