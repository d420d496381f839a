"""Each room imports only from the floors below it (docs/architecture.md)."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

LEAVES = (
    "aotc.model.constants",
    "aotc.model.conventions",
    "aotc.dialects.dtypes",
    "aotc.model.dlpack",
    "aotc.errors",
    "aotc.model.locations",
    "aotc.passes.memory.planner",
    "aotc.model.metadata",
    "aotc.model.naming",
    "aotc.model.plan",
    "aotc.machines.machine",
    "aotc.machines.targets",
    "aotc.machines.tuning_table",
    "aotc.model.weights",
)
"""Usable from passes."""

MAY_IMPORT = {
    "dialects": ("aotc.dialects",),
    "passes": ("aotc.dialects", "aotc.passes", *LEAVES),
    "aotc/memory_planner": ("aotc.passes.memory.planner", "aotc.errors", "aotc.model.metadata"),
    "aotc/frontend": ("aotc.frontend", "aotc.dialects", *LEAVES),
    "aotc/emit": (
        "aotc.emit",
        "aotc.emit.footprint",
        "aotc.dialects",
        "aotc.passes",
        "aotc.pipeline.compilation",
        "aotc.pipeline.files",
        "aotc.pipeline.model_info",
        "aotc.pipeline.options",
        "aotc.pipeline.phases",
        *LEAVES,
    ),
    "aotc/executor": ("aotc.executor", "aotc.emit", "aotc.passes", "aotc.pipeline.compilation", *LEAVES),
}
"""Room -> what it may import of the project; aotc's other modules are the driver's floor."""

FOREIGN = {"dialects": {"xdsl", "numpy", "ml_dtypes"}, "aotc/memory_planner": set[str]()}
"""Room -> third-party packages it may import, where that is limited."""


def _imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: import absolutely"
            assert node.module is not None
            found.add(node.module)
            found |= {f"{node.module}.{name.name}" for name in node.names if node.module == "aotc"}
    return found - {"aotc"}


def _allowed(name: str, prefixes: tuple[str, ...]) -> bool:
    return any(name == prefix or name.startswith(prefix + ".") for prefix in prefixes)


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_rooms_import_from_below(room: str) -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in sorted((ROOT / room).rglob("*.py"))
        for name in sorted(_imports(path))
        if name.startswith("aotc.") and not _allowed(name, MAY_IMPORT[room])
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("room", FOREIGN)
def test_rooms_import_few_packages(room: str) -> None:
    import sys

    foreign = {
        name.split(".")[0]
        for path in (ROOT / room).rglob("*.py")
        for name in _imports(path)
        if not name.startswith("aotc") and name.split(".")[0] not in sys.stdlib_module_names
    }
    assert foreign <= FOREIGN[room]


def test_nobody_imports_the_tools_and_the_command_line() -> None:
    for room in ("dialects", "passes", "aotc"):
        for path in (ROOT / room).rglob("*.py"):
            if "cli" in path.parts:
                continue
            assert not [name for name in _imports(path) if _allowed(name, ("aotc.cli", "tools"))], path
