"""Rooms and what they may import, as docs/architecture.md draws them; no circles; sizes that can be read.

Every import counts: at the top of a module, in a function, and for annotations alone (TYPE_CHECKING).
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

# --- expectations that are to go -------------------------------------------------------------------------------------

EXCUSED_ARROWS: dict[tuple[str, str], str] = {
    ("measuring", "passes/schedule"): "tuning asks for the machine as the passes see it",
    ("measuring", "passes/kernel"): "tuning asks strategies for the schedules near one",
}
"""Arrows between rooms that must not be, and why they still are."""

EXCUSED_CIRCLES: tuple[tuple[str, ...], ...] = ()
"""Modules, or packages of modules, that still form a circle."""

EXCUSED_FOLDERS = {"aotc/emit/c"}
"""Folders that still have too many files."""

# --- rooms -----------------------------------------------------------------------------------------------------------

LEAVES = ("errors", "model", "machines")
BELOW = ("dialects", *LEAVES)
KERNELS = ("passes/kernel", *BELOW)

MAY_IMPORT: dict[str, tuple[str, ...]] = {
    "errors": (),
    "model": ("errors",),
    "machines": ("errors", "model"),
    "dialects": ("errors", "model"),
    "passes/kernel": BELOW,
    "passes/graph": KERNELS,
    "passes/schedule": KERNELS,
    "passes/memory": KERNELS,
    "passes/loops": KERNELS,
    "passes/fuse": ("passes/schedule", "passes/memory", "passes/loops", *KERNELS),
    "passes/interface": BELOW,
    "passes/lower": BELOW,
    "pipeline": BELOW,
    "frontend": BELOW,
    "emit": ("pipeline", *BELOW),
    "executor": ("emit", "pipeline", *BELOW),
    "checking": ("pipeline", *BELOW),
    "compiler": ("executor", "emit", "frontend", "checking", "pipeline", *BELOW),
    "aotc": ("compiler", "executor", "errors"),
    "measuring": ("aotc", "compiler", "executor", "emit", "frontend", "checking", "pipeline", *BELOW),
    "cli": ("measuring", "aotc", "compiler", "executor", "emit", "frontend", "checking", "pipeline", *BELOW),
}
"""Room -> the rooms it may import, from the bottom to the top. Of passes everybody else knows names in the universe."""

FOREIGN: dict[str, set[str]] = {
    "dialects": {"xdsl", "numpy", "ml_dtypes"},
    "passes/memory/planner": set(),
    "aotc/errors.py": set(),
}
"""Folder or file -> third-party packages it may import, where that is limited."""

MOST_LINES = 500
MOST_COLUMNS = 120
MOST_FILES = 20
MOST_ENTRIES = 16
CODE = ("aotc", "dialects", "passes")
PRAGMA = re.compile(r"  # (?:pyright|type|noqa)\b.*$")
"""At the end of a line, not counted, as ruff does."""


@cache
def _modules() -> dict[str, Path]:
    """Every module of the project by name; `aotc/dialects` and `aotc/passes` are links."""
    found: dict[str, Path] = {}
    for top in CODE:
        for path in sorted((ROOT / top).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            if parts[:2] in (("aotc", "dialects"), ("aotc", "passes")):
                continue
            name = ".".join(parts if top == "aotc" else ("aotc", *parts))
            found[name.removesuffix(".__init__")] = path
    return found


def _imported(path: Path) -> set[str]:
    """The names a file imports, wherever in it: of modules, and of what it takes out of them."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0 and node.module is not None, f"{path}: import absolutely"
            found |= {f"{node.module}.{name.name}" for name in node.names}
    return found


@cache
def _imports() -> dict[str, set[str]]:
    """Every module and the modules of the project that it imports."""
    modules = _modules()

    def module_of(name: str) -> str | None:
        while name and name not in modules:
            name = name.rpartition(".")[0]
        return name or None

    found: dict[str, set[str]] = {}
    for name, path in modules.items():
        targets = {module_of(each) for each in _imported(path)}
        found[name] = {target for target in targets if target is not None} - {name}
    return found


def _room(module: str) -> str:
    _, *parts = module.split(".")
    if not parts:
        return "aotc"
    return "/".join(parts[:2]) if parts[0] == "passes" and len(parts) > 1 else parts[0]


@cache
def _arrows() -> dict[tuple[str, str], list[str]]:
    """Room and room it imports -> the imports."""
    found: dict[tuple[str, str], list[str]] = {}
    for module, targets in _imports().items():
        for target in sorted(targets):
            if (here := _room(module)) != (there := _room(target)):
                found.setdefault((here, there), []).append(f"{module} imports {target}")
    return found


def _circles(edges: Mapping[str, Iterable[str]]) -> list[set[str]]:
    """The largest sets whose members all lead to each other (Tarjan's strongly connected components), of two or more.

    A package and what its `__init__` takes out of its own modules is none.
    """
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[set[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for target in edges.get(node, ()):
            if target not in index:
                visit(target)
                low[node] = min(low[node], low[target])
            elif target in stack:
                low[node] = min(low[node], index[target])
        if low[node] == index[node]:
            component = set(stack[stack.index(node) :])
            del stack[stack.index(node) :]
            if len(component) > 1:
                found.append(component)

    for node in edges:
        if node not in index:
            visit(node)
    return found


def _within(module: str, names: Iterable[str]) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in names)


def test_circles_are_found() -> None:
    """The search itself: two circles, one through another's member, and a path that is none."""
    edges = {"a": ["b"], "b": ["c"], "c": ["a", "d"], "d": ["e"], "e": ["d"], "f": ["a"]}
    assert sorted(map(sorted, _circles(edges))) == [["a", "b", "c"], ["d", "e"]]


def test_imports_of_every_kind_count(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(
        "import a.b\nfrom c import d\n"
        "if TYPE_CHECKING:\n    from e import f\n"
        "def later():\n    from g import h\n    import i\n"
    )
    assert _imported(path) == {"a.b", "c.d", "e.f", "g.h", "i"}


# --- what imports what -----------------------------------------------------------------------------------------------


def test_every_module_stands_in_a_room() -> None:
    rooms = {_room(module) for module in _modules()}
    assert rooms - {"passes", "runtime"} == set(MAY_IMPORT)


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_rooms_import_from_below(room: str) -> None:
    """Among them: dialects know no builders of kernels, emitters no strategies, nobody the command line."""
    wrong = [
        line
        for (here, there), imports in _arrows().items()
        if here == room and there not in MAY_IMPORT[room] and (here, there) not in EXCUSED_ARROWS
        for line in imports
    ]
    assert not wrong, "\n".join(wrong)


def test_rooms_form_no_circle() -> None:
    edges: dict[str, set[str]] = {room: set() for room in MAY_IMPORT}
    for here, there in _arrows():
        if (here, there) not in EXCUSED_ARROWS:
            edges[here].add(there)
    assert not _circles(edges)


def test_the_table_of_rooms_goes_from_the_bottom_to_the_top() -> None:
    order = list(MAY_IMPORT)
    wrong = [(room, below) for room in order for below in MAY_IMPORT[room] if order.index(below) >= order.index(room)]
    assert not wrong


def test_modules_form_no_circle() -> None:
    circles = [circle for circle in _circles(_imports()) if not any(_excused(circle, each) for each in EXCUSED_CIRCLES)]
    assert not circles, "\n".join(" ".join(sorted(circle)) for circle in circles)


def _excused(circle: set[str], names: tuple[str, ...]) -> bool:
    return all(_within(module, names) for module in circle)


@pytest.mark.parametrize("names", EXCUSED_CIRCLES)
def test_an_excuse_is_needed(names: tuple[str, ...]) -> None:
    assert any(_excused(circle, names) for circle in _circles(_imports())), "the circle is gone: delete its excuse"


@pytest.mark.parametrize("place", FOREIGN)
def test_few_packages_from_outside(place: str) -> None:
    path = ROOT / place
    files = path.rglob("*.py") if path.is_dir() else [path]
    names = {name.split(".")[0] for each in files for name in _imported(each)}
    assert names - sys.stdlib_module_names - {"aotc"} <= FOREIGN[place]


def test_nobody_imports_the_tools() -> None:
    assert not [path for path in _modules().values() for name in _imported(path) if name.split(".")[0] == "tools"]


def test_the_contract_is_spelt_in_one_place() -> None:
    """`aot.io` and the like are attributes that `dialects/aot/contract` reads and writes for everybody."""
    home = ROOT / "dialects/aot"
    spelt = [
        f"{path.relative_to(ROOT)}: {found}"
        for path in _modules().values()
        if not path.is_relative_to(home)
        for found in re.findall(r"""["']aot\.[a-z_]+["']""", path.read_text(encoding="utf-8"))
    ]
    assert not spelt, "\n".join(spelt)


# --- sizes -----------------------------------------------------------------------------------------------------------


def test_files_are_short() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in _modules().values()}
    assert not {str(path.relative_to(ROOT)): count for path, count in lengths.items() if count > MOST_LINES}


def test_folders_are_small() -> None:
    counts: dict[str, int] = {}
    for path in _modules().values():
        folder = str(path.parent.relative_to(ROOT))
        counts[folder] = counts.get(folder, 0) + (path.name != "__init__.py")
    assert not {folder: n for folder, n in counts.items() if n > MOST_FILES and folder not in EXCUSED_FOLDERS}
    entries = [path.name for path in (ROOT / "aotc").iterdir() if path.name != "__pycache__"]
    assert len(entries) <= MOST_ENTRIES, sorted(entries)


def test_lines_are_short() -> None:
    files = [path for top in (*CODE, "tests", "benchmarks", "examples") for path in (ROOT / top).rglob("*.py")]
    long = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in files
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if len(PRAGMA.sub("", line)) > MOST_COLUMNS
    ]
    assert not long, "\n".join(long)
