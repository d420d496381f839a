"""Statements of docs/architecture.md and CONTRIBUTING.md about the tree and the phases are true."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import aotc
from aotc.cli.tables import every_row
from aotc.pipeline.universe import UNIVERSE

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
ROOMS, PHASES_TABLE = PAGE.split("```")[1:4:2]
"""Its first two blocks of code."""
PACKAGES = sorted(
    init.parent.relative_to(ROOT)
    for top in ("aotc", "passes", "dialects")
    for init in (ROOT / top).rglob("__init__.py")
    if not any(part.is_symlink() for part in init.parents)
)


def test_the_table_of_phases_is_printed_from_the_rows() -> None:
    assert PHASES_TABLE.strip() == every_row().strip(), "run aotc phases"


def test_every_pass_of_ours_is_on_the_page() -> None:
    assert not [name for name in UNIVERSE.all_passes if not re.search(rf"(?<![\w-]){name}(?![\w-])", PAGE)]


@pytest.mark.parametrize("package", PACKAGES, ids=str)
def test_every_package_says_what_it_is(package: Path) -> None:
    text = ast.get_docstring(ast.parse((ROOT / package / "__init__.py").read_text(encoding="utf-8")))
    assert text and text.split("\n")[0].endswith((".", ":")), "no sentence"


@pytest.mark.parametrize("package", PACKAGES, ids=str)
def test_every_folder_of_code_is_on_the_page(package: Path) -> None:
    """A room by its path, a folder in it by its name: `nests/`."""
    folder = f"{package.name}/"
    assert re.search(rf"\b{re.escape(str(package))}\b", PAGE) or re.search(rf"(?<![\w-]){re.escape(folder)}", PAGE)


def test_folders_in_the_figure_exist() -> None:
    named = re.findall(r"^ +((?:aotc|passes|dialects)\b[\w/.]*)", ROOMS, re.MULTILINE)
    assert len(named) > 15
    assert not [name for name in named if not (ROOT / name).exists()]


@pytest.mark.parametrize(
    "page", [ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))], ids=lambda p: p.name
)
def test_paths_on_pages_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    paths = re.findall(r"`((?:aotc|dialects|passes|tests|docs|benchmarks|examples)/[\w./-]*)`", text)
    assert not [path for path in paths if not (ROOT / path).exists()]


def test_contributing_and_the_page_name_many_paths() -> None:
    for text in (PAGE, (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")):
        assert len(re.findall(r"`(?:aotc|dialects|passes|tests)/[\w./-]*`", text)) >= 8


def test_names_that_pages_place_in_a_file_are_there() -> None:
    """As in "`_FUNCTIONS` in `passes/loops/expand_math.py`"."""
    placed: list[tuple[str, str]] = []
    for page in (ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))):
        text = " ".join(page.read_text(encoding="utf-8").split())
        placed += re.findall(r"`(\w+)` (?:in|of) `((?:aotc|dialects|passes|tests)/[\w./-]+\.py)`", text)
    assert len(placed) > 8
    missing = [(name, file) for name, file in placed if not re.search(rf"\b{name}\b", (ROOT / file).read_text("utf-8"))]
    assert not missing


def test_the_module_that_the_page_of_the_ir_shows_compiles(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "ir.md").read_text(encoding="utf-8")
    source = tmp_path / "least.mlir"
    source.write_text(text.split("```mlir\n")[1].split("```")[0], encoding="utf-8")
    aotc.build(source, start_at="import", emit="c", target="cortex-m4")
