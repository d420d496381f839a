"""The rows of `make mutants` fit the sources: none is of code that has changed since, or of tests that have moved."""

from __future__ import annotations

import runpy
from pathlib import Path

RUNNER = runpy.run_path(str(Path(__file__).parents[2] / "mutants" / "run.py"))
KERNEL = ("strategies", "nests", "costs", "builders")
AREAS = ("graph", "fuse", "integers", "schedule", "memory", "memory/planner", "interface", "loops", "lower")


def test_every_row_fits() -> None:
    problems = {str(mutant): problem for mutant in RUNNER["mutants"]() if (problem := mutant.problem())}
    assert not problems


def test_rows_differ_and_reach_every_folder() -> None:
    rows = RUNNER["mutants"]()
    assert len({(row.file, row.old, row.new) for row in rows}) == len(rows) >= 60
    folders = {str(Path(row.file).parent) for row in rows}
    passes = [*(f"passes/{area}" for area in AREAS), *(f"passes/kernel/{room}" for room in KERNEL)]
    expected = [*passes, "aotc/emit/c", "aotc/emit/llvm", "aotc/machines", "dialects/graph", "dialects/aot/contract"]
    assert not [each for each in expected if not any(folder.startswith(each) for folder in folders)]
