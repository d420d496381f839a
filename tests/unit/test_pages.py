"""What docs/architecture.md and CONTRIBUTING.md say about the tree and the phases is so."""

from __future__ import annotations

import re
from pathlib import Path

from aotc.driver import new_context
from aotc.options import CompileOptions
from aotc.pipelines import PHASES, PassRunner

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text()


def test_the_table_of_phases_is_what_runs() -> None:
    table = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \| [^|]+ \|$", PAGE, re.MULTILINE))
    runner = PassRunner(new_context())
    assert table.pop("import") == "(frontend)"
    pipelines = {phase.name: phase.pipeline(CompileOptions()) for phase in PHASES[1:]}
    assert table == {name: ", ".join(item.name for item in runner.passes(text)) for name, text in pipelines.items()}


def test_every_room_and_module_is_listed() -> None:
    rooms = PAGE.split("```")[1]
    modules = {path.name for path in (ROOT / "aotc").glob("*.py")} - {"__init__.py"}
    inits = [init for room in ("aotc", "passes", "dialects") for init in ROOT.glob(f"{room}/*/__init__.py")]
    folders = {f"{init.parent.name}/" for init in inits}
    assert not [name for name in sorted(modules | folders) if name not in rooms], "not on the page"
    modules |= {path.name for path in (ROOT / "dialects").glob("*.py")}
    assert set(re.findall(r"\w+\.py\b", rooms)) <= modules, "on the page only"


def test_paths_in_contributing_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    paths = re.findall(r"`((?:aotc|dialects|passes|tests|docs|benchmarks)/[\w./-]*)`", text)
    assert len(paths) > 10
    assert not [path for path in paths if not (ROOT / path).exists()]
