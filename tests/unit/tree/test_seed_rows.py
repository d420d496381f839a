"""Each required row of the table of capabilities (execution: A to E, artefacts: F, virtual machine: G) is
named by a test that pins it.

A row is named by its id, `D10` in a docstring or comment, or `test_d10_...`.
"""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[2]

REQUIRED = {
    "A": "1 2 3 4 5 6 7 8 10 12 13 14 15 20 21 22 23",  # compile flow and outputs
    "B": "1 2 3 4 6 7 8 9 10 11 12 13 14 15 16 17 19 20 21 22 24 27",  # runner, descriptor, C runtime
    "C": "1 2 3 4 5",  # names
    "D": "1 2 3 4 5 6 7 9 10 11 12 13 14 15 17 18 19 21 22 23 25 26 27 28 29",  # calling conventions
    "F": "1 2 3 4 5 6 7 10 11 12 13 14 15 16 17 18 19 20 21",  # artefacts and how they are loaded
    "E": "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22",  # module-based interface and metadata
    "G": "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22",  # virtual machine
}


def named_rows(text: str) -> set[str]:
    """The ids in a test file."""
    in_names = re.findall(r"def test_(\w+)", text)
    found = {word.upper() for name in in_names for word in name.split("_") if re.fullmatch(r"[a-g]\d+", word)}
    return found | set(re.findall(r"\b[A-G]\d+\b", text))


def test_every_required_row_is_named_by_a_test() -> None:
    required = {f"{group}{number}" for group, numbers in REQUIRED.items() for number in numbers.split()}
    assert len(required) == 132
    files = [
        path
        for folder in (TESTS, *(TESTS.parent / "examples").glob("*/tests"))
        for path in folder.rglob("*")
        if path.suffix in (".py", ".mlir", ".c", ".cpp") and "Output" not in path.parts and path != Path(__file__)
    ]
    named = {row for path in files for row in named_rows(path.read_text(encoding="utf-8"))}
    assert not required - named
