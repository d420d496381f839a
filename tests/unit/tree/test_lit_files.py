"""Where the lit tests of passes are: `PASS.mlir`, `PASS-ASPECT.mlir`, or in a folder of the pass; none is long."""

from __future__ import annotations

import re
from pathlib import Path

from aotc.machines.targets import TARGETS
from aotc.pipeline.universe import UNIVERSE

LIT = Path(__file__).parents[2] / "lit"
MOST_LINES = 250
OF_SEVERAL = {"external-kernels", "fuse-tiled", "row-tiles", "staged-tiles-invalid", "prefetch"}
"""Tests of several passes together."""

CHOICES = ("schedule", "fuse", "integers", "kernel")
"""Rooms whose passes choose by the numbers of a machine."""


def _passes(path: Path) -> list[str]:
    """The passes whose names a file has: its own, its folder's, or what its own goes on from."""
    place = path.relative_to(LIT).with_suffix("")
    return [name for name in UNIVERSE.all_passes if name in place.parts or place.name.startswith(f"{name}-")]


def test_lit_files_are_short() -> None:
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in LIT.rglob("*.mlir")}
    assert lines and not {str(path.relative_to(LIT)): count for path, count in lines.items() if count > MOST_LINES}


def test_lit_files_have_the_names_of_passes_and_passes_have_lit_files() -> None:
    files = sorted((LIT / "passes").rglob("*.mlir"))
    named = {path: _passes(path) for path in files}
    assert {path.stem for path, passes in named.items() if not passes} == OF_SEVERAL
    assert set(UNIVERSE.all_passes) - {name for passes in named.values() for name in passes} == set()


def test_choices_are_tested_on_machines_that_nobody_measures() -> None:
    files = [path for room in CHOICES for path in (LIT / "passes" / room).rglob("*.mlir")]
    named = {(path.name, name) for path in files for name in re.findall(r"target=\W*([\w-]+)", path.read_text())}
    assert {name for _, name in named if name.startswith("test-")}
    assert {each for each in named if each[1] in TARGETS or each[1].startswith(("x86_64-", "aarch64-"))} == set()
