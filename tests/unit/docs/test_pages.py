"""What docs/architecture.md and CONTRIBUTING.md say about the tree and the phases is so."""

from __future__ import annotations

import re
from pathlib import Path

from aotc.pipeline.options import CompileOptions
from aotc.pipeline.phases import PHASES, make_passes
from aotc.pipeline.universe import UNIVERSE

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "architecture.md").read_text()


def test_the_table_of_phases_is_what_runs() -> None:
    table = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \| [^|]+ \|$", PAGE, re.MULTILINE))
    assert table.pop("import") == "(frontend)"
    pipelines = {phase.name: phase.pipeline(CompileOptions()) for phase in PHASES[1:]}
    assert table == {name: ", ".join(item.name for item in make_passes(text)) for name, text in pipelines.items()}


def test_every_room_and_module_is_listed() -> None:
    rooms = PAGE.split("```")[1]
    modules = {path.name for path in (ROOT / "aotc").glob("*.py")} - {"__init__.py"}
    inits = [init for room in ("aotc", "passes", "dialects") for init in ROOT.glob(f"{room}/*/__init__.py")]
    folders = {f"{init.parent.name}/" for init in inits}
    assert not [name for name in sorted(modules | folders) if name not in rooms], "not on the page"
    modules |= {path.name for path in (ROOT / "dialects").glob("*.py")}
    assert set(re.findall(r"\w+\.py\b", rooms)) <= modules, "on the page only"


def test_every_file_of_a_room_is_listed_once() -> None:
    tables = dict(re.findall(r"^\| `([\w/]+)` \| \|\n\|---\|---\|\n((?:\|.*\n)+)", PAGE, re.MULTILINE))
    inits = [
        init
        for room in ("aotc/*", "passes/*", "dialects/*", "aotc/frontend/*")
        for init in ROOT.glob(f"{room}/__init__.py")
    ]
    for room in (init.parent for init in inits if not init.parent.is_symlink()):
        files = {path.stem for path in room.glob("*.py")} - {"__init__"}
        files -= {name.replace("-", "_") for name in UNIVERSE.all_passes}
        first_columns = re.findall(r"^\|[^|]+", tables.pop(str(room.relative_to(ROOT)), ""), re.MULTILINE)
        assert sorted(re.findall(r"`(\w+)`", "".join(first_columns))) == sorted(files), room
    assert not tables, "on the page only"


def test_files_on_the_page_exist() -> None:
    named = set(re.findall(r"[\w/-]+\.(?:py|md|mlir|ll|c|h)\b(?!\.\w)", PAGE))
    folders = ("aotc", "dialects", "passes", "docs", "tests")
    there = [f"/{path.relative_to(ROOT)}" for folder in folders for path in (ROOT / folder).rglob("*.*")]
    assert len(named) > 40
    assert not [name for name in sorted(named) if not any(path.endswith(f"/{name}") for path in there)]


def test_paths_in_contributing_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    paths = re.findall(r"`((?:aotc|dialects|passes|tests|docs|benchmarks)/[\w./-]*)`", text)
    assert len(paths) > 10
    assert not [path for path in paths if not (ROOT / path).exists()]
